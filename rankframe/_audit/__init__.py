"""The audit of a number: the value that each tool prints for a table, and the tool or the choice behind a value."""
