"""The `repr` of rankers and their methods: columns, policies, and methods to call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from .._table.name_presets import FLAT
from .._table.setup import PARTS, ROLES, Setup
from .._text.markup import visible
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
        cell = "text-align: left; vertical-align: top; background: none"
        rows = "".join(
            f'<tr style="background: none"><th style="{cell}; white-space: nowrap">{escape(name)}</th><td style="{cell}">{escape(fact)}</td></tr>\n'
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
    """The display of a ranker; `columns` are its table's, None without a table or if they are not known.

    `levels` are the `columns` that are index levels.
    """
    roles = {name: getattr(setup.roles, name) for name in ROLES}
    roles["doc"] = setup.roles.doc_name if columns is None else setup.roles.doc_in(columns)
    facts = []
    for role, column in roles.items():
        names = column if isinstance(column, tuple) else () if column is None else (column,)
        lacking = [name for name in names if columns is not None and name not in columns]
        if names or role == "doc":
            missing = f" (not in the table: {_listed(lacking)})" if len(names) > 1 else " (not in the table)"
            facts.append((role, (_listed(names) or "none") + missing * bool(lacking)))
    others = [name for name in columns or () if name not in setup.roles.names]
    kinds = {
        "other columns": [name for name in others if name not in levels],
        "other levels": [name for name in others if name in levels],
    }
    for kind, there in kinds.items():
        if there:
            more = f" and {len(there) - FEW} more" if len(there) > FEW else ""
            facts.append((kind, _listed(there[:FEW]) + more))
    policies = {name: value for name, value in _changed(setup).items() if name not in ROLES}
    facts.append(("policies", visible(str(option(**policies))) if policies else "the defaults"))
    return Shown(title, [*facts, *methods])


def spelled(ranker: str, setup: Setup) -> str:
    """A ranker with its options in Python."""
    given = _changed(setup)
    return visible(f"{ranker}.on({option(**given)})") if given else ranker


def _changed(setup: Setup) -> dict[str, object]:
    """The options of `on` that differ from their defaults."""
    convention = {} if setup.convention is None else {"convention": setup.convention}
    changed: dict[str, object] = {}
    for part, names in PARTS.items():
        mine, usual = getattr(setup, part), getattr(Setup(), part)
        changed |= {name: getattr(mine, name) for name in names if getattr(mine, name) != getattr(usual, name)}
    query = changed.get("query")
    if isinstance(query, tuple):
        changed["query"] = query[0] if len(query) == 1 else list(query)
    return changed | convention | ({"names": FLAT} if setup.flat else {})


def _listed(names: Sequence[str]) -> str:
    return visible(", ".join(names))
