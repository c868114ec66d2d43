"""The verbs of values: metrics of queries and ranks, contributions, agreement of rankings."""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl
from polars import selectors as cs

from ..._catalog.call import Call
from ..._catalog.registry import AGREEMENTS, METRICS
from ..._catalog.requests import Request, calls_of, no_metric, read_requests
from ..._plan.parts import in_parts
from ..._plan.per_query import (
    by_document,
    collect,
    largest_of_parts,
    measure,
    names_of,
    part_of,
    queries_of,
    ranks_in_frame,
    refuse_faults,
    with_labels,
)
from ..._plan.plan import by_row, run_formulas, values_of_groups
from ..._plan.rank_order import RankOrder, in_rank_order, numbered, refuse_shared_ranks
from ..._plan.subtopics import refuse_agreement, refuse_by_document
from ..._plan.unjudged import count
from ..._plan.values import output_name
from ..._support.floats import np
from ..._support.joins import left_joined
from ..._support.option_kinds import Column
from ..._table.columns import Columns
from ..._table.roles import ROW, carried, require, require_all
from ..._table.runs import RUN, RUN_OF_TABLE, Runs
from ..._table.setup import Setup, refuse_bounds
from ..._table.shared_options import OfRuns, runs_of
from ..._table.table import Table, in_memory, refuse_names
from ..._words.rows import Answer
from ..._words.sorted_rows import Needed
from ..._words.two_rankings import Pair
from ...errors import Code, InvalidOption, option
from ..call.declaration import ONE_RUN, VerbCall, call_of_verb, verb
from ..call.running import plan_of

if TYPE_CHECKING:
    from typing import Unpack


def refuse_values_of_scores(runs: Runs, calls: Sequence[Call]) -> None:
    """Refuse runs that are columns of scores for a value that depends on no score."""
    if not runs.scores:
        return
    for call in calls:
        if not call.of_ranking:
            refuse_one_value_of_all_runs(call.text)


def refuse_one_value_of_all_runs(name: str) -> None:
    """Refuse a value that is the same for all runs that are columns of scores."""
    says = (
        f"{name} is the same for all runs that are columns of scores; put the runs' "
        "rows below each other, with a column that names the run: "
    )
    raise InvalidOption(says, option(run="system"))


@verb(gives="query", among=METRICS, watched=True)
def evaluate(table: Table[Any], *metrics: Request, **options: Unpack[OfRuns]) -> pl.DataFrame:
    """Many metrics in one pass: one row per query, or one per run and query.

    Parameters
    ----------
    *metrics
        Texts, as ``"ndcg@10"``, ``"err(max_label=4)@20"`` or in the spelling of ranx, ir_measures
        or trec_eval; a text may name several cutoffs or metrics, as ``"ndcg@5,10,map"``; functions
        declared with ``@rf.metric()``; and Polars aggregations, as ``rf.expr.ndcg(k=10)`` or
        ``pl.len().alias("rows")``, which are evaluated inside each query. Also columns with one
        value per query, as ``"value:faithfulness"`` or :func:`rankframe.value`, beside metrics or
        alone: then the table needs no documents, scores or labels. Objects of ir_measures, as
        ``nDCG@10``, and trec_eval's ``"official"``, ``"set"`` and ``"all_trec"`` are read, too.
        Lists, sets and generators of all these are taken as their members.

    Returns
    -------
    A frame with the run (the column ``run``, or the one that `run` names) if runs are named, the
    query columns, then one Float64 column per metric, named by its canonical text, in the order
    given. Eager frames keep the order in which queries first appear; lazy frames have no defined
    order.

    Raises
    ------
    UnknownMetric, InvalidOption
        If a text names no metric, or an option is out of its range.
    MissingColumn, InvalidData
        If a column is missing or holds no numbers; or if a score is NaN, a label infinite, or a
        document appears twice in a query. Errors in the rows of a LazyFrame are raised when it is
        collected.
    OutOfSpace
        If the rows of a LazyFrame exceed the memory limit and the temporary folder cannot hold
        them.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> rows = {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]}
    >>> df = pl.DataFrame(rows)
    >>> found = df.rank.evaluate("rr", "P_5")
    >>> found["rr"].to_list(), found["precision@5"].to_list()
    ([0.5], [0.2])

    >>> runs = pl.DataFrame({**rows, "new": [1.0, 2.0]})
    >>> runs.rank.evaluate("rr", runs=["score", "new"])["rr"].to_list()
    [0.5, 1.0]
    """
    runs = runs_of(options)
    if not runs.columns:
        return _per_query(table, metrics)
    runs.require(table.rows, table.setup)
    if runs.scores:
        refuse_names([RUN_OF_TABLE], table.setup.roles.query, "the query")

    def of_run(rows: pl.DataFrame, setup: Setup) -> pl.DataFrame:
        return _per_query(replace(table, rows=rows, setup=setup), metrics, runs)

    values = runs.values(table.rows, table.setup, of_run)
    return values.rename({RUN: RUN_OF_TABLE}) if runs.scores else values


