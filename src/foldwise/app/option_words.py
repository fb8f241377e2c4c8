"""Translate advice: messages speak of Python arguments, and the command line of its options."""

from __future__ import annotations

import ast
import re
import shlex

# how arguments of Python functions are called on the command line
OPTIONS = {
    "drop_unlabeled=True": "--drop-unlabeled",
    "guarantee=True": "--guarantee",
    "guarantee=": "--guarantee ",
    "force=True": "--force",
    "rows=False": "--no-rows",
    "index=False": "--index none",
    "header=False": "--header no",
    "header=True": "--header yes",
    "n_jobs=": "--jobs ",
    "about=": "--class ",
    "old=": "--with ",
    "update=True": "--update",
    "update=": "--update ",
    "forget=": "--forget ",
    "n_samples=": "--samples ",
    "missing_values=": "--missing ",
    "kinds=": "--kind ",
    "skip_rows=": "--skip-rows ",
    "missing_text=": "--missing-text ",
}
# words that no option follows, and what to say instead
IN_PYTHON = {
    " such as Float(0.001, 1000, log=True),": "",
    "(to_frame() lists them all)": "(--json lists them all)",
    "pass error_score='raise' to see the traceback.": "solve the first error, or choose another model.",
    "fit it with other families, for example families='auto'.": "fit other models, which fit --models names.",
}
SAME_NAME = "background budget costs coverage cv decimal dialect drop encoding groups header index keep labels metric"
SAME_NAME += " models names out positive query resume quote seed separator sheet slices strategy table target task test"
SAME_NAME += " time weights"
OPTIONS |= {f"{name}=": f"--{name} " for name in SAME_NAME.split()}
MAPPING = re.compile(r"\b(missing_values|kinds|formats)=(\{[^{}]*\})")
OF_READING = re.compile(r"(?<=[=}]) of (foldwise\.)?read_table\b")
BARE = re.compile(r"(?<![\w='\"-])(missing_values|skip_rows)(?![\w='\"])")
VALUE = r"('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")?"  # a string as Python writes it


def with_options(sentence: str) -> str:
    """Replace arguments of Python functions with the options of the command line.

    >>> with_options("pass target='play', or drop_unlabeled=True.")
    'pass --target play, or --drop-unlabeled.'
    >>> with_options("n_jobs must be at least 1.")
    '--jobs must be at least 1.'
    >>> with_options("the table has no column 'z', passed as groups=.")
    "the table has no column 'z', passed as --groups."
    >>> with_options("pass missing_values={'age': 0}, or kinds={'zip code': 'text'}.")
    "pass --missing age=0, or --kind 'zip code=text'."
    """
    for advice, instead in IN_PYTHON.items():
        sentence = sentence.replace(advice, instead)
    sentence = MAPPING.sub(mapping_words, OF_READING.sub("", sentence))
    arguments = "|".join(re.escape(name) for name in OPTIONS)
    sentence = re.sub(r"^(\w+)(?= (must|refers|gives|maps) )", r"\1=", sentence)
    text = re.sub(rf"(?<![\w'\"-])({arguments}){VALUE}", option_words, sentence)
    text = re.sub(r"^(\w+)=(?= (must|refers|gives|maps) )", r"\1", text)  # not an option
    text = BARE.sub(lambda found: OPTIONS[f"{found[0]}="].strip(), text)
    return re.sub(r"(--[a-z-]+) +(?=[.,;:)\s]|$)", r"\1", text)  # an option without a value


def option_words(found: re.Match[str]) -> str:
    """Return an argument as an option, and its value as a shell reads it."""
    value = ast.literal_eval(found[2]) if found[2] else ""
    return OPTIONS[found[1]] + (shlex.quote(value) if found[2] and value.isprintable() else found[2] or "")


def mapping_words(found: re.Match[str]) -> str:
    """Return a mapping of columns as repeated options; one that is only hinted at as the bare option."""
    option, kind = ("--kind", "date:") if found[1] == "formats" else (OPTIONS[f"{found[1]}="].strip(), "")
    try:
        given = ast.literal_eval(found[2])
    except (ValueError, SyntaxError):
        return option
    values = {name: value if isinstance(value, list | tuple) else [value] for name, value in given.items()}
    return " ".join(f"{option} {quoted(f'{name}={kind}' + ','.join(map(str, one)))}" for name, one in values.items())


def quoted(text: str) -> str:
    """Quote a text for a shell, and also if it ends like a sentence."""
    return f"'{text}'" if text[-1:] in tuple(".,;:") and shlex.quote(text) == text else shlex.quote(text)
