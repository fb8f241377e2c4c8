"""Counts lines of code, without docstrings, comments and blank lines: python benchmarks/count.py [folder]."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "foldwise"
IGNORED = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(text: str) -> int:
    """The number of lines that hold code."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            docstrings |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in IGNORED:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE
    code, whole = Counter[str](), Counter[str]()
    for path in sorted(folder.rglob("*.py")):
        room, text = path.relative_to(folder).parts[0], path.read_text()
        code[room] += code_lines(text)
        whole[room] += len(text.splitlines())
    for room in code:
        print(f"{room:15s} {code[room]:7,} of {whole[room]:7,} lines")
    print(f"{'all':15s} {code.total():7,} of {whole.total():7,} lines")


if __name__ == "__main__":
    main()
