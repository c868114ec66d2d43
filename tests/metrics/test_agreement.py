"""Two score columns held against each other: the oracles, SciPy, and the laws of the measures."""

from __future__ import annotations

import itertools
import re
import statistics
from collections import defaultdict
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from tests.metrics.oracles.agreement import AGREEMENT, Pair
from tests.support.calls import assert_equal, values
from tests.support.each import each
from tests.support.tables import frame, random_pairs
from tests.support.trec_eval_and_scipy import scipy

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"kendall_distance@{k}": ("kendall_distance", {"k": k}) for k in (1, 2, 3, 5, 10, 100)},
    "kendall_tau": ("kendall_tau", {}),
    "spearman": ("spearman", {}),
    "tau_ap": ("tau_ap", {}),
    **{name: (name, {}) for name in ("weighted_tau", "ndpm", "footrule", "jaccard_index")},
    **{f"{name}@{k}": (name, {"k": k}) for name in ("footrule", "jaccard_index") for k in (1, 3, 10, 100)},
    **{
        f"{name}({'' if p is None else f'p={p},'}tied={tied}){'' if k is None else f'@{k}'}": (
            name,
            {key: x for key, x in (("k", k), ("p", p), ("tied", tied)) if x is not None},
        )
        for name in ("rbo", "rbo_min", "rbo_residual")
        for tied, k, p in (
            ("w", None, None),
            ("a", None, 0.5),
            ("b", None, 0.98),
            ("a", 3, None),
            ("b", 1, 0.1),
            ("w", 10, None),
        )
    },
    "overlap": ("overlap", {}),
    **{f"overlap@{k}": ("overlap", {"k": k}) for k in (1, 3, 10, 100)},
    **{
        text: (name, {key: value for key, value in (("k", k), ("p", p)) if value is not None})
        for name in ("rbo", "rbo_min", "rbo_residual")
        for k, p, text in (
            (None, None, name),
            (None, 0.5, f"{name}(p=0.5)"),
            (None, 0.999, f"{name}(p=0.999)"),
            (1, None, f"{name}@1"),
            (3, 0.1, f"{name}(p=0.1)@3"),
            (10, 0.98, f"{name}(p=0.98)@10"),
        )
    },
}
OF_LABELS: dict[str, tuple[str, dict[str, Any]]] = {
    "rpp": ("rpp", {}),
    "rpp@2": ("rpp", {"k": 2}),
    "rpp@10": ("rpp", {"k": 10}),
}
BY_VALUE = (
    "kendall_tau",
    "spearman",
    "weighted_tau",
    "ndpm",
)  # these see equal scores as equal, the others by the tie rule
TIES = ["doc_desc", "doc_asc", "order", "best", "worst", "trec_eval"]


def pairs_frame(table: dict[str, list[Pair]], seed: int | None = None) -> pl.DataFrame:
    return frame(table, columns=("doc_id", "score", "other", "label"), seed=seed)


def wanted(table: dict[str, list[Pair]], text: str, ties: str) -> dict[str, float | None]:
    name, options = (CALLS | OF_LABELS)[text]
    policy = {} if name in BY_VALUE else {"ties": ties}
    return {query: AGREEMENT[name](rows, **options, **policy) for query, rows in table.items()}


@each("seed", range(3), sample=4)
@each("ties", TIES)
def test_values_are_the_oracles(ties: str, seed: int) -> None:
    table = random_pairs(seed)
    found = pairs_frame(table).rank.on(ties=ties).agreement("other", *CALLS, *OF_LABELS)
    assert found.columns == ["query_id", *CALLS, *OF_LABELS]
    assert found["query_id"].to_list() == list(table)
    for text in CALLS | OF_LABELS:
        assert_equal(values(found, text), wanted(table, text, ties), text)


@each("ties", [True, False])
def test_values_are_scipys(ties: bool) -> None:
    table = random_pairs(31, queries=80, ties=ties)
    found = pairs_frame(table, seed=1).rank.agreement("other", *CALLS)
    foreign: dict[str, dict[Any, float | None]] = defaultdict(dict)
    for query, name, options, value in scipy(table):
        foreign[f"{name}@{options['k']}" if options else name][query] = value
    assert set(foreign) == {
        "kendall_tau",
        "spearman",
        "tau_ap",
        "weighted_tau",
        *(f"kendall_distance@{k}" for k in (2, 3, 5, 100)),
    }
    for text, column in foreign.items():
        of_query = values(found, text)
        assert_equal({query: of_query[query] for query in column}, column, text)


