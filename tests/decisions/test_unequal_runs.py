"""Runs that are judged or cut unequally: what comparisons, gates, plots and reports say; expected figures by hand."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe._command import main
from rankframe._results.result import render
from rankframe._table.conventions import CONVENTIONS
from tests.support.each import each
from tests.support.undrawn import undrawn

pytestmark = pytest.mark.filterwarnings("ignore:documents with higher labels", "ignore:25% of labels are null")
"""Tables here are made for their judgments, not for good rankings."""

QUERIES = 20


def documents(**columns: list[Any]) -> pl.DataFrame:
    """The same documents in each query, with these columns."""
    n = len(next(iter(columns.values())))
    of_all = {name: values * QUERIES for name, values in columns.items()}
    return pl.DataFrame({"query_id": [q for q in range(QUERIES) for _ in range(n)], **of_all})


TRUTH = documents(doc_id=list("abcd"), label=[0, 1, 1, 0], old=[4, 3, 2, 1], new=[1, 2, 4, 3])
"""Either run has one relevant document among its first two: the old run b, the new run c."""

BY_OLD = TRUTH.with_columns(label=pl.when(pl.col("doc_id").is_in(["a", "b"])).then("label"))
"""People judged what the old run returned."""

BOTH: Any = {"runs": ["old", "new"]}

SAYS_JUDGED = "The runs differ in judged@2: 1.00 (old) and 0.00 (new)."


def compared(df: Any, *metrics: str, **options: Any) -> Any:
    return df.rank.compare(*metrics, resamples=99, **{**BOTH, **options})


def test_a_run_of_unjudged_documents_is_said_to_be_so_and_is_as_good_once_they_are_judged() -> None:
    with pytest.warns(rf.RankframeWarning, match=r"^judged@2 is 1\.00 \(old\) and 0\.00 \(new\), ") as caught:
        found = compared(BY_OLD, "precision@2")
    assert found.table["difference"].to_list() == [-0.5]  # the trap: an unjudged document counts as not relevant
    (text,) = (str(x.message) for x in caught)
    advice = "df.rank.collection.pool(depth=2, runs=['old', 'new'])"
    assert text.endswith(f"judge those that {advice} lists")
    pool = eval(advice, {"df": BY_OLD})
    assert {*pool["doc_id"]} == {"c", "d"}
    judged = BY_OLD.join(pool, on=["query_id", "doc_id"], how="left").join(
        TRUTH.select("query_id", "doc_id", right="label"), on=["query_id", "doc_id"]
    )
    right = judged.with_columns(label=pl.coalesce("label", pl.when(pl.col("n_runs") > 0).then("right")))
    assert compared(right, "precision@2").table["difference"].to_list() == [0.0]


def test_what_a_comparison_says_of_its_runs_is_in_every_display_and_in_the_gate_the_plots_and_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rf.RankframeWarning)
        found = compared(BY_OLD, "precision@2")
        verdict = BY_OLD.rank.gate({"precision@2": 0.1}, **BOTH)
        picture = BY_OLD.rank.plot.distribution("precision@2", **BOTH)
        axes = BY_OLD.to_pandas().rank.plot.curve("precision", **BOTH)
        with undrawn():
            page = BY_OLD.rank.report(tmp_path / "x.html", "precision@2", resamples=99, **BOTH).read_text("utf-8")
        BY_OLD.write_parquet(tmp_path / "x.parquet")
        assert main(["compare", str(tmp_path / "x.parquet"), "--runs", "old,new", "-m", "P@2"]) == 0
        assert main(["gate", str(tmp_path / "x.parquet"), "--runs", "old,new", "--budget", "P@2=0.1"]) == 1
    for result in (found, verdict):
        for how in ("text", "html", "markdown"):
            assert SAYS_JUDGED in render(result, how), how
        settings = json.loads(render(result, "json"))["settings"]
        assert settings["run_sizes"] == {
            "judged@2": {"old": 1.0, "new": 0.0},
            "documents per query": {"old": 4.0, "new": 4.0},
        }
    assert SAYS_JUDGED.removesuffix(".") in found.to_markdown()
    assert SAYS_JUDGED in " ".join(picture.title.subtitle)
    under = " ".join(text.get_text() for text in axes.texts).replace("\n", " ")
    assert "The runs differ in judged@10: 0.50 (old) and 0.50 (new)" not in under  # a and b are 2 of 4 in both
    assert page.count("The runs differ in") == 1
    assert SAYS_JUDGED in page
    printed = capsys.readouterr()
    assert printed.out.count(SAYS_JUDGED) == 2
    assert printed.err.count("judge those that rankframe pool --depth 2 --runs old,new lists") == 2


SHALLOW = documents(doc_id=list("abcd"), label=[1, 0, 0, 1], old=[4, 3, 2, 1], new=[2, None, None, None])
"""The old run holds all documents, and the new run the first of them."""


def test_a_run_that_was_cut_higher_up_is_said_to_be_so_and_is_as_good_at_one_depth() -> None:
    with pytest.warns(rf.RankframeWarning, match=r"^runs hold 4 \(old\) and 1 \(new\) documents per query") as caught:
        found = compared(SHALLOW, "recall@4")
    assert found.table["difference"].to_list() == [-0.5]  # the trap
    assert str(caught[0].message).endswith(
        "recall@4 counts what longer ones find below; cut all alike, df.rank.on(depth=1)"
    )
    assert "The runs differ in documents per query: 4 (old) and 1 (new)." in found.grids()[0].notes
    cut = SHALLOW.rank.on(depth=1).compare("recall@4", resamples=99, **BOTH)
    assert cut.table["difference"].to_list() == [0.0]
    assert not [note for note in cut.grids()[0].notes if "The runs differ" in note]


def test_a_metric_that_asks_for_more_documents_than_runs_hold_is_said_to_do_so() -> None:
    held = documents(doc_id=list("abcd"), label=[1, 0, 1, 1], old=[2, 1, None, None], new=[1, 2, None, None])
    with pytest.warns(
        rf.RankframeWarning, match=r"^recall@4 of runs that hold 2 documents per query at most: "
    ) as caught:
        found = compared(held, "recall@4", "recall@2")
    assert len(caught) == 1
    assert found.table["mean"].to_list() == pytest.approx([1 / 3, 1 / 3])  # recall@4 is recall@2
    assert "recall@4 of runs that hold 2 documents per query at most." in found.grids()[0].notes
    assert compared(held, "recall@2").settings["deeper_than_runs"] == {}
    full = held.with_columns(old=pl.Series([4, 3, 2, 1] * QUERIES), new=pl.Series([1, 2, 3, 4] * QUERIES))
    assert compared(full, "ndcg@10").settings["deeper_than_runs"] == {}  # all documents were ranked: none lies deeper


GOOD = {
    "all judged": (TRUTH, "ndcg@10"),
    "judgments of relevant documents only, of which the better run has more": (
        documents(doc_id=list("abcd"), label=[1, 1, None, None], old=[4, 3, 2, 1], new=[1, 2, 4, 3]), "precision@2",
    ),
    "a tenth fewer judged": (
        documents(doc_id=list("abcdefghijk"), label=[0, 1, *[0] * 8, None], old=[*range(11, 0, -1)], new=[*range(11)]),
        "ndcg@10",
    ),
    "a tenth fewer documents": (
        documents(doc_id=list("abcdefghijk"), label=[0, 1, *[0] * 9], old=[*range(11, 0, -1)], new=[*range(10), None]),
        "map",
    ),
    "a query of a run is empty": (
        TRUTH.with_columns(new=pl.when(pl.col("query_id") > 0).then("new")), "map",
    ),
}  # fmt: skip


@each("name", GOOD)
def test_nothing_is_said_of_runs_that_are_alike(name: str) -> None:
    df, metric = GOOD[name]
    found = compared(df, metric)  # a warning fails the test
    assert not [note for note in found.grids()[0].notes if "runs" in note.partition(" in ")[0]]
    assert "The runs" not in str(df.rank.gate({metric: 0.2}, interval="percentile", **BOTH))


def test_runs_of_unequal_depth_are_only_said_where_the_metric_stops_above_both() -> None:
    deep = documents(doc_id=list("abcd"), label=[1, 0, 0, 0], old=[4, 3, 2, 1], new=[2, 3, None, None])
    found = compared(deep, "ndcg@2")  # no warning
    assert "The runs differ in documents per query: 4 (old) and 2 (new)." in found.grids()[0].notes


def test_of_many_runs_the_least_and_the_greatest_figure_are_said() -> None:
    names = [f"run{i}" for i in range(6)]
    many = TRUTH.with_columns(pl.col("old").alias(name) for name in names[:5]).with_columns(run5=pl.col("new"))
    label = pl.when(pl.col("doc_id").is_in(["a", "b", "c"])).then("label")
    found = compared(many.with_columns(label), "ndcg@3", runs=names)
    says = "The runs differ in judged@3: 0.67 (run5) to 1.00 (run0) of 6 runs."
    assert says in found.grids()[0].notes


def test_runs_in_a_column_have_the_figures_of_score_columns() -> None:
    both = [BY_OLD.select("query_id", "doc_id", "label", score=pl.col(run), run=pl.lit(run)) for run in ("old", "new")]
    with pytest.warns(rf.RankframeWarning, match=r"pool\(depth=2, run='run'\) lists"):
        found = pl.concat(both).rank.compare("P@2", run="run", resamples=99)
    assert found.settings["run_sizes"]["judged@2"] == {"old": 1.0, "new": 0.0}


SETUPS = {
    **{f"convention {tool}": {"convention": tool} for tool in CONVENTIONS},
    "weights of documents": {"weight": "old"},
    "expected ties": {"ties": "expected"},
    "the worst of ties": {"ties": "worst"},
    "no relevant document": {"no_relevant": "null"},
    "clicks": {"propensity": "propensity"},
}
METRICS_OF_TOOLS = ("ndcg@2", "precision@2", "recall@2", "dcg@2", "map", "rr", "hit_rate@2", "auc")


@each("name", SETUPS, sample=len(SETUPS) // 2)
def test_the_figures_are_the_same_under_every_convention_and_policy(name: str) -> None:
    of_clicks = BY_OLD.with_columns(label=pl.col("label").fill_null(0).cast(pl.Int64), propensity=pl.lit(0.5))
    ranker = (of_clicks if name == "clicks" else BY_OLD).rank.on(**SETUPS[name])
    share = 1.0 if name == "clicks" else 0.0
    for metric in METRICS_OF_TOOLS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", rf.RankframeWarning)
                ranker.mean(metric, **BOTH)
                sizes = ranker.compare(metric, resamples=99, **BOTH).settings["run_sizes"]
        except rf.InvalidOption:
            assert name != "no relevant document", metric
            continue
        (judged,) = (sizes[x] for x in sizes if x.startswith("judged@"))
        assert sizes["documents per query"] == {"old": 4.0, "new": 4.0}
        assert judged in ({"old": 1.0, "new": share}, {"old": 0.5, "new": 0.5}, {"old": 1.0, "new": 1.0})
        return
    raise AssertionError(f"no metric under {name}")
