"""Builds the pictures of the docs from the example table; run ``python scripts/build_pictures.py [FOLDER]``.

Each is written twice, on white as ``curve.svg`` and on the colour of dark pages as ``curve_dark.svg``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import vl_convert

import rankframe as rf

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
BACKGROUNDS = {"": "white", "_dark": "#14181e"}
"""The colour behind a picture, by the end of its file's name."""
RUNS = ["score", "score_pca", "score_forest"]


def build(folder: Path) -> None:
    plot = rf.load_example().rank.plot
    folder.mkdir(exist_ok=True)
    for end, background in BACKGROUNDS.items():
        for name, chart in (
            ("curve", plot.curve("ndcg", runs=RUNS, background=background)),
            ("differences", plot.differences("map", runs=RUNS[:2], background=background)),
            ("slices", plot.slices("map", by="digit", background=background)),
        ):
            (folder / f"{name}{end}.svg").write_text(vl_convert.vegalite_to_svg(chart.to_dict()), encoding="utf-8")


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