def _per_query(table: Table[Any], metrics: Sequence[Request], runs: Runs = ONE_RUN) -> pl.DataFrame:
    """The values of the queries of a run, or of runs in a column."""
    frame = table.rows
    setup = table.setup
    calls, expressions, names = _asked(metrics, frame, setup)
    if not names:
        raise no_metric("evaluate('ndcg@10', 'map')")
    refuse_values_of_scores(runs, [*calls])
    if runs.scores and expressions:
        refuse_one_value_of_all_runs(next(iter(expressions)))
    if not expressions:
        return measure(frame, setup, *calls, largest_label=table.largest_label)
    twice = [name for name in expressions if names.count(name) > 1]
    refuse_names(twice, names, "another metric or expression", "give it another name by .alias")
    query = setup.roles.query
    refuse_names(names, query, "the query")
    require_all(frame.schema, [(name, "query") for name in query])
    queries = frame.lazy().group_by(query, maintain_order=True)
    result = queries.agg(x.alias(name) for name, x in expressions.items())
    if calls:
        values = measure(frame, setup, *calls, largest_label=table.largest_label)
        result = left_joined(values.lazy(), result, query)
    return collect(result.select(*query, *names), frame, setup)


def _asked(
    metrics: Sequence[Request], frame: pl.DataFrame, setup: Setup
) -> tuple[Collection[Call], dict[str, pl.Expr], list[str]]:
    """The metrics and expressions that are asked for, and the columns of the result in order."""
    calls: dict[Call, None] = {}  # of many, a list would be slow to look through
    expressions: dict[str, pl.Expr] = {}
    names: list[str] = []
    for request in read_requests(metrics, METRICS):
        if isinstance(request, pl.Expr):
            if not request.meta.has_multiple_outputs():  # a selector finds its columns itself
                for column in request.meta.root_names():
                    require(frame.schema, column, "an expression")
            name = output_name(request, frame)
            expressions[name] = request
            names.append(name)
        elif request not in calls:
            calls[request] = None
            names += names_of(setup, request)
    return calls, expressions, names


def _with_metrics_lazily(frame: pl.LazyFrame, setup: Setup, call: VerbCall) -> pl.LazyFrame:
    """The rows of a plan, in their order also where queries are evaluated bucket by bucket."""
    values = plan_of(frame, setup, call_of_verb(evaluate, *call.requests))
    return _joined(frame, values, setup)


def _joined(frame: pl.LazyFrame, values: pl.LazyFrame, setup: Setup) -> pl.LazyFrame:
    """The rows with the metrics of their query, which must not have the name of a column."""
    query = setup.roles.query
    metrics = [name for name in values.collect_schema() if name not in query]
    refuse_names(metrics, frame.collect_schema(), "the table")
    return left_joined(frame, values, query)


@verb(gives="row", among=METRICS, watched=True, lazily=_with_metrics_lazily)
def with_metrics(table: Table[Any], *metrics: Request) -> pl.DataFrame:
    """The caller's rows, in their order, with the metrics of their query as further columns.

    Parameters
    ----------
    *metrics
        As for :meth:`evaluate`.

    Returns
    -------
    The frame with one more Float64 column per metric. A metric with the name of a column of the
    table is an error.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> rows = {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]}
    >>> df = pl.DataFrame(rows)
    >>> df.rank.with_metrics("rr")["rr"].to_list()
    [0.5, 0.5]
    """
    rows = table.rows
    setup = table.setup
    every_row = in_memory(rows, setup, table.whole)
    values = call_of_verb(evaluate, *metrics).on(every_row)
    with_values = _joined(rows.lazy(), values.lazy(), setup)
    return collect(with_values, rows, setup)


