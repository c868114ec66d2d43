"""The report: one HTML file with the quality of a ranking and all settings that its numbers depend on."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime, timezone
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import polars as pl

from .._catalog.call import Call
from .._catalog.requests import averaged
from .._decisions.compare import compare
from .._fusion.fitted import text_of
from .._plan.per_query import with_labels
from .._support.extras import load, versions
from .._table.roles import require
from .._table.runs import RUN
from .._table.setup import Setup
from .._table.table import in_memory
from .._text.result_table import plain
from .._text.sentences import IN_HTML, sentence
from .._text.user_text import visible
from .report_fusion import fusion
from .report_parts import Contents, by_slice, comparison, found_by_check, overall, pictures, summed
from .report_queries import worst_queries
from .report_tables import of_settings

SENTENCES = 10
"""The number of comparisons shown at the top; further ones are folded away."""


def write(frame: pl.DataFrame, setup: Setup, path: str | Path, contents: Contents) -> Path:
    """Write the report, and return its path."""
    jinja = load("jinja2", "report")
    if not (folder := Path(path).parent).is_dir():  # found out before the work, not after it
        raise FileNotFoundError(
            f"there is no folder {str(folder)!r} for the report; make it, as with Path({str(folder)!r}).mkdir(parents=True)"
        )
    for name in contents.show:
        require(frame.schema, name, "show")
    calls = averaged(contents.metrics, "report('report.html', 'ndcg@10', 'map')")
    frame = with_labels(frame, setup, calls)
    means, found = summed(frame, setup, contents), None
    if contents.design is not None:
        found = compare(
            in_memory(frame, setup),
            *contents.metrics,
            runs=contents.runs.scores or None,
            run=contents.runs.column,
            baseline=contents.baseline,
            resamples=contents.resamples,
            seed=contents.seed,
        )
    runs = list(means[RUN].unique(maintain_order=True))
    runs.sort(key=lambda run: contents.baseline not in (run, None))
    settings = _settings(frame, setup, contents, calls)
    page = {
        "title": contents.title,
        "size": _size(frame, setup),
        "answers": []
        if found is None
        else [sentence(row, found.settings, len(found.table), IN_HTML) for row in found.table.to_dicts()],
        "told_at_most": SENTENCES,
        "gate": contents.gate,
        "findings": found_by_check(frame, setup, contents.runs),
        "reference": runs[0],
        "summary": overall(calls, means, found, runs),
        "slices": {by: by_slice(frame, setup, contents, calls, runs, by) for by in contents.by},
        "comparison": None if found is None else comparison(frame, setup, contents, calls[0], found),
        "fusion": fusion(frame, setup, contents),
        "pictures": pictures(frame, setup, contents, calls),
        "worst": list(worst_queries(frame, setup, contents.runs, calls[0], contents.worst, contents.show)),
        "metric": calls[0].text,
        "higher_is_better": calls[0].higher_is_better,
        "settings": of_settings(settings),
        "raw": json.dumps(plain(settings), indent=2, ensure_ascii=False),
    }
    target = Path(path)
    target.write_text(_rendered(jinja, page), encoding="utf-8")
    return target


def _rendered(jinja: ModuleType, page: dict[str, object]) -> str:
    """Render the page from its template, which escapes all text."""
    html, style, script = (
        files("rankframe").joinpath("_pictures", "page", f"report.{kind}").read_text("utf-8")
        for kind in ("html", "css", "js")
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment = jinja.Environment(
        autoescape=True, undefined=jinja.StrictUndefined, finalize=_legible, trim_blocks=True, lstrip_blocks=True
    )
    return str(environment.from_string(html).render(page, style=style, script=script, digest=digest))


def _legible(value: object) -> object:
    """A text with an escape for each control character but line breaks; anything else as it is."""
    return "\n".join(map(visible, value.split("\n"))) if type(value) is str else value


def _settings(frame: pl.DataFrame, setup: Setup, contents: Contents, calls: Iterable[Call]) -> dict[str, object]:
    """All settings that the numbers depend on."""
    design, gate = contents.design, contents.gate
    settings: dict[str, object] = {
        "table": {"rows": len(frame), "queries": frame.select(setup.roles.query).n_unique()},
        "metrics": [call.text for call in calls],
        "runs": list(contents.runs.scores) or contents.runs.column or setup.roles.score,
        "policies": setup.followed(frame.columns),
        "intervals": _of_resampling(contents),
        **({} if design is None else {"comparison": {**design.settings, **asdict(contents.testing)}}),
        "slices": contents.by,
        **({} if contents.fusion is None else {"fusion": text_of(contents.fusion)}),
        "versions": versions(),
        "written": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }
    if gate is not None:  # the gate may have been made with other policies
        settings["gate"] = {
            name: x for name, x in gate.settings.items() if name != "progress" and settings.get(name) != x
        }
    return settings


def _of_resampling(contents: Contents) -> dict[str, object]:
    return {name: value for name, value in asdict(contents.resampling).items() if name != "progress"}


def _size(frame: pl.DataFrame, setup: Setup) -> str:
    judged = int(frame[setup.roles.label].count())
    queries = frame.select(setup.roles.query).n_unique()
    return f"{len(frame):,} rows, {queries:,} queries, {judged:,} judgments"
