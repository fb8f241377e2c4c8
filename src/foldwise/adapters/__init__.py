"""Fold sessions for estimators of other libraries, registered by exact type."""
