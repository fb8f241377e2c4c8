"""The sections of the page, one file each: facts in, HTML out. A section without facts is left out."""
