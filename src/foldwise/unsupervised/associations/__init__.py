"""What occurs together in the rows of a table: frequent itemsets, and rules that were tested on held-out rows."""
