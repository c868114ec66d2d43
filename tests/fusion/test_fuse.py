"""What `fuse` does with the rows of a table: laws that every method keeps, policies, and frames of all kinds."""

from __future__ import annotations

import random
from typing import Any

import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from rankframe._catalog.fusions import NORMALIZATIONS
from rankframe._words import duels
from tests.support.calls import thinned


@pytest.mark.parametrize("dtype", ["int64", "float32", "Int64"])
def test_a_fused_score_in_pandas_does_not_take_the_type_of_the_scores(dtype: str) -> None:
    table = pd.DataFrame(
        {"run": ["a", "b"], "query_id": 1, "doc_id": ["x", "y"], "score": pd.Series([3, 2], dtype=dtype)}
    )
    fused = table.rank.fuse("rrf", run="run", depth=1)
    assert fused["score"].to_list() == [1 / 61, 1 / 61]
    assert fused["score"].dtype == "float64"


WEIGHTS = {"a": 0.5, "b": 0.3, "c": 0.2}
METHODS = [
    *(name for name in rf.FUSIONS if "weights" not in rf.FUSIONS[name].parameters),
    *(
        "rrf",
        "rbc",
        "borda",
        "condorcet",
        "elasticsearch_rrf",
        "elasticsearch_linear(normalizer=minmax)",
        "opensearch_rrf",
    ),
    *("opensearch_hybrid", "opensearch_hybrid(normalization=z_score)", "qdrant_rrf", "langchain"),
    *("llamaindex(mode=relative_score)", "haystack(join_mode=merge)", "wsum", "mixed", "wmnz"),
    *(f"comb_mnz(normalize={name},missing=min)" for name in NORMALIZATIONS),
]


def options(method: str, runs: int = 3) -> dict[str, Any]:
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


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_rows_does_not_matter(method: str) -> None:
    shuffled = RUNS.sample(fraction=1, shuffle=True, seed=3)
    expected = scores(RUNS.rank.fuse(method, run="run", **options(method)))
    assert scores(shuffled.rank.fuse(method, run="run", **options(method))) == approx(expected)


@pytest.mark.parametrize("method", METHODS)
def test_a_further_query_changes_no_other(method: str) -> None:
    with_all = scores(RUNS.rank.fuse(method, run="run", **options(method)))
    part = RUNS.filter(pl.col("query_id") != 4)
    without = scores(part.rank.fuse(method, run="run", **options(method)))
    assert without == approx({at: x for at, x in with_all.items() if at[0] != 4})


@pytest.mark.parametrize("method", thinned(METHODS, 2))
def test_every_form_of_a_table_gives_the_same_scores(method: str) -> None:
    needs = options(method)
    expected = approx(scores(RUNS.rank.fuse(method, run="run", **needs)))
    lazy = RUNS.lazy()
    wide = RUNS.pivot("run", index=["query_id", "doc_id", "label"], values="score")
    by_query = RUNS.sort("query_id", maintain_order=True).lazy()
    for found in (
        lazy.rank.fuse(method, run="run", **needs).collect(),
        lazy.rank.on(memory_limit="1 KB").fuse(method, run="run", **needs).collect(),
        by_query.rank.on(grouped=True).fuse(method, run="run", **needs).collect(),
        wide.rank.fuse(method, runs=["a", "b", "c"], **needs),
        RUNS.to_pandas().rank.fuse(method, run="run", **needs),
    ):
        assert scores(found) == expected


SCALED = {"min_max": (3, -7), "min_max_inverted": (3, -7), "sum": (3, -7), "zmuv": (3, -7), "dbsf": (3, -7), "rank": (3, -7),
          "max": (3, 0), "l2": (3, 0)}  # fmt: skip


@pytest.mark.parametrize("name", NORMALIZATIONS)
def test_normalised_scores_do_not_depend_on_the_scale_of_a_run(name: str) -> None:
    factor, shift = SCALED[name]
    moved = pl.when(pl.col("run") == "b").then(pl.col("score") * factor + shift).otherwise("score")
    expected = scores(RUNS.rank.fuse("comb_sum", run="run", normalize=name))
    found = scores(RUNS.with_columns(moved.alias("score")).rank.fuse("comb_sum", run="run", normalize=name))
    assert found == approx(expected)


