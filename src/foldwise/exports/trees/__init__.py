"""The trees of fitted models as plain lists of splits, read once for every export; one file per library."""
