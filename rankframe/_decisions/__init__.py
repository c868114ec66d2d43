"""From values to decisions: summaries, intervals, comparisons of runs, gates, and the number of queries needed."""
