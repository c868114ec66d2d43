"""A metric by its name: the list of metrics, a call with its options, and its text."""
