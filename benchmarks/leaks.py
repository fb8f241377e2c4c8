"""The planted leaks of tests/evaluation/leaks/cases.py, 20 seeds each: prints docs/leaks.md.

python benchmarks/leaks.py > docs/leaks.md
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from tests.evaluation.leaks.cases import CASES, Case, best_of_study, corrected_study, nested_study

FRESH = range(100, 160)

HEAD = """# Leaks

A leak lets a test know what only the training rows may say, and the score is too good. Each line below is a way in
which people leak, planted in a table of noise: labels have nothing to do with rows, so an honest area under the ROC
curve is 0.5 on the average. *Wrong* is done by hand before the split, with scikit-learn's cross-validation; *Foldwise*
is the same thing done inside, by a pipeline, a splitter or a corrected estimate. Means of 20 seeds with their standard
errors; made by `benchmarks/leaks.py` from `tests/evaluation/leaks/cases.py`, and held to 0.50 ± 0.02 by
`tests/evaluation/leaks/test_cases.py`.

| the leak | wrong | Foldwise | how | what `find_leaks` says |
|---|--:|--:|---|---|"""

TAIL = """
- Scaling and imputing by columns use no label, so noise cannot show them: they leak little, and in a pipeline nothing.
- A threshold moves no area, so labels are scored there: the area under the curve of labels is the balanced accuracy.
- `nested_cv` repeats the whole study on the training rows of each outer fold, so it is 0.5 but for chance.
  `bias_corrected` takes off most of a study's luck, not all: the rows that a bootstrap leaves out have trained the
  models among which it chooses;
  {luck}
- What was done to a table before it came (encoding, selection, imputing) leaves no trace in rows and splits, so
  `find_leaks` cannot see it. Put every step that learns into the pipeline.

## What `find_leaks` looks for

`find_leaks(X, y, cv=…, groups=…, time=…)` looks at rows and splits, before anything is fitted. A finding is a *leak*
(seen in the rows), a *suspicion* (only you know how the rows came about) or a *note* (there, but too little to matter,
or no more than chance brings), with numbers, rows to look at, and what to do.

- **duplicates**: test rows that are equal to training rows of their split, and how often the labels agree. A leak from
  1 % of the test rows on, if there are ten and more than three times as many as columns that are independent given the
  class would bring; else a note. **Near duplicates** differ by rounding (a millionth of a column's spread) or in a
  column that numbers the rows.
- **groups**: with `groups=`, those on both sides of a split. Without, a column of many values, each in several rows,
  is suspected where its values all but decide the label, or where it is called like `patient_id`.
- **time**: with `time=`, test rows that are earlier than training rows. Without, columns of dates by which they are,
  and labels and columns that last from row to row under splits that part neighbors.
- **target**: a column that tells the target in 99.9 % of the rows is suspected.

Searches, `nested_cv` and `estimate` do not look by themselves: a search of 9 ms would pay more for looking than for its
work, tables of few values would warn for ever, and a check that is made only where it is cheap would warn by the clock.
Look once.

## What helps

- Duplicates: `groups=duplicate_groups(X)`, which numbers equal rows alike, with `StratifiedGroupKFold` or `GroupKFold`.
- Groups: `groups=` with the same splitters; in `nested_cv`, the search inside wants one as its `cv`, too.
- Time: rows in order and `cv=TimeSeriesSplit()`, with a `gap` where labels last."""


def line(case: Case) -> str:
    """One case as a row of the table."""
    wrong, right = case.means()
    leaks = () if case.looked is None else case.looked(0)
    found = "; ".join(f"{one.name}, {one.share:.0%} of the test rows".replace("%", " %") for one in leaks)
    cells = (case.name, mean_of(wrong), mean_of(right), case.how, found or "nothing: it leaves no trace")
    return f"| {' | '.join(cells)} |"


def mean_of(scores: np.ndarray) -> str:
    """A mean with its standard error."""
    return f"{scores.mean():.3f} ± {scores.std(ddof=1) / np.sqrt(len(scores)):.3f}"


def luck() -> str:
    """What is left of a study's luck on fresh seeds, by each estimate."""
    naive, nested, corrected = (
        mean_of(np.array([way(seed) for seed in FRESH])) for way in (best_of_study, nested_study, corrected_study)
    )
    return (
        f"on {len(FRESH)} further seeds the best score is {naive}, `nested_cv` {nested}, `bias_corrected` {corrected}."
    )


def main() -> None:
    print(HEAD)
    for case in CASES:
        print(line(case), flush=True)
    print(TAIL.format(luck=luck()))


if __name__ == "__main__":
    main()
