"""`.rank` on Dask frames: whole queries come together in one partition, where the metrics are those of pandas.

    import dask.dataframe as dd, rankframe.dask
    ddf.rank.evaluate("ndcg@10", "map").compute()

Results are Dask frames, computed when Dask is asked for them, but where a metric wants the largest label of the table,
which is found out at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from ._catalog.call import Call
from ._decisions import summary
from ._engines.arrow_kernel import LARGEST, ArrowKernel, largest_label
from ._engines.mergeable_summary import Summary, summary_of
from ._engines.workers import refuse_row_order
from ._plan import per_query
from ._rankers.pandas import PandasRanker, Source
from ._rankers.verb_methods import FrameRanker
from ._support.extras import load
from ._table.setup import Setup
from ._verbs import verbs
from .errors import InvalidOption

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DaskRanker"]

T = TypeVar("T")

BY_METRIC = (per_query.measure, verbs.evaluate, verbs.with_metrics, verbs.curve, verbs.explain)
"""The verbs whose arguments are metrics."""

WITHIN_QUERIES = (*BY_METRIC, verbs.with_ranks, verbs.agreement)
"""The verbs that look at one query at a time; others would see a partition where they mean the table."""

PER_QUERY = (per_query.measure, verbs.evaluate)
"""The verbs whose results have none of the table's columns but those of the query."""


class DaskRanker(FrameRanker[Any]):
    """The rankings of a Dask frame; results are Dask frames, of what the same call gives on a pandas frame."""

    def __init__(self, frame: Any, setup: Setup = Setup()) -> None:  # noqa: B008 - frozen
        super().__init__(setup)
        self._frame = frame

    def _with(self, setup: Setup) -> DaskRanker:
        return DaskRanker(self._frame, setup)

    def _run(self, verb: Callable[..., Any], *args: Any) -> Any:
        if verb is verbs.judge:
            return self._judge(*args)
        if verb is summary.summarize:
            return self._summarize(*args)
        if verb not in WITHIN_QUERIES:
            raise _whole(verb.__name__)
        calls: list[Call] = []
        if verb in BY_METRIC:
            calls = [call for request in args if not isinstance(request, pl.Expr) for call in verbs.calls_of(request)]
        if verb in (verbs.evaluate, verbs.with_metrics):  # in which workers need not know metrics by name
            args = tuple(call for arg in args for call in ([arg] if isinstance(arg, pl.Expr) else verbs.calls_of(arg)))
        work = _Work(self._setup, verb, args, 0.0 if calls else None)
        meta = work(self._frame._meta)
        refuse_row_order(self._setup, calls, _names(self._frame._meta), "Dask frame")
        frame, setup = self._rows, self._setup
        work = replace(work, largest_label=self._largest_label(calls))
        if verb in PER_QUERY:
            requests = tuple(arg for arg in args if isinstance(arg, (Call, pl.Expr)))
            frame = frame[ArrowKernel(requests, setup).needed(list(frame.columns))]
        return _together(frame, setup).map_partitions(work, meta=meta, clear_divisions=True)

    def _work(self, work: Callable[..., T], names: Sequence[str], *args: Any) -> T:
        raise _whole("a plot or a report")

    def summarize(  # type: ignore[override]
        self,
        *metrics: verbs.Request,
        by: str | Sequence[str] | None = None,
        ci: float = 0.95,
        weights: str | None = None,
        resamples: int = 1000,
        seed: int = 0,
    ) -> Any:
        """The metrics summed up over the queries: one row per slice and metric.

        Every partition gives the number of its values, their mean and their spread, which merge exactly. The interval
        is that of a bootstrap over queries, which draws each query by a number made of its id and the seed: the same for
        any number of partitions.

        Parameters
        ----------
        *metrics
            Texts and functions, as for :meth:`evaluate`.
        by
            The column, or columns, whose values slice the queries; the same in all rows of a query.
        ci
            The confidence of the intervals.
        weights
            The column of the queries' weights, 0 or more; the same in all rows of a query. ``None`` weighs them alike.
        resamples
            How many times the bootstrap draws.
        seed
            A whole number from 0 on; another one gives another bootstrap.

        Returns
        -------
        A Dask frame of one partition: the slice's columns, ``metric``, ``mean`` (of the metrics that trec_eval sums up
        that way, the geometric mean), ``std``, ``ci_low`` and ``ci_high`` (NaN for fewer than two queries), and
        ``n_queries``, those whose value is not null.

        Raises
        ------
        InvalidData
            If a query has several values of a slice or a weight, or a weight is no number from 0 on, when Dask runs.
        """
        options: dict[str, Any] = {"ci": ci, "resamples": resamples, "seed": seed, "weights": weights}
        return self._run(summary.summarize, summary_of(self._setup, metrics, by, **options))

    def _summarize(self, summary: Summary) -> Any:
        dask, dd = load("dask", "dask"), load("dask.dataframe", "dask")
        frame = self._rows
        summary.require(frame.columns)
        calls = list(summary.calls)
        trial = replace(summary, largest_label=0.0)
        names = list(
            dict.fromkeys([*ArrowKernel(summary.calls, self._setup).needed(list(frame.columns)), *summary.also])
        )
        meta = _figures(trial, [_part(trial, frame._meta)])
        refuse_row_order(self._setup, calls, list(frame.columns), "Dask frame")
        summary = replace(summary, largest_label=self._largest_label(calls))
        parts = _together(frame[names], summary.setup).to_delayed()
        figures = dask.delayed(_figures)(summary, [dask.delayed(_part)(summary, part) for part in parts])
        return dd.from_delayed([figures], meta=meta)

    def _judge(self, qrels: Any, named: str | None, judged_only: verbs.Missing, run_only: verbs.Missing | None) -> Any:
        dd = load("dask.dataframe", "dask")
        setup, run = self._setup, self._rows
        if named is not None:
            setup = setup.changed(query=(named, *(name for name in setup.roles.query if name != named)))
        judged = qrels if isinstance(qrels, dd.DataFrame) else dd.from_pandas(qrels, npartitions=1)
        judged = _with_columns(judged, setup.roles.query)
        work = _Work(setup, verbs.judge, (named, judged_only, run_only, True))
        meta = work(run._meta, judged._meta)
        runs = [name for name in setup.roles.query if name not in judged.columns]
        if runs:  # judgments hold for every run of the table, not for those of a partition alone
            judged = judged.map_partitions(_cross, run[runs].drop_duplicates().compute())
        judged = judged.astype({name: run.dtypes[name] for name in setup.roles.query})  # equal ids to equal partitions
        n = max(run.npartitions, judged.npartitions)
        left, right = (_together(frame, setup, n) for frame in (run, judged))
        return left.map_partitions(work, right, meta=meta, align_dataframes=False, clear_divisions=True)

    @property
    def _rows(self) -> Any:
        return _with_columns(self._frame, self._setup.roles.query)

    def _largest_label(self, calls: Sequence[Call]) -> float | None:
        """The largest label of the whole table, where a value depends on it."""
        frame, setup = self._rows, self._setup
        kernel = ArrowKernel(tuple(calls), setup)
        schema = Source(frame._meta, frame.columns, lists=setup.roles.subtopic).polars.schema if calls else pl.Schema()
        if not calls or not kernel.needs_largest_label(schema):
            return None
        ranked, shown = largest_label(kernel, schema)
        frame = frame[ranked.needed(list(frame.columns))]
        parts = (frame if shown else _together(frame, setup)).to_delayed()
        dask = load("dask", "dask")
        return float(max(dask.compute(*(dask.delayed(_top)(ranked.setup, x) for x in parts))))

    def __repr__(self) -> str:
        return ".rank of a Dask DataFrame, such as .rank.evaluate('ndcg@10', 'map')"


