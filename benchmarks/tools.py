"""Who computes ranking metrics, each in its best form, and what it takes and gives.

A tool names by rankframe's texts which metrics it computes, so that rankframe can be asked for the
same ones; its values are compared with rankframe's, query by query, before it is timed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import polars as pl
from shapes import Table

import rankframe as rf

# the ten metrics

LINEAR, EXPONENTIAL, RBP, ERR = (
    "ndcg@10",
    "ndcg(gain=exponential)@10",
    "rbp(p=0.95)",
    "err(max_label=4)",
)
COUNTED = ("map", "rr", "precision@10", "recall@100", "hit_rate@10", "r_precision")
TEN = (LINEAR, EXPONENTIAL, *COUNTED, RBP, ERR)

TEN_BY_WINDOWS = """
WITH ranked AS (
    SELECT query_id, label, row_number() OVER (PARTITION BY query_id ORDER BY score DESC, doc_id DESC) AS r FROM judged
), relevant AS (
    SELECT *, 2.0 ** label - 1 AS gain,
        row_number() OVER in_order AS hits,
        row_number() OVER (PARTITION BY query_id ORDER BY label DESC) AS best,
        count(*) OVER (PARTITION BY query_id) AS total,
        coalesce(exp(sum(ln(1 - (2.0 ** label - 1) / 16)) OVER
            (PARTITION BY query_id ORDER BY r ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)), 1) AS goes_on
    FROM ranked WHERE label > 0 WINDOW in_order AS (PARTITION BY query_id ORDER BY r)
), found AS (
    SELECT query_id,
        sum(label / log2(r + 1)) FILTER (r <= 10) / sum(label / log2(best + 1)) FILTER (best <= 10) AS "ndcg@10",
        sum(gain / log2(r + 1)) FILTER (r <= 10) / sum(gain / log2(best + 1)) FILTER (best <= 10) AS "ndcg(gain=exponential)@10",
        sum(hits / r) / any_value(total) AS map,
        1 / min(r) AS rr,
        count(*) FILTER (r <= 10) / 10 AS "precision@10",
        count(*) FILTER (r <= 100) / any_value(total) AS "recall@100",
        (min(r) <= 10)::INT AS "hit_rate@10",
        count(*) FILTER (r <= total) / any_value(total) AS r_precision,
        sum(0.05 * pow(0.95::DOUBLE, r - 1)) AS "rbp(p=0.95)",
        sum(gain / 16 * goes_on / r) AS "err(max_label=4)"
    FROM relevant GROUP BY query_id
)
SELECT query_id, coalesce(COLUMNS(* EXCLUDE query_id), 0)::DOUBLE
FROM (SELECT DISTINCT query_id FROM judged) LEFT JOIN found USING (query_id)
"""
"""All ten of a table `judged`, in DuckDB's SQL: rows that are not relevant are dropped once they
are ranked."""

NDCG_BY_WINDOWS = """
SELECT query_id, coalesce(
    sum(label / log2(place + 1)) FILTER (place <= 10) / nullif(sum(label / log2(best + 1)) FILTER (best <= 10), 0), 0
) AS "ndcg@10"
FROM (
    SELECT query_id, label,
        row_number() OVER (PARTITION BY query_id ORDER BY score DESC, doc_id DESC) AS place,
        row_number() OVER (PARTITION BY query_id ORDER BY label DESC) AS best
    FROM judged)
GROUP BY query_id
"""

NDCG_BY_AGGREGATES = """
SELECT query_id, coalesce(
    list_sum(list_transform(top, lambda x, i: x / log2(i + 1)))
    / nullif(list_sum(list_transform(best, lambda x, i: x / log2(i + 1))), 0), 0
) AS "ndcg@10"
FROM (
    SELECT query_id, max_by(label, (score, doc_id), 10) AS top, max(label, 10) AS best FROM judged GROUP BY query_id)
