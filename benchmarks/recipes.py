"""Single models and every recipe of `foldwise.ensembles` on the real tables, ten folds each: writes docs/recipes.md.

    python benchmarks/recipes.py --cache FILE [table …]

The tables are those of FOLDWISE_DATA or ../shared/data that have classes and fewer than 12,000 rows. What is found is
kept in FILE, a line for each table, model and fold, so that a run that was stopped goes on where it was. With names of
tables only these are looked at, and nothing is written but the cache.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

from decisions import LEAST, tables
from foldwise import ensembles, read_table
from foldwise.evaluation.comparing import Comparison, TablesComparison
from foldwise.models import Outline, for_trees, outline, spec_of

DOCS = Path(__file__).parents[1] / "docs" / "recipes.md"
SIZE = 25
SINGLES = {"bayes": "naive_bayes", "knn": "knn", "tree": "decision_tree", "logistic": "logistic_regression"}
KEYS = ("accuracy", "log_loss")
Key = tuple[str, str, int]  # table, model, fold
Scores = dict[str, list[float]]  # by the name of the metric, one a fold

HEAD = f"""# Single models and recipes

Four single models of the catalog, without any search, and every recipe of `foldwise.ensembles`. Nothing is tuned,
and larger ensembles would do better. Made by `make recipes` (`benchmarks/recipes.py`).

- **Single models**: naive Bayes with kernel densities, 15 nearest neighbors with a distance for mixed columns, a
  decision tree, and logistic regression. Each has its own preprocessing, which is learned in each training set.
- **Combinations of these four**: `majority_vote`, `weighted_vote`, `stacking`, `greedy_selection` and `grading`.
- **Ensembles of trees**: {SIZE} unpruned trees in `bagging`, `pasting` (half of the rows), `random_subspaces` (half
  of the columns) and `random_forest`; 50 trees of depth 3 in `adaboost`; one tree per bit of the code in `ecoc`; at
  most 10 trees in 20 trials in `decorate`; 8 unpruned trees in `arbiter_tree`.
- **`boosted_trees`** is a recipe for numeric targets. Here one ensemble of {SIZE} trees with 7 splits and learning
  rate 0.3 per class predicts whether a row belongs to the class, and the largest value wins.

The figures are accuracies in percent, means over ten folds (or as many as the largest class has rows, if fewer).
Folds are stratified, shuffled once, and the same for all models. The best of each row is **bold**. ° means p < 0.05
in the corrected resampled t-test against the best. °° means p < 0.05 also after Holm's correction for all pairs of
models. All models without °° are statistically tied with the best. Ten folds find few real differences
([comparisons](comparisons.md)), so a tie does not prove that models are equal.
"""


class ByValues(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of a regressor: one copy a class learns 1 for its rows and 0 for others."""

    def __init__(self, regressor: Any) -> None:
        self.regressor = regressor

    def fit(self, X: Any, y: Any) -> ByValues:
        self.classes_, codes = np.unique(y, return_inverse=True)
        asked = range(len(self.classes_)) if len(self.classes_) > 2 else [1]
        self.models_ = [clone(self.regressor).fit(X, (codes == c).astype(float)) for c in asked]
        return self

    def predict_proba(self, X: Any) -> Any:
        values = np.clip([model.predict(X) for model in self.models_], 0.0, 1.0).T
        if len(self.models_) == 1:
            return np.hstack([1 - values, values])
        total = values.sum(axis=1, keepdims=True)
        return np.where(total > 0, values / np.where(total > 0, total, 1), 1 / len(self.classes_))

    def predict(self, X: Any) -> Any:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def models(columns: Outline) -> dict[str, Callable[[], Any]]:
    """How each column of the page is made."""
    singles = {name: spec_of(family).pipeline(columns) for name, family in SINGLES.items()}
    tree, seed = DecisionTreeClassifier(), {"random_state": 0}

    def prepared(model: Any) -> Pipeline:
        """Trees see columns that are prepared once a training set, not once a tree."""
        return Pipeline([("prepare", for_trees(columns)), ("model", model)])

    found: dict[str, Callable[[], Any]] = {name: partial(clone, one) for name, one in singles.items()}
    return found | {
        "bagging": lambda: prepared(ensembles.bagging(tree, SIZE, **seed)),
        "pasting": lambda: prepared(ensembles.pasting(tree, SIZE, **seed)),
        "random_subspaces": lambda: prepared(ensembles.random_subspaces(tree, SIZE, **seed)),
        "random_forest": lambda: prepared(ensembles.random_forest(SIZE, **seed)),
        "adaboost": lambda: prepared(ensembles.adaboost(DecisionTreeClassifier(max_depth=3), 50, **seed)),
        "boosted_trees": lambda: prepared(ByValues(ensembles.boosted_trees(SIZE, splits=7, learning_rate=0.3, **seed))),
        "majority_vote": lambda: ensembles.majority_vote(singles, **seed),
        "weighted_vote": lambda: ensembles.weighted_vote(singles, **seed),
        "stacking": lambda: ensembles.stacking(singles, **seed),
        "greedy_selection": lambda: ensembles.greedy_selection(singles, **seed),
        "ecoc": lambda: prepared(ensembles.ecoc(tree, **seed)),
        # artificial rows are made of the columns as they came; unpruned trees would learn each of their wrong labels
        "decorate": lambda: ensembles.decorate(singles["tree"], 10, trials=20, **seed),
        "grading": lambda: ensembles.grading(singles, singles["bayes"], cv=5, **seed),
        "arbiter_tree": lambda: prepared(ensembles.arbiter_tree(tree, **seed)),
    }


