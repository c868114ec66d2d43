"""Decisions between runs on the same queries: comparisons, gates, power, ranks, and looks of a
sequential test.
"""