"""
"""The same by aggregates that keep the ten greatest, with no sort of all rows."""

# a tool, and whether its values are rankframe's


class Disagreement(AssertionError):
    """A tool's value is not rankframe's: there is nothing to time."""


@dataclass(frozen=True)
class Tool:
    """One way to compute some of the metrics.

    Attributes
    ----------
    metrics
        What it computes, in rankframe's texts.
    evaluate
        From what `prepare` gave to what the tool gives; timed by itself.
    values
        From the table, what was prepared and what was given: `query_id` and a column per metric.
        Not timed.
    prepare
        From the table to what `evaluate` takes; None where that is a frame as it is.
    needs
        The modules without which it is left out.
    ties
        Whether it breaks ties by document, descending.
    tolerance
        How far its values may be from rankframe's.
    note
        What the table says of it.
    """

    name: str
    metrics: tuple[str, ...]
    evaluate: Callable[[Any], Any]
    values: Callable[[Table, Any, Any], pl.DataFrame]
    prepare: Callable[[Table], Any] | None = None
    frame: Callable[[Table], Any] = lambda table: table
    needs: tuple[str, ...] = ()
    ties: bool = True
    tolerance: float = 1e-9
    note: str = ""

    def ready(self, table: Table) -> Any:
        """What `evaluate` takes."""
        return self.frame(table) if self.prepare is None else self.prepare(table)

    @property
    def missing(self) -> str | None:
        """The module that is not installed, if any."""
        return next((module for module in self.needs if find_spec(module) is None), None)


def check(tool: Tool, table: Table) -> float:
    """What `compare` says of an evaluation of its own."""
    ready = tool.ready(table)
    return compare(tool, table, ready, tool.evaluate(ready))


def compare(tool: Tool, table: Table, ready: Any, given: Any) -> float:
    """The largest difference from rankframe's values; Disagreement where one is beyond the tool's
    tolerance."""
    theirs = tool.values(table, ready, given).select(
        pl.col("query_id").cast(pl.String), *tool.metrics
    )
    ours = (
        rf.rank(table.frame)
        .evaluate(*tool.metrics)
        .with_columns(pl.col("query_id").cast(pl.String))
    )
    both = ours.join(theirs, on="query_id", how="full", suffix=" of theirs")
    largest = 0.0
    for metric in tool.metrics:
        mine, other = pl.col(metric), pl.col(f"{metric} of theirs").cast(pl.Float64)
        apart = both.select(
            "query_id", mine, other, difference=(mine - other).abs().fill_null(math.inf)
        )
        worst = apart.sort("difference").row(-1)
        if not worst[-1] <= tool.tolerance:  # NaN as well
            raise Disagreement(
                f"{table.name}: {metric} of query {worst[0]!r} is {worst[2]} by {tool.name} "
                f"and {worst[1]} by rankframe"
            )
        largest = max(largest, worst[-1])
    return largest


# data frames and SQL, by hand, and polars_ds


def polars_ds(frame: pl.DataFrame) -> pl.DataFrame:
    import polars_ds as pds

    linear, exponential = pl.col("label").cast(pl.Float64), 2.0 ** pl.col("label") - 1
    return (
        frame.lazy()
        .group_by("query_id")
        .agg(
            pds.query_ndcg_score(gain, "score", k=10, ignore_ties=True).alias(name)
            for name, gain in ((LINEAR, linear), (EXPONENTIAL, exponential))
        )
        .collect()
    )


Rows = TypeVar("Rows", pl.DataFrame, pl.LazyFrame)


def by_group(rows: Rows) -> Rows:
    """nDCG@10 in Polars by one `group_by` of sorted labels, as people write it; it checks
    nothing."""
    label = pl.col("label")
    found, ideal = _dcg(label.sort_by("score", descending=True)), _dcg(label.sort(descending=True))
    return rows.group_by("query_id").agg((found / ideal).fill_nan(0.0).alias(LINEAR))


def _dcg(labels: pl.Expr) -> pl.Expr:
    places = pl.int_range(2, pl.len().clip(0, 10) + 2)
    return (labels.head(10) / places.log(2)).sum()


def by_windows(rows: Rows) -> Rows:
    """nDCG@10 in Polars by the ranks of scores and labels, as people write it; it checks
    nothing."""
    ranks = {
        by: pl.col(by).rank("ordinal", descending=True).over("query_id")
        for by in ("score", "label")
    }
    ranked = rows.with_columns(place=ranks["score"], best=ranks["label"])

    def gain(rank: str) -> pl.Expr:
        gains = pl.col("label") / (pl.col(rank) + 1).log(2)
        return gains.filter(pl.col(rank) <= 10).sum()

    return ranked.group_by("query_id").agg(
        (gain("place") / gain("best")).fill_nan(0.0).alias(LINEAR)
    )


def by_pandas(frame: pd.DataFrame) -> pd.DataFrame:
    codes, queries = pd.factorize(frame["query_id"])
    columns = {name: frame[name].array for name in ("doc_id", "score", "label")}
    df = pd.DataFrame({"query": codes, **columns})
    df = df.sort_values(["query", "score", "doc_id"], ascending=[True, False, False])
    df["rank"] = df.groupby("query").cumcount() + 1
    df = df[df["label"] > 0].reset_index(drop=True)  # the others add nothing from here on
    by_query = df.groupby("query")
    df["hits"] = by_query.cumcount() + 1
    df["total"] = by_query["rank"].transform("size")
    best = df.sort_values(["query", "label"], ascending=[True, False])
    best["rank"] = best.groupby("query").cumcount() + 1
    top, best = df["rank"] <= 10, best[best["rank"] <= 10]
    discount, ideal = 1 / np.log2(df["rank"] + 1), 1 / np.log2(best["rank"] + 1)
    gain, best_gain = 2.0 ** df["label"] - 1, 2.0 ** best["label"] - 1
    stops = gain / 16
    goes_on = (1 - stops).groupby(df["query"]).cumprod() / (1 - stops)
    parts = pd.DataFrame(
        {
            LINEAR: df["label"] * discount * top,
            EXPONENTIAL: gain * discount * top,
            "map": df["hits"] / df["rank"] / df["total"],
            "rr": (df["hits"] == 1) / df["rank"],
            "precision@10": top / 10,
            "recall@100": (df["rank"] <= 100) / df["total"],
            "hit_rate@10": (top & (df["hits"] == 1)).astype(float),
            "r_precision": (df["rank"] <= df["total"]) / df["total"],
            RBP: 0.05 * 0.95 ** (df["rank"] - 1),
            ERR: stops * goes_on / df["rank"],
        }
    )
    norms = (
        pd.DataFrame({LINEAR: best["label"] * ideal, EXPONENTIAL: best_gain * ideal})
        .groupby(best["query"])
        .sum()
    )
    values = parts.groupby(df["query"]).sum()
    values[[LINEAR, EXPONENTIAL]] /= norms
    values = values.reindex(range(len(queries)), fill_value=0.0)
    return values.set_index(pd.Index(queries, name="query_id"))


def sql_of_frame(frame: pl.DataFrame) -> pl.DataFrame:
    import duckdb

    with duckdb.connect() as connection:
        connection.register("judged", frame.to_arrow())
        return connection.sql(TEN_BY_WINDOWS).pl()


def sql_of_parquet(path: Path, sql: str) -> pl.DataFrame:
    """A query of `judged`, which is a Parquet file, on as many threads as Polars has."""
    import duckdb

    with duckdb.connect(config={"threads": pl.thread_pool_size()}) as connection:
        connection.read_parquet(str(path)).create_view("judged")
        return connection.sql(sql).pl()


def sql_prepare(table: Table) -> Any:
    import duckdb

    connection = duckdb.connect()
    arrow = table.frame.to_arrow()
    connection.register("arrow", arrow)
    connection.execute("CREATE TABLE judged AS FROM arrow")
    return connection


UNCHECKED = "checks nothing: scores that are NaN or null, repeated documents"


def as_given(table: Table, ready: Any, given: Any) -> pl.DataFrame:
    """A result that is a frame already."""
    return given if isinstance(given, pl.DataFrame) else pl.from_pandas(given.reset_index())


def in_polars(name: str, way: Callable[[Any], Any]) -> list[Tool]:
    """nDCG@10 by a plan of Polars, of the frame and lazily from Parquet; ties are broken as they
    come."""
    eager = Tool(
        name, (LINEAR,), way, as_given, frame=lambda table: table.frame, ties=False, note=UNCHECKED
    )
    lazy = replace(
        eager,
        name=f"{name}, lazy",
        evaluate=lambda path: way(pl.scan_parquet(path)).collect(),
        frame=lambda table: table.parquet,
    )
    return [eager, lazy]


BY_HAND = (*in_polars("Polars group_by", by_group), *in_polars("Polars windows", by_windows))
"""By turns of the frame and from Parquet."""


def in_duckdb(name: str, metrics: tuple[str, ...], sql: str) -> Tool:
    """A query of DuckDB's, from Parquet."""
    return Tool(
        name,
        metrics,
        lambda path: sql_of_parquet(path, sql),
        as_given,
        frame=lambda table: table.parquet,
        needs=("duckdb",),
        note=UNCHECKED,
    )


