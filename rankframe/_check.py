"""Everything that is wrong with a table, or worth knowing before its numbers are read, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from ._diversity import documents, row_faults
from ._policies import Columns
from ._roles import USUAL_NAMES, carried, require
from ._table import Table, failing, fresh
from .errors import InvalidOption, RankframeError

__all__ = ["check", "describe", "for_every_run", "only_common"]

SAYS = ("severity", "problem", "rows", "tied_fraction", "advice")
"""The columns of a finding, beside those that say where it is."""

SHOWN = 3
"""How many rows an error shows."""


def check(frame: pl.LazyFrame, columns: Columns, qrels: pl.LazyFrame | None = None) -> pl.LazyFrame:
    """One row per thing found: severity, problem, where it is, in how many rows, and what to do."""
    found = findings(frame, columns, qrels)
    where = {name: name.removeprefix(carried("")) for name in found.collect_schema() if name not in SAYS}
    for name in where.values():
        if name in SAYS:
            raise InvalidOption(
                f"check has a column {name!r} of its own, as the table has for its ids; rename that of the table, as with "
                f"df.rename({{{name!r}: ...}})"
            )
    return found.rename(where)


def findings(frame: pl.LazyFrame, columns: Columns, qrels: pl.LazyFrame | None) -> pl.LazyFrame:
    """The table of a check, the caller's columns under names that are `carried`."""
    schema = frame.collect_schema()
    parts: list[pl.LazyFrame] = []
    has_label = columns.label in schema
    try:
        table = Table.of(columns, schema, label=has_label)
    except RankframeError as error:
        there = [name for name in (*columns.query, columns.doc_name) if name is not None and name in schema]
        return _finding(frame, "error", "table", str(error), there, one=True)
    asked, columns = columns, table.columns
    query = list(columns.query)
    where = query if columns.doc_name is None else [*query, columns.doc_name]
    if columns.subtopic is not None:
        parts += [
            _finding(frame.filter(fault.rows), "error", fault.name, fault.message, where) for fault in row_faults(table)
        ]
        of_docs = replace(columns, subtopic=None)
        rest = findings(documents(frame, table, ordered=True, check=False), of_docs, qrels)
        if table.lists_subtopics:  # which say by themselves what is relevant
            rest = rest.filter(pl.col("problem") != "no labels")
        parts.append(rest)
        return pl.concat(parts, how="diagonal")
    for fault in table.faults(label=has_label):
        # Polars 2.0 streams this window as a column, not as a filter
        rows = frame.with_columns(fault.rows.over(query).alias(fault.column)).filter(fault.column)
        parts.append(_finding(rows, "error", fault.name, fault.message, where))
    if columns.doc_name is None and asked.doc is ...:
        parts += [
            _finding(
                frame, "note", "documents not named",
                f"column {name!r} seems to name documents; say df.rank.on(doc={name!r}), otherwise ties keep the order "
                "of the rows and repeated documents are not seen", query, one=True,
            )
            for name in [name for name in schema if name.lower() in USUAL_NAMES["doc"] and name not in query][:1]
        ]  # fmt: skip
    if qrels is not None:
        parts += _missing(frame, qrels, query)
    elif not has_label:
        parts.append(_finding(frame, "error", "no labels", _message(schema, columns), where, one=True))
    parts.append(
        _finding(
            frame.filter(pl.any_horizontal(pl.col(name).is_null() for name in query)),
            "note", "query without id", "rows whose query is null form a query of their own", where,
        )
    )  # fmt: skip
    if has_label:
        relevant = (table.label >= max(columns.relevant, 0)).any().over(query)
        parts.append(
            _finding(
                frame.filter(~relevant.fill_null(False)), "note", "no relevant document",
                f"no label of the query reaches relevant={columns.relevant}; it counts as no_relevant={columns.no_relevant!r} says",
                query,
            )
        )  # fmt: skip
        judged = (table.label >= 0).any().over(query)
        parts.append(
            _finding(
                frame.filter(~judged.fill_null(False)), "note", "query without judgments",
                "no document of the query is judged; it counts all the same", query,
            )
        )  # fmt: skip
    retrieved = table.score.is_not_null().any().over(query)
    parts.append(
        _finding(
            frame.filter(~retrieved), "note", "nothing retrieved",
            "no document of the query has a score; its metrics count nothing found", query,
        )
    )  # fmt: skip
    if columns.ties != "error":
        parts.append(_tied(frame, table, query))
    return pl.concat(parts, how="diagonal")


