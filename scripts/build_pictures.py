"""Builds the pictures of docs/reports.md from the example table; run ``python scripts/build_pictures.py [FOLDER]``."""

from __future__ import annotations

import sys
from pathlib import Path

import vl_convert

import rankframe as rf

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
RUNS = ["score", "score_pca", "score_forest"]


def build(folder: Path) -> None:
    plot = rf.load_example().rank.plot
    folder.mkdir(exist_ok=True)
    for name, chart in (
        ("curve", plot.curve("ndcg", runs=RUNS)),
        ("differences", plot.differences("map", runs=RUNS[:2])),
        ("slices", plot.slices("map", by="digit")),
    ):
        (folder / f"{name}.svg").write_text(vl_convert.vegalite_to_svg(chart.to_dict()), encoding="utf-8")


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
