"""Tables and reports: every expected text is written by hand."""

from __future__ import annotations

import json
import re
import sys
from contextlib import nullcontext
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, get_args

import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from rankframe import report
from rankframe._results.grid import letters
from rankframe._statistics.estimators import ESTIMATORS, INTERVALS, TESTS
from rankframe._support.option_kinds import kinds_of
from rankframe._support.statistical_options import CORRECTIONS, Correction, OfDifferences, SummaryInterval, Test
from rankframe._verbs.decide.compare import Comparison
from rankframe._verbs.sample.judged import KINDS
from rankframe.errors import InvalidOption
from tests.support.each import each
from tests.support.undrawn import undrawn, unpainted

ROWS = [
    # metric, baseline, run, baseline_mean, mean, difference, p_adjusted
    ("ndcg@10", "bm25", "l_tr & co", 0.4002, 0.5004, 0.1002, 0.01),
    ("ndcg@10", "bm25", "$dense$", 0.4002, 0.3, -0.1002, 0.04),
    ("ndcg@10", "l_tr & co", "$dense$", 0.5004, 0.3, -0.2004, 0.0003),
    ("unj", "bm25", "l_tr & co", 10.5, 9.0, -1.5, 0.02),
    ("unj", "bm25", "$dense$", None, None, None, None),
    ("unj", "l_tr & co", "$dense$", None, None, None, None),
]
SETTINGS: dict[str, Any] = {
    "runs": ["bm25", "l_tr & co", "$dense$"],
    "metrics": ["ndcg@10", "unj"],
    "test": "permutation",
    "correction": "holm",
    "policies": {"doc": "doc_id", "query": ("query_id",)},
    "by": (),
    "ci": 0.95,
}
SCHEMA = {"metric": pl.String, "baseline": pl.String, "run": pl.String} | dict.fromkeys(
    ["baseline_mean", "mean", "difference", "p_adjusted"], pl.Float64
)


def comparison(table: Any = None, **settings: Any) -> Comparison[Any]:
    if table is None:
        table = pl.DataFrame(ROWS, schema=SCHEMA, orient="row").with_columns(n_queries=pl.lit(1200, pl.UInt32))
        counts = dict(
            zip(
                ["ci_low", "ci_high", "interval", "wins", "ties", "losses"],
                [None, None, None, 700, 0, 500],
                strict=True,
            )
        )
        table = table.with_columns(pl.lit(x).alias(name) for name, x in counts.items())
    return Comparison(table, table, table, table[:0], SETTINGS | settings)


MARKDOWN = r"""
|     | run           |                 ndcg@10 |                  unj |
| --- | ------------- | ----------------------: | -------------------: |
| a   | bm25          |       0.400<sup>c</sup> |               10.500 |
| b   | l\_tr &amp; co | **0.500**<sup>ac</sup> | **9.000**<sup>a</sup> |
| c   | \$dense\$     |                   0.300 |                      |

Letters name the runs that a run is significantly better than: p < 0.05 by the paired permutation test, after Holm's correction for 6 comparisons of all metrics together.

Bold: the best of its column. Means over 1,200 queries.
"""

LATEX = r"""\begin{table}
\centering
\caption{Runs \& 100\% more\_}
\label{tab:runs}
\begin{tabular}{llrr}
\toprule
 & run & ndcg@10 & unj \\
\midrule
a & bm25 & 0.400\textsuperscript{c} & 10.500 \\
b & l\_tr \& co & \textbf{0.500}\textsuperscript{ac} & \textbf{9.000}\textsuperscript{a} \\
c & \$dense\$ & 0.300 &  \\
\bottomrule
\end{tabular}
\par\smallskip
{\footnotesize Letters name the runs that a run is significantly better than: p $<$ 0.05 by the paired permutation test, after Holm's correction for 6 comparisons of all metrics together. Bold: the best of its column. Means over 1,200 queries.}
\end{table}
"""


def cells(markdown: str) -> list[list[str]]:
    """A table of Markdown without the blanks that line it up, and its notes."""
    lines = (line for line in markdown.strip().splitlines() if line)
    return [[re.sub("^-+$", "-", cell.strip().replace("-:", "-")) for cell in line.split("|")] for line in lines]


