"""Means, deviations and bootstrap intervals of a table that lies in parts: each part's figures, and how they add up.

A part holds whole queries. Of each metric it gives (n, weight, mean, M2), the number of its values and their weight, their
mean and the sum of squared distances from it, which merge exactly (Chan, Golub, LeVeque, 1979); and of each bootstrap
replicate the sum and the weight of its draws. Where nobody weighs queries, each weighs 1. How often a replicate draws a query is Poisson(1) distributed and follows from the query alone,
so it is the same wherever the query lies.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from .._catalog.call import Call
from .._plan.per_query import Frame, like, measure, refuse_names
from .._table.roles import require
from .._table.setup import Setup
from .._verbs import verbs
from .._verbs.verb import verb
from .resampling import Resampling, SummaryResampling
from .summary import by_query, calls_of, keys, refuse_bounds
from .summary import summarize as summarize_at_once

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Summary", "summarize", "summary_of"]

PARTIAL = {
    "metric": pl.String(),
    "n": pl.Int64(),
    "weight": pl.Float64(),
    "mean": pl.Float64(),
    "m2": pl.Float64(),
    "total": pl.Float64(),
    "center": pl.Float64(),
    "least": pl.Float64(),
    "greatest": pl.Float64(),
    "draws": pl.List(pl.Float64),
    "sums": pl.List(pl.Float64),
}
"""What a part says of a slice and a metric; `center` is the mean of what the resamples add up, from `least` to `greatest`."""

FIGURES = {
    "metric": pl.String(),
    "mean": pl.Float64(),
    "std": pl.Float64(),
    "ci_low": pl.Float64(),
    "ci_high": pl.Float64(),
    "n_queries": pl.UInt32(),
    "total": pl.Float64(),
    "ci_method": pl.String(),
}
OF_INTERVALS = ("ci_low", "ci_high", "ci_method")
"""The figures that are left out where no interval is asked for."""

AT_ONCE = 4_000_000
"""How many draws are held in memory at a time."""

GOLDEN = 0x9E3779B97F4A7C15
"""The step of SplitMix64: 2^64 over the golden ratio, made odd."""


@dataclass(frozen=True)
class Summary:
    """Metrics, slices and a bootstrap: what sums up the parts of a table.

    Attributes
    ----------
    calls
        The metrics.
    setup
        The roles of columns, and the policies.
    by
        The columns whose values slice the queries.
    ci
        The confidence of the intervals; ``None`` for none.
    resamples
        How many resamples the bootstrap has.
    seed
        What tells one bootstrap from another.
    weights
        The column of the queries' weights.
    missing_slices
        Whether rows may lack the slice, or the weight, that other rows of their query have, as documents do that only the
        judgments hold.
    largest_label
        The largest label of the whole table, if it is known.
    """

    calls: tuple[Call, ...]
    setup: Setup
    by: tuple[str, ...] = ()
    ci: float | None = 0.95
    resamples: int = 10_000
    seed: int = 0
    weights: str | None = None
    missing_slices: bool = False
    largest_label: float | None = None

    @property
    def slices(self) -> Mapping[str, str]:
        """The columns of the slices, by their names in the figures of parts."""
        return dict(zip(keys(self.by), self.by, strict=True))

    @property
    def names(self) -> set[str]:
        """The columns that are read beside those with a role."""
        named = [name for call in self.calls for name in call.columns]
        return {*named, *self.by, *([] if self.weights is None else [self.weights])}

    @property
    def key(self) -> list[str]:
        """The columns that tell which figures of parts add up."""
        return [*self.slices, "metric"]

    @property
    def figures(self) -> Mapping[str, pl.DataType]:
        """The columns of the summary beside the slices."""
        return {name: dtype for name, dtype in FIGURES.items() if self.ci is not None or name not in OF_INTERVALS}

    def require(self, names: Iterable[str]) -> None:
        """Refuse a table that lacks the column of a slice or of the weights."""
        there = list(names)
        for name in self.by:
            require(there, name, "by")
        if self.weights is not None:
            require(there, self.weights, "weights")

    def part(self, frame: pl.DataFrame) -> pl.DataFrame:
        """What a part of the table, which holds whole queries, says of each slice and metric."""
        return self._part(like(frame, self.per_query(frame), self.setup))

    def per_query(self, frame: Frame) -> pl.LazyFrame:
        """The values of each query, its slices and its weight."""
        self.require(frame.collect_schema())
        values = measure(frame, self.setup, *self.calls, largest_label=self.largest_label).lazy()
        slices = by_query(frame, self.setup.roles.query, self.by, self.weights, missing=self.missing_slices)
        return values.join(slices, on=self.setup.roles.query, nulls_equal=True, maintain_order="left")

    def at_once(self, per_query: pl.DataFrame) -> pl.DataFrame:
        """The summary of all queries, whose values are at hand."""
        return self.merge(self._part(per_query))

    def _part(self, per_query: pl.DataFrame) -> pl.DataFrame:
        found = []
        of_slices = per_query.partition_by([*self.slices], maintain_order=True) if self.by else [per_query]
        for queries in of_slices:
            where = queries.select(*self.slices).row(0, named=True) if self.by else {}
            found += [{**where, **figures} for figures in self._figures(queries)]
        return pl.DataFrame(found, {**{at: per_query.schema[at] for at in self.slices}, **PARTIAL}, orient="row")

    def _figures(self, queries: pl.DataFrame) -> Iterable[dict[str, Any]]:
        import numpy as np

        from ..stats import means

        values = queries.select(call.text for call in self.calls).to_numpy().astype(float)
        weights = queries["#weight"].to_numpy()[:, None]
        counts = ~np.isnan(values)
        added = np.where(counts, values, 0.0)
        logarithmic = [_logarithmic(call) for call in self.calls]
        with np.errstate(divide="ignore"):  # a geometric mean with a 0 is 0
            added[:, logarithmic] = np.where(counts, np.log(np.where(counts, values, 1.0)), 0.0)[:, logarithmic]
        weighed = (
            np.where(weights > 0, added, 0.0) * weights
        )  # what weighs nothing adds nothing, be it the logarithm of 0
        counted = counts * weights
        resamples = 0 if self.ci is None else self.resamples
        draws = np.zeros((resamples, len(self.calls)))
        sums = np.zeros_like(draws)
        seeds = _seeds(queries, self.setup.roles.query, self.seed)
        step = max(1, AT_ONCE // max(1, resamples))
        for start in range(0, len(queries), step):
            some = slice(start, start + step)
            drawn = _poisson(seeds[some], resamples)
            draws += drawn @ counted[some]
            sums += _product(drawn, weighed[some])
        for i, call in enumerate(self.calls):
            there, weight = values[counts[:, i], i], counted[counts[:, i], i]
            total = float(weight.sum())
            weighing = added[counted[:, i] > 0, i]
            ends = (float(weighing.min()), float(weighing.max())) if total > 0 else (None, None)
            mean = float(means(values[:, [i]], weights[:, 0])[0]) if total > 0 else None
            yield {
                "metric": call.text,
                "n": len(there),
                "weight": total,
                "mean": mean,
                "m2": None if mean is None else float((there - mean) ** 2 @ weight),
                "total": float(there @ weight),
                "center": None if mean is None else float(np.clip(weighed[:, i].sum() / total, *ends)),
                "least": ends[0],
                "greatest": ends[1],
                "draws": draws[:, i].tolist(),
                "sums": sums[:, i].tolist(),
            }

    def merge(self, parts: pl.DataFrame) -> pl.DataFrame:
        """The figures of the table, from those of its parts: one row per slice and metric."""
        rows = []
        texts = {call.text: call for call in self.calls}
        for (*where, text), found in parts.group_by(self.key, maintain_order=True):
            rows.append({**dict(zip(self.by, where, strict=True)), **self._merged(texts[str(text)], found)})
        slices = {name: parts.schema[at] for at, name in self.slices.items()}
        return pl.DataFrame(rows, {**slices, **self.figures}, orient="row")

    def _merged(self, call: Call, found: pl.DataFrame) -> dict[str, Any]:
        import numpy as np

        n, weighing = found["n"].sum(), found.filter(pl.col("weight") > 0)
        figures: dict[str, Any] = {"metric": call.text, "n_queries": n, "total": found["total"].sum()}
        figures |= {} if self.ci is None else {"ci_method": "poisson"}
        if weighing.is_empty():
            return figures
        weight = pl.col("weight").sum()
        center, mean = (
            ((pl.col(name) * pl.col("weight")).sum() / weight).clip(pl.col(name).min(), pl.col(name).max())
            for name in ("center", "mean")
        )  # never beyond those of the parts by rounding
        spread = (pl.col("m2") + pl.col("weight") * (pl.col("mean") - mean) ** 2).sum() / weight
        of_all = weighing.select(mean=mean, spread=spread, center=center).row(0, named=True)
        figures["mean"] = math.exp(of_all["center"]) if _logarithmic(call) else of_all["mean"]
        if n > 1:
            figures["std"] = math.sqrt(of_all["spread"] * n / (n - 1))
        if n > 1 and self.ci is not None:
            draws, sums = (np.sum(found[name].to_list(), axis=0) for name in ("draws", "sums"))
            least, greatest = weighing["least"].to_numpy().min(), weighing["greatest"].to_numpy().max()
            means = np.clip(sums[draws > 0] / draws[draws > 0], least, greatest)
            means = np.exp(means) if _logarithmic(call) else means
            tail = (1 - self.ci) / 2
            figures["ci_low"], figures["ci_high"] = map(float, np.quantile(means, [tail, 1 - tail]))
        return figures


def summary_of(
    setup: Setup,
    metrics: Sequence[Any],
    by: str | Sequence[str] | None,
    *,
    ci: float | None = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    weights: str | None = None,
    missing_slices: bool = False,
) -> Summary:
    """The summary of metrics over columns and policies that are bound already, its options checked."""
    calls = calls_of(metrics, "summarize('ndcg@10', 'map')")
    refuse_bounds(setup)
    Resampling(ci, "percentile", resamples, seed, progress=False)  # checks them
    slices = (by,) if isinstance(by, str) else tuple(by or ())
    refuse_names(list(FIGURES), slices, "by")
    return Summary(tuple(calls), setup, slices, ci, resamples, seed, weights, missing_slices)


def in_parts(
    setup: Setup,
    judged: bool,
    largest_label: float | None,
    by: Sequence[str],
    weights: str | None,
    resampling: Resampling,
    *requests: verbs.Request,
) -> Summary:
    """The summary that a call of `summarize` asks for, to be computed part by part."""
    given: dict[str, Any] = {"ci": resampling.ci, "resamples": resampling.resamples, "seed": resampling.seed}
    summary = summary_of(setup, requests, tuple(by), weights=weights, missing_slices=judged, **given)
    return replace(summary, largest_label=largest_label)


@verb(gives="table", reads=["by", "weights"], in_parts=in_parts)
def summarize(
    frame: Frame,
    setup: Setup,
    by: Sequence[str],
    weights: str | None,
    resampling: SummaryResampling,
    *requests: verbs.Request,
) -> Frame:
    """One row per slice and metric; see `summary.summarize`, which has all intervals but that of the Poisson bootstrap."""
    if resampling.method != "poisson" or resampling.ci is None:
        return summarize_at_once(frame, setup, by, weights, resampling, *requests)
    summary = in_parts(setup, False, None, by, weights, resampling, *requests)

    def summed(per_query: pl.DataFrame) -> pl.DataFrame:
        return summary.at_once(per_query).drop("ci_method")

    per_query = like(frame, summary.per_query(frame), setup)
    if isinstance(per_query, pl.DataFrame):
        return summed(per_query)
    figures = {name: dtype for name, dtype in FIGURES.items() if name != "ci_method"}
    return per_query.map_batches(
        summed,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        schema={**{name: frame.collect_schema()[name] for name in by}, **figures},
    )


def _logarithmic(call: Call) -> bool:
    return call.metric.summary == "geometric mean"


def _product(drawn: NDArray[Any], added: NDArray[Any]) -> NDArray[np.float64]:
    """The sums of each replicate; what is drawn 0 times adds nothing, though it be the logarithm of 0."""
    import numpy as np

    finite = np.isfinite(added)
    product: NDArray[np.float64] = drawn @ np.where(finite, added, 0.0)
    product[drawn @ ~finite > 0] = -np.inf
    return product


def _seeds(queries: pl.DataFrame, query: Sequence[str], seed: int) -> NDArray[np.uint64]:
    """A number for each query, made of the text of its id."""
    import numpy as np
    import pandas as pd

    texts = queries.select(
        pl.concat_str([pl.col(name).cast(pl.String).fill_null("\0") for name in query], separator="\x1f").alias("text")
    )["text"]
    hashed: NDArray[np.uint64] = pd.util.hash_array(texts.to_numpy().astype(object), categorize=False)
    return _mixed(hashed + np.uint64(GOLDEN * (seed + 1) % 2**64))


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of SplitMix64 (Steele, Lea, Flood, 2014)."""
    import numpy as np

    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _poisson(seeds: NDArray[np.uint64], resamples: int) -> NDArray[np.float64]:
    """How often each replicate draws each query: a row per replicate."""
    import numpy as np

    steps = (np.arange(1, resamples + 1, dtype=np.uint64) * np.uint64(GOLDEN))[:, None]
    uniform = (_mixed(seeds + steps) >> np.uint64(11)) * 2.0**-53
    below = np.cumsum([math.exp(-1) / math.factorial(k) for k in range(18)])
    return np.searchsorted(below, uniform, side="right").astype(float)
