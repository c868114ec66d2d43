"""A verb is one function of a table: every front gives its values, and reads and computes no more than it needs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache
from operator import attrgetter
from typing import Any
from unittest.mock import patch

import pandas as pd
import polars as pl
import pytest
from polars import selectors as cs
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe._lift.engine import Side, Work, run
from rankframe._table.setup import Setup
from rankframe._verbs.call.declaration import call_of_verb
from rankframe._verbs.items.expected_exposure import expected_exposure
from rankframe._verbs.items.summarize import summarize
from rankframe._verbs.measure import evaluate as verbs, summary
from rankframe._verbs.measure.summary import mean
from tests.support.each import each

QUERIES = 12
DF = pl.DataFrame(
    {
        "query_id": [f"q{i // 5}" for i in range(5 * QUERIES)],
        "doc_id": [f"d{i % 5}" for i in range(5 * QUERIES)],
        "score": [(i * 7) % 11 / 11 for i in range(5 * QUERIES)],
        "other": [(i * 3) % 13 / 13 for i in range(5 * QUERIES)],
        "label": [(i * 5) % 3 for i in range(5 * QUERIES)],
        "market": [f"m{i // 5 % 2}" for i in range(5 * QUERIES)],
    }
)


class Lists:
    """Tables as lists of frames, as on the page of engines."""

    name = "list"
    advice = "concatenate the list, as pl.concat(frames)"

    def schema(self, table: list[pl.DataFrame], read: Collection[str] | None) -> pl.DataFrame:
        return table[0].clear()

    def by_key(self, work: Work, key: Sequence[str] | None, *sides: Side[list[pl.DataFrame]]) -> list[pl.DataFrame]:
        tables = [[part.select(side.names) for part in side.table] for side in sides]
        if key is not None:
            wholes = [pl.concat(parts) for parts in tables]
            tables = [[x.filter(x.select(key).hash_rows() % 4 == part) for part in range(4)] for x in wholes]
        return [work(*parts) for parts in zip(*tables, strict=True)]

    def collect(self, table: list[pl.DataFrame]) -> pl.DataFrame:
        return pl.concat(table)


VERBS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = {
    "evaluate": (
        verbs.evaluate,
        (
            "ndcg@3",
            "err(max_label=2)",
            pl.len().alias("rows"),
            cs.by_name("other").max(),
            pl.col("score").sum().alias("sum"),
        ),
        {},
    ),
    "agreement": (verbs.agreement, ("other", "kendall_tau", "overlap@3"), {}),
    "items.expected_exposure": (expected_exposure, (), {"runs": ["score", "other"], "k": 4}),
    "summarize": (
        summarize,
        ("ndcg@3", "err(max_label=2)"),
        {"runs": ["score", "other"], "interval": "poisson", "resamples": 99, "weights": "weight"},
    ),
    "mean": (mean, ("ndcg@3", "num_ret", "err(max_label=2)"), {"runs": ["score", "other"], "by": "market"}),
}
WEIGHTED = DF.with_columns(weight=1 + pl.col("query_id").str.len_chars())


def of_pandas(table: pd.DataFrame) -> pl.DataFrame:
    """A result of pandas as a Polars frame, with its index if the query is there."""
    return pl.from_pandas(table.reset_index() if table.index.name else table)


@cache
def eager(name: str) -> pl.DataFrame:
    return asked(WEIGHTED.rank, name)  # type: ignore[no-any-return]


def on_lists(name: str) -> pl.DataFrame:
    function, args, options = VERBS[name]
    parts = [WEIGHTED.gather_every(3, i) for i in range(3)]
    return pl.concat(run(Lists(), parts, Setup(), call_of_verb(function, *args, **options)))


def asked(ranker: Any, name: str) -> Any:
    _, args, options = VERBS[name]
    return attrgetter(name)(ranker)(*args, **options)


FRONTS: dict[str, Callable[[str], pl.DataFrame]] = {
    "lazy": lambda name: asked(WEIGHTED.lazy().rank, name).collect(),
    "spilled": lambda name: asked(WEIGHTED.lazy().rank.on(memory_limit=1), name).collect(),
    "grouped": lambda name: asked(WEIGHTED.lazy().rank.on(grouped=True), name).collect(),
    "pandas": lambda name: of_pandas(asked(WEIGHTED.to_pandas().rank, name)),
    "engine": on_lists,
}


@each("name", VERBS, sample=15)
@each("front", FRONTS)
def test_every_front_gives_the_table_of_the_eager_frame(front: str, name: str) -> None:
    wanted, found = eager(name), FRONTS[front](name)
    assert found.columns == wanted.columns
    if front not in ("pandas", "engine"):
        assert found.schema == wanted.schema
    assert_frame_equal(found, wanted, check_row_order=False, check_dtypes=False, rel_tol=1e-12, abs_tol=1e-12)


def test_the_values_are_those_of_the_definition() -> None:
    """By hand, of the two documents with the highest scores of each query."""
    best = WEIGHTED.sort("score", descending=True).group_by("query_id", maintain_order=True).head(2)
    wanted = best.group_by("query_id").agg((pl.col("label") > 0).mean().alias("precision@2")).sort("query_id")
    for found in (WEIGHTED.rank.evaluate("precision@2"), WEIGHTED.lazy().rank.evaluate("precision@2").collect()):
        assert found.sort("query_id").equals(wanted)
    assert WEIGHTED.rank.mean("precision@2").item() == pytest.approx(wanted["precision@2"].mean(), rel=1e-12)


def computed(plan: pl.LazyFrame) -> list[str]:
    """The metrics that are computed when a plan runs."""
    seen: list[str] = []

    def told(measure: Callable[..., pl.DataFrame]) -> Callable[..., pl.DataFrame]:
        def measuring(rows: pl.DataFrame, setup: Any, *calls: Any, **options: Any) -> pl.DataFrame:
            seen.extend(call.text for call in calls if rows.height)
            return measure(rows, setup, *calls, **options)

        return measuring

    with patch.object(verbs, "measure", told(verbs.measure)), patch.object(summary, "measure", told(summary.measure)):
        plan.collect()
    return seen


def test_a_metric_that_the_plan_does_not_select_is_not_computed() -> None:
    ranker = WEIGHTED.lazy().rank
    metrics = ("ndcg", "map", "rr")
    assert computed(ranker.evaluate(*metrics, pl.len().alias("rows")).select("query_id", "map")) == ["map"]
    assert computed(ranker.on(names="flat").evaluate("ndcg@3", "map").select("ndcg_at_3")) == ["ndcg@3"]
    assert computed(ranker.with_metrics(*metrics).select("doc_id", "rr")) == ["rr"]
    assert computed(ranker.mean(*metrics)) == [*metrics]


def read(plan: Callable[[pl.LazyFrame], pl.LazyFrame]) -> set[str]:
    """The columns of the table that a plan reads when it runs."""
    seen: set[str] = set()

    def tell(name: str) -> Callable[[pl.Series], pl.Series]:
        def look(values: pl.Series) -> pl.Series:
            seen.add(name)
            return values

        return look

    columns = [pl.col(name).map_batches(tell(name), return_dtype=dtype) for name, dtype in WEIGHTED.schema.items()]
    made = plan(WEIGHTED.lazy().with_columns(columns))
    seen.clear()
    made.collect()
    return seen


def test_a_column_that_nothing_needs_is_not_read() -> None:
    ids = {"query_id", "doc_id", "score"}
    assert read(lambda df: df.rank.evaluate("map")) == {*ids, "label"}
    assert read(lambda df: df.rank.with_ranks().select("rank")) == ids
    assert read(lambda df: df.rank.agreement("other", "kendall_tau")) == {*ids, "other"}
    assert read(lambda df: df.rank.mean("map", by="market")) == {*ids, "label", "market"}
    assert read(lambda df: df.rank.summarize("map", weights="weight", ci=None)) == {*ids, "label", "weight"}
    assert read(lambda df: df.rank.fuse("rrf", runs=["score", "other"])) == {*ids, "other", "label"}
    assert read(lambda df: df.rank.items.exposure(k=2)) == {*ids, "label"}
    assert read(lambda df: df.rank.evaluate("rr", cs.starts_with("lab").max().alias("x"))) == {*WEIGHTED.columns}


# Places ---------------------------------------------------------------------------------------------------------------

METHODS = {entry.formula.__name__ for entry in rf.METRICS.values()}


@each("kind", [DF, DF.lazy(), DF.to_pandas()], ids=["eager", "lazy", "pandas"])
def test_a_ranker_lists_what_people_type_and_metrics_lists_all(kind: Any) -> None:
    listed = [name for name in dir(kind.rank) if not name.startswith("_")]
    assert len(METHODS.intersection(listed)) == 30
    verbs_of_it = {*listed} - METHODS
    assert verbs_of_it > {
        "evaluate",
        "mean",
        "summarize",
        "compare",
        "gate",
        "judge",
        "fuse",
        "fusion",
        "items",
        "metrics",
    }
    assert len(verbs_of_it) < 36
    assert {*dir(kind.rank.metrics)} == METHODS
    assert dir(kind.rank.fusion) == ["explain", "fit", "fuse", "oracle", "overlap", "tune"]
    assert dir(kind.rank.items) == ["catalog", "compare", "counts", "expected_exposure", "exposure", "without"]
    assert dir(kind.rank.preferences) == ["bradley_terry", "evaluate"]
    assert dir(kind.rank.clicks) == ["interleave", "preference", "propensities"]


def test_a_verb_of_a_topic_is_the_verb_of_the_ranker() -> None:
    options: dict[str, Any] = {"runs": ["score", "other"], "weights": [0.7, 0.3]}
    assert DF.rank.fusion.fuse("wsum", **options).equals(DF.rank.fuse("wsum", **options))
    assert type(DF.rank.fusion).fuse.__doc__ == type(DF.rank).fuse.__doc__
    assert DF.rank.metrics.ndcg(k=3).equals(DF.rank.ndcg(k=3))
    assert DF.rank.on(relevant=2).metrics.hits().equals(DF.rank.on(relevant=2).evaluate("hits"))


@each(
    "place", ["metrics.nerr8", "metrics.hits", "fusion.overlap", "items.counts", "items.catalog", "plot.distribution"]
)
def test_what_a_ranker_does_not_list_is_refused_with_its_place(place: str) -> None:
    for table in (DF, DF.lazy(), DF.to_pandas()):
        with pytest.raises(AttributeError, match=rf"\. Did you mean '{place}'\?$"):
            getattr(table.rank.on(relevant=2), place.rpartition(".")[2])  # type: ignore[union-attr]


def test_judgments_are_joined_before_a_fusion_is_trained() -> None:
    """Of two runs, each judged document has the label of the table of judgments."""
    runs, qrels = DF.drop("label"), DF.select("query_id", "doc_id", "label")
    wanted = DF.rank.fusion.fit("posfuse", runs=["score", "other"]).learned
    assert runs.rank.fusion.fit("posfuse", runs=["score", "other"], qrels=qrels).learned.equals(wanted)
    assert rf.fit_fusion(runs, "posfuse", runs=["score", "other"], qrels=qrels).learned.equals(wanted)
    old, new = (DF.select("query_id", "doc_id", score=name) for name in ("score", "other"))
    tables = {"score": old, "other": new}
    assert rf.fit_fusion(old, "posfuse", runs=tables, qrels=qrels).learned.equals(wanted)
