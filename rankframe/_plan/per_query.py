"""The metrics of a frame: one row per query, for all policies, conventions and kinds of metric."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar, cast

import polars as pl

from .._catalog.call import Call
from .._catalog.flat_names import flat_names
from .._catalog.registry import Metric
from .._lazy.node import Give, node, source
from .._table.check import fault_in
from .._table.setup import Setup
from .._table.subtopics import documents
from .._table.table import Table, failed
from ..errors import InvalidData, InvalidOption, Place, Text, calling_line, once_each
from . import shortcuts
from .absent_values import absent_values
from .bounds import bounds, bounds_of
from .plan import add_up, in_frame_order, run_formulas, values_of, with_rank
from .rank_order import Part, fault_of, in_rank_order
from .shortcuts import fewer_rows, in_threads, largest_whole_label, side_by_side, with_gain
from .subtopics import evaluate as evaluate_subtopics
from .subtopics import refuse_without_subtopics
from .watch import Watch

__all__ = [
    "LARGEST",
    "Frame",
    "as_given",
    "by_document",
    "collect",
    "largest_of",
    "like",
    "measure",
    "names_of",
    "needs_largest_label",
    "ranks_in_frame",
    "refuse_faults",
    "refuse_names",
    "setup_of_largest",
    "table_of",
    "watch",
    "watch_slices",
    "with_labels",
    "with_names",
]

Frame: TypeAlias = pl.DataFrame | pl.LazyFrame
F = TypeVar("F", bound=Frame)


def measure(frame: F, setup: Setup, *calls: Call, largest_label: float | None = None) -> F:
    """One row per query: the query columns and a column per call.

    For a part of a table, `largest_label` is the largest of the whole table.
    """
    names = [name for call in calls for name in names_of(setup, call)]
    refuse_names(names, setup.roles.query, "the query")
    if isinstance(frame, pl.LazyFrame):
        return cast("F", _as_source(frame, setup, calls))
    return cast("F", _measure_frame(frame, setup, calls, largest_label))


def _measure_frame(frame: pl.DataFrame, setup: Setup, calls: Sequence[Call], largest: float | None) -> pl.DataFrame:
    frame = with_labels(frame, setup, calls)
    if setup.convention is None or not calls:
        return _measure_by_kind(frame, setup, calls, largest)
    of_setups: dict[Setup, dict[Call, Call]] = {}  # a convention may set other policies for some metrics
    for call in calls:
        resolved, meant = setup.resolve(call)
        of_setups.setdefault(resolved, {})[call] = meant
    query = list(setup.roles.query)
    results = [
        _measure_by_kind(frame, resolved, list(dict.fromkeys(named.values())), largest)
        .lazy()
        .select(
            *query,
            *(
                pl.col(x).alias(y)
                for call, meant in named.items()
                for x, y in zip(names_of(resolved, meant), names_of(resolved, call), strict=True)
            ),
        )
        for resolved, named in of_setups.items()
    ]
    result = results[0]
    for other in results[1:]:
        result = result.join(other, on=query, nulls_equal=True, maintain_order="left")
    names = [name for call in calls for name in names_of(setup, call)]
    return collect(result.select(*query, *names), frame, setup)


def with_labels(frame: pl.DataFrame, setup: Setup, calls: Sequence[Call]) -> pl.DataFrame:
    """The frame, with labels that are all null if it has none and nothing reads them."""
    label = setup.roles.label
    if label in frame.columns or not calls or setup.policies.orders_by_label or any(call.labels for call in calls):
        return frame
    return frame.with_columns(pl.lit(None, dtype=pl.Float64).alias(label))


def _measure_by_kind(frame: pl.DataFrame, setup: Setup, calls: Sequence[Call], largest: float | None) -> pl.DataFrame:
    """The metrics of a table, once the convention is resolved."""
    names = [name for call in calls for name in names_of(setup, call)]
    of_subtopics = [call for call in calls if call.metric.over == "subtopics"]
    if setup.roles.subtopic is None:
        refuse_without_subtopics(of_subtopics)
        return _measure_documents(frame, setup, *calls, largest=largest)
    if of_subtopics and setup.policies.unjudged == "bounds":
        raise InvalidOption(
            f"no bounds are known for {of_subtopics[0].text}, which counts subtopics; evaluate it separately"
        )
    others = [call for call in calls if call not in of_subtopics]
    docs, of_docs = by_document(frame, setup, [name for call in others for name in call.columns], label=bool(others))
    if not of_subtopics:
        return _measure_documents(docs, of_docs, *calls, largest=largest)
    table = Table.of(setup, frame.collect_schema(), label=False)
    result = evaluate_subtopics(frame.lazy(), docs.lazy(), table, of_subtopics)
    if others:
        values = _measure_documents(docs, of_docs, *others, largest=largest).lazy()
        result = values.join(result, on=setup.roles.query, how="left", nulls_equal=True, maintain_order="left")
    return collect(result.select(*setup.roles.query, *names), frame, setup)


def _as_source(frame: pl.LazyFrame, setup: Setup, calls: Sequence[Call]) -> pl.LazyFrame:
    """The metrics of a LazyFrame as a node of its plan, which computes only the columns that the plan selects."""

    def run(rows: pl.DataFrame, largest: float | None, names: Sequence[str] | None) -> pl.DataFrame:
        chosen = [call for call in calls if names is None or not {*names}.isdisjoint(names_of(setup, call))]
        return _measure_frame(rows, setup, chosen, largest)

    reads, largest = [name for call in calls for name in call.columns], largest_of(frame, setup, calls)
    return source(
        frame,
        setup,
        run,
        "evaluate",
        reads=reads,
        whole=largest,
        check=absent_values(setup, calls),
        watch=partial(watch, setup, calls, calling_line()),
    )


def watch(setup: Setup, calls: Sequence[Call], at: Place | None = None) -> Watch:
    """A watch for suspicions that change the calls' values; warnings show the line `at`."""
    return Watch(setup, calls, lambda rows, setup, call: _measure_frame(rows, setup, [call], None)[call.text], at)


