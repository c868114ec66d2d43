"""Metrics of diversity against the oracles, ndeval, hand calculations, and what must hold for any table."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.metrics.oracles.diversity import DIVERSITY, WEIGHT, meets, novelty
from tests.metrics.oracles.query import Query, Row, prepare
from tests.support.calls import Options, assert_equal, share, values
from tests.support.diversity import (
    ALL,
    CALLS,
    FORMULAS,
    GRADED,
    TEXTS,
    best_label,
    diverse_table,
    hostile_table,
    lists_of,
    rows_of,
    spell,
)
from tests.support.each import each
from tests.support.errors_of_plans import raised_by_plan
from tests.support.tables import BY_CHANCE, Table
from tests.support.untraced import untraced

pytestmark = BY_CHANCE

POLICIES: list[Options] = [
    {},
    *({"relevant": level} for level in (0, 0.5, 2, 9)),
    *({"ties": ties} for ties in ("doc_asc", "order", "trec_eval")),
    {"unjudged": "drop"},
    *({"no_relevant": value} for value in ("null", "one")),
    *({"depth": depth} for depth in (1, 3)),
    {"depth": 4, "unjudged": "drop", "relevant": 2},
    {"unretrieved": "drop"},
    {"unretrieved": "drop", "unjudged": "drop", "relevant": 0},
]


def prepared(rows: list[Row], policies: Options) -> Query:
    """The oracles' query; a document without any label is not judged."""
    of_oracle = {key: value for key, value in policies.items() if key not in ("no_relevant", "unjudged")}
    q = prepare(rows, **of_oracle)
    if policies.get("unjudged") == "drop":
        q = replace(q, ranking=[row for row in q.ranking if any(label >= 0 for label in row[2].values())])
    return q


@untraced
def expected(
    table: Table, name: str, options: Options, policies: Options, *, weighted: bool = False, listed: bool = False
) -> dict[Any, float | None]:
    """The oracle's values; a query without any label has none. If `listed`, a list says that a document is judged."""
    found: dict[Any, float | None] = {}
    for query, rows in table.items():
        if not any(labels if listed else {*labels.values()} - {-2} for _, _, labels in rows):
            found[query] = None
            continue
        q = replace(prepared(rows, policies), weighted=weighted)
        found[query] = DIVERSITY[name](q, **options)
        if not any(meets(row, q.relevant) for row in q.rows):
            policy = policies.get("no_relevant", "zero")
            found[query] = {"zero": found[query], "null": None, "one": float(FORMULAS[name].bounds == (0, 1))}[policy]
    return found


def ranker(df: Any, **policies: Any) -> Any:
    return df.rank.on(subtopic="subtopic", **policies)


def shuffled(df: pl.DataFrame, seed: int = 1) -> pl.DataFrame:
    return df.sample(fraction=1, shuffle=True, seed=seed)


def assert_same(found: pl.DataFrame, wanted: pl.DataFrame) -> None:
    found, wanted = (df.sort("query_id") for df in (found, wanted))
    assert_frame_equal(found, wanted, rel_tol=1e-12, abs_tol=1e-12)


# Values -----------------------------------------------------------------------------------------------------


def test_every_metric_has_an_oracle_and_every_option_is_called_with_more_than_its_default() -> None:
    assert set(FORMULAS) == set(DIVERSITY) == set(CALLS)
    for name, metric in FORMULAS.items():
        assert {option for call in CALLS[name] for option in call} == set(metric.parameters)


@each("turn", range(20), sample=10)
@each("policies", POLICIES, ids=str)
def test_values_are_the_oracles(policies: Options, turn: int) -> None:
    calls = share(ALL, turn, 20)
    texts = [spell(*call) for call in calls]
    table = hostile_table(POLICIES.index(policies))
    rows, lists = rows_of(table), lists_of(table, policies.get("relevant", 1))
    if policies.get("ties") != "order":
        rows, lists = shuffled(rows), shuffled(lists)
    found = {
        "rows": ranker(rows, **policies).evaluate(*texts),
        "lazy rows": ranker(rows.lazy(), **policies).evaluate(*texts).collect(),
        "lists": ranker(lists, **policies).evaluate(*texts),
        "lazy lists": ranker(lists.lazy(), **policies).evaluate(*texts).collect(),
    }
    for name, options in calls:
        for way, values_ in found.items():
            listed = way.endswith("lists")
            if listed and name in GRADED:
                continue
            wanted = expected(table, name, options, policies, listed=listed)
            assert_equal(values(values_, spell(name, options)), wanted, (way, spell(name, options)))


