"""What all results have in common: tables of the caller's kind, sentences, grids, an Arrow stream; the contract of a check."""

from __future__ import annotations

import json
import math
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe._catalog.registry import VERBS
from rankframe._verbs.call.declaration import verb_of
from rankframe.errors import InvalidData, InvalidOption
from rankframe.results import Grid, Result, render
from tests.support.each import each

# Eight queries of two documents, of which one is relevant; the old run is wrong on half of them.
DF = pl.DataFrame(
    {
        "query_id": [q for q in range(8) for _ in "ab"],
        "doc_id": ["a", "b"] * 8,
        "label": [1, 0] * 8,
        "score": [2.0, 1.0] * 8,
        "market": ["de"] * 8 + ["fr"] * 8,
        "new": [2.0, 1.0] * 8,
        "old": [1.0, 2.0] * 4 + [2.0, 1.0] * 4,
    }
)
RUNS: dict[str, Any] = {"runs": ["old", "new"]}
RESULTS = {
    "compare": lambda rank: rank.compare("rr", **RUNS, resamples=39),
    "gate": lambda rank: rank.gate({"rr": 0.1}, **RUNS, baseline="old"),
    "compare_groups": lambda rank: rank.on(score="old").compare_groups("rr", by="market", resamples=39),
    "overlap": lambda rank: rank.fusion.overlap(**RUNS),
    "oracle": lambda rank: rank.fusion.oracle("rr", **RUNS, resamples=39),
    "fit": lambda rank: rank.fusion.fit("posfuse", **RUNS),
    "tune": lambda rank: rank.fusion.tune("wsum", metric="rr", **RUNS, resamples=39),
    "check": lambda rank: rank.on(relevant=0).check(),
}
FRAMES: dict[str, Any] = {"eager": DF, "lazy": DF.lazy(), "pandas": DF.to_pandas()}


@each("kind", FRAMES)
def test_every_result_has_tables_of_the_callers_kind_and_the_stream_of_its_main_table(kind: str) -> None:
    frame = FRAMES[kind]
    for verb, call in RESULTS.items():
        found = call(rf.rank(frame))
        assert isinstance(found, Result), verb
        assert all(type(table) is type(frame) for table in found.tables.values()), verb
        main = next(iter(found.tables.values()))
        main = main.collect() if kind == "lazy" else main
        assert pl.DataFrame(found).shape == main.shape, verb
        assert pl.DataFrame(found).columns == list(main.columns), verb
        assert {"policies", "versions"} <= {*found.settings}, verb


def test_the_settings_of_a_result_have_the_calls_own_arguments() -> None:
    for verb, call in RESULTS.items():
        if verb in ("compare", "gate"):
            continue
        declared: Any = verb_of(VERBS[verb].function)  # type: ignore[attr-defined]
        assert {*declared.parameters} - {"qrels"} <= {*call(DF.rank).settings}, verb
    found = DF.rank.on(relevant=2).fusion.overlap(runs=["new", "old"], k=1)
    assert found.settings["policies"]["relevant"] == 2
    assert found.settings["versions"]["rankframe"] == rf.__version__
    assert {name: found.settings[name] for name in ("k", "runs", "run")} == {
        "k": 1,
        "runs": ["new", "old"],
        "run": None,
    }
    found = DF.rank.items.compare("coverage@1", items=["a", "b"], by="market", resamples=39, **RUNS)
    assert (found.settings["by"], found.settings["resamples"]) == (("market",), 39)
    assert "items" not in found.settings  # a table


def test_every_result_renders_in_every_format_from_its_sentences_and_grids() -> None:
    for verb, call in RESULTS.items():
        found = call(DF.rank)
        sentences, grids = found.sentences(), found.grids()
        assert all(isinstance(x, str) and x for x in sentences), verb
        assert all(isinstance(grid, Grid) for grid in grids), verb
        assert sentences[0] in repr(found), verb
        assert render(found, "text").split() == repr(found).split(), verb
        assert "<table>" in found._repr_html_(), verb
        assert "<table>" in found._repr_html_(), verb
        assert json.loads(render(found, "json")) == found.to_dict(), verb
        assert found.to_markdown().startswith("| "), verb
        assert found.to_latex(label="tab:x").startswith(r"\begin{table}"), verb
        assert render(found, "latex").startswith(r"\begin{table}"), verb
        assert render(found, "markdown").startswith("**"), verb
        heads = {name for grid in grids for name in grid.head}
        assert heads <= {*found.grid().head} or len(grids) > 1 or verb == "compare", verb


