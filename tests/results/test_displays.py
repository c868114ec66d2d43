"""Comparisons, verdicts and findings as terminals and notebooks show them; texts by hand, numbers by hand calculation."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe import report
from rankframe._command import main
from rankframe._results.grid import records
from tests.support.each import each

# Six queries with one relevant document of two. The new run has it first in all, the old one second in five of them.
DF = pl.DataFrame(
    {
        "query_id": [q for q in range(6) for _ in "ab"],
        "doc_id": ["a", "b"] * 6,
        "label": [1, 0] * 6,
        "market": ["de"] * 6 + ["fr"] * 6,
        "new": [2.0, 1.0] * 6,
        "old": [1.0, 2.0] * 5 + [2.0, 1.0],
    }
)
# By hand: the old run has a mean reciprocal rank of 3.5 / 6, the new one 1; five differences of 1/2 and one of 0, whose
# standard deviation is sqrt(1/24), so that the half of Student's interval is 2.570582 x sqrt(1/24) / sqrt(6) = 0.214215.
# Student's t is 5 with 5 degrees of freedom: p = 0.0041.

ONE = """\
`new` beats `old` on rr by 0.417 [0.202, 0.631], p = 0.0041, better on 5 of 6 queries

metric  run  baseline  baseline mean   mean  difference [95% interval]       p  wins-ties-losses
rr      new  old               0.583  1.000      +0.417 [0.202, 0.631]  0.0041             5-1-0
p by the paired t-test, over 6 queries. Difference: mean less baseline mean. Interval: Student's t."""


def of_one(frame: Any) -> Any:
    return rf.rank(frame).compare("rr", runs=["old", "new"], interval="t")


def test_a_comparison_prints_its_sentence_and_its_figures() -> None:
    assert repr(of_one(DF)) == ONE
    assert repr(of_one(DF.to_pandas())) == ONE


def test_a_comparison_of_a_lazy_frame_says_what_to_collect() -> None:
    assert repr(of_one(DF.lazy())) == (
        f"{ONE}\n.table, .per_query, .per_query_delta and .ranks are LazyFrames; .table.collect() gives a DataFrame."
    )


def test_slices_without_a_test_have_empty_cells() -> None:
    df = DF.filter(pl.col("query_id") > 3).with_columns(label=pl.col("label") * (pl.col("query_id") > 4))
    df = df.with_columns(market=pl.when(pl.col("query_id") == 5).then("market"))  # query 4 has no relevant document
    found = df.rank.on(no_relevant="null").compare("rr", runs=["old", "new"], by="market", test="tukey", resamples=39)
    assert (
        repr(found)
        == """\
No query has a value of rr (market null) for both `new` and `old`
Too few queries to tell `new` from `old` on rr (market fr): a difference of 0.000 on 1 query

market  metric  run  baseline  baseline mean   mean  difference [95% interval]  p  wins-ties-losses
null    rr      new  old                                                                      0-0-0
fr      rr      new  old               1.000  1.000                      0.000  1             0-1-0
p by Tukey's test, over 0 to 1 queries. Difference: mean less baseline mean. Interval: none."""
    )


def test_many_rows_are_counted_and_cut() -> None:
    runs = [f"run{i}" for i in range(9)]
    df = DF.with_columns(pl.col("old").alias(run) for run in runs)
    lines = repr(df.rank.compare("rr", runs=runs, resamples=39)).splitlines()
    assert lines[:2] == ["9 of 9 runs are tied for the top on rr", "0 of 36 differences are significant (p < 0.05)"]
    assert lines[2] == "9 runs have the best mean of rr, 0.583"
    assert lines[4].split() == ["run", "rr", "beats"]
    assert [line.split() for line in lines[5:14]] == [[run, "0.583", "0"] for run in runs]
    assert lines[14].startswith(
        "beats: the number of runs that a run is significantly better than, p < 0.05 by the bounded"
    )
    assert len(lines) == 4 + 1 + 9 + 2 + 1 + 1 + 30 + 3
    assert lines[-1] == "The first 30 of 36 rows; .table has all."
    assert "after Holm's correction for 36 comparisons" in lines[-3]