@each("policies", [{}, {"relevant": 2}, {"relevant": 0}, {"depth": 3, "no_relevant": "null"}], ids=str, sample=2)
def test_weights_of_subtopics_count_as_in_the_oracles(policies: Options) -> None:
    table = hostile_table(7)
    df = shuffled(rows_of(table)).with_columns(importance=pl.col("subtopic").replace_strict(WEIGHT, default=None))
    ranker_ = df.rank.on(subtopic="subtopic", subtopic_weight="importance", **policies)
    forms = {"eager": ranker_.evaluate(*TEXTS)}
    lazy = df.lazy().rank.on(subtopic="subtopic", subtopic_weight="importance", **policies)
    forms["lazy"] = lazy.evaluate(*TEXTS).collect()
    pandas = df.to_pandas().rank.on(subtopic="subtopic", subtopic_weight="importance", **policies)
    forms["pandas"] = pl.from_pandas(pandas.evaluate(*TEXTS).reset_index()).with_columns(pl.col(TEXTS).fill_nan(None))
    for name, options in ALL:
        wanted = expected(table, name, options, policies, weighted=True)
        for form, found in forms.items():
            assert_equal(values(found, spell(name, options)), wanted, (form, spell(name, options)))


def test_equal_weights_change_nothing() -> None:
    df = rows_of(hostile_table(3))
    weighed = df.with_columns(w=pl.lit(7)).rank.on(subtopic="subtopic", subtopic_weight="w").evaluate(*TEXTS)
    assert_same(weighed, ranker(df).evaluate(*TEXTS))


# TREC RAG: three vital nuggets, one supported, one in part, one not, and an okay one that is supported.
ANSWER = pl.DataFrame(
    {
        "query_id": 1,
        "doc_id": "answer",
        "score": 1,
        "nugget": list("abcd"),
        "label": [2, 1, 0, 2],
        "vital": [1, 1, 1, 0],
    }
)


@each(
    ("weight", "text", "value"),
    [
        ("vital", "nugget_recall(partial=0)", 1 / 3), ("vital", "nugget_recall", 0.5),
        (None, "nugget_recall(partial=0)", 0.5), (None, "nugget_recall", 0.625),
    ],
)  # fmt: skip
def test_nuggets_count_as_in_trec_rag(weight: str | None, text: str, value: float) -> None:
    found = ANSWER.rank.on(subtopic="nugget", subtopic_weight=weight).evaluate(text)
    assert found.item(0, 1) == pytest.approx(value)
    okay = ANSWER.with_columns(vital=pl.when(vital=1).then(1.0).otherwise(0.5))
    weighted = okay.rank.on(subtopic="nugget", subtopic_weight="vital").evaluate("nugget_recall").item(0, 1)
    assert weighted == pytest.approx((1 + 0.5 + 0.5) / 3.5)


def test_a_list_supports_what_it_names() -> None:
    found = ranker(LISTS).evaluate("nugget_recall", "subtopic_recall", "d_ndcg(gain=binary)", "d_ndcg").row(0)
    assert found[1] == found[2]
    assert found[3] == found[4]


def test_weights_of_subtopics_that_are_none_or_several_are_refused() -> None:
    for weights, message in (
        ([1, None, 1, 1], "holds a weight that is null"),
        ([1, -1, 1, 1], "holds a weight that is null"),
    ):
        df = ANSWER.with_columns(vital=pl.Series(weights))
        for form, refused in ((df, pytest.raises), (df.lazy(), raised_by_plan)):
            with refused(rf.InvalidData, match=message):
                form.rank.on(subtopic="nugget", subtopic_weight="vital").evaluate("nugget_recall").lazy().collect()
    twice = pl.concat([ANSWER, ANSWER.with_columns(doc_id=pl.lit("other"), vital=pl.lit(2, pl.Int64))])
    with pytest.raises(rf.InvalidData, match="different values of 'vital'"):
        twice.rank.on(subtopic="nugget", subtopic_weight="vital").evaluate("subtopic_recall")
    problems = twice.rank.on(subtopic="nugget", subtopic_weight="vital").check().rows["problem"].to_list()
    assert "two weights" in problems
    with pytest.raises(rf.InvalidOption, match="a list of subtopics has no weights"):
        LISTS.with_columns(w=1).rank.on(subtopic="subtopic", subtopic_weight="w").evaluate("strec")


@each("turn", range(3), sample=len(FORMULAS))
@each("name", FORMULAS)
def test_the_method_returns_one_column_of_the_oracles_values(name: str, turn: int) -> None:
    table = diverse_table(31, queries=12)
    for options in share(CALLS[name], turn, 3) or CALLS[name]:
        found = getattr(ranker(rows_of(table)).metrics, name)(**options)
        assert found.columns == ["query_id", spell(name, options)]
        assert_equal(values(found, spell(name, options)), expected(table, name, options, {}), spell(name, options))


@each("form", [rows_of, lists_of])
def test_pandas_has_the_same_values(form: Callable[[Table], pl.DataFrame]) -> None:
    df = form(diverse_table(32))
    there = df.to_pandas()
    there["subtopic"] = [None if x is None else x if isinstance(x, str) else list(x) for x in df["subtopic"].to_list()]
    found = ranker(there).evaluate(*TEXTS, "ndcg@10")
    wanted = ranker(df).evaluate(*TEXTS, "ndcg@10")
    assert found.index.tolist() == wanted["query_id"].to_list()
    assert_frame_equal(pl.from_pandas(found.reset_index()), wanted, rel_tol=1e-12)


