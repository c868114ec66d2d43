"""docs/metrics.md is made from the list of metrics, and is up to date."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import rankframe as rf

SCRIPT = Path(__file__).parents[2] / "scripts" / "build_metrics_page.py"


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
