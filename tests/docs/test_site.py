"""The site: what docs/design.md says of a call is what happens, and each page can be found."""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import runpy
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from rankframe import spark
from rankframe._lift import ranker
from rankframe._plan import plan
from tests.support.each import each
from tests.support.pages import EVERY

DOCS = Path(__file__).parents[2] / "docs"
DESIGN = (DOCS / "design.md").read_text(encoding="utf-8")
COLUMNS = {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]}


def called(call: Callable[[], Any]) -> list[tuple[str, str]]:
    """The functions of the package that a call runs, as (module, name), in the order in which they are first run."""
    call()  # so that all modules are imported
    plan._cached_formulas.cache_clear()  # so that formulas run
    found: dict[tuple[str, str], None] = {}

    def note(frame: Any, event: str, arg: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("rankframe."):
            found[module.removeprefix("rankframe."), frame.f_code.co_name] = None

    before, of_threads = sys.getprofile(), threading.getprofile()
    sys.setprofile(note)
    threading.setprofile(note)  # in one of which a LazyFrame's node works
    try:
        call()
    finally:
        sys.setprofile(before)
        threading.setprofile(of_threads)
    return list(found)


def told(start: str, end: str) -> list[tuple[str, str]]:
    """The names between two places of the section, as (module, name)."""
    section = DESIGN[DESIGN.index("## The path of a call") :]
    text = section[section.index(start) : section.index(end)]
    names = re.findall(r"`((?:_|metrics\.|hook\.)[\w.]+)`", text)
    modules = (re.match(r"hook|_verbs\.\w+\.\w+|\w+\.\w+", name) for name in names)
    return [(module[0], name.rpartition(".")[2]) for module, name in zip(modules, names, strict=True) if module]


EAGER = lambda: pl.DataFrame(COLUMNS).rank.ndcg(k=10)  # noqa: E731
LAZY = lambda: pl.LazyFrame(COLUMNS).rank.on(memory_limit=1).ndcg(k=10).collect()  # noqa: E731
RANX = lambda: pl.DataFrame(COLUMNS).rank.on(convention="ranx").ndcg(k=10)  # noqa: E731
PANDAS = lambda: pd.DataFrame(COLUMNS).rank.ndcg(k=10)  # noqa: E731


@pytest.mark.parametrize(
    ("call", "start", "end", "least"),
    [
        (EAGER, "1. `.rank`", "For a **LazyFrame**", 15),
        (LAZY, "For a **LazyFrame**", "Under a **convention**", 2),
        (RANX, "Under a **convention**", "For a **pandas frame**", 2),
        (PANDAS, "For a **pandas frame**", "`rf.expr.ndcg(k=10)` leaves", 4),
        (lambda: rf.expr.ndcg(k=10), "`rf.expr.ndcg(k=10)` leaves", "## From a formula", 2),
    ],
    ids=["eager", "lazy", "convention", "pandas", "expression"],
)
def test_the_path_of_a_call_is_told_as_it_is(call: Callable[[], Any], start: str, end: str, least: int) -> None:
    path, names = called(call), told(start, end)
    assert len(names) >= least
    assert [name for name in names if name not in path] == []
    assert [path.index(name) for name in names] == sorted(path.index(name) for name in names)


def test_the_path_ends_in_the_formula_and_no_step_is_another_frames() -> None:
    assert ("metrics.gain", "ndcg") in called(EAGER)
    assert ("_plan.node", "source") not in called(EAGER)
    assert ("_plan.plan", "aggregation") not in called(LAZY)


def links(page: Path) -> Iterator[tuple[str, str]]:
    """The links of a page to others, as file and heading."""
    text = re.sub(r"```.*?```", "", TEXTS[page], flags=re.DOTALL)
    for target, _, heading in (link.partition("#") for link in re.findall(r"\]\(([^)\s]+)\)", text)):
        if "://" not in target:
            yield target, heading


@cache
def slugs(page: Path) -> set[str]:
    """The anchors that GitHub and MyST make of the headings of a page."""
    text = re.sub(r"```.*?```", "", TEXTS[page], flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


OTHERS = [*DOCS.parent.glob("*.md"), *DOCS.parent.glob("skills/*/*.md")]
TEXTS = {**EVERY, **{path: path.read_text(encoding="utf-8") for path in OTHERS}}


def test_the_reference_has_every_function_for_spark_and_every_metric_of_the_whole_table() -> None:
    reference = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md"))
    own = {x.formula.__module__ for x in rf.CATALOG_METRICS.values()}
    named = [f"autofunction:: rankframe.spark.{name}\n" for name in spark.__all__]
    named += [f"automodule:: {module}\n" for module in own if module.startswith("rankframe.")]
    assert [name for name in named if name not in reference] == []


def test_the_page_on_metrics_of_ones_own_has_every_word_of_a_formula() -> None:
    listed = re.findall(r"^\| `r\.(\w+)", (DOCS / "api" / "formulas.md").read_text(encoding="utf-8"), re.MULTILINE)
    fields = {"rank", "label"}  # which each ranking gets from its rows
    assert sorted(listed) == sorted({name for name in dir(rf.Ranking) if not name.startswith("_")} | fields)


def test_the_reference_has_every_verb_once() -> None:
    reference = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md"))
    (listed,) = re.findall(r"Ranker\n   :members: (.*)", reference)
    named = [*listed.split(", "), *re.findall(r"automethod:: .*\.Ranker\.(\w+)", reference)]
    verbs = {name for name in vars(ranker.Ranker) if not name.startswith("_")} - {*vars(ranker.AllMetrics)}
    assert sorted(named) == sorted(verbs - {*ranker.TOPICS, "metrics", "plot"})
    topics = {ranker.FusionVerbs: {"fuse", "tune"}, ranker.ItemVerbs: set(), ranker.PreferenceVerbs: set()}
    topics |= {ranker.CollectionVerbs: set(), ranker.ClickVerbs: set()}
    for topic, above in topics.items():
        named = re.findall(rf"automethod:: .*\.{topic.__name__}\.(\w+)", reference)
        assert sorted(named) == sorted({name for name in vars(topic) if not name.startswith("_")} - above)


def test_links_lead_to_files_and_headings() -> None:
    wrong = []
    for page in TEXTS:
        for target, heading in links(page):
            file = Path(os.path.normpath(page.parent / target)) if target else page
            if not (file.exists() or file in TEXTS) or (heading and heading not in slugs(file)):
                wrong.append((page.name, target, heading))
    assert wrong == []


def test_a_link_to_a_heading_that_is_not_there_is_found_out() -> None:
    assert "kendall_distance" in slugs(DOCS / "metrics" / "agreement.md")
    assert "kendall" not in slugs(DOCS / "metrics" / "agreement.md")


@each("page", ["start.md", "pandas.md"])
def test_examples_print_the_same_in_a_narrow_terminal_and_with_other_settings(
    page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"COLUMNS": "30", "POLARS_TABLE_WIDTH": "40", "POLARS_FMT_TABLE_FORMATTING": "ASCII_FULL"}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    runpy.run_path(str(DOCS.parent / "conftest.py"))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        found = doctest.testfile(str(DOCS / page), module_relative=False, encoding="utf-8")
    assert found.attempted > 10
    assert found.failed == 0, printed.getvalue()


INSTALLED = re.compile(r"pip install (-e \.(?= |$)|-e \"\.\[[\w,]+\]\"|\"rankframe\[(\w+)\]\")")


def test_pages_install_in_one_way_and_name_extras_that_are_there() -> None:
    extras = set(metadata("rankframe").get_all("Provides-Extra") or ())
    lines = [line for text in TEXTS.values() for line in text.splitlines()]
    said = [found for line in lines for found in re.findall(r"pip install [^`|&]*", line)]
    assert len(said) > 10
    assert [text for text in said if not INSTALLED.match(text)] == []
    named = (INSTALLED.match(text) for text in said)
    assert {found[2] for found in named if found is not None} - {None} <= extras