def test_plans_that_call_python_need_no_library_to_pickle_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    df = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": 1.0, "label": [1, 2], "subtopic": ["x", "y"]})
    found = ranker(df).evaluate("alpha_ndcg@1", "alpha_ndcg(alpha=0.3)@2", "nerr_ia@2")
    assert found.row(0) == (1, 1.0, 1.0, 1.0)  # one subtopic each, so any order is ideal
    # of 1/4 and 3/4, the mean of 1/4 + 3/4 x 3/8 and 3/4 + 1/4 x 1/8
    of_ties = df.rank.on(ties="expected").evaluate("err(max_label=2)", "pfound(max_label=2)")
    assert of_ties.row(0)[1] == 0.65625
    assert df.lazy().rank.on(ties="expected").err(max_label=2).collect().row(0) == (1, 0.65625)


@pytest.mark.tools
@pytest.mark.parametrize(("relevant", "alpha", "beta"), [(1, 0.5, 0.5), (2, 0.25, 0.9), (1, 0, 0.5), (1, 1, 0.5)])
def test_values_are_ndevals(relevant: int, alpha: float, beta: float) -> None:
    from tests.support.ir_measures_and_ndeval import ndeval

    table = diverse_table(33, queries=100)
    foreign: dict[str, dict[Any, float]] = {}
    for query, name, options, value in ndeval(table, relevant=relevant, alpha=alpha, beta=beta):
        options = {key: x for key, x in options.items() if x != 0.5}
        foreign.setdefault(spell(name, options), {})[query] = value
    assert len(foreign) == 31
    found = ranker(rows_of(table), relevant=relevant, ties="doc_asc").evaluate(*foreign)
    for text, wanted in foreign.items():
        of_query = values(found, text)
        assert_equal({query: of_query[query] for query in wanted}, wanted, text)


# By hand: a meets x and y, b x, c z, d nothing, e x and z; e was not retrieved.
# Novelty of a, d, b, c is 2, 0, 1/2, 1; greedily e, a, c, b (e before a: the larger id) is 2, 1 + 1/2, 1/2, 1/4.
WORKED = {
    "alpha_ndcg@1": 2 / 2,
    "alpha_dcg@1": 2 / 3,
    "err_ia@1": 2 / 3,
    "nerr_ia@4": (2 + 0.5 / 3 + 1 / 4) / (2 + 1.5 / 2 + 0.5 / 3 + 0.25 / 4),
    "alpha_ndcg(alpha=0)@3": (2 + 1 / 2) / (2 + 2 / 1.584962500721156 + 1 / 2),
    "err_ia@4": (2 + 0.5 / 3 + 1 / 4) / (3 * (1 + 1 / 4 + 1 / 12 + 1 / 32)),
    "nrbp": 0.75 * (2 + 0.5 / 4 + 1 / 8) / 3,
    "nnrbp": (2 + 0.5 / 4 + 1 / 8) / (2 + 1.5 / 2 + 0.5 / 4 + 0.25 / 8),
    "precision_ia@2": (1 / 2 + 1 / 2 + 0 / 2) / 3,
    "precision_ia": (2 / 4 + 1 / 4 + 1 / 4) / 3,
    "average_precision_ia": ((1 + 2 / 3) / 3 + 1 / 1 + (1 / 4) / 2) / 3,
    "subtopic_recall@3": 2 / 3,
    "subtopic_recall": 3 / 3,
    "ndcg": (1 + 1 / 2 + 1 / 2.321928094887362) / (1 + 1 / 1.584962500721156 + 1 / 2 + 1 / 2.321928094887362),
}
BY_HAND: Table = {
    "q": [
        ("a", 4.0, {"x": 1, "y": 1, "z": 0}), ("d", 3.0, {}), ("b", 2.0, {"x": 1}), ("c", 1.0, {"z": 1}),
        ("e", None, {"x": 1, "z": 1}),
    ],
}  # fmt: skip


@each("form", [rows_of, lists_of])
@each("text", WORKED)
def test_worked_values(text: str, form: Callable[[Table], pl.DataFrame]) -> None:
    assert ranker(form(BY_HAND)).evaluate(text).item(0, 1) == pytest.approx(WORKED[text], abs=1e-12)


