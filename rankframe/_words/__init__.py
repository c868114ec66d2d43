"""The words that formulas are written in: rankings and subtopics as expressions, and the columns
they ask for.
"""
