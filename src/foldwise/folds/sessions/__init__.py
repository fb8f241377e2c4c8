"""The sessions that come with Foldwise: one file for each way of sharing work; `models` is the base of most."""
