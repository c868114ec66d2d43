"""Everything that becomes a page, with markup and script in every text that a user's table can hold."""

from __future__ import annotations

import contextlib
import io
import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import altair as alt
import polars as pl
import pytest
from markdown_it import MarkdownIt

from rankframe import report
from rankframe._command import main
from tests.support.browser import CHROMIUM, frame, read
from tests.support.undrawn import undrawn

ACT = "top.document.documentElement.id=1"
EVIL = (
    f"</script><script data-evil>{ACT}</script><img data-evil src=x onerror={ACT}><svg data-evil onload={ACT}>"
    f"\"'><p data-evil></style></title></textarea><p data-evil>-->]]>**|`x`|[x](javascript:{ACT})\\\n\u2028\x1b[31m$a$\x07\ufffe"
    "<!--<script data-evil>"
)


class Case(NamedTuple):
    """A table with this text in every name and value that is the user's."""

    text: str

    def of(self, what: str) -> str:
        return f"{self.text} {what}"

    @property
    def runs(self) -> list[str]:
        return [self.of("run"), self.of("other run")]

    @property
    def wide(self) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "query_id": [self.of(f"query {i // 3}") for i in range(30)],
                "doc_id": [self.of(f"doc {i % 3}") for i in range(30)],
                "score": [float(i % 3) for i in range(30)],
                self.runs[0]: [float(i * 7 % 11) for i in range(30)],
                self.runs[1]: [float(i * 5 % 13) for i in range(30)],
                "label": [0 if i > 26 else i % 4 // 2 for i in range(30)],
                self.of("slice"): [self.of(f"value {i // 3 % 2}") for i in range(30)],
                self.of("shown"): [self.of(f"title {i}") for i in range(30)],
            }
        )

    @property
    def long(self) -> pl.DataFrame:
        kept = ["query_id", "doc_id", "label", self.of("slice")]
        runs = (self.wide.select(*kept, pl.lit(run).alias("#run"), score=run) for run in self.runs)
        return pl.concat(runs).rename({"#run": self.of("system")})


PLOTS: dict[str, Callable[[Case], Any]] = {
    "curve": lambda case: case.wide.rank.plot.curve("rr", "recall", runs=case.runs),
    "precision_recall": lambda case: case.long.rank.plot.precision_recall(run=case.of("system")),
    "differences": lambda case: case.wide.rank.plot.differences("rr", runs=case.runs, baseline=case.runs[1]),
    "distribution": lambda case: case.long.rank.plot.distribution("rr", run=case.of("system")),
    "slices": lambda case: case.wide.rank.plot.slices("rr", by=case.of("slice"), runs=case.runs),
    "judged": lambda case: case.wide.rank.plot.judged("rr"),
}


@cache
def drawing(plot: str, case: Case) -> Any:
    return PLOTS[plot](case)


def saved(chart: Any, **options: Any) -> str:
    file = io.StringIO()
    chart.save(file, format="html", **options)
    return file.getvalue()


def in_a_notebook(chart: Any) -> str:
    with alt.renderers.enable("default"):
        bundle = chart._repr_mimebundle_()
    return str((bundle[0] if isinstance(bundle, tuple) else bundle)["text/html"])


WRITERS: dict[str, Callable[[Any], str]] = {
    "save": saved,
    "save with its scripts": lambda chart: saved(chart, inline=True),
    "to_html": lambda chart: chart.to_html(),
    "in a notebook": in_a_notebook,
    "by another library": lambda chart: f"<script>const spec = {json.dumps(chart.to_dict())}</script>",
    "View Source": lambda chart: f"<pre><code>{json.dumps(chart.to_dict())}</code></pre>",  # as vega-embed writes it
}


