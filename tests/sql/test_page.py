"""The pages on SQL say what `rf.sql` does."""

from __future__ import annotations

import re
from pathlib import Path

import rankframe as rf
from rankframe._sql.words import NO_SQL
from tests.support.calls import CALLS, spell
from tests.support.tables import BY_CHANCE

pytestmark = BY_CHANCE

DOCS = Path(__file__).parents[2] / "docs"


def plain_calls(name: str) -> list[str]:
    """Calls of a metric that reads scores and labels only, as the tests make them; else its name."""
    function = rf.METRICS[name].formula.__name__
    short = [options for options in CALLS.get(function, CALLS.get(name, [])) if "gain" not in options]
    return [spell(function if function in CALLS else name, options) for options in short] or [name]


def reason(name: str) -> str | None:
    """Why a metric has no SQL, as the page says it; None if it has."""
    metric = rf.METRICS[name]
    roles = [*metric.needs, *(["subtopic"] if metric.over == "subtopics" else [])]
    if roles := [role for role in roles if role in NO_SQL]:
        return f"it reads {', '.join(NO_SQL[role] for role in roles)}"
    return refusal(*plain_calls(name))


def refusal(*calls: str) -> str | None:
    """Why the first of the calls without SQL has none; an error of another kind fails the test."""
    try:
        rf.sql(*calls, dialect="duckdb", table="judged", names="text")
    except rf.InvalidOption as error:
        why = str(error).partition(" has no SQL for duckdb: ")[2].removesuffix("; evaluate it on a frame")
        return why or str(error)
    return None


def listed() -> str:
    """The lines of the page's table."""
    found = {name: why for name in rf.METRICS if (why := reason(name))}
    by_reason: dict[str, list[str]] = {}
    for name, why in found.items():
        by_reason.setdefault(why, []).append(name)
    return "".join(f"| {', '.join(f'`{x}`' for x in names)} | {why} |\n" for why, names in by_reason.items())


def test_the_page_lists_the_metrics_that_have_no_sql_with_the_reason() -> None:
    table = (DOCS / "sql.md").read_text(encoding="utf-8").partition("| why it has no SQL |\n|---|---|\n")[2]
    assert table == listed(), f"paste behind the head of the last table of docs/sql.md:\n{listed()}"


def test_the_lines_that_the_page_on_faults_quotes_are_written() -> None:
    page = (DOCS / "sql.md").read_text(encoding="utf-8").partition("\n## nDCG by hand")[2]
    text = plain(rf.sql("ndcg@10", dialect="duckdb", table="judged"))
    quoted = [line for block in re.findall(r"```text\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    assert len(quoted) == 6
    parts = [plain(part) for line in quoted for part in line.split("...")]
    assert [part for part in parts if part not in text] == []


def plain(text: str) -> str:
    """A text without blanks."""
    return re.sub(r"\s", "", text)
