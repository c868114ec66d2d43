"""Groups of queries or users that have no query in common, such as the arms of an A/B test."""
