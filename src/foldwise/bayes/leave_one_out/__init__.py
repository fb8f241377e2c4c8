"""Leave-one-out for naive Bayes: the facts of all rows, minus those of the row that is left out."""
