# Every target makes the environment it needs: a fresh machine with Python 3.11+, make and a package registry is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test fuzz lint types contract bench torture oracles clean

demo: $(READY)
	$(BIN)/python examples/demo.py

test: $(READY)
	$(BIN)/python -m pytest -n auto

fuzz: $(READY)
	$(BIN)/python -m pytest -n auto -m fuzz tests/data/test_fuzz.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

contract: $(READY)
	$(BIN)/lint-imports --no-cache

bench: $(READY)
	$(BIN)/python benchmarks/naive_bayes.py
	$(BIN)/python benchmarks/nested.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/families.py
	$(BIN)/python benchmarks/neighbors.py
	$(BIN)/python benchmarks/ensembles.py
	$(BIN)/python benchmarks/leaks.py > docs/leaks.md

torture: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[peers]'
	$(BIN)/python -m tests.bayes.torture

# asks R's e1071 and Weka again: make oracles WEKA=path/to/weka.jar
oracles: $(READY)
	$(BIN)/python -m tests.bayes.oracles.make_fixtures $(WEKA)
	$(BIN)/python -m tests.ensembles.oracles.make_fixtures $(WEKA)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: make PYTHON=/path/to/python")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@
