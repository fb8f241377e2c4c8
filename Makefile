# Every target makes the environment it needs: a fresh machine with Python 3.11+, make and a package registry is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# modules stay compiled between runs, also where the environment says otherwise: tests start many processes
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo docs wheel test test-slow test-all test-machines test-lowest fuzz tables lint types contract bench count recipes simulate nulls torture oracles clean

demo: $(READY)
	$(BIN)/foldwise fit examples/loans.csv --target repaid --budget 30s --out build/loans-run --force

# worksteal keeps the tests of a file on one worker, so that what they share is made once
test: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal

# the docs site in build/site; warnings are errors, links are checked (--quiet would hide them, so that none count)
docs: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# the wheel in an empty environment with the core only: it fits the shipped table and opens the model it wrote
wheel: $(READY)
	rm -rf build/wheel && mkdir -p build/wheel
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/wheel .
	$(PYTHON) -m venv build/wheel/env
	build/wheel/env/bin/python -m pip install --quiet --disable-pip-version-check build/wheel/*.whl
	cp examples/loans.csv build/wheel
	cd build/wheel && env/bin/foldwise version
	cd build/wheel && env/bin/foldwise fit loans.csv --target repaid --budget 20s --out run
	cd build/wheel && env/bin/foldwise predict run loans.csv -o predictions.csv

# simulations and models × tables, which make test leaves out
test-slow: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal -m slow

test-all: test test-slow

# the tests as other CPUs would run them, an hour: make test-machines MACHINES="haswell no-avx2" ARGS="-n 2 tests/folds"
test-machines: $(READY)
	$(BIN)/python -m tests.machines $(MACHINES) -- $(ARGS)

# the tests with the lowest versions that pyproject.toml allows
test-lowest: $(READY)
	test -x $(VENV)-lowest/bin/python || $(PYTHON) -m venv $(VENV)-lowest
	$(PYTHON) tests/lowest.py > $(VENV)-lowest/constraints.txt
	$(VENV)-lowest/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(VENV)-lowest/constraints.txt --editable '.[dev]'
	$(VENV)-lowest/bin/python -m pytest -n auto --dist worksteal $(ARGS)

fuzz: $(READY)
	$(BIN)/python -m pytest -n auto -m fuzz tests/data/test_fuzz.py

# a quarter of an hour on a quiet machine: every real table through the command line, held to its budget
tables: $(READY)
	$(BIN)/python -m pytest -m tables -s tests/app/test_tables.py tests/app/test_raw_configs.py

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
	$(BIN)/python benchmarks/cross_validation.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/families.py
	$(BIN)/python benchmarks/neighbors.py
	$(BIN)/python benchmarks/bias_corrected.py
	$(BIN)/python benchmarks/fit_intervals.py
	$(BIN)/python benchmarks/fit_value_intervals.py
	$(BIN)/python benchmarks/ensembles.py
	$(BIN)/python benchmarks/leaks.py > docs/leaks.md
	$(BIN)/python benchmarks/leave_one_out.py
	$(BIN)/python benchmarks/selection.py
	$(BIN)/python benchmarks/clusters.py
	$(BIN)/python benchmarks/planted_clusters.py
	$(BIN)/python benchmarks/associations.py
	$(BIN)/python benchmarks/factors.py
	$(BIN)/python benchmarks/linear.py
	$(BIN)/python benchmarks/store.py
	$(BIN)/python benchmarks/search_timeout.py
	$(BIN)/python benchmarks/decisions.py > docs/decisions.md

# lines of code by room, without docstrings, comments and blank lines
count: $(READY)
	$(BIN)/python benchmarks/count.py

# an hour; what was found is kept, so that it may be stopped and go on
recipes: $(READY)
	$(BIN)/python benchmarks/recipes.py --cache $(VENV)/recipes.jsonl

# an hour: how far estimates are off, and how often their intervals hold the truth
simulate: $(READY)
	$(BIN)/python benchmarks/estimates.py

nulls: $(READY)
	$(BIN)/python benchmarks/null_comparisons.py

torture: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[peers]'
	$(BIN)/python -m tests.bayes.torture

# asks R, its e1071, and Weka again: make oracles WEKA=path/to/weka.jar
oracles: $(READY)
	$(BIN)/python -m tests.bayes.oracles.make_fixtures $(WEKA)
	$(BIN)/python -m tests.evaluation.comparing.oracles.make_fixtures $(WEKA)
	$(BIN)/python -m tests.rules.oracles.make_fixtures $(WEKA)
	$(BIN)/python -m tests.ensembles.oracles.make_fixtures $(WEKA)

clean:
	rm -rf $(VENV) $(VENV)-lowest build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: make PYTHON=/path/to/python")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@
