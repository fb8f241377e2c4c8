"""Writes loans.csv: 1,200 invented loans, of which it is known how well anybody could foretell whether they are repaid.

python examples/make_loans.py
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

N_ROWS = 1200
PURPOSES = ("car", "furniture", "business", "education", "repairs")
HOUSING = ("own", "rent", "family")


def main() -> None:
    """Draw the table, and say what the best possible model would score on it."""
    rng = np.random.default_rng(20)
    age = np.clip(rng.gamma(9, 4.5, N_ROWS), 19, 80).round()
    income = np.exp(rng.normal(7.9, 0.45, N_ROWS)).round(-1)
    amount = np.exp(rng.normal(8.3, 0.8, N_ROWS)).round(-2)
    months = rng.choice([6, 12, 18, 24, 36, 48, 60], N_ROWS, p=[0.1, 0.25, 0.15, 0.2, 0.15, 0.1, 0.05])
    late = rng.poisson(np.where(rng.random(N_ROWS) < 0.3, 2.0, 0.2))
    purpose = rng.choice(PURPOSES, N_ROWS, p=[0.3, 0.25, 0.15, 0.15, 0.15])
    housing = rng.choice(HOUSING, N_ROWS, p=[0.45, 0.4, 0.15])
    burden = amount / (months * income)
    odds = (
        2.9
        - 9.0 * burden
        - 0.75 * np.minimum(late, 4)
        - 0.9 * (purpose == "business") * (age < 35)
        + 0.6 * (purpose == "education")
        + 0.8 * (housing == "own") * (months > 24)
        - 0.035 * np.abs(age - 48)
    )
    share = 1 / (1 + np.exp(-odds))
    repaid = rng.random(N_ROWS) < share
    known = np.where(rng.random(N_ROWS) < 0.06, "", income.astype(int).astype(str))
    columns = {
        "age": age.astype(int), "income": known, "amount": amount.astype(int), "months": months, "late_payments": late,
        "purpose": purpose, "housing": housing, "repaid": np.where(repaid, "yes", "no"),
    }  # fmt: skip
    with open(Path(__file__).parent / "loans.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    best = -np.mean(np.log(np.where(repaid, share, 1 - share)))
    print(f"{repaid.mean():.3f} repaid; whoever knew the odds would have a log loss of {best:.3f}")
    print(f"and be right in {np.mean((share > 0.5) == repaid):.3f} of cases")


if __name__ == "__main__":
    main()