@each(
    ("spelling", "text"),
    [
        ("alpha_nDCG@20", "alpha_ndcg@20"),
        ("alpha_nDCG(alpha=0.3,rel=2)@5", "alpha_ndcg(alpha=0.3,relevant=2)@5"),
        ("alpha_DCG@5", "alpha_dcg@5"),
        ("ERR_IA@20", "err_ia@20"),
        ("nERR_IA@20", "nerr_ia@20"),
        ("NRBP(alpha=0.3,beta=0.8)", "nrbp(alpha=0.3,beta=0.8)"),
        ("nNRBP", "nnrbp"),
        ("P_IA@5", "precision_ia@5"),
        ("AP_IA", "average_precision_ia"),
        ("MAP_IA", "average_precision_ia"),
        ("StRecall@10", "subtopic_recall@10"),
        ("strec@10", "subtopic_recall@10"),
        ("alpha-nDCG@10", "alpha_ndcg@10"),
        ("ERR-IA@10", "err_ia@10"),
        ("P-IA@10", "precision_ia@10"),
        ("MAP-IA", "average_precision_ia"),
    ],
)
def test_other_tools_spellings_are_read(spelling: str, text: str) -> None:
    (call,) = rf.parse(spelling)
    assert call.text == text
    assert rf.parse(text) == [call]


def test_texts_are_canonical() -> None:
    assert [call.text for text in TEXTS for call in rf.parse(text)] == TEXTS


def test_a_column_may_have_a_threshold_of_its_own() -> None:
    table = diverse_table(34)
    found = ranker(rows_of(table), relevant=2).evaluate("alpha_ndcg(relevant=1)@5", "alpha_ndcg@5")
    assert_equal(
        values(found, "alpha_ndcg(relevant=1)@5"), expected(table, "alpha_ndcg", {"k": 5}, {"relevant": 1}), ""
    )
    assert_equal(values(found, "alpha_ndcg@5"), expected(table, "alpha_ndcg", {"k": 5}, {"relevant": 2}), "")


# Laws -------------------------------------------------------------------------------------------------------


@each("seed", range(5), sample=3)
def test_every_value_is_within_its_bounds(seed: int) -> None:
    found = ranker(rows_of(diverse_table(seed + 40))).evaluate(*TEXTS)
    for name, options in ALL:
        low, high = FORMULAS[name].bounds
        column = found[spell(name, options)]
        assert column.is_finite().all()
        assert column.min() >= low  # type: ignore[operator]
        assert high is None or column.max() <= high + 1e-12  # type: ignore[operator]


@each("form", [rows_of, lists_of])
def test_row_order_never_matters(form: Callable[[Table], pl.DataFrame]) -> None:
    df = form(diverse_table(50))
    assert_same(ranker(shuffled(df)).evaluate(*TEXTS), ranker(df).evaluate(*TEXTS))


@each("form", [rows_of, lists_of])
def test_adding_queries_leaves_the_others(form: Callable[[Table], pl.DataFrame]) -> None:
    table = diverse_table(51)
    first = dict(itertools.islice(table.items(), 10))
    found = ranker(form(table)).evaluate(*TEXTS)
    assert_same(found.filter(pl.col("query_id").is_in(list(first))), ranker(form(first)).evaluate(*TEXTS))


@each("form", [rows_of, lists_of])
def test_the_names_and_the_order_of_subtopics_never_matter(form: Callable[[Table], pl.DataFrame]) -> None:
    """Nor which of them stand first where the greedy ranking has to choose: what a document adds is compared exactly."""
    table = diverse_table(52, subtopics=8)
    wanted = ranker(form(table)).evaluate(*TEXTS)
    for order in ("76543210", "35714206"):
        renamed: Table = {
            query: [
                (doc, score, dict(sorted((f"t{order[int(s[1:])]}", x) for s, x in labels.items())))
                for doc, score, labels in rows
            ]
            for query, rows in table.items()
        }
        assert_same(ranker(form(renamed)).evaluate(*TEXTS), wanted)


def greedy_orders(rows: list[Row], alpha: float, chosen: tuple[Row, ...] = ()) -> list[tuple[Row, ...]]:
    """All rankings that take, at each rank, one of the documents that add most."""
    if not rows:
        return [chosen]
    added = [round(novelty([*chosen, row], alpha, 1)[-1], 12) for row in rows]
    return [
        order
        for row, gain in zip(rows, added, strict=True)
        if gain == max(added)
        for order in greedy_orders([other for other in rows if other is not row], alpha, (*chosen, row))
    ]


@each("seed", range(3))
@each("alpha", [0.3, 0.5, 1])
def test_the_greedy_order_with_the_largest_ids_is_worth_1(alpha: float, seed: int) -> None:
    table = {q: rows for q, rows in diverse_table(seed, subtopics=4).items() if len(rows) <= 5}
    texts = [f"{name}(alpha={alpha:g})@{k}" for name in ("alpha_ndcg", "nerr_ia") for k in (1, 2, 5)]
    ranked: Table = {}
    for query, rows in table.items():
        if any(meets(row, 1) for row in rows):
            order = max(greedy_orders(rows, alpha), key=lambda order: [row[0] for row in order])
            ranked[query] = [(doc, -float(rank), labels) for rank, (doc, _, labels) in enumerate(order)]
    assert len(ranked) > 5
    found = ranker(rows_of(ranked)).evaluate(*texts)
    assert found.drop("query_id").to_numpy().ravel() == pytest.approx(1.0, abs=1e-12)


