"""docs/metrics.md, docs/metrics/*.md and docs/names.md are made from the list of metrics, and are up to date."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

import rankframe as rf

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "metrics"
ALL = "".join(page.read_text(encoding="utf-8") for page in sorted(FOLDER.glob("*.md")))


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script that writes the pages."""
    spec = importlib.util.spec_from_file_location("build_metrics_page", ROOT / "scripts" / "build_metrics_page.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def test_the_pages_say_what_the_list_of_metrics_says(script: ModuleType) -> None:
    pages = script.pages()
    assert {page for page in pages if page.parent == FOLDER} == set(FOLDER.glob("*.md"))
    for page, text in pages.items():
        assert page.read_text(encoding="utf-8") == text, "run python scripts/build_metrics_page.py"


def test_each_metric_has_a_section_with_its_code_source_and_names(script: ModuleType) -> None:
    pages = script.pages()
    for metric in [*rf.METRICS.values(), *rf.AGREEMENTS.values()]:
        start = ALL.index(f"\n## {metric.name}\n")
        text = ALL[start : ALL.find("\n## ", start + 5)]
        assert "return" in text
        assert "| Source |  |" not in text
        for name in (*metric.parameters, *metric.aliases):
            assert name in text
        for name in (*metric.aliases, *metric.spellings):
            assert f"`{name}" in pages[script.NAMES]


def test_each_metric_has_a_formula_except_the_one_that_is_a_text() -> None:
    sections = re.split(r"^## ", ALL, flags=re.MULTILINE)[1:]
    without = [text.splitlines()[0] for text in sections if not re.search(r"^\$\$\n.+\n\$\$$", text, re.MULTILINE)]
    assert without == ["relstring"]


def test_the_call_at_the_top_of_each_page_is_one_that_works() -> None:
    calls = re.findall(r"^# .*?```python\n(df\.rank.*?)\n```", ALL, re.MULTILINE | re.DOTALL)
    assert len(calls) == len(list(FOLDER.glob("*.md")))
    df = rf.load_example().select(
        *(
            "query_id",
            "doc_id",
            "score",
            pl.col("label").clip(0, 1),
            pl.col("score_pca").alias("other_score"),
            pl.lit(2.5).alias("seconds"),
        ),
        *(pl.lit(1.0).alias("x"), pl.lit(2.0).alias("y"), pl.lit("F").alias("provider"), pl.lit("s").alias("subtopic")),
        (pl.col("doc_id").str.len_bytes() % 2).cast(pl.String).alias("genre"),
    )
    known = {"df": df, "catalog": df.select("doc_id", "genre").unique(), "train": df}
    for call in calls:
        assert len(eval(call, known)) == 120, call


def test_headings_fit_into_the_contents_beside_the_page() -> None:
    headings = re.findall(r"^#+ (.*)", ALL, re.MULTILINE)
    assert len(headings) > 80
    assert [heading for heading in headings if len(heading.split()) > 6] == []
