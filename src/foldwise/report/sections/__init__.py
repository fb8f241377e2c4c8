"""The sections of the page, one file each: facts in, HTML out; nothing where there are no facts."""