def test_names_of_runs_that_make_the_table_too_wide_have_letters() -> None:
    names = [f"a_run_with_a_rather_long_name_{i}" for i in range(2)]
    found = DF.rename({"old": names[0], "new": names[1]}).rank.compare("rr", runs=names, interval="t")
    sentence, *lines = repr(found).splitlines()
    assert all(f"`{name}`" in sentence for name in names)
    assert lines[:4] == ["", f"a = {names[0]}", f"b = {names[1]}", ""]
    assert [line.split()[:3] for line in lines[4:6]] == [["metric", "run", "baseline"], ["rr", "b", "a"]]
    assert all(len(line) <= 120 for line in lines)
    assert all(name in found._repr_html_() for name in names)


def test_letters_are_left_out_where_they_save_nothing() -> None:
    metric = "ndcg(gain={0:1,1:2,2:4,3:8,4:16,5:32,6:64,7:128,8:256,9:512})@10"
    lines = repr(DF.rename({"old": "a", "new": "b"}).rank.compare(metric, runs=["a", "b"], interval="t")).splitlines()
    assert len(lines[2]) > 120
    assert len(lines) == 5


def test_notes_stand_in_lines_that_a_terminal_shows() -> None:
    runs = [f"run{i}" for i in range(4)]
    df = DF.with_columns(pl.col("old").alias(run) for run in runs)
    notes = repr(df.rank.compare("rr", "map", runs=runs, resamples=39)).splitlines()[-2:]
    assert " ".join(notes) == (
        "p by the bounded interval, after Holm's correction for 12 comparisons of all metrics together, over 6 queries. "
        "Difference: mean less baseline mean. Interval: bounded. Intervals agree with p, not with adjusted p."
    )
    assert all(len(line) <= 120 for line in notes)


@each(("runs", "several"), [(["old", "new"], False), (["old", "new", "third"], True)])
def test_a_note_says_that_the_intervals_and_p_values_of_tukeys_test_hold_for_all_pairs(
    runs: list[str], several: bool
) -> None:
    df = DF.with_columns(third=-pl.col("old"))
    (note,) = df.rank.compare("rr", runs=runs, test="tukey", resamples=39).grids()[0].notes
    assert ("Intervals and p hold for all pairs at once." in note) == several


def test_names_that_would_move_a_terminal_or_be_markup_are_escaped() -> None:
    evil = "a\x1b[2J\n<b>"
    found = DF.rename({"new": evil}).rank.compare("rr", runs=["old", evil])
    assert "\x1b" not in repr(found)
    assert r"`a\x1b[2J\n<b>`" in repr(found)
    assert "<b>" not in found._repr_html_()
    verdict = DF.rename({"new": evil}).rank.gate({"rr": 0.1}, runs=["old", evil])
    assert "\x1b" not in repr(verdict)
    assert "<b>" not in verdict._repr_html_()


