"""Who computes ranking metrics, each in its best form; `rf.evaluate` of the same rows has the last
word on equality."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from by_frame import by_pandas, polars_ds, sql_of_frame, sql_prepare
from by_hand import BY_HAND, UNCHECKED, as_given
from shapes import Table
from ten import EXPONENTIAL, LINEAR, TEN, TEN_BY_WINDOWS
from tool import Disagreement, Tool

import rankframe as rf


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
