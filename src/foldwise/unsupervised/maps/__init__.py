"""What a table looks like: rows as points in the plane, and how much the map distorts distances."""
