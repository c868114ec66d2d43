"""Tables in parts: the metrics as a function of Arrow tables, what workers run, and summaries that merge."""
