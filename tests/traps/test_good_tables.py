"""On tables that are right as they are, no number warns and a check has nothing to note."""

from __future__ import annotations

import warnings
from typing import Any

import pandas as pd
import polars as pl

import rankframe as rf
from tests.support.each import each

from .good_tables import GOOD_TABLES, GoodTable

QUIET = {"progress": False, "resamples": 99}


def in_polars(result: Any) -> pl.DataFrame:
    """A result of any front as a Polars frame."""
    if isinstance(result, pl.LazyFrame):
        return result.collect()
    return pl.from_pandas(result) if isinstance(result, pd.DataFrame) else result


@each("table", GOOD_TABLES, ids=lambda table: table.name)
def test_no_number_of_a_good_table_warns(table: GoodTable) -> None:
    frame = table.frame()
    ranker = rf.rank(frame).on(**table.on)
    runs = {"run": table.run} if table.run else {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        in_polars(ranker.evaluate(*table.metrics) if not runs else ranker.mean(*table.metrics, **runs))
        in_polars(ranker.mean(*table.metrics, **runs))
        if table.runs:
            ranker.compare(*table.metrics, runs=list(table.runs), **QUIET)
        if table.run:
            ranker.compare(*table.metrics, run=table.run, **QUIET)


FALSE_NOTES = {"calibrated soft labels for ndcg": ["labels between 0 and 1"]}  # a check knows no metric
"""The notes of a check on good tables, of which one in forty may have one."""


def test_a_check_of_good_tables_notes_nothing_but_on_one_in_forty() -> None:
    noted = {}
    for table in GOOD_TABLES:
        ranker = rf.rank(table.frame()).on(**table.on)
        if table.run is not None:
            ranker = ranker.on(query=[table.run, "query_id"])
        found = in_polars(ranker.check().rows)
        if found.height:
            noted[table.name] = found["problem"].unique(maintain_order=True).to_list()
    assert noted == FALSE_NOTES
    assert len(FALSE_NOTES) * 40 <= len(GOOD_TABLES)
