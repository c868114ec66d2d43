"""What `fuse` does with the rows of a table: laws that every method keeps, policies, and frames of all kinds."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import cache
from itertools import permutations
from typing import Any

import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from rankframe._catalog.call import call_of
from rankframe._catalog.fusions import NORMALIZATIONS, Fusion, fusion_of
from rankframe._lift.arrow_kernel import kernel_of
from rankframe._lift.engine import OnQueries
from rankframe._table.setup import Setup
from rankframe._table.table import Whole
from rankframe._verbs.call.declaration import call_of_verb
from rankframe._verbs.fuse.fuse import fuse
from rankframe._words import rankings
from rankframe._words.rankings import Rankings
from tests.support.each import each


@each("dtype", ["int64", "float32", "Int64"])
def test_a_fused_score_in_pandas_does_not_take_the_type_of_the_scores(dtype: str) -> None:
    table = pd.DataFrame(
        {"run": ["a", "b"], "query_id": 1, "doc_id": ["x", "y"], "score": pd.Series([3, 2], dtype=dtype)}
    )
    fused = table.rank.fuse("rrf", run="run", depth=1)
    assert fused["score"].to_list() == [1 / 61, 1 / 61]
    assert fused["score"].dtype == "float64"


WEIGHTS = {"a": 0.5, "b": 0.3, "c": 0.2}
METHODS = [
    *rf.FUSIONS,
    *(  # every word of every option
        f"{name}({option}={word})"
        for name, entry in rf.FUSIONS.items()
        for option, kind in entry.kinds.items()
        if option not in ("normalize", "missing")
        for word in kind.words
        if word != entry.parameters[option].default
    ),
    *(f"comb_mnz(normalize={name},missing=min)" for name in NORMALIZATIONS),
]


def options(method: Any, runs: int = 3) -> dict[str, Any]:
    needed = method in ("wsum", "mixed", "wmnz", "borda", "condorcet", "qdrant_rrf")
    return {"weights": dict(list(WEIGHTS.items())[:runs])} if needed else {}


def random_runs(seed: int, queries: int = 30) -> pl.DataFrame:
    """Three runs of lists with ties, some empty, and judged documents that no run has."""
    draw = random.Random(seed)
    rows: list[Any] = []
    for query in range(queries):
        for run in WEIGHTS:
            docs = draw.sample(range(9), draw.choice([0, 1, 4, 9]))
            rows += [(run, query, f"d{doc}", float(draw.randint(0, 6)), doc % 3) for doc in docs]
        rows.append(("a", query, "unseen", None, 2))
    return pl.DataFrame(rows, schema=["run", "query_id", "doc_id", "score", "label"], orient="row")


RUNS = random_runs(1)


def scores(fused: Any) -> dict[Any, Any]:
    table = fused if isinstance(fused, pl.DataFrame) else pl.from_pandas(fused)
    return {(query, doc): score for query, doc, score in table.select("query_id", "doc_id", "score").iter_rows()}


def approx(expected: dict[Any, Any]) -> dict[Any, Any]:
    return {at: x if x is None else pytest.approx(x, rel=1e-12, abs=1e-12) for at, x in expected.items()}


def squares_of_the_best(r: Rankings, weight: float = 2.0) -> pl.Expr:
    """A method as a user writes it, with words of ranks, of scores and of whole rankings."""
    best = r.by_rank(1 / (r.rank + 1)) / r.length + r.score**2 / r.within_ranking(1 + (r.score**2).max())
    return weight * r.total(best) * r.n_listing.sqrt() + r.greatest(r.by_rank(1 / r.rank))


OWN = call_of(Fusion("squares_of_the_best", squares_of_the_best, bounds=(None, None), of="scores"), (), {"weight": 3})


@cache
def in_memory(method: Any) -> dict[Any, Any]:
    """The scores of the rows in memory."""
    return scores(RUNS.rank.fuse(method, run="run", **options(method)))


@each("method", [*METHODS, OWN], ids=str)
def test_the_order_of_rows_does_not_matter(method: Any) -> None:
    found = RUNS.sample(fraction=1, shuffle=True, seed=3).rank.fuse(method, run="run", **options(method))
    assert scores(found) == in_memory(method)  # to the last digit: ties stay ties


@each("method", [*METHODS, OWN], ids=str)
def test_a_further_query_changes_no_other(method: Any) -> None:
    with_all = in_memory(method)
    part = RUNS.filter(pl.col("query_id") != 4)
    without = scores(part.rank.fuse(method, run="run", **options(method)))
    assert without == approx({at: x for at, x in with_all.items() if at[0] != 4})


WIDE = RUNS.pivot("run", index=["query_id", "doc_id", "label"], values="score")
BY_QUERY = RUNS.sort("query_id", maintain_order=True)
FORMS: dict[str, Callable[..., Any]] = {
    "lazy": lambda m, needs: RUNS.lazy().rank.fuse(m, run="run", **needs).collect(),
    "spilled": lambda m, needs: RUNS.lazy().rank.on(memory_limit="20 KB").fuse(m, run="run", **needs).collect(),
    "grouped": lambda m, needs: BY_QUERY.lazy().rank.on(grouped=True).fuse(m, run="run", **needs).collect(),
    "wide": lambda m, needs: WIDE.rank.fuse(m, runs=["a", "b", "c"], **needs),
    "pandas": lambda m, needs: RUNS.to_pandas().rank.fuse(m, run="run", **needs),
    "buckets": lambda m, needs: in_buckets(RUNS, m, needs),
}


@each("form", FORMS, sample=16)
@each("method", [*METHODS, OWN], ids=str)
def test_every_form_of_a_table_gives_the_same_scores(method: Any, form: str) -> None:
    assert scores(FORMS[form](method, options(method))) == approx(in_memory(method))


def in_buckets(table: pl.DataFrame, method: Any, options: dict[str, Any]) -> pl.DataFrame:
    """The scores by a kernel, called with some of the queries at a time."""
    setup = Setup()
    if isinstance(method, str):
        given = {name: list(weights.values()) for name, weights in options.items()}
        kernel = rf.arrow_kernel(fusion=fusion_of(method, **given).text, run="run", runs=list(WEIGHTS))
    else:
        call = call_of_verb(fuse, method, run="run")
        kernel = kernel_of(setup, (), None, OnQueries(call, setup, Whole({}, [*WEIGHTS])))
    parts = table.with_columns(bucket=pl.col("query_id") % 3).partition_by("bucket", include_key=False)
    return pl.concat(pl.DataFrame(kernel(part.to_arrow())) for part in parts)


@each("method", METHODS)
def test_who_was_judged_changes_no_fused_score(method: str) -> None:
    every_third = pl.when(pl.col("doc_id").hash(3) % 3 > 0).then("label")
    df = RUNS.with_columns(label=every_third)
    wanted = in_memory(method)
    assert df["label"].null_count() > RUNS["label"].null_count()
    assert scores(df.rank.on(unjudged="drop").fuse(method, run="run", **options(method))) == wanted


SCALED = {"min_max": (3, -7), "min_max_inverted": (3, -7), "sum": (3, -7), "zmuv": (3, -7), "dbsf": (3, -7), "rank": (3, -7),
          "max": (3, 0), "l2": (3, 0)}  # fmt: skip


@each("name", NORMALIZATIONS)
def test_normalised_scores_do_not_depend_on_the_scale_of_a_run(name: str) -> None:
    factor, shift = SCALED[name]
    moved = pl.when(pl.col("run") == "b").then(pl.col("score") * factor + shift).otherwise("score")
    expected = scores(RUNS.rank.fuse("comb_sum", run="run", normalize=name))
    found = scores(RUNS.with_columns(moved.alias("score")).rank.fuse("comb_sum", run="run", normalize=name))
    assert found == approx(expected)


@each(
    ("method", "shift"),
    [("qdrant_dbsf", -7), ("llamaindex(mode=relative_score)", 0), ("llamaindex(mode=dist_based_score)", 0),
     ("opensearch_hybrid", 0), ("opensearch_hybrid(normalization=l2)", 0)],
)  # fmt: skip
def test_scores_normalised_by_an_engine_do_not_depend_on_the_scale_of_a_run(method: str, shift: float) -> None:
    moved = pl.when(pl.col("run") == "b").then(pl.col("score") * 3 + shift).otherwise("score")
    found = RUNS.with_columns(moved.alias("score")).rank.fuse(method, run="run")
    assert scores(found) == approx(scores(RUNS.rank.fuse(method, run="run")))


@each("name", [x.name for x in rf.FUSIONS.values() if x.of == "scores"])
def test_scores_that_are_added_up_as_they_are_scale_the_fused_score(name: str) -> None:
    expected = scores(RUNS.rank.fuse(name, run="run", **options(name)))
    fourfold = scores(RUNS.with_columns(pl.col("score") * 4).rank.fuse(name, run="run", **options(name)))
    assert fourfold == {at: None if x is None else 4 * x for at, x in expected.items()}


@each("name", [x.name for x in rf.FUSIONS.values() if x.of == "ranks"])
def test_a_method_by_ranks_does_not_depend_on_the_size_of_scores(name: str) -> None:
    expected = scores(RUNS.rank.fuse(name, run="run"))
    assert scores(RUNS.with_columns(pl.col("score").exp()).rank.fuse(name, run="run")) == expected


# log_isr gives 0 to all; distances are turned round; OpenSearch makes a score at the mean the greatest of its ranking.
UNORDERED = ("log_isr", "comb_mnz(normalize=min_max_inverted,missing=min)", "opensearch_hybrid(normalization=z_score)")


@each("method", [*(x for x in METHODS if x not in UNORDERED), OWN], ids=str)
def test_a_run_fused_alone_keeps_its_order(method: Any) -> None:
    alone = RUNS.filter(pl.col("run") == "a")
    fused = alone.rank.fuse(method, run="run", **options(method, 1))
    both = alone.join(fused.select("query_id", "doc_id", fused="score"), on=["query_id", "doc_id"]).drop_nulls("fused")
    above = both.join(both, on="query_id").filter(pl.col("score") > pl.col("score_right"))
    assert above.height > 50
    assert above.select((pl.col("fused") >= pl.col("fused_right") - 1e-15).all()).item()


@each("method", ["rrf", "comb_sum(normalize=min_max)", "condorcet"])
def test_ascending_scores_are_distances(method: str) -> None:
    expected = scores(RUNS.with_columns(-pl.col("score")).rank.fuse(method, run="run"))
    assert scores(RUNS.rank.on(ascending=True).fuse(method, run="run")) == approx(expected)


@each("method", ["rrf", "rbc", "comb_sum(normalize=min_max)", "qdrant_rrf"])
def test_documents_with_the_same_terms_in_other_runs_are_tied(method: str) -> None:
    ranks = list(permutations(range(1, 5)))
    table = pl.DataFrame([(1, f"d{i}", *(-float(x) for x in of)) for i, of in enumerate(ranks)], orient="row",
                         schema=["query_id", "doc_id", *"abcd"])  # fmt: skip
    fused = table.rank.on(ties="expected").fuse(method, runs=list("abcd"))
    assert fused["score"].n_unique() == 1


def test_a_sum_is_rounded_once() -> None:
    draw = random.Random(5)
    rows = [(query, f"d{doc}", *(draw.uniform(-9, 9) for _ in "abcde")) for query in range(20) for doc in range(9)]
    table = pl.DataFrame(rows, schema=["query_id", "doc_id", *"abcde"], orient="row")
    fused = table.rank.fuse("comb_sum", runs=list("abcde"))["score"].to_list()
    assert fused == [math.fsum(row[2:]) for row in rows]


TIED = pl.DataFrame({"run": "a", "query_id": 1, "doc_id": ["b", "a", "c"], "score": [2.0, 2, 1], "label": [0, 1, 1]})


@each(
    ("ties", "expected"),
    [
        ("doc_desc", [1 / 2, 1 / 3, 1 / 4]), ("doc_asc", [1 / 3, 1 / 2, 1 / 4]), ("order", [1 / 2, 1 / 3, 1 / 4]),
        ("best", [1 / 3, 1 / 2, 1 / 4]), ("worst", [1 / 2, 1 / 3, 1 / 4]), ("expected", [5 / 12, 5 / 12, 1 / 4]),
    ],
)  # fmt: skip
def test_equal_scores_of_a_ranking_stand_by_the_tie_rule(ties: Any, expected: list[float]) -> None:
    fused = TIED.rank.on(ties=ties).fuse("rrf(k=1)", run="run")
    assert fused["score"].to_list() == pytest.approx(expected, abs=1e-15)


def test_equal_scores_cast_no_vote_in_a_duel_where_ties_count_by_expectation() -> None:
    assert TIED.rank.on(ties="expected").fuse("condorcet", run="run")["score"].to_list() == [1.5, 1.5, 0]
    assert TIED.rank.fuse("condorcet", run="run")["score"].to_list() == [2, 1, 0]


def test_votes_that_differ_by_rounding_alone_are_a_draw() -> None:
    rows = [("a", "x", 2.0), ("a", "y", 1.0), ("b", "x", 2.0), ("b", "y", 1.0), ("c", "y", 2.0), ("c", "x", 1.0)]
    table = pl.DataFrame(rows, schema=["run", "doc_id", "score"], orient="row").with_columns(query_id=pl.lit(1))
    fused = table.rank.fuse("condorcet(weights=[0.1,0.2,0.3])", run="run")  # 0.1 + 0.2 is 0.30000000000000004
    assert fused["score"].to_list() == [0.5, 0.5]


@each("pairs", [1, 10, 80, 1000])
@each("weights", [None, WEIGHTS])
def test_duels_do_not_depend_on_the_blocks_in_which_pairs_are_compared(
    pairs: int, weights: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = scores(RUNS.rank.fuse("condorcet", run="run", weights=weights))
    monkeypatch.setattr(rankings, "PAIRS", pairs)
    assert scores(RUNS.rank.fuse("condorcet", run="run", weights=weights)) == expected


def test_a_query_with_more_pairs_than_a_block_is_fused() -> None:
    docs = range(2500)  # 6.25 million pairs
    table = pl.DataFrame({"query_id": 1, "doc_id": docs, "x": [float(i) for i in docs], "y": [float(i) for i in docs]})
    assert table.rank.fuse("condorcet", runs=["x", "y"])["score"].to_list() == list(docs)


@each("weights", [None, {"a": 0.3, "b": 0.7}])
def test_a_run_that_has_no_documents_in_any_query_counts_in_no_method(weights: Any) -> None:
    table = pl.DataFrame({"query_id": [1, 1], "doc_id": ["x", "y"], "a": [2.0, 1.0], "b": [None, None]})
    found = table.rank.fuse("condorcet", runs=["a", "b"], weights=weights)
    assert found["score"].to_list() == [1, 0]


@each("method", METHODS)
def test_a_table_without_rows_gives_none(method: str) -> None:
    assert RUNS.clear().rank.fuse(method, run="run", **options(method)).rows() == []


BAD = {
    "NaN": (pl.col("score").replace({6.0: float("nan")}), "NaN"),
    "infinite": (pl.col("score").replace({6.0: float("inf")}), "a score is infinite"),
    "negative": (pl.col("score") - 3, "a score is negative; write 'min_max'"),
}


@each("kind", BAD)
@each("form", ["eager", "lazy", "pandas"])
def test_scores_that_cannot_be_added_up_are_refused(kind: str, form: str) -> None:
    change, message = BAD[kind]
    table = RUNS.with_columns(change)

    def fused() -> Any:
        if form == "lazy":
            return table.lazy().rank.fuse("comb_sum(normalize=max)", run="run").collect()
        return (table if form == "eager" else table.to_pandas()).rank.fuse("comb_sum(normalize=max)", run="run")

    if (kind, form) == ("NaN", "pandas"):  # pandas has no null of its own: NaN is a missing score there
        assert len(fused()) == len(RUNS.unique(["query_id", "doc_id"]))
        return
    with pytest.raises((rf.errors.InvalidData, pl.exceptions.ComputeError), match=message):
        fused()


def test_an_infinite_score_has_a_rank() -> None:
    table = RUNS.with_columns(pl.col("score").replace({6.0: float("inf")}))
    assert scores(table.rank.fuse("rrf", run="run")) == scores(RUNS.rank.fuse("rrf", run="run"))


@each("null", [False, True])
def test_a_document_twice_in_a_ranking_is_refused(*, null: bool) -> None:
    score = [2.0, 1.0, None] if null else [2.0, 1.0, 3.0]
    table = pl.DataFrame({"run": "a", "query_id": 1, "doc_id": ["x", "y", "x"], "score": score})
    with pytest.raises(rf.errors.InvalidData, match="doc"):
        table.rank.fuse("rrf", run="run")


def test_the_same_document_may_stand_in_several_runs_and_queries() -> None:
    table = pl.DataFrame({"run": ["a", "b", "a"], "query_id": [1, 1, 2], "doc_id": "x", "score": 1.0})
    assert table.rank.fuse("rrf(k=0)", run="run").rows() == [(1, "x", 2.0), (2, "x", 1.0)]


def test_the_depth_of_a_policy_counts_unless_the_method_says_another() -> None:
    def found(**given: Any) -> list[float | None]:
        return TIED.rank.on(depth=1).fuse("rrf(k=0)", run="run", **given)["score"].to_list()

    assert found() == [1, None, None]
    assert found(depth=2) == [1, 0.5, None]
    window = TIED.rank.on(depth=1).fuse("elasticsearch_rrf(rank_constant=1)", run="run")["score"].to_list()
    assert window == [0.5, None, None]


def test_a_label_that_one_run_lacks_is_that_of_the_other_and_two_labels_are_refused_by_name() -> None:
    one = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, None]})
    other = one.with_columns(label=pl.Series([None, 2], dtype=pl.Int64))
    assert one.rank.fuse("rrf", runs={"one": one, "other": other})["label"].to_list() == [1, 2]
    unlike = one.with_columns(label=pl.Series([1, 3]))
    with pytest.raises(rf.InvalidData, match="document 'b' of query_id 1 has the labels 2 and 3 in different runs"):
        unlike.rank.fuse("rrf", runs={"unlike": unlike, "other": one.with_columns(label=pl.Series([1, 2]))})
