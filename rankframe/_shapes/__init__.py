"""Judged rankings in other shapes, brought into the long table: lists, dictionaries, arrays."""
