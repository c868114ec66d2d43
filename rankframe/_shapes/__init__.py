"""Convert judged rankings in lists, dictionaries and arrays into the long table."""
