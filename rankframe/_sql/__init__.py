"""The formulas in the SQL of a warehouse."""
