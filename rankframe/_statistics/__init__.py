"""Statistics of arrays beyond means, intervals and paired tests, which `rankframe.stats` has."""
