"""The report: facts become words and pictures, all of it one HTML file. It formats and computes nothing."""

from foldwise.report.html import render

__all__ = ["render"]
