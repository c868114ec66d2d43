"""What Polars will run for a LazyFrame: natively, and on its streaming engine."""

from __future__ import annotations

import re

import polars as pl

IN_MEMORY = 'fillcolor="0.0 0.3 1.0"'
"""How a graph of Polars marks a node that gathers its input, whatever the node's name; its legend says so too."""


def assert_native(lazy: pl.LazyFrame) -> None:
    """No function of Python's runs inside the plan."""
    plan = lazy.explain().lower()
    assert not any(word in plan for word in ("python", "map_groups", "map_elements", "map_batches", "opaque"))


def assert_streams(lazy: pl.LazyFrame) -> None:
    """No node of the physical plan gathers its input in memory."""
    found = in_memory(lazy)
    assert not found, found


def in_memory(lazy: pl.LazyFrame) -> list[str]:
    """The nodes of the physical plan that gather their input in memory."""
    graph = graph_of(lazy)
    assert "in-memory engine fallback" in graph  # what the mark stands for, in the legend
    return [x for x in graph.splitlines() if IN_MEMORY in x or re.search(r'\[label="in-memory-(?!source)', x)]


def graph_of(lazy: pl.LazyFrame) -> str:
    graph = lazy.show_graph(engine="streaming", plan_stage="physical", raw_output=True)
    assert graph is not None
    return graph
