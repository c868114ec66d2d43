"""What every verb takes: its declaration, how a call runs, entries of runs, slices of queries, and settings of intervals."""
