"""docs/metrics.md, docs/metrics/*.md and docs/names.md, which the site's build writes from the list of metrics."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from scripts import build_metrics_page as script
from tests.support.pages import OF_FAMILIES, WRITTEN

ALL = "".join(OF_FAMILIES.values())


def test_the_script_writes_the_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, path in (("DOCS", tmp_path), ("INDEX", tmp_path / "metrics.md"), ("NAMES", tmp_path / "names.md")):
        monkeypatch.setattr(script, name, path)
    script.main()
    written = {path.relative_to(tmp_path): path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.md")}
    assert written == {path.relative_to(script.ROOT / "docs"): text for path, text in WRITTEN.items()}
    assert all(text.startswith("# ") for text in written.values())


def test_each_metric_has_a_section_with_its_code_source_and_names() -> None:
    for metric in [*rf.METRICS.values(), *rf.AGREEMENTS.values()]:
        start = ALL.index(f"\n## {metric.name}\n")
        text = ALL[start : ALL.find("\n## ", start + 5)]
        assert "return" in text
        assert "| Source |  |" not in text
        for name in (*metric.parameters, *metric.aliases):
            assert name in text
        for name in (*metric.aliases, *metric.spellings):
            assert f"`{name}" in WRITTEN[script.NAMES]


def test_each_metric_has_a_formula_except_the_one_that_is_a_text() -> None:
    sections = re.split(r"^## ", ALL, flags=re.MULTILINE)[1:]
    without = [text.splitlines()[0] for text in sections if not re.search(r"^\$\$\n.+\n\$\$$", text, re.MULTILINE)]
    assert without == ["relstring"]


def test_the_call_at_the_top_of_each_page_is_one_that_works() -> None:
    calls = re.findall(r"^# .*?```python\n(df\.rank.*?)\n```", ALL, re.MULTILINE | re.DOTALL)
    assert len(calls) == len(OF_FAMILIES)
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