def test_without_a_document_column_ties_keep_the_rows_order() -> None:
    table = random_pairs(32)
    numbered = {q: [(i, *row[1:]) for i, row in enumerate(rows)] for q, rows in table.items()}
    found = pairs_frame(table).drop("doc_id").rank.agreement("other", *CALLS)
    for text in CALLS:
        assert_equal(values(found, text), wanted(numbered, text, "order"), text)


def test_dropping_unjudged_documents_leaves_only_judged_ones_to_compare() -> None:
    table = random_pairs(37)
    table = {query: rows for query, rows in table.items() if any(row[3] is not None for row in rows)}
    judged = {query: [row for row in rows if row[3] is not None and row[3] >= 0] for query, rows in table.items()}
    found = pairs_frame(table).rank.on(unjudged="drop").agreement("other", *CALLS, *OF_LABELS)
    for text in CALLS | OF_LABELS:
        assert_equal(values(found, text), wanted(judged, text, "doc_desc"), text)


def test_a_table_without_labels_is_enough() -> None:
    table = random_pairs(33)
    found = pairs_frame(table).drop("label").rank.agreement("other", *CALLS)
    for text in CALLS:
        assert_equal(values(found, text), wanted(table, text, "doc_desc"), text)


@each("complete", [True, False], sample=2)
@each("engine", ["in-memory", "streaming"])
def test_lazy_is_eager(engine: Any, complete: bool) -> None:
    df = pairs_frame(random_pairs(34), seed=2)
    df = df.drop_nulls(["score", "other"]) if complete else df
    eager = df.rank.agreement("other", *CALLS, *OF_LABELS)
    lazy = df.lazy().rank.agreement("other", *CALLS, *OF_LABELS).collect(engine=engine)
    assert lazy.columns == eager.columns
    for text in CALLS | OF_LABELS:
        assert_equal(values(lazy, text), values(eager, text), text)


def test_a_ranking_agrees_with_itself_and_is_opposed_to_its_reverse() -> None:
    df = frame(random_pairs(35, ties=False), columns=("doc_id", "score", "other", "label"))
    df = df.with_columns(same=pl.col("score"), reverse=-pl.col("score"))
    correlations = [
        text for text in CALLS if text.startswith(("kendall", "spearman", "tau", "weighted", "ndpm", "footrule"))
    ]
    correlations = [text for text in correlations if not text.startswith("footrule@")]
    same, reverse = (df.rank.agreement(other, *correlations) for other in ("same", "reverse"))
    for text in correlations:
        distance = text.startswith(("kendall_distance", "ndpm", "footrule"))
        assert set(same[text].drop_nulls().round(12)) == {0.0 if distance else 1.0} or text.endswith("@1")
        assert set(reverse[text].drop_nulls().round(12)) == {1.0 if distance else -1.0} or text.endswith("@1")
    found = df.rank.agreement("same", "overlap", "rbo", "rbo_min", "rbo_residual").drop_nulls()
    assert found.height
    assert set(found["overlap"].round(12)) == set(found["rbo"].round(12)) == {1.0}
    assert set((found["rbo_min"] + found["rbo_residual"]).round(12)) == {1.0}


def test_rank_biased_overlap_stays_within_its_bounds_and_does_not_mind_which_ranking_is_which() -> None:
    df = pairs_frame(random_pairs(38, queries=200))
    overlaps = [text for text in CALLS if text.startswith(("overlap", "jaccard", "footrule", "rbo"))]
    found = df.rank.agreement("other", *overlaps)
    swapped = df.rank.on(score="other").agreement("score", *overlaps)
    for text in overlaps:
        assert_equal(values(swapped, text), values(found, text), text)
        assert found[text].drop_nulls().is_between(0, 1).all()
    for at in ("", "(p=0.5)", "(p=0.999)", "@1", "(p=0.1)@3", "(p=0.98)@10"):
        least, extrapolated, residual = (
            found[f"{name}{at}"].drop_nulls() for name in ("rbo_min", "rbo", "rbo_residual")
        )
        assert len(least) > 100
        assert (extrapolated - least > -1e-12).all()
        assert (least + residual - extrapolated > -1e-12).all()


