"""The checked columns of a table, and its possible faults, which are put into words only if they are found."""

from __future__ import annotations

import polars as pl
import pytest

from rankframe._table import columns as module
from rankframe._table.columns import Columns
from rankframe._table.setup import Setup
from rankframe._table.subtopics import row_faults

SCHEMA = pl.Schema(
    {"query_id": pl.Int64, "doc_id": pl.Int64, "score": pl.Float64, "label": pl.Float64, "w": pl.Float64, "s": pl.Int64}
)


def test_no_fault_is_put_into_words_before_it_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = Setup().on(weight="w", subtopic="s", ties="error")
    worded: list[str] = []
    word = module.message_of
    monkeypatch.setattr(module, "message_of", lambda kind, setup: worded.append(kind) or word(kind, setup))
    table = Columns.of(setup, SCHEMA)
    faults = [*table.faults(), *row_faults(table)]
    assert not worded
    assert [fault.message.partition(": ")[0] for fault in faults] == worded
    assert worded == [
        "NaN score", "label not finite", "repeated document", "weight", "forbidden tie", "repeated subtopic", "two scores",
    ]  # fmt: skip
