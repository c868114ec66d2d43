"""The plan that Polars runs for a LazyFrame."""

from __future__ import annotations

import polars as pl


def assert_native(lazy: pl.LazyFrame) -> None:
    """Assert that no Python function runs inside the plan."""
    plan = lazy.explain().lower()
    assert not any(word in plan for word in ("python", "map_groups", "map_elements", "map_batches", "opaque"))
