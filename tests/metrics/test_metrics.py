"""Every metric, option and policy against the oracles and against other people's code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.metrics.oracles import ORACLES
from tests.metrics.oracles.query import Row
from tests.support.calls import (
    ALL,
    CALLS,
    CANONICAL,
    POLICIES,
    SOME,
    Options,
    assert_equal,
    expected,
    is_beyond,
    needs_table,
    share,
    spell,
    values,
)
from tests.support.each import each
from tests.support.tables import BY_CHANCE, DOCS, FRACTIONAL_LABELS, INTEGER_LABELS, Table, frame, random_table
from tests.support.trec_eval_and_scipy import Value, scikit_learn, trec_eval
from tests.support.untraced import untraced

pytestmark = BY_CHANCE

NAMES = [
    metric.formula.__name__
    for metric in rf.METRICS.values()
    if metric.over == "documents" and metric.dtype == pl.Float64 and not metric.needs
]


def test_every_metric_has_an_oracle_and_calls() -> None:
    assert set(NAMES) == set(ORACLES) == set(CALLS)


@each("name", NAMES)
def test_every_option_is_called_with_more_than_its_default(name: str) -> None:
    parameters = rf.METRICS[CANONICAL[name]].parameters
    assert {option for call in CALLS[name] for option in call} == set(parameters)
    for option, parameter in parameters.items():
        assert len({str(call.get(option, parameter.default)) for call in CALLS[name]}) > 1


def with_the_best_first(rows: list[Row]) -> list[Row]:
    """The rows, of which the one with the highest score has the greatest label."""
    best = max((row for row in rows if row[1] is not None), key=lambda row: row[1], default=None)
    return [(*row[:2], 4) if row is best else row for row in rows]


def without_the_last(rows: list[Row]) -> list[Row]:
    """The rows, of which the retrieved one with the lowest score is not relevant."""
    last = min((row for row in rows if row[1] is not None), key=lambda row: row[1], default=None)
    return [(*row[:2], 0) if row is last else row for row in rows]


@each("name", NAMES)
def test_the_declared_bounds_and_direction_are_those_of_the_oracles_values(name: str) -> None:
    table = random_table(1, queries=30, labels=FRACTIONAL_LABELS)
    unmoved = name in ("false_negatives", "last_rank")  # by another relevant document at the top
    better = without_the_last if unmoved else with_the_best_first
    improved = {query: better(rows) for query, rows in table.items()}
    metric, found, gained = rf.METRICS[CANONICAL[name]], [], 0.0
    for options in CALLS[name]:
        if not is_beyond(name, options):
            before, after = (expected(rows, name, options, {}) for rows in (table, improved))
            pairs = [pair for pair in zip(before.values(), after.values(), strict=True) if None not in pair]
            gained += sum(b - a for a, b in pairs)
            found += [x for pair in pairs for x in pair]
    assert metric.higher_is_better == (gained >= 0)
    low, high = metric.bounds
    low = 0 if metric.summary == "geometric mean" else low  # the oracles have no floor
    assert min(found) < 0 if low is None else min(found) >= low
    assert (
        max(found) > 1 if high is None and name != "g" else max(found) <= 1 + 1e-12
    )  # G has a bound, and declares none


@each("labels", [FRACTIONAL_LABELS, INTEGER_LABELS], ids=["fractions", "integers"], sample=26)
@each("turn", range(10))
@each("policies", POLICIES, ids=str)
def test_values_are_the_oracles(policies: Options, turn: int, labels: list[float | None]) -> None:
    table = random_table(POLICIES.index(policies), labels=labels, queries=12)
    calls = share(ALL, turn, 10)
    found = frame(table, seed=None).rank.on(**policies).evaluate(*(spell(*call) for call in calls))
    for name, options in calls:
        assert_equal(
            values(found, spell(name, options)),
            expected(table, name, options, policies),
            spell(name, options),
        )


@each("turn", range(12), sample=3)
@each("policies", POLICIES, ids=str)
def test_expressions_have_the_oracles_values(policies: Options, turn: int) -> None:
    table = random_table(100 + POLICIES.index(policies), labels=FRACTIONAL_LABELS, queries=15)
    # every metric and every policy, not their product, which holds of frames: both make the same columns
    calls = [call for call in share(SOME, turn, 12) if not needs_table(*call)]
    expressions = [getattr(rf.expr.on(**policies), name)(**options) for name, options in calls]
    found = frame(table, seed=None).group_by("query_id").agg(expressions)
    for name, options in calls:
        text = spell(name, options)
        assert_equal(values(found, text), expected(table, name, options, policies), text)


@each("turn", range(2), sample=27)
@each("policies", POLICIES[::8], ids=str)
@each("name", NAMES)
def test_the_method_returns_one_column_of_the_oracles_values(name: str, policies: Options, turn: int) -> None:
    table = random_table(7, queries=12, labels=FRACTIONAL_LABELS)
    ranker = frame(table, seed=None).rank.on(**policies)
    for options in share(CALLS[name], turn, 2) or CALLS[name]:
        found = getattr(ranker.metrics, name)(**options)
        assert found.columns == ["query_id", spell(name, options)]
        assert_equal(
            values(found, spell(name, options)),
            expected(table, name, options, policies),
            spell(name, options),
        )


@untraced
def by_call(found: Iterable[Value]) -> dict[str, dict[Any, float]]:
    columns: dict[str, dict[Any, float]] = defaultdict(dict)
    for query, name, options, value in found:
        options = {key: value for key, value in options.items() if value not in (None, "linear")}
        columns[spell(name, options)][query] = 0.0 if value != value else value  # nan: 0/0 of an empty ranking
    return columns


def assert_foreign(table: Table, foreign: dict[str, dict[Any, float]], **policies: Any) -> None:
    found = frame(table).rank.on(**policies).evaluate(*foreign)
    for text, wanted in foreign.items():
        of_query = values(found, text)
        assert_equal({query: of_query[query] for query in wanted}, wanted, text)


@each("relevant", [1, 2, 3], sample=4)
@each("unjudged", ["nonrelevant", "drop"])
@each("seed", [101, 102])
def test_values_are_trec_evals(relevant: int, unjudged: str, seed: int) -> None:
    table = random_table(seed, queries=100)
    foreign = by_call(trec_eval(table, relevant=relevant, judged_only=unjudged == "drop"))
    assert len(foreign) == 50
    assert_foreign(table, foreign, relevant=relevant, unjudged=unjudged)


@each("ties", [True, False])
def test_values_are_scikit_learns(ties: bool) -> None:
    labels = [label for label in FRACTIONAL_LABELS if label is not None and label >= 0]
    table = random_table(103, queries=40, labels=labels, ties=ties)
    foreign = by_call(scikit_learn(table))
    assert len(foreign) == 33
    assert_foreign(table, foreign)


# Documents of every type ------------------------------------------------------------------------------------

INTEGERS = [-100, -9, -1, 0, 1, 2, 9, 10, 11, 100, 101, 127]


def enum_against_the_alphabet(docs: pl.Series) -> pl.Series:
    order = sorted(docs.unique().to_list(), key=lambda doc: (doc[::-1], doc))
    return docs.cast(pl.Enum(order))


def categorical_against_the_alphabet(docs: pl.Series) -> pl.Series:
    seen_before = pl.Series(sorted(docs.unique().to_list(), reverse=True), dtype=pl.String)
    return pl.concat([seen_before, docs]).cast(pl.Categorical)[len(seen_before) :]


DOC_TYPES: dict[str, tuple[list[Any], Callable[[pl.Series], pl.Series]]] = {
    "String": (DOCS, lambda docs: docs),
    "Categorical": (DOCS, categorical_against_the_alphabet),
    "Enum": (DOCS, enum_against_the_alphabet),
    **{
        str(dtype): (INTEGERS, lambda docs, dtype=dtype: docs.cast(dtype))  # type: ignore[misc]
        for dtype in (pl.Int8, pl.Int16, pl.Int32, pl.Int64)
    },
    **{
        str(dtype): (
            [abs(i) for i in INTEGERS if i not in (-1, -9, -100)],
            lambda docs, dtype=dtype: docs.cast(dtype),
        )  # type: ignore[misc]
        for dtype in (pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
    },
    "large UInt64": ([2**63 + i for i in range(12)], lambda docs: docs),
    "small Int64": ([-(2**63) + i for i in range(12)], lambda docs: docs),
}


@each("ties", ["doc_desc", "doc_asc", "trec_eval", "best", "worst", "order"], sample=13)
@each("dtype", list(DOC_TYPES))
def test_ties_are_broken_by_documents_of_any_type(dtype: str, ties: str) -> None:
    docs, cast = DOC_TYPES[dtype]
    table = random_table(11, queries=8, docs=list(range(len(docs))))
    table = {query: [(docs[doc], score, label) for doc, score, label in rows] for query, rows in table.items()}
    df = frame(table, seed=None)
    df = df.with_columns(cast(df["doc_id"]))
    calls = [
        ("ndcg", {}),
        ("average_precision", {}),
        ("reciprocal_rank", {}),
        ("bpref", {}),
        ("precision", {"k": 3}),
        ("auc", {}),
    ]
    texts = [spell(*call) for call in calls]
    expressions = [getattr(rf.expr.on(ties=ties), name)(**options) for name, options in calls]
    for found in (
        df.rank.on(ties=ties).evaluate(*texts),
        df.lazy().rank.on(ties=ties).evaluate(*texts).collect(),
        df.group_by("query_id").agg(expressions),
    ):
        for name, options in calls:
            assert_equal(values(found, spell(name, options)), expected(table, name, options, {"ties": ties}), name)
    ranked = df.rank.on(ties=ties).with_ranks()
    assert ranked.schema["doc_id"] == df.schema["doc_id"]


QUERY_TYPES: dict[str, list[Any]] = {
    "String": ["b", "a", "", "é"],
    "Categorical": ["b", "a", "", "é"],
    "Int64": [3, -1, 0, 2**60],
    "UInt64": [3, 2**64 - 1, 0, 1],
    "null": ["b", None, "", "é"],
    "null integers": [3, None, 0, -1],
    "Boolean": [True, False, None],
    "Float64": [0.5, -1.0, 2.0],
    "Date": [None],
}


@each("dtype", QUERY_TYPES)
def test_queries_may_be_of_any_type_and_null_is_a_query_of_its_own(dtype: str) -> None:
    queries = QUERY_TYPES[dtype]
    table = dict(zip(queries, random_table(12).values(), strict=False))
    rows = [(query, *row) for query, rows in table.items() for row in rows]
    schema = ["query_id", ("doc_id", pl.String), ("score", pl.Float64), ("label", pl.Float64)]
    df = pl.DataFrame(rows, schema=schema, orient="row")
    dtypes = {"Categorical": pl.Categorical(), "UInt64": pl.UInt64(), "Date": pl.Date()}
    df = df.with_columns(pl.col("query_id").cast(dtypes.get(dtype, df.schema["query_id"])))
    found = df.rank.evaluate("ndcg", "map")
    assert found["query_id"].to_list() == queries
    assert found.schema["query_id"] == df.schema["query_id"]
    for name in ("ndcg", "average_precision"):
        assert_equal(values(found, spell(name, {})), expected(table, name, {}, {}), name)
    assert_frame_equal(df.lazy().rank.evaluate("ndcg", "map").collect(), found, check_row_order=False)
    with_metrics = df.rank.with_metrics("ndcg", "map")
    assert_frame_equal(with_metrics.select(found.columns).unique(maintain_order=True), found)
    assert_frame_equal(df.lazy().rank.with_metrics("ndcg", "map").collect(), with_metrics, check_row_order=False)
    mixed = df.rank.evaluate("ndcg", pl.len().alias("rows"), "map")
    assert mixed.columns == ["query_id", "ndcg", "rows", "map"]
    assert mixed["rows"].to_list() == [len(rows) for rows in table.values()]


def test_several_query_columns_make_one_query() -> None:
    table = random_table(13, queries=40)
    keys = {query: (None if i % 5 == 4 else f"run{i % 5}", i // 5) for i, query in enumerate(table)}
    parts = pl.DataFrame(
        [(query, *key) for query, key in keys.items()], schema=["query_id", "run", "topic"], orient="row"
    )
    df = frame(table).join(parts, on="query_id").drop("query_id")
    found = df.rank.on(query=["run", "topic"]).evaluate("ndcg", "map", "err")
    assert found.columns == ["run", "topic", "ndcg", "map", "err"]
    assert len(found) == len(table)
    for name in ("ndcg", "average_precision", "err"):
        of_key = {
            (run, topic): value for run, topic, value in found.select("run", "topic", spell(name, {})).iter_rows()
        }
        wanted = {keys[query]: value for query, value in expected(table, name, {}, {}).items()}
        assert_equal(of_key, wanted, name)


NUMBERS = [pl.Int8, pl.Int64, pl.UInt8, pl.UInt64, pl.Float32, pl.Float64]


@each("score", NUMBERS, ids=str, sample=6)
@each("label", NUMBERS, ids=str)
def test_scores_and_labels_may_be_of_any_numeric_type(score: Any, label: Any) -> None:
    labels = [x for x in INTEGER_LABELS if x is None or x >= 0] if not label.is_signed_integer() else INTEGER_LABELS
    table = {
        q: [(doc, s and abs(s), x) for doc, s, x in rows]
        for q, rows in random_table(14, queries=30, labels=labels).items()
    }
    df = frame(table).cast({"score": score, "label": label})
    calls = [(name, CALLS[name][-1]) for name in NAMES]
    found = df.rank.evaluate(*(spell(*call) for call in calls))
    for name, options in calls:
        assert_equal(values(found, spell(name, options)), expected(table, name, options, {}), spell(name, options))


@each("ties", ["doc_desc", "doc_asc", "order", "best"], sample=6)
@each(
    ("dtype", "scores"),
    [
        (pl.Int8, [-128, -127, 127, 126, 0, None]),
        (pl.Int64, [-(2**63), 1 - 2**63, 2**63 - 1, 2**53, 2**53 + 1, None]),
        (pl.UInt64, [0, 1, 2**64 - 1, 2**53, 2**53 + 1, None]),
    ],
    ids=str,
)
def test_whole_scores_are_compared_as_they_are(dtype: Any, scores: list[int | None], ties: str) -> None:
    """Neither rounded to floats, nor negated over their type's limit."""
    table: Table = {"q": list(zip("fedcba", scores, [1, 0, 2, None, 1, 1], strict=True))}
    df = pl.DataFrame({"query_id": "q", "doc_id": list("fedcba"), "label": [1, 0, 2, None, 1, 1]})
    df = df.with_columns(pl.Series("score", scores, dtype=dtype))
    calls = [("ndcg", {}), ("average_precision", {}), ("auc", {})]
    texts = [spell(*call) for call in calls]
    ranker = rf.expr.on(ties=ties)
    for found in (
        df.rank.on(ties=ties).evaluate(*texts),
        df.lazy().rank.on(ties=ties).evaluate(*texts).collect(),
        df.group_by("query_id").agg(ranker.ndcg(), ranker.average_precision(), ranker.auc()),
    ):
        for name, options in calls:
            assert_equal(values(found, spell(name, options)), expected(table, name, options, {"ties": ties}), name)


