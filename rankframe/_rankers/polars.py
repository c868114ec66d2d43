"""The ranker of Polars frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

import polars as pl

from .._table.setup import Setup
from .._verbs.declaration import verb_of
from ..errors import MissingColumn
from .kept_options import keep, kept
from .ranker import FrameRanker
from .whole_table_checks import check_result

R = TypeVar("R")
T = TypeVar("T")


class PolarsRanker(FrameRanker[R]):
    """The rankings of a Polars frame; a LazyFrame gives LazyFrames."""

    def __init__(self, frame: R, setup: Setup | None = None) -> None:
        super().__init__(kept(frame) if setup is None else setup)
        self._frame = frame

    def _with(self, setup: Setup) -> PolarsRanker[R]:
        return PolarsRanker(self._frame, setup)

    def _run(self, verb: Callable[..., object], *args: object) -> R:
        declared = verb_of(verb)
        result = cast(R, verb(self._frame, self._setup, *args))
        if declared.gives == "join":
            keep(result, self._setup)
        check_result(self._frame, self._setup, declared, args, result)
        return result

    def _work(self, work: Callable[..., T], names: Sequence[str], *args: object) -> T:
        lf = cast("pl.DataFrame | pl.LazyFrame", self._frame).lazy()
        wanted = {*self._setup.roles.names, *names}
        frame = lf.select(x for x in lf.collect_schema() if x in wanted).collect()
        try:
            return work(frame, self._setup, *args)
        except MissingColumn:
            work(lf.collect_schema().to_frame(), self._setup, *args)  # names all columns of the table in its error
            raise

    def _table(self) -> tuple[str, Sequence[str] | None]:
        frame = cast("pl.DataFrame | pl.LazyFrame", self._frame)
        try:
            columns = frame.collect_schema().names()
        except (pl.exceptions.PolarsError, OSError):  # a plan that cannot run
            return "its columns are not known", None
        size = f"{len(columns)} columns"
        return size if isinstance(frame, pl.LazyFrame) else f"{frame.height:,} rows, {size}", columns
