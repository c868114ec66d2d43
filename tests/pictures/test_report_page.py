"""The page of a report: what stands first, in which order, how it looks in a browser, and what it never does."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe._pictures import report_page
from rankframe._pictures.figure import Figure
from rankframe._pictures.report_page import Picture
from rankframe._results.markup import CONTROL
from rankframe._support.progress import Progress
from tests.support.browser import CHROMIUM, frame, read
from tests.support.undrawn import undrawn

BETTER, WORSE = [2.0, 1.0], [1.0, 2.0]


def table(slices: dict[Any, tuple[int, int, int]], **names: str) -> pl.DataFrame:
    """Queries of two documents: in each slice so many at which `old` and `new` have the values 1/2 1, 1 1 and 1 1/2."""
    each = [(at, i) for at, counts in slices.items() for i, n in enumerate(counts) for _ in range(n)]
    old, new = (WORSE, BETTER, BETTER), (BETTER, BETTER, WORSE)
    return pl.DataFrame(
        {
            "query_id": [f"q{i:02}" for i in range(len(each)) for _ in "ab"],
            "doc_id": ["a", "b"] * len(each),
            "label": [1, 0] * len(each),
            names.get("old", "old"): [score for _, i in each for score in old[i]],
            names.get("new", "new"): [score for _, i in each for score in new[i]],
            names.get("by", "by"): [at for at, _ in each for _ in "ab"],
        },
        strict=False,
    )


def written(df: Any, *metrics: str, **options: Any) -> str:
    with TemporaryDirectory() as folder:
        return str(df.rank.report(f"{folder}/x.html", *metrics, **{"resamples": 99, **options}).read_text("utf-8"))


of_texts = undrawn()
"""Of a test of a page's texts: it draws nothing."""


def section(page: str, name: str) -> str:
    """A section of the page, with its texts as a reader sees them."""
    return unescape(re.split(r"<section id=.*?>\n<h2>", page.partition(f"<h2>{name}</h2>")[2])[0])


def rows(html: str) -> list[list[str]]:
    """The cells of all tables, without the second lines."""
    lines = re.findall("<tr>(.*?)</tr>", html, re.DOTALL)
    return [
        [re.sub("<small>.*?</small>|<.*?>", "", x).strip() for x in re.findall("<t[hd].*?</t[hd]>", line, re.DOTALL)]
        for line in lines
    ]


# what stands first


@of_texts
def test_a_sentence_for_each_comparison_stands_first() -> None:
    # 6 gains of 1/2 or 1 among 15 queries have all signs alike in 2 of 64 ways: p is 1/32, and Holm doubles it for two metrics
    page = written(table({"x": (6, 9, 0)}), "rr", "precision@1", runs=["old", "new"])
    said = section(page, "Summary").partition("</ul>")[0]
    assert [re.sub(r"\[.*?\]", "[]", line) for line in re.findall("<li>(.*?)</li>", said)] == [
        "No significant difference of “new” from “old” on rr: +0.200 [], adjusted p = 0.062 (p = 0.031), better on 6 and worse on 0 of 15 queries",
        "No significant difference of “new” from “old” on precision@1: +0.400 [], adjusted p = 0.062 (p = 0.031), better on 6 and worse on 0 of 15 queries",
    ]
    assert said.strip().startswith('<ul class="answers">')


@of_texts
def test_a_winner_beats() -> None:
    page = written(table({"x": (6, 9, 0)}), "rr", runs=["old", "new"], resamples=10_000)
    (said,) = re.findall("<li>(.*?)</li>", section(page, "Summary").partition("</ul>")[0])
    assert said.startswith("“new” beats “old” on rr by 0.200 [")  # 6 gains of 1/2 on 15 queries
    assert said.endswith("p = 0.031, better on 6 of 15 queries")


def five_runs() -> pl.DataFrame:
    df = table({"x": (3, 2, 1)})
    return df.with_columns(third=pl.col("old") * 2, fourth=-pl.col("old"), fifth=-pl.col("new"))


@of_texts
def test_more_than_ten_comparisons_are_summed_up() -> None:
    runs = ["old", "new", "third", "fourth", "fifth"]
    summary = section(written(five_runs(), "rr", "map", runs=runs), "Summary")
    # the p-value of 6 queries is 1/32 at least, which no correction for 20 comparisons leaves below 0.05
    assert re.findall("<li>(.*?)</li>", summary) == [
        "At the top of 5 runs: 5 tied on rr, 5 tied on map",
        "0 of 20 differences are significant (p < 0.05)",
        "“new” has the best mean of rr, 0.917, not significantly better than any other run",
        "“new” has the best mean of map, 0.917, not significantly better than any other run",
    ]