def scores_of(model: Any, X: Any, y: Any) -> dict[str, float]:
    """The accuracy and the log loss of a fitted model; a class that it never met has the probability 0."""
    places = np.searchsorted(model.classes_, y)
    known = np.append(model.classes_, model.classes_[:1])[places] == y
    proba = np.where(known, model.predict_proba(X)[np.arange(len(y)), places % len(model.classes_)], 0.0)
    loss = -float(np.log(np.maximum(proba, np.exp(LEAST))).mean())
    return {"accuracy": float((model.predict(X) == y).mean()), "log_loss": loss}


def cells(entries: list[dict[str, Any]], folder: Path, known: set[Key]) -> Iterator[dict[str, Any]]:
    """What is not known yet: the scores of one model on one fold of a table."""
    for entry in entries:
        table = read_table(folder / entry["file"], target=entry["target"])
        y = np.asarray(table.y)
        folds = min(10, int(np.unique(y, return_counts=True)[1].max()))
        splits = list(StratifiedKFold(folds, shuffle=True, random_state=0).split(y, y))
        for name, make in models(outline(table)).items():
            for fold, (train, test) in enumerate(splits):
                if (entry["name"], name, fold) not in known:
                    start = time.process_time()
                    scores = scores_of(make().fit(table.X[train], y[train]), table.X[test], y[test])
                    spent = round(time.process_time() - start, 3)
                    facts = {"table": entry["name"], "model": name, "fold": fold, "folds": folds, "seconds": spent}
                    yield {**facts, **scores}


def collected(cache: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in cache.read_text().splitlines()] if cache.exists() else []


def key_of(found: Mapping[str, Any]) -> Key:
    return found["table"], found["model"], found["fold"]


def by_table(found: list[dict[str, Any]], names: list[str]) -> dict[str, dict[str, Scores]]:
    """The scores of each table: a model's in the order of folds; tables without all models are left out."""
    tables: dict[str, dict[str, Scores]] = {}
    for one in sorted(found, key=lambda one: one["fold"]):
        scores = tables.setdefault(one["table"], {}).setdefault(one["model"], {key: [] for key in KEYS})
        for key in KEYS:
            scores[key].append(one[key])
    folds = {one["table"]: one["folds"] for one in found}
    return {
        table: {name: models[name] for name in names}
        for table, models in tables.items()
        if all(name in models and len(models[name]["accuracy"]) == folds[table] for name in names)
    }


def row(name: str, n_rows: int, models: Mapping[str, Scores]) -> str:
    """A line of the page, with the marks of its comparison."""
    accuracies = {model: scores["accuracy"] for model, scores in models.items()}
    folds = len(next(iter(accuracies.values())))
    found = Comparison.of(accuracies, test_share=1 / (folds - 1))
    shown = []
    for model in models:
        value = f"{100 * found.estimates[model].value:.1f}"
        if model == found.best:
            value = f"**{value}**"
        elif model not in found.tied:
            value += "°°"
        elif found.test(found.best, model).p < 0.05:
            value += "°"
        shown.append(value)
    return "| " + " | ".join([name, str(n_rows), *shown]) + " |"


