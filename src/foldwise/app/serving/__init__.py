"""The prediction server: requests with rows in, predictions out. Many small requests share one pass of the model."""
