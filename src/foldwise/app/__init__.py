"""The workbench: the run from a table to a decision, and its command line."""
