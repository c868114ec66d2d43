"""Builds the pictures of the docs from the example table; run ``python scripts/build_pictures.py [FOLDER]``.

Each is written twice, with dark text as ``curve.svg`` and with light text for dark pages as ``curve_dark.svg``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import vl_convert

import rankframe as rf
from rankframe._pictures.draw import GREY

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
INKS = {"": "#4d4d4d", "_dark": "#c0c0c0"}
"""The colour of text and axes, by the end of a file's name."""
RUNS = ["score", "score_pca", "score_forest"]


def build(folder: Path) -> None:
    plot = rf.load_example().rank.plot
    folder.mkdir(exist_ok=True)
    for name, chart in (
        ("curve", plot.curve("ndcg", runs=RUNS)),
        ("differences", plot.differences("map", runs=RUNS[:2])),
        ("slices", plot.slices("map", by="digit")),
    ):
        drawn = vl_convert.vegalite_to_svg(chart.to_dict())
        assert GREY in drawn
        for end, ink in INKS.items():
            (folder / f"{name}{end}.svg").write_text(drawn.replace(GREY, ink), encoding="utf-8")


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
