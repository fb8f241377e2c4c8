"""The report: results become plain facts, facts become pictures and words, all of it one HTML file.

`prediction_facts` and `nomogram` compute and know nothing of pages; `render` writes the page and computes nothing.
"""

from foldwise.report.curves import prediction_facts
from foldwise.report.html import render
from foldwise.report.nomogram import nomogram

__all__ = ["nomogram", "prediction_facts", "render"]