def test_labels_may_be_boolean() -> None:
    table = random_table(15, queries=30, labels=[None, 0, 1])
    found = frame(table).cast({"label": pl.Boolean}).rank.evaluate(*(spell(name, CALLS[name][0]) for name in NAMES))
    for name in NAMES:
        options = CALLS[name][0]
        assert_equal(values(found, spell(name, options)), expected(table, name, options, {}), spell(name, options))


@each("turn", range(9), sample=3)
@each("ties", ["doc_desc", "order", "best"])
def test_long_rankings_are_ranked_as_short_ones(ties: str, turn: int) -> None:
    """Sorts are stable by chance while they are short."""
    calls = share(SOME, turn, 9)
    table = random_table(28, queries=3, labels=FRACTIONAL_LABELS, docs=range(300), sizes=[250, 300])
    df = frame(table, seed=None)
    texts = [spell(*call) for call in calls]
    eager = df.rank.on(ties=ties).evaluate(*texts)
    lazy = df.lazy().rank.on(ties=ties).evaluate(*texts).collect()
    for name, options in calls:
        wanted = expected(table, name, options, {"ties": ties})
        for found in (eager, lazy):
            assert_equal(values(found, spell(name, options)), wanted, spell(name, options))
    found = df.group_by("query_id").agg(rf.expr.on(ties=ties).average_precision())
    assert_equal(values(found, "map"), expected(table, "average_precision", {}, {"ties": ties}), "map")


