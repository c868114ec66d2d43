"""Figures, the marks they are made of, Altair and Matplotlib to draw them, and the report page."""
