"""Figures and their marks, drawing by Altair and Matplotlib, and the report page."""
