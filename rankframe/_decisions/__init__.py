"""From values to decisions: summaries, intervals, runs compared, gates, and how many queries it takes."""