@each("p", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.filterwarnings("ignore:every row has a score:rankframe.RankframeWarning")
def test_rbp_stays_within_1_however_many_documents_are_relevant(p: float) -> None:
    df = pl.DataFrame({"query_id": 1, "doc_id": range(300), "score": range(300), "label": 1})
    assert 1 - 1e-6 < df.rank.rbp(p=p).item(0, 1) <= 1
    assert df.select(rf.expr.rbp(p=p)).item() <= 1
    assert df.rank.curve(f"rbp(p={p})").to_series(3).max() <= 1  # type: ignore[operator]


@each("turn", range(3), sample=1)
def test_infinite_scores_and_both_zeros_rank_like_any_other(turn: int) -> None:
    calls = share(ALL, turn, 3)
    inf = float("inf")
    rows = [
        ("a", -inf, 1),
        ("b", 0.0, 2),
        ("c", -0.0, 0),
        ("d", inf, 0),
        ("e", inf, 1),
        ("f", None, 1),
        ("g", -inf, None),
    ]
    found = frame({"q": rows}).rank.evaluate(*(spell(*call) for call in calls))
    for name, options in calls:
        assert_equal(
            values(found, spell(name, options)),
            expected({"q": rows}, name, options, {}),
            spell(name, options),
        )


# Tables of a special shape ----------------------------------------------------------------------------------

SHAPES: dict[str, Table] = {
    "one document": {
        "a": [("d", 1.0, 1)],
        "b": [("d", 1.0, 0)],
        "c": [("d", 1.0, None)],
        "d": [("d", 1.0, -1)],
    },
    "nothing retrieved": {
        "a": [("d", None, 1), ("e", None, 0)],
        "b": [("d", None, 0)],
        "c": [("d", None, None)],
    },
    "all labels zero": {
        q: [(doc, score, 0) for doc, score, _ in rows] for q, rows in random_table(16, queries=15).items()
    },
    "all labels null": {
        q: [(doc, score, None) for doc, score, _ in rows] for q, rows in random_table(17, queries=15).items()
    },
    "all labels negative": {
        q: [(doc, score, -1) for doc, score, _ in rows] for q, rows in random_table(18, queries=15).items()
    },
    "all relevant": {
        q: [(doc, score, 2) for doc, score, _ in rows] for q, rows in random_table(19, queries=15).items()
    },
    "all scores equal": {
        q: [(doc, 1.0, label) for doc, _, label in rows] for q, rows in random_table(20, queries=15).items()
    },
    "one query": {"q": random_table(21)["q0"]},
}


@each("turn", range(8), sample=10)
@each("policies", [{}, {"relevant": 0}, {"no_relevant": "null"}, {"unjudged": "drop", "no_relevant": "one"}], ids=str)
@each("shape", SHAPES)
def test_shape(shape: str, policies: Options, turn: int) -> None:
    table, calls = SHAPES[shape], share(ALL, turn, 8)
    found = frame(table, seed=None).rank.on(**policies).evaluate(*(spell(*call) for call in calls))
    assert found["query_id"].to_list() == list(table)
    for name, options in calls:
        assert_equal(
            values(found, spell(name, options)),
            expected(table, name, options, policies),
            spell(name, options),
        )


@each("lazy", [False, True])
def test_an_empty_table_gives_an_empty_result_with_every_column(lazy: bool) -> None:
    df = frame({})
    every_text = [spell(*call) for call in SOME]
    found = (df.lazy() if lazy else df).rank.evaluate(*every_text).lazy().collect()
    assert found.schema == {"query_id": pl.String, **dict.fromkeys(every_text, pl.Float64)}
    assert len(found) == 0


@each("ties", ["doc_asc", "order", "best", "worst"])
def test_scores_that_are_all_null_rank_nothing_whatever_the_ties(ties: Any) -> None:
    df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [None, None], "label": [1, 0]})
    for table in (df, df.clear()) if ties == "doc_asc" else (df.drop("doc_id"), df.drop("doc_id").clear()):
        for given in (table, table.lazy()):
            found = given.rank.on(ties=ties).recall().lazy().collect()
            assert found["recall"].to_list() == [0.0] * found.height == [0.0] * table.n_unique("query_id")


