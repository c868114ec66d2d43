"""The verb that fuses several rankings into one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import polars as pl

from .. import fusions  # noqa: F401 - fills the registry
from .._catalog.call import Call
from .._catalog.fusions import NORMALIZATIONS, Fusion, fusion_of
from .._decisions.runs import Runs
from .._lazy.node import source
from .._plan.parts import in_parts
from .._plan.per_query import Frame, refuse_names
from .._table.setup import Setup
from .._verbs.declaration import verb
from .._words.columns_needed import Needed
from .._words.rankings import How, Rankings
from ..errors import InvalidData, InvalidOption, on, option
from .entries import Entries, entries_of, names_of_runs
from .fitted import FittedFusion, require_runs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Names: TypeAlias = Sequence[str] | frozenset[str]
"""The names of the runs of a whole table; in a set if they have no order."""

SCORE = "score"
"""The column of the fused score."""

LISTED = "#listed"
"""Whether any ranking has the document."""

FIRST_BITS = ~((1 << 29) - 1)
"""The bits of a 64-bit number that hold its sign, its exponent and the first 24 of its 53 digits."""


def method_of(method: str | Call | FittedFusion[object], **options: object) -> Call:
    """The call of a method that a caller names, or has trained."""
    if isinstance(method, FittedFusion):
        given = {name: value for name, value in options.items() if value is not None}
        if given:
            raise InvalidOption(
                option(**given), f" belongs to the training of {method.method}; train it so, and leave it out"
            )
        return method.call
    return method if isinstance(method, Call) else fusion_of(method, **options)


def names_of(method: str | Call | FittedFusion[object], frame: Frame, runs: Runs) -> Sequence[str]:
    """The names of the runs in their order; of a trained method, that of its training."""
    names = names_of_runs(frame, runs)
    return method.matched(names) if isinstance(method, FittedFusion) else names


def with_weights(weights: Sequence[float] | Mapping[str, float] | None, names: Sequence[str]) -> Sequence[float] | None:
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


def formulated(
    call: Call, entries: Entries, *, expected: bool, beside: Rankings | None = None
) -> tuple[Rankings, pl.Expr]:
    """The columns that a method needs, and its value for each document; columns of `beside` are shared."""
    options = call.arguments
    normalize = options.pop("normalize", None)
    rankings = Rankings(
        Needed(["#list"]) if beside is None else beside.needed,
        entries.n_runs,
        None if normalize is None else NORMALIZATIONS[normalize],
        options.pop("missing", "skip"),
        expected,
    )
    if beside is not None:
        rankings.of_documents = beside.of_documents
    options.pop(cast("Fusion", call.metric).depth[0], None)
    return rankings, call.metric.formula(rankings, **options)


def needs(call: Call, setup: Setup) -> tuple[int | None, bool]:
    """The depth at which a method cuts rankings, and whether it uses the documents that a ranking lacks."""
    method, options = cast("Fusion", call.metric), call.arguments
    name, default = method.depth
    absent = method.absent or options.get("missing", "skip") != "skip"
    return options.get(name, setup.policies.depth or default), absent


def fused(frame: pl.DataFrame, setup: Setup, call: Call, runs: Runs, names: Sequence[str]) -> pl.DataFrame:
    """A row per document of a query, with its fused score; null for one that no ranking has."""
    depth, absent = needs(call, setup)
    entries = entries_of(frame, setup, runs, names, depth=depth, absent=absent)
    found = scored(entries, [call], expected=setup.policies.tie_rule.averages).rename({"#0": SCORE})
    label = [name for name in (setup.roles.label,) if name in found.columns]
    return found.select(pl.exclude(SCORE, *label), SCORE, *label)


def scored(entries: Entries, calls: Sequence[Call], *, expected: bool) -> pl.DataFrame:
    """The documents with their fused scores by each method, as ``#0``, ``#1`` and so on; the methods share their columns."""
    rankings, values = None, {}
    for i, call in enumerate(calls):
        rankings, value = formulated(call, entries, expected=expected, beside=rankings)
        values[f"#{i}"] = pl.when(pl.col(LISTED)).then(value).cast(pl.Float64)
    if rankings is None:
        return entries.documents
    columns = {name: x for name, (_, x) in rankings.of_documents.items()}
    faults = {fault.column: fault.rows for fault in rankings.needed.refused.values()}
    rows = rankings.needed.compute(entries.rows).select("#document", **columns, **faults).collect(engine="in-memory")
    for fault in rankings.needed.refused.values():
        if rows[fault.column].any():
            raise InvalidData(fault.message)
    scores = per_document(rows, rankings.of_documents, entries.documents.height).select(**values)
    for call, column in zip(calls, scores, strict=True):
        if not column.is_finite().all():
            raise InvalidData(
                f"{call.text} gives a document a score that is NaN or infinite; give smaller scores, weights or exponents"
            )
    return entries.documents.with_columns(scores)


