"""The metrics of a frame: one row per query, for all policies, conventions and kinds of metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal

import polars as pl
from polars import selectors as cs

from .._catalog.call import Call
from .._catalog.registry import Metric
from .._support.floats import Floats, np
from .._table.check import fault_in
from .._table.columns import Columns, Fault, failed
from .._table.policies import GREATEST
from .._table.roles import ROW
from .._table.setup import Setup
from .._table.subtopics import documents, row_faults, weight_faults
from .._table.table import refuse_names
from .._words.sorted_rows import LARGEST_LABEL
from ..errors import InvalidData, InvalidOption
from .bounds import bounds, bounds_of
from .parts import in_parts, may_be_cut
from .plan import Part, run_formulas, with_rank
from .query_values import values_of_queries
from .rank_order import (
    RankOrder,
    column_of,
    in_rank_order,
    keep,
    labels_of,
    numbered,
    repeats_may_be,
)
from .subtopics import evaluate as evaluate_subtopics, without_subtopics
from .unjudged import count
from .values import values_of_rows

ROWS_OF_SMALL_TABLE = 2**16
"""The most rows for which one unoptimized plan for all metrics is the fastest."""


def measure(
    frame: pl.DataFrame, setup: Setup, *calls: Call, largest_label: float | None = None
) -> pl.DataFrame:
    """One row per query: the query columns and a column per call.

    For a part of a table, `largest_label` is the largest of the whole table.
    """
    names = [name for call in calls for name in names_of(setup, call)]
    refuse_names(names, setup.roles.query, "the query")
    if not all(call.of_ranking for call in calls):
        return _measure_beside_rows(frame, setup, calls, names, largest_label)
    frame = with_labels(frame, setup, calls)
    largest = largest_label
    if largest is None:
        largest = largest_of_parts(frame, setup, calls)
    reads = [name for call in calls for name in call.columns]
    is_small = frame.height <= ROWS_OF_SMALL_TABLE  # not a part, lest its last digits differ
    measure_part = partial(
        _measure_part, setup=setup, calls=calls, largest=largest, is_small=is_small
    )
    values = in_parts(frame, setup, reads, measure_part)
    count(frame, setup, calls, values, by_query=True)
    return values


def _measure_beside_rows(
    frame: pl.DataFrame,
    setup: Setup,
    calls: Sequence[Call],
    names: Sequence[str],
    largest_label: float | None,
) -> pl.DataFrame:
    """The metrics of rankings, if any, beside values that are made of rows alone."""
    twice = [name for name in names if names.count(name) > 1]
    refuse_names(twice, names, "another metric or expression", "give it another name by .alias")
    query = setup.roles.query
    of_rows = [call for call in calls if not call.of_ranking]
    of_rankings = [call for call in calls if call.of_ranking]
    values = values_of_rows(frame, setup, of_rows)
    if of_rankings:
        measured = measure(frame, setup, *of_rankings, largest_label=largest_label)
        values = measured.join(
            values, on=query, how="left", nulls_equal=True, maintain_order="left"
        )
    return values.select(*query, *names)


def _measure_part(
    frame: pl.DataFrame,
    setup: Setup,
    calls: Sequence[Call],
    largest: float | None,
    is_small: bool,
) -> pl.DataFrame:
    """The metrics of whole queries, in one piece, in the order in which queries first appear."""
    if setup.convention is None or not calls:
        return _measure_by_kind(frame, setup, calls, largest, is_small)
    # a convention may set other policies for some metrics
    meant_under: dict[Setup, dict[Call, Call]] = {}
    for call in calls:
        resolved, meant = setup.resolve(call)
        meant_under.setdefault(resolved, {})[call] = meant
    results: list[pl.DataFrame] = []
    columns: dict[str, pl.Series] = {}
    for resolved, meant_by in meant_under.items():
        different = list(dict.fromkeys(meant_by.values()))
        values = _measure_by_kind(frame, resolved, different, largest, is_small)
        results.append(values)
        for call, meant in meant_by.items():
            names = zip(names_of(resolved, meant), names_of(resolved, call), strict=True)
            columns |= {name: values[own_name].alias(name) for own_name, name in names}
    queries = results[0].select(*setup.roles.query, cs.by_name(ROW, require_all=False))
    asked = [name for call in calls for name in names_of(setup, call)]
    return queries.hstack([columns[name] for name in asked])


def with_labels(frame: pl.DataFrame, setup: Setup, calls: Sequence[Call]) -> pl.DataFrame:
    """The frame, with labels that are all null if it has none and nothing reads them."""
    label = setup.roles.label
    is_read = setup.policies.orders_by_label or any(call.labels for call in calls)
    if label in frame.columns or not calls or is_read:
        return frame
    return frame.with_columns(pl.lit(None, dtype=pl.Float64).alias(label))


def _measure_by_kind(
    frame: pl.DataFrame,
    setup: Setup,
    calls: Sequence[Call],
    largest: float | None,
    is_small: bool,
) -> pl.DataFrame:
    """The metrics of a table, once the convention is resolved."""
    measured = partial(_measure_documents, largest=largest, is_small=is_small)
    of_subtopics = [call for call in calls if call.metric.over == "subtopics"]
    if setup.roles.subtopic is None:
        if of_subtopics:
            raise without_subtopics(of_subtopics[0])
        return measured(frame, setup, *calls)
    if of_subtopics and setup.policies.unjudged == "bounds":
        raise InvalidOption(
            f"no bounds are known for {of_subtopics[0].text}, which counts subtopics; "
            "evaluate it separately"
        )
    others = [call for call in calls if call not in of_subtopics]
    carried = [name for call in others for name in call.columns]
    docs, of_docs = by_document(frame, setup, carried, label=bool(others))
    if not of_subtopics:
        return measured(docs, of_docs, *calls)
    of_others: list[pl.Series] = []
    if others:
        values_of_others = measured(docs, of_docs, *others)
        of_others = [values_of_others[call.text] for call in others]
    table = Columns.of(setup, frame.schema, label=False)
    of_doc = Columns.of(of_docs, docs.schema, label=False)
    faults = weight_faults(table)
    if table.lists_subtopics:
        faults = [*faults, *row_faults(table)]
    for fault in faults:
        if frame.select(fault.rows.any()).item():
            raise fault_in(frame, setup, fault.kind)
    if not table.lists_subtopics:
        refuse_faults(docs, of_docs, of_doc, documents=False)
    names = [name for call in calls for name in names_of(setup, call)]
    ranks = ranks_in_frame(docs, of_docs, of_doc)
    values = evaluate_subtopics(frame, docs, ranks, table, of_subtopics).hstack(of_others)
    return values.select(*setup.roles.query, cs.by_name(ROW, require_all=False), *names)


def largest_of_parts(frame: pl.DataFrame, setup: Setup, calls: Sequence[Call]) -> float | None:
    """The largest label of a table that is computed in several parts; None if no value depends on
    it.
    """
    if not may_be_cut(frame.height) or not needs_largest_label(setup, frame.schema, calls):
        return None
    return largest_label(frame, setup, calls)


def largest_label(frame: pl.DataFrame, setup: Setup, calls: Sequence[Call]) -> float:
    """The largest label of rows in memory, for calls of which one needs it."""
    ranked, is_plain = setup_of_largest(setup, frame.schema, calls)
    if is_plain:
        labels = frame[ranked.roles.label]
    else:
        labels = measure(frame, ranked, LARGEST)[LARGEST.text]
    return largest_in(labels.to_frame().lazy(), "in-memory")


def largest_in(
    labels: pl.LazyFrame, engine: Literal["streaming", "in-memory"] = "streaming"
) -> float:
    """The largest finite label in a column; 0 for none."""
    label, schema = pl.first(), labels.collect_schema()
    if not schema.dtypes()[0].is_integer():
        label = label.cast(pl.Float64)
        label = label.filter(label.is_finite())
    return float(labels.select(label.max()).collect(engine=engine).item() or 0)


def setup_of_largest(setup: Setup, schema: pl.Schema, calls: Sequence[Call]) -> tuple[Setup, bool]:
    """The setup under which `LARGEST` sees the calls' labels, and whether a maximum over all rows
    is the same.
    """
    if setup.policies.unjudged == "bounds":
        setup = setup.changed(unjudged="nonrelevant", unretrieved="missed", depth=None)
    else:  # all calls that need it have the same policies
        asking = next(call for call in calls if needs_largest_label(setup, schema, [call]))
        setup, _ = setup.resolve(asking)
    return setup.changed(weight=None, no_relevant="zero"), setup.policies.unretrieved == "missed"


LARGEST = Call(Metric("largest_label", lambda r: r.largest_label))
"""The largest label of a query, as an unregistered metric."""


def by_document(
    frame: pl.DataFrame, setup: Setup, carry: Sequence[str] = (), *, label: bool = True
) -> tuple[pl.DataFrame, Setup]:
    """Reduce the frame to one row per document, and the setup to no subtopic."""
    schema = frame.schema
    if setup.roles.subtopic is None:
        return frame, setup
    table = Columns.of(setup, schema, label=False)
    if label or not table.lists_subtopics:
        table = Columns.of(setup, schema)
    of_docs = setup.changed(subtopic=None, subtopic_weight=None)
    if table.lists_subtopics:
        return frame, of_docs
    docs = documents(frame.lazy(), table, ordered=True, carry=carry)
    return collect(docs, frame, setup), of_docs


def _measure_documents(
    frame: pl.DataFrame, setup: Setup, *calls: Call, largest: float | None, is_small: bool
) -> pl.DataFrame:
    if setup.policies.unjudged == "bounds":
        measured = partial(_measure_documents, largest=largest, is_small=is_small)
        return bounds(frame, setup, calls, measured, largest)
    part = part_of(frame, setup, largest)
    gains_only: list[Call] = []
    if not is_small:
        gains_only = [call for call in calls if call.gains_only(setup)]
    others = [call for call in calls if call not in gains_only]
    values: dict[str, pl.Series] = {}
    for together in (gains_only, others):
        if together:
            needed = run_formulas(together, part.table.setup, part.top)
            values |= values_of_queries(part, needed)
    columns = queries_of(frame, setup, part.order).get_columns()
    for text in dict.fromkeys([call.text for call in calls]):
        columns.append(values[text])
    return pl.DataFrame(columns)


def part_of(frame: pl.DataFrame, setup: Setup, largest: float | None) -> Part:
    """The frame in rank order; refuses what leaves metrics undefined."""
    table = Columns.of(setup, frame.schema)
    order = in_rank_order(frame, table)
    keep(frame, table.setup, order)
    refuse_faults(frame, setup, table, order)
    labels, levels = labels_of(frame[setup.roles.label])
    run = partial(collect, frame=frame, setup=setup)
    return Part(frame, table, order, labels, levels, largest, run)


def ranks_in_frame(frame: pl.DataFrame, setup: Setup, table: Columns) -> pl.Series:
    """Refuse faults, and return the rank of each row, in the frame's order; null for a document
    that was not retrieved.
    """
    order = in_rank_order(frame, table)
    refuse_faults(frame, setup, table, order, label=False)
    rank = pl.col("#rank").fill_null(0).cast(pl.UInt32)
    plan = with_rank(order, frame, table, {}).select("#row", rank)
    rows = collect(plan, frame, setup)
    ranks = np.zeros(frame.height, dtype=np.uint32)  # 0 for none
    ranks[rows["#row"].to_numpy()] = rows["#rank"].to_numpy()
    of_row = pl.lit(pl.Series(ranks))
    return pl.select(pl.when(of_row > 0).then(of_row)).to_series()


def queries_of(frame: pl.DataFrame, setup: Setup, order: RankOrder) -> pl.DataFrame:
    """The keys of the queries; of a part also the column `ROW`."""
    names = [*setup.roles.query]
    if ROW in frame.columns:
        names.append(ROW)
    # column by column, as Polars wakes its threads for a frame
    return pl.DataFrame([frame[name][order.first] for name in names])


def refuse_faults(
    frame: pl.DataFrame,
    setup: Setup,
    table: Columns,
    order: RankOrder | None = None,
    *,
    label: bool = True,
    documents: bool = True,
) -> None:
    """Raise the first fault that leaves metrics, or without `label` ranks, undefined, and show its
    rows.

    ``documents=False`` skips the check for repeated documents, which the caller has ruled out.
    """
    for fault in table.faults(label=label):
        if fault.kind == "repeated document" and not documents:
            continue
        if _has_fault(frame, table, order, fault):
            raise fault_in(frame, setup, fault.kind)


SOUND: Mapping[str, Callable[[Floats], bool]] = {
    "NaN score": lambda score: not np.isnan(score).any(),
    "label not finite": lambda label: bool((np.abs(label) <= GREATEST).all()),
}
"""By kind of fault, whether the numbers of its column, NaN for null, rule it out: a look that costs
less than a plan."""


def _has_fault(frame: pl.DataFrame, table: Columns, order: RankOrder | None, fault: Fault) -> bool:
    """Whether rows have a fault."""
    if fault.repeated is not None:
        return _repeats(frame, table, order, fault.repeated, fault.rows)
    sound = SOUND.get(fault.kind)
    if sound is not None:
        column = frame[fault.at]
        if column.dtype == pl.Float64 and sound(column.to_numpy()):
            return False
    return bool(frame.select_seq(fault.rows.any()).item())


def _repeats(
    frame: pl.DataFrame, table: Columns, order: RankOrder | None, value: pl.Expr, rows: pl.Expr
) -> bool:
    """Whether a query holds a value twice; hashes that all differ rule it out more cheaply than a
    window.
    """
    query = table.setup.roles.query
    number = numbered(frame[list(query)]).number if order is None else order.number
    if not repeats_may_be(column_of(frame, value), number):
        return False
    return bool(frame.select(rows.over(query).any()).item())


def needs_largest_label(setup: Setup, schema: pl.Schema, calls: Sequence[Call]) -> bool:
    """Whether a value depends on the largest label of the whole table, not of its query alone."""
    if setup.policies.unjudged == "bounds":
        return setup.policies.unjudged_labels is None and any(call.of_ranking for call in calls)
    return any(takes_largest_label(setup, schema, call) for call in calls)


def takes_largest_label(setup: Setup, schema: pl.Schema, call: Call) -> bool:
    """Whether the formula of a call takes the largest label of the whole table."""
    if call.metric.over != "documents" or not call.labels:
        return False
    given = call.arguments.get("max_label") is not None
    if call.metric.own and (given or "max_label" not in call.metric.parameters):
        return False
    policies, meant = setup.resolve(call)
    table = Columns.of(policies.changed(subtopic=None, subtopic_weight=None), schema)
    return run_formulas([meant], table.setup, None).reads(LARGEST_LABEL)


def names_of(setup: Setup, call: Call) -> Sequence[str]:
    """The result columns of a call."""
    if setup.policies.unjudged == "bounds" and call.of_ranking:
        return bounds_of(call)
    return [call.text]


def collect(
    lf: pl.LazyFrame, frame: pl.DataFrame, setup: Setup, *, optimized: bool = True
) -> pl.DataFrame:
    """Run a plan over the rows of a call; a failed guard raises our own error."""
    try:
        # optimizing the plan of a small table takes longer than it saves
        optimized = optimized and frame.height > ROWS_OF_SMALL_TABLE
        how = pl.QueryOptFlags() if optimized else pl.QueryOptFlags.none()
        return lf.collect(engine="in-memory", optimizations=how)
    except pl.exceptions.InvalidOperationError as error:
        fault = failed(error)
        if fault is None:
            raise
        kind, sentence = fault
        raised = InvalidData(sentence) if kind is None else fault_in(frame, setup, kind)
        raise raised from None
