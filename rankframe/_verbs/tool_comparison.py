"""The value that each tool would print for a table, and the choices of the tool that cause the difference."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl

from .._catalog.call import Call
from .._catalog.means import Mean
from .._catalog.parse import parse
from .._plan.per_query import Frame, measure
from .._table.conventions import CONVENTIONS
from .._table.policies import Policies, declared
from .._table.setup import Setup
from ..errors import InvalidOption, RankframeError, Spelling, asked_as, worded
from .declaration import verb

__all__ = ["conventions", "short"]

SCHEMA = {"tool": pl.String, "value": pl.Float64, "metric": pl.String, "differs_by": pl.String, "note": pl.String}


@verb(gives="table")
def conventions(frame: Frame, setup: Setup, text: str, spelling: Spelling = str) -> Frame:
    """One row per tool that has the metric: the mean it prints and its differing choices, in a front's spelling."""
    calls = parse(text)
    if len(calls) != 1:
        raise InvalidOption(
            f"{text!r} names {len(calls)} metrics; ask for one, as in ", asked_as("conventions('ndcg@10')")
        )
    table = frame.lazy().collect()
    found: dict[tuple[Setup, Call], float | None] = {}

    def value(setup: Setup, call: Call) -> float | None:
        """The mean over the queries that count."""
        if (setup, call) not in found:
            of_queries = measure(table, setup, call).lazy().select(Mean.of(call).unweighted(pl.col(call.text)))
            found[setup, call] = of_queries.collect().item()
        return found[setup, call]

    rows = [("rankframe", *_described(value, setup, calls[0], setup, calls[0], "", spelling))]
    for tool, convention in CONVENTIONS.items():
        if calls[0].metric.name in convention.metrics:
            meant = setup.on(convention=tool).resolve(calls[0])
            rows.append((tool, *_described(value, *meant, setup, calls[0], convention.note, spelling)))
    result = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    return result if isinstance(frame, pl.DataFrame) else result.lazy()


def _described(
    value: Callable[[Setup, Call], float | None],
    setup: Setup,
    call: Call,
    ours: Setup,
    our_call: Call,
    note: str,
    spelling: Spelling,
) -> tuple[float | None, str, str, str]:
    """The value, the metric as computed, the choices that change the value, and a note."""
    try:
        here = value(setup, call)
    except RankframeError as error:  # such as tied scores under a tie rule that we cannot reproduce
        return None, call.text, "", "; ".join(x for x in (worded(error.said, spelling), note) if x)
    choices: list[tuple[str, dict[str, Any], Call]] = []  # each with the options that undo it
    for name in declared(Policies):
        chosen, our_choice = getattr(setup.policies, name), getattr(ours.policies, name)
        if chosen != our_choice:
            choices.append((f"{name}={short(chosen)}", {name: our_choice}, call))
    options = dict(call.options)
    for name, chosen in options.items():
        if dict(our_call.options).get(name) != chosen:
            rest = tuple((x, y) for x, y in call.options if x != name)
            kept = tuple((x, y) for x, y in our_call.options if x == name)
            choices.append((f"{name}={short(chosen)}", {}, replace(call, options=rest + kept)))

    def without(policies: dict[str, Any], call: Call) -> float | None:
        """The value with one choice undone; NaN if ours does not go with the remaining ones."""
        try:
            return value(setup.changed(**policies), call)
        except RankframeError:
            return math.nan

    matter = [text for text, policies, other in choices if not _same(here, without(policies, other))]
    return here, call.text, ", ".join(matter), note


def _same(a: float | None, b: float | None) -> bool:
    return a is b or (a is not None and b is not None and math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12))


def short(choice: object) -> str:
    """A choice as text; thresholds that mean "above" as that."""
    if isinstance(choice, float) and choice in (math.nextafter(0.5, 1), math.nextafter(0, 1)):
        return f"above {choice:.1g}" if choice > 0.1 else "above 0"
    return str(choice)
