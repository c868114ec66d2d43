"""Values that no option expects, and a call that works of every verb and every function of ``rf``."""

from __future__ import annotations

import datetime
import io
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl

HOSTILE: list[Any] = [
    None, True, 0, -1, 5, 2**64, 10**400, 1.5, 1e308, float("nan"), float("inf"), "", "x", "\0x", "\ud800", b"x", [], {}, (),
    set(), [None], ["nope"], ["score", "score"], ("label", "doc_id"), {"a": 1}, {"x": object()}, {"a": None}, iter([]), range(3),
    object(), int, len, 1j, Decimal("0.1"), Fraction(1, 3), datetime.date(2024, 1, 1), np.array([1.0, 2.0]), np.int64(3),
    pl.Series([1]), pl.Series(["score"]), pl.lit(1), pl.col("score"), pl.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]}),
    pd.Series(["a"]), ..., [object()], [[1]], [10**400], [float("nan")], Exception("x"),
]  # fmt: skip

TABLE = pl.DataFrame(
    {"query_id": [1, 1, 1, 2, 2, 2], "doc_id": [*"abc"] * 2, "label": [1, 0, 2, 0, 1, 0], "side": [*"xxxyyy"]}
).with_columns(score=pl.Series([3.0, 2, 1, 1, 2, 3]), s2=pl.Series([1.0, 2, 3, 3, 1, 2]))
QRELS = TABLE.select("query_id", "doc_id", rel="label").rename({"rel": "label"})
RUN = TABLE.drop("label")
CLICKS = TABLE.with_columns(label=pl.Series([1, 0, 1, 0, 1, 0])).select("query_id", "doc_id", "score", "label", "side")
LOG = pl.concat([CLICKS.with_columns(run=pl.lit("a")), CLICKS.with_columns(run=pl.lit("b"), score=-pl.col("score"))])
TRAIN = pl.DataFrame({"query_id": [1, 2], "doc_id": ["a", "b"]})
SHOWN = pl.DataFrame(
    {"query_id": [1, 1, 2, 2], "doc_id": ["a", "b"] * 2, "team": ["a", "b"] * 2, "label": [1, 0, 0, 1]}
)
PAIRS = pl.DataFrame({"query_id": 1, "doc_a": ["a", "b"], "doc_b": ["b", "a"], "winner": ["a", "a"]})
PREFERRED = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [2, 1], "label": [1, 2]})

TWO: dict[str, Any] = {"runs": ["score", "s2"]}
QUICK: dict[str, Any] = {"resamples": 100, "progress": False}


class Works(NamedTuple):
    """A call that works: its arguments and options, and the table that it is made of."""

    args: tuple[Any, ...] = ()
    options: dict[str, Any] = {}  # noqa: RUF012
    table: pl.DataFrame = TABLE


