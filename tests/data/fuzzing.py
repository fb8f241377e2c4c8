"""Text that is nearly a table: what the fuzz tests read. Only errors of ours may come out of any of it."""

from __future__ import annotations

import gzip
import random
import re
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

from hypothesis import strategies as st

from foldwise import read_table
from foldwise.errors import FoldwiseError
from tests import tables

WORDS = st.sampled_from(
    [
        *(
            "",
            "a",
            "b",
            "x y",
            "name",
            "é",
            "“q”",
            "'s'",
            '"',
            '""',
            "'",
            "\\",
            "a,b",
            "{",
            "}",
            "%",
            "#",
            "@data",
            "{0 1}",
        ),
        *("1", "2", "-3", "0", "1.5", "2,5", "1,234", "1.234,5", "1e9", "1e999", "-0", "007", "99999999999999999999"),
        *("NA", "?", "nan", "inf", "true", "FALSE", "-", ".", "+", "$5M", "+13%", "<null>", "2026-01-31", "10/03/04"),
        *("\u2028", "\x0b", "\x85", "\ufeff"),
    ]
)
CELLS = st.one_of(WORDS, st.text(max_size=6), st.integers().map(str), st.floats().map(str))
SEPARATORS = st.sampled_from([",", ";", "\t", "|", " ", ", ", "  ", ":"])
ENDS = st.sampled_from(["\n", "\r\n", "\r", "\n\n", ""])
ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252"])


@st.composite
def delimited(draw: st.DrawFn) -> bytes:
    """Rows of cells, more or less of one length, in some dialect, with something before and after."""
    separator, end = draw(SEPARATORS), draw(ENDS)
    width = draw(st.integers(1, 5))
    cells = st.lists(CELLS, min_size=width, max_size=width)
    rows = draw(st.lists(st.one_of(cells, cells, cells, st.lists(CELLS, max_size=7)), max_size=8))
    quoted = draw(st.sampled_from(["", "", '"', "'"]))
    lines = [separator.join(quoted + cell + quoted for cell in row) for row in rows]
    if draw(st.booleans()):
        lines = lines * draw(st.integers(1, 6))
    text = draw(st.sampled_from(["", "", "", "title\n\n", "# note\n"])) + end.join(lines) + draw(ENDS)
    text += draw(st.sampled_from(["", "", "", "\nSource: somebody", separator * 3, '"']))
    return text.encode(draw(ENCODINGS), "replace")


NAMES = st.one_of(st.sampled_from(["a", "b", "'c d'", '"e"', "{", "", "x{1}", "class"]), st.text(max_size=4))
TYPES = st.one_of(
    st.sampled_from(
        ["numeric", "REAL", "integer", "string", "date", "date 'yyyy-MM-dd'", "integer [0, 5]", "real[1,2]"]
    ),
    st.sampled_from(
        ["{a,b}", "{ 'a b', \"c\" }", "{1,2,3}", "{}", "{a", "{'a}", "relational", "", "{a,a}", "{,}", "{?}"]
    ),
    st.lists(CELLS, max_size=4).map(lambda levels: "{" + ",".join(levels) + "}"),
)
ARFF_CELLS = st.one_of(
    st.sampled_from(["?", "1", "2.5", "a", "b", "'a b'", '"c"', r"'\''", r"\u00e9", "{0 1}", "%"]), CELLS
)


SANE = ("string", "{a,b}", "numeric", "{1,2,3}", "integer [0, 5]", "date 'yyyy-MM-dd'", "REAL")


