"""The main job on a table that ships with the project: fit, cross-validate, show how one prediction comes about."""

from pathlib import Path

from sklearn.model_selection import LeaveOneOut, cross_val_score

from foldwise import NaiveBayes, read_table

table = read_table(Path(__file__).parent / "weather.csv", target="play")
print(table, end="\n\n")

model = NaiveBayes().fit(table.X, table.y)
print(model.table(), end="\n\n")

scores = cross_val_score(NaiveBayes(), table.X, table.y, cv=LeaveOneOut())
majority = max(model.class_count_) / len(table.y)
print(f"leave-one-out accuracy {scores.mean():.3f} on {len(scores)} rows (always the larger class: {majority:.3f})\n")

day = table.X[:1]
print(f"Will they play on the first day? The table says {table.y[0]!r}.")
print(model.explain(day))