def test_the_greedy_order_is_not_always_the_best() -> None:
    """One document of four subtopics, taken first for its id, leaves half of what the two others add."""
    labels = {"c": "1234", "b": "1256", "a": "3478"}
    rows: list[Row] = [
        (doc, {"b": 3.0, "a": 2.0, "c": 1.0}[doc], dict.fromkeys(meets, 1)) for doc, meets in labels.items()
    ]
    found = ranker(rows_of({"q": rows})).evaluate("alpha_ndcg(alpha=1)").item(0, 1)
    log3 = 1.584962500721156
    assert found == pytest.approx((4 + 4 / log3) / (4 + 2 / log3 + 2 / 2))
    assert found > 1


@each("form", [rows_of, lists_of])
def test_metrics_of_documents_see_each_document_once_by_its_largest_label(
    form: Callable[[Table], pl.DataFrame],
) -> None:
    table = diverse_table(53)
    rows = [(q, doc, score, best_label((doc, score, labels))) for q, r in table.items() for doc, score, labels in r]
    documents = pl.DataFrame(rows, schema=["query_id", "doc_id", "score", "label"], orient="row")
    texts = ["ndcg@10", "map", "precision@5", "bpref", "err(max_label=2)"]
    wanted = documents.rank.evaluate(*texts)
    for df in (form(table), shuffled(form(table))):
        assert_same(ranker(df).evaluate(*texts), wanted)
        assert_same(ranker(df.lazy()).evaluate(*texts).collect(), wanted)
        mixed = ranker(df).evaluate("map", "strec", "ndcg@10", pl.len().alias("rows"))
        assert mixed.columns == ["query_id", "map", "subtopic_recall", "ndcg@10", "rows"]
        assert mixed["rows"].sum() == len(df)
        assert_same(mixed.select("query_id", "ndcg@10"), wanted.select("query_id", "ndcg@10"))


def test_ties_best_and_expected_serve_metrics_of_documents() -> None:
    df = rows_of(diverse_table(54))
    documents = df.group_by("query_id", "doc_id").agg(pl.col("score").first(), pl.col("label").max())
    for ties in ("best", "worst", "expected"):
        assert_same(ranker(df, ties=ties).evaluate("map"), documents.rank.on(ties=ties).evaluate("map"))
        with pytest.raises(rf.InvalidOption, match=f"alpha_ndcg: .*{ties}|alpha_ndcg: its expectation"):
            ranker(df, ties=ties).evaluate("map", "alpha_ndcg")


def test_queries_come_in_the_order_of_their_first_rows() -> None:
    df = shuffled(rows_of(diverse_table(55)))
    wanted = df["query_id"].unique(maintain_order=True).to_list()
    assert ranker(df).evaluate("strec")["query_id"].to_list() == wanted
    assert ranker(df).evaluate("strec", "map")["query_id"].to_list() == wanted
    assert ranker(df).with_metrics("strec", "map").drop("subtopic_recall", "map").equals(df)


# Types ------------------------------------------------------------------------------------------------------


def as_struct(df: pl.DataFrame) -> pl.DataFrame:
    return df.with_columns(pl.when(pl.col("subtopic").is_not_null()).then(pl.struct("subtopic")).alias("subtopic"))


SUBTOPIC_TYPES: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "integers": lambda df: df.with_columns(pl.col("subtopic").str.slice(1).cast(pl.Int8)),
    "categories": lambda df: df.with_columns(pl.col("subtopic").cast(pl.Categorical)),
    "enum": lambda df: df.with_columns(pl.col("subtopic").cast(pl.Enum([f"s{i}" for i in range(9)]))),
    "dates": lambda df: df.with_columns(pl.date(2026, 1, pl.col("subtopic").str.slice(1).cast(pl.Int8) + 1).alias("subtopic")),
    "structs": as_struct,
}  # fmt: skip


@each("turn", range(5), sample=5)
@each("kind", SUBTOPIC_TYPES)
def test_subtopics_may_be_of_any_type(kind: str, turn: int) -> None:
    rows, texts = rows_of(diverse_table(56)), share(TEXTS, turn, 5)
    wanted = ranker(rows).evaluate(*texts)
    cast = SUBTOPIC_TYPES[kind](rows)
    assert_same(ranker(cast).evaluate(*texts), wanted)
    assert_same(ranker(cast.lazy()).evaluate(*texts).collect(), wanted)
    key = ["query_id", "doc_id"]
    listed = cast.group_by(key, maintain_order=True).agg(
        pl.col("score").first(), pl.col("subtopic").filter(pl.col("label") >= 1)
    )
    of_lists = [text for text in texts if not text.startswith(GRADED)]
    assert_same(ranker(listed).evaluate(*of_lists), wanted.select("query_id", *of_lists))


def test_subtopics_may_stand_in_arrays() -> None:
    df = pl.DataFrame(
        {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2, 1], "subtopic": [["x", "y"], ["x", None]]},
        schema_overrides={"subtopic": pl.Array(pl.String, 2)},
    )
    assert ranker(df).evaluate("p_ia@2", "strec@1").row(0) == (1, 0.75, 1.0)