DUCKDB = (
    in_duckdb("DuckDB SQL, windows", (LINEAR,), NDCG_BY_WINDOWS),
    in_duckdb("DuckDB SQL, aggregates", (LINEAR,), NDCG_BY_AGGREGATES),
    in_duckdb("DuckDB SQL, ten metrics", TEN, TEN_BY_WINDOWS),
)
"""From a Parquet file, for large tables."""


def _frame(queries: Any, columns: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame({"query_id": queries, **columns})


# rankframe


def rankframe(*metrics: str) -> list[Tool]:
    """Polars eager, lazy from Parquet on the streaming engine, and pandas; the first is what others
    are compared with."""
    return [
        Tool(
            "rankframe, Polars",
            metrics,
            lambda frame: rf.rank(frame).evaluate(*metrics),
            as_given,
            frame=lambda table: table.frame,
        ),
        Tool(
            "rankframe, Polars lazy",
            metrics,
            lambda path: pl.scan_parquet(path).rank.evaluate(*metrics).collect(engine="streaming"),
            as_given,
            frame=lambda table: table.parquet,
        ),
        Tool(
            "rankframe, pandas",
            metrics,
            lambda frame: rf.rank(frame).evaluate(*metrics),
            as_given,
            frame=lambda table: table.pandas,
        ),
    ]


# Dictionaries: pytrec_eval, ir_measures, ranx


def dictionaries(table: Table) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Judgments and run as dictionaries of dictionaries, the fastest way that was found: lists by
    Polars' group_by."""
    ids = table.frame.select(pl.col("query_id", "doc_id").cast(pl.String), "label", "score")
    lists = ids.group_by("query_id").agg("doc_id", "label", "score")
    queries, docs, labels, scores = (lists[name].to_list() for name in lists.columns)
    qrels = {q: dict(zip(d, x, strict=True)) for q, d, x in zip(queries, docs, labels, strict=True)}
    run = {q: dict(zip(d, x, strict=True)) for q, d, x in zip(queries, docs, scores, strict=True)}
    return qrels, run


PYTREC_EVAL = {
    "ndcg_cut.10": LINEAR,
    "map": "map",
    "recip_rank": "rr",
    "P.10": "precision@10",
    "recall.100": "recall@100",
    "success.10": "hit_rate@10",
    "Rprec": "r_precision",
}


def _trec_prepare(table: Table) -> Any:
    import pytrec_eval

    qrels, run = dictionaries(table)
    return pytrec_eval.RelevanceEvaluator(qrels, set(PYTREC_EVAL)), run


def _trec_values(table: Table, ready: Any, given: dict[str, dict[str, float]]) -> pl.DataFrame:
    columns = {
        mine: [v[name.replace(".", "_")] for v in given.values()]
        for name, mine in PYTREC_EVAL.items()
    }
    return _frame(list(given), columns)


def _ir_measures() -> dict[Any, str]:
    from ir_measures import AP, RR, P, R, Rprec, Success, nDCG

    return {
        nDCG @ 10: LINEAR,
        AP: "map",
        RR: "rr",
        P @ 10: "precision@10",
        R @ 100: "recall@100",
        Success @ 10: "hit_rate@10",
        Rprec: "r_precision",
    }


def _ir_prepare(table: Table) -> Any:
    import ir_measures

    qrels, run = dictionaries(table)
    return ir_measures.evaluator(list(_ir_measures()), qrels), run


def _ir_values(table: Table, ready: Any, given: list[Any]) -> pl.DataFrame:
    names = _ir_measures()
    rows = [(x.query_id, names[x.measure], x.value) for x in given]
    return pl.DataFrame(rows, schema=["query_id", "metric", "value"], orient="row").pivot(
        "metric", index="query_id"
    )


RANX = {
    "ndcg@10": LINEAR,
    "ndcg_burges@10": EXPONENTIAL,
    "map": "map",
    "mrr": "rr",
    "precision@10": "precision@10",
    "recall@100": "recall@100",
    "hit_rate@10": "hit_rate@10",
    "r-precision": "r_precision",
    "rbp.95": "rbp(p=0.95,gain=linear)",  # it adds up the labels as they are
}


def _ranx_prepare(table: Table) -> Any:
    from ranx import Qrels, Run

    frame = table.objects
    return (
        Qrels.from_df(frame, q_id_col="query_id", doc_id_col="doc_id", score_col="label"),
        Run.from_df(frame, q_id_col="query_id", doc_id_col="doc_id", score_col="score"),
    )


def _ranx_evaluate(ready: Any) -> dict[str, Any]:
    import ranx

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Numba's, of the code as it is
        return ranx.evaluate(*ready, list(RANX), return_mean=False, save_results_in_run=False)  # type: ignore[return-value]


def _ranx_values(table: Table, ready: Any, given: dict[str, Any]) -> pl.DataFrame:
    return _frame(
        list(ready[1].keys()), {mine: np.asarray(given[name]) for name, mine in RANX.items()}
    )


def _ranx_lists(table: Table) -> Any:
    return tuple(x.to_typed_list() for x in _ranx_prepare(table))


def _ranx_lists_values(table: Table, ready: Any, given: dict[str, Any]) -> pl.DataFrame:
    queries = table.frame["query_id"].cast(pl.String).unique().sort()  # the order that ranx keeps
    return _ranx_values(table, (None, dict.fromkeys(queries)), given)


# Arrays and tensors: scikit-learn, torchmetrics


@dataclass(frozen=True)
class Lists:
    """The labels and scores of all queries, those of one query together, and where each query
    starts."""

    queries: pl.Series
    starts: np.ndarray
    labels: np.ndarray
    scores: np.ndarray


def lists(table: Table) -> Lists:
    rows = table.frame.select("query_id", "label", "score").sort("query_id")
    counts = rows.group_by("query_id", maintain_order=True).len()
    starts = np.concatenate([[0], counts["len"].to_numpy().cumsum()]).astype(np.int64)
    return Lists(counts["query_id"], starts, rows["label"].to_numpy(), rows["score"].to_numpy())


def _loop_evaluate(ready: Lists) -> np.ndarray:
    from sklearn.metrics import average_precision_score, ndcg_score

    gains, relevant = 2.0**ready.labels - 1, ready.labels > 0
    values = np.zeros((len(ready.queries), 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of queries without a relevant document
        for i in range(len(values)):
            of = slice(ready.starts[i], ready.starts[i + 1])
            scores = ready.scores[None, of]
            values[i, 0] = ndcg_score(ready.labels[None, of], scores, k=10, ignore_ties=True)
            values[i, 1] = ndcg_score(gains[None, of], scores, k=10, ignore_ties=True)
            values[i, 2] = average_precision_score(relevant[of], scores[0])
    return values


def _loop_values(table: Table, ready: Lists, given: np.ndarray) -> pl.DataFrame:
    return _frame(
        ready.queries, {LINEAR: given[:, 0], EXPONENTIAL: given[:, 1], "map": given[:, 2]}
    )


def matrices(table: Table) -> tuple[pl.Series, np.ndarray, np.ndarray]:
    """Queries, labels and scores as padded matrices: what is added has no label and comes last."""
    rows = lists(table)
    counts = np.diff(rows.starts)
    row = np.repeat(np.arange(len(counts)), counts)
    column = np.arange(len(row)) - np.repeat(rows.starts[:-1], counts)
    shape = (len(counts), int(counts.max()))
    labels, scores = np.zeros(shape), np.full(shape, rows.scores.min() - 1)
    labels[row, column], scores[row, column] = rows.labels, rows.scores
    return rows.queries, labels, scores


def _matrix_prepare(table: Table) -> Any:
    queries, labels, scores = matrices(table)
    return queries, labels, 2.0**labels - 1, scores


def _matrix_evaluate(ready: Any) -> tuple[float, float]:
    from sklearn.metrics import ndcg_score

    _, labels, gains, scores = ready
    return (
        ndcg_score(labels, scores, k=10, ignore_ties=True),
        ndcg_score(gains, scores, k=10, ignore_ties=True),
    )


def _matrix_values(table: Table, ready: Any, given: tuple[float, float]) -> pl.DataFrame:
    """scikit-learn gives means only: those that it takes them of are asked of the function
    inside."""
    from sklearn.metrics._ranking import _ndcg_sample_scores

    queries, labels, gains, scores = ready
    each = [_ndcg_sample_scores(truth, scores, k=10, ignore_ties=True) for truth in (labels, gains)]
    for mean, values in zip(given, each, strict=True):
        if not abs(mean - values.mean()) <= 1e-12:
            raise Disagreement(
                f"{table.name}: scikit-learn's mean {mean} is not that of its queries, "
                f"{values.mean()}"
            )
    return _frame(queries, dict(zip((LINEAR, EXPONENTIAL), each, strict=True)))


def _each(values: Any, dim: int) -> Any:
    return values


TORCHMETRICS: dict[str, tuple[str, dict[str, int]]] = {
    LINEAR: ("RetrievalNormalizedDCG", {"top_k": 10}),
    "map": ("RetrievalMAP", {}),
    "rr": ("RetrievalMRR", {}),
    "precision@10": ("RetrievalPrecision", {"top_k": 10}),
    "recall@100": ("RetrievalRecall", {"top_k": 100}),
    "hit_rate@10": ("RetrievalHitRate", {"top_k": 10}),
    "r_precision": ("RetrievalRPrecision", {}),
}


def _torch_prepare(table: Table) -> Any:
    import torch

    queries, label, score = (table.frame[name] for name in ("query_id", "label", "score"))
    if queries.dtype == pl.String:
        queries = queries.cast(pl.Categorical).to_physical()
    indexes = torch.from_numpy(queries.cast(pl.Int64).to_numpy(writable=True))
    labels = torch.from_numpy(label.to_numpy(writable=True))
    return torch.from_numpy(score.to_numpy(writable=True)), labels, labels > 0, indexes


def _torch_evaluate(ready: Any) -> dict[str, Any]:
    import torchmetrics.retrieval

    scores, labels, relevant, indexes = ready
    given = {}
    for name, (metric, options) in TORCHMETRICS.items():
        made = getattr(torchmetrics.retrieval, metric)(aggregation=_each, **options)
        made.update(scores, labels if name == LINEAR else relevant, indexes=indexes)
        given[name] = made.compute()
    return given


def _torch_values(table: Table, ready: Any, given: dict[str, Any]) -> pl.DataFrame:
    codes = (
        table.frame.select("query_id", code=pl.Series(ready[3].numpy())).unique("code").sort("code")
    )
    return _frame(
        codes["query_id"],
        {name: np.atleast_1d(values.double().numpy()) for name, values in given.items()},
    )


COMPETITORS: Sequence[Tool] = (
    Tool(
        "ranx",
        tuple(RANX.values()),
        _ranx_evaluate,
        _ranx_values,
        _ranx_prepare,
        needs=("ranx",),
        ties=False,
    ),
    Tool(
        "ranx, Numba lists",
        tuple(RANX.values()),
        _ranx_evaluate,
        _ranx_lists_values,
        _ranx_lists,
        needs=("ranx",),
        ties=False,
    ),
    Tool(
        "pytrec_eval",
        tuple(PYTREC_EVAL.values()),
        lambda ready: ready[0].evaluate(ready[1]),
        _trec_values,
        _trec_prepare,
        needs=("pytrec_eval",),
    ),
    Tool(
        "ir_measures",
        tuple(PYTREC_EVAL.values()),
        lambda ready: list(ready[0].iter_calc(ready[1])),
        _ir_values,
        _ir_prepare,
        needs=("ir_measures", "pytrec_eval"),
    ),
    Tool(
        "scikit-learn, looped",
        (LINEAR, EXPONENTIAL, "map"),
        _loop_evaluate,
        _loop_values,
        lists,
        needs=("sklearn",),
        ties=False,
    ),
    Tool(
        "scikit-learn, padded",
        (LINEAR, EXPONENTIAL),
        _matrix_evaluate,
        _matrix_values,
        _matrix_prepare,
        needs=("sklearn",),
        ties=False,
    ),
    Tool(
        "torchmetrics",
        tuple(TORCHMETRICS),
        _torch_evaluate,
        _torch_values,
        _torch_prepare,
        needs=("torch", "torchmetrics"),
        ties=False,
        tolerance=2e-6,  # values are 32-bit floats
    ),
    Tool(
        "polars_ds",
        (LINEAR, EXPONENTIAL),
        polars_ds,
        as_given,
        frame=lambda table: table.frame,
        needs=("polars_ds",),
        ties=False,
    ),
    *BY_HAND,
    Tool(
        "pandas groupby", TEN, by_pandas, as_given, frame=lambda table: table.pandas, note=UNCHECKED
    ),
    Tool(
        "DuckDB SQL",
        TEN,
        sql_of_frame,
        as_given,
        frame=lambda table: table.frame,
        needs=("duckdb",),
        note=UNCHECKED,
    ),
    Tool(
        "DuckDB SQL, own table",
        TEN,
        lambda ready: ready.sql(TEN_BY_WINDOWS).pl(),
        as_given,
        sql_prepare,
        needs=("duckdb",),
        note=UNCHECKED,
    ),
)
