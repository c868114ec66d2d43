"""Test collections, judges and clicks: pools, agreement of labels, reliability, difficulty,
propensities, preferences.
"""
