"""What Polars will run for a LazyFrame."""

from __future__ import annotations

import polars as pl


def assert_native(lazy: pl.LazyFrame) -> None:
    """No function of Python's runs inside the plan."""
    plan = lazy.explain().lower()
    assert not any(word in plan for word in ("python", "map_groups", "map_elements", "map_batches", "opaque"))
