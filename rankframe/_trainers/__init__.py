"""Hooks of trainers: what boosters and neural trainers call between their steps, and a sum of batches."""
