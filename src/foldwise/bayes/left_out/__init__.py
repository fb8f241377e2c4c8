"""Leave-one-out of naive Bayes: the facts of all rows, less what the row that is asked about has added to them."""
