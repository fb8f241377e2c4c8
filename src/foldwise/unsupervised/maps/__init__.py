"""What a table looks like: rows as points in the plane, with a figure of how much the map distorts."""
