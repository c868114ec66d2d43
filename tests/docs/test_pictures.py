"""The pictures of the docs are those that their script draws, with text that a phone shows."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch
from xml.etree import ElementTree

import polars as pl
import pytest

from rankframe._pictures import item_plots
from rankframe._table.setup import Setup
from tests.support.each import each

ROOT = Path(__file__).parents[2]
NAMES = [
    *("curve", "differences", "slices", "over"),
    *("overlap", "contributions"),
    *("exposure", "long_tail", "coverage", "trade_off"),
    "sums",
]
DRAWN = [f"{name}{end}" for name in NAMES for end in ("", "_dark")]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script that draws the pictures."""
    spec = importlib.util.spec_from_file_location("build_pictures", ROOT / "scripts" / "build_pictures.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


@pytest.fixture(scope="module")
def built(script: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the script drew now."""
    folder = tmp_path_factory.mktemp("pictures")
    with patch.object(item_plots, "_measured", once(item_plots._measured)):
        script.build(folder)
    return folder


def once(measured: Callable[..., pl.DataFrame]) -> Callable[..., pl.DataFrame]:
    """The intervals of each picture, computed once: they are the same on the background of dark pages."""
    found: dict[str, pl.DataFrame] = {}

    def of(frame: pl.DataFrame, setup: Setup, *asked: Any) -> pl.DataFrame:
        about = repr(asked)  # the runs and the metrics, which no two pictures share
        if about not in found:
            found[about] = measured(frame, setup, *asked)
        return found[about]

    return of


def texts(picture: Path | io.StringIO) -> list[str]:
    root = ElementTree.parse(picture).getroot()
    return ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]


@pytest.mark.nightly
def test_the_script_draws_all_pictures_of_the_list(built: Path) -> None:
    assert sorted(file.stem for file in built.iterdir()) == sorted(DRAWN)


@pytest.mark.nightly
@each("name", DRAWN)
def test_a_picture_of_the_docs_says_what_its_script_draws_now(name: str, built: Path) -> None:
    kept = ROOT / "docs" / "pictures" / f"{name}.svg"
    assert texts(kept) == texts(built / f"{name}.svg"), "run python scripts/build_pictures.py"


@each("name", ["overlap", "over"])
def test_a_picture_that_is_drawn_fast_says_what_its_script_draws_now(name: str, script: ModuleType) -> None:
    """The nightly run draws them all."""
    drawn = script.svg_of(script.charts("white", {})[name]())
    assert texts(ROOT / "docs" / "pictures" / f"{name}.svg") == texts(io.StringIO(drawn)), (
        "run python scripts/build_pictures.py"
    )


def test_the_picture_of_sums_has_the_numbers_of_average_precision(script: ModuleType) -> None:
    frame = pl.DataFrame({"query_id": [1] * 4, "doc_id": [*"abcd"], "score": [3, 2, 1, None], "label": [1, 0, 2, 1]})
    assert frame.rank.map().item(0, 1) == pytest.approx((1 / 1 + 2 / 3) / 3)
    drawn = script.sums("white")
    assert f"= {(1 / 1 + 2 / 3) / 3:.3f}" in drawn
    assert f"#3 = {1 / 1 + 2 / 3:.3f}" in drawn
    assert texts(ROOT / "docs" / "pictures" / "sums.svg") == texts(io.StringIO(drawn))


@each("name", DRAWN)
def test_a_picture_of_the_docs_has_the_colour_of_its_page_and_is_legible_at_350_pixels(name: str) -> None:
    root = ElementTree.parse(ROOT / "docs" / "pictures" / f"{name}.svg").getroot()
    assert next(root.iter(f"{SVG}rect")).attrib["fill"] == ("#14181e" if name.endswith("_dark") else "#ffffff")
    sizes = [float(text.attrib["font-size"].removesuffix("px")) for text in root.iter(f"{SVG}text")]
    assert min(sizes) * 350 / float(root.attrib["width"]) >= 10


def test_a_picture_stands_on_one_page() -> None:
    pages = [page.read_text("utf-8") for page in (ROOT / "docs").rglob("*.md")]
    found = {name: sum(f"pictures/{name}.svg)" in page for page in pages) for name in NAMES}
    assert found.pop("curve") > 1  # the front page has that one, too
    assert set(found.values()) == {1}
