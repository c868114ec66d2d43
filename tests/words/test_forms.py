"""A value is the same in every form it is computed in, also those of metrics that a user might write."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import Phase, given, settings, strategies as st
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe._catalog.call import Call
from rankframe._catalog.requests import calls_of
from rankframe._plan import per_query
from rankframe._plan.plan import run_formulas
from rankframe._table.setup import Setup
from tests.metrics.oracles.query import Row
from tests.support.calls import POLICIES, SOME, Options, needs_table, share, spell
from tests.support.each import each
from tests.support.tables import BY_CHANCE, FRACTIONAL_LABELS, Table, frame, tables

pytestmark = BY_CHANCE

law = settings(deadline=None, derandomize=True, max_examples=2, phases=[Phase.generate])
hostile = tables(FRACTIONAL_LABELS, min_queries=1)

Plain = Callable[[list[Row], int | None], float | None]


def top(rows: list[Row], k: int | None) -> list[Row]:
    """The retrieved documents in rank order, down to rank `k`."""
    retrieved = [row for row in rows if row[1] is not None]
    best_first = sorted(retrieved, key=lambda row: (row[1], row[0].encode()), reverse=True)
    return best_first if k is None else best_first[:k]


def read(row: Row) -> float:
    return max(row[2] or 0, 0)


def is_judged(row: Row) -> bool:
    return row[2] is not None and row[2] >= 0


def found(r: rf.Ranking, k: int | None = None) -> pl.Expr:
    return r.total(r.retrieved.cast(pl.Float64), k)


def zeros(r: rf.Ranking, k: int | None = None) -> pl.Expr:
    return r.total((r.label == 0).cast(pl.Float64), k)


def misses_before(r: rf.Ranking, k: int | None = None) -> pl.Expr:
    return r.total(r.so_far(r.label == 0), k)


def unjudged_anywhere(r: rf.Ranking) -> pl.Expr:
    return r.whole(r.unjudged)


def share_of_misses(r: rf.Ranking) -> pl.Expr:
    return 1 - r.whole(r.relevant > 0) / r.whole(pl.lit(1))


def rows_short_of_five(r: rf.Ranking) -> pl.Expr:
    return 5 - r.whole(pl.lit(True))


def relevant_above(r: rf.Ranking, k: int = 1) -> pl.Expr:
    return r.total(r.relevant, k - 1)


def misses_of_two(r: rf.Ranking) -> pl.Expr:
    return r.divided_by(pl.lit(1), pl.lit(2)) - r.total(r.relevant, 2)


def two_each(r: rf.Ranking, k: int | None = None) -> pl.Expr:
    return r.total(pl.lit(2), k)


def labels_as_they_came(r: rf.Ranking, k: int | None = None) -> pl.Expr:
    return r.total(r.raw, k)


def labels_so_far(r: rf.Ranking, k: int | None = None) -> pl.Expr:
    return r.total(r.so_far(r.raw), k)


def halves(r: rf.Ranking, k: int | None = None) -> pl.Expr:
    return r.total(r.product_before(pl.lit(0.5)), k)


def halves_of_the_judged(r: rf.Ranking, k: int | None = None) -> pl.Expr:
    return r.total(r.product_before(pl.when(r.judged).then(0.5)), k)


def retrieved_of_each(r: rf.Ranking) -> pl.Expr:
    return r.whole(r.n_retrieved)


def length_of_list(r: rf.Ranking) -> pl.Expr:
    return r.largest(r.rank)


def best_rank(r: rf.Ranking) -> pl.Expr:
    return r.largest(pl.when(r.retrieved).then(r.rank).otherwise(0.0))


def unjudged_above(r: rf.Ranking, k: int | None = None) -> pl.Expr:
    return r.total(r.count_above(~r.judged), k)


def retrieved_below(r: rf.Ranking, k: int | None = None) -> pl.Expr:
    return r.total(r.along(r.retrieved.cast(pl.Float64).shift(-1, fill_value=0.0)), k)


def ideal_zeros(r: rf.Ranking) -> pl.Expr:
    return r.total(r.ideal().label == 0)


def gained_by_misses(r: rf.Ranking, k: int | None = None) -> pl.Expr:
    return r.total(r.gain({0: 1, 0.25: 0, 0.5: 0, 1: 0, 1.5: 0, 2: 0, 2.75: 0, 3: 0, 4: 0}), k)


def one(r: rf.Ranking) -> pl.Expr:
    return pl.lit(1.0)


def sum_down_to(rows: list[Row], k: int | None, value: Callable[[list[Row], int], float]) -> float:
    """The sum of a value of each of the top ranks, given all ranks and the index of one."""
    ranks = top(rows, None)
    return math.fsum(value(ranks, i) for i in range(len(top(rows, k))))


OWN: dict[Callable[..., pl.Expr], Plain] = {
    found: lambda rows, k: len(top(rows, k)),
    zeros: lambda rows, k: sum(read(row) == 0 for row in top(rows, k)),
    misses_before: lambda rows, k: sum_down_to(rows, k, lambda ranks, i: sum(read(row) == 0 for row in ranks[: i + 1])),
    unjudged_anywhere: lambda rows, k: sum(not is_judged(row) for row in rows),
    share_of_misses: lambda rows, k: sum(read(row) < 1 for row in rows) / len(rows),
    rows_short_of_five: lambda rows, k: 5 - len(rows),
    relevant_above: lambda rows, k: sum(read(row) >= 1 for row in top(rows, (k or 1) - 1)),
    misses_of_two: lambda rows, k: sum(read(row) < 1 for row in top(rows, 2)),
    two_each: lambda rows, k: 2 * len(top(rows, k)),
    labels_as_they_came: lambda rows, k: math.fsum(row[2] or 0 for row in top(rows, k)),
    labels_so_far: lambda rows, k: sum_down_to(
        rows, k, lambda ranks, i: math.fsum(row[2] or 0 for row in ranks[: i + 1])
    ),
    halves: lambda rows, k: sum_down_to(rows, k, lambda ranks, i: 0.5**i),
    halves_of_the_judged: lambda rows, k: sum_down_to(rows, k, lambda ranks, i: 0.5 ** sum(map(is_judged, ranks[:i]))),
    retrieved_of_each: lambda rows, k: len(rows) * len(top(rows, None)),
    length_of_list: lambda rows, k: len(top(rows, None)) or None,
    best_rank: lambda rows, k: len(top(rows, None)),
    unjudged_above: lambda rows, k: sum_down_to(rows, k, lambda ranks, i: sum(not is_judged(x) for x in ranks[:i])),
    retrieved_below: lambda rows, k: sum_down_to(rows, k, lambda ranks, i: i + 1 < len(ranks)),
    ideal_zeros: lambda rows, k: sum(x == 0 for x in sorted(map(read, rows), reverse=True)[: len(top(rows, None))]),
    gained_by_misses: lambda rows, k: sum(row[2] == 0 for row in top(rows, k)),
    one: lambda rows, k: 1,
}
BY_RANK = [formula for formula in OWN if "k" in formula.__annotations__]


@pytest.fixture(autouse=True, scope="module")
def _declared() -> Iterator[None]:
    for formula in OWN:
        rf.metric(bounds=(None, None))(formula)
    yield
    for formula in OWN:
        rf.unregister(formula)


@pytest.fixture
def in_parts() -> Iterator[None]:
    with ExitStack() as patches:
        for name, value in PARTS.items():
            patches.enter_context(patch(f"rankframe._plan.{name}", value))
        yield


PARTS = {"parts.ROWS_OF_PART": 3, "parts.ROWS_OF_THREAD": 1, "per_query.ROWS_OF_SMALL_TABLE": 0}
"""Bounds that a table has to pass to be cut into parts; then a table of any size is."""

OWN_TEXTS = [formula.__name__ for formula in OWN] + [f"{formula.__name__}@2" for formula in BY_RANK]
TEXTS = [spell(*call) for call in SOME if not needs_table(*call)]


def assert_same(values: pl.DataFrame, wanted: pl.DataFrame, form: str = "") -> None:
    """Equal to 1e-12, in whatever order the queries come."""
    values = values.select(wanted.columns).sort("query_id")
    try:
        assert_frame_equal(values, wanted.sort("query_id"), rel_tol=1e-12, abs_tol=1e-12)
    except AssertionError as error:
        raise AssertionError(form) from error


def oracle(table: Table) -> pl.DataFrame:
    """What the formulas of one's own give, in plain Python; nothing for a query that nobody judged."""
    judged = {query: any(label is not None for _, _, label in rows) for query, rows in table.items()}
    asked = [(formula.__name__, plain, None) for formula, plain in OWN.items()]
    asked += [(f"{formula.__name__}@2", OWN[formula], 2) for formula in BY_RANK]
    columns = {
        text: [plain(rows, k) if judged[query] else None for query, rows in table.items()] for text, plain, k in asked
    }
    return pl.DataFrame({"query_id": list(table), **columns}, schema_overrides=dict.fromkeys(columns, pl.Float64))