@each("turn", range(3), sample=1)
def test_without_a_document_column_ties_keep_the_rows_order(turn: int) -> None:
    calls = share(ALL, turn, 3)
    table = random_table(22, queries=20)
    found = frame(table, seed=None).drop("doc_id").rank.evaluate(*(spell(*call) for call in calls))
    for name, options in calls:
        wanted = expected(table, name, options, {"ties": "order"})
        assert_equal(values(found, spell(name, options)), wanted, spell(name, options))


@each("ties", ["best", "worst"])
def test_without_a_document_column_best_and_worst_go_by_label(ties: str) -> None:
    table = random_table(23)
    found = frame(table, seed=None).drop("doc_id").rank.on(ties=ties).evaluate("ndcg", "map", "bpref", "rr")
    for name in ("ndcg", "average_precision", "bpref", "reciprocal_rank"):
        assert_equal(values(found, spell(name, {})), expected(table, name, {}, {"ties": ties}), name)


def test_ties_error_names_the_ties_and_lets_tables_without_any_through() -> None:
    table = random_table(24, ties=False)
    found = frame(table).rank.on(ties="error").evaluate("ndcg")
    assert_equal(values(found, "ndcg"), expected(table, "ndcg", {}, {}), "ndcg")
    tied = frame({"q": [("a", 1.0, 1), ("b", 1.0, 0), ("c", None, 1), ("d", None, 0)]})
    with pytest.raises(rf.RankframeError):
        tied.rank.on(ties="error").evaluate("ndcg")
    alone = frame({"q": [("a", 1.0, 1), ("c", None, 1), ("d", None, 0)], "p": [("a", 1.0, 1)]})
    assert alone.rank.on(ties="error").evaluate("ndcg").shape == (2, 2)


