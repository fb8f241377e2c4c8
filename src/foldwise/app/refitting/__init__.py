"""`refit`: the same models on new rows, compared with the old ones on the same held-out rows."""
