"""`.rank` on Dask frames: a shuffle brings each query into one partition, and the pandas ranker
evaluates it there.

    import dask.dataframe as dd, rankframe.dask
    ddf.rank.evaluate("ndcg@10", "map").compute()

Results are lazy Dask frames. Only a metric that needs the largest label of the table computes this
label during the call.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from ._lift.engine import Merged, OnQueries, Side, Work, run
from ._lift.pandas import PandasRanker, of_pandas
from ._lift.pandas_columns import text_of
from ._lift.pandas_tables import Source, as_pandas
from ._lift.ranker import Ranker
from ._support.extras import load
from ._table.setup import Setup
from ._table.table import Whole
from ._verbs.call.declaration import VerbCall

if TYPE_CHECKING:
    import pandas as pd
    from dask.dataframe import DataFrame  # pyright: ignore[reportMissingImports]

__all__ = ["DaskRanker"]

T = TypeVar("T")


class DaskRanker(Ranker[Any]):
    """The ranker of a Dask frame: its results are those of a pandas frame, as Dask frames.

    Only ``summarize`` differs: the interval of many queries is always that of
    ``interval="poisson"``. Comparisons and gates collect the values per query, and hold pandas
    frames.
    """

    _library = "Dask "

    def __init__(self, frame: DataFrame, setup: Setup = Setup()) -> None:  # noqa: B008 - frozen
        super().__init__(setup)
        self._frame = frame

    def _with(self, setup: Setup) -> DaskRanker:
        return DaskRanker(self._frame, setup)

    def _run(self, call: VerbCall) -> Any:
        query = self._setup.roles.query
        if call.verb.gives == "join":
            dd = load("dask.dataframe", "dask")
            other = call.arguments["qrels"]
            if not isinstance(other, dd.DataFrame):
                other = dd.from_pandas(other, npartitions=1)
            call = call.changed(qrels=_with_columns(other, query))
        engine = DaskEngine(self._setup.roles.lists)
        frame = _with_columns(self._frame, query)

        def give(result: pl.DataFrame) -> pd.DataFrame:
            roles = call.runs.queries(self._setup).roles
            return _by_query(result, roles.query, frame)

        with of_pandas(self._frame._meta):
            return run(engine, frame, self._setup, call, give=give)


@dataclass(frozen=True)
class DaskEngine:
    """Dask as an engine: a part is a partition, and a shuffle brings all rows of a key into one
    partition.

    `lists` names the columns whose values may be lists, as for `Source`.
    """

    lists: Container[str]

    name = "Dask frame"
    advice = "take it of a part of the table, as of ddf.get_partition(0).compute().rank"

    def schema(self, table: DataFrame, read: Collection[str] | None) -> pl.DataFrame:
        """The columns and the index levels of the pandas frame, as a Polars schema."""
        names = () if read is None else read
        source = Source(table._meta, names, others=read is None, lists=self.lists)
        return source.polars

    def by_key(self, work: Work, key: Sequence[str] | None, *sides: Side[DataFrame]) -> DataFrame:
        """Run the work on every partition, after a shuffle if there is a key; merge results in one
        partition.
        """
        frames = [_only(side.table, side.names) for side in sides]
        names = tuple(tuple(side.names) for side in sides)
        function = OnPandas(work, names, self.lists)
        meta = function(*(frame._meta for frame in frames))
        first, *others = frames
        if isinstance(work, Merged):
            first = first.repartition(npartitions=1)
        elif key is not None:
            n = max(frame.npartitions for frame in frames)
            dtypes = {name: first.dtypes[name] for name in key}  # equal ids to equal partitions
            others = [_together(other.astype(dtypes), key, n) for other in others]
            first = _together(first, key, n)
        return first.map_partitions(
            function, *others, meta=meta, align_dataframes=False, clear_divisions=True
        )

    def collect(self, table: DataFrame) -> pl.DataFrame:
        """The rows of all partitions."""
        rows = table.compute()
        return Source(rows, [*rows.columns]).polars


class PandasFrames:
    """Pandas frames: a verb returns the same as the method of `.rank`."""

    def run(self, call: VerbCall, frame: pd.DataFrame, setup: Setup, whole: Whole) -> pd.DataFrame:
        """Run the verb."""
        result: pd.DataFrame = PandasRanker(frame, setup)._run(call, whole)
        return result

    def for_each(
        self, runs: pl.DataFrame, qrels: pd.DataFrame, frame: pd.DataFrame
    ) -> pd.DataFrame:
        """A cross join."""
        dtypes = {name: frame[name].dtype for name in runs.columns}
        names = as_pandas(runs).astype(dtypes)
        return names.merge(qrels, how="cross")


@dataclass(frozen=True)
class OnPandas:
    """Wrap a function of Polars frames for pandas: results of verbs as from `.rank`, partial
    figures in Arrow types.
    """

    work: Work
    names: tuple[tuple[str, ...], ...]
    lists: Container[str]

    def __call__(self, *parts: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd

        work = self.work
        if isinstance(work, OnQueries):
            return work.on(PandasFrames(), *parts)
        of_parts = zip(parts, self.names, strict=True)
        sources = [Source(part, names, lists=self.lists) for part, names in of_parts]
        result = work(*(source.polars for source in sources))
        if isinstance(work, Merged):
            return as_pandas(result)
        arrow: Any = result.to_arrow(compat_level=pl.CompatLevel.oldest())
        return arrow.to_pandas(types_mapper=pd.ArrowDtype)  # type: ignore[no-any-return]


def _by_query(result: pl.DataFrame, query: Sequence[str], table: DataFrame) -> pd.DataFrame:
    """A result in memory, indexed by the query, in the table's types, if it has all of the query's
    columns.
    """
    frame = as_pandas(result)
    if not {*query} <= {*result.columns}:
        return frame
    dtypes = {name: table.dtypes[name] for name in query}
    known = {name: dtype for name, dtype in dtypes.items() if not hasattr(dtype, "categories")}
    return frame.astype(known).set_index(list(query))


def _only(frame: DataFrame, names: Collection[str]) -> DataFrame:
    """The frame with the named columns only."""
    there = [label for label in frame.columns if text_of(label) in names]
    return frame if len(there) == len(frame.columns) else frame[there]


def _with_columns(frame: DataFrame, query: Sequence[str]) -> DataFrame:
    """The frame with its index as a column if the index is a query column."""
    name = frame.index.name
    is_query = name in query and name not in frame.columns
    return frame.reset_index() if is_query else frame


def _together(frame: DataFrame, key: Sequence[str], partitions: int) -> DataFrame:
    """The frame with all rows of a key in one partition."""
    if partitions == frame.npartitions == 1:
        return frame
    return frame.shuffle(on=list(key), npartitions=partitions)


load("dask.dataframe", "dask").extensions.register_dataframe_accessor("rank")(DaskRanker)