def test_a_query_may_have_more_subtopics_than_a_number_has_bits() -> None:
    rows: list[Row] = [(f"d{i:03}", float(i % 7), {f"s{j:03}": 1 for j in range(i, i + 4)}) for i in range(200)]
    table: Table = {"q": rows, "r": rows[:100]}
    found = ranker(rows_of(table)).evaluate("alpha_ndcg@50", "strec@50")
    assert_equal(values(found, "alpha_ndcg@50"), expected(table, "alpha_ndcg", {"k": 50}, {}), "")
    assert_equal(values(found, "subtopic_recall@50"), expected(table, "subtopic_recall", {"k": 50}, {}), "")


@each("turn", range(3), sample=3)
@each("ties", ["doc_desc", "doc_asc", "trec_eval"])
def test_documents_may_be_integers_and_queries_several_columns(ties: str, turn: int) -> None:
    calls = share(ALL, turn, 3)
    table = diverse_table(57)
    names = {f"d{i}": i for i in range(100)}
    df = rows_of(table).with_columns(pl.col("doc_id").replace_strict(names, return_dtype=pl.Int64), run=pl.lit(None))
    as_text: Table = {
        query: [
            (f"{names[doc]:02}" if ties != "trec_eval" else str(names[doc]), score, labels) for doc, score, labels in r
        ]
        for query, r in table.items()
    }
    found = ranker(df, query=["run", "query_id"], ties=ties).evaluate(*(spell(*call) for call in calls))
    for name, options in calls:
        assert_equal(
            values(found.drop("run"), spell(name, options)),
            expected(as_text, name, options, {"ties": ties}),
            spell(name, options),
        )


def test_lists_need_neither_documents_nor_labels_and_ties_keep_the_rows_order() -> None:
    df = pl.DataFrame({"query_id": 1, "score": [1, 1, 2], "subtopic": [["x"], ["y", "z"], []]})
    assert ranker(df).evaluate("strec@2", "strec@3", "alpha_ndcg@1").row(0) == (1, 1 / 3, 1.0, 0.0)
    assert ranker(df.lazy()).evaluate("strec@2").collect().row(0) == (1, 1 / 3)


EMPTY = {
    "no rows": rows_of({}),
    "no lists": lists_of({}),
    "nothing listed": lists_of({"q": [("a", 1.0, {"x": 0}), ("b", None, {})]}),
    "no type": rows_of({"q": [("a", 1.0, {"x": 0})]}).with_columns(subtopic=None),
    "nothing relevant": rows_of({"q": [("a", 1.0, {"x": 0, "y": -1})]}),
}


@each("turn", range(3), sample=6)
@each("kind", EMPTY)
def test_where_there_is_nothing_to_find_every_value_is_0(kind: str, turn: int) -> None:
    df, texts = EMPTY[kind], [*share(TEXTS, turn, 3), "ndcg"]
    for found in (ranker(df).evaluate(*texts), ranker(df.lazy()).evaluate(*texts).collect()):
        assert found["query_id"].to_list() == df["query_id"].unique().to_list()
        assert found.drop("query_id").to_numpy().sum() == 0
        assert found.dtypes[1:] == [pl.Float64] * len(texts)


@each("turn", range(3), sample=1)
@each("table", [rows_of, lists_of])
def test_a_query_whose_subtopics_nobody_judged_has_no_value(table: Any, turn: int) -> None:
    df = table({"q": [("a", 1.0, {}), ("b", None, {})], "r": [("a", 1.0, {"x": 1})]})
    unknown = pl.when(pl.col("query_id") != "q").then("subtopic").alias("subtopic")
    df, texts = df.with_columns(unknown), share(TEXTS, turn, 3)
    for found in (ranker(df).evaluate(*texts), ranker(df.lazy()).evaluate(*texts).collect().sort("query_id")):
        assert found.row(0) == ("q", *[None] * len(texts))
        assert None not in found.row(1)


# Other verbs ------------------------------------------------------------------------------------------------


def test_ranks_curves_and_contributions_are_those_of_the_documents() -> None:
    df = shuffled(rows_of(diverse_table(58)))
    documents = df.group_by("query_id", "doc_id", maintain_order=True).agg(
        pl.col("score").first(), pl.col("label").max()
    )
    ranked = ranker(df).with_ranks()
    assert ranked.drop("rank").equals(df)
    key = ["query_id", "doc_id", "rank"]
    assert ranked.select(key).unique().sort(key).equals(documents.rank.with_ranks().select(key).sort(key))
    assert ranker(df).curve("ndcg").equals(documents.rank.curve("ndcg"))
    assert ranker(df).explain("ndcg@5").equals(documents.rank.explain("ndcg@5"))
    of_pandas = ranker(df.to_pandas()).explain("ndcg@5")
    found = pl.from_pandas(of_pandas.reset_index(drop=True)).select("query_id", "doc_id", "score", "ndcg@5")
    assert_frame_equal(found, ranker(df).explain("ndcg@5").select(found.columns))
    assert ranker(df).with_ranks().equals(ranker(df.lazy()).with_ranks().collect())


