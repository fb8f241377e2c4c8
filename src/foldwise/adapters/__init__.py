"""Fold sessions for other people's estimators, one file per library and kind, registered by exact type."""