def per_document(rows: pl.DataFrame, parts: Mapping[str, tuple[How, pl.Expr]], height: int) -> pl.DataFrame:
    """A row per document, with the aggregates `parts` of its rows."""
    import numpy as np

    document = rows["#document"].to_numpy()
    columns = {LISTED: pl.Series(np.bincount(document, minlength=height) > 0)}
    others = {name: getattr(pl.col(name), how)() for name, (how, _) in parts.items() if how != "sum"}
    if others:
        found = rows.group_by("#document").agg(**others)
        every = pl.DataFrame({"#document": np.arange(height)}).join(found, "#document", "left", maintain_order="left")
        columns.update({name: every[name] for name in others})
    for name in parts.keys() - others.keys():
        columns[name] = pl.Series(_sums(document, rows[name].fill_null(0).cast(pl.Float64).to_numpy(), height))
    return pl.DataFrame(columns)


def _sums(document: NDArray[np.int64], terms: NDArray[np.float64], height: int) -> NDArray[np.float64]:
    """The sum of each document's terms, the same in any order of rows, so that equal sums are ties.

    The first 24 bits of the terms and the other bits add up without rounding, if the terms are of similar size.
    """
    import numpy as np

    first = (terms.view(np.int64) & FIRST_BITS).view(np.float64)
    with np.errstate(invalid="ignore"):  # infinite terms, whose fused score is refused
        others = terms - first
    sums = np.bincount(document, first, minlength=height) + np.bincount(document, others, minlength=height)
    return np.asarray(sums, dtype=np.float64)


def over_runs(
    work: Callable[..., pl.DataFrame],
    frame: Frame,
    setup: Setup,
    method: str | Call | FittedFusion[object],
    runs: Runs,
    options: Mapping[str, Any],
    new: Iterable[str],
    names: Names | None,
) -> Frame:
    """Run `work`, a function such as `fused`, on whole queries of the table; `new` are the columns that it adds."""
    verb = "fuse" if work is fused else "explain_fusion"
    require_runs(runs, verb)
    if isinstance(method, FittedFusion):
        runs = method.in_order(runs)
    of_query, schema = runs.queries(setup), frame.collect_schema()
    taken = [*of_query.roles.query, setup.roles.doc_in(schema), setup.roles.label]
    refuse_names([*new], [name for name in taken if name is not None], "the table")
    if setup.policies.unjudged == "bounds":
        raise InvalidOption(
            option(unjudged="bounds"), " gives no single score; fuse with another rule: ", on(unjudged="nonrelevant")
        )
    weights, reads = options["weights"], [*runs.columns, setup.roles.label]

    def run(rows: pl.DataFrame, whole: Sequence[str] | None, _: Sequence[str] | None) -> pl.DataFrame:
        known = names_of(method, rows, runs) if whole is None else whole
        call = method_of(method, **{**options, "weights": with_weights(weights, known)})
        positional = not isinstance(weights, Mapping) and call.arguments.get("weights") is not None
        if positional and isinstance(names, frozenset):
            raise InvalidOption(
                f"weights are given in the order of the runs, and the rows of this table have no order, so that the runs of "
                f"column {runs.column!r} have none; name the run of each weight: ",
                option(weights={"bm25": 0.7, "dense": 0.3}),
            )
        return in_parts(rows, of_query, reads, lambda part: work(part, of_query, call, runs, known))

    if isinstance(frame, pl.DataFrame):
        if isinstance(names, frozenset):
            matched = method.matched(sorted(names)) if isinstance(method, FittedFusion) and names else sorted(names)
            return run(frame, matched, None)
        return run(frame, names, None)
    whole = None if runs.column is None else partial(names_of, method, runs=runs)
    return source(frame, of_query, run, verb, reads=reads, whole=whole)


@verb(gives="list", reads=["runs"])
def fuse(
    frame: Frame,
    setup: Setup,
    method: str | Call | FittedFusion[object],
    runs: Runs,
    normalize: str | None = None,
    weights: Sequence[float] | Mapping[str, float] | None = None,
    missing: str | None = None,
    depth: int | None = None,
    *,
    names: Names | None = None,
) -> Frame:
    """One row per document of a query, with the fused score of its rankings.

    For a part of a table, `names` are the runs of the whole table; likewise in `explain_fusion`.
    """
    options = {"normalize": normalize, "weights": weights, "missing": missing, "depth": depth}
    return over_runs(fused, frame, setup, method, runs, options, [SCORE], names)
