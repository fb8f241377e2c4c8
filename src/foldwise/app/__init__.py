"""The workbench: the run from a table to a model and its report, what is done with a finished run, the commands."""
