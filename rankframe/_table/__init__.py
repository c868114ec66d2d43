"""One table: the roles of its columns, policies, other tools' conventions, faults, a run joined
with its judgments.
"""
