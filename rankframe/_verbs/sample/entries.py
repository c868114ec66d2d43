"""The rows of several runs as entries: a document in a run's ranking of a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from ..._plan.per_query import refuse_faults
from ..._plan.rank_order import in_rank_order, numbered, refuse_shared_ranks
from ..._support.floats import Integers, np
from ..._table.columns import Columns
from ..._table.roles import ROW
from ..._table.runs import RUN, Runs
from ..._table.setup import Roles, Setup
from ..._table.table import Table
from ...errors import InvalidData, InvalidOption, on


@dataclass(frozen=True)
class Entries:
    """The documents of all rankings.

    Attributes
    ----------
    documents
        A row per document of a query, in the order of first appearance: its query, its id and its
        label, if it has them; of a part of a table also the column `ROW`.
    query
        The number of each document's query.
    rows
        A row per document and ranking that has it: the numbers of the document (``#document``), of
        the run (``#run``) and of the ranking (``#list``), the rank, the score, and the number of
        documents of the query (``#candidates``).
    n_runs
        The number of runs.
    """

    documents: pl.DataFrame
    query: Integers
    rows: pl.LazyFrame
    n_runs: int


def entries_of(
    frame: pl.DataFrame,
    setup: Setup,
    runs: Runs,
    names: Sequence[str],
    *,
    depth: int | None,
    absent: bool,
) -> Entries:
    """The entries of the runs called `names`, each ranking cut at `depth`.

    With `absent`, the rows also hold each document that another ranking of the query has, without
    rank and score.
    """
    runs.require(frame, setup)
    of_query = runs.queries(setup)
    n_runs = len(names)
    if runs.column is None:
        documents = frame
        number = np.arange(frame.height, dtype=np.int64)
        rows = _of_columns(frame, of_query, runs)
    else:
        documents, number, rows = _of_names(frame, of_query, runs, names)
    roles = of_query.roles
    keys = documents.select(roles.query)
    query = numbered(keys).number.astype(np.int64)
    document = number[_whole(rows["#row of table"])]
    run = _whole(rows["#run"])
    of_rows = {"#document": document, "#list": query[document] * n_runs + run}
    rows = rows.with_columns(_whole_numbers(of_rows))
    rows = _ranked(rows, setup, depth)
    if absent:
        rows = _with_absent(rows, query, n_runs)
    columns = [*roles.query, roles.doc_in(frame.columns), roles.label, ROW]
    names_there = [name for name in columns if name is not None and name in documents.columns]
    return Entries(documents.select(names_there), query, rows.lazy(), n_runs)


@dataclass(frozen=True)
class NamesInPart:
    """The names of the runs in a part of a table, each with its first place in an ordered table."""

    runs: Runs

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        self.runs.require(part.rows, part.setup)
        name = pl.col(*self.runs.key).cast(pl.String)
        place = pl.lit(0 if part.places is None else part.places)
        rows = part.rows.select(name.alias(RUN), place.alias("#place"))
        first_place = pl.col("#place").min()
        return rows.group_by(RUN, maintain_order=True).agg(first_place)


def names_of_runs(table: Table[Any], runs: Runs) -> list[str]:
    """The names of the runs: score columns, or the values of a column in the order of the table."""
    if runs.column is None:
        runs.require(table.rows, table.setup)
        return list(runs.scores)
    names = table.by_parts(NamesInPart(runs))
    order = "#place" if table.ordered else RUN
    names = names.sort(order, maintain_order=True)
    return names[RUN].unique(maintain_order=True).to_list()


def of_run(entries: Entries, run: int, setup: Setup) -> tuple[pl.DataFrame, Setup]:
    """All documents with their scores in a run, ``#score``, and the setup to measure them.

    Unless ties are expected, the score is -rank, since the tie rule may use the order of the
    caller's rows.
    """
    averages = setup.policies.tie_rule.averages
    score = pl.col("#score") if averages else -pl.col("#rank")
    in_run = entries.rows.filter(pl.col("#run") == run)
    rows = in_run.select("#document", score.alias("#score")).collect()
    number = pl.col("#document").cast(pl.Int64)
    documents = entries.documents.with_row_index("#document").with_columns(number)
    table = documents.join(rows, on="#document", how="left", maintain_order="left")
    of_score = setup.changed(score="#score", ascending=False, scores="as_given")
    return table.drop("#document"), of_score


def _whole_numbers(columns: Mapping[str, Integers]) -> list[pl.Series]:
    return [pl.Series(name, values, dtype=pl.Int64) for name, values in columns.items()]


def _whole(values: pl.Series) -> Integers:
    """Whole numbers as an index; a Series without values may have another type."""
    return values.cast(pl.Int64).to_numpy()


def _of_columns(frame: pl.DataFrame, setup: Setup, runs: Runs) -> pl.DataFrame:
    """A row per document and score column that has a score for it."""
    tables = []
    for i, score in enumerate(runs.scores):
        of_score = setup.changed(score=score)
        table = Columns.of(of_score, frame.schema, label=False)
        refuse_faults(frame, of_score, table, label=False, documents=i == 0)
        run = pl.lit(i, pl.Int64)
        tables.append(_columns(frame, table, run))
    return pl.concat(tables, how="vertical_relaxed")


def _of_names(
    frame: pl.DataFrame, setup: Setup, runs: Runs, names: Sequence[str]
) -> tuple[pl.DataFrame, Integers, pl.DataFrame]:
    """The documents, the number of the document of each row, and the rows with a score."""
    column = str(runs.column)
    doc = setup.roles.doc_in(frame.columns)
    if doc is None:
        says = "documents of several runs are the same if they have the same id"
        why = ", and the table has no document column; say "
        raise InvalidOption(says + why, on(doc=...))
    query = setup.roles.query
    label = setup.roles.label
    of_names = setup.changed(query=(column, *query))
    table = Columns.of(of_names, frame.schema, label=False)
    run = pl.lit(0, pl.Int64)
    if names:
        name = pl.col(column).cast(pl.String)
        number = name.cast(pl.Enum(names)).to_physical()
        run = number.cast(pl.Int64)
    ids = numbered(frame.select(*query, doc))
    document = pl.Series(ids.number, dtype=pl.Int64)
    n_runs = len(names)
    numbers = frame.select(document * (n_runs + 1) + run.fill_null(n_runs))
    repeats = numbers.to_series().n_unique() < frame.height
    refuse_faults(frame, of_names, table, label=False, documents=repeats)
    documents = frame[pl.Series(ids.first)]
    if label in frame.columns:
        labels = _labels(frame, setup, ids.number, documents[label])
        documents = documents.with_columns(labels)
    return documents, ids.number.astype("int64"), _columns(frame, table, run)


def _labels(
    frame: pl.DataFrame,
    setup: Setup,
    number: np.ndarray[Any, np.dtype[np.integer[Any]]],
    first: pl.Series,
) -> pl.Series:
    """The label of each document; refused if runs give it different ones."""
    label = frame[setup.roles.label]
    if label.equals(first[pl.Series(number)]):
        return first
    rows = pl.DataFrame({"document": number, "label": label})
    greatest = pl.col("label").max()
    least = pl.col("label").min()
    by_document = rows.group_by("document", maintain_order=True)
    of_each = by_document.agg(greatest, least.alias("least"))
    unlike = of_each.filter(pl.col("label") != pl.col("least"))
    if unlike.height:
        document, largest, smallest = unlike.row(0)
        of_document = frame.filter(pl.Series(number) == document)
        row = of_document.row(0, named=True)
        query = ", ".join(f"{name} {row[name]!r}" for name in setup.roles.query)
        says = f"document {row[str(setup.roles.doc_name)]!r} of {query} has the labels"
        both = f"{smallest!r} and {largest!r} in different runs"
        raise InvalidData(f"{says} {both}; give it one label")
    return of_each["label"].alias(label.name)


def _columns(frame: pl.DataFrame, table: Columns, run: pl.Expr) -> pl.DataFrame:
    """The columns that ranking reads, and the row's number, of documents with a score."""
    roles = table.setup.roles
    policies = table.setup.policies
    dtype = frame.schema[roles.score]
    score = pl.col(roles.score)
    if dtype in (pl.Boolean, pl.Null):
        score = score.cast(pl.UInt8)
    if policies.scores == "float32":
        score = score.cast(pl.Float32)
    if policies.ascending:
        score = -score.cast(pl.Float64)
    columns = {"#score": score, "#run": run}
    if roles.doc_name is not None:
        columns["#doc"] = pl.col(roles.doc_name)
    if policies.orders_by_label:
        columns["#label"] = pl.col(roles.label)
    number = pl.int_range(pl.len())
    rows = frame.select(number.alias("#row of table"), **columns)
    if not rows["#score"].has_nulls():
        return rows
    return rows.filter(pl.col("#score").is_not_null())


def _ranked(rows: pl.DataFrame, setup: Setup, depth: int | None) -> pl.DataFrame:
    """The rows with their ranks, cut at the depth.

    They come in rank order, so that sums do not depend on the order of the table.
    """
    refuse_shared_ranks(setup, "fusion")
    doc = "#doc" if "#doc" in rows.columns else None
    roles = Roles(query=("#list",), doc=doc, score="#score", label="#label")
    # Judgments change no ranking.
    of_lists = Setup(roles).changed(ties=setup.policies.ties)
    table = Columns.of(of_lists, rows.schema, label=False)
    order = in_rank_order(rows, table)
    rank = pl.col("#position").cast(pl.Float64)
    ranks = order.rows().select("#row", rank.alias("#rank"))
    if depth is not None:
        ranks = ranks.filter(pl.col("#rank") <= depth)
    score = pl.col("#score").cast(pl.Float64)
    ranked = rows.select("#document", "#run", "#list", score)[ranks["#row"]]
    return ranked.with_columns(ranks["#rank"])


def _with_absent(rows: pl.DataFrame, query: Integers, n_runs: int) -> pl.DataFrame:
    """The rows, and one for each document that a ranking lacks but another one of the query has."""
    document_of_row = _whole(rows["#document"])
    run_of_row = _whole(rows["#run"])
    listed = np.zeros(len(query), dtype=bool)
    listed[document_of_row] = True
    lacking = np.repeat(listed, n_runs)  # by document and run
    lacking[document_of_row * n_runs + run_of_row] = False
    places = np.flatnonzero(lacking)
    document, run = np.divmod(places, max(n_runs, 1))
    ranking = query[document] * n_runs + run
    columns = {"#document": document, "#run": run, "#list": ranking}
    absent = pl.DataFrame(_whole_numbers(columns))
    n_queries = int(query.max(initial=-1)) + 1
    n_candidates = np.bincount(query[listed], minlength=n_queries)
    documents = np.concatenate([document_of_row, document])
    of_row = n_candidates[query[documents]].astype(np.float64)
    candidates = pl.Series("#candidates", of_row)
    every_row = pl.concat([rows, absent], how="diagonal")
    return every_row.with_columns(candidates)