def required(name: str) -> Options:
    """The cutoff where a metric must be given one."""
    k = rf.METRICS[CANONICAL[name]].parameters.get("k")
    return {} if k is None or k.default is None else {"k": 3}


@each("name", [name for name in NAMES if "max_label" in rf.METRICS[CANONICAL[name]].parameters])
def test_a_label_above_max_label_is_an_error(name: str) -> None:
    df = frame({"q": [("a", 1.0, 3), ("b", 2.0, 0)]})
    needed = required(name)
    assert getattr(df.rank.metrics, name)(**needed, max_label=3).shape == (1, 2)
    with pytest.raises(rf.RankframeError, match="a label is above"):
        getattr(df.rank.metrics, name)(**needed, max_label=2)


@each("name", [name for name in NAMES if "gain" in rf.METRICS[CANONICAL[name]].parameters])
def test_a_positive_label_without_a_gain_is_an_error_and_others_are_worth_nothing(name: str) -> None:
    df = frame({"q": [("a", 1.0, 2), ("b", 2.0, 0), ("c", 2.0, None), ("d", 2.0, -1)]})
    needed = required(name)
    assert getattr(df.rank.metrics, name)(**needed, gain={2: 1}).shape == (1, 2)
    with pytest.raises(rf.RankframeError, match="a label has no gain"):
        getattr(df.rank.metrics, name)(**needed, gain={1: 1})