def forms(df: pl.DataFrame, texts: list[str], policies: Options) -> Iterator[tuple[str, pl.DataFrame]]:
    """The values of each query in the forms that a frame offers; each is asked in its own right."""
    ranker = df.rank.on(**policies)
    yield "evaluate", ranker.evaluate(*texts)
    yield "lazy", df.lazy().rank.on(**policies).evaluate(*texts).collect()
    yield "streaming", df.lazy().rank.on(**policies).evaluate(*texts).collect(engine="streaming")
    yield "kernel", pl.DataFrame(rf.arrow_kernel(*texts, **policies)(df.to_arrow()))
    in_pandas = df.to_pandas().rank.on(**policies).evaluate(*texts).reset_index()
    yield "pandas", pl.from_pandas(in_pandas).cast(dict.fromkeys(texts, pl.Float64))
    yield "with_metrics", ranker.with_metrics(*texts).select("query_id", *texts).unique()
    calls = [rf.parse(text)[0] for text in texts]
    expressions = [getattr(rf.expr.on(**policies), call.metric.formula.__name__)(**call.arguments) for call in calls]
    yield "agg", df.group_by("query_id").agg(expressions)
    windows = df.with_columns(x.over("query_id").alias(text) for x, text in zip(expressions, texts, strict=True))
    yield "over", windows.select("query_id", *texts).unique()


