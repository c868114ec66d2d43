"""The audit of a number: the tools' conventions, a published value, and what runs have in
common.
"""
