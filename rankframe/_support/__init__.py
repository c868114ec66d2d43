"""Shared helpers: optional libraries, progress, random draws, the kinds of options."""