def as_found(values: pl.DataFrame) -> pl.DataFrame:
    """pandas knows no null in a column of floats, so that a missing value is compared as null everywhere."""
    return values.with_columns(pl.selectors.float().fill_nan(None), pl.col("query_id").cast(pl.String))


@law
@given(hostile)
def test_metrics_of_ones_own_are_those_of_plain_python_in_every_form(table: Table) -> None:
    wanted = oracle(table)
    for form, values in forms(frame(table), OWN_TEXTS, {}):
        assert_same(as_found(values), wanted, form)


@each("turn", range(20), sample=1)
@law
@given(table=hostile, policies=st.sampled_from(POLICIES))
def test_every_metric_has_one_value_in_every_form(turn: int, table: Table, policies: Options) -> None:
    df = frame(table)
    (_, first), *others = forms(df, share([*TEXTS, *OWN_TEXTS], turn, 20), policies)
    for form, values in others:
        assert_same(as_found(values), as_found(first), form)


@each("shift", range(4), sample=1)
@law
@given(table=hostile, policies=st.sampled_from(POLICIES), turn=st.integers(0, 3))
def test_a_value_does_not_depend_on_its_company(shift: int, table: Table, policies: Options, turn: int) -> None:
    df = frame(table)
    together = df.rank.on(**policies).evaluate(*TEXTS, *OWN_TEXTS)
    for texts in ([text] for text in share([*OWN_TEXTS, *TEXTS], turn + shift, 4)):
        assert_same(df.rank.on(**policies).evaluate(*texts), together.select("query_id", *texts))


@law
@given(hostile, st.sampled_from(POLICIES))
def test_a_value_does_not_depend_on_the_rows_that_a_plan_leaves_out(table: Table, policies: Options) -> None:
    df = frame(table)
    # metrics that go by gains only have a plan of their own in large tables
    with patch("rankframe._plan.per_query.ROWS_OF_SMALL_TABLE", 0):
        values = df.rank.on(**policies).evaluate(*TEXTS)
        with patch.object(Call, "gains_only", lambda *_: False):
            assert_same(df.rank.on(**policies).evaluate(*TEXTS), values)


LABELS = [None, 0, 0, -1, 1, 2.75, 0]
MANY_QUERIES: Table = {
    f"q{i}": [(str(j), [None, 2.0, 2.0, 1.0][(i + j) % 4], LABELS[(i * j) % 7]) for j in range(i % 6 + 1)]
    for i in range(20)
}


@pytest.mark.usefixtures("in_parts")
@each("turn", range(15), sample=7)
@each("policies", POLICIES, ids=str)
def test_a_value_does_not_depend_on_the_parts_of_its_table(policies: Options, turn: int) -> None:
    df = frame(MANY_QUERIES)
    texts = share([*TEXTS, *OWN_TEXTS], turn, 15)
    values = df.rank.on(**policies).evaluate(*texts)
    with patch.dict("rankframe._plan.parts.__dict__", {"ROWS_OF_PART": 10**6, "ROWS_OF_THREAD": 10**6}):
        assert_same(values, df.rank.on(**policies).evaluate(*texts))


@pytest.mark.usefixtures("in_parts")
def test_metrics_of_ones_own_are_those_of_plain_python_in_the_parts_of_a_table() -> None:
    assert_same(frame(MANY_QUERIES).rank.evaluate(*OWN_TEXTS), oracle(MANY_QUERIES))


