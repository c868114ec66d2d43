"""Runs and judgments in files: rows of any format, and the faults of files that cannot be read."""
