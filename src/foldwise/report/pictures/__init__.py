"""Inline SVG, one small file per kind of picture. Colors are variables of the page, for light and dark mode."""