def watch_slices(frame: pl.DataFrame, setup: Setup, calls: Sequence[Call], by: Sequence[str]) -> None:
    """Warn of a table whose numbers are not what is meant, or of one of its slices, such as runs; once for all."""
    if by:
        read = {*setup.roles.names, *by, *(name for call in calls for name in call.columns)}
        frame = frame[[name for name in frame.columns if name in read]]
    with once_each():
        for part in frame.partition_by(by, maintain_order=True) if by else [frame]:
            watching = watch(setup, calls)
            watching.see(part)
            watching.warn()


def largest_of(frame: pl.LazyFrame, setup: Setup, calls: Sequence[Call]) -> Callable[[pl.LazyFrame], float] | None:
    """A function that finds the largest label of a table in parts; None if no value depends on it."""
    if not needs_largest_label(setup, frame.collect_schema(), calls):
        return None
    return partial(_largest_label, setup=setup, calls=calls)


def _largest_label(rows: pl.LazyFrame, setup: Setup, calls: Sequence[Call]) -> float:
    """The largest label of a table that may be larger than memory."""
    setup, is_plain = setup_of_largest(setup, rows.collect_schema(), calls)
    label = pl.col(setup.roles.label)
    if not is_plain:  # policies may leave labels out: rank each query first
        rows, label = _as_source(rows, setup, [LARGEST]), pl.col(LARGEST.text)
    label = label.cast(pl.Float64)
    return float(rows.select(label.filter(label.is_finite()).max()).collect(engine="streaming").item() or 0)


def setup_of_largest(setup: Setup, schema: pl.Schema, calls: Sequence[Call]) -> tuple[Setup, bool]:
    """The setup under which `LARGEST` sees the calls' labels, and whether a maximum over all rows is the same."""
    if setup.policies.unjudged == "bounds":
        setup = setup.changed(unjudged="nonrelevant", unretrieved="missed", depth=None)
    else:  # all calls that need it have the same policies
        asking = next(call for call in calls if needs_largest_label(setup, schema, [call]))
        setup, _ = setup.resolve(asking)
    return setup.changed(weight=None, no_relevant="zero"), setup.policies.unretrieved == "missed"


