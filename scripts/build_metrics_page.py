"""Write docs/metrics.md from METRICS and AGREEMENTS: what each number is, in the words and the code that make it."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

import rankframe as rf
from rankframe._conventions import CONVENTIONS
from rankframe._registry import Metric

PAGE = Path(__file__).parents[1] / "docs" / "metrics.md"

HEAD = """\
# Metrics

Every metric by its text name, with what it counts, its range, its options, the names it has elsewhere and its source.
The formula is the code that runs: a function from one query's ranking `r` to one Polars expression. `r.total(x, k)` is
the sum of `x` over the ranks down to `k`, `r.relevant` is 1 for a relevant document, `r.hits` counts them down to each
rank, `r.n_relevant` counts all of the query; other words say what they mean, and `rankframe.Ranking` describes them.

This page is made from the list of metrics by `python scripts/build_metrics_page.py`.
"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for family, metrics in families([*rf.METRICS.values(), *rf.AGREEMENTS.values()]).items():
        parts += [f"## {family}\n", *map(section, metrics)]
    return "\n".join(parts)


def families(metrics: list[Metric]) -> dict[str, list[Metric]]:
    """The metrics by the first line of their module, without its full stop."""
    found: dict[str, list[Metric]] = {}
    for metric in metrics:
        module = inspect.getdoc(sys.modules[metric.formula.__module__]) or ""
        found.setdefault(module.splitlines()[0].rstrip("."), []).append(metric)
    return found


def section(metric: Metric) -> str:
    """One metric."""
    what, parts = docstring(metric.doc)
    rows = [
        ("Range", bounds(metric)),
        ("Options", options(metric) or "none"),
        ("Also called", ", ".join(f"`{name}`" for name in names(metric)) or "nothing else"),
        ("Conventions", ", ".join(tools(metric)) or "none"),
        ("Source", " ".join(parts.get("References", "").split())),
    ]
    table = "\n".join(f"| {name} | {text} |" for name, text in rows)
    returns = " ".join(parts.get("Returns", "").split())
    about = parts.get("Parameters", "")
    listed = "".join(f"- `{name}`: {' '.join(text.split())}\n" for name, text in entries(about))
    text = f"{what}\n\n{returns}\n\n| | |\n|---|---|\n{table}\n" + (f"\n{listed}" if listed else "")
    return f"### {metric.name}\n\n{text.replace('``', '`')}\n```python\n{formula(metric)}\n```\n"


def docstring(doc: str) -> tuple[str, dict[str, str]]:
    """What stands before the first section, and the sections by their titles."""
    pieces = re.split(r"^(\w[\w ]*)\n-+\n", doc, flags=re.MULTILINE)
    return pieces[0].strip(), {title: text.strip() for title, text in zip(pieces[1::2], pieces[2::2], strict=True)}


def entries(text: str) -> Iterator[tuple[str, str]]:
    """The parameters of a section and what is said of each."""
    for name, body in re.findall(r"^(\w+)\n((?:[ ]+.*\n?|\n)+)", text, flags=re.MULTILINE):
        yield name, textwrap.dedent(body)


def formula(metric: Metric) -> str:
    """The function as it stands in its module, without its decorators and its docstring."""
    source = textwrap.dedent(inspect.getsource(metric.formula))
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    doc, lines = function.body[0], source.splitlines()
    return "\n".join([*lines[function.lineno - 1 : doc.lineno - 1], *lines[doc.end_lineno :]])


def bounds(metric: Metric) -> str:
    """The range in words."""
    low, high = metric.bounds
    return "any number" if low is None else f"from {low:g} on" if high is None else f"{low:g} to {high:g}"


def options(metric: Metric) -> str:
    """The options as they stand in a call, with their defaults."""
    return ", ".join(
        f"`{name}`" if parameter.default is parameter.empty else f"`{name}={parameter.default}`"
        for name, parameter in metric.parameters.items()
    ).replace("|", "\\|")


def names(metric: Metric) -> list[str]:
    """The other names, those that imply options with them."""
    implied = [
        f"{name} ({', '.join(f'{k}={v}' for k, v in given.items())})" for name, given in metric.spellings.items()
    ]
    return list(metric.aliases) + implied


def tools(metric: Metric) -> list[str]:
    """The tools whose convention has the metric, with what they have otherwise."""
    return [
        tool + said(convention.metrics[metric.name])
        for tool, convention in CONVENTIONS.items()
        if metric.name in convention.metrics
    ]


def said(settings: Mapping[str, object]) -> str:
    """Settings in brackets; a threshold that means "above 0" as that."""
    given = [f"{name}={'above 0' if value == 5e-324 else value}" for name, value in settings.items()]
    return f" ({', '.join(given)})" if given else ""


if __name__ == "__main__":
    main()
