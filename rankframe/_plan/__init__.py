"""From rows to values: rank order, the columns that formulas ask for, their sums per query, bounds,
and the lazy node.
"""