def summary(tables: Mapping[str, Mapping[str, Scores]], key: str, sign: int) -> TablesComparison:
    means = {
        table: {name: sign * float(np.mean(one[key])) for name, one in models.items()}
        for table, models in tables.items()
    }
    return TablesComparison.of(means, rope=0.01)


def page(found: Mapping[str, Mapping[str, Scores]], entries: list[dict[str, Any]], names: list[str]) -> str:
    """The whole page."""
    accuracy, loss = summary(found, "accuracy", 1), summary(found, "log_loss", -1)
    heads = [name.replace("_", " ") for name in names]
    lines = ["| table | rows | " + " | ".join(heads) + " |", "|---|--:|" + "--:|" * len(names)]
    lines += [row(one["name"], one["rows"], found[one["name"]]) for one in entries if one["name"] in found]
    for what, ranked in (("mean rank", accuracy), ("mean rank, log loss", loss)):
        best = min(ranked.ranks.values())
        ranks = [f"**{r:.1f}**" if (r := ranked.ranks[name]) == best else f"{r:.1f}" for name in names]
        lines.append("| " + " | ".join([what, "", *ranks]) + " |")
    lost = [one["name"] for one in entries if one["name"] not in found]
    note = [f"Not measured yet: {', '.join(lost)}.", ""] if lost else []
    return "\n".join([HEAD, *lines, "", *note, over_tables(accuracy, loss), ""])


def over_tables(accuracy: TablesComparison, loss: TablesComparison) -> str:
    parts = ["## Over all tables", ""]
    for title, found in (("Accuracy", accuracy), ("Log loss", loss)):
        friedman, others = found.friedman, ", ".join(f"`{one}`" for one in found.tied[1:])
        parts += [
            f"**{title}.** Friedman's test over {len(found.tables)} tables and {len(found.names)} models gives chi2 = "
            f"{friedman.chi2:.1f}, {probability(friedman.p)}. By Nemenyi's test, mean ranks differ if they are "
            f"{found.critical_difference:.1f} apart. By Wilcoxon's signed-rank test with Holm's correction for all "
            f"pairs, these models are statistically tied with `{found.best}`, which has the best rank: "
            f"{others or 'none'}.",
            "",
        ]
    head = (
        "| model | mean accuracy | mean rank | p, Wilcoxon with Holm | p, Nemenyi | better | equal within 1% | worse |"
    )
    parts += [head, "|---|--:|--:|--:|--:|--:|--:|--:|"]
    for line in accuracy.to_frame().to_dicts():
        facts = [f"{100 * line['score']:.1f}", f"{line['rank']:.1f}"]
        if line["p"] is None:
            facts += [""] * 5
        else:
            facts += [f"{line[key]:.3f}" for key in ("p_holm", "p_nemenyi")]
            facts += [f"{line[key]:.2f}" for key in ("better", "equal", "worse")]
        parts.append(f"| {line['model']} | " + " | ".join(facts) + " |")
    parts += [
        "",
        "The last three columns are the probabilities that a model is better than the best-ranked one, practically "
        "equal, or worse, by the Bayesian\nsigned-rank test.",
    ]
    return "\n".join(parts)


def probability(p: float) -> str:
    return f"p = {p:.3f}" if p >= 0.001 else "p < 0.001"


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--cache", type=Path, required=True, help="what was found; is added to")
    asked.add_argument("tables", nargs="*", help="the tables to look at; all by default")
    cache, wanted = asked.parse_args().cache, asked.parse_args().tables
    folder = Path(os.environ.get("FOLDWISE_DATA", Path(__file__).parents[2] / "shared" / "data"))
    warnings.simplefilter("ignore")
    entries = list(tables(folder))
    some = [entry for entry in entries if not wanted or entry["name"] in wanted]
    with cache.open("a") as kept:
        for found in cells(some, folder, {key_of(one) for one in collected(cache)}):
            kept.write(json.dumps(found) + "\n")
            kept.flush()
            print(*key_of(found), f"{found['seconds']:.1f} s", file=sys.stderr, flush=True)
    if not wanted:
        write(cache, entries, folder)


def write(cache: Path, entries: list[dict[str, Any]], folder: Path) -> None:
    """The page of what is known."""
    first = entries[0]
    names = list(models(outline(read_table(folder / first["file"], target=first["target"]))))
    DOCS.write_text(page(by_table(collected(cache), names), entries, names))


if __name__ == "__main__":
    main()
