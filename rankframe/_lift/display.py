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
        return "\n".join([self.title, *(f"  {name:<{width}}  {fact}" for name, fact in self.facts)])

    def html(self) -> str:
        """The facts as HTML, in the colours of the page."""
        from html import escape

        cell = "text-align: left; vertical-align: top; background: none"
        rows = "".join(
            f'<tr style="background: none"><th style="{cell}; white-space: '
            f'nowrap">{escape(name)}</th><td style="{cell}">{escape(fact)}</td></tr>\n'
            for name, fact in self.facts
        )
        return f"<div>{escape(self.title)}\n<table>\n{rows}</table></div>"


def shown_of(
    setup: Setup,
    title: str,
    columns: Sequence[str] | None,
    methods: Sequence[tuple[str, str]],
    levels: Sequence[str] = (),
) -> Shown:
    """The display of a ranker; `columns` are its table's, None without a table or if they are not
    known.

    `levels` are the `columns` that are index levels.
    """
    roles = {name: getattr(setup.roles, name) for name in ROLES}
    roles["doc"] = setup.roles.doc_name if columns is None else setup.roles.doc_in(columns)
    facts = []
    for role, column in roles.items():
        names = column if isinstance(column, tuple) else () if column is None else (column,)
        lacking = [name for name in names if columns is not None and name not in columns]
        if names or role == "doc":
            missing = (
                f" (not in the table: {_listed(lacking)})"
                if len(names) > 1
                else " (not in the table)"
            )
            facts.append((role, (_listed(names) or "none") + missing * bool(lacking)))
    others = [name for name in columns or () if name not in setup.roles.names]
    kinds: dict[str, list[str]] = {"other columns": [], "other levels": []}
    for name in others:
        kinds["other levels" if name in levels else "other columns"].append(name)
    for kind, there in kinds.items():
        if there:
            more = f" and {len(there) - FEW} more" if len(there) > FEW else ""
            facts.append((kind, _listed(there[:FEW]) + more))
    policies = {name: value for name, value in _changed(setup).items() if name not in ROLES}
    facts.append(("policies", _visible(str(option(**policies))) if policies else "the defaults"))
    return Shown(title, [*facts, *methods])


def spelled(ranker: str, setup: Setup) -> str:
    """A ranker with its options in Python."""
    given = _changed(setup)
    return _visible(f"{ranker}.on({option(**given)})") if given else ranker


def _changed(setup: Setup) -> dict[str, object]:
    """The options of `on` that differ from their defaults."""
    convention = {} if setup.convention is None else {"convention": setup.convention}
    changed: dict[str, object] = {}
    for part, names in PARTS.items():
        mine, usual = getattr(setup, part), getattr(Setup(), part)
        changed |= {
            name: getattr(mine, name)
            for name in names
            if getattr(mine, name) != getattr(usual, name)
        }
    query = changed.get("query")
    if isinstance(query, tuple):
        changed["query"] = query[0] if len(query) == 1 else list(query)
    return changed | convention | ({"names": FLAT} if setup.flat else {})


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
>>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
>>> df.group_by("query_id").agg(rf.expr.reciprocal_rank())["rr"].to_list()
[0.5]"""


class Help:
    """The ``__doc__`` of a class of rankers: of the class its own text, of a ranker the page of
    what it can do.
    """

    def __init__(self, text: str | None, page: Callable[[Any, str], str] | None = None) -> None:
        self.text, self.page = text, page or page_of_ranker

    def __get__(self, owned: Any, owner: type) -> str | None:
        return self.text if owned is None else self.page(owned, inspect.cleandoc(self.text or ""))


def page_of_topic(topic: object, about: str) -> str:
    """The help of the methods that stand under a name of their own: a line for each."""
    return f"{about}\n\n{_a_line_each({name: getattr(topic, name) for name in topic.__dir__()})}"


def page_of_ranker(ranker: Any, about: str) -> str:
    """The help of a ranker; `about` describes its class."""
    paragraph, *_ = about.split("\n\nExamples\n")
    methods = [
        (name, x)
        for kind in type(ranker).__mro__
        for name, x in vars(kind).items()
        if not name.startswith("_")
    ]
    verbs = {
        name: x for name, x in methods if isinstance(x, (Lifted, property)) and not _is_formula(x)
    }
    of_frame = len(verbs) > 1
    prefix, example = ("df.rank", EXAMPLE) if of_frame else ("rf.expr", OF_EXPRESSIONS)
    of_table = "df.rank.metrics.nerr8(k=10) and, if many type it, df.rank.ndcg(k=10)"
    methods_of = of_table if of_frame else "rf.expr.ndcg(k=10)"
    for polars, own in ranker._examples:
        example = example.replace(polars, own)
    of_families = families(METRICS.values()).items()
    families_of = [
        f"{name}\n{_in_lines(x.formula.__name__ for x in found)}"
        for (name, _), found in of_families
    ]
    of_parts = {title: PARTS[part] for part, title in WHAT.items()}
    others = [name for name in OPTIONS if not any(name in names for names in PARTS.values())]
    of_parts["Several of these at once"] = tuple(others)
    options = [f"{title}\n{_in_lines(names)}" for title, names in of_parts.items()]
    of_metrics = (
        f'A method each, as {methods_of}; in texts, as "ndcg@10", a metric may have a shorter name.'
    )
    of_on = (
        f'{prefix}.on(...) gives the same ranker with other ones, as {prefix}.on(query="qid", '
        'ties="order"):'
    )
    parts = {"Verbs": _a_line_each(verbs), "Metrics": "\n".join([of_metrics, "", *families_of])}
    parts |= {"Columns and policies": "\n".join([of_on, "", *options]), "Examples": example}
    sections = [f"{title}\n{'-' * len(title)}\n{text}" for title, text in parts.items()]
    more = (
        "The rows of a query are its ranking, by falling score; their labels tell which "
        "documents are relevant. Nothing is "
        "computed before a method is called. Each method has a help of its own, as "
        f"help({prefix}.ndcg)."
    )
    return "\n\n".join(filter(None, [paragraph, fill(more, WIDTH), *sections, ranker._own_help]))


def families(metrics: Iterable[Metric]) -> Mapping[tuple[str, str], list[Metric]]:
    """The metrics by family: the name and the description of each, from the first line of the
    module of its formulas.
    """
    found: dict[tuple[str, str], list[Metric]] = {}
    for metric in metrics:
        text = inspect.getdoc(sys.modules[metric.formula.__module__]) or ""
        family, _, about = text.partition("\n")[0].partition(": ")
        found.setdefault((family, about) if metric.own else ("Your own", ""), []).append(metric)
    return found


def _is_formula(method: object) -> bool:
    return isinstance(method, Lifted) and hasattr(method.function, "formula")


def _a_line_each(methods: Mapping[str, object]) -> str:
    width = max(map(len, methods)) + 2
    return "\n".join(f"{name:<{width}}{_first_line(x)}" for name, x in methods.items())


def _first_line(method: object) -> str:
    """What a method does, as the first line of its text says, without links."""
    documented = method.function if isinstance(method, Lifted) else method
    text = (inspect.getdoc(documented) or "").partition("\n")[0]
    return re.sub(r":\w+:`[~.\w]*?(\w+)`", r"\1", text).replace("``", "")


def _in_lines(names: Iterable[str]) -> str:
    return indent(fill(", ".join(names), WIDTH - 4, break_on_hyphens=False), " " * 4)
