"""The verb that brings several rankings to one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import polars as pl

from .. import fusions  # noqa: F401 - fills the registry
from .._catalog.call import Call
from .._catalog.fusions import NORMALIZATIONS, Fusion, fusion_of
from .._decisions.runs import Runs
from .._lazy.node import source
from .._plan.per_query import Frame, refuse_names
from .._table.setup import Setup
from .._verbs.declaration import verb
from .._words.asked import Asked
from .._words.rankings import Rankings
from ..errors import InvalidData, InvalidOption, on, option
from .entries import Entries, entries_of, names_of_runs

__all__ = [
    "SCORE",
    "SHARED",
    "Applied",
    "Names",
    "applied",
    "formulated",
    "fuse",
    "fused",
    "method_of",
    "over_runs",
    "with_weights",
]

SHARED = ("normalize", "missing", "depth")
"""The options that the plan reads; a formula takes the others."""

Names: TypeAlias = Sequence[str] | frozenset[str]

SCORE = "score"
"""The column of the fused score."""


def method_of(method: str | Call, **options: Any) -> Call:
    """The call of a method that a caller names."""
    return method if isinstance(method, Call) else fusion_of(method, **options)


def with_weights(weights: Sequence[float] | Mapping[str, float] | None, names: Sequence[str]) -> Any:
    """The weights in the order of the runs."""
    if not isinstance(weights, Mapping):
        return weights
    if not names:  # of an empty table
        return list(weights.values())
    if {*map(str, weights)} != {*names}:
        raise InvalidOption(
            option(weights=dict(weights)),
            f" name other runs than the table, which has {', '.join(names)}; give one for each",
        )
    return [{str(name): x for name, x in weights.items()}[name] for name in names]


def formulated(call: Call, entries: Entries, *, expected: bool) -> tuple[Rankings, pl.Expr]:
    """The columns that a method needs, and its value for each document."""
    options = call.arguments
    normalize = options.pop("normalize", None)
    rankings = Rankings(
        Asked(["#list"]),
        entries.n_runs,
        None if normalize is None else NORMALIZATIONS[normalize],
        options.pop("missing", "skip"),
        expected,
    )
    options.pop("depth", None)
    return rankings, call.metric.formula(rankings, **options)


@dataclass(frozen=True)
class Applied:
    """A method applied to the entries of a table.

    Attributes
    ----------
    entries
        The entries.
    rankings
        The words with the columns that the method's formula has asked for.
    value
        The method's value, made of the columns of each document.
    """

    entries: Entries
    rankings: Rankings
    value: pl.Expr

    @property
    def rows(self) -> pl.LazyFrame:
        """The entries' rows with the columns that are asked for so far."""
        return self.rankings.asked.compute(self.entries.rows)

    def of_each(self, *values: pl.Expr) -> pl.DataFrame:
        """A row per document (``#document``) that a ranking has, with `values` of the columns of each document."""
        columns = self.rows.group_by("#document").agg(**self.rankings.of_documents)
        return columns.select("#document", *values).collect(engine="in-memory")

    def with_scores(self, label: str | None) -> pl.DataFrame:
        """A row per document of a query, with its fused score; null for one that no ranking has."""
        scores = self.of_each(self.value.cast(pl.Float64).alias(SCORE))
        documents = self.entries.documents.with_row_index("#document").with_columns(pl.col("#document").cast(pl.Int64))
        found = documents.join(scores, on="#document", how="left", maintain_order="left").drop("#document")
        last = [name for name in (label,) if name in found.columns]
        return found.select(pl.exclude(SCORE, *last), SCORE, *last)


