"""The rankers behind `.rank`: methods of metrics, verbs and decisions; Polars, pandas and the namespace."""
