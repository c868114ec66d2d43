"""Decisions between runs on the same queries: comparisons, gates, power, ranks, looks."""