def test_a_comparison_as_markdown() -> None:
    found = comparison().to_markdown()
    assert cells(found) == cells(MARKDOWN)
    lines = found.splitlines()
    assert len({len(line) for line in lines[:5]}) == 1  # lined up
    assert re.fullmatch(r"\| -+ \| -+ \| -+: \| -+: \|", lines[1])


def test_a_comparison_as_latex() -> None:
    assert comparison().to_latex(caption="Runs & 100% more_", label="tab:runs") == LATEX
    plain = comparison().to_latex()
    assert "caption" not in plain
    assert "label" not in plain


def test_latex_escapes_what_tex_would_run() -> None:
    table = pl.DataFrame({"metric": ["rr"], "mean": [0.5], "market": ["\\{x}~^<>#_%&$\n"]})
    row = report.latex(table).splitlines()[6]
    assert row == (r"\textbackslash{}\{x\}\textasciitilde{}\textasciicircum{}$<$$>$\#\_\%\&\$  & rr & 0.500 \\")


@each("end", ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x85", "\u2028"])
def test_no_text_ends_a_line_of_a_table(end: str) -> None:
    table = pl.DataFrame({"metric": ["rr"], "mean": [0.5], "market": [f"a{end}b"]})
    for lines in (report.markdown(table).splitlines()[2], report.latex(table).splitlines()[6]):
        assert re.match(r"(\| )?a {1,2}b +(\||&) rr ", lines)


def test_markdown_escapes_what_would_be_markup() -> None:
    table = pl.DataFrame({"metric": ["rr"], "mean": [0.5], "market": ["a|b*_`[x]~<b>&\\\nz$"]})
    row = report.markdown(table).splitlines()[2]
    assert row.startswith(r"| a\|b\*\_\`\[x\]\~&lt;b>&amp;\\ z\$ | rr ")


def test_pandas_and_lazy_comparisons_read_the_same() -> None:
    wanted = comparison().to_markdown()
    assert comparison(comparison().table.lazy()).to_markdown() == wanted
    in_pandas = pd.DataFrame({x.name: x.to_list() for x in comparison().table})
    assert comparison(in_pandas.astype({"n_queries": "Int64"})).to_markdown() == wanted


def test_a_metric_that_is_no_more_counts_as_better_when_higher() -> None:
    table = pl.DataFrame([("gone", "a", "b", 1.0, 2.0, 1.0, 0.01)], schema=SCHEMA, orient="row").with_columns(
        n_queries=3
    )
    found = comparison(table, runs=["a", "b"], metrics=["gone"]).to_markdown()
    assert "**2.000**<sup>a</sup>" in found


@each("digits", [-1, 1.5, True, 18, None, "3"])
def test_digits_that_no_number_has_are_refused(digits: Any) -> None:
    with pytest.raises(rf.InvalidOption, match=f"digits={digits!r}: write a whole number from 0 to 17"):
        comparison().to_markdown(digits=digits)
    with pytest.raises(rf.InvalidOption, match=f"digits={digits!r}"):
        report.latex(pl.DataFrame({"metric": ["rr"], "mean": [0.5]}), digits=digits)


@each("alpha", [5, 0, 1, -0.05, float("nan"), None, "0.05", True])
def test_a_level_that_is_no_share_is_refused(alpha: Any) -> None:
    with pytest.raises(rf.InvalidOption, match=f"alpha={alpha!r}: write a number between 0 and 1"):
        comparison().to_markdown(alpha=alpha)


def test_alpha_digits_tests_and_corrections_are_said() -> None:
    found = comparison(test="tukey", correction="holm").to_markdown(alpha=0.005, digits=1)
    assert [row[3:5] for row in cells(found)[2:5]] == [["0.4", "10.5"], ["**0.5**<sup>c</sup>", "**9.0**"], ["0.3", ""]]
    assert "p < 0.005 by Tukey's test." in found
    assert "by the paired t-test." in comparison(test="t", correction=None).to_markdown()
    assert "after Benjamini and Yekutieli's correction" in comparison(correction="by").to_markdown()


def test_slices_stand_under_each_other_each_with_its_best() -> None:
    table = pl.DataFrame(
        [("mo", "rr", "a", "b", 0.5, 0.75, 0.25, 0.01, 2), (None, "rr", "a", "b", 0.5, 0.25, -0.25, 0.5, 3)],
        schema=["day", *SCHEMA, "n_queries"],
        orient="row",
    )
    found = comparison(table, runs=["a", "b"], metrics=["rr"], by=["day"])
    assert cells(found.to_markdown())[:6] == cells(
        """
        | day  |   | run | rr |
        | ---- | - | --- | --: |
        | mo   | a | a   | 0.500 |
        | mo   | b | b   | **0.750**<sup>a</sup> |
        | null | a | a   | **0.500** |
        | null | b | b   | 0.250 |
        """.replace("        |", "|")
    )
    assert "Means over 2 to 3 queries." in found.to_markdown()


def test_runs_beyond_the_alphabet_have_two_letters() -> None:
    assert [letters(i) for i in (0, 25, 26, 27, 51, 52, 701, 702)] == ["a", "z", "aa", "ab", "az", "ba", "zz", "aaa"]
    runs = [f"run{i}" for i in range(28)]
    rows = [("rr", base, "run27", 0.5, 0.9, 0.4, 0.001) for base in runs[:27]]
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row").with_columns(n_queries=5)
    found = comparison(table, runs=runs, metrics=["rr"]).to_latex().splitlines()
    assert found[32].startswith(r"aa & run26 & 0.500 \\")
    marks = r",\,".join([*"abcdefghijklmnopqrstuvwxyz", "aa"])
    assert found[33] == rf"ab & run27 & \textbf{{0.900}}\textsuperscript{{{marks}}} \\"


class Tags(HTMLParser):
    """The texts of table cells, the tags, and what pages would load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: set[str] = set()
        self.loads: list[str] = []
        self.in_cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.cells.append("")
            self.in_cell = True
        self.loads += [value for name, value in attrs if name in ("src", "href") and not str(value).startswith("#")]

    def handle_data(self, data: str) -> None:
        if self.in_cell:
            self.cells[-1] += data

    def handle_endtag(self, tag: str) -> None:
        self.in_cell = self.in_cell and tag not in ("td", "th")


HTML_CELLS = ["", "run", "ndcg@10", "unj", "a", "bm25", "0.400c", "10.500", "b", "l_tr & co", "0.500ac", "9.000a"]


def test_a_notebook_shows_a_comparison() -> None:
    found = comparison()._repr_html_()
    read = Tags(found)
    assert [cell.strip() for cell in read.cells[-16:-4]] == HTML_CELLS
    assert "<strong>0.500</strong><sup>ac</sup>" in found
    assert "l_tr &amp; co" in found
    assert "<small>Bold: the best of its column. Means over 1,200 queries.</small>" in found


def test_great_tables_makes_the_html() -> None:
    found = comparison().to_html(title="All <runs>")
    read = Tags(found)
    assert 'class="gt_table"' in found
    assert [cell.strip() for cell in read.cells[:13]] == ["All <runs>", *HTML_CELLS]
    assert "<strong>0.500</strong><sup>ac</sup>" in found
    assert "after Holm&#x27;s correction for 6 comparisons" in found
    assert read.loads == []
    assert "gt_heading" not in Tags(comparison().to_html()).tags


def test_a_missing_great_tables_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "great_tables", None)
    with pytest.raises(rf.errors.MissingExtra, match=r"pip install 'rankframe\[report\]'"):
        comparison().to_html()


def test_a_dictionary_holds_settings_and_rows_as_json_can() -> None:
    found = comparison(odd=float("nan"), path=Path("x")).to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["table"][0] == {
        "metric": "ndcg@10", "baseline": "bm25", "run": "l_tr & co", "baseline_mean": 0.4002,
        "mean": 0.5004, "difference": 0.1002, "p_adjusted": 0.01, "n_queries": 1200,
        "ci_low": None, "ci_high": None, "interval": None, "wins": 700, "ties": 0, "losses": 500,
    }  # fmt: skip
    assert found["settings"]["policies"] == {"doc": "doc_id", "query": ["query_id"]}
    assert (found["settings"]["odd"], found["settings"]["path"]) == (None, "x")


SUMMARY = pl.DataFrame(
    {
        "market": ["de", None],
        "metric": ["rr", "rr"],
        "mean": [0.25, 1.0],
        "std": [0.5, None],
        "ci_low": [0.1, None],
        "ci_high": [0.4, None],
        "n_queries": [1000, 1],
        "total": [250.0, 1.0],
    }
)


@each("kind", ["polars", "lazy", "pandas"])
def test_a_summary_is_a_table(kind: str) -> None:
    summary: Any = {"polars": SUMMARY, "lazy": SUMMARY.lazy(), "pandas": SUMMARY.to_pandas()}[kind]
    assert cells(report.markdown(summary)) == cells(
        """
| market | metric | mean | interval | std | queries | total |
| ------ | ------ | ---: | -------: | --: | ------: | ----: |
| de | rr | 0.250 | \\[0.100, 0.400\\] | 0.500 | 1,000 | 250.000 |
| null | rr | 1.000 | | | 1 | 1.000 |
"""
    )
    assert r"de & rr & 0.250 & [0.100, 0.400] & 0.500 & 1,000 & 250.000 \\" in report.latex(summary)
    assert "[0.100, 0.400]" in report.html(summary)


def test_what_is_no_table_of_ours_is_refused() -> None:
    with pytest.raises(rf.InvalidOption, match="int is no table"):
        report.markdown(3)
    with pytest.raises(rf.InvalidOption, match="has columns x, and is no summary"):
        report.markdown(pl.DataFrame({"x": [1]}))


# By `old` 1/2, 1 and 0, by `new` 1, 1/2 and 0.
DF = pl.DataFrame(
    {
        "query_id": ["<q&1>"] * 2 + ["q2"] * 2 + ["q3"] * 13,
        "doc_id": ["a", "b", "a", "b", *(f"d{i:02}" for i in range(13))],
        "old": [2.0, 1.0, 2.0, 1.0, *(float(-i) for i in range(12)), None],
        "new": [1.0, 2.0, 1.0, 2.0, *(float(-i) for i in range(12)), None],
        "label": [0, 1, 1, 0, *[0] * 12, 2],
        "day": ["mo"] * 2 + ["tu"] * 15,
        "title": ["<script>alert(1)</script>", *["x"] * 16],
    }
)


def run_column() -> pl.DataFrame:
    return pl.concat([DF.drop("old", "new").with_columns(system=pl.lit(run), score=DF[run]) for run in ("old", "new")])


def parts(page: str) -> dict[str, str]:
    """The page's sections, by their headings."""
    found = re.findall(r"<section id=.*?>\n<h2>(.*?)</h2>\n(.*?)</section>", page, re.DOTALL)
    return dict(found)


def test_titles_and_names_that_the_page_uses_itself_stay_as_they_are(tmp_path: Path) -> None:
    named = DF.rename({"old": "#7f7f7f"})
    path = named.rank.report(
        tmp_path / "x.html", "rr", runs=["#7f7f7f", "new"], title="TITLE, BODY and STYLE", resamples=50
    )
    page = path.read_text(encoding="utf-8")
    assert "<title>TITLE, BODY and STYLE</title>" in page
    assert "<h1>TITLE, BODY and STYLE</h1>" in page
    plots = parts(page)["Plots"]
    assert ">#7f7f7f</text>" in plots
    assert 'fill="currentColor"' in plots
    assert '="#7f7f7f"' not in plots


@each("library", ["polars", "lazy", "pandas"])
def test_a_report_of_one_run_holds_everything(library: str, tmp_path: Path) -> None:
    df: Any = {"polars": DF, "lazy": DF.lazy(), "pandas": DF.to_pandas()}[library]
    with nullcontext() if library == "polars" else unpainted():
        path = df.rank.on(score="old", no_relevant="null").report(
            tmp_path / "report.html",
            "rr",
            "hit_rate@1",
            by="day",
            worst=2,
            show=["title"],
            title="A < B",
            seed=7,
            resamples=500,
        )
    assert path == tmp_path / "report.html"
    page = path.read_text(encoding="utf-8")
    read = Tags(page)
    assert page.count("<script>") == 1  # sorts the tables
    assert read.loads == []
    assert not re.search(r"https?://(?!www\.w3\.org)", page)
    assert "<title>A &lt; B</title>" in page
    assert "prefers-color-scheme: dark" in page
    assert "17 rows, 3 queries, 17 judgments" in page
    found = parts(page)
    assert list(found) == ["Summary", "By day", "Queries", "Plots", "Worst queries", "Settings"]
    summary = Tags(found["Summary"]).cells
    # reciprocal ranks 1/2, 1 and 0: their standard deviation is 1/2
    assert summary[:4] == ["metric", "mean", "std", "queries"]
    metric, mean, *others = (cell.split() for cell in summary[4:8])
    assert [metric, mean[0], *others] == [["rr"], "0.500", ["0.500"], ["3"]]
    # one value more, 0 or 1: the quantiles of their means with random weights (Dirichlet's) are 0.06 and 0.94
    assert [float(end.strip("[],")) for end in mean[1:]] == pytest.approx([0.06, 0.94], abs=0.03)
    # of tuesday 1 and 0, of monday 1/2: the one of more queries comes first
    assert re.findall("<h3>(.*?)</h3>", found["By day"]) == ["rr", "hit_rate@1"]
    by_day = Tags(found["By day"]).cells[:8]
    assert by_day[:5] == ["day", "mean", "std", "queries", "tu"]
    assert re.fullmatch(r"0\.500 \[0\.0\d\d, 0\.9\d\d\]", by_day[5])  # Clopper and Pearson's: 0.013, 0.987
    assert by_day[6:] == ["0.707", "2 too few"]
    assert "<svg" in found["By day"]
    assert found["Plots"].count("<figure>") == 4
    assert ("currentColor" in found["Plots"]) == (library == "polars")
    worst = found["Worst queries"]
    assert re.findall(r"<strong>(.*?)</strong> <span>(.*?)</span>", worst) == [
        ("q3", "rr 0.000; 1 relevant"),
        ("&lt;q&amp;1&gt;", "rr 0.500; 1 relevant"),
    ]
    assert worst.count("<details open>") == 1
    assert "The first 10 of 12 documents." in worst
    assert "1 of 1 relevant documents not retrieved." in worst
    first, second = (Tags(table).cells for table in re.findall("<table.*?</table>", worst, re.DOTALL))
    assert first[:6] == ["rank", "doc_id", "title", "old", "label", "rr"]
    assert [cell.strip() for cell in first[-6:]] == ["", "d12", "x", "", "2", "0"]
    assert [cell.strip() for cell in second[6:]] == [
        "1", "a", "<script>alert(1)</script>", "2", "0", "0", "2", "b", "x", "1", "1", "0.5",
    ]  # fmt: skip
    (said,) = re.findall("<pre>(.*?)</pre>", found["Settings"], re.DOTALL)
    settings = json.loads(unescape(said))
    assert settings["table"] == {"rows": 17, "queries": 3}
    assert settings["metrics"] == ["rr", "hit_rate@1"]
    assert settings["policies"]["no_relevant"] == "null"
    assert settings["policies"]["doc"] == "doc_id"  # the default one, which the table has
    assert (settings["intervals"]["seed"], settings["intervals"]["resamples"]) == (7, 500)
    assert settings["versions"]["polars"] == pl.__version__
    assert settings["runs"] == "old"


@unpainted()
def test_a_report_of_runs_compares_them(tmp_path: Path) -> None:
    path = DF.rank.report(
        str(tmp_path / "a.html"), "rr", "map", runs=["old", "new"], by=["day"], baseline="old", resamples=500
    )
    found = parts(path.read_text(encoding="utf-8"))
    assert list(found) == ["Summary", "By day", "Comparison", "Queries", "Plots", "Worst queries", "Settings"]
    compared = [cell.strip() for cell in Tags(found["Comparison"]).cells]
    assert compared[:8] == [
        "metric", "difference", "p (adjusted)", "wins-ties-losses", "run", "baseline", "mean", "baseline mean",
    ]  # fmt: skip
    assert compared[10:12] == ["1 (1)", "1-1-1"]  # better, equal and worse on one query each
    assert compared[12:16] == ["new", "old", "0.500", "0.500"]
    beside = [cell.split()[0] for cell in Tags(found["Summary"]).cells]
    assert beside[:5] == ["metric", "old", "new", "difference", "queries"]
    assert beside[5:] == ["rr", "0.500", "0.500", "0.000", "3", "map", "0.500", "0.500", "0.000", "3"]
    assert "new: 1 better, 1 worse, 1 equal, +0.000 on average" in found["Queries"]
    assert re.findall("<h3>(.*?)</h3>", found["Worst queries"]) == ["old", "new"]
    assert '"test": "auto"' in unescape(found["Settings"])
    by_column = run_column().rank.report(
        tmp_path / "b.html", "rr", "map", run="system", by=["day"], baseline="old", resamples=500
    )
    same = parts(by_column.read_text(encoding="utf-8"))
    assert same["Comparison"] == found["Comparison"]
    assert same["Queries"] == found["Queries"]
    assert same["Plots"] == found["Plots"]
    assert re.findall("<summary>.*?</summary>", same["Worst queries"]) == re.findall(
        "<summary>.*?</summary>", found["Worst queries"]
    )
    assert same["Summary"].partition("<details")[0] == found["Summary"].partition("<details")[0]
    assert same["By day"] == found["By day"]


@unpainted()
def test_a_metric_that_is_no_sum_shows_documents_without_shares_and_says_why_there_is_no_plot(tmp_path: Path) -> None:
    df = DF.with_columns(score="old")
    path = df.rank.on(ties="expected").report(tmp_path / "a.html", "precision@2", worst=1)
    found = parts(path.read_text(encoding="utf-8"))
    assert "No plot of precision recall: interpolated_precision" in found["Plots"]
    path = df.rank.report(tmp_path / "b.html", "auc", "fall_out", worst=1)
    worst = parts(path.read_text(encoding="utf-8"))["Worst queries"]
    assert Tags(worst).cells[:4] == ["rank", "doc_id", "score", "label"]


@pytest.mark.filterwarnings("ignore:the interval of ")
@undrawn()
def test_where_less_is_better_the_greatest_are_the_worst(tmp_path: Path) -> None:
    # the relevant document's mean rank: 2, 1; none retrieved counts 0
    path = DF.rank.on(score="old").report(tmp_path / "a.html", "average_relevance_position", worst=1)
    worst = parts(path.read_text(encoding="utf-8"))["Worst queries"]
    assert "with the greatest average_relevance_position, and" in worst
    assert "average_relevance_position 2.000" in worst


@undrawn()
def test_a_report_without_documents_and_with_many_query_columns(tmp_path: Path) -> None:
    df = DF.drop("doc_id").rename({"old": "score"}).with_columns(site=pl.lit("x"))
    path = df.rank.on(query=["site", "query_id"]).report(tmp_path / "a.html", "rr", worst=1)
    worst = parts(path.read_text(encoding="utf-8"))["Worst queries"]
    assert "<strong>x, q3</strong>" in worst
    assert Tags(worst).cells[:3] == ["rank", "score", "label"]


def test_a_report_wants_a_metric_and_columns_that_are_there(tmp_path: Path) -> None:
    df = DF.with_columns(score="old")
    with pytest.raises(rf.InvalidOption, match="no metric given"):
        df.rank.report(tmp_path / "a.html")
    with pytest.raises(rf.MissingColumn, match="no column 'dya' for by"):
        df.rank.report(tmp_path / "a.html", "rr", by="dya")
    with pytest.raises(rf.MissingColumn, match="no column 'titel' for show"):
        df.to_pandas().rank.report(tmp_path / "a.html", "rr", show=["titel"])
    assert not list(tmp_path.iterdir())


@each(
    ("arguments", "says"),
    [
        ({"path": None}, "path=None: write the name of the file to make, as report('report.html', 'ndcg@10')"),
        ({"path": 3}, "path=3: write the name"),
        ({"path": ""}, "path='': write the name"),
        ({"path": b"x.html"}, "path=b'x.html': write the name"),
        ({"path": "a\0b.html"}, "path='a\\x00b.html': write the name"),
        ({"path": "ndcg@10"}, "path='ndcg@10' does not end in .html or .htm; write it first, as report('report.html'"),
        ({"path": "report.pdf"}, "path='report.pdf' does not end in .html or .htm"),
        ({"path": Path("rbp.95")}, "path='rbp.95' does not end in .html or .htm"),
        ({"title": None}, "title=None: write text"),
        ({"worst": -1}, "worst=-1: write a whole number from 0"),
        ({"worst": 1.5}, "worst=1.5: write"),
        ({"worst": True}, "worst=True: write"),
    ],
)
@each("library", ["polars", "lazy", "pandas"])
def test_a_report_refuses_what_it_cannot_write(library: str, arguments: Any, says: str, tmp_path: Path) -> None:
    table = pl.DataFrame({"query_id": [1], "score": [1.0], "label": [1]})
    frame: Any = {"polars": table, "lazy": table.lazy(), "pandas": table.to_pandas()}[library]
    given = {"path": tmp_path / "x.html", **arguments}
    with pytest.raises(InvalidOption) as caught:
        frame.rank.report(given.pop("path"), "rr", **given)
    assert says in str(caught.value)
    assert not list(tmp_path.iterdir())


@undrawn()
def test_a_report_shows_one_column_that_is_named_alone(tmp_path: Path) -> None:
    table = pl.DataFrame({"query_id": [1], "score": [1.0], "label": [1], "title": ["A title of its own"]})
    assert "A title of its own" in table.rank.report(tmp_path / "x.html", "rr", show="title").read_text(
        encoding="utf-8"
    )


@each("label", ["x}y", "{", "a\\b", "a%b", "50%", "a#b", "#1", "a~b", "a\nb"])
def test_a_label_that_would_break_latex_is_refused(label: str) -> None:
    with pytest.raises(InvalidOption, match=re.escape(f"label={label!r} has")) as caught:
        comparison().to_latex(label=label)
    assert "label='tab:runs'" in str(caught.value)


def test_a_label_and_a_caption_of_latex_are_texts() -> None:
    with pytest.raises(InvalidOption, match="caption=3: write text or None"):
        comparison().to_latex(caption=3)  # type: ignore[arg-type]
    with pytest.raises(InvalidOption, match="label=3: write text or None"):
        comparison().to_latex(label=3)  # type: ignore[arg-type]
    assert r"\label{tab:my_results-2, more}" in comparison().to_latex(label="tab:my_results-2, more")


@undrawn()
def test_a_report_explains_a_run_by_the_largest_label_of_the_whole_table(tmp_path: Path) -> None:
    # err stops at a document of label 1 with a chance of (2^1 - 1) / 2^3, as the largest label of the table is 3
    df = pl.DataFrame(
        {"system": ["a", "b"], "query_id": [1, 1], "doc_id": ["d", "e"], "score": [1.0, 1.0], "label": [1, 3]}
    )
    path = df.rank.report(tmp_path / "a.html", "err", run="system", baseline="a", resamples=39)
    of_a = path.read_text("utf-8").partition("<h3>a</h3>")[2].partition("<h3>b</h3>")[0]
    assert "err 0.125; 1 relevant" in of_a
    assert ">0.125</td>" in of_a


def test_every_test_and_correction_has_its_words() -> None:
    asked_for = {*get_args(Test), *get_args(OfDifferences), *get_args(SummaryInterval)}
    assert {*ESTIMATORS} == {*asked_for, *KINDS.values()}
    assert all(TESTS[name] for name in ESTIMATORS)
    assert all(INTERVALS.values())
    assert {name for name, row in ESTIMATORS.items() if not row.intervals} == {"auto", "bayes"}
    for row in ESTIMATORS.values():
        kinds = kinds_of(row.function)[1]
        assert {*row.options} - {"step"} <= {*kinds}, f"{row.name} has an option whose values are not declared"
    assert set(CORRECTIONS) == set(get_args(get_args(Correction)[0]))
