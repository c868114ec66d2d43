"""Laws of recommenders' metrics, over hostile tables, policies and all forms of a call."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import Phase, given, settings, strategies as st
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.metrics.oracles.query import Row
from tests.support.calls import POLICIES, Options, assert_equal, is_offered, share, spell, values
from tests.support.each import each
from tests.support.recommenders import ALL, CALLS, FEATURES, ITEMS, ROLES, TEXTS, expected, reads_labels
from tests.support.tables import BY_CHANCE, FRACTIONAL_LABELS, Table, frame, random_table, tables

pytestmark = BY_CHANCE

law = settings(deadline=None, derandomize=True, max_examples=5, phases=[Phase.generate])
hostile = tables(FRACTIONAL_LABELS)
policies = st.sampled_from(POLICIES)
BOTH = list(zip(ALL, TEXTS, strict=True))
FAMILIES = (
    "popularity",
    "novelty",
    "list_diversity",
    "serendipity",
    "group_exposure",
    "group_parity",
    "costs",
    "retrieval_models",
)


def ranker(df: Any, **options: Any) -> Any:
    return df.rank.on(**{**ROLES, **options})


def adds_up(text: str) -> bool:
    one = pl.LazyFrame({"query_id": ["q"], "doc_id": ["a"], "score": [1.0], "label": [1]})
    return is_offered(lambda: ranker(one).explain(text), "is no sum of what each rank contributes")


def test_every_metric_of_the_families_has_an_oracle_and_calls() -> None:
    declared = {
        metric.formula.__name__
        for metric in rf.METRICS.values()
        if metric.formula.__module__.rpartition(".")[2] in FAMILIES
    }
    assert declared == set(CALLS)


@each("turn", range(15), sample=14)
@each("given_policies", POLICIES, ids=str)
def test_values_are_the_oracles(given_policies: Options, turn: int) -> None:
    calls = share(BOTH, turn, 15)
    table = random_table(turn, queries=15, labels=FRACTIONAL_LABELS)
    found = ranker(frame(table, seed=None), **given_policies).evaluate(*(text for _, text in calls))
    for call, text in calls:
        assert_equal(values(found, text), expected(table, call, **given_policies), (text, given_policies))


@each("shift", range(4), sample=1)
@law
@given(table=hostile, given_policies=policies, turn=st.integers(0, 3))
def test_values_are_the_oracles_on_small_hostile_tables(
    shift: int, table: Table, given_policies: Options, turn: int
) -> None:
    calls = share(BOTH, turn + shift, 4)
    found = ranker(frame(table, seed=None), **given_policies).evaluate(*(text for _, text in calls))
    for call, text in calls:
        assert_equal(values(found, text), expected(table, call, **given_policies), (text, given_policies))


def test_every_value_is_within_its_metrics_bounds() -> None:
    found = ranker(frame(random_table(3))).evaluate(*TEXTS)
    for text in TEXTS:
        low, high = rf.parse(text)[0].bounds
        of_text = found[text].drop_nulls()
        assert of_text.is_finite().all()
        assert low is None or (of_text >= low - 1e-12).all(), text
        assert high is None or (of_text <= high + 1e-12).all(), text


@each("turn", range(4), sample=1)
def test_a_table_without_labels_has_the_values_of_metrics_that_read_none(turn: int) -> None:
    df = frame(random_table(4))
    unread = [spell(*call) for call in ALL if not reads_labels(*call)]
    read = [spell(*call) for call in ALL if reads_labels(*call)]
    assert len(unread) > len(read) > 20
    wanted = ranker(df).evaluate(*share(unread, turn, 4))
    for form in (df, df.lazy()):
        assert_same(ranker(form.drop("label")).evaluate(*wanted.columns[1:]), wanted)
    for text in share(read, turn, 4):
        with pytest.raises(rf.MissingColumn, match="no column 'label' for label"):
            ranker(df.drop("label")).evaluate(text, "unseen")


def assert_same(found: Any, wanted: pl.DataFrame) -> None:
    both = (x.lazy().collect().sort("query_id") for x in (found, wanted))
    assert_frame_equal(*both, rel_tol=1e-12, abs_tol=1e-12)


@each("turn", range(24), sample=1)
def test_all_forms_give_the_eager_values(turn: int) -> None:
    df = frame(random_table(5, queries=8))
    calls = share(ALL, turn, 24)
    texts = [spell(*call) for call in calls]
    wanted = ranker(df).evaluate(*texts)
    for engine in ("in-memory", "streaming"):
        assert_same(ranker(df.lazy()).evaluate(*texts).collect(engine=engine), wanted)
    assert_same(ranker(df.lazy(), memory_limit=4_000).evaluate(*texts), wanted)
    from_pandas = ranker(df.to_pandas(), interactions=ROLES["interactions"].to_pandas(), items=ITEMS.to_pandas())
    found = pl.from_pandas(from_pandas.evaluate(*texts).reset_index()).with_columns(pl.col(texts).fill_nan(None))
    assert_same(found, wanted)
    expressions = [getattr(ranker_of_expressions(), name)(**options) for name, options in calls[::3]]
    few = wanted.select("query_id", *texts[::3])
    assert_same(df.group_by("query_id").agg(expressions), few)
    windows = df.select("query_id", *(x.over("query_id") for x in expressions)).unique()
    assert_same(windows, few)


def ranker_of_expressions() -> Any:
    return rf.expr.on(**ROLES)


@each("turn", range(8), sample=1)
def test_a_frame_may_be_taken_in_parts_and_in_any_order_of_rows(turn: int) -> None:
    texts = share(TEXTS, turn, 8)
    table = random_table(6, queries=20)
    wanted = ranker(frame(table, seed=None)).evaluate(*texts)
    assert_same(ranker(frame(table, seed=9)).evaluate(*texts), wanted)
    with (
        patch("rankframe._plan.parts.ROWS_OF_PART", 7),
        patch("rankframe._plan.parts.ROWS_OF_THREAD", 1),
        patch("rankframe._plan.per_query.ROWS_OF_SMALL_TABLE", 0),
    ):
        assert_same(ranker(frame(table)).evaluate(*texts), wanted)


@each("turn", range(5), sample=1)
def test_contributions_sum_to_the_metric_and_the_curve_at_rank_k_is_the_metric_at_k(turn: int) -> None:
    df = frame(random_table(7, queries=15))
    texts = [text for text in TEXTS if adds_up(text)]
    assert len(texts) >= 80
    texts = share(texts, turn, 5)
    explained = ranker(df).explain(*texts)
    undefined = pl.col(texts).is_null().all()
    totals = explained.group_by("query_id").agg(pl.when(~undefined).then(pl.col(texts).sum()))
    assert_same(totals, ranker(df).evaluate(*texts))
    cut = [(name, options) for name, options in ALL if rf.METRICS[name].first == "k" and "k" not in options]
    calls = [(name, options) for name, options in cut if adds_up(spell(name, options))]
    calls = share(calls, turn, 5)
    curve = ranker(df).curve(*(spell(*call) for call in calls))
    for k in (1, 2, 5):
        at_k = ranker(df).evaluate(*(spell(name, {**options, "k": k}) for name, options in calls))
        at_k.columns = ["query_id", *(spell(*call) for call in calls)]
        found = curve.filter(rank=k).drop("doc_id", "rank")
        assert_same(found, at_k.join(found, on="query_id", how="semi"))


@each("turn", range(8), sample=1)
def test_every_text_reads_back_as_itself_and_the_method_gives_its_column(turn: int) -> None:
    df = frame(random_table(8, queries=5))
    for (name, options), text in share(BOTH, turn, 8):
        assert [str(call) for call in rf.parse(text)] == [text]
        assert getattr(ranker(df).metrics, name)(**options).equals(ranker(df).evaluate(text))


def orders(rows: list[Row]) -> Iterator[list[Row]]:
    groups = [[row for row in rows if row[1] == score] for score in dict.fromkeys(row[1] for row in rows)]
    choices = [[group] if group[0][1] is None else list(itertools.permutations(group)) for group in groups]
    for choice in itertools.product(*choices):
        yield [row for group in choice for row in group]


@each("turn", range(2), sample=1)
def test_the_expected_value_over_ties_is_the_mean_over_all_orders(turn: int) -> None:
    table = random_table(9, queries=12, sizes=(1, 2, 4))
    lazy = ranker(frame(table).lazy(), ties="expected")
    known = [
        (call, text)
        for call, text in BOTH
        if is_offered(lambda text=text: lazy.evaluate(text), "closed form")  # type: ignore[misc]
    ]
    assert len(known) >= 60
    known = share(known, turn, 2)
    found = ranker(frame(table), ties="expected").evaluate(*(text for _, text in known))
    for call, text in known:
        wanted: dict[Any, float | None] = {}
        for query, rows in table.items():
            every = [expected({query: order}, call, ties="order")[query] for order in orders(rows)]
            wanted[query] = None if every[0] is None else math.fsum(x or 0.0 for x in every) / len(every)
        assert_equal(values(found, text), wanted, text)


def test_properties_of_items_may_be_columns_of_the_table() -> None:
    df = frame(random_table(10, queries=10))
    texts = ["ild", "category_entropy", "group_exposure(group=M)", "unexpectedness@3", "awrf(distance=jsd)"]
    roles = {name: ROLES[name] for name in ("category", "group", "features", "base")}
    joined = df.join(ITEMS, on="doc_id", how="left")
    wanted = ranker(df).evaluate(*texts)
    for form in (joined, joined.lazy()):
        assert_same(form.rank.on(**roles).evaluate(*texts), wanted)
    lists = joined.with_columns(v=pl.concat_list(FEATURES)).rank.on(features="v").evaluate("ild")
    assert_same(lists, wanted.select("query_id", "ild"))
    array = joined.with_columns(v=pl.concat_list(FEATURES).list.to_array(3)).rank.on(features="v").evaluate("ild")
    assert_same(array, wanted.select("query_id", "ild"))
    in_pandas = joined.with_columns(v=pl.concat_list(FEATURES)).to_pandas().rank.on(**{**roles, "features": "v"})
    assert_same(pl.from_pandas(in_pandas.evaluate(*texts).reset_index()).fill_nan(None), wanted)


def test_a_call_gives_the_same_last_bit_each_time_and_the_order_of_the_interactions_moves_no_more() -> None:
    """A sum of floats depends on its order in the last bit, and a join keeps none unless it is told to."""
    rng = random.Random(4)
    past = pl.DataFrame(
        [(u, f"d{rng.randrange(200)}") for u in range(100) for _ in range(60)], ["query_id", "doc_id"], orient="row"
    )
    past = past.unique(maintain_order=True)
    shown = pl.DataFrame(
        [(u, f"d{i}", -float(i), i % 2) for u in range(100) for i in range(20)],
        ["query_id", "doc_id", "score", "label"],
        orient="row",
    )
    of_items = pl.DataFrame(
        {
            "doc_id": [f"d{i}" for i in range(200)],
            "x": [rng.random() for _ in range(200)],
            "y": [rng.random() for _ in range(200)],
            "genre": [rng.choice("abc") for _ in range(200)],
        }
    )

    def computed(interactions: pl.DataFrame) -> pl.DataFrame:
        told = rf.rank(shown).on(interactions=interactions, items=of_items, features=["x", "y"], category="genre")
        return told.evaluate(
            *(f"serendipity(against={way})" for way in ("popularity", "co_occurrence", "features")),
            "calibration",
            "novelty",
            "surprisal",
        )

    first = computed(past)
    for seed in range(2):
        assert computed(past).equals(first)
        shuffled = past.sample(fraction=1.0, shuffle=True, seed=seed)
        assert_frame_equal(computed(shuffled), first, rel_tol=1e-12, abs_tol=1e-14)
        similar = "serendipity(against=co_occurrence)"  # whose terms are sorted
        assert computed(shuffled)[similar].equals(first[similar])