def _whole(what: str) -> InvalidOption:
    return InvalidOption(
        f"{what} looks at the table as a whole, which a Dask frame is not; take it of a part of the table, as of "
        "ddf.get_partition(0).compute().rank, or of ddf.compute().rank where that fits into memory"
    )


@dataclass(frozen=True)
class _Work:
    """A verb on a partition."""

    setup: Setup
    verb: Callable[..., Any]
    args: tuple[Any, ...]
    largest_label: float | None = None

    def __call__(self, part: pd.DataFrame, *others: pd.DataFrame) -> pd.DataFrame:
        known = {} if self.largest_label is None else {"largest_label": self.largest_label}
        result: pd.DataFrame = PandasRanker(part, self.setup)._run(self.verb, *others, *self.args, **known)
        return result


def _part(summary: Summary, part: pd.DataFrame) -> pl.DataFrame:
    return summary.part(Source(part, part.columns, lists=summary.setup.roles.subtopic).polars)


def _figures(summary: Summary, parts: Sequence[pl.DataFrame]) -> pd.DataFrame:
    return summary.merge(pl.concat(parts, how="vertical_relaxed")).to_pandas()


def _top(setup: Setup, part: pd.DataFrame) -> float:
    values = PandasRanker(part, setup)._measure(LARGEST)["largest_label"]
    return float(values.max()) if len(values) else 0.0


def _cross(judged: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    return runs.merge(judged, how="cross")


def _names(meta: pd.DataFrame) -> list[str]:
    return [str(name) for name in (*meta.columns, *meta.index.names)]


def _with_columns(frame: Any, query: Sequence[str]) -> Any:
    """The frame with its index as a column where that names a query."""
    return frame.reset_index() if frame.index.name in query and frame.index.name not in frame.columns else frame


def _together(frame: Any, setup: Setup, partitions: int | None = None) -> Any:
    """The frame with all rows of a query in one partition."""
    n = partitions or frame.npartitions
    return frame if n == frame.npartitions == 1 else frame.shuffle(on=list(setup.roles.query), npartitions=n)


load("dask.dataframe", "dask").extensions.register_dataframe_accessor("rank")(DaskRanker)
