"""What all users are shown together: the exposure of items, metrics of a catalog, gaps between groups of users."""
