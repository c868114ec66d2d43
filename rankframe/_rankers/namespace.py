"""`.rank` on Polars frames: registered at import, looked up at the first use."""

from __future__ import annotations

import warnings

import polars as pl


class Namespace:
    """The descriptor `.rank` of a class: a new ranker at every access.

    Polars' own descriptor keeps the ranker on the frame, a cycle that holds big frames in memory until the
    garbage collector runs.
    """

    rankframe = True

    def __get__(self, frame: object, owner: type) -> object:
        from .polars import PolarsRanker

        return PolarsRanker if frame is None else PolarsRanker(frame)


def register() -> None:
    """Put `.rank` on Polars' frames; a second call changes nothing."""
    for kind, announce in (
        (pl.DataFrame, pl.api.register_dataframe_namespace),
        (pl.LazyFrame, pl.api.register_lazyframe_namespace),
    ):
        if not getattr(vars(kind).get("rank"), "rankframe", False):
            try:
                announce("rank")(Namespace)
            except AttributeError:
                warnings.warn(
                    f"Polars has a {kind.__name__}.rank of its own; use rankframe.rank(df) instead of df.rank",
                    stacklevel=3,
                )
                continue
        setattr(kind, "rank", Namespace())  # noqa: B010 - type checkers know no such attribute