# x, y and p with RBO extrapolated, least and residual in the variants w, a and b, as the paper's authors publish them
# (rbo/test.csv of julian-urbano/sigir2024-rbo); tied documents are in brackets.
PUBLISHED = [
    (
        "(i5 i9 i13 i15 i16 i19 i20) (i3 i8)|i6 (i4 i18) i2 i7 i8 i17 i14 (i11 i12) i1", 0.958074765324023,
        [0.0816485573277354, 0.0370062754797617, 0.557929421095898],
        [0.0808189832771587, 0.0354671825076603, 0.557929421095898],
        [0.0813693619867344, 0.0356267307324464, 0.557929421095898],
    ),
    (
        "i13 (i1 i4 i5 i6)|i3 i14 i11 (i10 i15) i12 (i6 i9) i4 i2", 0.92238320668128,
        [0.117578490431637, 0.0763135264223449, 0.463680134758586],
        [0.114619469221414, 0.0733545052121218, 0.464590602823269],
        [0.11474835409049, 0.0734833900811979, 0.465106142299574],
    ),
    (
        "i13 i4 (i1 i2 i5 i6)|i11 i14 i1 (i5 i6) (i3 i12) i8", 0.936646766367491,
        [0.419724384588563, 0.222485580291386, 0.495958440512111],
        [0.400042334962327, 0.19648716951006, 0.495958440512111],
        [0.410333982781949, 0.203127599510132, 0.495958440512111],
    ),
]  # fmt: skip


def scores(ranking: str) -> dict[str, float]:
    groups = re.findall(r"\([^)]*\)|\w+", ranking)
    return {doc: -float(i) for i, group in enumerate(groups) for doc in group.strip("()").split()}


@each(("rankings", "p", "w", "a", "b"), PUBLISHED)
def test_rank_biased_overlaps_of_ties_are_those_of_their_authors(
    rankings: str, p: float, w: list[float], a: list[float], b: list[float]
) -> None:
    one, two = map(scores, rankings.split("|"))
    rows = [("q", doc, one.get(doc), two.get(doc)) for doc in sorted({*one, *two})]
    df = pl.DataFrame(rows, schema=["query_id", "doc_id", "score", "other"], orient="row")
    for tied, wanted in (("w", w), ("a", a), ("b", b)):
        texts = [f"{name}(p={p},tied={tied})" for name in ("rbo", "rbo_min", "rbo_residual")]
        assert df.rank.agreement("other", *texts).row(0)[1:] == pytest.approx(wanted, abs=1e-12)
        assert df.rank.on(score="other").agreement("score", *texts).row(0)[1:] == pytest.approx(wanted, abs=1e-12)


def test_the_overlap_of_ties_is_its_mean_over_all_their_orders_and_b_gives_1_for_the_same_ranking() -> None:
    rows = [
        ("q", doc, score, other) for doc, score, other in zip("abcde", [3, 2, 2, 1, 1], [1, 1, 1, 2, 3], strict=True)
    ]
    df = pl.DataFrame(rows, schema=["query_id", "doc_id", "score", "other"], orient="row")
    orders = [
        pl.DataFrame(
            [("q", doc, place[i], other[i]) for i, doc in enumerate("abcde")],
            schema=df.schema,
            orient="row",
            strict=False,
        )
        for place in ([5, *x, *y] for x in ([4, 3], [3, 4]) for y in ([2, 1], [1, 2]))
        for other in ([*x, 4, 5] for x in itertools.permutations([1, 2, 3]))
    ]
    for name in ("rbo", "rbo_min", "rbo_residual"):
        mean = statistics.fmean(x.rank.agreement("other", f"{name}(p=0.7)").item(0, 1) for x in orders)
        assert df.rank.agreement("other", f"{name}(p=0.7,tied=a)").item(0, 1) == pytest.approx(mean, abs=1e-12)
    same = df.with_columns(other="score").rank.agreement("other", "rbo(tied=w)", "rbo(tied=b)", "rbo(tied=a)").row(0)
    assert same[1:3] == pytest.approx((1.0, 1.0))
    assert same[3] < 1


def test_only_overlaps_see_a_document_that_one_ranking_lacks() -> None:
    df = pl.DataFrame(
        {
            "query_id": ["q"] * 4,
            "doc_id": ["a", "b", "c", "d"],
            "score": [4.0, 3.0, 2.0, None],
            "other": [3.0, None, 2.0, 4.0],
        }
    )
    found = df.rank.agreement("other", "tau_ap", "kendall_distance@2", "spearman", "overlap@2", "overlap@3")
    assert found.row(0) == ("q", 1.0, 0.0, pytest.approx(1.0), 1 / 2, 2 / 3)


