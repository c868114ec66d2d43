"""docs/metrics.md is made from the list of metrics, and is up to date."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import rankframe as rf

SCRIPT = Path(__file__).parents[2] / "scripts" / "build_metrics_page.py"
PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_the_page_says_what_the_list_of_metrics_says() -> None:
    spec = importlib.util.spec_from_file_location("build_metrics_page", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    page = script.PAGE.read_text(encoding="utf-8")
    assert page == script.page(), "run python scripts/build_metrics_page.py"
    names = script.NAMES.read_text(encoding="utf-8")
    assert names == script.names_page(), "run python scripts/build_metrics_page.py"
    for metric in [*rf.METRICS.values(), *rf.AGREEMENTS.values()]:
        start = page.index(f"\n### {metric.name}\n")
        text = page[start : page.find("\n##", start + 5)]
        assert "return" in text
        assert "| Source |  |" not in text
        for name in (*metric.parameters, *metric.aliases):
            assert name in text
        for name in (*metric.aliases, *metric.spellings):
            assert f"`{name}" in names


def test_each_metric_has_a_formula_except_the_one_that_is_a_text() -> None:
    sections = re.split(r"^### ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    without = [text.splitlines()[0] for text in sections if not re.search(r"^\$\$\n.+\n\$\$$", text, re.MULTILINE)]
    assert without == ["relstring"]


def test_headings_fit_into_the_contents_beside_the_page() -> None:
    headings = re.findall(r"^#+ (.*)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(headings) > 80
    assert [heading for heading in headings if len(heading.split()) > 6] == []
