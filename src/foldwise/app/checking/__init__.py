"""`check`: what changed in new rows since training, from the model file alone."""
