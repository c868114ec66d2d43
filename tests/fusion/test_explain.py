"""What each run contributes to a fused score: worked values, and sums that give the score back."""

from __future__ import annotations

import random
from functools import partial
from itertools import product
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe._catalog.fusions import NORMALIZATIONS
from rankframe._table.setup import Setup
from rankframe._table.table import Whole, in_memory
from rankframe._verbs.fuse.fuse import fuse
from tests.support.each import each

from .test_worked_values import LONG, WIDE

NO_SUM = {"comb_min", "comb_max", "comb_med", "condorcet", "haystack", "llamaindex"}
WEIGHTS = {"weights": [0.5, 0.3, 0.2]}


def contributions(found: pl.DataFrame) -> dict[tuple[str, str], float]:
    """The contributions by document and run."""
    return {(row["doc_id"], row["run"]): row["contribution"] for row in found.iter_rows(named=True)}


def random_runs(seed: int) -> pl.DataFrame:
    """Three runs of five queries with documents in common, ties, and a query that one run lacks."""
    draw = random.Random(seed)
    rows = [
        (run, query, doc, float(draw.randint(1, 9)))
        for run in "abc"
        for query in range(5)
        for doc in range(8)
        if draw.random() < 0.6 and (run, query) != ("c", 4)
    ]
    return pl.DataFrame(rows, schema=["run", "query_id", "doc_id", "score"], orient="row")


def test_a_run_contributes_its_term_of_reciprocal_rank_fusion() -> None:
    assert contributions(LONG.rank.fusion.explain("rrf", run="run")) == pytest.approx(
        {
            ("d1", "A"): 1 / 61, ("d1", "B"): 1 / 63, ("d2", "A"): 1 / 62, ("d2", "C"): 1 / 61, ("d3", "A"): 1 / 63,
            ("d3", "B"): 1 / 61, ("d4", "A"): 1 / 64, ("d5", "B"): 1 / 62,
        },
        abs=1e-15,
    )  # fmt: skip


def test_the_factor_of_a_document_is_in_each_contribution() -> None:
    # two runs have d1, d2 and d3, so that CombMNZ doubles their normalised scores
    found = LONG.rank.fusion.explain("comb_mnz(normalize=min_max)", run="run")
    assert contributions(found) == pytest.approx(
        {
            ("d1", "A"): 2, ("d1", "B"): 0, ("d2", "A"): 10 / 7, ("d2", "C"): 2, ("d3", "A"): 8 / 7, ("d3", "B"): 2,
            ("d4", "A"): 0, ("d5", "B"): 1 / 3,
        },
        abs=1e-12,
    )  # fmt: skip
    assert found.filter(doc_id="d5").row(0, named=True) == {
        "query_id": "q", "doc_id": "d5", "run": "B", "rank": 2, "score": 0.6, "normalized": pytest.approx(1 / 3),
        "contribution": pytest.approx(1 / 3), "fused": pytest.approx(1 / 3), "fused_rank": 4,
    }  # fmt: skip


def test_a_sum_of_weights_is_a_factor_too() -> None:
    # d1 is in A (9, weight 0.5) and B (0.5, weight 0.3): (9 + 0.5) * 0.8
    found = contributions(LONG.rank.fusion.explain("wmnz", run="run", **WEIGHTS))
    assert (found["d1", "A"], found["d1", "B"]) == pytest.approx((7.2, 0.4), abs=1e-12)


def test_terms_that_cancel_out_are_shown_with_their_factor() -> None:
    df = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "x": [3.0], "y": [-3.0]})
    found = df.rank.fusion.explain("comb_mnz", runs=["x", "y"])
    assert found.select("contribution", "fused").rows() == [(6.0, 0.0), (-6.0, 0.0)]


def test_runs_that_lack_a_document_have_a_row_where_the_method_counts_absences() -> None:
    found = LONG.rank.fusion.explain("borda", run="run").filter(doc_id="d4")
    # five candidates; A has four, d4 last: 2 points; B has three: (5 - 3 + 1) / 2; C has one: (5 - 1 + 1) / 2
    assert found.select("run", "rank", "score", "contribution").rows() == [
        ("A", 4, 2.0, 2.0), ("B", None, None, 1.5), ("C", None, None, 2.5),
    ]  # fmt: skip


def test_an_absent_document_that_counts_as_the_least_contributes_that_score() -> None:
    found = LONG.rank.fusion.explain("comb_sum(missing='min')", run="run").filter(doc_id="d4")
    assert found.select("run", "normalized", "contribution").rows() == [
        ("A", 2.0, 2.0),
        ("B", 0.5, 0.5),
        ("C", 3.0, 3.0),
    ]


@each("method", sorted(NO_SUM))
def test_a_method_that_is_no_sum_has_no_contributions(method: str) -> None:
    found = LONG.rank.fusion.explain(method, run="run")
    assert found["contribution"].null_count() == found.height > 0
    assert found["fused"].null_count() == 0


def sums() -> list[tuple[str, dict[str, Any]]]:
    """The methods that are sums, with all that their scores may be."""
    found: list[tuple[str, dict[str, Any]]] = []
    for name in rf.FUSIONS.keys() - NO_SUM:
        accepted = rf.FUSIONS[name].parameters
        weights = WEIGHTS if "weights" in accepted else {}
        scores = product(["skip", "zero", "min"], [None, *NORMALIZATIONS]) if "normalize" in accepted else []
        given = [{"missing": missing, "normalize": normalize} for missing, normalize in scores]
        found += [(name, {**weights, **options}) for options in given or [{}]]
    return sorted(found, key=str)