# Two tables ----------------------------------------------------------------------------------------------------


@each("lazy", [False, True])
@each("judged_only", ["keep", "drop"])
@each("run_only", ["keep", "drop"])
def test_a_run_and_its_judgments_make_one_table(run_only: Any, judged_only: Any, lazy: bool) -> None:
    table = random_table(27, queries=60, labels=INTEGER_LABELS)
    run = {query: [row[:2] for row in rows if row[1] is not None] for query, rows in table.items()}
    qrels = {query: [row[::2] for row in rows if row[2] is not None] for query, rows in table.items()}
    frames = [
        frame(run, columns=("doc_id", "score"), seed=1),
        frame(qrels, columns=("doc_id", "label"), seed=2).with_columns(pl.col("label").cast(pl.Int64)),
    ]
    first, second = (df.lazy() if lazy else df for df in frames)
    judged = first.rank.judge(second, judged_only=judged_only, run_only=run_only)
    found = judged.rank.evaluate("map", "ndcg", "bpref", "precision").lazy().collect()
    wanted = {
        query: rows
        for query, rows in table.items()
        if (run[query] or judged_only == "keep")
        and (qrels[query] or run_only == "keep")
        and (run[query] or qrels[query])
    }
    kept = [query for query in wanted if not qrels[query]]
    wanted |= {query: [(*row[:2], -1) for row in wanted[query]] for query in kept}
    assert wanted
    assert bool(kept) == (run_only == "keep")
    for name in ("average_precision", "ndcg", "bpref", "precision"):
        assert_equal(values(found, spell(name, {})), expected(wanted, name, {}, {}), name)


