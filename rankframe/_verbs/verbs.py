"""The verbs as functions of a Polars frame: lazy in, lazy out."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from inspect import Parameter
from typing import Literal

import polars as pl
from polars import selectors as cs

from .._catalog.call import Call
from .._catalog.registry import AGREEMENTS
from .._catalog.requests import Request, calls_of, require_metrics
from .._lazy.node import source
from .._plan.absent_values import absent_values
from .._plan.parts import in_parts, number_of_parts
from .._plan.per_query import (
    Frame,
    by_document,
    collect,
    largest_of,
    like,
    measure,
    names_of,
    part_of,
    queries_of,
    ranks_in_frame,
    refuse_faults,
    refuse_names,
    with_labels,
    with_names,
)
from .._plan.plan import by_row, run_formulas, values_of_groups
from .._plan.rank_order import in_rank_order, numbered
from .._plan.subtopics import refuse_agreement, refuse_by_document
from .._table.check import check as check_frame
from .._table.columns import Columns
from .._table.policies import check_word
from .._table.roles import ROW, carried, require
from .._table.run_and_judgments import Missing, Tables, unless
from .._table.setup import Setup
from .._words.columns_needed import Needed
from .._words.rows import Answer
from .._words.two_rankings import Pair
from ..errors import Code, InvalidOption, Spelling, on, option, shown
from .declaration import verb


@verb(gives="query", watched=True)
def evaluate(frame: Frame, setup: Setup, *requests: Request | Call, largest_label: float | None = None) -> Frame:
    """One row per query: the query columns and a column per text or expression, in the order given.

    For a part of a table, `largest_label` is that of the whole table; likewise in other verbs.
    """
    calls: dict[Call, None] = {}  # of many, a list would be slow to look through
    expressions: dict[str, pl.Expr] = {}
    names: list[str] = []
    for request in requests:
        if isinstance(request, pl.Expr):
            if not request.meta.has_multiple_outputs():  # a selector finds its columns itself
                for column in request.meta.root_names():
                    require(frame.collect_schema(), column, "an expression")
            name = _output_name(request, frame)
            expressions[name] = request
            names.append(name)
        else:
            named = calls_of(request)
            read = [call for call in named if call not in calls]
            calls.update(dict.fromkeys(read))
            names += [name for call in read for name in names_of(setup, call)]
    require_metrics(names, "evaluate('ndcg@10', 'map')")
    for name in expressions:
        if names.count(name) > 1:
            raise InvalidOption(
                f"two columns of the result are named {name!r}; give one expression another name, with .alias(...)"
            )
    refuse_names(names, setup.roles.query, "the query")
    if not expressions:
        return with_names(measure(frame, setup, *calls, largest_label=largest_label), setup, list(calls))
    Columns.of(setup, frame.collect_schema(), label=any(call.labels for call in calls))
    own = frame.lazy().group_by(setup.roles.query, maintain_order=isinstance(frame, pl.DataFrame))
    result = own.agg(x.alias(name) for name, x in expressions.items())
    if calls:
        values = measure(frame, setup, *calls, largest_label=largest_label).lazy()
        order: Literal["left", "none"] = "left" if isinstance(frame, pl.DataFrame) else "none"
        result = values.join(result, on=setup.roles.query, how="left", nulls_equal=True, maintain_order=order)
    return with_names(like(frame, result.select(*setup.roles.query, *names), setup), setup, list(calls))


@verb(gives="row", watched=True)
def with_metrics(frame: Frame, setup: Setup, *requests: Request | Call, largest_label: float | None = None) -> Frame:
    """The rows, in their order, with a column per metric: the query's value."""
    values = evaluate(frame, setup, *requests, largest_label=largest_label).lazy()
    schema = frame.collect_schema()
    refuse_names([n for n in values.collect_schema() if n not in setup.roles.query], schema, "the table")
    joined = frame.lazy().join(values, on=setup.roles.query, how="left", nulls_equal=True, maintain_order="left")
    return like(frame, joined, setup)


