"""Samples of values per query: the rows of several runs, slices and weights of queries, judged
queries, and settings of intervals.
"""
