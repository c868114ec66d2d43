"""Calls of verbs: how a verb is declared, how a call runs on rows in memory or in a lazy plan, and
the warnings that it watches for.
"""
