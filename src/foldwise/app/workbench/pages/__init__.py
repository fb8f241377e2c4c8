"""The pages of the workbench, one file each, and the menus that lead to them."""

from __future__ import annotations

from foldwise.app.workbench.pages import data, result, runs

PAGES = (data, runs, result)  # modules with ROUTES
MENU = (("/data", "Data"), ("/runs", "Runs"))  # addresses and titles
RUN_MENU = (("", "Result"), ("/report", "Report"))  # of one run, after /runs/NAME
