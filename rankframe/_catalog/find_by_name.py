"""The metric that a name means, and the name that an error proposes for one that means none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl

from .._support.methods import called_by_users
from ..errors import InvalidOption, Text, UnknownMetric, nearest, shown
from .ambiguous_names import UNCLEAR, call_with, elsewhere, without_digits
from .registry import AGREEMENTS, CATALOG_METRICS, METRICS, Metric, of, unlist

METHODS = {"evaluate": METRICS, "agreement": AGREEMENTS, "catalog": CATALOG_METRICS}
"""The methods that take metrics, with the metrics that each takes."""


@called_by_users
def unregister(metric: str | Callable[..., pl.Expr]) -> None:
    """Remove a metric of your own, per query or of the whole table, from its list.

    Parameters
    ----------
    metric
        Its canonical name, or the function that was declared.

    Raises
    ------
    UnknownMetric, InvalidOption
        If there is no such metric, or it is one of the library's own.
    """
    both = {**CATALOG_METRICS, **METRICS}
    entry = find(metric, metric, both)[0] if isinstance(metric, str) else of(metric, both)
    if entry.own:
        raise InvalidOption(f"{entry.name!r} is a metric of the library's own, which stays")
    unlist(entry)


def find(name: str, text: str, among: Mapping[str, Metric]) -> tuple[Metric, Mapping[str, Any]]:
    """The metric called `name` in `text`, in upper or lower case, and the options that the name implies."""
    if name in among:
        return among[name], {}
    if name in UNCLEAR:
        raise UnknownMetric(elsewhere(name, text) or "")
    for entry in among.values():
        if meanings := entry.meanings(name):
            return entry, meanings[0]
    if advice := of_other_method(name, text, ["evaluate"]) or elsewhere(name, text) or of_other_method(name, text):
        raise UnknownMetric(advice)
    unknown = f"unknown metric {shown(name)}{'' if name == text else f' in {shown(text)}'}. "
    near = nearest_name(name, {**CATALOG_METRICS, **AGREEMENTS, **METRICS, **among})
    meant = _with_cutoff(name, among)
    if near is not None and not meant and not any(entry.meanings(near) for entry in among.values()):
        raise UnknownMetric(unknown, of_other_method(near, text.replace(name, near, 1)) or "")
    longer = [other for other in among if other.startswith(f"{name.lower()}_")]  # hit may be hits or hit_rate
    meant = meant or [*dict.fromkeys([*([] if near is None else [near]), *longer])]
    hint = f"Did you mean {' or '.join(map(repr, meant))}?" if meant else f"Known metrics: {_listed(among)}"
    raise UnknownMetric(unknown + hint)


def of_other_method(name: str, text: str, methods: Iterable[str] = METHODS) -> Text | None:
    """The advice to call another method, for a metric that one of `methods` takes; None for any other name."""
    for method in methods:
        if any(entry.meanings(name) for entry in METHODS[method].values()):
            return call_with(method, name, text)
    return None


def nearest_name(name: str, among: Mapping[str, Metric]) -> str | None:
    """The main name of the metric that has the name most similar to `name`, if any is similar enough."""
    known = {other: main for entry in among.values() for other, main in entry.names.items()}
    near = nearest(name, known)
    return None if near is None else known[near]


def _listed(among: Mapping[str, Metric]) -> str:
    """The metrics' names; of many, the most usual ones."""
    usual = [name for name in ("ndcg", "map", "rr", "precision", "recall", "hit_rate", "err", "rbp") if name in among]
    others = f"{', '.join(usual)} and {len(among) - len(usual)} more, all listed by `python -m rankframe metrics`"
    return others if usual else ", ".join(among)


def _with_cutoff(name: str, among: Mapping[str, Metric]) -> list[str]:
    """The text meant by a name that ends in a cutoff, as ``ndcg10`` and ``ndcg_at_10`` do."""
    base, cutoff = without_digits(name.replace("_at_", "_"))
    with_k = {entry.name: entry for entry in among.values() if entry.first == "k"}
    if not cutoff:
        return []
    if any(entry.meanings(base) for entry in with_k.values()):
        return [f"{base}@{cutoff}"]
    near = nearest_name(base, with_k) if len(base) > 3 else None
    return [] if near is None else [f"{near}@{cutoff}"]
