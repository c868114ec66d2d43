"""The `repr` of rankers and their methods: columns, policies, and methods to call."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill, indent
from typing import Any

from .._catalog.registry import METRICS, Metric
from .._support.docstrings import summary
from .._support.methods import Lifted
from .._table.name_presets import FLAT
from .._table.roles import ROLES
from .._table.setup import OPTIONS, PARTS, Setup
from ..errors import option

FEW = 12
"""The most further columns that are listed."""


@dataclass(frozen=True)
class Shown:
    """The `repr` of a ranker: a title, and below it facts by name."""

    title: str
    facts: Sequence[tuple[str, str]]

    def text(self) -> str:
        """The facts as lines of text."""
        width = max(len(name) for name, _ in self.facts)
        lines = [f"  {name:<{width}}  {fact}" for name, fact in self.facts]
        return "\n".join([self.title, *lines])

    def html(self) -> str:
        """The facts as HTML, in the colours of the page."""
        from html import escape

        cell = "text-align: left; vertical-align: top; background: none"
        rows = []
        for name, fact in self.facts:
            head = f'<th style="{cell}; white-space: nowrap">{escape(name)}</th>'
            value = f'<td style="{cell}">{escape(fact)}</td>'
            rows.append(f'<tr style="background: none">{head}{value}</tr>\n')
        return f"<div>{escape(self.title)}\n<table>\n{''.join(rows)}</table></div>"


def shown_of(
    setup: Setup,
    title: str,
    columns: Sequence[str] | None,
    methods: Sequence[tuple[str, str]],
    levels: Sequence[str] = (),
) -> Shown:
    """The display of a ranker.

    `columns` are its table's, None without a table or if they are not known.

    `levels` are the `columns` that are index levels.
    """
    facts = _facts_of_roles(setup, columns)
    others = [name for name in columns or () if name not in setup.roles.names]
    other_columns = [name for name in others if name not in levels]
    other_levels = [name for name in others if name in levels]
    for kind, names in (("other columns", other_columns), ("other levels", other_levels)):
        if names:
            n_more = len(names) - FEW
            more = f" and {n_more} more" if n_more > 0 else ""
            facts.append((kind, _listed(names[:FEW]) + more))
    changed = _changed(setup)
    policies = {name: value for name, value in changed.items() if name not in ROLES}
    in_code = _visible(str(option(**policies))) if policies else "the defaults"
    return Shown(title, [*facts, ("policies", in_code), *methods])


def _facts_of_roles(setup: Setup, columns: Sequence[str] | None) -> list[tuple[str, str]]:
    """The columns of each role, and which of them the table lacks."""
    roles = {name: getattr(setup.roles, name) for name in ROLES}
    roles["doc"] = setup.roles.doc_name if columns is None else setup.roles.doc_in(columns)
    facts = []
    for role, column in roles.items():
        names = () if column is None else column
        if isinstance(names, str):
            names = (names,)
        if not names and role != "doc":
            continue
        shown = _listed(names) or "none"
        lacking = [name for name in names if columns is not None and name not in columns]
        if lacking:
            which = f": {_listed(lacking)}" if len(names) > 1 else ""
            shown += f" (not in the table{which})"
        facts.append((role, shown))
    return facts


def spelled(ranker: str, setup: Setup) -> str:
    """A ranker with its options in Python."""
    given = _changed(setup)
    if not given:
        return ranker
    return _visible(f"{ranker}.on({option(**given)})")


def _changed(setup: Setup) -> dict[str, object]:
    """The options of `on` that differ from their defaults."""
    changed: dict[str, object] = {}
    for part, names in PARTS.items():
        mine = getattr(setup, part)
        usual = getattr(Setup(), part)
        for name in names:
            value = getattr(mine, name)
            if value != getattr(usual, name):
                changed[name] = value
    query = changed.get("query")
    if isinstance(query, tuple):
        changed["query"] = query[0] if len(query) == 1 else list(query)
    if setup.convention is not None:
        changed["convention"] = setup.convention
    if setup.flat:
        changed["names"] = FLAT
    return changed


def _visible(text: str) -> str:
    """The text in one line; a call that shows nothing does not import the markup of results."""
    from .._results.markup import visible

    return visible(text)


def _listed(names: Sequence[str]) -> str:
    return _visible(", ".join(names))


WIDTH = 100
"""The most letters of a line."""

WHAT = {
    "roles": "Columns",
    "policies": "Policies",
    "background": "Other tables",
    "running": "LazyFrames",
}
"""The parts of a setup whose options the help lists."""

EXAMPLE = """\
>>> import polars as pl, rankframe as rf
>>> df = pl.DataFrame({"qid": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "rel": [0, 1]})
>>> found = df.rank.on(query="qid", label="rel").evaluate("rr", "ndcg@10")
>>> found["rr"].to_list()
[0.5]"""

OF_EXPRESSIONS = """\
>>> import polars as pl, rankframe as rf
>>> df = pl.DataFrame(
...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]}
... )
>>> df.group_by("query_id").agg(rf.expr.reciprocal_rank())["rr"].to_list()
[0.5]"""


class Help:
    """The ``__doc__`` of a class of rankers.

    Of the class it is its own text, of a ranker the page of what it can do.
    """

    def __init__(self, text: str | None, page: Callable[[Any, str], str] | None = None) -> None:
        self.text = text
        self.page = page or page_of_ranker

    def __get__(self, owned: Any, owner: type) -> str | None:
        if owned is None:
            return self.text
        return self.page(owned, inspect.cleandoc(self.text or ""))


def page_of_topic(topic: object, about: str) -> str:
    """The help of the methods that stand under a name of their own: a line for each."""
    methods = {name: getattr(topic, name) for name in topic.__dir__()}
    return f"{about}\n\n{_a_line_each(methods)}"


def page_of_ranker(ranker: Any, about: str) -> str:
    """The help of a ranker; `about` describes its class."""
    paragraph, *_ = about.split("\n\nExamples\n")
    verbs = _verbs_of(type(ranker))
    of_frame = len(verbs) > 1
    prefix = "df.rank" if of_frame else "rf.expr"
    example = EXAMPLE if of_frame else OF_EXPRESSIONS
    for polars, own in ranker._examples:
        example = example.replace(polars, own)
    more = (
        "The rows of a query are its ranking, by falling score; their labels tell which "
        "documents are relevant. Nothing is computed before a method is called. Each method "
        f"has a help of its own, as help({prefix}.ndcg)."
    )
    sections = [
        _section("Verbs", _a_line_each(verbs)),
        _section("Metrics", _help_of_metrics(of_frame)),
        _section("Columns and policies", _help_of_options(prefix)),
        _section("Examples", example),
    ]
    parts = [paragraph, fill(more, WIDTH), *sections, ranker._own_help]
    return "\n\n".join(filter(None, parts))


def _verbs_of(ranker: type) -> dict[str, object]:
    """The methods and properties of a class of rankers that are no metrics."""
    verbs: dict[str, object] = {}
    for kind in ranker.__mro__:
        for name, x in vars(kind).items():
            is_public = not name.startswith("_")
            if is_public and isinstance(x, (Lifted, property)) and not _is_formula(x):
                verbs[name] = x
    return verbs


def _section(title: str, text: str) -> str:
    return f"{title}\n{'-' * len(title)}\n{text}"


def _help_of_metrics(of_frame: bool) -> str:
    """The names of all metrics, by family."""
    methods = "rf.expr.ndcg(k=10)"
    if of_frame:
        methods = "df.rank.metrics.nerr8(k=10) and, if many type it, df.rank.ndcg(k=10)"
    says = f'A method each, as {methods}; in texts, as "ndcg@10", a metric may have a shorter name.'
    lines = [says, ""]
    for (name, _), found in families(METRICS.values()).items():
        formulas = [x.formula.__name__ for x in found]
        lines.append(f"{name}\n{_in_lines(formulas)}")
    return "\n".join(lines)


def _help_of_options(prefix: str) -> str:
    """The names of all options of `on`, by what they are."""
    on = f'{prefix}.on(query="qid", ties="order"):'
    lines = [f"{prefix}.on(...) gives the same ranker with other ones, as {on}", ""]
    for part, title in WHAT.items():
        lines.append(f"{title}\n{_in_lines(PARTS[part])}")
    of_parts = {name for names in PARTS.values() for name in names}
    others = [name for name in OPTIONS if name not in of_parts]
    lines.append(f"Several of these at once\n{_in_lines(others)}")
    return "\n".join(lines)


def families(metrics: Iterable[Metric]) -> Mapping[tuple[str, str], list[Metric]]:
    """The metrics by family: its name and its description.

    Both are in the first sentence of the module of its formulas.
    """
    by_family: dict[tuple[str, str], list[Metric]] = {}
    for metric in metrics:
        module = sys.modules[metric.formula.__module__]
        family, _, about = summary(inspect.getdoc(module)).partition(": ")
        key = (family, about) if metric.own else ("Your own", "")
        by_family.setdefault(key, []).append(metric)
    return by_family


def _is_formula(method: object) -> bool:
    return isinstance(method, Lifted) and hasattr(method.function, "formula")


def _a_line_each(methods: Mapping[str, object]) -> str:
    width = max(map(len, methods)) + 2
    lines = [f"{name:<{width}}{_in_short(x)}" for name, x in methods.items()]
    return "\n".join(lines)


def _in_short(method: object) -> str:
    """What a method does, as the first sentence of its text says, without links."""
    documented = method.function if isinstance(method, Lifted) else method
    text = summary(inspect.getdoc(documented))
    return re.sub(r":\w+:`[~.\w]*?(\w+)`", r"\1", text).replace("``", "")


def _in_lines(names: Iterable[str]) -> str:
    lines = fill(", ".join(names), WIDTH - 4, break_on_hyphens=False)
    return indent(lines, " " * 4)
