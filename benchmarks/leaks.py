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

A leak lets information about test rows reach training, and the score becomes too good. Each row below is a common way
to leak, planted in a table of noise. Labels have nothing to do with the columns, so an honest area under the ROC
curve is 0.5 on average.

*Wrong* does the step by hand before the split, with scikit-learn's cross-validation. *Foldwise* does the same step
inside each split, or corrects for it, by a pipeline, a splitter or a corrected estimate. The figures are means of 20
seeds with their standard errors. They are made by `benchmarks/leaks.py` from `tests/evaluation/leaks/cases.py`, and
`tests/evaluation/leaks/test_cases.py` checks that they stay within 0.50 ± 0.02.

| leak | wrong | Foldwise | how | `find_leaks` reports |
|---|--:|--:|---|---|"""

TAIL = """
- Scaling and imputing by columns do not use labels, so noise cannot reveal them. They leak little before the split, and
  nothing inside a pipeline.
- A threshold does not change an area, so labels are scored there. The area under the curve of labels is the balanced
  accuracy.
- `nested_cv` repeats the whole study on the training rows of each outer fold, so it is 0.5 up to chance.
  `bias_corrected` removes most of the optimism of a study, not all, because the rows that a bootstrap sample leaves
  out were used to train the models it chooses from. {luck}
- What was done to a table before it was loaded (encoding, selection, imputation) leaves no trace in rows and splits,
  so `find_leaks` cannot see it. Put every step that learns into the pipeline.

## What `find_leaks` looks for

`find_leaks(X, y, cv=…, groups=…, time=…)` looks at rows and splits before anything is fitted. A finding is one of
three:

- a *leak*: visible in the rows;
- a *suspicion*: only you know how the rows were collected;
- a *note*: too small to matter, or no more than expected by chance.

Each comes with numbers, rows to look at, and what to do.

- **duplicates**: test rows that equal training rows of their split, and how often their labels agree. They are a leak
  if there are at least ten, if they make up at least 1% of the test rows, and if there are more than three times as
  many as expected for columns that are independent given the class. Otherwise they are a note. **Near duplicates**
  differ by rounding (a millionth of a column's standard deviation) or in a column that numbers the rows.
- **groups**: with `groups=`, groups on both sides of a split. Without it, a column with many values that each occur
  in several rows is suspected if its values almost determine the label, or if it has a name like `patient_id`.
- **time**: with `time=`, test rows that are earlier than training rows. Without it, date columns in which test rows
  are earlier than training rows, and labels and columns that stay the same over consecutive rows while the splits
  separate them.
- **target**: a column that determines the target in 99.9% of the rows is suspected.

Searches, `nested_cv` and `estimate` do not run these checks themselves. A search of 9 ms would spend more time on the
checks than on its work, and tables with few distinct values would cause a warning every time. Run `find_leaks` once per
table.

## What helps

- Duplicates: `groups=duplicate_groups(X)`, which gives equal rows the same number, with `StratifiedGroupKFold` or
  `GroupKFold`.
- Groups: `groups=` with the same splitters. In `nested_cv`, the search inside needs such a splitter as its `cv` too.
- Time: rows in time order and `cv=TimeSeriesSplit()`, with a `gap` if labels persist."""


def line(case: Case) -> str:
    """One case as a row of the table."""
    wrong, right = case.means()
    leaks = () if case.looked is None else case.looked(0)
    found = "; ".join(f"{one.name}, {one.share:.0%} of the test rows" for one in leaks)
    cells = (case.name, mean_of(wrong), mean_of(right), case.how, found or "nothing, it leaves no trace")
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
        f"On {len(FRESH)} further seeds the best score is {naive}, `nested_cv` gives {nested} and "
        f"`bias_corrected` gives {corrected}."
    )


def main() -> None:
    print(HEAD)
    for case in CASES:
        print(line(case), flush=True)
    print(TAIL.format(luck=luck()))


if __name__ == "__main__":
    main()
