"""The record of a run: what its folder holds while it runs, so that it can be watched, stopped and resumed."""
