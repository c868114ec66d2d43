"""`.rank` on Polars frames."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import polars as pl

from ._frame_ranker import FrameRanker
from ._policies import Columns

__all__ = ["PolarsRanker", "register"]

R = TypeVar("R")
T = TypeVar("T")


class PolarsRanker(FrameRanker[R]):
    """The rankings of a Polars frame; a LazyFrame gives LazyFrames."""

    def __init__(self, frame: R, columns: Columns = Columns()) -> None:  # noqa: B008 - frozen
        super().__init__(columns)
        self._frame = frame

    def _with(self, columns: Columns) -> PolarsRanker[R]:
        return PolarsRanker(self._frame, columns)

    def _run(self, verb: Callable[..., Any], *args: Any) -> R:
        result: R = verb(self._frame, self._columns, *args)
        return result

    def _work(self, work: Callable[..., T], names: Sequence[str], *args: Any) -> T:
        lf = cast("pl.DataFrame | pl.LazyFrame", self._frame).lazy()
        wanted = {*self._columns.names, *names}
        return work(lf.select(x for x in lf.collect_schema() if x in wanted).collect(), self._columns, *args)

    def __repr__(self) -> str:
        return f".rank of a {type(self._frame).__name__}, such as .rank.evaluate('ndcg@10', 'map')"


class Namespace:
    """What `.rank` is on a class: a new ranker at every access.

    Polars' own descriptor keeps the ranker on the frame, a cycle that holds big frames in memory until the
    garbage collector runs.
    """

    rankframe = True

    def __get__(self, frame: Any, owner: type) -> Any:
        return PolarsRanker if frame is None else PolarsRanker(frame)


def register() -> None:
    """Put `.rank` on Polars' frames; a second call changes nothing."""
    for kind, announce in (
        (pl.DataFrame, pl.api.register_dataframe_namespace),
        (pl.LazyFrame, pl.api.register_lazyframe_namespace),
    ):
        if not getattr(vars(kind).get("rank"), "rankframe", False):
            try:
                announce("rank")(PolarsRanker)
            except AttributeError:
                warnings.warn(
                    f"Polars has a {kind.__name__}.rank of its own; use rankframe.rank(df) instead of df.rank",
                    stacklevel=3,
                )
                continue
        setattr(kind, "rank", Namespace())  # noqa: B010 - type checkers know no such attribute
