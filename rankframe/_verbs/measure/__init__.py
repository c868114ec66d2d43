"""Values per query, their summaries, judgments joined to runs, and the values of several runs on
the same queries.
"""