@of_texts
def test_a_page_of_more_than_eight_runs_begins_with_their_ranking() -> None:
    df = table({"x": (6, 0, 0)}).with_columns(pl.col("new").alias(f"run{i}") for i in range(7))
    runs = ["old", "new", *(f"run{i}" for i in range(7))]
    summary = section(written(df, "rr", runs=runs), "Summary")
    assert rows(summary)[:3] == [["run", "rr", "beats"], ["new", "1.000", "0"], ["run0", "1.000", "0"]]
    assert rows(summary)[9] == ["old", "0.500", "0"]
    assert "a = old" not in summary


@of_texts
def test_many_runs_have_several_tables_each_with_the_baseline() -> None:
    runs = ["old", "new", "third", "fourth", "fifth"]
    summary = section(written(five_runs(), "rr", runs=runs, baseline="third"), "Summary")
    heads = [row for row in rows(summary) if row[0] == "metric"]
    assert heads == [
        ["metric", "third", "old", "difference", "new", "difference", "fourth", "difference", "queries"],
        ["metric", "third", "fifth", "difference", "queries"],
    ]
    # of 6 queries, old and third have 1/2 at 3 and fourth at the other 3, new has it at 1 and fifth at the other 5
    values = [row for row in rows(summary) if row[0] == "rr"]
    assert values[0] == ["rr", "0.750", "0.750", "0.000", "0.917", "+0.167", "0.750", "0.000", "6"]
    assert values[1] == ["rr", "0.750", "0.583", "-0.167", "6"]


@of_texts
def test_a_difference_is_bold_where_the_corrected_test_finds_it() -> None:
    df = table({"x": (6, 9, 0)})  # p is 1/32; two metrics double it
    bold = "<strong>(.*?)</strong>"
    one = section(written(df, "rr", runs=["old", "new"]), "Summary")
    assert re.findall(bold, one) == ["+0.200"]
    assert "Differences: from old; bold: p < 0.05 by the paired permutation test." in one
    assert "adjusted p" not in one
    two = section(written(df, "rr", "map", runs=["old", "new"]), "Summary")
    assert re.findall(bold, two) == []
    assert (
        "after Holm's correction for 2 comparisons of all metrics together. Intervals agree with p, not with adjusted p."
        in two
    )
    worse = section(written(df, "rr", runs=["new", "old"]), "Summary")
    assert re.findall(bold, worse) == ["-0.200"]


@of_texts
def test_the_tests_show_both_p_values_where_they_are_corrected() -> None:
    page = section(written(table({"x": (6, 9, 0)}), "rr", "map", runs=["old", "new"]), "Comparison")
    assert rows(page)[1][1:4] == ["+0.200", "0.031", "6-9-0"]  # the answer before names and means
    assert "0.031 <small>(0.062)</small>" in page
    assert "Intervals agree with p, not with adjusted p." in page
    page = section(written(table({"x": (6, 9, 0)}), "rr", runs=["old", "new"]), "Comparison")
    assert rows(page)[0] == [
        "metric",
        "difference",
        "p",
        "wins-ties-losses",
        "run",
        "baseline",
        "mean",
        "baseline mean",
    ]
    assert rows(page)[1] == ["rr", "+0.200", "0.031", "6-9-0", "new", "old", "1.000", "0.800"]


@pytest.mark.parametrize("kind", ["bounded", "bca", "percentile"])
def test_a_page_has_one_kind_of_interval_in_tables_and_plots(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Figure] = []

    def made(name: str, make: Callable[..., Figure], *args: object, **options: object) -> Picture:
        drawn.append(make(*args, **options))
        return Picture(drawn[-1].title, report_page.without_kind(drawn[-1].subtitle))

    monkeypatch.setattr(report_page, "picture", made)
    df = rf.load_example().filter(pl.col("digit") < 2)
    runs = ["score", "score_pca"]
    options: dict[str, Any] = {} if kind == "bounded" else {"interval": kind}
    page = written(df, "map", runs=runs, by="digit", resamples=200, fusion="rrf", **options)
    texts = unescape(page).replace("BCa", "bca").partition("<h2>Settings</h2>")[0]
    assert texts.count(kind) == 1  # in the caption of the summary
    assert not re.search(r"intervals \(", texts)
    assert {*re.findall(r"Interval: (.*?)\.", texts)} == {"sign flips"}  # of differences, as compare has them
    (slices,) = (figure for figure in drawn if figure.title == "MAP by digit")
    ends = next(mark for mark in slices.marks if mark.kind == "interval").rows
    by = df.rank.summarize("map", runs=runs, by="digit", interval=kind, resamples=200)
    expected = {(row["run"], row["digit"]): [row["ci_low"], row["ci_high"]] for row in by.to_dicts()}
    plotted = {(row["series"], int(row["slice"])): [row["x"], row["x2"]] for row in ends.to_dicts()}
    assert plotted == {at: pytest.approx(pair, abs=1e-12) for at, pair in expected.items()}
    cells = re.findall("<small>(.*?)</small>", section(page, "By digit"))
    assert {f"[{low:.3f}, {high:.3f}]" for low, high in expected.values()} <= {*cells}
    assert "(BCa and bounded)" in rf.load_example().rank.plot.curve("ndcg").title.subtitle  # a plot outside of a page