def test_a_run_with_diversity_judgments_is_a_table_of_subtopics() -> None:
    table = diverse_table(59)
    df = rows_of(table)
    run = df.filter(pl.col("score").is_not_null()).select("query_id", "doc_id", "score").unique()
    qrels = df.filter(pl.col("subtopic").is_not_null()).select("query_id", "doc_id", "subtopic", "label")
    found = ranker(run.rank.judge(qrels, judged_only="keep", run_only="keep")).evaluate(*TEXTS)
    wanted = ranker(df).evaluate(*TEXTS)
    assert_same(found, wanted.join(found.select("query_id"), on="query_id", how="semi"))


def test_weights_and_conventions_hold_for_metrics_of_documents() -> None:
    df = rows_of({"q": [("a", 2.0, {"x": 0, "y": 1}), ("b", 1.0, {"x": 1})]}).with_columns(w=pl.Series([9, 3, 1]))
    assert ranker(df, weight="w").cg().item(0, 1) == 3 + 1  # of the row with the largest label
    assert ranker(df).on(convention="trec_eval").evaluate("rbp").item(0, 1) == pytest.approx(0.1 * (1 + 0.9))


def test_an_expression_as_gain_is_read_where_the_label_is_largest() -> None:
    df = rows_of({"q": [("a", 1.0, {"x": 1, "y": 2})]}).with_columns(price=pl.Series([10, 20]))
    assert ranker(df).cg(gain=pl.col("price")).item(0, 1) == 20


# Refusals ---------------------------------------------------------------------------------------------------

ROWS = pl.DataFrame(
    {
        "query_id": 1,
        "doc_id": ["a", "a", "b"],
        "score": [2.0, 2.0, 1.0],
        "subtopic": ["x", "y", "x"],
        "label": [1, 1, 0],
    }
)
LISTS = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [2, 1], "subtopic": [["x"], ["x", "y"]]})
INVALID: dict[str, tuple[pl.DataFrame, str]] = {
    "two scores": (ROWS.with_columns(score=pl.Series([2, 3, 1])), "different values of 'score'"),
    "retrieved and not": (ROWS.with_columns(score=pl.Series([2, None, 1])), "different values of 'score'"),
    "a subtopic twice": (
        ROWS.with_columns(subtopic=pl.lit("x")),
        r"the same 'subtopic' twice; .*df.unique\(\['query_id', 'doc_id', 'subtopic'\]\)",
    ),
    "no subtopic twice": (ROWS.with_columns(subtopic=pl.lit(None)), "the same 'subtopic' twice"),
    "a subtopic twice in a list": (
        LISTS.with_columns(subtopic=pl.Series([["x", "x"], ["y"]])),
        "names a subtopic twice",
    ),
    "NaN score": (ROWS.with_columns(score=pl.lit(float("nan"))), "NaN"),
    "NaN label": (ROWS.with_columns(label=pl.Series([1.0, float("nan"), 1.0])), "'label' holds NaN or an infinite"),
    "infinite label": (
        ROWS.with_columns(label=pl.Series([1.0, -float("inf"), 1.0])),
        "'label' holds NaN or an infinite",
    ),
    "a document twice": (LISTS.with_columns(doc_id=pl.lit("a")), "the same 'doc_id' twice"),
}


@each("kind", INVALID)
@each("texts", [["strec"], ["alpha_ndcg@5", "ndcg"]], ids=str)
def test_tables_that_contradict_themselves_are_refused(kind: str, texts: list[str]) -> None:
    df, message = INVALID[kind]
    df = df.with_columns(label=pl.lit(1)) if "label" not in df.columns else df
    with pytest.raises(rf.InvalidData, match=message) as found:
        ranker(df).evaluate(*texts)
    assert "found in" in str(found.value)
    if "NaN" not in kind:  # which is null in pandas
        with pytest.raises(rf.InvalidData, match=message.replace("df.unique", "df.drop_duplicates")):
            ranker(df.to_pandas()).evaluate(*texts)
    with raised_by_plan(rf.InvalidData, match=message):
        ranker(df.lazy()).evaluate(*texts).collect()
    listed = ranker(df).check().rows.filter(severity="error")
    assert len(listed) >= 1
    assert listed["advice"].str.contains(message).any()


def test_a_table_without_fault_has_no_findings() -> None:
    missed = pl.when(doc_id="b").then(None).otherwise("score").alias("score")
    assert ranker(ROWS.with_columns(missed, label=1)).check().rows.is_empty()
    assert ranker(LISTS.with_columns(missed, label=1)).check().rows.is_empty()
    assert ranker(LISTS.with_columns(missed)).check().rows.is_empty()


