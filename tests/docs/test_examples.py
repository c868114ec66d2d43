"""The examples run, and end as their text says. Notebooks want marimo, nbclient and ipykernel: the extra of examples."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def test_the_etl_script_writes_the_values_of_the_frame(tmp_path: Path) -> None:
    script = runpy.run_path(str(EXAMPLES / "etl.py"))
    run, qrels, to = script["example"](tmp_path)
    script["main"](run, qrels, to, "map", "rr")
    stored = pl.read_parquet(to).pivot("metric", index="query_id", values="value").sort("query_id")
    joined = pl.read_parquet(run).rank.judge(pl.read_parquet(qrels)).rank.evaluate("map", "rr").sort("query_id")
    assert stored.columns == joined.columns
    assert stored["query_id"].to_list() == joined["query_id"].to_list()
    for name in ("map", "rr"):
        assert stored[name].to_list() == pytest.approx(joined[name].to_list(), abs=1e-12)


def test_the_etl_script_refuses_a_document_that_stands_twice(tmp_path: Path) -> None:
    script = runpy.run_path(str(EXAMPLES / "etl.py"))
    run, qrels, to = script["example"](tmp_path)
    twice = pl.read_parquet(run)
    pl.concat([twice, twice.head(1)]).write_parquet(run)
    with pytest.raises(SystemExit, match="repeated document"):
        script["main"](run, qrels, to)
    assert not to.exists()


def test_the_report_script_writes_the_page_and_holds_back_what_may_be_worse(tmp_path: Path, capsys: Any) -> None:
    script = runpy.run_path(str(EXAMPLES / "report.py"))
    df, page = rf.load_example().with_columns(better=pl.col("label").cast(pl.Float64)), tmp_path / "report.html"
    means = {x: df.rank.on(score=x).ndcg(k=10)["ndcg@10"].mean() for x in ("score", "better", "score_forest")}
    assert means["score"] < means["better"] == 1
    assert script["main"](df, page, "score", "better", by="digit") == 0
    printed = capsys.readouterr().out
    assert f"{means['score']:.3f}" in printed
    assert "Released; the page: " in printed
    written = page.read_text(encoding="utf-8")
    assert "From score to better" in written
    assert "<h2>By digit" in written
    assert script["main"](df, page, "better", "score") == 1
    assert "Held back" in capsys.readouterr().out


def test_the_study_of_tuning_gives_the_figures_of_its_page() -> None:
    found = runpy.run_path(str(EXAMPLES / "tuning_fusion.py"))["study"](20)
    page = (ROOT / "docs" / "tuning_fusion.md").read_text(encoding="utf-8")
    rows = [[f"{x:.3f}" if isinstance(x, float) else x for x in row] for row in found.rows()]
    assert all(f"| {name} | {gain} | {error} |" in page for name, gain, error in rows)
    gains = dict(found.select("of the tuned weights", "gain").iter_rows())
    assert gains["in sample"] > 0 > gains["out of fold"]
    assert gains["out of fold"] == pytest.approx(gains["on new queries"], abs=0.01)


def test_what_the_notebook_says_of_its_numbers_is_so() -> None:
    df, runs = rf.load_example(), ["score", "score_forest"]
    delta = df.rank.compare("ndcg@10", runs=runs, baseline="score").per_query_delta["ndcg@10"]
    assert (len(delta), (delta <= -0.85).sum()) == (120, 3)
    assert (delta == 0).sum() > 60
    ties = {df.rank.on(score="score_forest", ties=rule).ndcg(k=10)["ndcg@10"].mean() for rule in ("worst", "best")}
    assert len(ties) == 1
    assert not df.rank.gate({"ndcg@10": 0.02}, runs=runs, baseline="score").passed
    assert df.rank.on(score="score_forest").evaluate("judged@10")["judged@10"].min() == 1


@pytest.mark.tools
def test_the_jupyter_notebook_runs_without_a_screen(tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(EXAMPLES / "decide.ipynb", as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")


@pytest.mark.tools
def test_the_marimo_notebook_runs_without_a_screen() -> None:
    code = "import decide_marimo; _, names = decide_marimo.app.run(); assert names['verdict'].passed"
    subprocess.run(
        [sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": f"{EXAMPLES}{os.pathsep}{ROOT}"}
    )
