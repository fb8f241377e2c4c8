"""What parts the rows of a table are made of: factors, their number, and the columns that belong to them."""