class Cells(HTMLParser):
    """The texts of headings, cells and paragraphs, in their order, and the styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.styles: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag in ("td", "th", "p"):
            self.texts.append("")
        self.styles |= {value for name, value in attrs if name == "style"}

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts[-1] += data


def test_a_notebook_shows_the_same_in_the_colours_of_the_page() -> None:
    read = Cells(of_one(DF)._repr_html_())
    sentence, _, head, row, note = ONE.splitlines()
    assert read.texts == [
        sentence.replace("`new`", "“new”").replace("`old`", "“old”"),
        "metric", "run", "baseline", "baseline mean", "mean", "difference [95% interval]", "p", "wins-ties-losses",
        "rr", "new", "old", "0.583", "1.000", "+0.417 [0.202, 0.631]", "0.0041", "5-1-0",
        note,
    ]  # fmt: skip
    assert all(text in head + row for text in read.texts[1:-1])
    assert read.styles == {"text-align: left", "text-align: right"}  # no colours


def test_a_notebook_shows_letters_of_more_than_two_runs() -> None:
    three = DF.with_columns(odd="new")
    assert "Letters name" in three.rank.compare("rr", runs=["old", "new", "odd"])._repr_html_()
    assert "Letters name" not in of_one(DF)._repr_html_()


@each("kind", ["polars", "lazy", "pandas"])
def test_a_verdict_counts_what_passed_and_has_a_line_for_each_row(kind: str) -> None:
    frame: Any = {"polars": DF, "lazy": DF.lazy(), "pandas": DF.to_pandas()}[kind]
    with pytest.warns(
        rf.RankframeWarning,
        match=r"^a budget of 0.99 is more than a quarter of the range of rr, 0 to 1; 0.99% is 0.0099$",
    ):
        found = rf.rank(frame).gate({"rr": 0.99, "hit_rate@1": 0.01, "recall": 0.01}, runs=["new", "old"])
    lines = repr(found).splitlines()
    assert lines[0] == "NOT PASSED: 1 of 3 within the budget, 1 failed, 1 too few queries"
    assert lines[1].startswith("passed: rr of old: -0.4167 against new, at worst -0.")
    assert lines[2].startswith("FAILED: hit_rate@1 of old: -0.8333 against new, at worst -0.9")
    # log 0.05 / log 0.99 = 298.07
    assert lines[3].endswith("too few queries to tell: 6, and a budget of 0.01 takes 299 or more")
    assert len(lines) == 4 + (kind == "lazy")
    read = Cells(found._repr_html_())
    assert read.texts[0] == lines[0]
    head = ["verdict", "metric", "run", "baseline", "baseline mean", "mean", "difference", "at worst", "budget"]
    assert read.texts[1:12] == [*head, "queries", "needed"]
    failed, few, passed = (read.texts[i : i + 11] for i in (12, 23, 34))
    assert failed[:7] == ["failed", "hit_rate@1", "old", "new", "1.0000", "0.1667", "-0.8333"]
    assert failed[8:] == ["0.01", "6", ""]  # enough to tell
    assert few[:7] == ["too few queries", "recall", "old", "new", "1.0000", "1.0000", "+0.0000"]
    assert passed[:7] == ["passed", "rr", "old", "new", "1.0000", "0.5833", "-0.4167"]
    assert read.texts[45] == "At worst: the bound of the difference, mean less baseline mean, with 95% confidence."
    assert read.styles == {"text-align: left", "text-align: right"}


# Query 0 has a document twice, nobody judged the queries 1 to 4, and query 5 has nothing retrieved.
UNFIT = pl.DataFrame(
    {
        "query_id": [0, 0, 1, 2, 3, 4, 4, 5],
        "doc_id": ["a|", "a|", "a", "a", "a", "a", "b", "a"],
        "score": [0.75, 0.5, 0.5, 0.5, 0.5, 0.5, 0.25, None],
        "label": [1, 1, None, None, None, None, None, 1],
    }
)
KINDS = [
    ["error", "repeated document", "1", "2", "query_id 0, doc_id a|"],
    ["note", "query without judgments", "4", "5", "query_id 1; query_id 2; query_id 3 ..."],
    ["note", "nothing retrieved", "1", "1", "query_id 5"],
]


@each("kind", ["polars", "lazy", "pandas"])
def test_a_report_of_a_check_has_a_row_per_kind_with_its_number_and_its_first_places(kind: str) -> None:
    frame: Any = {"polars": UNFIT, "lazy": UNFIT.lazy(), "pandas": UNFIT.to_pandas()}[kind]
    found = rf.rank(frame).check()
    html = found._repr_html_()
    assert "<strong>1 error and 2 notes</strong>" in html
    read = Cells(html).texts[1:]
    assert read[:6] == ["severity", "problem", "findings", "rows", "where", "advice"]
    rows = [read[i : i + 5] for i in range(6, 6 * 4, 6)]
    assert rows == KINDS
    assert all(read[11 : 6 * 4 : 6])  # each has its advice
    assert r"doc\_id a\|" in report.markdown(found)


@each("kind", ["polars", "lazy", "pandas"])
def test_findings_print_their_kinds_with_the_advice_below_and_keep_a_row_for_each(kind: str) -> None:
    frame: Any = {"polars": UNFIT, "lazy": UNFIT.lazy(), "pandas": UNFIT.to_pandas()}[kind]
    found = rf.rank(frame).check()
    assert type(found.rows) is type(found.table) is type(frame)
    counted, _, head, *lines = repr(found).splitlines()
    assert counted == "1 error and 2 notes"
    assert head.split() == ["severity", "problem", "findings", "rows", "where"]
    assert [[*filter(None, (x.strip() for x in line.split("  ")))] for line in lines[:3]] == [
        [x for x in row if x] for row in KINDS
    ]
    assert lines[3] == ""
    advice = " ".join(lines[4:])
    for row in records(found.table):
        assert f"{row['problem']}: {row['advice']}" in advice
    assert len(records(found.rows)) == sum(row["findings"] for row in records(found.table)) == 6
    assert pl.DataFrame(found)["problem"].to_list() == [row["problem"] for row in records(found.table)]


def test_a_check_without_findings_says_so() -> None:
    fine = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [0.5, None], "label": [1, 0]})
    assert report.markdown(fine.rank.check()).endswith("\nNothing found.\n")
    assert repr(fine.rank.check()) == "Nothing found"


def test_the_command_line_checks_for_people_by_kind_and_for_programs_by_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "unfit.csv")
    UNFIT.write_csv(path)
    assert main(["check", path]) == 1
    counted, table, advice = capsys.readouterr().out.split("\n\n")
    assert counted == "1 error and 2 notes"
    head, *lines = table.splitlines()
    assert head.split() == ["severity", "problem", "findings", "rows", "where"]
    kinds = [row[1] for row in KINDS]
    assert re.findall(rf"^({'|'.join(kinds)}): ", advice, re.M) == kinds
    assert [[*filter(None, (x.strip() for x in line.split("  ")))] for line in lines] == [
        [x for x in row if x] for row in KINDS
    ]
    assert main(["check", path, "--format", "csv"]) == 1
    assert len(pl.read_csv(capsys.readouterr().out.encode())) == 1 + 4 + 1


# By hand: the ideal of mlflow has one document, as one was retrieved; that of the definition has two, 1 / (1 + 1 / log2 3).
SHORT = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [1.0, None], "label": [1, 1]})


@each("as_frame", [pl.DataFrame, lambda df: df.to_pandas()], ids=["polars", "pandas"])
def test_tools_are_shown_by_the_value_that_they_print(as_frame: Any) -> None:
    shown = repr(as_frame(SHORT).rank.conventions("ndcg@10")).splitlines()
    # also by hand: rectools' ideal has a best document at each of ten ranks, 1 / 4.5436; lenskit discounts ranks 1 and 2 alike
    assert shown[0] == "4 values of ndcg@10, from 0.2201 to 1.0000"
    values = {line.split()[0]: line for line in shown if line[:1].isdigit()}
    assert values["0.6131"].split()[1] == "rankframe,"
    assert "mlflow" in values["1.0000"]
    assert values["0.2201"].split() == ["0.2201", "ideal=perfect", "rectools"]
    assert values["0.5000"].split() == ["0.5000", "discount=original", "lenskit"]


def test_an_observed_number_is_explained_by_a_sentence_on_each_tool_that_prints_it() -> None:
    found = SHORT.rank.conventions("ndcg@10", observed=1.0)
    sentence = "1.0 is what mlflow prints: its ideal has no more documents than were retrieved; the definition says 0.6"
    assert sentence in found.sentences()
    assert sentence in found._repr_html_()
    assert not any(text.startswith("rectools") for text in found.sentences())


def test_tools_that_all_agree_are_one_sentence() -> None:
    same = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, 0]})
    assert same.rank.conventions("rr").sentences() == ["All tools here print the same rr"]


LISTS = pl.DataFrame({"query_id": [*range(8)] * 2, "doc_id": [0] * 8 + [*range(1, 9)], "side": "left",
    "old": [1] * 8 + [0] * 8, "new": [0] * 8 + [1] * 8})  # fmt: skip


@each("as_frame", [pl.DataFrame, lambda df: df.to_pandas()], ids=["polars", "pandas"])
def test_a_notebook_shows_runs_compared_by_catalog_metrics_like_a_comparison(as_frame: Any) -> None:
    # By hand: coverage 1 / 20 and 8 / 20; 2 of the 256 exchanges differ as much, 0.0078; Holm multiplies it by 2 metrics.
    asked: Any = {"items": 20, "runs": ["old", "new"], "by": "side", "ci": 0.9}
    found = as_frame(LISTS).rank.items.compare("coverage@1", "aggregate_diversity@1", **asked)
    assert type(found.table) is type(as_frame(LISTS))
    head, first, second, note = repr(found).split("\n", 3)
    assert head.split()[:4] == ["side", "metric", "run", "baseline"]
    assert "difference [90% interval]" in head
    assert first.split()[:7] == ["left", "coverage@1", "new", "old", "0.050", "0.400", "+0.350"]
    assert head.endswith("p (adjusted)")
    assert first.split()[-2:] == second.split()[-2:] == ["0.0078", "(0.016)"]
    assert note.startswith("p by the paired permutation test, after Holm's correction for 2 comparisons of all metrics")
    read = Cells(found._repr_html_()).texts
    assert read[:5] == ["side", "metric", "run", "baseline", "baseline value"]
    assert read[8:14] == ["left", "coverage@1", "new", "old", "0.050", "0.400"]


def test_runs_compared_by_catalog_metrics_in_more_slices_than_are_shown_are_counted() -> None:
    many = LISTS.with_columns(side=pl.col("query_id"))
    many = pl.concat(
        many.with_columns(query_id=pl.col("query_id") + 8 * i, side=pl.col("side") + 8 * i) for i in range(4)
    )
    found: Any = many.rank.items.compare("hhi", runs=["old", "new"], by="side", resamples=39)
    assert repr(found).endswith("The first 30 of 32 rows; .table has all.")


def test_runs_compared_by_catalog_metrics_print_the_difference_its_interval_and_p_among_the_last_columns() -> None:
    found = LISTS.rank.items.compare("coverage@1", items=20, runs=["old", "new"], by="side").table
    shown = [x.strip() for x in str(found).splitlines()[2].strip("│").split("┆")]
    assert shown == ["side", "metric", "baseline", "run", "…", "difference", "ci_low", "ci_high", "p_adjusted"]


def test_the_list_of_metrics_shows_their_names() -> None:
    shown = repr(rf.METRICS)
    assert shown.startswith(f"{len(rf.METRICS)} metrics by name:\nprecision, recall, f1,")
    assert max(map(len, shown.split("\n"))) <= 118
    assert [name in rf.METRICS for name in ("ndcg", "mrr", 3)] == [True, False, False]
    assert repr(rf.AGREEMENTS).startswith(f"{len(rf.AGREEMENTS)} measures by name:\nkendall_distance, kendall_tau,")
    assert repr(rf.FUSIONS).startswith(f"{len(rf.FUSIONS)} fusion methods by name:\nrrf,")
    with pytest.raises(TypeError):
        rf.METRICS["mine"] = rf.METRICS["ndcg"]  # type: ignore[index]


def test_pages_of_comparisons_and_verdicts_escape_control_characters() -> None:
    evil = "\x1b[31mnew\n"
    runs = ["old", evil]
    renamed = DF.rename({"new": evil})
    comparison = renamed.rank.compare("rr", runs=runs, resamples=39)
    for page in (
        comparison._repr_html_(),
        comparison.to_html(),
        renamed.rank.gate({"rr": 0.1}, runs=runs)._repr_html_(),
    ):
        assert r"\x1b[31mnew\n" in page
        assert "\x1b" not in page