WHOLE_LABELS: Table = {
    query: [(doc, score, None if label is None else round(label)) for doc, score, label in rows]
    for query, rows in MANY_QUERIES.items()
}


@pytest.mark.usefixtures("in_parts")
def test_a_label_that_is_nan_is_refused_among_whole_numbers() -> None:
    df = frame(WHOLE_LABELS).with_columns(pl.col("label").cast(pl.Float64))
    df = df.with_columns(pl.when(pl.int_range(pl.len()) == 2).then(math.nan).otherwise("label").alias("label"))
    with pytest.raises(rf.InvalidData, match="holds NaN"):
        df.rank.evaluate("ndcg@2")


def test_a_perfect_ranking_has_the_value_1_in_a_large_table() -> None:
    rows = 3 * per_query.ROWS_OF_SMALL_TABLE
    df = pl.select(query_id=pl.int_range(rows) // 60, doc_id=pl.int_range(rows) % 60).with_columns(
        score=-pl.col("doc_id"), label=(pl.col("query_id") % 7 * 5 - pl.col("doc_id") // 4).clip(0, 4)
    )
    values = df.sample(fraction=1, shuffle=True, seed=0).rank.evaluate("ndcg@10", "ndcg(gain=exponential)@20")
    has_gain = pl.col("query_id") % 7 > 0
    assert values.select((pl.exclude("query_id") == has_gain).all()).row(0) == (True, True)


@law
@given(hostile)
def test_contributions_add_up_to_a_metric_of_ones_own_and_its_curve_ends_there(table: Table) -> None:
    df, wanted = frame(table), oracle(table)
    texts = [formula.__name__ for formula in BY_RANK]
    sums = df.rank.explain(*texts).group_by("query_id").agg(pl.col(texts).sum())
    assert_same(sums, wanted.select("query_id", *texts))
    ends = df.rank.curve(*texts).sort("rank").group_by("query_id").agg(pl.col(texts).last())
    retrieved = wanted.filter(pl.col("found") > 0)
    assert_same(ends, retrieved.select("query_id", *texts))


@each(("largest", "refusals"), [(4, 0), (899, 0), (900, 1), (None, 1)])
def test_labels_are_looked_at_for_a_refusal_only_where_one_may_be_refused(largest: int | None, refusals: int) -> None:
    """Exponential gains end below label 900; the labels of the ideal ranking are those of the table."""
    calls = calls_of("ndcg(gain=exponential)", "dcg(gain=exponential)@3")
    assert len(run_formulas(calls, Setup(), largest).refused) == refusals


def test_rows_without_gain_are_left_out_for_metrics_that_say_so_alone() -> None:
    """A formula that counts zeros, and says wrongly that it looks at gains only, shows that rows are left out."""
    df = frame({"q": [("a", 3.0, 0), ("b", 2.0, 0), ("c", 1.0, 1)]})
    try:
        rf.metric(gains_only=True, bounds=(None, None))(zeros)
        assert df.rank.evaluate("zeros").item(0, 1) == 1  # the first row stands for its query
        rf.metric(gains_only=lambda k=None: k is None, bounds=(None, None))(zeros)
        assert df.rank.evaluate("zeros@3").item(0, 1) == 2
        assert df.rank.evaluate("zeros").item(0, 1) == 1
    finally:
        rf.metric(bounds=(None, None))(zeros)
    assert df.rank.evaluate("zeros", "map").row(0) == ("q", 2, 1 / 3)


@each(
    "formula",
    [
        lambda r: r.total(r.label.sum()),
        lambda r: r.whole(r.relevant - r.relevant.mean()),
        lambda r: r.so_far(r.label.cum_sum()),
        lambda r: r.whole(r.label.rank()),
        lambda r: r.total(r.relevant) / pl.len(),
        lambda r: r.relevant.sum(),
        lambda r: r.label,
        lambda r: r.hits,
    ],
)
@each("lazy", [False, True])
def test_a_formula_that_would_mix_queries_is_refused(formula: Callable[..., pl.Expr], lazy: bool) -> None:
    def mixing(r: rf.Ranking) -> pl.Expr:
        return formula(r)

    df: Any = frame({"q": [("a", 3.0, 0), ("b", 2.0, 1)], "p": [("a", 3.0, 2)]})
    rf.metric()(mixing)
    try:
        with pytest.raises(rf.InvalidOption, match=r"r\.whole"):
            (df.lazy() if lazy else df).rank.evaluate("mixing")
    finally:
        rf.unregister(mixing)