@verb(gives="row", labels=False)
def with_ranks(frame: Frame, setup: Setup, name: str | None) -> Frame:
    """The rows, in their order, with their rank; null for a document that was not retrieved."""
    if setup.policies.tie_rule.averages:
        raise InvalidOption(
            option(ties=setup.policies.ties),
            " ranks tied documents in all orders at once; with_ranks needs one, as with ",
            option(ties="doc_desc"),
        )
    schema = frame.collect_schema()
    Columns.of(setup, schema, label=False)
    name = rank_column(schema) if name is None else name
    refuse_names(
        [name],
        schema,
        "the table",
        ("name the new one", Code("df.rank.with_ranks(name='place')", phrase=", as with {}")),
    )

    def run(rows: pl.DataFrame, *_: object) -> pl.DataFrame:
        return rows.hstack(in_parts(rows, setup, [], lambda part: _ranks(part, setup, name)))

    if isinstance(frame, pl.DataFrame):
        return run(frame)
    return source(frame, setup, run, "with_ranks", reads=[], carries=True)


def _ranks(frame: pl.DataFrame, setup: Setup, name: str) -> pl.DataFrame:
    docs, of_docs = by_document(frame, setup, label=False)
    table = Columns.of(of_docs, docs.schema, label=False)
    ranks = ranks_in_frame(docs, of_docs, table).alias(name)
    if docs is not frame:  # a document has a row for each of its subtopics
        ranks = ranks[numbered(frame[table.key_of_documents]).number]
    return frame.select(cs.by_name(ROW, require_all=False), ranks)


def rank_column(taken: Container[str]) -> str:
    """The name of a new column of ranks: ``rank``, or ``new_rank`` if there is such a column."""
    return "new_rank" if "rank" in taken else "rank"


@verb(gives="document", watched=True)
def curve(
    frame: Frame, setup: Setup, *requests: str, carry: Sequence[str] = (), largest_label: float | None = None
) -> Frame:
    """The metrics at every rank: one row per retrieved document, in rank order if the frame is eager."""
    calls = calls_of(*requests, example="curve('precision', 'ndcg')")
    for call in calls:
        if call.cutoff:
            if call.metric.parameters["k"].default is Parameter.empty:
                raise InvalidOption(
                    f"{call.metric.name} has no curve: its value at one rank is no part of that at the next; evaluate "
                    f"it at several, as in evaluate('{call.metric.name}@5', '{call.metric.name}@10')"
                )
            raise InvalidOption(
                f"a curve shows every rank: write {replace(call, options=()).text!r}, not {call.text!r}"
            )
    return with_names(_rows(frame, setup, calls, "rank", carry, largest_label), setup, calls)


@verb(gives="document", watched=True)
def explain(
    frame: Frame, setup: Setup, *requests: str, carry: Sequence[str] = (), largest_label: float | None = None
) -> Frame:
    """Each document's contribution to its query's value, in rank order if the frame is eager."""
    calls = calls_of(*requests, example="explain('ndcg@10')")
    return with_names(_rows(frame, setup, calls, "document", carry, largest_label), setup, calls)


def _rows(
    frame: Frame,
    setup: Setup,
    calls: list[Call],
    answer: Answer,
    carry: Sequence[str],
    largest: float | None,
) -> Frame:
    if setup.policies.unjudged == "bounds":
        what = "curve" if answer == "rank" else "contributions"
        raise InvalidOption(f"bounds have no {what}; use evaluate, or another rule: ", on(unjudged="nonrelevant"))
    refuse_by_document(setup, calls)
    reads = [*carry, *(name for call in calls for name in call.columns)]
    if isinstance(frame, pl.DataFrame):
        if largest is None and number_of_parts(frame.height) > 1:
            whole = largest_of(frame.lazy(), setup, calls)
            largest = None if whole is None else whole(frame.lazy())
        return in_parts(frame, setup, reads, lambda part: _eager_rows(part, setup, calls, answer, carry, largest))

    def run(rows: pl.DataFrame, largest: float | None, names: Sequence[str] | None) -> pl.DataFrame:
        chosen = [call for call in calls if names is None or call.text in names]
        return in_parts(
            rows, setup, reads, lambda part: _eager_rows(part, setup, chosen or calls[:1], answer, carry, largest)
        )

    verb = "curve" if answer == "rank" else "explain"
    whole, check = largest_of(frame, setup, calls), absent_values(setup, calls)
    return source(frame, setup, run, verb, reads=reads, whole=whole, check=check)


