"""What changed since training: small summaries of training columns, and how new columns differ from them."""
