"""ONNX graphs of fitted models in double precision, one file per kind of model."""
