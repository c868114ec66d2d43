"""The lists of all users together: the exposure of items, metrics of a catalog, gaps between groups of users."""