VERBS = {
    "evaluate": Works(("map",)),
    "with_metrics": Works(("map",)),
    "with_ranks": Works(),
    "curve": Works(("precision",)),
    "explain": Works(("dcg",)),
    "judge": Works((QRELS,), {}, RUN),
    "check": Works((QRELS,), {}, RUN),
    "agreement": Works(("s2", "kendall_tau")),
    "conventions": Works(("ndcg@3",)),
    "mean": Works(("map",), TWO),
    "summarize": Works(("map",), QUICK),
    "compare": Works(("map",), TWO | QUICK),
    "power": Works(("map",), {**TWO, "difference": 0.1}),
    "gate": Works(({"map": 0.1},), TWO | QUICK),
    "collection.label_agreement": Works(("label", "s2"), QUICK),
    "collection.reproduces": Works(("map",), {"original": {"score": "s2"}}),
    "clicks.propensities": Works((), {"run": "run", **QUICK}, LOG),
    "collection.reliability": Works(("map",), TWO | QUICK | {"halves": 5}),
    "collection.pool": Works((), {**TWO, "depth": 2}),
    "collection.leave_one_run_out": Works(("map",), TWO),
    "collection.difficulty": Works(("nqc",), {"of": "map", **QUICK}),
    "fuse": Works(("wsum",), TWO),
    "tune": Works(("wsum",), TWO | QUICK | {"step": 0.5, "folds": 2}),
    "items.expected_exposure": Works((), TWO),
    "compare_groups": Works(("map",), {"by": "side", **QUICK}),
    "report": Works(("report.html", "map"), {"worst": 1}),
    "fusion.explain": Works(("rrf",), TWO),
    "fusion.overlap": Works((), TWO),
    "fusion.oracle": Works(("map",), TWO | QUICK),
    "fusion.fit": Works(("posfuse",), TWO),
    "items.catalog": Works(("coverage@2",), {"items": 9, **QUICK}),
    "items.compare": Works(("coverage@2",), TWO | QUICK | {"items": 9}),
    "items.counts": Works(("coverage@2",), {"items": 9}),
    "items.exposure": Works(),
    "items.without": Works((TRAIN,)),
    "preferences.bradley_terry": Works((), {}, PAIRS),
    "preferences.evaluate": Works((), {}, PREFERRED),
    "clicks.interleave": Works((), TWO),
    "clicks.preference": Works((), {}, SHOWN),
    "plot.catalog": Works(("coverage",), {"items": 9}),
    "plot.contributions": Works(("rrf",), TWO),
    "plot.curve": Works(("precision",)),
    "plot.differences": Works(("map",), TWO),
    "plot.distribution": Works(("map",)),
    "plot.exposure": Works((), {"items": 9}),
    "plot.judged": Works(("map",)),
    "plot.long_tail": Works((), {"interactions": TRAIN}),
    "plot.over": Works(("map",), {"by": "side"}),
    "plot.overlap": Works((), TWO),
    "plot.precision_recall": Works(),
    "plot.propensities": Works((), {"run": "run"}, LOG),
    "plot.sequential": Works(("map",), TWO),
    "plot.slices": Works(("map",), {"by": "side"}),
    "plot.trade_off": Works(("map", "rr"), TWO),
    "on": Works(),
}
"""A call of each verb."""

SAME = {"fusion.fuse": "fuse", "fusion.tune": "tune"}
"""Verbs that have two names."""

SLOW = ("report", "tune", "plot.")
"""The beginnings of the names of verbs of which one call takes more than a tenth of a second."""

FUNCTIONS = {
    "evaluate": Works((RUN, QRELS, "map")),
    "mean": Works((RUN, QRELS, "map")),
    "summarize": Works((RUN, QRELS, "map"), QUICK),
    "compare": Works(({"a": RUN, "b": RUN}, QRELS, "map"), QUICK),
    "gate": Works(({"a": RUN, "b": RUN}, QRELS, {"map": 0.5}), QUICK),
    "rank": Works((TABLE,)),
    "fuse": Works(([TABLE, TABLE], "rrf")),
    "fit_fusion": Works((TABLE, "posfuse"), TWO),
    "write_run": Works((TABLE, io.BytesIO())),
    "write_qrels": Works((TABLE, io.BytesIO())),
    "read_run": Works((io.BytesIO(b"1 Q0 a 1 2.5 t\n"),), {"format": "trec"}),
    "read_qrels": Works((io.BytesIO(b"1 0 a 1\n"),), {"format": "trec"}),
    "from_lists": Works((pl.DataFrame({"query_id": [1], "retrieved": [["a"]], "relevant": [["a"]]}),)),
    "from_dicts": Works((), {"run": {"q": {"a": 1.0}}, "qrels": {"q": {"a": 1}}}),
    "from_arrays": Works((), {"scores": [[0.5, 0.2]], "labels": [[1, 0]]}),
    "parse": Works(("ndcg@10",)),
    "value": Works(("faithfulness",), {"bounds": (0, 1)}),
    "lightgbm_metric": Works(("ndcg@3",)),
    "xgboost_metric": Works(("ndcg@3",)),
    "sklearn_scorer": Works(("ndcg@3",)),
    "arrow_kernel": Works(("ndcg@3",)),
    "Accumulator": Works(("ndcg@3",)),
    "unregister": Works(),
}
"""A call of each function that takes more than a formula; `sql` has a grid of its own among its tests."""

DECLARE = {
    "load_example", "metric", "catalog_metric", "catboost_callback", "sentence_transformers_evaluator", "scan_run", "scan_qrels",
    "partial_sums", "sql",
}  # fmt: skip
"""Functions that declare formulas, take models of other libraries, or read as one of `FUNCTIONS` does."""
