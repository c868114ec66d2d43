"""One table: its roles, policies, conventions, and faults, and a run joined with its judgments."""