@verb(gives="row", labels=False)
def with_ranks(table: Table[Any], name: str | None = None) -> pl.DataFrame:
    """The caller's rows, in their order, with their rank in the query as a further column.

    Parameters
    ----------
    name
        The name of the new column. Default: ``"rank"``, or ``"new_rank"`` if the table has a column
        ``rank``.

    Returns
    -------
    The frame with one more UInt32 column: 1 for the first document; null for one that was not
    retrieved. The rows of a LazyFrame that exceed the memory limit come bucket by bucket, in no
    defined order; with ``on(grouped=True)``, in theirs.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> rows = {"query_id": [1, 1, 1], "doc_id": ["a", "b", "c"], "score": [1.0, 2.0, 0.5]}
    >>> df = pl.DataFrame(rows)
    >>> df.rank.with_ranks()["rank"].to_list()
    [2, 1, 3]
    """
    setup = table.setup
    schema = table.rows.schema
    Columns.of(setup, schema, label=False)
    if name == "":
        says = " is no name of a column; write one, as "
        raise InvalidOption(option(name=name), says, option(name="place"))
    new = rank_column(schema) if name is None else name
    advice = "name the new one", Code("df.rank.with_ranks(name='place')", phrase=", as with {}")
    refuse_names([new], schema, "the table", advice)
    return table.rows.hstack(ranks_of(table.rows, setup, new))


def ranks_of(rows: pl.DataFrame, setup: Setup, name: str) -> pl.DataFrame:
    """The rank of each row in a column of its own; null for a document that was not retrieved."""
    refuse_averages(setup, "with_ranks")
    return in_parts(rows, setup, [], lambda part: _ranks(part, setup, name))


def refuse_averages(setup: Setup, verb: str) -> None:
    """Refuse a tie rule that ranks tied documents in several orders, of a verb that needs one."""
    if setup.policies.tie_rule.averages:
        says = f" ranks tied documents in all orders at once; {verb} needs one, as with "
        raise InvalidOption(option(ties=setup.policies.ties), says, option(ties="doc_desc"))


def _ranks(frame: pl.DataFrame, setup: Setup, name: str) -> pl.DataFrame:
    """The rank of each row of a part, with the column `ROW` if the part has it."""
    docs, of_docs = by_document(frame, setup, label=False)
    columns = Columns.of(of_docs, docs.schema, label=False)
    ranks = ranks_in_frame(docs, of_docs, columns).alias(name)
    if docs is not frame:  # a document has a row for each of its subtopics
        document_of_row = numbered(frame[columns.key_of_documents]).number
        ranks = ranks[document_of_row]
    return frame.select(cs.by_name(ROW, require_all=False), ranks)


def rank_column(taken: Container[str]) -> str:
    """The name of a new column of ranks: ``rank``, or ``new_rank`` if there is such a column."""
    return "new_rank" if "rank" in taken else "rank"


@verb(gives="document", among=METRICS, watched=True)
def curve(table: Table[Any], *metrics: str) -> pl.DataFrame:
    """The metrics at every rank: one row per retrieved document.

    Parameters
    ----------
    *metrics
        Texts without a cutoff, of metrics that are a sum over ranks.

    Returns
    -------
    A frame with the query columns, the document, ``rank`` (UInt32) and one Float64 column per
    metric, whose value at rank k is the metric at cutoff k. (The rank is ``new_rank`` beside a
    query column ``rank``.) Eager frames come query by query, in rank order.

    Raises
    ------
    InvalidOption
        If a metric is not such a sum (interpolated precision, AUC) or has a cutoff.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> rows = {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]}
    >>> df = pl.DataFrame(rows)
    >>> found = df.rank.curve("precision", "recall")
    >>> found["precision"].to_list(), found["recall"].to_list()
    ([0.0, 0.5], [0.0, 1.0])
    """
    calls = calls_of(*metrics, example="curve('precision', 'ndcg')")
    for call in calls:
        if call.cutoff:
            says = "a curve shows metrics without a cutoff at every rank"
            raise InvalidOption(f"{says}, and {call.text!r} has one")
    return _rows(table, calls, "rank")


@verb(gives="document", among=METRICS, watched=True)
def explain(table: Table[Any], *metrics: str) -> pl.DataFrame:
    """The contribution of each document to its query's value.

    Parameters
    ----------
    *metrics
        Texts of metrics that are a sum over ranks.

    Returns
    -------
    A frame with the query columns, the document, its score and label, ``rank`` (UInt32; null for a
    document that was not retrieved; ``new_rank`` if one of these columns is called ``rank``) and
    one Float64 column per metric, which sums to the metric; null if the query's value is 1 because
    of ``no_relevant="one"``, since no document contributed. Eager frames come query by query, in
    rank order, documents that were not retrieved last.

    Raises
    ------
    InvalidOption
        If a metric is not such a sum.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> rows = {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, 1]}
    >>> df = pl.DataFrame(rows)
    >>> found = df.rank.explain("map")
    >>> found["rank"].to_list(), found["map"].to_list()
    ([1, 2], [0.5, 0.5])
    """
    return _rows(table, calls_of(*metrics, example="explain('ndcg@10')"), "document")


