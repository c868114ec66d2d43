"""One table: which column is what, the policies, what makes the table unfit, a run joined with its judgments."""