LARGEST = Call(Metric("largest_label", lambda r: r.largest_label))
"""The largest label of a query, as an unregistered metric."""


def by_document(frame: F, setup: Setup, carry: Sequence[str] = (), *, label: bool = True) -> tuple[F, Setup]:
    """Reduce the frame to one row per document, and the setup to no subtopic."""
    schema = frame.collect_schema()
    if setup.roles.subtopic is None:
        return frame, setup
    table = Table.of(setup, schema, label=False)
    if label or not table.lists_subtopics:
        table = Table.of(setup, schema)
    of_docs = setup.changed(subtopic=None)
    if table.lists_subtopics:
        return frame, of_docs
    docs = documents(frame.lazy(), table, ordered=isinstance(frame, pl.DataFrame), carry=carry)
    return like(frame, docs, setup), of_docs


def _measure_documents(frame: pl.DataFrame, setup: Setup, *calls: Call, largest: float | None) -> pl.DataFrame:
    if setup.policies.unjudged == "bounds":
        return bounds(frame, setup, calls, partial(_measure_documents, largest=largest), largest)
    table = Table.of(setup, frame.schema)
    names = dict(zip(table.key, setup.roles.query, strict=True))
    large = frame.height > shortcuts.ROWS_OF_SMALL_TABLE
    gains_only = [call for call in calls if large and call.gains_only(setup)]
    others = [call for call in calls if call not in gains_only]
    top = largest_whole_label(frame, table)
    plans = [run_formulas(some, table.setup, top, largest_label=largest) for some in (gains_only, others) if some]
    ranked = with_gain(frame, table) if large and not any(needed.looks_at_all for needed in plans) else frame
    faults = partial(refuse_faults, frame, setup, table)
    whole = any(needed.whole_table for needed in plans)
    in_order = partial(in_rank_order, ranked, table, whole=whole, labels=top is not None)
    _, (queries, parts, complete) = side_by_side(faults, in_order, frame.height)
    plans = [fewer_rows(needed, queries.height, ranked.height) for needed in plans]
    sources = [in_frame_order(ranked, table, needed.source) for needed in plans]
    run = partial(collect, frame=frame, setup=setup)

    def sums_of(part: Part) -> list[pl.DataFrame]:
        kept = dict.fromkeys((needed.kept, needed.falling is not None) for needed in plans)
        rows = {(some, falling): part(some, falling=falling) for some, falling in kept}
        return [
            add_up(
                with_rank(rows[needed.kept, needed.falling is not None], table, source, complete=complete),
                needed,
                table,
                run,
            )
            for needed, source in zip(plans, sources, strict=True)
        ]

    of_parts = in_threads([partial(sums_of, part) for part in parts], frame.height)
    of_plans = [pl.concat(sums) for sums in zip(*of_parts, strict=True)]
    plain = partial(collect, frame=frame, setup=setup, optimized=False)
    results = [plain(values_of(sums, needed)) for sums, needed in zip(of_plans, plans, strict=True)]
    found = {column.name: column for result in results for column in result}
    texts = dict.fromkeys(call.text for call in calls)
    return pl.DataFrame(
        [
            *(queries[key].alias(name) for key, name in names.items()),
            *(found[text] for text in texts),
        ]
    )


def ranks_in_frame(frame: pl.DataFrame, setup: Setup, table: Table) -> pl.Series:
    """Refuse faults, and return the rank of each row, in the frame's order; null for a document that was not retrieved."""
    import numpy as np

    refuse_faults(frame, setup, table, label=False)
    _, parts, complete = in_rank_order(frame, table)
    label = pl.col(setup.roles.label) if setup.policies.orders_by_label else pl.repeat(None, pl.len(), dtype=pl.Float64)
    source = frame.select(label.alias("#raw"))
    ranks = np.zeros(frame.height, dtype=np.uint32)  # 0 for none

    def put(part: Part) -> None:
        rows = with_rank(part(), table, source, complete=complete)
        found = collect(rows.select("#row", pl.col("#rank").fill_null(0).cast(pl.UInt32)), frame, setup)
        ranks[found["#row"].to_numpy()] = found["#rank"].to_numpy()

    in_threads([partial(put, part) for part in parts], frame.height)
    return pl.select(pl.when(pl.lit(pl.Series(ranks)) > 0).then(pl.lit(pl.Series(ranks)))).to_series()


