"""Inline SVG, one small file a kind of picture. Colours are variables of the page, which knows light and dark."""
