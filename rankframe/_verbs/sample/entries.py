"""The rows of several runs as entries: a document in the ranking of a query by a run, with its rank
and its score.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    if runs.column is None:
        documents, number, rows = (
            frame,
            np.arange(frame.height, dtype=np.int64),
            _of_columns(frame, of_query, runs),
        )
    else:
        documents, number, rows = _of_names(frame, of_query, runs, names)
    query = numbered(documents.select(of_query.roles.query)).number.astype(np.int64)
    document, run = number[_whole(rows["#row of table"])], _whole(rows["#run"])
    rows = rows.with_columns(
        _numbers("#document", document), _numbers("#list", query[document] * len(names) + run)
    )
    rows = _ranked(rows, setup, depth)
    if absent:
        rows = _with_absent(rows, query, len(names))
    kept = [*of_query.roles.query, of_query.roles.doc_in(frame.columns), of_query.roles.label, ROW]
    documents = documents.select(
        name for name in kept if name is not None and name in documents.columns
    )
    return Entries(documents, query, rows.lazy(), len(names))


@dataclass(frozen=True)
class NamesInPart:
    """The names of the runs in a part of a table whose column names them, each with its first place
    in an ordered table.
    """

    runs: Runs

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        self.runs.require(part.rows, part.setup)
        places = pl.lit(0) if part.places is None else pl.lit(part.places)
        rows = part.rows.select(
            pl.col(*self.runs.key).cast(pl.String).alias(RUN), places.alias("#place")
        )
        return rows.group_by(RUN, maintain_order=True).agg(pl.col("#place").min())


def names_of_runs(table: Table[Any], runs: Runs) -> list[str]:
    """The names of the runs: score columns as they are named, or the values of a column in the
    order of the table.
    """
    if runs.column is None:
        runs.require(table.rows, table.setup)
        return list(runs.scores)
    found = table.by_parts(NamesInPart(runs))
    found = found.sort("#place", maintain_order=True) if table.ordered else found.sort(RUN)
    return found[RUN].unique(maintain_order=True).to_list()


def of_run(entries: Entries, run: int, setup: Setup) -> tuple[pl.DataFrame, Setup]:
    """All documents with their scores in a run, ``#score``, and the setup to measure them.

    Unless ties are expected, the score is -rank, since the tie rule may use the order of the
    caller's rows.
    """
    score = pl.col("#score") if setup.policies.tie_rule.averages else -pl.col("#rank")
    rows = (
        entries.rows.filter(pl.col("#run") == run)
        .select("#document", score.alias("#score"))
        .collect()
    )
    documents = entries.documents.with_row_index("#document").with_columns(
        pl.col("#document").cast(pl.Int64)
    )
    table = documents.join(rows, on="#document", how="left", maintain_order="left").drop(
        "#document"
    )
    return table, setup.changed(score="#score", ascending=False, scores="as_given")


def _numbers(name: str, values: Integers) -> pl.Series:
    return pl.Series(name, values, dtype=pl.Int64)


def _whole(values: pl.Series) -> Integers:
    """Whole numbers as an index; a Series without values may have another type."""
    return values.cast(pl.Int64).to_numpy()


def _of_columns(frame: pl.DataFrame, setup: Setup, runs: Runs) -> pl.DataFrame:
    """A row per document and score column that has a score for it."""
    tables = []
    for i, score in enumerate(runs.scores):
        of_run = setup.changed(score=score)
        table = Columns.of(of_run, frame.schema, label=False)
        refuse_faults(frame, of_run, table, label=False, documents=i == 0)
        tables.append(_columns(frame, table, pl.lit(i, pl.Int64)))
    return pl.concat(tables, how="vertical_relaxed")


def _of_names(
    frame: pl.DataFrame, setup: Setup, runs: Runs, names: Sequence[str]
) -> tuple[pl.DataFrame, Integers, pl.DataFrame]:
    """The documents, the number of the document of each row, and the rows with a score."""
    column, doc = str(runs.column), setup.roles.doc_in(frame.columns)
    if doc is None:
        says = (
            "documents of several runs are the same if they have the same id, and the table has "
            "no document column"
        )
        raise InvalidOption(f"{says}; say ", on(doc=...))
    of_run = setup.changed(query=(column, *setup.roles.query))
    table = Columns.of(of_run, frame.schema, label=False)
    run = pl.lit(0, pl.Int64)
    if names:
        run = pl.col(column).cast(pl.String).cast(pl.Enum(names)).to_physical().cast(pl.Int64)
    found = numbered(frame.select(*setup.roles.query, doc))
    numbers = frame.select(
        pl.Series(found.number, dtype=pl.Int64) * (len(names) + 1) + run.fill_null(len(names))
    )
    repeats = numbers.to_series().n_unique() < frame.height
    refuse_faults(frame, of_run, table, label=False, documents=repeats)
    documents = frame[pl.Series(found.first)]
    if setup.roles.label in frame.columns:
        documents = documents.with_columns(
            _labels(frame, setup, found.number, documents[setup.roles.label])
        )
    return documents, found.number.astype("int64"), _columns(frame, table, run)


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
    of_each = pl.DataFrame({"document": number, "label": label}).group_by(
        "document", maintain_order=True
    )
    found = of_each.agg(pl.col("label").max(), least=pl.col("label").min())
    unlike = found.filter(pl.col("label") != pl.col("least"))
    if unlike.height:
        doc = str(setup.roles.doc_name)
        row = frame.filter(pl.Series(number) == unlike["document"][0]).row(0, named=True)
        of = ", ".join(f"{name} {row[name]!r}" for name in setup.roles.query)
        both = f"{unlike['least'][0]!r} and {unlike['label'][0]!r} in different runs"
        raise InvalidData(f"document {row[doc]!r} of {of} has the labels {both}; give it one label")
    return found["label"].alias(label.name)


def _columns(frame: pl.DataFrame, table: Columns, run: pl.Expr) -> pl.DataFrame:
    """The columns that ranking reads, and the number of the row; documents without a score are left
    out.
    """
    setup = table.setup
    score = pl.col(setup.roles.score)
    dtype = frame.schema[setup.roles.score]
    score = score.cast(pl.UInt8) if dtype in (pl.Boolean, pl.Null) else score
    score = score.cast(pl.Float32) if setup.policies.scores == "float32" else score
    score = -score.cast(pl.Float64) if setup.policies.ascending else score
    columns = {"#score": score, "#run": run}
    if table.setup.roles.doc_name is not None:
        columns["#doc"] = pl.col(table.setup.roles.doc_name)
    if setup.policies.orders_by_label:
        columns["#label"] = pl.col(setup.roles.label)
    rows = frame.select(pl.int_range(pl.len()).alias("#row of table"), **columns)
    return rows.filter(pl.col("#score").is_not_null()) if rows["#score"].has_nulls() else rows


def _ranked(rows: pl.DataFrame, setup: Setup, depth: int | None) -> pl.DataFrame:
    """The rows with their ranks, in rank order, so that sums do not depend on the order of the
    table; cut at the depth.
    """
    refuse_shared_ranks(setup, "fusion")
    doc = "#doc" if "#doc" in rows.columns else None
    roles = Roles(query=("#list",), doc=doc, score="#score", label="#label")
    setup = Setup(roles).changed(ties=setup.policies.ties)  # judgments change no ranking
    order = in_rank_order(rows, Columns.of(setup, rows.schema, label=False))
    found = order.rows().select("#row", pl.col("#position").cast(pl.Float64).alias("#rank"))
    found = found if depth is None else found.filter(pl.col("#rank") <= depth)
    ranked = rows.select("#document", "#run", "#list", pl.col("#score").cast(pl.Float64))[
        found["#row"]
    ]
    return ranked.with_columns(found["#rank"])


def _with_absent(rows: pl.DataFrame, query: Integers, n_runs: int) -> pl.DataFrame:
    """The rows, and a row for each document that a ranking lacks but another ranking of the query
    has.
    """
    own, listed = _whole(rows["#document"]), np.zeros(len(query), dtype=bool)
    listed[own] = True
    lacking = np.repeat(listed, n_runs)
    lacking[own * n_runs + _whole(rows["#run"])] = False
    document, run = np.divmod(np.flatnonzero(lacking), max(n_runs, 1))
    lists = query[document] * n_runs + run
    absent = pl.DataFrame(
        [_numbers("#document", document), _numbers("#run", run), _numbers("#list", lists)]
    )
    candidates = np.bincount(query[listed], minlength=int(query.max(initial=-1)) + 1).astype(
        np.float64
    )
    of_each = candidates[query[np.concatenate([own, document])]]
    return pl.concat([rows, absent], how="diagonal").with_columns(pl.Series("#candidates", of_each))