def _eager_rows(
    frame: pl.DataFrame,
    setup: Setup,
    calls: list[Call],
    answer: Answer,
    carry: Sequence[str],
    largest: float | None,
) -> pl.DataFrame:
    shown = [setup.roles.label] if setup.roles.label in frame.columns else []
    frame = with_labels(frame, setup, calls)
    frame, setup = by_document(frame, setup, [*carry, *(name for call in calls for name in call.columns)])
    setup = Columns.of(setup, frame.schema).setup
    doc = [] if setup.roles.doc_name is None else [setup.roles.doc_name]
    named = doc if answer == "rank" else [*doc, setup.roles.score, *shown]
    named = list(dict.fromkeys([*named, *carry]))  # score and label may be one column
    rank = rank_column([*setup.roles.query, *named])
    refuse_names([rank, *(call.text for call in calls)], [*setup.roles.query, *named], "the table")
    meant = [setup.resolve(call) for call in calls]
    if len({policies for policies, _ in meant}) > 1:
        raise InvalidOption(
            f"{setup.convention} ranks documents, or counts queries, differently for each of these metrics; ask for one"
        )
    names = [(other.text, call.text) for call, (_, other) in zip(calls, meant, strict=True)]
    along = {carried(name): pl.col(name) for name in named}
    part = part_of(frame, meant[0][0], largest)
    needed = run_formulas([call for _, call in meant], part.table.setup, part.top, answer)
    result = by_row(part, needed, answer, along).select(
        *(pl.lit(of_query).gather("#query").alias(of_query.name) for of_query in queries_of(frame, setup, part.order)),
        *(pl.col(key).alias(name) for key, name in zip(along, named, strict=True)),
        pl.col("#rank").cast(pl.UInt32).alias(rank),
        *(pl.col(text).alias(name) for text, name in names),
    )
    return collect(result, frame, setup)


@verb(gives="join", reads=["run"])
def judge(
    frame: Frame,
    setup: Setup,
    qrels: Frame,
    run: str | None = None,
    judged_only: Missing | None = None,
    run_only: Missing | None = None,
    *,
    part: bool = False,
) -> Frame:
    """The full join of a run and its judgments, by query and document.

    A `part` holds some queries of larger tables, so checks of whole tables are left out.
    """
    _require_frame(qrels)
    missed: Missing = "keep" if judged_only is None else judged_only
    check_word("judged_only", missed, Missing)
    unjudged: Missing = "drop" if run_only is None else run_only
    check_word("run_only", unjudged, Missing)
    tables = Tables.of(frame.lazy(), qrels.lazy(), setup)
    tables = tables if run is None else tables.with_run(run)
    if isinstance(frame, pl.LazyFrame):
        refusals = [*tables.refusals(missed, unjudged), tables.no_common_query(unjudged)]
        return unless(tables.join(missed, unjudged, ordered=False), refusals)
    tables, repeats = replace(tables, qrels=tables.qrels.collect().lazy()), True
    if not part:
        tables.refuse_no_common_query(unjudged)
        tables, repeats = tables.with_usual_run()
    for refusal in tables.refusals(missed, unjudged, repeats=repeats):
        refusal.refuse()
    if not part:
        tables.warn(run_only=run_only is None, judged_only=judged_only is None)
    return like(frame, tables.join(missed, unjudged, ordered=True), setup)


