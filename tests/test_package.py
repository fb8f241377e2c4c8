"""The package root: small, lazy, true to its documents."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import foldwise
from tests.slow import slow

ROOT = Path(__file__).parents[1]
MODULES = [m.name for m in pkgutil.walk_packages(foldwise.__path__, "foldwise.")]
APP = ("refitting.refit", "checking.check", "run", "result", "exploring.result", "exploring.run")
LONG = [f"foldwise.app.{name}" for name in APP]  # examples with real runs


def test_importing_the_root_loads_nothing_heavy():
    code = "import sys, foldwise; print(sorted(set(sys.modules) & {'numpy', 'sklearn', 'numba', 'polars', 'narwhals'}))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_every_public_name_is_there_and_no_other():
    for name in foldwise.__all__:
        assert getattr(foldwise, name) is not None
    assert set(dir(foldwise)) == set(foldwise.__all__)
    with pytest.raises(AttributeError, match="no attribute 'NaivBayes'"):
        foldwise.NaivBayes  # noqa: B018


@pytest.mark.parametrize("name", [name for name in MODULES if name not in LONG] + slow(*LONG))
def test_examples_in_docstrings_run(name):
    module = importlib.import_module(name)
    assert module.__doc__, "a file opens with a sentence on what it is for"
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def test_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


def test_the_readme_counts_the_torture_cases():
    from tests.bayes.torture import CASES

    lines = (ROOT / "docs" / "torture.md").read_text().splitlines()
    titles, passes = (next(line for line in lines if line.startswith(start)) for start in ("| of", "| pass"))
    sums = {
        title.split()[0]: n.strip() for title, n in zip(titles.split("|")[2:-1], passes.split("|")[2:-1], strict=True)
    }
    readme = " ".join((ROOT / "README.md").read_text().split())
    others = f"the library River {sums['river']}, scikit-learn {sums['scikit-learn']}:"
    assert f"{len(CASES)} of {len(CASES)} hard cases ({others}" in readme


def test_the_readme_states_the_times_of_the_benchmark_pages():
    rows = re.findall(r"\((benchmarks/\S+)\)\) \| (.+?) \| (.+?) \| (.+?)× \|", (ROOT / "README.md").read_text())
    assert len(rows) == 3
    for page, *times in rows:
        lines = (ROOT / page).read_text().splitlines()
        assert any(all(one in line for one in (*times[:2], f"{times[2]} ×")) for line in lines), page


# the client needs a server: tests/app/serving runs it
EXAMPLES = [path for path in sorted((ROOT / "examples").glob("*.py")) if path.name != "predict_client.py"]


def test_a_mistyped_name_of_the_package_is_suggested_by_python():
    done = subprocess.run(
        [sys.executable, "-c", "import foldwise; foldwise.read_tabel"], capture_output=True, text=True
    )
    assert done.stderr.strip().endswith("has no attribute 'read_tabel'. Did you mean: 'read_table'?")


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(path):
    subprocess.run([sys.executable, path], check=True, capture_output=True)


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda path: path.name)
def test_what_benchmarks_import_is_there(path):
    """They run by hand only, so a renamed function would break them unnoticed."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] in ("foldwise", "tests"):
            module = importlib.import_module(node.module)
            for name in node.names:
                if not hasattr(module, name.name):
                    importlib.import_module(f"{node.module}.{name.name}")


# what engines, and the tables of other libraries, bring: extras install them
NOT_IN_THE_CORE = {"duckdb", "ibis-framework", "psycopg", "psycopg2", "pyarrow", "pandas", "pyspark", "sqlglot"}
NOT_IN_THE_CORE |= {"psycopg-binary", "sqlglotrs", "adbc-driver-postgresql", "adbc-driver-sqlite", "connectorx", "dask"}


def test_the_core_install_contains_no_engine():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    core = {re.split(r"[^\w.-]", one)[0].lower() for one in project["dependencies"]}
    assert "numpy" in core
    assert not core & NOT_IN_THE_CORE
    extras = {name: " ".join(project["optional-dependencies"][name]) for name in ("duckdb", "postgres", "spark")}
    assert all("ibis-framework" in packages for packages in extras.values())
    assert "duckdb>=" in extras["duckdb"]
    assert "psycopg[binary]" in extras["postgres"]
    assert "pyspark" in extras["spark"]


def test_lines_of_code_are_counted():
    code_lines = runpy.run_path(str(ROOT / "benchmarks" / "count.py"))["code_lines"]
    assert code_lines('"""What it\nis for."""\n\nx = [  # why\n    1,\n]\n# a comment\n') == 3
