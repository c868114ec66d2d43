"""What belongs to no part of the library alone: optional libraries, progress, random draws, the kinds of options."""