def test_a_ranking_without_documents_overlaps_with_none() -> None:
    df = pl.DataFrame({"query_id": ["q", "r"], "doc_id": ["a", "a"], "score": [1.0, None], "other": [None, None]})
    df = df.with_columns(pl.col("other").cast(pl.Float64))
    found = df.rank.agreement(
        "other", "overlap@2", "overlap", "rbo", "rbo_min", "rbo_residual", "tau_ap", "kendall_tau"
    )
    assert found.row(0) == ("q", 0.0, 0.0, 0.0, 0.0, pytest.approx(1.0), None, None)
    assert found.row(1) == ("r", *[None] * 7)


@each("measure", ["rbo", "rbo_min", "rbo_residual"])
@each("p", ["0", "1", "-0.1", "1.5", "high", "None", "True"])
def test_a_persistence_that_is_no_probability_is_an_error(measure: str, p: str) -> None:
    with pytest.raises(rf.InvalidOption, match=rf"{measure}\(p=.*\): write a number between 0 and 1"):
        pairs_frame(random_pairs(36)).lazy().rank.agreement("other", f"{measure}(p={p})")


def test_measures_have_the_names_that_others_give_them() -> None:
    found = pairs_frame(random_pairs(36)).rank.agreement("other", "tauAP", "RBO_ext@5", "rbo_res")
    assert found.columns == ["query_id", "tau_ap", "rbo@5", "rbo_residual"]


@each("measure", ["kendall", "kendall_distance@0", "spearman@3", "tau_ap@3", "overlap@0", "ndcg"])
def test_an_unknown_measure_is_an_error(measure: str) -> None:
    with pytest.raises(rf.RankframeError):
        pairs_frame(random_pairs(36)).rank.agreement("other", measure)


def test_an_empty_table_gives_an_empty_result() -> None:
    df = pl.DataFrame(schema={"query_id": pl.Int64, "doc_id": pl.String, "score": pl.Float64, "other": pl.Float64})
    found = df.rank.agreement("other", "kendall_tau", "kendall_distance@2")
    assert found.schema == {"query_id": pl.Int64, "kendall_tau": pl.Float64, "kendall_distance@2": pl.Float64}


def test_rounding_does_not_lift_the_overlap_of_equal_rankings_above_1() -> None:
    rows = [(n, f"d{i}", float(-i)) for n in range(1, 13) for i in range(n)]
    df = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row").with_columns(other=pl.col("score"))
    for p in (0.1, 0.3, 0.7, 0.9):
        found = df.rank.agreement("other", f"rbo(p={p})").to_series(1)
        assert found.max() <= 1  # type: ignore[operator]
        assert found.min() == pytest.approx(1)


def test_a_query_without_relevant_documents_prefers_neither_ranking_or_has_no_value() -> None:
    table = random_pairs(39)
    zero, null = (pairs_frame(table).rank.on(no_relevant=how).agreement("other", "rpp") for how in ("zero", "null"))
    assert_equal(values(zero, "rpp"), {query: AGREEMENT["rpp"](rows) for query, rows in table.items()}, "rpp")
    assert_equal(
        values(null, "rpp"), {query: AGREEMENT["rpp"](rows, null=True) for query, rows in table.items()}, "rpp"
    )
    assert null["rpp"].null_count() > 3


def test_the_threshold_of_relevance_tells_which_documents_are_compared() -> None:
    df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2, 1], "other": [1, 2], "label": [1, 2]})
    assert df.rank.agreement("other", "rpp")["rpp"].item() == 0.0
    assert df.rank.on(relevant=2).agreement("other", "recall_paired_preference")["rpp"].item() == -1.0


def test_exchanging_the_rankings_changes_the_sign_of_a_preference() -> None:
    df = pairs_frame(random_pairs(40))
    found, swapped = (
        df.rank.agreement("other", "rpp", "rpp@3"),
        df.rank.on(score="other").agreement("score", "rpp", "rpp@3"),
    )
    assert_equal(values(swapped, "rpp"), {query: x and -x for query, x in values(found, "rpp").items()}, "rpp")
    assert found["rpp"].n_unique() > 8
    assert found["rpp"].drop_nulls().is_between(-1, 1).all()


def test_a_preference_needs_labels() -> None:
    df = pairs_frame(random_pairs(41)).drop("label")
    for frame_ in (df, df.lazy()):
        with pytest.raises(rf.MissingColumn, match="no column 'label' for label"):
            frame_.rank.agreement("other", "rpp")
