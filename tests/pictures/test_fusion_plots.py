"""The plots of fusions, and their section of a report: what is drawn, worked by hand, by both libraries."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import polars as pl
import pytest

import rankframe as rf
from rankframe._pictures import plots
from rankframe._table.setup import Setup
from rankframe._table.table import in_memory
from tests.support.undrawn import unpainted

mpl.use("Agg")
from matplotlib import pyplot

# of query 1: ranks of x: a b, of y: b a; of query 2: a is in x only
DF = pl.DataFrame(
    {
        "query_id": [1, 1, 2],
        "doc_id": ["a", "b", "a"],
        "x": [2.0, 1.0, 1.0],
        "y": [1.0, 2.0, None],
        "label": [1, 0, 1],
    }
)
RUNS = ["x", "y"]


def test_bars_are_the_mean_contributions_at_each_fused_rank() -> None:
    figure = plots.contributions(in_memory(DF, Setup()), "rrf(k=0)", runs=RUNS, k=10)
    (mark,) = figure.marks
    # rank 1: in query 1, where a and b have 1 + 1/2, either 1 and 1/2 or the other way round; in query 2, 1 by x alone
    found = mark.rows.select("series", "rank", "x", "x2", "contribution", "queries").rows()
    first = (
        DF.rank.fusion.explain("rrf(k=0)", runs=["x", "y"]).filter(query_id=1, fused_rank=1)["contribution"].to_list()
    )
    assert found == [
        ("x", 1, 0.0, (first[0] + 1) / 2, (first[0] + 1) / 2, 2),
        ("y", 1, (first[0] + 1) / 2, (sum(first) + 1) / 2, first[1] / 2, 2),
        ("x", 2, 0.0, 1.5 - first[0], 1.5 - first[0], 1),
        ("y", 2, 1.5 - first[0], 1.5, first[0], 1),
    ]
    assert sum(first) == 1.5
    assert figure.series == ("x", "y")
    assert figure.subtitle == "Mean contribution to the fused score at each rank, over 2 queries"


def test_a_table_of_one_query_names_the_documents() -> None:
    figure = plots.contributions(
        in_memory(DF.filter(query_id=1), Setup()), "wsum(weights=[2,1])", runs=RUNS, k=10
    )  # a: 5, b: 4
    assert [name for _, name in figure.y.ticks or ()] == ["b (2)", "a (1)"]
    assert figure.subtitle == "Contribution to the fused score of each document, over 1 query"


def test_contributions_below_zero_stand_on_the_left() -> None:
    df = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "x": [3.0], "y": [-1.0], "z": [-2.0]})
    (mark,) = plots.contributions(in_memory(df, Setup()), "comb_sum", runs=["x", "y", "z"], k=10).marks
    assert mark.rows.select("series", "x", "x2").rows() == [("x", 0.0, 3.0), ("y", 0.0, -1.0), ("z", -1.0, -3.0)]


def test_a_method_that_is_no_sum_is_not_plotted() -> None:
    with pytest.raises(
        rf.InvalidOption, match=r"comb_max is no sum of what each run contributes.*contributions\('rrf'\)"
    ):
        DF.rank.plot.contributions("comb_max", runs=["x", "y"])


@pytest.mark.parametrize("k", [0, 41, 2.5, True, None])
def test_a_number_of_ranks_that_no_picture_holds_is_refused(k: Any) -> None:
    with pytest.raises(rf.InvalidOption, match=f"k={k}: write a whole number from 1 to 40"):
        DF.rank.plot.contributions("rrf", runs=["x", "y"], k=k)


def test_errors_of_the_plot_name_the_plot() -> None:
    with pytest.raises(rf.InvalidOption, match=r"^name the runs: runs=\['bm25', 'ltr'\], columns of"):
        DF.rank.plot.contributions("rrf")


@pytest.mark.parametrize("form", [lambda x: x, pl.DataFrame.lazy, pl.DataFrame.to_pandas])
def test_an_error_of_a_plot_names_all_columns_of_the_table(form: Any) -> None:
    known = ", ".join(DF.columns)
    with pytest.raises(rf.MissingColumn, match=f"^no column 'yy' for runs; the table has {known}. Did you mean 'y'"):
        form(DF).rank.plot.contributions("rrf", runs=["x", "yy"])


def test_a_cell_has_the_share_of_common_documents() -> None:
    figure = plots.overlap(in_memory(DF, Setup()), runs=RUNS, k=1)
    (mark,) = figure.marks
    # the top documents differ in query 1, and y has none in query 2
    assert mark.rows.select("run", "other", "x", "y", "size", "label").rows() == [
        ("x", "y", 1.5, -1.5, 0.0, "0.00"), ("y", "x", 0.5, -2.5, 0.0, "0.00"),
    ]  # fmt: skip
    both = plots.overlap(in_memory(DF, Setup()), runs=RUNS, k=None).marks[0].rows
    assert both["label"].to_list() == ["0.50", "0.50"]  # all of query 1, none of query 2
    assert [name for _, name in figure.y.ticks or ()] == ["y (2)", "x (1)"]


@pytest.mark.parametrize(("plot", "args"), [("contributions", ["rrf"]), ("overlap", [])])
@pytest.mark.parametrize("background", [None, "#101418"])
def test_both_libraries_draw_the_plots_of_fusions(
    plot: str, args: list[str], background: str | None, tmp_path: Path
) -> None:
    chart = getattr(DF.rank.plot, plot)(*args, runs=["x", "y"], background=background)
    chart.save(tmp_path / "picture.svg")
    svg = (tmp_path / "picture.svg").read_text()
    ax = getattr(DF.to_pandas().rank.plot, plot)(*args, runs=["x", "y"], background=background)
    ax.figure.canvas.draw()
    words = [text.get_text() for text in ax.findobj(mpl.text.Text)]
    wanted = ["x (1)", "y (2)", "0.50"] if plot == "overlap" else ["mean fused score", "x", "y"]
    for word in wanted:
        assert word in words
        assert f">{word}<" in svg
    pyplot.close(ax.figure)


@pytest.mark.parametrize(("plot", "args"), [("contributions", ["rrf"]), ("overlap", [])])
def test_a_table_without_rows_has_an_empty_picture(plot: str, args: list[str]) -> None:
    getattr(DF.clear().rank.plot, plot)(*args, runs=["x", "y"]).to_dict()


@unpainted()
def test_a_report_shows_the_fusion_that_is_asked_for(tmp_path: Path) -> None:
    path = DF.rank.report(tmp_path / "report.html", "rr", runs=["x", "y"], fusion="rrf(k=0)", resamples=100)
    page = path.read_text()
    assert '<a href="#fusion">Fusion</a>' in page
    assert "<h2>Fusion by rrf(k=0)</h2>" in page
    assert "rr would be 1.000 with the best run of each query" in page
    assert (
        '<th scope="col" class="number"><span class="whole">gain</span></th>' in page
    )  # narrow, with the interval below the number
    assert re.search(r'data-number="[^"]+">\+\d\.\d{3} <small>\[', page)
    assert "What each run contributes to rrf(k=0)" in page
    assert "Documents that two runs have in common" in page


@unpainted()
def test_a_report_without_a_fusion_has_no_section_for_it(tmp_path: Path) -> None:
    page = DF.rank.report(tmp_path / "report.html", "rr", runs=["x", "y"], resamples=100).read_text()
    assert 'id="fusion"' not in page


def test_a_report_on_a_fusion_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(rf.InvalidOption, match=r"fusion='rrf' fuses runs; name them, as runs=\['bm25', 'dense'\]"):
        DF.rank.on(score="x").report(tmp_path / "report.html", "rr", fusion="rrf")


@unpainted()
def test_a_fusion_that_is_no_sum_leaves_its_plot_out_of_the_report(tmp_path: Path) -> None:
    path = DF.rank.report(tmp_path / "report.html", "rr", runs=["x", "y"], fusion="comb_max", resamples=100)
    assert "No plot of contributions" in path.read_text()
