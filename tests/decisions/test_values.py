"""Values as metrics: a column, or an expression, with one value per query is asked for as a metric is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import ttest_rel

import rankframe as rf
from rankframe._catalog.requests import calls_of
from tests.support.each import each

FAITHFUL = rf.value("faithfulness", bounds=(0, 1))
LATENCY = rf.value("latency", higher_is_better=False)
QUESTIONS = 60


def answers_of(seed: int = 3, questions: int = QUESTIONS) -> pl.DataFrame:
    """The answers of two systems, of which b is more faithful, and slower."""
    rng = np.random.default_rng(seed)
    faithfulness = np.concatenate([rng.beta(4, 4, questions), rng.beta(6, 3, questions)])
    return pl.DataFrame(
        {
            "question": [*range(questions)] * 2,
            "system": ["a"] * questions + ["b"] * questions,
            "topic": [q % 2 for q in range(questions)] * 2,
            "faithfulness": faithfulness,
            "latency": np.concatenate([rng.gamma(2, 2, questions), rng.gamma(2, 3, questions)]),
        }
    )


ANSWERS = answers_of()
ASKED = ANSWERS.rank.on(query="question")

DOCS = pl.DataFrame(
    {
        "query_id": [1, 1, 2, 2, 3],
        "doc_id": list("ababa"),
        "score": [2.0, 1.0, 1.0, 2.0, 1.0],
        "label": [1, 0, 1, 0, 0],
        "cost": [0.5, 0.5, None, 2.0, None],
    }
)


def column(name: str) -> np.ndarray[Any, Any]:
    """The values of a column, a row per system."""
    return ANSWERS[name].to_numpy().reshape(2, -1)


# what it is


def test_a_table_of_values_needs_no_document_score_or_label() -> None:
    table = pl.DataFrame({"query_id": [2, 1, 3], "faithfulness": [1.0, 0.5, None]})
    assert table.rank.evaluate(FAITHFUL).rows() == [(2, 1.0), (1, 0.5), (3, None)]
    assert table.rank.mean(FAITHFUL).item() == 0.75
    assert table.rank.summarize(FAITHFUL, ci=None)["n_queries"].item() == 2


def test_whole_numbers_and_truth_values_are_numbers() -> None:
    table = pl.DataFrame({"query_id": [1, 2, 3, 4], "right": [True, False, True, None], "stars": [1, 5, 3, 3]})
    assert table.rank.mean(rf.value("right"), rf.value("stars", bounds=(1, 5))).row(0) == (2 / 3, 3.0)


NAMES = [
    "faithfulness",
    "a b",
    "a,b",
    "it's",
    'x"y',
    "(a)",
    "a(b=1)",
    "a@b",
    "value:x",
    " z",
    "'q'",
    "a\nb",
    "größe",
    "'",
    "a:'b,c'",
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"bounds": (0, 1)},
    {"bounds": (None, 0.5), "higher_is_better": False},
    {"higher_is_better": False},
]


@each("options", OPTIONS)
@each("name", NAMES)
def test_its_text_is_read_to_the_same_value(name: str, options: dict[str, Any]) -> None:
    value = rf.value(name, **options)
    assert rf.parse(value.text) == [value]
    assert rf.parse(f" {value.text} ") == [value]
    assert calls_of(f"rr,{value.text},ndcg@5,10") == calls_of("rr", value, "ndcg@5", "ndcg@10")
    (read,) = rf.parse(value.text)
    assert read.bounds == options.get("bounds", (None, None))
    assert read.higher_is_better == options.get("higher_is_better", True)


@each(
    ("text", "name"),
    [
        ("value:faithfulness", "faithfulness"),
        ("VALUE: answer relevancy ", "answer relevancy"),
        ("value:latency (s)", "latency (s)"),
        ("value:it's", "it's"),
        ("value:'", "'"),
    ],
)
def test_a_name_may_be_written_without_quotes(text: str, name: str) -> None:
    assert rf.parse(text) == [rf.value(name)]


def test_its_text_names_columns_of_results() -> None:
    assert str(FAITHFUL) == "value:faithfulness(bounds=[0,1])"
    assert str(LATENCY) == "value:latency(higher_is_better=False)"
    assert str(rf.value("latency (s)")) == "value:'latency (s)'"
    assert (FAITHFUL.display, LATENCY.display) == ("faithfulness", "latency")
    assert ASKED.mean(FAITHFUL, "value:latency", run="system").columns == ["system", str(FAITHFUL), "value:latency"]


def test_values_differ_by_column_bounds_and_direction() -> None:
    different = [rf.value("x"), rf.value("y"), rf.value("x", bounds=(0, 1)), rf.value("x", higher_is_better=False)]
    assert len({*different}) == 4
    assert rf.value(pl.col("x")) == rf.value("x") != rf.value(pl.col("x").max())


@each(
    ("make", "said"),
    [
        (lambda: rf.value("x", bounds=(1, 0)), r"bounds=\(1, 0\): write the least and the greatest value"),
        (lambda: rf.value("x", bounds=(1, 1)), r"bounds=\(1, 1\): write the least"),
        (lambda: rf.value("x", bounds=(0, 1, 2)), r"bounds=\(0, 1, 2\): write the least"),
        (lambda: rf.value("x", bounds=1), "bounds=1: write the least"),
        (lambda: rf.value("x", bounds=(0, math.inf)), r"bounds=\(0, inf\): write .* or None for no limit"),
        (lambda: rf.value("x", bounds=(-1e308, 1e308)), r"write .* whose difference is finite"),
        (lambda: rf.value(None), "of=None: write a Polars expression or a column's name"),
        (lambda: rf.value(pl.col("x", "y")), "may make several columns"),
        (lambda: rf.value("^x.*$"), "may make several columns"),
        (lambda: rf.parse("value:"), "'value:' names no column"),
        (lambda: rf.parse("value:x(bound=[0,1])"), r"no option 'bound'\. Did you mean 'bounds'\?"),
        (lambda: rf.parse("value:x", rf.AGREEMENTS), "unknown metric 'value:"),
    ],
)
def test_what_is_no_value_is_refused(make: Any, said: str) -> None:
    with pytest.raises((rf.InvalidOption, rf.UnknownMetric), match=said):
        make()


# one value per query


def test_a_query_has_one_row_in_a_table_of_values() -> None:
    twice = pl.DataFrame({"query_id": [1, 2, 2], "right": [1.0, 0.5, 0.5]})
    message = (
        r"query_id 2 has 2 rows for value:right; name the column that distinguishes them with the query or the run, or make one "
        r"value of them by an expression, as pl.col\('right'\).mean\(\)$"
    )
    with pytest.raises(rf.InvalidData, match=message):
        twice.rank.mean(rf.value("right"))
    assert twice.rank.mean(pl.col("right").mean()).item() == 0.75


def test_a_run_has_one_row_for_each_query() -> None:
    with pytest.raises(rf.InvalidData, match="question 0 has 2 rows for value:faithfulness"):
        ASKED.mean("value:faithfulness")
    again = pl.concat([ANSWERS, ANSWERS.head(1)])
    with pytest.raises(rf.InvalidData, match="system 'a', question 0 has 2 rows for value:faithfulness"):
        again.rank.on(query="question").compare("value:faithfulness", run="system")


def test_a_query_has_one_value_in_a_table_of_documents() -> None:
    found = DOCS.rank.evaluate("rr", rf.value("cost"), "precision@1")
    assert found.rows() == [(1, 1.0, 0.5, 1.0), (2, 0.5, 2.0, 0.0), (3, 0.0, None, 0.0)]
    assert DOCS.rank.evaluate(rf.value("cost"))["value:cost"].to_list() == [0.5, 2.0, None]
    assert DOCS.select("query_id", "doc_id", "cost").rank.mean(rf.value("cost")).item() == 1.25
    with pytest.raises(rf.InvalidData, match=r"query_id 1 has 2 values for value:label; .* pl.col\('label'\).mean\(\)"):
        DOCS.rank.evaluate("rr", rf.value("label"))


def test_a_value_is_the_same_whatever_else_is_asked_for() -> None:
    alone = DOCS.rank.evaluate(rf.value("cost"))
    assert_frame_equal(DOCS.rank.evaluate("ndcg", rf.value("cost"), "map").select(alone.columns), alone)
    with pytest.raises(rf.InvalidData, match="2 values"):
        DOCS.rank.evaluate(rf.value("label"))


def test_values_of_rows_that_judgments_added_are_null_and_do_not_count() -> None:
    run = DOCS.drop("label").with_columns(cost=pl.Series([0.5, 0.5, 2.0, 2.0, 1.0]))
    qrels = pl.DataFrame({"query_id": [1, 2, 3], "doc_id": ["z", "a", "a"], "label": 1})
    found = run.rank.judge(qrels).rank.evaluate("recall", rf.value("cost")).sort("query_id")
    assert found.rows() == [(1, 0.0, 0.5), (2, 1.0, 2.0), (3, 1.0, 1.0)]


@each(
    ("given", "bounds", "said"),
    [
        ([0.5, math.nan], None, "query_id 2 has nan for value:x; write null for a query without a value"),
        ([0.5, -math.inf], None, "query_id 2 has -inf for value:x"),
        ([0.5, 1.1], (0, 1), r"query_id 2 has 1.1 for value:x\(bounds=\[0,1\]\), which is beyond its bounds"),
        ([0.5, -0.1], (0, None), "query_id 2 has -0.1 for .* beyond its bounds"),
        (["yes", "no"], None, "column 'x' for a value holds String, not numbers"),
        ([[1.0], [2.0]], None, r"column 'x' for a value holds List\(Float64\), not numbers"),
    ],
)
def test_a_value_that_is_no_number_within_the_bounds_is_refused(given: Any, bounds: Any, said: str) -> None:
    table = pl.DataFrame({"query_id": [1, 2], "x": given})
    for frame in (table, table.lazy()):
        with pytest.raises(rf.InvalidData, match=said):
            frame.rank.mean(rf.value("x", bounds=bounds)).lazy().collect()


def test_rounding_does_not_take_a_value_beyond_its_bounds() -> None:
    table = pl.DataFrame({"query_id": [1] * 10, "x": [0.1] * 10})
    total = rf.value(pl.col("x").sum() + 2e-16, bounds=(0, 1))
    assert table.rank.mean(total).item() == pytest.approx(1, abs=1e-12)


def test_missing_columns_are_named() -> None:
    with pytest.raises(rf.MissingColumn, match=r"no column 'faith' for a value; .* Did you mean 'faithfulness'"):
        ASKED.mean(rf.value("faith"), run="system")
    with pytest.raises(rf.MissingColumn, match="no column 'query_id' for query"):
        ANSWERS.rank.mean(FAITHFUL)


# expressions


def test_an_expression_as_it_is_has_its_columns_name() -> None:
    found = ASKED.mean(pl.col("latency").max(), (pl.col("latency") * 1000).sum().alias("ms"), run="system")
    assert found.columns == ["system", "latency", "ms"]
    assert found["ms"].to_list() == pytest.approx((column("latency").mean(axis=1) * 1000).tolist())


def test_an_expression_may_make_one_value_of_several_rows() -> None:
    table = pl.DataFrame({"query_id": [1, 1, 2], "right": [1.0, 0.0, 1.0], "words": [10, 30, 20]})
    weighted = (pl.col("right") * pl.col("words")).sum() / pl.col("words").sum()
    assert table.rank.mean(rf.value(weighted.alias("by words"), bounds=(0, 1))).item() == (0.25 + 1) / 2
    with pytest.raises(rf.InvalidData, match=r"query_id 1 has 2 rows for half; .* by an expression$"):
        table.rank.mean((pl.col("right") / 2).alias("half"))


def test_an_expression_of_a_metric_has_its_bounds_and_its_direction() -> None:
    ranks = {"query_id": [q for q in range(5) for _ in "ab"], "doc_id": [*"ab"] * 5, "label": [1, 0] * 5}
    right, wrong = (pl.DataFrame({**ranks, "score": scores * 5}) for scores in ([2.0, 1.0], [1.0, 2.0]))
    two = pl.concat([wrong.with_columns(run=pl.lit("old")), right.with_columns(run=pl.lit("new"))])
    found = two.rank.compare(rf.expr.precision(k=1), run="run")
    assert_frame_equal(found.table, two.rank.compare("precision@1", run="run").table)
    assert found.table["interval"].item() == "bounded"  # of five values without bounds it would be Student's
    lower = rf.expr.average_relevance_position()  # of the relevant document, 2 and 1
    found = two.rank.compare(lower, run="run", interval="percentile")
    assert found.table.select("difference", "wins", "losses").row(0) == (-1.0, 5, 0)
    assert "better on 5 of 5 queries" in found.sentences()[0]


@each(
    ("request_", "error", "said"),
    [
        (pl.col("latency", "faithfulness").mean(), rf.InvalidOption, "may make several columns"),
        (pl.col("system").first().alias("x"), rf.InvalidData, "x is String, not a number; write an expression"),
        (pl.col("nothing").mean(), rf.MissingColumn, "no column 'nothing' for a value"),
        (cs.numeric().mean().alias("x"), rf.InvalidOption, "an expression makes"),
    ],
)
def test_expressions_that_make_no_number_are_refused(request_: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        ASKED.mean(request_, run="system")


def test_two_values_of_one_name_are_refused() -> None:
    for pair in (
        (pl.col("latency").max(), pl.col("latency").min()),
        (LATENCY.text, rf.value(pl.col("latency").min(), higher_is_better=False)),
    ):
        with pytest.raises(rf.InvalidOption, match=r"a second column .* give it another name by .alias"):
            ASKED.mean(*pair, run="system")


# every verb takes it


def test_a_value_has_the_figures_of_a_metric_with_the_same_values() -> None:
    """With one document per query, its label in [0, 1] is the value; precision@1 is the label of the only document."""
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, 80)
    table = pl.DataFrame(
        {"query_id": [*range(40)] * 2, "run": ["a"] * 40 + ["b"] * 40, "score": 1.0, "label": labels, "half": [i % 2 for i in range(40)] * 2}
    )  # fmt: skip
    value = rf.value("label", bounds=(0, 1))

    def same(found: pl.DataFrame, expected: pl.DataFrame) -> None:
        assert_frame_equal(found.drop("metric"), expected.drop("metric"))

    by = {"run": "run", "by": "half"}
    same(table.rank.summarize(value, **by), table.rank.summarize("precision@1", **by))
    same(table.rank.compare(value, **by).table, table.rank.compare("precision@1", **by).table)
    budgets = (table.rank.gate({x: 0.2}, run="run", baseline="a").table for x in (value, "precision@1"))
    same(*budgets)
    powers = (table.rank.power(x, run="run", difference=0.1) for x in (value, "precision@1"))
    same(*powers)
    one = table.filter(run="a")
    same(one.rank.compare_groups(value, by="half").table, one.rank.compare_groups("precision@1", by="half").table)


def test_a_comparison_tests_the_differences_of_the_values() -> None:
    found = ASKED.compare(FAITHFUL, LATENCY, run="system", test="t").table
    for i, name in enumerate(("faithfulness", "latency")):
        a, b = column(name)
        row = found.row(i, named=True)
        assert row["difference"] == pytest.approx((b - a).mean())
        assert row["p_value"] == pytest.approx(ttest_rel(b, a).pvalue)
        wins, losses = int((b > a).sum()), int((b < a).sum())
        assert (row["wins"], row["losses"]) == ((wins, losses) if name == "faithfulness" else (losses, wins))


def test_differences_that_are_equal_but_for_rounding_do_not_spread() -> None:
    """0.1 on each question, of which floats make 0.1, 0.09999999999999998 and 0.10000000000000003."""
    x = {"old": [0.1, 0.2, 0.3, 0.4], "new": [0.2, 0.3, 0.4, 0.5]}
    values = pl.DataFrame({"q": [*range(4)] * 2, "run": [r for r in x for _ in x[r]], "x": [*x["old"], *x["new"]]})
    of_values = values.rank.on(query="q")
    row = of_values.compare(rf.value("x"), run="run").table.row(0, named=True)
    assert [row[name] for name in ("effect_size", "ci_low", "interval")] == [None] * 3
    assert row["difference"] == pytest.approx(0.1)
    needed = of_values.power(rf.value("x"), run="run", difference=0.01).row(0, named=True)
    assert [needed[name] for name in ("std", "power", "queries_needed")] == [0.0, None, None]


def test_lower_values_win_if_they_are_better() -> None:
    table = pl.DataFrame(
        {"query_id": [*range(6)] * 2, "run": ["old"] * 6 + ["new"] * 6, "ms": [200.0] * 6 + [100.0] * 6}
    )
    found = table.rank.compare(rf.value("ms", higher_is_better=False), run="run", baseline="old")
    assert found.table.select("p_value", "wins", "losses").row(0) == (0.03125, 6, 0)  # 2 of 64 ways to flip signs
    assert found.sentences()[0].startswith("`new` beats `old` on ms (lower is better) by 100.000")
    assert (
        table.rank.compare(rf.value("ms"), run="run", baseline="old").sentences()[0].startswith("`new` loses to `old`")
    )


def test_values_and_metrics_are_compared_together_and_by_slice() -> None:
    runs = [
        {
            "run": run,
            "query_id": q,
            "doc_id": d,
            "score": s,
            "label": int(d == "a"),
            "cost": float(q % 3),
            "kind": q % 2,
        }
        for run, first in (("x", 2.0), ("y", 0.5))
        for q in range(12)
        for d, s in (("a", first), ("b", 1.0))
    ]
    found = pl.DataFrame(runs).rank.compare("rr", rf.value("cost"), run="run", by="kind", resamples=99).table
    assert found.select("kind", "metric", "baseline_mean", "mean").rows() == [
        (0, "rr", 1.0, 0.5),
        (1, "rr", 1.0, 0.5),
        (0, "value:cost", 1.0, 1.0),
        (1, "value:cost", 1.0, 1.0),
    ]


def test_a_convention_and_policies_of_rankings_leave_values_as_they_are() -> None:
    values = DOCS.rank.evaluate(rf.value("cost"))["value:cost"]
    for options in ({"convention": "trec_eval"}, {"unjudged": "bounds"}, {"no_relevant": "one"}, {"depth": 1}):
        found = DOCS.rank.on(**options).evaluate("rr", rf.value("cost"))
        assert found["value:cost"].to_list() == values.to_list(), options
    assert DOCS.rank.on(unjudged="bounds").evaluate("rr", rf.value("cost")).columns[1:] == [
        "rr least",
        "rr greatest",
        "value:cost",
    ]


def test_no_number_of_values_is_suspected_for_what_only_rankings_show() -> None:
    ranks = pl.DataFrame(
        {"query_id": [q for q in range(20) for _ in "abc"], "doc_id": [*"abc"] * 20, "rank": [1, 2, 3] * 20}
    )
    table = ranks.with_columns(label=4 - pl.col("rank"), cost=pl.col("query_id"))
    with pytest.warns(rf.RankframeWarning, match="ranks"):
        table.rank.on(score="rank").mean("ndcg")
    assert table.rank.on(score="rank").mean(rf.value("cost")).item() == 9.5  # and no warning, which would be an error


def test_a_gate_passes_by_the_bound_of_the_loss_within_the_bounds() -> None:
    table = pl.DataFrame({"query_id": [*range(14)] * 2, "run": ["a"] * 14 + ["b"] * 14, "right": 1.0})
    value = rf.value("right", bounds=(0, 1))
    verdict = table.rank.gate({value: 0.2}, run="run", baseline="a")
    assert verdict.table["queries_needed"].item() == 14  # ln 0.05 / ln 0.8, rounded up
    assert verdict
    assert not table.filter(pl.col("query_id") < 13).rank.gate({value.text: 0.2}, run="run", baseline="a")


def test_a_gate_of_values_without_bounds_needs_another_interval() -> None:
    with pytest.raises(
        rf.InvalidOption, match=r"value:latency.* has no bounds, within which interval='bounded' is valid"
    ):
        ASKED.gate({LATENCY: 0.5}, run="system", baseline="a")
    with pytest.raises(rf.InvalidOption, match="has no bounds"):
        ASKED.gate({rf.value("latency", bounds=(0, None)): 0.5}, run="system", baseline="a")
    verdict = ASKED.gate({LATENCY: 9.0}, run="system", baseline="a", interval="bca")
    assert verdict
    assert not ASKED.gate({LATENCY: 0.1}, run="system", baseline="a", interval="t")  # b is slower


def test_a_gate_shows_the_queries_that_moved_most_also_beside_documents() -> None:
    worse = ANSWERS.with_columns(doc_id=pl.lit("d"), score=1.0)
    moved = worse.rank.on(query="question").gate({FAITHFUL: 0.2}, run="system", baseline="a", most_moved=2).moved
    a, b = column("faithfulness")
    largest = np.argsort(-np.abs(b - a))[:2]
    assert moved["question"].to_list() == largest.tolist()
    assert moved["difference"].to_list() == pytest.approx((b - a)[largest].tolist())


def test_a_missing_query_counts_0_only_where_0_is_the_worst() -> None:
    lacking = ANSWERS.filter(~((pl.col("question") == 7) & (pl.col("system") == "b"))).rank.on(query="question")
    options: dict[str, Any] = {"run": "system", "missing": "zero", "resamples": 99}
    a, b = column("faithfulness")
    b = np.where(np.arange(QUESTIONS) == 7, 0, b)
    assert lacking.compare(FAITHFUL, **options).table["difference"].item() == pytest.approx((b - a).mean())
    for value in (
        rf.value("faithfulness"),
        rf.value("faithfulness", bounds=(None, 1)),
        LATENCY,
        rf.value("latency", bounds=(-1, 99)),
    ):
        with pytest.raises(rf.InvalidOption, match="of a query that a run lacks is not 0"):
            lacking.compare(value, **options)
    assert lacking.compare(LATENCY, run="system", missing="drop").table["n_queries"].item() == QUESTIONS - 1


def test_nulls_leave_a_query_out() -> None:
    table = ANSWERS.with_columns(pl.when(pl.col("question") > 4).then("faithfulness"))
    a, b = column("faithfulness")
    found = table.rank.on(query="question").compare(FAITHFUL, run="system", resamples=99).table
    assert found["n_queries"].item() == QUESTIONS - 5
    assert found["difference"].item() == pytest.approx((b - a)[5:].mean())


@each(
    "ask",
    [
        lambda x: x.compare(FAITHFUL, runs=["latency", "faithfulness"]),
        lambda x: x.summarize(FAITHFUL, runs=["latency", "faithfulness"]),
        lambda x: x.mean(pl.col("latency").mean(), runs=["latency", "faithfulness"]),
        lambda x: x.gate({FAITHFUL: 0.1}, runs=["latency", "faithfulness"]),
        lambda x: x.power(FAITHFUL, runs=["latency", "faithfulness"], difference=0.1),
        lambda x: x.plot.distribution(FAITHFUL, runs=["latency", "faithfulness"]),
    ],
)
def test_columns_of_scores_are_no_runs_of_a_value(ask: Any) -> None:
    with pytest.raises(rf.InvalidOption, match=r"is the same for all runs that are columns of scores; .* run='system'"):
        ask(ASKED)


def test_a_table_for_each_run_gives_a_comparison() -> None:
    a, b = (ANSWERS.filter(system=system) for system in "ab")
    found = a.rank.on(query="question").compare(FAITHFUL, runs={"old": a, "new": b}, resamples=99).table
    assert found["difference"].item() == pytest.approx(float(np.diff(column("faithfulness").mean(axis=1))[0]))


@each(
    "ask",
    [
        lambda x: x.curve("value:cost"),
        lambda x: x.explain("value:cost"),
        lambda x: x.plot.curve("value:cost"),
        lambda x: x.fusion.oracle(rf.value("cost"), runs=["score", "label"]),
        lambda x: x.tune("wsum", metric=rf.value("cost"), runs=["score", "label"]),
        lambda x: x.conventions("value:cost").table,
        lambda x: x.items.catalog(rf.value("cost")),
        lambda x: x.agreement("label", rf.value("cost")),
        lambda _: rf.sql("value:cost", dialect="duckdb", table="t"),
        lambda _: rf.lightgbm_metric("value:cost"),
    ],
)
def test_verbs_of_rankings_refuse_values(ask: Any) -> None:
    with pytest.raises(rf.RankframeError, match=r"value:cost (does not depend on a ranking|is one value per query)"):
        ask(DOCS.rank)


# every front


def test_values_are_the_same_in_every_front() -> None:
    expected = ASKED.mean(FAITHFUL, LATENCY, pl.col("latency").max(), run="system", by="topic")
    lazy = (
        ANSWERS.lazy()
        .rank.on(query="question")
        .mean(FAITHFUL, LATENCY, pl.col("latency").max(), run="system", by="topic")
    )
    assert_frame_equal(lazy.collect(), expected, check_row_order=False)
    pandas = ANSWERS.to_pandas().rank.on(query="question")
    found = pandas.mean(FAITHFUL, LATENCY, pl.col("latency").max(), run="system", by="topic")
    assert found.columns.tolist() == expected.columns
    assert_frame_equal(pl.from_pandas(found), expected, check_dtypes=False)
    per_query = pandas.on(query=["system", "question"]).evaluate(FAITHFUL)
    assert per_query.loc[("b", 5), str(FAITHFUL)] == column("faithfulness")[1, 5]
    rows = ANSWERS.lazy().rank.on(query=["system", "question"]).with_metrics(LATENCY).collect()
    assert rows[str(LATENCY)].to_list() == ANSWERS["latency"].to_list()


def test_a_large_table_has_the_values_of_its_queries_in_parts_and_buckets() -> None:
    n, rows = 50_000, pl.int_range(200_000, eager=True)
    table = pl.DataFrame({"query_id": rows % n, "doc_id": rows, "score": rows % 13, "label": rows // n % 2})
    table = table.with_columns(cost=pl.col("query_id") % 7).sample(fraction=1, shuffle=True, seed=1)
    expected = (np.arange(50_000) % 7).mean()
    assert table.rank.mean("recall", rf.value("cost")).row(0) == pytest.approx((1, expected))
    spilled = table.lazy().rank.on(memory_limit="8MB").mean("recall", rf.value("cost")).collect()
    assert spilled.row(0) == pytest.approx((1, expected))


def test_an_empty_table_has_no_value() -> None:
    assert ASKED.mean(FAITHFUL, run="system").clear().columns == ["system", str(FAITHFUL)]
    empty = ANSWERS.clear().rank.on(query=["system", "question"])
    assert empty.evaluate(FAITHFUL, pl.col("latency").max()).shape == (0, 4)
    assert empty.mean(FAITHFUL).item() is None


def test_plots_and_reports_show_values(tmp_path: Any) -> None:
    chart = ASKED.plot.distribution(LATENCY, run="system")
    assert chart.title.text == "Distribution of latency over the queries"
    assert ASKED.plot.differences("value:faithfulness", run="system").to_dict()
    assert ASKED.plot.slices(FAITHFUL, by="topic", run="system").to_dict()
    assert ASKED.plot.over(pl.col("latency").mean(), by="topic", run="system").to_dict()
    verdict = ASKED.gate({FAITHFUL: 0.2}, run="system", baseline="a", resamples=99)
    path = tmp_path / "report.html"
    page = ASKED.report(path, FAITHFUL, LATENCY, run="system", by="topic", show="latency", gate=verdict, resamples=99)
    text = page.read_text("utf-8")
    assert "120 rows, 60 queries" in text
    assert "no rankings to check" in text
    worst = ANSWERS.filter(system="b").sort("faithfulness")["latency"][0]
    assert f'data-number="{worst}"' in text


def test_tables_for_people_name_a_value_by_its_column(tmp_path: Any) -> None:
    found = ASKED.compare(FAITHFUL, run="system", resamples=99)
    assert found.table["metric"].to_list() == [str(FAITHFUL)]
    for text in (str(found), found._repr_html_(), str(ASKED.gate({FAITHFUL: 0.2}, run="system", baseline="a"))):
        assert "faithfulness" in text
        assert "value:" not in text
    page = ASKED.report(tmp_path / "report.html", FAITHFUL, run="system", resamples=99).read_text("utf-8")
    shown = page[: page.index('<section id="settings">')]
    assert "value:" not in shown
    assert "The queries with the least faithfulness." in shown
    assert shown.count("<details") == 0  # there is nothing to unfold: a query is a row, and no column was asked for


def test_a_report_of_rankings_may_begin_with_a_value(tmp_path: Any) -> None:
    page = DOCS.rank.report(tmp_path / "report.html", rf.value("cost"), "rr", resamples=99).read_text("utf-8")
    assert "5 rows, 3 queries, 5 judgments" in page