@each("case", sums(), ids=str, sample=34)
@each("ties", ["doc_asc", "expected"])
def test_contributions_of_a_document_add_up_to_its_fused_score(case: tuple[str, dict[str, Any]], ties: str) -> None:
    (method, options), df = case, random_runs(7)
    found = df.rank.on(ties=ties).fusion.explain(method, run="run", **options)
    summed = found.group_by("query_id", "doc_id").agg(pl.col("contribution").sum(), pl.col("fused").first())
    fused = df.rank.on(ties=ties).fuse(method, run="run", **options)
    both = summed.join(fused, on=["query_id", "doc_id"], validate="1:1")
    assert both.height == fused.height
    assert both["contribution"].to_list() == pytest.approx(both["score"].to_list(), abs=1e-12)
    assert both["fused"].to_list() == both["score"].to_list()


@each("form", ["wide", "lazy", "pandas", "spilled"])
def test_every_kind_of_table_gives_the_same_explanation(form: str) -> None:
    df = random_runs(3)
    wide = df.pivot("run", index=["query_id", "doc_id"], values="score").select("query_id", "doc_id", "a", "b", "c")
    expected = df.rank.fusion.explain("borda", run="run").sort("query_id", "doc_id", "run")
    match form:
        case "wide":
            found = wide.rank.fusion.explain("borda", runs=["a", "b", "c"])
        case "lazy":
            found = df.lazy().rank.fusion.explain("borda", run="run").collect()
        case "spilled":
            found = df.lazy().rank.on(memory_limit=1).fusion.explain("borda", run="run").collect()
        case _:
            found = pl.from_pandas(df.to_pandas().rank.fusion.explain("borda", run="run"))
    found = found.cast(dict(expected.schema)).sort("query_id", "doc_id", "run")
    assert found.equals(expected)


def test_the_fused_rank_follows_the_tie_rule() -> None:
    # d1 and d3 have the same fused score under reciprocal rank fusion
    for ties, expected in (("doc_asc", ["d2", "d1", "d3"]), ("doc_desc", ["d2", "d3", "d1"])):
        found = LONG.rank.on(ties=ties).fusion.explain("rrf", run="run")
        assert found.unique("doc_id").sort("fused_rank")["doc_id"].to_list()[:3] == expected


def test_scores_where_less_is_better_give_fused_scores_where_more_is_better() -> None:
    df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "x": [1.0, 2.0], "y": [0.1, 0.2]})
    found = df.rank.on(ascending=True).fusion.explain("rrf", runs=["x", "y"])
    assert found.select("doc_id", "rank", "fused_rank").rows() == [("a", 1, 1), ("a", 1, 1), ("b", 2, 2), ("b", 2, 2)]


@each("verb", ["fuse", "explain"])
def test_pandas_keeps_labels_and_takes_whole_numbers_as_scores(verb: str) -> None:
    df = WIDE.select("query_id", "doc_id", pl.col("A", "C").fill_null(1).cast(int), label=pl.int_range(5)).to_pandas()
    found = getattr(df.rank.fusion, verb)("wsum", runs=["A", "C"], weights=[0.5, 0.25])
    assert dict(zip(found["doc_id"], found["label"], strict=True)) == dict(zip(df["doc_id"], df["label"], strict=True))
    assert (found["label"].dtype, found["score"].dtype) == ("int64", "float64")


def test_documents_that_no_run_has_are_left_out() -> None:
    df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "x": [1.0, None], "y": [None, None], "label": [1, 1]})
    found = df.rank.fusion.explain("rrf", runs=["x", "y"])
    assert found.select("doc_id", "run", "label").rows() == [("a", "x", 1)]


def test_a_table_whose_document_has_the_name_of_a_new_column_is_refused() -> None:
    df = pl.DataFrame({"query_id": [1], "fused": ["a"], "x": [1.0]})
    with pytest.raises(rf.InvalidOption, match="'fused'"):
        df.rank.on(doc="fused").fusion.explain("rrf", runs=["x"])


def test_an_explanation_without_runs_says_how_to_name_them() -> None:
    with pytest.raises(rf.InvalidOption, match=r"name the runs: runs=\['bm25', 'ltr'\]"):
        LONG.rank.fusion.explain("rrf")


def test_bounds_of_scores_are_refused() -> None:
    with pytest.raises(rf.InvalidOption, match="gives each metric two columns"):
        LONG.rank.on(unjudged="bounds").fusion.explain("rrf", run="run")


def test_weights_are_named_where_runs_have_no_order() -> None:
    of_part = partial(fuse, in_memory(LONG, Setup(), Whole({}, frozenset("ABC"))), "rrf", run="run")
    with pytest.raises(rf.InvalidOption, match=r"name the run of each weight: weights=\{'bm25': 0.7, 'dense': 0.3\}"):
        of_part(weights=[0.5, 0.3, 0.2])
    found = of_part(weights={"C": 0.2, "B": 0.3, "A": 0.5})
    assert found.equals(LONG.rank.fuse("rrf", run="run", **WEIGHTS))


def test_the_names_of_runs_are_texts_on_pandas_too() -> None:
    df = LONG.with_columns(run=pl.col("run").replace_strict({"A": 1, "B": 2, "C": 3})).to_pandas()
    found = df.rank.on(query=["run", "query_id"]).fusion.explain("rrf", run="run")
    assert {type(name) for name in found["run"]} == {str}
