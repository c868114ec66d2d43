"""Hooks that boosters and neural trainers call between their steps, and an accumulator of
batches.
"""