def applied(frame: pl.DataFrame, setup: Setup, call: Call, runs: Runs, names: Sequence[str]) -> Applied:
    """The method applied to the rankings of the runs called `names`; scores that it does not take are refused."""
    method, options = call.metric, call.arguments
    of_scores = isinstance(method, Fusion) and method.of == "scores"
    absent = (isinstance(method, Fusion) and method.absent) or options.get("missing", "skip") != "skip"
    depth = options.get("depth", setup.policies.depth)
    entries = entries_of(frame, setup, runs, names, depth=depth, absent=absent)
    rankings, value = formulated(call, entries, expected=setup.policies.ties == "expected")
    if of_scores:
        infinite = pl.col("#score").is_infinite()
        rankings.refuse(infinite, f"{call.metric.name} adds up scores, and a score is infinite; give finite scores")
    found = Applied(entries, rankings, value)
    _refuse(found.rows, rankings.asked)
    return found


def fused(frame: pl.DataFrame, setup: Setup, call: Call, runs: Runs, names: Sequence[str]) -> pl.DataFrame:
    """A row per document of a query, with its fused score; null for one that no ranking has."""
    return applied(frame, setup, call, runs, names).with_scores(setup.roles.label)


def _refuse(rows: pl.LazyFrame, asked: Asked) -> None:
    """Raise the first refusal that holds for a row."""
    if not asked.refused:
        return
    bad = rows.select(fault.rows.any().alias(fault.column) for fault in asked.refused.values())
    holds = bad.collect(engine="in-memory").row(0, named=True)
    for fault in asked.refused.values():
        if holds[fault.column]:
            raise InvalidData(fault.message)


def over_runs(
    work: Callable[..., pl.DataFrame],
    frame: Frame,
    setup: Setup,
    method: str | Call,
    runs: Runs,
    options: Mapping[str, Any],
    new: Sequence[str],
    names: Names | None,
) -> Frame:
    """The result of `work`, a function as `fused` is, on whole queries of the table; `new` are its further columns."""
    verb = "fuse" if work is fused else "explain_fusion"
    if not runs.columns:
        raise InvalidOption(
            f"{verb} needs the runs: ",
            option(runs=["bm25", "dense"]),
            ", columns of scores, or ",
            option(run="system"),
            ", the column that names the run of each row",
        )
    of_query, schema = runs.queries(setup), frame.collect_schema()
    taken = [*of_query.roles.query, setup.roles.doc_in(schema), setup.roles.label]
    refuse_names(new, [name for name in taken if name is not None], "the table")
    if setup.policies.unjudged == "bounds":
        raise InvalidOption(
            option(unjudged="bounds"), " gives no single score; fuse with another rule: ", on(unjudged="nonrelevant")
        )

    def run(rows: pl.DataFrame, whole: Sequence[str] | None, _: Sequence[str] | None) -> pl.DataFrame:
        known = names_of_runs(rows, runs) if whole is None else whole
        weights = options["weights"]
        call = method_of(method, **{**options, "weights": with_weights(weights, known)})
        if (
            isinstance(names, frozenset)
            and not isinstance(weights, Mapping)
            and call.arguments.get("weights") is not None
        ):
            raise InvalidOption(
                f"weights are given in the order of the runs, and the rows of this table have no order, so that the runs of "
                f"column {runs.column!r} have none; name the run of each weight: ",
                option(weights={"bm25": 0.7, "dense": 0.3}),
            )
        return work(rows, of_query, call, runs, known)

    if isinstance(frame, pl.DataFrame):
        return run(frame, sorted(names) if isinstance(names, frozenset) else names, None)
    whole = None if runs.column is None else partial(names_of_runs, runs=runs)
    return source(frame, of_query, run, verb, reads=[*runs.columns, setup.roles.label], whole=whole)


@verb(gives="list", reads=["runs"])
def fuse(
    frame: Frame,
    setup: Setup,
    method: str | Call,
    runs: Runs,
    normalize: str | None = None,
    weights: Sequence[float] | Mapping[str, float] | None = None,
    missing: str | None = None,
    depth: int | None = None,
    *,
    names: Names | None = None,
) -> Frame:
    """One row per document of a query, with the fused score of its rankings.

    For a part of a table, `names` are those of the runs of the whole table, in a set if they have no order; likewise in
    `explain_fusion`.
    """
    options = {"normalize": normalize, "weights": weights, "missing": missing, "depth": depth}
    return over_runs(fused, frame, setup, method, runs, options, [SCORE], names)
