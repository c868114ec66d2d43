"""A metric by its name: the list of metrics, a call with its options, its text, and the conventions of other tools."""