def printed(case: Case, command: str, *words: str, wide: bool = True) -> str:
    """What a command prints of the table, or the file that it writes in place of {file}."""
    with TemporaryDirectory() as folder:
        (case.wide if wide else case.long).write_parquet(f"{folder}/table.parquet")
        file = next(
            (Path(folder, f"page.{word.partition('.')[2]}") for word in words if word.startswith("{file}")), None
        )
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            words = tuple(str(file) if word.startswith("{file}") else word for word in words)
            assert main([command, f"{folder}/table.parquet", *words]) == 0
        return out.getvalue() if file is None else file.read_text("utf-8")


def reported(case: Case, table: Any, **runs: Any) -> str:
    with TemporaryDirectory() as folder:
        options = {"by": case.of("slice"), "title": case.of("STYLE BODY TITLE"), "resamples": 50, **runs}
        return str(table.rank.report(f"{folder}/page.html", "rr", "ndcg", **options).read_text("utf-8"))


def rendered(markdown: str) -> str:
    return str(MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown))


def compared(case: Case) -> Any:
    return case.wide.rank.compare("rr", runs=case.runs, by=case.of("slice"), resamples=50)


def summarized(case: Case) -> Any:
    return case.wide.rank.summarize("rr", by=case.of("slice"), ci=None)


def without_plots(write: Callable[[Case], str]) -> Callable[[Case], str]:
    """A page whose plots are those of the page "report"."""
    return undrawn()(write)  # type: ignore[no-any-return]


PAGES: dict[str, Callable[[Case], str]] = {
    **{
        f"plot.{plot}, {writer}": lambda case, plot=plot, write=write: write(drawing(plot, case))
        for plot in PLOTS
        for writer, write in WRITERS.items()
    },
    **{
        f"rankframe curve -o c.{kind}, {name}": lambda case, kind=kind, said=said, wide=name == "columns": printed(
            case, "curve", *said(case), "-m", "rr", "-o", f"{{file}}.{kind}", wide=wide
        )
        for kind in ("html", "svg")
        for name, said in {
            "columns": lambda case: ("--runs", ",".join(case.runs)),
            "rows": lambda case: ("--run", case.of("system")),
        }.items()
    },
    "rankframe report": without_plots(lambda case: printed(
        case, "report", "--runs", ",".join(case.runs), "--by", case.of("slice"), "--show", case.of("shown"), "-m", "rr",
        "--title", case.of("title"), "--baseline", case.runs[0], "--resamples", "50", "-o", "{file}.html",
    )),
    "rankframe evaluate --format markdown": lambda case: rendered(
        printed(case, "evaluate", "--per-query", "--by", case.of("slice"), "-m", "rr", "--format", "markdown")
    ),
    "rankframe check --format markdown": lambda case: rendered(printed(case, "check", "--format", "markdown")),
    "report": lambda case: reported(case, case.wide, runs=case.runs, show=[case.of("shown")]),
    "report of rows": without_plots(lambda case: reported(case, case.long, run=case.of("system"))),
    "report of pandas": without_plots(
        lambda case: reported(case, case.wide.to_pandas(), runs=case.runs, baseline=case.runs[1])
    ),
    "comparison in a notebook": lambda case: compared(case)._repr_html_(),
    "comparison.to_html": lambda case: compared(case).to_html(title=case.of("title")),
    "comparison.to_markdown": lambda case: rendered(compared(case).to_markdown()),
    "report.html": lambda case: report.html(summarized(case), title=case.of("title")),
    "report.markdown": lambda case: rendered(report.markdown(summarized(case))),
}  # fmt: skip


@cache
def page(name: str) -> str:
    return PAGES[name](Case(EVIL))


