"""The sections of a report on a table without a target."""
