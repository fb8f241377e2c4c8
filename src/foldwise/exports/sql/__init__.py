"""SQL of fitted models: small steps that every database runs, one file per kind of model."""