@each("lazy", [False, True])
def test_queries_of_one_table_only_may_be_refused(lazy: bool) -> None:
    run = frame({"both": [("a", 1.0)], "run": [("a", 1.0)]}, columns=("doc_id", "score"))
    qrels = frame({"both": [("a", 1.0)], "qrels": [("a", 1.0)]}, columns=("doc_id", "label"))
    for option in ("judged_only", "run_only"):
        with pytest.raises((rf.InvalidData, pl.exceptions.InvalidOperationError)):
            (run.lazy() if lazy else run).rank.judge(qrels, **{option: "error"}).lazy().collect()


# A threshold of a column's own, and the other tools' spellings -------------------------------------------------


@each("no_relevant", ["zero", "null", "one"], sample=3)
@each("relevant", [0, 2])
def test_a_text_may_have_a_threshold_of_its_own(relevant: int, no_relevant: str) -> None:
    table = random_table(25, queries=15)
    names = [name for name in NAMES if name != "num_retrieved"]  # which means hits then, as ir_measures has it
    calls = [(name, {**CALLS[name][-1], "relevant": relevant}) for name in names]
    found = frame(table).rank.on(no_relevant=no_relevant).evaluate("map", *(spell(*call) for call in calls))
    for name, options in [("average_precision", {"relevant": 1}), *calls]:
        policies = {"relevant": options["relevant"], "no_relevant": no_relevant}
        text = "map" if options["relevant"] == 1 else spell(name, options)
        rest = {key: value for key, value in options.items() if key != "relevant"}
        assert_equal(values(found, text), expected(table, name, rest, policies), text)


