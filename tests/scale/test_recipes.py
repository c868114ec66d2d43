"""What docs/scale.md writes for Spark, Dask, Ray and DuckDB runs as it stands there; Ibis tables are read."""
