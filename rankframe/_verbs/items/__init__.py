"""Items: lists of users against the catalog and past interactions, metrics of the whole table,
exposure.
"""
