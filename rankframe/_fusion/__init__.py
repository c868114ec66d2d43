"""Fuse several rankings into one: their rows in rank order, the fused score of each document, and the verbs."""
