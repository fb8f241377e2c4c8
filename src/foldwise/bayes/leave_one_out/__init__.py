"""Leave-one-out of naive Bayes: the facts of all rows, without the part of the row that is left out."""
