"""Fusion of runs: the methods at work, their training and their tuning."""
