"""Where fronts differ: a verb or a formula as a method of Polars, lazy, pandas and Arrow tables,
and as a task of an engine.
"""