SPELLINGS = {
    # ranx
    **{name: name for name in ("hits", "hit_rate@5", "precision@5", "recall", "f1@3", "bpref", "map", "dcg", "ndcg")},
    "r-precision": "r_precision",
    "mrr": "rr",
    "rbp.95": "rbp(p=0.95)",
    "dcg_burges": "dcg(gain=exponential)",
    "ndcg_burges@10": "ndcg(gain=exponential)@10",
    "map@100-l2": "map(relevant=2)@100",
    "ndcg@10-l2": "ndcg(min_label=2)@10",
    "dcg_burges@5-l2": "dcg(gain=exponential,min_label=2)@5",
    # ir_measures
    "nDCG@10": "ndcg@10",
    "nDCG(dcg='exp-log2')@10": "ndcg(gain=exponential)@10",
    "AP(rel=2)@5": "map(relevant=2)@5",
    "RR(rel=2)": "rr(relevant=2)",
    "P@5": "precision@5",
    "R@5": "recall@5",
    "Success@5": "hit_rate@5",
    "Rprec": "r_precision",
    "Bpref": "bpref",
    "RBP(p=0.9)": "rbp(p=0.9)",
    "IPrec@0.3": "interpolated_precision(rounding=up)@0.3",
    "SetP": "precision",
    "SetR": "recall",
    "SetF": "f_beta",
    "ERR@20": "err@20",
    # scikit-learn, torchmetrics, and papers
    "f1_score@5": "f1@5",
    "fbeta_score(beta=2)": "f_beta(beta=2)",
    "f_measure@5": "f_beta@5",
    "F-measure": "f_beta",
    "GMAP": "gm_map",
    # trec_eval
    "P_5": "precision@5",
    "recall_5": "recall@5",
    "success_5": "hit_rate@5",
    "map_cut_10": "map@10",
    "ndcg_cut_10": "ndcg@10",
    "ndcg_cut.5,10": "ndcg@5 ndcg@10",
    "recip_rank": "rr",
    "iprec_at_recall_0.30": "interpolated_precision@0.3",
    "11pt_avg": "eleven_point_average",
    "set_P": "precision",
    "set_recall": "recall",
    "set_F": "f_beta",
    "set_F.0.25": "f_beta(beta=0.5)",
    "set_F.4,0.25": "f_beta(beta=2) f_beta(beta=0.5)",
    "set_map": "set_average_precision",
    "set_relative_P": "precision(divisor='min(k,R)')",
    "num_ret": "num_retrieved",
    "num_rel": "num_relevant",
    "num_rel_ret": "hits",
}


@each(("text", "canonical"), SPELLINGS.items())
def test_other_tools_spellings_are_read(text: str, canonical: str) -> None:
    df = frame({"q": [("a", 1.0, 1)]})
    assert df.rank.evaluate(text).columns == ["query_id", *canonical.split()]


def test_trec_evals_cutoff_may_stand_beside_other_tools_levels() -> None:
    assert [call.text for text in ("P_5(rel=2)", "P_5-l2") for call in rf.parse(text)] == [
        "precision(relevant=2)@5"
    ] * 2


def test_ir_measures_gains_and_discount_are_read_together() -> None:
    assert [call.text for call in rf.parse("nDCG(gains={1:3},dcg='log2')@5")] == ["ndcg(gain={1:3})@5"]


def test_the_largest_top_label_is_the_last_whose_gain_is_a_float() -> None:
    table = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "score": [1.0], "label": [1]})
    assert table.rank.evaluate("err(max_label=1023)").item(0, 1) == 2.0**-1023  # (2^1 - 1) / 2^1023
    with pytest.raises(rf.InvalidOption, match="max_label=1024"):
        table.rank.evaluate("err(max_label=1024)")


def test_a_chance_above_1_is_refused() -> None:
    df = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "score": [1.0], "label": [1], "chance": [1.5]})
    with pytest.raises(rf.InvalidData, match="a gain is above 1; here it is the probability"):
        df.rank.err(gain=pl.col("chance"))


@each("scale", [3, 6, 7, 10, 13])
def test_a_player_stops_where_the_gains_are_the_target_whatever_sums_of_floats_are(scale: int) -> None:
    """So many labels 1 of so many are a gain of 1: the next document, of the top label, is not read."""
    labels = [1] * scale + [scale] * 2
    df = pl.DataFrame(
        {"query_id": 1, "doc_id": range(scale + 2), "score": [-i for i in range(scale + 2)], "label": labels}
    )
    texts = [f"bpm(max_label={scale},report=ED)@99", f"bpm(max_label={scale},target=4,report=ED,residual=True)@99"]
    # of 3 in all, the target of 4 is met one rank further down if all that follows is worth 1, and at the end if it is not
    assert df.rank.evaluate(*texts).row(0)[1:] == (scale, scale + 3 - 99)