@pytest.mark.parametrize("name", [x.name for x in rf.FUSIONS.values() if x.of == "ranks"])
def test_a_method_by_ranks_does_not_depend_on_the_size_of_scores(name: str) -> None:
    expected = scores(RUNS.rank.fuse(name, run="run"))
    assert scores(RUNS.with_columns(pl.col("score").exp()).rank.fuse(name, run="run")) == expected


# log_isr gives 0 to what one run alone has; distances are turned round; OpenSearch lifts some scores above better ones.
UNORDERED = ("log_isr", "comb_mnz(normalize=min_max_inverted,missing=min)", "opensearch_hybrid",
             "opensearch_hybrid(normalization=z_score)")  # fmt: skip


@pytest.mark.parametrize("method", [x for x in METHODS if x not in UNORDERED])
def test_a_run_fused_alone_keeps_its_order(method: str) -> None:
    alone = RUNS.filter(pl.col("run") == "a")
    fused = alone.rank.fuse(method, run="run", **options(method, 1))
    both = alone.join(fused.select("query_id", "doc_id", fused="score"), on=["query_id", "doc_id"]).drop_nulls("fused")
    above = both.join(both, on="query_id").filter(pl.col("score") > pl.col("score_right"))
    assert above.height > 50
    assert above.select((pl.col("fused") >= pl.col("fused_right") - 1e-15).all()).item()


@pytest.mark.parametrize("method", ["rrf", "comb_sum(normalize=min_max)", "condorcet"])
def test_ascending_scores_are_distances(method: str) -> None:
    expected = scores(RUNS.with_columns(-pl.col("score")).rank.fuse(method, run="run"))
    assert scores(RUNS.rank.on(ascending=True).fuse(method, run="run")) == approx(expected)


TIED = pl.DataFrame({"run": "a", "query_id": 1, "doc_id": ["b", "a", "c"], "score": [2.0, 2, 1], "label": [0, 1, 1]})


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("pairs", [1, 10, 80, 1000])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_duels_do_not_depend_on_the_blocks_in_which_pairs_are_compared(
    pairs: int, weights: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = scores(RUNS.rank.fuse("condorcet", run="run", weights=weights))
    monkeypatch.setattr(duels, "PAIRS", pairs)
    assert scores(RUNS.rank.fuse("condorcet", run="run", weights=weights)) == expected


def test_a_query_with_more_pairs_than_a_block_is_fused() -> None:
    docs = range(2500)  # 6.25 million pairs
    table = pl.DataFrame({"query_id": 1, "doc_id": docs, "x": [float(i) for i in docs], "y": [float(i) for i in docs]})
    assert table.rank.fuse("condorcet", runs=["x", "y"])["score"].to_list() == list(docs)


@pytest.mark.parametrize("weights", [None, {"a": 0.3, "b": 0.7}])
def test_a_run_that_has_no_documents_in_any_query_counts_in_no_method(weights: Any) -> None:
    table = pl.DataFrame({"query_id": [1, 1], "doc_id": ["x", "y"], "a": [2.0, 1.0], "b": [None, None]})
    found = table.rank.fuse("condorcet", runs=["a", "b"], weights=weights)
    assert found["score"].to_list() == [1, 0]


@pytest.mark.parametrize("method", METHODS)
def test_a_table_without_rows_gives_none(method: str) -> None:
    assert RUNS.clear().rank.fuse(method, run="run", **options(method)).rows() == []


BAD = {
    "NaN": (pl.col("score").replace({6.0: float("nan")}), "NaN"),
    "infinite": (pl.col("score").replace({6.0: float("inf")}), "a score is infinite"),
    "negative": (pl.col("score") - 3, "a score is negative; write 'min_max'"),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("form", ["eager", "lazy", "pandas"])
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


@pytest.mark.parametrize("null", [False, True])
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