REFUSED: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "no subtopic column said": (
        lambda: ROWS.rank.evaluate("ndcg", "alpha_ndcg@20"),
        rf.InvalidOption,
        r"alpha_ndcg@20 looks at the subtopics .*df.rank.on\(subtopic='subtopic'\)",
    ),
    "no such column": (
        lambda: ROWS.rename({"subtopic": "intent"}).rank.on(subtopic="subtopic").err_ia(k=5),
        rf.MissingColumn,
        r"df.rank.on\(subtopic='intent'\)",
    ),
    "no document": (lambda: ranker(ROWS.drop("doc_id")).metrics.nrbp(), rf.InvalidOption, "needs a name"),
    "no label": (lambda: ranker(ROWS.drop("label")).metrics.nrbp(), rf.MissingColumn, "no column 'label'"),
    "two roles": (lambda: ROWS.rank.on(subtopic="doc_id"), rf.InvalidOption, "named for two roles"),
    "no cutoff": (
        lambda: ranker(ROWS).evaluate("alpha_dcg"),
        rf.InvalidOption,
        r"'k'; its signature is alpha_dcg\(k, \*, alpha",
    ),
    "alpha": (
        lambda: ranker(ROWS).alpha_ndcg(alpha=1.5),
        rf.InvalidOption,
        r"alpha_ndcg\(alpha=1.5\): write a number from 0 to 1",
    ),
    "beta": (
        lambda: ranker(ROWS).metrics.nrbp(beta=1),
        rf.InvalidOption,
        r"nrbp\(beta=1\): write a number between 0 and 1",
    ),
    "threshold of lists": (
        lambda: ranker(LISTS).evaluate("strec(rel=2)"),
        rf.InvalidOption,
        "relevant=2: a list of subtopics says what is relevant",
    ),
    "an expression": (lambda: rf.expr.alpha_ndcg(k=5), rf.InvalidOption, r"df.rank.on\(subtopic='subtopic'\).evaluate"),
    "a curve": (lambda: ranker(ROWS).curve("alpha_ndcg"), rf.InvalidOption, "not shown by document"),
    "an explanation": (lambda: ROWS.rank.explain("alpha_ndcg"), rf.InvalidOption, "name the column"),
    "a weight": (
        lambda: ranker(ROWS.with_columns(w=1), weight="w").evaluate("ndcg", "strec"),
        rf.InvalidOption,
        "subtopic_recall does not weigh documents",
    ),
    "a tool's convention": (
        lambda: ranker(ROWS).on(convention="ranx").evaluate("strec"),
        rf.InvalidOption,
        "ranx has no subtopic_recall",
    ),
    "agreement": (lambda: ranker(ROWS).agreement("label", "kendall_tau"), rf.InvalidOption, "keep one of each"),
    "objects": (
        lambda: ranker(ROWS.with_columns(pl.Series("subtopic", [{1}, {2}, {3}], dtype=pl.Object))).metrics.nrbp(),
        rf.InvalidData,
        "Python objects",
    ),
    "lists of many types": (
        lambda: ranker(LISTS.to_pandas().assign(subtopic=[["x", 1], ["y"]])).metrics.nrbp(),
        rf.InvalidData,
        "several types",
    ),
}


@each("kind", REFUSED)
def test_what_has_no_meaning_is_refused_with_what_to_write(kind: str) -> None:
    call, error, message = REFUSED[kind]
    with pytest.raises(error, match=message):
        call()


def test_lists_agree_as_documents_do() -> None:
    df = LISTS.with_columns(other=pl.Series([1, 2]))
    assert ranker(df).agreement("other", "kendall_tau").item(0, 1) == -1


def test_metrics_of_ones_own_may_look_at_subtopics() -> None:
    @rf.metric(bounds=(0, 1), over="subtopics")
    def first_of_all(t: Any) -> pl.Expr:
        """Share of the subtopics that the first document meets."""
        return t.total(t.first_met, 1) / t.n_subtopics

    try:
        assert ranker(LISTS).evaluate(first_of_all).item(0, 1) == 0.5
    finally:
        rf.unregister(first_of_all)


def test_only_metrics_over_the_greedy_ranking_have_no_upper_bound() -> None:
    assert {name for name, metric in FORMULAS.items() if metric.bounds == (0, None)} == {
        "alpha_ndcg",
        "nerr_ia",
        "nnrbp",
    }


def test_a_subtopic_that_was_met_is_still_worth_half_to_the_next_document() -> None:
    """The greedy ideal takes a, then b (3 x 1/2), then c (1): this ranking."""
    df = pl.DataFrame(
        {"query_id": [1] * 3, "doc_id": ["a", "b", "c"], "score": [3, 2, 1], "aspects": [[1, 2, 3], [1, 2, 3], [4]]}
    )
    for metric in ("alpha_ndcg", "alpha_ndcg@3", "alpha_ndcg@2"):
        assert df.rank.on(subtopic="aspects").evaluate(metric).to_series(1).to_list() == pytest.approx([1.0])
