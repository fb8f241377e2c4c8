"""Work in other processes, which can be stopped at any moment: that is how a budget is kept."""
