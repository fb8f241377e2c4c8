"""`foldwise explore`: the questions of a table without a target, asked within a budget, and their answers."""
