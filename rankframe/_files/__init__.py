"""Runs and judgments in files: rows of any format, and what is wrong with a file that cannot be read."""