def _rows(table: Table[Any], calls: list[Call], answer: Answer) -> pl.DataFrame:
    """The values of metrics at each rank, or their contributions of each document."""
    frame = table.rows
    setup = table.setup
    carry = table.carry
    refuse_bounds(setup)
    refuse_by_document(setup, calls)
    reads = [*carry, *_columns_read(calls)]
    largest = table.largest_label
    if largest is None:
        largest = largest_of_parts(frame, setup, calls)

    def of_part(part: pl.DataFrame) -> pl.DataFrame:
        return _rows_of_part(part, setup, calls, answer, carry, largest)

    rows = in_parts(frame, setup, reads, of_part)
    count(frame, setup, calls, rows, by_query=False)
    return rows


def _columns_read(calls: Sequence[Call]) -> list[str]:
    """The further columns that metrics read."""
    return [name for call in calls for name in call.columns]


def _rows_of_part(
    frame: pl.DataFrame,
    setup: Setup,
    calls: list[Call],
    answer: Answer,
    carry: Sequence[str],
    largest: float | None,
) -> pl.DataFrame:
    """The rows of `_rows` in a part of the table."""
    label = setup.roles.label
    shows_label = label in frame.columns
    frame = with_labels(frame, setup, calls)
    frame, setup = by_document(frame, setup, [*carry, *_columns_read(calls)])
    setup = Columns.of(setup, frame.schema).setup
    roles = setup.roles
    named = [] if roles.doc_name is None else [roles.doc_name]
    if answer != "rank":
        named += [roles.score, label] if shows_label else [roles.score]
    named = list(dict.fromkeys([*named, *carry]))  # score and label may be one column
    rank = rank_column([*roles.query, *named])
    metrics = [call.text for call in calls]
    refuse_names([rank, *metrics], [*roles.query, *named], "the table")
    resolved, meant = _resolved(setup, calls)
    part = part_of(frame, resolved, largest)
    needed = run_formulas(meant, part.table.setup, part.top, answer)
    along = {carried(name): pl.col(name) for name in named}
    queries = queries_of(frame, setup, part.order)
    keys = [pl.lit(key).gather("#query").alias(key.name) for key in queries]
    shown = [pl.col(carried(name)).alias(name) for name in named]
    ranks = pl.col("#rank").cast(pl.UInt32).alias(rank)
    names = zip(meant, metrics, strict=True)
    values = [pl.col(call.text).alias(name) for call, name in names]
    rows = by_row(part, needed, answer, along).select(*keys, *shown, ranks, *values)
    return collect(rows, frame, setup)


def _resolved(setup: Setup, calls: Sequence[Call]) -> tuple[Setup, list[Call]]:
    """The policies and metrics that a convention means; its policies must be the same for all."""
    resolved = [setup.resolve(call) for call in calls]
    if len({policies for policies, _ in resolved}) > 1:
        raise InvalidOption(
            f"{setup.convention} ranks documents, or counts queries, differently for each of "
            "these metrics; ask for one"
        )
    return resolved[0][0], [call for _, call in resolved]


@verb(
    gives="query",
    among=AGREEMENTS,
    labels=lambda requests: any(x.labels for x in requests if isinstance(x, Call)),
)
def agreement(table: Table[Any], other: Column, *measures: str) -> pl.DataFrame:
    """Agreement between the ranking by another column and the ranker's own ranking: one row per
    query.

    Parameters
    ----------
    other
        A numeric column that ranks the same documents: another system's score, or the label; the
        largest value is the best, as of the ranker's own score (with ``on(ascending=True)`` the
        smallest of both); null for a document that it does not retrieve.
    *measures
        Texts. ``"kendall_tau"``, ``"weighted_tau"``, ``"spearman"``, ``"footrule"``, ``"ndpm"``,
        ``"tau_ap"`` and ``"kendall_distance@10"`` compare the documents that have both scores;
        ``"overlap@10"``, ``"jaccard@10"``, ``"footrule@10"``, ``"rbo(p=0.95)"``, ``"rbo(tied=a)"``,
        ``"rbo_min"`` and ``"rbo_residual"`` compare all; ``"rpp"`` tells by the labels which
        ranking is better.

    Returns
    -------
    A frame with the query columns, then one Float64 column per measure, in the order given; null if
    a measure is undefined, as for fewer than two documents.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> rows = {"query_id": [1] * 3, "doc_id": list("abc"), "score": [3, 2, 1], "ltr": [1, 2, 3]}
    >>> df = pl.DataFrame(rows)
    >>> df.rank.agreement("ltr", "kendall_tau", "spearman")["kendall_tau"].to_list()
    [-1.0]
    """
    # Two orders are compared, of which one may be no column of ranks.
    setup = table.setup.changed(ranks="order")
    calls = calls_of(*measures, example="agreement('other_score', 'kendall_tau')", among=AGREEMENTS)
    refuse_names([call.text for call in calls], setup.roles.query, "the query")
    return in_parts(table.rows, setup, [other], lambda part: _agreement(part, setup, other, calls))


