"""Builds the pictures of the docs; run ``python scripts/build_pictures.py [FOLDER]``.

They show the example table and, for recommenders, the ratings of docs/recommenders.md, whose
examples are run. Each is written twice, on white as ``curve.svg`` and on the colour of dark pages
as ``curve_dark.svg``.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import vl_convert

import rankframe as rf

DOCS = Path(__file__).parents[1] / "docs"
BACKGROUNDS = {"": "white", "_dark": "#14181e"}
"""The colour behind a picture, by the end of its file's name."""
RUNS = ["score", "score_pca", "score_forest"]
RECOMMENDERS = ["popular", "taste"]


def names_of_page(page: Path, last: str) -> dict[str, Any]:
    """The variables that the examples of a page set, up to the one named `last`."""
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for example in doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8")):
            exec(example.source, names)
            if last in names:
                break
    return names


def charts(background: str, of_page: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """What draws a chart, by the name of its file."""
    example, n = rf.load_example(), pl.col("query_id").str.slice(5).cast(pl.Int64)
    plot = example.rank.plot
    dated = example.with_columns(day=pl.date(2026, 3, 1) + pl.duration(days=n % 14)).rank.plot
    of = {"runs": RECOMMENDERS, "background": background}

    def items() -> Any:
        return of_page["lists"].rank.on(**of_page["roles"]).plot

    return {
        "curve": lambda: plot.curve("ndcg", runs=RUNS, background=background),
        "differences": lambda: plot.differences("map", runs=RUNS[:2], background=background),
        "slices": lambda: plot.slices("map", by="digit", background=background),
        "over": lambda: dated.over("ndcg@10", by="day", runs=RUNS[:2], background=background),
        "overlap": lambda: plot.overlap(runs=RUNS, background=background),
        "contributions": lambda: plot.contributions("rrf", runs=RUNS, background=background),
        "exposure": lambda: items().exposure(k=10, items=of_page["movies"], **of),
        "long_tail": lambda: items().long_tail(k=10, interactions=of_page["train"], **of),
        "coverage": lambda: items().catalog(
            "coverage", items=of_page["movies"], cutoffs=[1, 2, 5, 10, 20], **of
        ),
        "trade_off": lambda: of_page["beyond"].plot.trade_off("ild@10", "ndcg@10", **of),
    }


SUMS = [
    ("rows in rank order", "", "given"),
    ("document   rank   label", "#0   #2   #0 · #2 / rank", "head"),
    ("    a        1      1  ", " 1    1        1        ", "row"),
    ("    b        2      0  ", "adds nothing: dropped   ", "dropped"),
    ("    c        3      2  ", " 1    2        0.667    ", "row"),
    ("    d        -      1  ", " 1    3        0        ", "row"),
    ("sums of the query", "#5 = 3      #3 = 1.667  ", "sum"),
    ("value", "#3 / #5 = 0.556         ", "sum"),
]
"""How average precision is computed: of each line the left part, the right part, and its kind."""


def sums(background: str) -> str:
    """The picture of docs/design.md: from columns of rows to sums and to a value."""
    dark = background != BACKGROUNDS[""]
    text, faint, line = (
        ("#e6e6e6", "#9aa4b2", "#3a4555") if dark else ("#222222", "#6b7280", "#d1d5db")
    )
    fill = background if dark else "#ffffff"
    parts = [f'<rect width="540" height="292" fill="{fill}"/>']
    for number, (left, right, kind) in enumerate(SUMS):
        y = 30 + 33 * number
        colour = faint if kind in ("given", "head", "dropped") else text
        font = f'font-family="monospace" font-size="15.5" fill="{colour}" xml:space="preserve"'
        parts += [
            f'<text x="{x}" y="{y}" {font}>{words}</text>'
            for x, words in ((20, left), (280, right))
            if words
        ]
        if kind in ("head", "sum"):
            above = y - 22 if kind == "sum" else y + 10
            parts.append(f'<path d="M20 {above}H520" stroke="{line}" stroke-width="1"/>')
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="540" height="292" viewBox="0 0 540 292">'
    return "\n".join([svg, *parts, "</svg>\n"])


def build(folder: Path) -> None:
    of_page = names_of_page(DOCS / "recommenders.md", "beyond")
    folder.mkdir(exist_ok=True)
    for end, background in BACKGROUNDS.items():
        (folder / f"sums{end}.svg").write_text(sums(background), encoding="utf-8")
        for name, chart in charts(background, of_page).items():
            (folder / f"{name}{end}.svg").write_text(svg_of(chart()), encoding="utf-8")


def svg_of(chart: Any) -> str:
    return vl_convert.vegalite_to_svg(chart.to_dict())


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "pictures")
