"""The verbs, each a function of a table and its options: values, summaries, decisions, fusion,
items and the audit of a number.
"""
