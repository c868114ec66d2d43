"""How the columns and sums of formulas are found: looked up by label and rank, computed by a word,
or by an expression on the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from .._support.floats import NDArray, np
from .._support.polars_versions import is_by_row
from .._words.in_arrays import Word, numbers
from .._words.sorted_rows import LABEL, RANK, Needed, in_layers, read_by, roots

LABELS, RANKS = LABEL.meta.output_name(), RANK.meta.output_name()


@dataclass(frozen=True)
class Domain:
    """The columns of labels and of ranks by which values are looked up; None for the one that they
    do not read.
    """

    label: str | None = None
    rank: str | None = None


class Table:
    """The values of columns at each place of a domain."""

    def __init__(self, values: pl.DataFrame) -> None:
        self.values = values
        self._numbers: dict[tuple[str, float], NDArray[Any]] = {}

    def numbers(self, name: str, nothing: float) -> NDArray[Any]:
        """A column as an array, with a value for null."""
        key = name, nothing
        if key not in self._numbers:
            self._numbers[key] = numbers(self.values[name], nothing)
        return self._numbers[key]

    def column(self, name: str, place: NDArray[Any]) -> pl.Series:
        """A column for rows at some places."""
        values = self.values[name]
        if values.has_nulls():
            return values[pl.Series(place.astype(np.uint32))]
        return pl.Series(values.to_numpy().take(place))


@dataclass(frozen=True)
class LookedUp:
    """What may be looked up: by labels, as these have few values; by ranks, as queries are short;
    and by pairs of them.
    """

    by_label: bool
    by_rank: bool
    by_pair: bool


@dataclass(frozen=True)
class Steps:
    """The steps from rows to the columns, sums and maxima of formulas.

    Attributes
    ----------
    expressions, words
        How each of them is computed, by name.
    domain
        Those that are functions of label and rank alone.
    wanted
        The names to look up in the table of a domain.
    layers
        Expressions on rows, each of which reads columns of the layers before it.
    layer
        The layer of each of these.
    tables
        Tables of few entries, by domain and largest rank.
    """

    expressions: Mapping[str, pl.Expr]
    words: Mapping[str, Word]
    domain: Mapping[str, Domain]
    wanted: Mapping[Domain, list[str]]
    layers: list[dict[str, pl.Expr]]
    layer: Mapping[str, int]
    tables: dict[tuple[Domain, int], Table] = field(default_factory=dict)


def steps_of(needed: Needed, by: LookedUp) -> Steps:
    """The steps, kept with what is needed."""
    if by not in needed.kept:
        needed.kept[by] = _steps(needed, by)
    found: Steps = needed.kept[by]
    return found


def _steps(needed: Needed, by: LookedUp) -> Steps:
    totals = {**needed.sums, **needed.maxima, **needed.flags}
    of = {**needed.late, **totals}
    domain = _domains(of, by)
    on_rows = {name: x for name, x in of.items() if isinstance(x, Word) or name not in domain}
    of_values = roots([*needed.values.values(), *needed.undefined.values()])
    read = [*totals, *of_values, *(root for x in on_rows.values() for root in read_by(x))]
    wanted: dict[Domain, list[str]] = {}
    for name in dict.fromkeys(read):
        if name in domain:
            wanted.setdefault(domain[name], []).append(name)
    expressions = {name: x for name, x in of.items() if isinstance(x, pl.Expr)}
    words = {name: x for name, x in of.items() if isinstance(x, Word)}
    layers = [
        {name: expressions[name] for name in layer if name in expressions}
        for layer in in_layers(on_rows)
    ]
    layer_of = {name: i for i, layer in enumerate(layers) for name in layer}
    return Steps(expressions, words, domain, wanted, layers, layer_of)


def behind(names: Sequence[str], steps: Steps) -> dict[str, pl.Expr]:
    """The expressions of some columns that are looked up, and of those of which they are made."""
    found, left = set[str](), [*names]
    while left:
        name = left.pop()
        if name not in found and name in steps.expressions:
            found.add(name)
            left += steps.expressions[name].meta.root_names()
    return {name: x for name, x in steps.expressions.items() if name in found}


def _domains(of: Mapping[str, pl.Expr | Word], by: LookedUp) -> dict[str, Domain]:
    """The domain of each column that is a function of label and rank alone, and may be looked
    up.
    """
    found: dict[str, Domain] = {}
    if by.by_label:
        found[LABELS] = Domain(label=LABELS)
    if by.by_rank:
        found[RANKS] = Domain(rank=RANKS)
    for name, x in of.items():
        if isinstance(x, Word):
            if x.axis == "label" and by.by_label:
                found[name] = Domain(label=name)
            if x.axis == "rank" and by.by_rank:
                found[name] = Domain(rank=name)
            continue
        domain = _domain(x, found)
        if domain is not None and (by.by_pair or domain.label is None or domain.rank is None):
            found[name] = domain
    return found


def _domain(x: pl.Expr, found: Mapping[str, Domain]) -> Domain | None:
    """The domain of an expression, if each column that it reads has one, and all read the same
    label and the same rank.
    """
    roots = x.meta.root_names()
    if not roots or any(root not in found for root in roots) or not is_by_row(x):
        return None
    labels = {found[root].label for root in roots} - {None}
    ranks = {found[root].rank for root in roots} - {None}
    if len(labels) > 1 or len(ranks) > 1:
        return None
    return Domain(next(iter(labels), None), next(iter(ranks), None))
