"""The pages of the workbench, one file each, and the menus that lead to them."""

from __future__ import annotations

from foldwise.app.workbench.pages import ask, check, compare, data, result, runs

PAGES = (data, runs, result, ask, check, compare)  # modules with ROUTES
MENU = (("/data", "Data"), ("/runs", "Runs"), ("/compare", "Compare"))  # addresses and titles
RUN_MENU = (
    ("", "Result"),
    ("/ask", "Predict"),
    ("/check", "Check"),
    ("/report", "Report"),
)  # of one run, after /runs/NAME