@verb(gives="table")
def check(frame: Frame, setup: Setup, qrels: Frame | None, spelling: Spelling = str) -> Frame:
    """The findings of a check, with advice in a front's `spelling`."""
    if qrels is not None:
        _require_frame(qrels)
    found = check_frame(frame.lazy(), setup, None if qrels is None else qrels.lazy(), spelling)
    return like(frame, found, setup)


@verb(gives="query", reads=["other"], labels=False)
def agreement(frame: Frame, setup: Setup, other: str, *requests: str | Call) -> Frame:
    """One row per query: how the order by another score column agrees with the ranker's own."""
    calls = calls_of(*requests, example="agreement('other_score', 'kendall_tau')", among=AGREEMENTS)
    refuse_names([call.text for call in calls], setup.roles.query, "the query")

    def run(rows: pl.DataFrame, _: float | None, names: Sequence[str] | None) -> pl.DataFrame:
        chosen = [call for call in calls if names is None or call.text in names] or calls[:1]
        return in_parts(rows, setup, [other], lambda part: _agreement(part, setup, other, chosen))

    if isinstance(frame, pl.DataFrame):
        return with_names(run(frame, None, None), setup, calls)
    return with_names(source(frame, setup, run, "agreement", reads=[other]), setup, calls)


def _agreement(frame: pl.DataFrame, setup: Setup, other: str, calls: Sequence[Call]) -> pl.DataFrame:
    require(frame.schema, other, "agreement")
    of_other = setup.changed(score=other)
    table, others = (Columns.of(x, frame.schema, label=False) for x in (setup, of_other))
    refuse_agreement(table)
    order, other_order = in_rank_order(frame, table), in_rank_order(frame, others)
    score, other_score = order.score, other_order.score
    listed = score.is_not_null() | other_score.is_not_null()
    for of_score, of_table in ((setup, table), (of_other, others)):
        refuse_faults(frame.filter(listed), of_score, of_table, label=False)
    retrieved, other_retrieved = pl.col("#score").is_not_null(), pl.col("#other").is_not_null()
    both = retrieved & other_retrieved
    rows = pl.LazyFrame(
        {
            "#query": order.number,
            "#score": score,
            "#other": other_score,
            "#rank": order.position,
            "#other_rank": other_order.position,
        }
    )
    rows = rows.filter(listed).with_columns(
        pl.when(both).then("#score"),
        pl.when(both).then("#other"),
        pl.when(retrieved).then("#rank"),
        pl.when(other_retrieved).then("#other_rank"),
    )
    needed = Needed(["#query"])
    pair = Pair(needed, setup.policies.unjudged != "drop" and order.complete and other_order.complete)
    needed.values = {call.text: call.metric.formula(pair, **call.arguments) for call in calls}
    queries = queries_of(frame, setup, order)
    number = pl.DataFrame({"#query": pl.Series(range(queries.height), dtype=pl.Series(order.number).dtype)})
    return queries.hstack(values_of_groups(rows, needed, number, empty=None))


def _output_name(request: pl.Expr, frame: Frame) -> str:
    if not request.meta.has_multiple_outputs():
        return request.meta.output_name()
    outputs = frame.lazy().select(request).collect_schema().names()
    if len(outputs) == 1:
        return outputs[0]
    raise InvalidOption(
        f"an expression makes {len(outputs)} columns ({', '.join(outputs)}); write an expression for each, as "
        "*(pl.col(name).mean() for name in names)"
    )


def _require_frame(qrels: object) -> None:
    if not isinstance(qrels, (pl.DataFrame, pl.LazyFrame)):
        library = "pandas " if type(qrels).__module__.startswith("pandas") else ""
        raise InvalidOption(
            f"the judgments are {shown(qrels) if isinstance(qrels, str) else f'a {library}{type(qrels).__name__}'}; give a Polars "
            "DataFrame or LazyFrame, as pl.from_pandas or rf.read_qrels make them"
        )
