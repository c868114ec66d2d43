"""Everything that is wrong with a table, or worth knowing before its numbers are read, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from ..errors import InvalidOption, RankframeError
from .roles import USUAL_NAMES, carried, require
from .run_and_judgments import STRANGERS, UNMATCHED, Tables, found_in, types_differ
from .setup import Setup
from .subtopics import documents, row_faults
from .table import Table

__all__ = ["check", "describe"]

SAYS = ("severity", "problem", "rows", "tied_fraction", "advice")
"""The columns of a finding, beside those that say where it is."""


def check(frame: pl.LazyFrame, setup: Setup, qrels: pl.LazyFrame | None = None) -> pl.LazyFrame:
    """One row per thing found: severity, problem, where it is, in how many rows, and what to do."""
    found = findings(frame, setup, qrels)
    where = {name: name.removeprefix(carried("")) for name in found.collect_schema() if name not in SAYS}
    for name in where.values():
        if name in SAYS:
            raise InvalidOption(
                f"check has a column {name!r} of its own, as the table has for its ids; rename that of the table, as with "
                f"df.rename({{{name!r}: ...}})"
            )
    return found.rename(where)


def findings(frame: pl.LazyFrame, setup: Setup, qrels: pl.LazyFrame | None) -> pl.LazyFrame:
    """The table of a check, the caller's columns under names that are `carried`."""
    schema = frame.collect_schema()
    parts: list[pl.LazyFrame] = []
    given = setup
    if qrels is not None and setup.roles.subtopic not in schema:  # but in the judgments, most often
        setup = setup.changed(subtopic=None)
    has_label = setup.roles.label in schema
    try:
        table = Table.of(setup, schema, label=has_label)
    except RankframeError as error:
        there = [name for name in (*setup.roles.query, setup.roles.doc_name) if name is not None and name in schema]
        return _finding(frame, "error", "table", str(error), there, one=True)
    setup = table.setup
    query = list(setup.roles.query)
    where = query if setup.roles.doc_name is None else [*query, setup.roles.doc_name]
    if setup.roles.subtopic is not None:
        parts += [
            _finding(frame.filter(fault.rows), "error", fault.name, fault.message, where) for fault in row_faults(table)
        ]
        of_docs = setup.changed(subtopic=None)
        rest = findings(documents(frame, table, ordered=True, check=False), of_docs, qrels)
        if table.lists_subtopics:  # which say by themselves what is relevant
            rest = rest.filter(pl.col("problem") != "no labels")
        parts.append(rest)
        return pl.concat(parts, how="diagonal")
    for fault in table.faults(label=has_label):
        # Polars 2.0 streams this window as a column, not as a filter
        rows = frame.with_columns(fault.rows.over(query).alias(fault.column)).filter(fault.column)
        parts.append(_finding(rows, "error", fault.name, fault.message, where))
    if setup.roles.doc_name is None and given.roles.doc_is_default:
        parts += [
            _finding(
                frame, "note", "documents not named",
                f"column {name!r} seems to name documents; say df.rank.on(doc={name!r}), otherwise ties keep the order "
                "of the rows and repeated documents are not seen", query, one=True,
            )
            for name in [name for name in schema if name.lower() in USUAL_NAMES["doc"] and name not in query][:1]
        ]  # fmt: skip
    if qrels is not None:
        parts += _against(frame, qrels, given.changed(doc=setup.roles.doc))
    elif not has_label:
        parts.append(_finding(frame, "error", "no labels", _message(schema, setup), where, one=True))
    parts.append(
        _finding(
            frame.filter(pl.any_horizontal(pl.col(name).is_null() for name in query)),
            "note", "query without id", "rows whose query is null form a query of their own", where,
        )
    )  # fmt: skip
    if has_label:
        relevant = (table.label >= max(setup.policies.relevant, 0)).any().over(query)
        parts.append(
            _finding(
                frame.filter(~relevant.fill_null(False)), "note", "no relevant document",
                f"no label of the query reaches relevant={setup.policies.relevant}; it counts as no_relevant={setup.policies.no_relevant!r} says",
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
    parts += _of_scores(frame, table)
    if has_label:
        parts += _of_labels(frame, setup)
        parts += [] if qrels is not None else _of_both(frame, setup)
    return pl.concat(parts, how="diagonal")


def _of_scores(frame: pl.LazyFrame, table: Table) -> Iterator[pl.LazyFrame]:
    """What the scores of all queries tell: ties, and whether they are ranks."""
    setup = table.setup
    at = [carried(name) for name in setup.roles.query]
    retrieved = frame.filter(table.score.is_not_null()).select(
        *(pl.col(name).alias(key) for name, key in zip(setup.roles.query, at, strict=True)),
        (pl.len().over(*setup.roles.query, table.score) > 1).alias("#tied"),
        table.score.cast(pl.Float64).alias("#score"),
    )
    score, whole = pl.col("#score"), (pl.col("#score") == pl.col("#score").floor()).all()
    queries = retrieved.group_by(at, maintain_order=True).agg(
        pl.len().alias("#n"),
        pl.col("#tied").sum(),
        (whole & (score.min() == 1) & (score.max() == pl.len()) & ~pl.col("#tied").any()).alias("#ranks"),
    )
    n, tied = pl.col("#n"), pl.col("#tied")
    if setup.policies.ties != "error":
        figures = queries.select(
            *(pl.col(key).filter(tied > 0).first() for key in at),
            (tied > 0).sum().alias("#queries"),
            pl.len().alias("#all"),
            tied.sum().alias("rows"),
            (tied.sum() / n.sum()).alias("tied_fraction"),
        )
        says = pl.format(
            f"documents share a score in {{}} of {{}} queries, the first of which is named; they stand as ties={setup.policies.ties!r} "
            "says", "#queries", "#all",
        )  # fmt: skip
        yield _note(figures.filter(pl.col("rows") > 0), "tied scores", says, *at, "tied_fraction")
    figures = queries.select(n.sum().alias("rows"), (pl.col("#ranks").all() & (n > 1).any()).alias("#holds"))
    yield _note(
        figures.filter("#holds"), "scores like ranks",
        "the scores of each query are 1, 2 and so on, and the largest comes first; if they are ranks, turn them round: "
        f"df.with_columns(-pl.col({setup.roles.score!r}).cast(pl.Float64))",
    )  # fmt: skip


def _of_labels(frame: pl.LazyFrame, setup: Setup) -> Iterator[pl.LazyFrame]:
    """What all labels tell of the threshold of relevance."""
    label = pl.col(setup.roles.label).cast(pl.Float64)
    judged = pl.col(setup.roles.label).filter((label >= 0) & label.is_finite())
    figures = frame.select(judged.len().alias("rows"), judged.min().alias("#least"), judged.max().alias("#most"))
    if setup.policies.relevant <= 0:
        holds, says = pl.col("rows") > 0, pl.lit(
            f"relevant={setup.policies.relevant}: every judged document counts as relevant, whatever its label; say the least label "
            "that is relevant, as df.rank.on(relevant=1)"
        )  # fmt: skip
    else:
        least, most = (pl.col(name).cast(pl.Float64) for name in ("#least", "#most"))
        holds = (least >= setup.policies.relevant) & (most > least)
        says = pl.format(
            f"labels go from {{}} to {{}}, so that relevant={setup.policies.relevant} counts every judged document; say the least "
            "label that is relevant, as df.rank.on(relevant={})", "#least", "#most", "#most",
        )  # fmt: skip
    yield _note(figures.filter(holds), "every judged document relevant", says)
    if setup.policies.relevant == 1:
        figures = frame.select(((label > 0) & (label < 1)).sum().alias("rows"))
        yield _note(
            figures.filter(pl.col("rows") > 0), "labels between 0 and 1",
            f"relevant={setup.policies.relevant} leaves them out; say the least label that is relevant, as df.rank.on(relevant=0.5)",
        )  # fmt: skip


def _of_both(frame: pl.LazyFrame, setup: Setup) -> Iterator[pl.LazyFrame]:
    """What scores and labels tell of how a run and its judgments became one table."""
    retrieved, judged = pl.col(setup.roles.score).is_not_null(), pl.col(setup.roles.label).cast(pl.Float64) >= 0
    figures = frame.select(
        retrieved.sum().alias("rows"),
        judged.sum().alias("#judged"),
        (retrieved & judged).sum().alias("#both"),
        pl.len().alias("#n"),
    )
    both = pl.col("#both")
    none = (both == 0) & (pl.col("rows") > 0) & (pl.col("#judged") > 0)
    yield _note(figures.filter(none), "no retrieved document judged", UNMATCHED)
    if setup.policies.unretrieved != "drop":
        yield _note(
                figures.filter((both == pl.col("#n")) & (both > 0)), "nothing missed",
                "every row has a score and a label; if an inner join made the table, it lost the judged documents that were "
                "not retrieved, which df.rank.judge(qrels) keeps",
            )  # fmt: skip


def _against(frame: pl.LazyFrame, qrels: pl.LazyFrame, setup: Setup) -> Iterator[pl.LazyFrame]:
    """What a run's judgments in another table tell of both."""
    tables, schema, query = Tables(frame, qrels, setup), qrels.collect_schema(), list(setup.roles.query)
    if not tables.query:
        require(schema, query[-1], "query", "qrels")
    keys = [name for name in tables.keys if name in schema and name in frame.collect_schema()]
    if message := types_differ(frame.collect_schema(), schema, keys):
        yield _finding(frame, "error", "types differ", message, query, one=True)
        return
    strangers = frame.select(pl.len().alias("rows")).join(tables.strangers("drop").places, how="cross")
    yield _note(strangers, "no common query", STRANGERS, severity="error")
    unjudged = "nobody judged the query (unjudged queries of the run: {}); judge leaves it out, or keeps it with run_only='keep'"
    yield _finding(tables.run_only, "note", "run only", pl.format(unjudged, pl.len()), query)
    yield _finding(
        tables.judged_only, "note", "judged only",
        "the run has nothing for the query; judge counts it, or leaves it out with judged_only='drop'", query,
    )  # fmt: skip
    if keys != tables.query:
        message, places, _ = tables.qrels_repeat()
        *key, _ = places.collect_schema().names()
        repeated = qrels.join(places, on=key, how="semi", nulls_equal=True, maintain_order="left")
        yield _finding(repeated, "error", "repeated judgment", message, tables.keys)
        common = frame.join(qrels, on=tables.query, how="semi", nulls_equal=True).select(pl.len().alias("rows"))
        figures = common.join(tables.matched.select(pl.len().alias("#matched")), how="cross")
        none = (pl.col("rows") > 0) & (pl.col("#matched") == 0)
        yield _note(figures.filter(none), "no retrieved document judged", UNMATCHED)
    if setup.roles.label in schema and setup.roles.label not in frame.collect_schema():
        yield from _of_labels(qrels, setup)


def describe(frame: pl.DataFrame, setup: Setup, message: str) -> str:
    """A fault's message with the number of its rows and the first few of them."""
    found = findings(frame.lazy(), setup, None).filter(pl.col("advice") == message).collect(engine="in-memory")
    if found.is_empty():
        return message
    where = [name for name in found.columns if name not in SAYS]
    places = found.select(pl.col(name).alias(name.removeprefix(carried(""))) for name in where)
    return message + found_in(places, int(found["rows"].sum()), "df.rank.check()")


def _note(
    figures: pl.LazyFrame, problem: str, advice: str | pl.Expr, *others: str, severity: str = "note"
) -> pl.LazyFrame:
    """One finding in the whole table, where `figures` has a row: its column `rows`, and others."""
    named = [pl.lit(severity).alias("severity"), pl.lit(problem).alias("problem")]
    says = pl.lit(advice) if isinstance(advice, str) else advice
    return figures.select(*named, *others, pl.col("rows").cast(pl.UInt32), says.alias("advice"))


def _finding(
    rows: pl.LazyFrame,
    severity: str,
    problem: str,
    advice: str | pl.Expr,
    where: Sequence[str],
    *,
    one: bool = False,
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
    says = pl.lit(advice) if isinstance(advice, str) else advice
    return counted.select(*named, *at, "rows", share, says.alias("advice"))


def _message(schema: pl.Schema, setup: Setup) -> str:
    try:
        require(schema, setup.roles.label, "label")
    except RankframeError as error:
        return str(error)
    return ""