@of_texts
def test_a_caption_says_in_which_depths_and_judgments_runs_differ() -> None:
    df = table({"x": (2, 1, 1)})  # 4 queries of 2 documents
    kept = (pl.col("query_id") == "q00") | (pl.col("doc_id") == "a")
    shorter = df.with_columns(new=pl.when(kept).then("new"))
    says = "The runs differ in documents per query: 2 (old) and 1.25 (new)."
    assert says in section(written(shorter, "rr", runs=["old", "new"]), "Summary")  # 5 documents of 4 queries
    judged = pl.when((pl.col("query_id") != "q01") | (pl.col("doc_id") == "a")).then("label")
    unjudged = shorter.with_columns(label=judged)
    says = "The runs differ in judged@10: 0.88 (old) and 1.00 (new); documents per query: 2 (old) and 1.25 (new)."
    assert says in section(written(unjudged, "rr", runs=["old", "new"]), "Summary")  # (3 x 1 + 1/2) / 4
    assert "The runs differ" not in written(df, "rr", runs=["old", "new"])
    assert "The runs differ" not in written(unjudged.rename({"old": "score"}), "rr")


@of_texts
def test_worst_queries_have_something_to_find() -> None:
    df = table({"x": (1, 1, 4)}).with_columns(label=pl.when(pl.col("query_id") > "q02").then(0).otherwise("label"))
    worst = section(written(df, "rr", runs=["old", "new"]), "Worst queries")
    assert "3 queries without a relevant document are left out: there was nothing to find." in worst
    assert re.findall("<summary><strong>(.*?)</strong>", worst) == ["q00", "q01", "q02", "q02", "q00", "q01"]
    for most, shown in ((2, ["q00", "q01", "q02", "q00"]), (0, [])):
        worst = section(written(df, "rr", runs=["old", "new"], worst=most), "Worst queries")
        assert re.findall("<summary><strong>(.*?)</strong>", worst) == shown
    one = df.with_columns(label=pl.when(pl.col("query_id") < "q05").then(1).otherwise(0))
    assert "1 query without a relevant document is left out" in section(
        written(one, "rr", runs=["old", "new"]), "Worst queries"
    )
    assert "left out" not in written(df.with_columns(label=1), "rr", runs=["old", "new"])
    # a run in rows that lacks a relevant document: the judged table of all runs has it
    systems = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": 1.0, "label": [1, 0], "system": ["x", "y"]})
    worst = section(written(systems, "rr", run="system"), "Worst queries")
    assert re.findall("<summary><strong>(.*?)</strong>", worst) == ["1", "1"]


@of_texts
def test_the_verdict_of_a_gate_stands_with_the_answer() -> None:
    df = table({"x": (0, 9, 3)})
    verdict = df.rank.gate({"rr": 0.25, "map": 0.001}, runs=["old", "new"])
    page = written(df, "rr", runs=["old", "new"], gate=verdict)
    summary = section(page, "Summary")
    assert "Gate: not passed" in summary
    assert [line in re.findall("<li>(.*?)</li>", summary) for line in verdict.lines()] == [True, True]
    settings = json.loads(section(page, "Settings").partition("<pre>")[2].partition("</pre>")[0])
    assert settings["gate"]["budgets"] == {"rr": 0.25, "map": 0.001}
    assert "policies" not in settings["gate"]  # the report's own
    more = table({"x": (0, 90, 3)})
    other = more.rank.on(relevant=0.5).gate({"rr": 0.25}, runs=["old", "new"])
    settings = section(written(more, "rr", runs=["old", "new"], gate=other), "Settings")
    assert '"relevant": 0.5' in settings
    assert "Gate: passed" in section(written(more, "rr", runs=["old", "new"], gate=other), "Summary")


@pytest.mark.parametrize("library", ["polars", "lazy", "pandas"])
@of_texts
def test_a_verdict_comes_from_any_kind_of_frame(library: str) -> None:
    df = table({"x": (0, 9, 3)})
    same: Any = {"polars": df, "lazy": df.lazy(), "pandas": df.to_pandas()}[library]
    verdict = same.rank.gate({"rr": 0.25}, runs=["old", "new"])
    assert verdict.lines()[0] in section(written(same, "rr", runs=["old", "new"], gate=verdict), "Summary")