def needs_largest_label(setup: Setup, schema: pl.Schema, calls: Sequence[Call]) -> bool:
    """Whether a value depends on the largest label of the whole table, not of its query alone."""
    if setup.policies.unjudged == "bounds":
        return setup.policies.unjudged_labels is None
    for call in calls:
        if call.metric.over == "documents" and call.labels:
            policies, meant = setup.resolve(call)
            table = Table.of(policies.changed(subtopic=None), schema)
            if run_formulas([meant], table.setup, None).whole_table:
                return True
    return False


def names_of(setup: Setup, call: Call) -> Sequence[str]:
    """The result columns of a call."""
    return bounds_of(call) if setup.policies.unjudged == "bounds" else [call.text]


def with_names(result: F, setup: Setup, calls: Sequence[Call]) -> F:
    """Rename the metrics' columns for SQL if the setup is `flat`."""
    if not setup.flat:
        return result
    flat = flat_names(name for call in calls for name in names_of(setup, call))
    refuse_names(list(flat.values()), {*result.collect_schema()} - {*flat}, "the table")
    return cast("F", result.rename(flat))


def refuse_faults(
    frame: pl.DataFrame, setup: Setup, table: Table, *, label: bool = True, documents: bool = True
) -> None:
    """Raise the first fault that leaves metrics, or without `label` ranks, undefined, and show its rows (see `fault_of`)."""
    fault = fault_of(frame, table, label=label, documents=documents)
    if fault is not None:
        raise fault_in(frame, setup, fault.kind)


def refuse_names(names: Sequence[str], taken: Container[str], where: str, advice: Text = "rename that column") -> None:
    for name in names:
        if name in taken:
            raise InvalidOption(f"the result would have a second column {name!r}, which {where} has; ", advice)


def like(frame: F, result: pl.LazyFrame, setup: Setup) -> F:
    """The result as the caller's kind of frame."""
    return cast("F", result if isinstance(frame, pl.LazyFrame) else collect(result, frame, setup))


def as_given(frame: F, table: pl.DataFrame) -> F:
    """The table as the caller's kind of frame."""
    return cast("F", table.lazy() if isinstance(frame, pl.LazyFrame) else table)


def table_of(
    frame: F,
    plan: pl.LazyFrame,
    setup: Setup,
    name: str,
    finish: Callable[[pl.DataFrame], pl.DataFrame] | None = None,
    schema: Mapping[str, Any] | None = None,
) -> F:
    """The rows of a plan over the frame, after `finish`, which gives them `schema`; of a LazyFrame as a node called `name`."""

    def rows() -> pl.DataFrame:
        found = collect(plan, frame, setup)
        return found if finish is None else finish(found)

    def work(give: Give, *_: object) -> None:
        give(rows())

    if isinstance(frame, pl.DataFrame):
        return cast("F", rows())
    return cast("F", node(work, frame, plan.collect_schema() if schema is None else schema, name))


def collect(lf: pl.LazyFrame, frame: Frame, setup: Setup, *, optimized: bool = True) -> pl.DataFrame:
    """Run a call's plan; a failed guard raises our own error."""
    try:
        if isinstance(frame, pl.LazyFrame):
            return lf.collect(engine="streaming")
        # optimizing the plan of a small table takes longer than it saves
        optimized = optimized and frame.height > shortcuts.ROWS_OF_SMALL_TABLE
        how = pl.QueryOptFlags() if optimized else pl.QueryOptFlags.none()
        return lf.collect(engine="in-memory", optimizations=how)
    except pl.exceptions.InvalidOperationError as error:
        found = failed(error)
        if found is None:
            raise
        kind, sentence = found
        raise (InvalidData(sentence) if kind is None else fault_in(frame, setup, kind)) from None