class Parser(HTMLParser):
    """The tags that a text made, and those with code in an attribute."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {name for name, _ in attrs}
        links = [value or "" for name, value in attrs if name in ("href", "src")]
        if "data-evil" in names or any(x.startswith("on") for x in names) or any("javascript:" in x for x in links):
            self.found.append(tag)


def by_parser(pages: dict[str, str]) -> dict[str, list[str]]:
    """What stands on each page that its texts made, as Python reads it."""
    return {name: Parser(text).found for name, text in pages.items()}


FOUND = """() => {
  const found = {}
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument
    found[frame.title] = [...page.querySelectorAll("[data-evil], [href^=javascript]")].map(tag => tag.localName)
    if (document.documentElement.id) found[frame.title].push("script ran here or in another frame")
    if (TEXTS) found[frame.title] = [...page.querySelectorAll("svg text")].map(text => text.textContent)
  }
  return found
}"""


def by_browser(pages: dict[str, str], *, texts: bool = False) -> dict[str, list[str]]:
    """The same, or the texts of drawings, as Chromium has it after all scripts ran, without the net."""
    frames = [frame(name, text) for name, text in pages.items()]
    return dict(read(frames, FOUND.replace("TEXTS", str(texts).lower())))


in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")


@pytest.mark.parametrize("read", [by_parser, pytest.param(by_browser, marks=[in_a_browser, pytest.mark.nightly])])
def test_a_page_that_escapes_nothing_is_found_out(read: Callable[..., dict[str, list[str]]]) -> None:
    pages = {
        "text": f"<p>{EVIL}</p>",
        "script": f"<script>const spec = {json.dumps(EVIL)}</script>",
        "attribute": f'<p title="{EVIL}">',
        "link": "<a href='javascript:x()'>",
    }
    assert all(read(pages).values())


KINDS = [
    "plot.curve, save",
    "plot.curve, in a notebook",
    "plot.curve, by another library",
    "rankframe curve -o c.html, rows",
    "report",
    "comparison.to_html",
]
"""A page of each kind."""


@pytest.mark.parametrize("names", [KINDS, pytest.param([*PAGES], marks=pytest.mark.nightly)], ids=["kinds", "all"])
def test_every_page_holds_the_texts_of_the_table_and_none_of_them_becomes_a_tag(names: list[str]) -> None:
    found = by_parser({name: page(name) for name in names})
    assert found == {name: [] for name in names}
    without = [name for name in names if "data-evil" not in page(name)]
    assert [
        name for name in without if "judged" not in name
    ] == []  # its pictures have numbers and no text of the table


@in_a_browser
@pytest.mark.parametrize("names", [KINDS, pytest.param([*PAGES], marks=pytest.mark.nightly)], ids=["kinds", "all"])
def test_no_text_of_a_table_becomes_a_tag_or_runs_in_a_browser(names: list[str]) -> None:
    assert by_browser({name: page(name) for name in names}) == {name: [] for name in names}


NAMES = ["</script>", "<b>bold</b>", "a < b & c", "<!--", "&lt;", "$x$ 'y' \"z\" \\"]


def shown(texts: list[str]) -> list[str]:
    """The texts as a reader sees them."""
    return [text.replace("\N{WORD JOINER}", "") for text in texts]


def drawn() -> Any:
    scores = {name: [float(i), 1.0, 2.0] for i, name in enumerate(NAMES)}
    df = pl.DataFrame({"query_id": NAMES[:3], "market": NAMES[3:], "label": [1, 0, 1], **scores})
    return df.rank.plot.slices("rr", by="market", runs=NAMES)


def texts_of_a_file() -> list[str]:
    with TemporaryDirectory() as folder:
        drawn().save(f"{folder}/x.svg")
        return [text.text or "" for text in ET.parse(f"{folder}/x.svg").iter("{http://www.w3.org/2000/svg}text")]


def texts_of_a_page() -> list[str]:
    page = drawn().to_html(inline=True, embed_options={"renderer": "svg"})
    return by_browser({"page": page}, texts=True)["page"]


@pytest.mark.parametrize(
    "texts", [texts_of_a_file, pytest.param(texts_of_a_page, marks=[in_a_browser, pytest.mark.nightly])]
)
def test_a_drawing_shows_names_as_they_are(texts: Callable[[], list[str]]) -> None:
    assert {*NAMES, *(f"{name} (1)" for name in NAMES[3:])} <= set(shown(texts()))