def _agreement(
    frame: pl.DataFrame, setup: Setup, other: str, calls: Sequence[Call]
) -> pl.DataFrame:
    """The measures of the queries of a part."""
    require(frame.schema, other, "agreement")
    of_other = setup.changed(score=other)
    labels = any(call.labels for call in calls)
    table = Columns.of(setup, frame.schema, label=labels)
    other_table = Columns.of(of_other, frame.schema, label=labels)
    refuse_agreement(table)
    refuse_shared_ranks(setup, "agreement")
    order = in_rank_order(frame, table)
    other_order = in_rank_order(frame, other_table)
    listed = order.score.is_not_null() | other_order.score.is_not_null()
    listed_rows = frame if listed.all() else frame.filter(listed)
    refuse_faults(listed_rows, setup, table, label=labels)
    refuse_faults(listed_rows, of_other, other_table, label=labels, documents=False)
    columns = _columns_of_pair(order, other_order)
    n_relevant: Any = np.zeros(len(order.first))
    if labels:
        is_relevant = (table.label >= setup.policies.relevant).fill_null(False)
        relevant = frame.select(is_relevant).to_series()
        columns["#relevant"] = relevant
        n_relevant = np.bincount(order.number, relevant.to_numpy(), len(order.first))
        columns["#n_relevant"] = n_relevant[order.number]
    rows = _of_pair(pl.LazyFrame(columns).filter(listed))
    needed = Needed(["#query"])
    complete = order.complete and other_order.complete
    pair = Pair(needed, complete and setup.policies.unjudged != "drop")
    needed.values = {call.text: call.metric.formula(pair, **call.arguments) for call in calls}
    queries = queries_of(frame, setup, order)
    dtype = pl.Series(order.number).dtype
    numbers = pl.Series("#query", range(queries.height), dtype=dtype)
    values = values_of_groups(rows, needed, numbers.to_frame(), empty=None)
    if labels:  # a query of which neither ranking has a document has no rows
        valued = pl.Series(n_relevant > 0)
        if setup.policies.no_relevant != "null":
            valued = _queries_with_labels(frame, setup, order)
        reading_labels = pl.col(call.text for call in calls if call.labels)
        known = pl.when(valued).then(reading_labels.fill_null(0.0))
        values = values.with_columns(known)
    return queries.hstack(values)


def _queries_with_labels(frame: pl.DataFrame, setup: Setup, order: RankOrder) -> pl.Series:
    """Whether each query has a label."""
    has_label = frame[setup.roles.label].is_not_null()
    return order.queries_with(has_label.to_numpy())


def _columns_of_pair(order: RankOrder, other_order: RankOrder) -> dict[str, Any]:
    """The query of each row, and its scores and ranks in two rankings."""
    return {
        "#query": order.number,
        "#score": order.score,
        "#other": other_order.score,
        "#rank": order.position,
        "#other_rank": other_order.position,
    }


def _of_pair(rows: pl.LazyFrame) -> pl.LazyFrame:
    """The rows as measures read them: scores only of documents that both rankings have."""
    retrieved = pl.col("#score").is_not_null()
    other_retrieved = pl.col("#other").is_not_null()
    both = retrieved & other_retrieved
    has = {"#score": both, "#other": both, "#rank": retrieved, "#other_rank": other_retrieved}
    own_score = pl.col("#score").alias("#own score")
    other_score = pl.col("#other").alias("#other score")
    valid = [pl.when(there).then(name) for name, there in has.items()]
    return rows.with_columns(own_score, other_score).with_columns(valid)
