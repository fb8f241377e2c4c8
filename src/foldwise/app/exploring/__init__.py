"""`foldwise explore`: questions about a table without a target, answered within a budget."""
