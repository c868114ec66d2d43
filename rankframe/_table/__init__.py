"""One table: which column is what, the policies, other tools' conventions, what makes the table unfit, a run joined with its judgments."""