@st.composite
def arff(draw: st.DrawFn) -> bytes:
    """A header that declares columns and rows that more or less obey it."""
    sane = draw(st.integers(0, 3)) > 0
    declared = draw(st.lists(st.tuples(NAMES, TYPES), min_size=int(sane), max_size=4))
    if sane:
        declared = [(f"n{j} ", kind if kind in SANE else SANE[j % len(SANE)]) for j, (_, kind) in enumerate(declared)]
    keyword = draw(st.sampled_from(["@attribute", "@ATTRIBUTE", "@Attribute\t"]))
    head = ["@relation r", *(f"{keyword} {name} {kind}" for name, kind in declared)]
    width = max(1, len(declared))
    if sane and draw(st.booleans()):
        fitting = {"string": ARFF_CELLS, "{a,b}": st.sampled_from(["a", "b", "?", "'a'", '"b"'])}
        of_kind = [fitting.get(kind, st.sampled_from(["1", "2", "?", "+3", " 1 "])) for _, kind in declared]
        rows = draw(st.lists(st.tuples(*of_kind), max_size=6))
    else:
        rows = draw(st.lists(st.lists(ARFF_CELLS, min_size=width, max_size=width), max_size=6))
    lines = [draw(st.sampled_from([",", ", ", "\t", " ", ","])).join(row) for row in rows]
    if draw(st.booleans()):
        pairs = st.tuples(st.integers(-1, 5), ARFF_CELLS).map(lambda pair: f"{pair[0]} {pair[1]}")
        lines.append("{" + ", ".join(draw(st.lists(pairs, max_size=3))) + draw(st.sampled_from(["}", ""])))
    lines = draw(
        st.permutations([*lines, *draw(st.lists(st.sampled_from(["% x", "", "@inputs a", "\x00"]), max_size=2))])
    )
    text = "\n".join([*head, draw(st.sampled_from(["@data", "@DATA", "", "@data 1"])), *lines])
    return text.encode(draw(ENCODINGS), "replace")


def raw_files() -> list[tuple[str, bytes]]:
    """The starts of the raw files, each with its name."""
    files = [(path.name, path.read_bytes()[:200_000]) for path in tables.raw_files()]
    return [(name, re.sub(rb"(?m)^%.*\r?\n", b"", data) if name.endswith("arff") else data) for name, data in files]


def mutations(content: bytes, rng: random.Random) -> bytes:
    """A part of a file with a few bytes changed, lost, doubled or moved."""
    is_packed = content.startswith(b"PK")
    size = len(content) if is_packed else rng.choice([1_500, 6_000, 20_000])
    data = bytearray(content[:size] if rng.random() < 0.9 else content[rng.randrange(len(content)) :][:size])
    if rng.random() < 0.5:
        data = data[: data.rfind(b"\n") + 1]  # whole lines
    bits = [
        b'"',
        b"'",
        b",",
        b";",
        b"\t",
        b"\n",
        b"\r",
        b"\x00",
        b"\xff",
        b"{",
        b"}",
        b"\\",
        b"?",
        b"%",
        b"\xef\xbb\xbf",
        b" ",
        b"9",
    ]
    for _ in range(rng.choice([0, 1, 1, 2, 3, 8])):
        if not data:
            break
        place = rng.randrange(len(data))
        what = rng.randrange(6)
        if what == 0:
            data[place] = rng.randrange(256)
        elif what == 1:
            del data[place : place + rng.choice([1, 1, 5, 200])]
        elif what == 2:
            data[place:place] = rng.choice(bits) * rng.choice([1, 1, 2, 5])
        elif what == 3:
            data[place:place] = data[place : place + rng.choice([1, 20, 300])]
        elif what == 4:
            old, new = rng.choice(bits), rng.choice(bits)
            data = data.replace(old, new, rng.choice([1, 5, -1]))
        else:
            other = rng.randrange(len(data))
            data[place : place + 10], data[other : other + 10] = data[other : other + 10], data[place : place + 10]
    return bytes(data)


ENDINGS = ("csv", "tsv", "txt", "dat", "tab", "json", "jsonl", "parquet", "feather", "arff", "db", "duckdb")


def mutated_files(seed: int, cases: int) -> Iterator[tuple[str, bytes]]:
    """Mutated raw files, mostly under their own names."""
    rng = random.Random(seed)
    files = raw_files()
    for _ in range(cases):
        name, content = rng.choice(files)
        if rng.random() < 0.1:
            name = f"other.{rng.choice(ENDINGS)}"
        data = mutations(content, rng)
        if rng.random() < 0.03:
            data, name = gzip.compress(data)[: rng.choice([None, -5])], name + ".gz"
        yield name, data


def survives(name: str, data: bytes, folder: Path) -> bool:
    """Read, look and audit: True where it went well, False where an error of ours came; any other goes through."""
    path = folder / name.replace("/", "_")
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=UserWarning, module="foldwise")
        try:
            table = read_table(path)
            str(table.notes), str(table.findings), str(table.audit()), repr(table)
        except FoldwiseError:
            return False
    assert table.X.width > 0
    assert table.schema.names == tuple(table.X.columns) == tuple(finding.column for finding in table.findings)
    if name.endswith((".csv", ".tsv", ".txt")):
        assert table.X.height <= data.count(b"\n") + data.count(b"\r") + 1  # no row without a line of its own
    return True


def run(name: str, data: bytes) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        return survives(name, data, Path(folder))