def _tied(frame: pl.LazyFrame, table: Table, query: list[str]) -> pl.LazyFrame:
    """The queries in which documents share a score, and what share of the retrieved ones does."""
    at = [carried(name) for name in query]
    retrieved = frame.filter(table.score.is_not_null()).select(
        *(pl.col(name).alias(key) for name, key in zip(query, at, strict=True)),
        (pl.len().over(*query, table.score) > 1).alias("#tied"),
    )
    counted = retrieved.group_by(at, maintain_order=True).agg(
        pl.col("#tied").sum().cast(pl.UInt32).alias("rows"), pl.len().alias("#n")
    )
    counted = counted.filter(pl.col("rows") > 0)
    advice = f"documents of the query share a score; they stand as ties={table.columns.ties!r} says"
    return counted.select(
        pl.lit("note").alias("severity"),
        pl.lit("tied scores").alias("problem"),
        *at,
        "rows",
        (pl.col("rows") / pl.col("#n")).alias("tied_fraction"),
        pl.lit(advice).alias("advice"),
    )


def describe(frame: pl.DataFrame, columns: Columns, message: str) -> str:
    """A fault's message with the number of its rows and the first few of them."""
    found = findings(frame.lazy(), columns, None).filter(pl.col("advice") == message).collect(engine="in-memory")
    if found.is_empty():
        return message
    where = [name for name in found.columns if name not in SAYS]
    first = [
        ", ".join(f"{name.removeprefix(carried(''))}={value!r}" for name, value in zip(where, row, strict=True))
        for row in found.select(where).head(SHOWN).rows()
    ]
    more = "" if found.height <= SHOWN else f" and {found.height - SHOWN} more, all listed by df.rank.check()"
    rows = found["rows"].sum()
    return f"{message} (found in {rows} row{'' if rows == 1 else 's'}: {'; '.join(first)}{more})"


def _finding(
    rows: pl.LazyFrame, severity: str, problem: str, advice: str, where: Sequence[str], *, one: bool = False
) -> pl.LazyFrame:
    """The places among `rows`, each once, as findings; `one` gives a single finding with no place."""
    at = [carried(name) for name in where]
    places = rows.select(pl.col(name).alias(key) for name, key in zip(where, at, strict=True))
    if one or not where:
        schema = pl.Schema({**places.collect_schema(), "rows": pl.UInt32()})
        counted = pl.LazyFrame({name: [None] for name in at} | {"rows": [0]}, schema=schema)
    else:
        counted = places.group_by(at, maintain_order=True).agg(pl.len().cast(pl.UInt32).alias("rows"))
    named = [pl.lit(severity).alias("severity"), pl.lit(problem).alias("problem")]
    share = pl.lit(None, dtype=pl.Float64).alias("tied_fraction")
    return counted.select(*named, *at, "rows", share, pl.lit(advice).alias("advice"))


def for_every_run(qrels: pl.LazyFrame, frame: pl.LazyFrame, runs: Sequence[str]) -> pl.LazyFrame:
    """The judgments, once for each value of the columns `runs`, which they lack."""
    return frame.select(runs).unique(maintain_order=True).join(qrels, how="cross") if runs else qrels


def only_common(
    rows: pl.LazyFrame, queries: pl.LazyFrame, query: list[str], missing: str, message: str
) -> pl.LazyFrame:
    """The rows whose query is among `queries`, or all rows, or a failure of whatever is made of them."""
    if missing == "keep":
        return rows
    if missing == "drop":
        return rows.join(queries, on=query, how="semi", nulls_equal=True, maintain_order="left")
    others = rows.select(query).join(queries, on=query, how="anti", nulls_equal=True)
    failure = failing([(pl.len() > 0, message + "; df.rank.check(qrels) lists them")])
    # one row or a failure, in a table of its own: no filter or choice of columns that comes later goes around it
    name = fresh("#failure", rows.collect_schema())
    passed = others.select(failure.alias(name)).filter(pl.col(name).is_null())
    return rows.join(passed, how="cross").drop(name)


def _missing(frame: pl.LazyFrame, qrels: pl.LazyFrame, query: list[str]) -> list[pl.LazyFrame]:
    """The queries that only one of the two tables has."""
    on = [name for name in query if name in qrels.collect_schema()]
    if not on:
        require(qrels.collect_schema(), query[-1], "query", "qrels")
    judged = for_every_run(qrels.select(on), frame, [name for name in query if name not in on])
    return [
        _finding(
            frame.join(qrels, on=on, how="anti", nulls_equal=True, maintain_order="left"), "note", "run only",
            "nobody judged the query; judge leaves it out, or keeps it with run_only='keep'", query,
        ),
        _finding(
            judged.join(frame, on=query, how="anti", nulls_equal=True, maintain_order="left"), "note", "judged only",
            "the run has nothing for the query; judge counts it, or leaves it out with judged_only='drop'", query,
        ),
    ]  # fmt: skip


def _message(schema: pl.Schema, columns: Columns) -> str:
    try:
        require(schema, columns.label, "label")
    except RankframeError as error:
        return str(error)
    return ""
