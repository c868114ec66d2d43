"""The ranker of Polars frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import polars as pl

from .._table.setup import Setup
from .._table.table import R, Table
from .._verbs.call.declaration import VerbCall
from .._verbs.call.running import on_rows, plan_of
from .ranker import Ranker


class PolarsRanker(Ranker[R]):
    """The rankings of a Polars frame; a LazyFrame gives LazyFrames."""

    def __init__(self, frame: R, setup: Setup = Setup()) -> None:  # noqa: B008 - frozen
        super().__init__(setup)
        self._frame = frame

    def _with(self, setup: Setup) -> PolarsRanker[R]:
        return PolarsRanker(self._frame, setup)

    def _run(self, call: VerbCall) -> Any:
        frame = cast("pl.DataFrame | pl.LazyFrame", self._frame)
        if isinstance(frame, pl.LazyFrame):
            return plan_of(frame, self._setup, call)
        return on_rows(call, Table(frame, self._setup))

    def _table(self) -> tuple[str, Sequence[str] | None]:
        frame = cast("pl.DataFrame | pl.LazyFrame", self._frame)
        try:
            columns = frame.collect_schema().names()
        except (pl.exceptions.PolarsError, OSError):  # a plan that cannot run
            return "its columns are not known", None
        size = f"{len(columns)} columns"
        if isinstance(frame, pl.DataFrame):
            size = f"{frame.height:,} rows, {size}"
        return size, columns
