"""A verb as a node of a LazyFrame's plan: its memory limit, and the rows on disk that exceed it."""
