"""Training of the final model on more rows of a table that is larger than memory."""