def test_words_stand_left_and_figures_right() -> None:
    grid = DF.rank.gate({"rr": 0.1}, **RUNS, baseline="old").grids()[0]
    assert dict(zip(grid.head, grid.right, strict=True)) == {
        **dict.fromkeys(["verdict", "metric", "run", "baseline"], False),
        **dict.fromkeys(["baseline mean", "mean", "difference", "at worst", "budget", "queries", "needed"], True),
    }
    (found,) = DF.rank.check().grids()
    assert [name for name, right in zip(found.head, found.right, strict=True) if right] == ["findings", "rows"]


TWICE = pl.concat([DF, DF.head(1)])


@each("kind", ["eager", "lazy", "pandas"])
def test_a_check_raises_on_what_it_must_not_find(kind: str) -> None:
    frame: Any = {"eager": TWICE, "lazy": TWICE.lazy(), "pandas": TWICE.to_pandas()}[kind]
    rank = rf.rank(frame)
    says = r"check found repeated document \(2 rows: query_id 0, doc_id a\); a query holds the same 'doc_id' twice"
    for fail_on in ("error", ["repeated document"], ["nothing retrieved", "repeated document"]):
        with pytest.raises(InvalidData, match=says):
            rank.check(fail_on=fail_on)
    assert rank.check(fail_on=["nothing retrieved"]).sentences() == ["1 error"]
    fine = rf.rank(frame.filter(pl.lit(False))) if kind != "pandas" else rf.rank(frame.head(0))
    assert fine.check(fail_on="note").sentences() == ["Nothing found"]


def test_a_check_of_notes_raises_on_any_finding() -> None:
    lost = DF.with_columns(
        score=pl.when(pl.col("query_id") > 0).then("score"), label=pl.when(pl.col("query_id") > 1).then("label")
    )
    says = r"check found query without judgments \(4 rows: query_id 0; query_id 1\), nothing retrieved \(2 rows: query_id 0\); "
    with pytest.raises(InvalidData, match=says):
        lost.rank.check(fail_on="note")


def test_a_check_of_notes_raises_on_an_error_alone() -> None:
    alone = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [math.nan, 1.0], "label": [1, 0]})
    alone = pl.concat(
        [alone, pl.DataFrame({"query_id": [1], "doc_id": ["c"], "score": [None], "label": [1]})], how="vertical_relaxed"
    )
    assert [row["severity"] for row in alone.rank.check().rows.to_dicts()] == ["error"]
    with pytest.raises(InvalidData, match="check found NaN score"):
        alone.rank.check(fail_on="note")


def test_a_problem_that_no_check_knows_is_refused() -> None:
    with pytest.raises(InvalidOption, match=r"no problem 'repeated documents'.*'repeated document'"):
        DF.rank.check(fail_on=["repeated documents"])
    with pytest.raises(InvalidOption, match=r"no problem 'errors'.*'error'"):
        DF.rank.check(fail_on="errors")


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(InvalidOption, match="how='pdf': write one of 'text', 'html', 'markdown', 'latex', 'json'"):
        render(DF.rank.check(), "pdf")  # type: ignore[arg-type]


@each("kind", FRAMES)
def test_summaries_render_like_results(kind: str) -> None:
    # By hand: the old run has the relevant document second in four of eight queries.
    summary = rf.rank(FRAMES[kind]).summarize("rr", runs=["old", "new"], resamples=39)
    lines = render(summary, "text").splitlines()
    assert [line.split()[:3] for line in lines[:3]] == [
        ["run", "metric", "mean"],
        ["old", "rr", "0.750"],
        ["new", "rr", "1.000"],
    ]
    assert "| old | rr     | 0.750 |" in render(summary, "markdown", most=1)
    assert "new" not in render(summary, "markdown", most=1)
    assert "<td" in render(summary, "html")
    assert r"\begin{tabular}{llr" in render(summary, "latex")
    assert [row["mean"] for row in json.loads(render(summary, "json"))] == [0.75, 1.0]
    with pytest.raises(InvalidOption, match="is no summary"):
        render(FRAMES[kind], "text")