def test_budgets_in_place_of_a_verdict_are_refused() -> None:
    with pytest.raises(rf.InvalidOption, match=re.escape("gate={'rr': 0.1}: write a Verdict or None")):
        written(table({"x": (1, 1, 1)}), "rr", runs=["old", "new"], gate={"rr": 0.1})


def test_a_baseline_without_runs_is_refused() -> None:
    with pytest.raises(rf.InvalidOption, match="name the runs"):
        written(table({"x": (1, 1, 1)}, old="score"), "rr", baseline="old")


@of_texts
def test_the_sentence_on_the_check_says_where_its_findings_are() -> None:
    df = table({"x": (1, 1, 18)}).with_columns(
        old=pl.when(pl.col("query_id") < "q06").then(1.0).otherwise("old"),
        label=pl.when(pl.col("query_id") < "q16").then("label"),
    )

    def found(df: pl.DataFrame, **runs: Any) -> tuple[str, list[list[str]]]:
        summary = section(written(df, "rr", **runs), "Summary").partition("<summary>")[2]
        return summary.partition("</summary>")[0], rows(summary)[1:]

    df = df.with_columns(pl.col("old", "new") / 3)
    says, kinds = found(df, runs=["old", "new"])
    assert says == (
        "The check of the table found 2 notes: query without judgments in 4 queries; 30% of documents are tied with one of "
        "another label, and documents with equal scores stand by falling id (run old)."
    )
    assert [row[:5] for row in kinds] == [
        ["note", "query without judgments", "4", "8", "query_id q16; query_id q17; query_id q18 ..."],
        ["note", "tied scores", "1", "12", "in run old"],
    ]
    tied = df.with_columns(new=pl.when(pl.col("query_id") < "q07").then(1.0).otherwise("new"))
    assert "tied scores in 2 runs" in found(tied, runs=["old", "new"])[0]
    clean = pl.DataFrame({"query_id": [1, 1, 1], "doc_id": [*"abc"], "score": [3.5, 2, None], "label": [1, None, 1]})
    assert "The check of the table found nothing." in section(written(clean, "rr"), "Summary")


# the order of slices

THREE = {"gains": (2, 0, 0), "loses": (0, 0, 1), "same": (0, 3, 0), None: (1, 0, 1)}


@pytest.mark.parametrize("options", [{"runs": ["old", "new"]}, {"runs": ["old", "new"], "baseline": "new"}, {}])
@of_texts
def test_the_largest_slices_come_first(options: Any) -> None:
    df = table(THREE)
    page = written(df if options else df.rename({"old": "score"}), "rr", "map", by="by", **options)
    found = [row[0] for row in rows(section(page, "By by"))]
    assert found == ["by", "same", "gains", "null", "loses"] * 2  # of 3, 2, 2 and 1 queries


@pytest.mark.parametrize("pairs", [0, 2])
@of_texts
def test_slices_in_which_no_test_could_find_a_difference_are_marked(pairs: int) -> None:
    # fourteen equal gains of 1/2 have p = 2 (2/3)^14 = 0.007, which Holm's correction trebles; those of six, 0.18
    df = (
        table({6: (6, 0, 0), 14: (14, 0, 0), 5: (5, 0, 0)})
        .filter(pl.col("by") > (0 if pairs else 5))
        .rename({"old": "score"})
    )
    runs: Any = {"runs": ["score", "new"]} if pairs else {}
    found = section(written(df, "rr", by="by", resamples=9_999, **runs), "By by")
    marked = re.findall('<td data-number="(.)">(?:(?!</tr>).)*?too few</small>', found, re.DOTALL)
    assert marked == (["6", "5"] if pairs else [])
    assert ("“too few”: of fewer than 7 queries" in found) == bool(pairs)
    assert re.findall("<strong>(.*?)</strong>", found) == (["+0.500"] if pairs else [])


@of_texts
def test_a_small_slice_with_a_significant_difference_is_not_marked() -> None:
    # Holm multiplies the p-value of seven gains of different sizes, 2/128, by 1, as that of twenty is smaller in the other slices
    ranks = range(2, 9)  # of the relevant document by the old run, which the new run has first
    each = [(f"r{rank}", "abcdefgh"[i], i == 0, -i if i else -rank, -i, 7) for rank in ranks for i in range(rank)]
    of_seven = pl.DataFrame(each, schema=["query_id", "doc_id", "label", "old", "new", "by"], orient="row")
    of_seven = of_seven.with_columns(pl.col("label").cast(pl.Int64), pl.col("old", "new").cast(pl.Float64))
    df = pl.concat([table({1: (20, 0, 0), 2: (20, 0, 0), 3: (20, 0, 0)}), of_seven])
    found = section(written(df, "rr", by="by", runs=["old", "new"], resamples=9_999), "By by")
    assert [row[3:] for row in rows(found)[1:]] == [["+0.500", "20"]] * 3 + [["+0.755", "7"]]
    assert re.findall("<strong>(.*?)</strong>", found) == ["+0.500"] * 3 + ["+0.755"]
    assert "too few" not in found


@pytest.mark.filterwarnings("ignore:the interval of ")
@of_texts
def test_where_less_is_better_a_smaller_value_is_no_loss() -> None:
    page = written(
        table(THREE), "average_relevance_position", by="by", runs=["old", "new"]
    )  # ranks of the relevant document: 2, 1
    found = rows(section(page, "By by"))
    assert found[4][:4] == ["loses", "1.000", "2.000", "+1.000"]


@of_texts
def test_a_slice_without_a_value_comes_last() -> None:
    df = table({"none": (0, 2, 0), "some": (0, 1, 0)}).with_columns(
        label=pl.when(pl.col("by") == "none").then(0).otherwise("label")
    )
    page = written(df, "rr", by="by", runs=["old", "new"])
    assert [row[0] for row in rows(section(page, "By by"))] == ["by", "none", "some"]
    with TemporaryDirectory() as folder:
        path = df.rank.on(no_relevant="null").report(
            f"{folder}/x.html", "rr", by="by", runs=["old", "new"], resamples=99
        )
        assert [row[0] for row in rows(section(path.read_text("utf-8"), "By by"))] == ["by", "some", "none"]


# what the page is made of


@of_texts
@pytest.mark.parametrize("shows", [True, False])
def test_a_report_shows_the_progress_of_its_resamples_as_other_verbs_do(
    shows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: set[bool] = set()
    begin = Progress.__init__
    monkeypatch.setattr(Progress, "__init__", lambda of, what, show=True: (shown.add(show), begin(of, what, False))[1])
    page = written(table({"x": (2, 1, 1)}), "rr", runs=["old", "new"], progress=shows)
    assert shown == {shows}
    assert "progress" not in section(page, "Settings")


@of_texts
def test_settings_are_a_table_and_folded_as_json() -> None:
    page = section(written(table({"x": (1, 1, 1)}), "rr", runs=["old", "new"], seed=3), "Settings")
    captions = re.findall("<caption>(.*?)</caption>", page)
    assert captions == ["table", "report", "policies", "intervals", "versions", "comparison"]
    cells = dict(rows(page))
    assert cells["seed"] == "3"
    assert cells["runs"] == "old, new"
    assert cells["ties"] == "doc_desc"
    assert "subtopic" not in cells  # which the table has not
    assert '"subtopic": null' in page.partition('<details class="raw">')[2]


NAMES = {"old": "o\u202e<b>\x07\"'", "new": "n\n\x7f&lt;", "by": "\ud7ff\u2066{{ 7 * 7 }}"}


@of_texts
def test_no_character_turns_the_text_round_or_is_lost() -> None:
    df = table({"\u202ex\x1b[1m": (1, 1, 1)}, **NAMES)
    page = written(df, "rr", runs=[NAMES["old"], NAMES["new"]], by=NAMES["by"], title="\u2067title\r{% x %}")
    assert set(CONTROL.findall(page)) == {"\n"}
    for text in (
        "o\\u202e&lt;b&gt;\\x07&#34;&#39;",
        "n\n\\x7f&amp;lt;",
        "\\u2066{{ 7 * 7 }}",
        "\\u202ex\\x1b[1m",
        "<h1>\\u2067title\\r{% x %}</h1>",
    ):
        assert text in page


def test_the_page_runs_its_own_script_alone_and_loads_nothing() -> None:
    page = written(table({"x": (1, 1, 1)}), "rr", runs=["old", "new"])
    (policy,) = re.findall('http-equiv="Content-Security-Policy" content="(.*?)"', page)
    (script,) = re.findall("<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert not re.search(r"https?://(?!www\.w3\.org)|@import|url\((?!#)", page)


@of_texts
def test_a_missing_jinja_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(rf.MissingExtra, match=r"jinja2 is not installed; write pip install 'rankframe\[report\]'"):
        written(table({"x": (1, 1, 1)}), "rr", runs=["old", "new"])


@pytest.mark.parametrize("library", ["altair", "vl_convert"])
def test_a_missing_library_of_plots_is_no_plot_that_is_left_out(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(rf.MissingExtra, match=rf"{library} is not installed; write pip install 'rankframe\["):
        written(table({"x": (1, 1, 1)}), "rr", runs=["old", "new"])


# in a browser

in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
LONG = {"old": "a run with a name of many words", "new": "a_run_with_a_name_that_has_no_space_at_all_and_goes_on"}


@cache
def digits() -> str:
    df = rf.load_example().rename({"score": LONG["old"], "score_pca": LONG["new"]})
    runs = [*LONG.values(), "score_forest"]
    return written(df, "ndcg@10", runs=runs, by="digit", show="doc_digit", title="Digits")


MEASURE = """() => {
  const [shown] = document.querySelectorAll("iframe"), page = shown.contentDocument, view = shown.contentWindow
  const lines = element => { const range = page.createRange(); range.selectNodeContents(element); return new Set([...range.getClientRects()].map(box => box.top)).size }
  const visible = element => element.checkVisibility({ contentVisibilityAuto: true }) && element.textContent.trim()
  const own = element => [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())
  const texts = [...page.querySelectorAll("body *")].filter(x => visible(x) && own(x) && !x.closest("svg, script"))
  const drawn = [...page.querySelectorAll("svg text")].filter(visible)
  const size = element => parseFloat(view.getComputedStyle(element).fontSize)
  const sections = [...page.querySelectorAll("section")].filter(section => section.id.startsWith("by-"))
  const top = element => element.getBoundingClientRect().top
  const labels = [...sections[0].querySelectorAll("figure svg text")].filter(text => / \\(\\d+\\)$/.test(text.textContent))
  return {
    drawn: Math.min(...drawn.map(text => size(text) * Math.hypot(text.getScreenCTM().a, text.getScreenCTM().b))),
    text: Math.min(...texts.map(size)),
    intervals: [...new Set([...page.querySelectorAll("td small")].filter(visible).map(lines))],
    wide: page.documentElement.scrollWidth - page.documentElement.clientWidth,
    cut: [...page.querySelectorAll("th button")].filter(visible).filter(x => x.scrollWidth > x.parentNode.clientWidth).map(x => x.textContent),
    tables: [...page.querySelectorAll(".table")].filter(visible).filter(x => x.scrollWidth > x.clientWidth).map(x => [x.scrollWidth, x.clientWidth, x.textContent]),
    navigation: visible(page.querySelector("nav")) ? 1 : 0,
    folded: [...page.querySelectorAll("details.on-paper tr")].filter(visible).length,
    ink: view.getComputedStyle(page.body).color,
    slices: [...sections[0].querySelector("table").tBodies[0].rows].map(row => row.cells[0].textContent),
    labels: labels.sort((a, b) => top(a) - top(b)).map(text => text.textContent.split(" ")[0]),
  }
}"""


@in_a_browser
def test_a_phone_shows_texts_of_ten_pixels_and_whole_intervals() -> None:
    found = read([frame("phone", digits(), 400)], MEASURE)
    assert found["drawn"] >= 10
    assert found["text"] >= 10
    assert found["intervals"] == [1]
    assert found["wide"] == 0
    assert found["cut"] == []
    assert len(found["slices"]) == 10
    assert found["labels"] == found["slices"]


@pytest.mark.nightly
@in_a_browser
def test_a_printed_page_has_everything_on_the_paper() -> None:
    on_paper = digits().replace("@media print", "@media all")
    found = read([frame("paper", on_paper, 700)], MEASURE)  # A4 less its margins
    assert found["tables"] == []
    assert found["wide"] == 0
    assert found["intervals"] == [1]
    assert found["navigation"] == 0
    assert found["folded"] > 0
    assert found["ink"] == "rgb(31, 35, 40)"


SORT = """() => {
  const page = document.querySelector("iframe").contentDocument
  const table = page.querySelector("#by-1 table"), heads = [...table.tHead.rows[0].cells]
  const column = i => [...table.tBodies[0].rows].map(row => row.cells[i].firstChild?.textContent.trim() ?? "")
  const state = i => [heads[i].ariaSort, ...column(i)]
  const click = i => { heads[i].querySelector("button").click(); return state(i) }
  const button = heads[0].querySelector("button")
  button.focus()
  const documents = page.querySelector("#worst-queries table")
  documents.tHead.rows[0].cells[0].querySelector("button").click()
  return {
    keyboard: [button.localName, button.type, button.tabIndex, page.activeElement === button],
    given: state(0),
    slice: [click(0), click(0), click(0)],
    difference: [click(3), heads[0].ariaSort, click(3)],
    ranks: [...documents.tBodies[0].rows].map(row => row.cells[0].textContent),
  }
}"""


@in_a_browser
@of_texts
def test_tables_sort_by_numbers_on_a_click_with_empty_cells_last() -> None:
    slices: dict[Any, tuple[int, int, int]] = {10: (0, 1, 1), 9: (1, 0, 0), None: (0, 1, 0), -2: (0, 0, 2)}
    df = table(slices).with_columns(label=pl.when(pl.col("by").is_null()).then(0).otherwise("label"))
    with TemporaryDirectory() as folder:
        options: dict[str, Any] = {"runs": ["old", "new"], "by": "by", "resamples": 99, "worst": 1}
        page = df.rank.on(no_relevant="null").report(f"{folder}/x.html", "rr", **options).read_text("utf-8")
    found = read([frame("page", page, 1200)], SORT)
    assert found["keyboard"] == ["button", "button", 0, True]
    assert found["given"] == ["none", "-2", "10", "9", "null"]  # 2, 2 and 1 queries, and none with a value
    assert found["slice"] == [
        ["ascending", "-2", "9", "10", "null"],
        ["descending", "10", "9", "-2", "null"],
        ["none", "-2", "10", "9", "null"],
    ]
    assert found["difference"] == [
        ["ascending", "-0.500", "-0.250", "+0.500", ""],
        "none",
        ["descending", "+0.500", "-0.250", "-0.500", ""],
    ]
    assert found["ranks"] == ["1", "2"]


@of_texts
def test_no_line_breaks_a_short_word_or_the_range_of_labels() -> None:
    df = table({"x": (1, 1, 1)}).with_columns(pl.col("label").alias("Relevance (0 to 3)"))
    page = written(df, "rr", runs=["old", "new"], show="Relevance (0 to 3)")
    assert '<span class="whole">Relevance</span> <span class="whole">(0 to 3)</span></th>' in page
    assert '<span class="whole">wins-ties-</span><span class="whole">losses</span></th>' in page
    assert report_page.pieces("a_run_with_a_long_name (0-3)") == [("a_run_with_a_long_name ", False), ("(0-3)", True)]


# the queries to explore


def moved() -> pl.DataFrame:
    """Three queries: the relevant document rises from 3 to 1 in q1, stays in q2, is lost in q3.

    Reciprocal ranks of `old` and `new` are 1/3 and 1, 1/2 and 1/2, 1 and 0.
    """
    rows = [
        ("q1", "a", 0, 3.0, 2.0, "x"), ("q1", "b", 0, 2.0, None, "x"), ("q1", "c", 2, 1.0, 3.0, "x"),
        ("q2", "a", 0, 2.0, 2.0, "y"), ("q2", "b", 1, 1.0, 1.0, "y"),
        ("q3", "a", 1, 2.0, None, None), ("q3", "b", None, 1.0, 1.0, None),
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "label", "old", "new", "by"], orient="row")


def explored(page: str) -> dict[str, Any]:
    (data,) = re.findall('<script type="application/json" id="explored">(.*?)</script>', page)
    facts: dict[str, Any] = json.loads(data)
    return facts


@of_texts
def test_the_queries_that_differ_most_come_first_with_their_documents_and_both_ranks() -> None:
    found = explored(written(moved(), "rr", runs=["old", "new"], by="by"))
    assert [found[name] for name in ("metric", "runs", "slices", "n", "paired", "ranked")] == [
        "rr", ["old", "new"], ["by"], 3, 3, 2,
    ]  # fmt: skip
    # name, place among the differences from gain to loss, slices, values, and [document, label, ranks]
    assert found["queries"] == [
        ["q3", 2, ["null"], [1, 0], [["a", 1, 1, None], ["b", None, 2, 1]]],
        ["q1", 0, ["x"], [0.333333, 1], [["a", 0, 1, 2], ["b", 0, 2, None], ["c", 2, 3, 1]]],
        ["q2", 1, ["y"], [0.5, 0.5], []],  # which has no difference to explain
    ]
    of_one = explored(written(moved().rename({"old": "score"}), "rr", show="by"))
    assert [query[0] for query in of_one["queries"]] == ["q1", "q2", "q3"]  # the worst first
    assert of_one["queries"][1] == ["q2", None, [], [0.5], [["a", 0, 1, "y"], ["b", 1, 2, "y"]]]


@of_texts
def test_of_many_queries_the_page_has_rankings_of_those_that_differ_most() -> None:
    found = explored(written(table({"x": (300, 50, 150)}), "rr", runs=["old", "new"]))
    assert (found["n"], len(found["queries"])) == (500, 400)
    assert found["ranked"] == 60  # 120 rankings of two runs
    ranked = [bool(query[4]) for query in found["queries"]]
    assert ranked == [True] * 60 + [False] * 340


EXPLORE = """() => {
  const [shown, narrow, phone] = document.querySelectorAll("iframe"), page = shown.contentDocument, view = shown.contentWindow
  const panel = page.querySelector("#query"), rows = [...page.querySelectorAll("#queries .list tbody tr")]
  const texts = root => [...root.querySelectorAll("tbody td")].map(cell => cell.textContent)
  const names = () => [...page.querySelectorAll("#queries .list tbody tr")].filter(row => row.checkVisibility()).map(row => row.cells[0].textContent)
  const chosen = () => [panel.querySelector("h3").textContent, page.querySelector("[aria-current]").cells[0].textContent]
  const sort = i => { page.querySelectorAll("#queries .list th button")[i].click(); return names() }
  const bars = [...page.querySelectorAll(".differences .mark-rect path")]
  const click = bar => {
    const box = bar.getBoundingClientRect()
    bar.ownerSVGElement.dispatchEvent(new view.MouseEvent("click", { clientX: box.left + box.width / 2, clientY: box.top }))
    view.dispatchEvent(new view.HashChangeEvent("hashchange"))
    return chosen()
  }
  const first = [chosen(), names()]
  const byBar = click(bars[0]), ranking = texts(panel)
  const sorted = [sort(0), sort(1)]
  const [select] = page.querySelectorAll("#queries select")
  select.value = [...select.options].find(option => option.textContent === "y").value
  select.dispatchEvent(new view.Event("change"))
  const box = element => { const { left, right, top } = element.getBoundingClientRect(); return { left, right, top } }
  const filtered = names(), count = page.querySelector("#queries output").textContent
  return { first, byBar, ranking, sorted, filtered, count, bars: bars.length, last: click(bars[2]), hash: view.location.hash,
    cut: [...narrow.contentDocument.querySelectorAll(".table")].filter(x => x.scrollWidth > x.clientWidth).map(x => x.textContent),
    answer: [...phone.contentDocument.querySelectorAll("#comparison th")].filter(x => x.getBoundingClientRect().right <= 400).map(x => x.textContent),
    picture: box(page.querySelector(".differences svg[viewBox]")), panel: box(panel), width: page.documentElement.clientWidth }
}"""


@in_a_browser
def test_a_bar_leads_to_its_query_and_the_list_sorts_and_filters() -> None:
    page = written(moved(), "rr", runs=["old", "new"], by="by")
    found = read([frame("wide", page, 1280), frame("narrow", page, 800), frame("phone", page, 400)], EXPLORE)
    assert found["first"] == [["q3", "q3"], ["q3", "q1", "q2"]]
    assert found["bars"] == 3
    assert found["byBar"] == ["q1", "q1"]
    assert found["ranking"] == [
        "1", "alabel 0 · 1 → 2 ▼", "clabel 2 · 3 → 1 ▲",
        "2", "blabel 0 · 2 → none ▼", "alabel 0 · 1 → 2 ▼",
        "3", "clabel 2 · 3 → 1 ▲", "",
    ]  # fmt: skip
    assert found["sorted"] == [["q1", "q2", "q3"], ["q3", "q2", "q1"]]  # by name, by difference
    assert found["filtered"] == ["q2"]
    assert found["count"] == "1 of 3 queries"
    assert found["last"] == ["q3", "q3"]
    assert found["hash"] == "#query-0"
    # a wide page is filled: the query stands beside the plot, up to the right margin
    assert found["panel"]["left"] > found["picture"]["right"]
    assert found["panel"]["right"] > found["width"] - 40
    assert found["cut"] == []
    assert found["answer"][:4] == ["metric", "difference", "p", "wins-ties-losses"]


def test_the_files_of_the_page_are_in_the_package() -> None:
    folder = Path(rf.__file__).parent / "_pictures" / "page"
    assert {path.name for path in folder.iterdir()} == {"report.html", "report.css", "report.js"}


@of_texts
def test_judgments_are_counted_once_for_all_runs(tmp_path: Path) -> None:
    one = pl.DataFrame(
        {"query_id": [1, 1, 2, 2], "doc_id": list("abab"), "score": [2.0, 1.0, 2.0, 1.0], "label": [1, 0, None, 1]}
    )
    runs = pl.concat([one.with_columns(run=pl.lit(name)) for name in ("old", "new")])
    path = runs.rank.report(tmp_path / "report.html", "rr", run="run", baseline="old", resamples=39)
    assert "8 rows, 2 queries, 3 judgments" in path.read_text(encoding="utf-8")


FULL_DISK = """
import errno, resource, signal, sys
import polars as pl, rankframe as rf

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, 5_000))
df = pl.DataFrame({"query_id": [1, 2, 3], "score": [1, 1, 1], "label": [1, 0, 2]})
for name in ("old.html", "new.html"):
    try:
        df.rank.report(name, "rr")
    except OSError as error:
        print(error.errno == errno.EFBIG, error.filename)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of a file's size")
def test_a_full_disk_leaves_the_old_report_whole_and_no_cut_file(tmp_path: Path) -> None:
    (tmp_path / "old.html").write_text("old" * 10_000)
    done = subprocess.run([sys.executable, "-c", FULL_DISK], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["True old.html", "True new.html"]
    assert [path.name for path in tmp_path.iterdir()] == ["old.html"]
    assert (tmp_path / "old.html").read_text() == "old" * 10_000
