"""`rf.sql`: metrics as the text of one SELECT, for the warehouse that holds the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from .._catalog.flat_names import flat_names
from .._catalog.requests import Request, calls_of
from .._lift.arrow_kernel import bound
from .._support.extras import load
from .._support.option_kinds import check
from .._table.setup import Setup
from ..errors import InvalidOption, option, shown

TEXT = "text"
"""The word that names columns by the canonical texts of metrics."""

NO_SQL: dict[str, str] = {
    "subtopic": "metrics of subtopics", "category": "categories", "group": "groups", "features": "features",
    "base": "another ranking", "interactions": "past interactions", "items": "a catalog",
    "memory_limit": "how a frame runs", "grouped": "how a frame runs",
}  # fmt: skip
"""The options of `on` that have no SQL, with what they are about."""


def sql(
    *metrics: Request,
    dialect: str,
    table: str,
    judgments: str | None = None,
    run: str | None = None,
    judged_only: Literal["keep", "drop"] = "keep",
    run_only: Literal["keep", "drop"] = "drop",
    by: str | Sequence[str] | None = None,
    rows: bool = False,
    partial: bool = False,
    checks: bool = False,
    names: str | Sequence[str] | Mapping[str, str] | None = None,
    numbers: Sequence[str] = (),
    **options: Any,
) -> str:
    """The metrics as the text of one SELECT, which a warehouse runs where the table is.

    The formulas are those of ``evaluate``, run on rows whose words are windows, so the values are the same to 1e-9. The
    text is the same from call to call, one commented step after the other, to be read, reviewed and kept.

    Parameters
    ----------
    *metrics
        Texts and functions, as for ``df.rank.evaluate``. A metric whose formula is not made of windows, such as one of
        subtopics, is refused with the reason.
    dialect
        ``"bigquery"``, ``"clickhouse"``, ``"databricks"``, ``"duckdb"``, ``"mysql"`` (MariaDB, too), ``"oracle"``,
        ``"postgres"``, ``"redshift"``, ``"snowflake"``, ``"spark"``, ``"sqlite"``, ``"trino"`` or ``"tsql"`` (SQL Server).
    table
        The table, as the statement is to name it: ``"analytics.judged"``, or ``"{{ ref('judged') }}"`` for dbt. It has a row
        for each query and document, with a score (null for a document that was not retrieved) and a label (null for a
        document that nobody judged); or, with `judgments`, the run alone.
    judgments
        The table of judgments, with the same query and document columns and the label, if it is a table of its own. Both
        are joined in full, as by ``run.rank.judge(qrels)``: judged documents that were not retrieved count as missed.
    run
        With `judgments`: the column that names the run of each row, if `table` holds several runs; the judgments hold for
        each, and the result has a row per run and query.
    judged_only, run_only
        With `judgments`: whether queries that only the judgments, or only the run, have are kept (``"keep"``) or left
        out (``"drop"``).
    by
        Columns of `table` that slice the queries: one row per slice, with the number of ``queries`` and the mean of each
        metric (its sum, or its geometric mean, for metrics that are summed up so). ``[]`` for one row of all queries. A
        query in two slices is an error.
    rows
        One row per document, with the metrics of its query.
    partial
        With `by`: for each metric the sums that can be merged, of one day with the next and of one slice with another: ``__n``
        (queries with a value), ``__mean``, ``__m2`` (the sum of squared differences from the mean), ``__min`` and ``__max``.
        :func:`rankframe.stats.from_partial_sums` merges them.
    checks
        A statement that lists what is wrong in the table instead, as ``df.rank.check()`` does: severity, problem, query,
        document and number of rows.
    names
        The names of the metrics' columns. ``None`` for names without quotes, as ``ndcg_at_10``; ``"text"`` for canonical texts
        in quotes, as ``"ndcg@10"``; a mapping of texts to names of yours, those not in it being without quotes. Presets of
        column names, as for ``df.rank.on``, are taken, too.
    numbers
        The columns of ids, of queries and documents, that hold numbers, and are compared by value. The others hold text,
        which is compared by its bytes, also in databases that would compare it without case.
    **options
        Column names and policies, as for ``df.rank.on``. Rows of a table in SQL have no order, so ``ties="order"`` is refused;
        so is ``ties="expected"``, which is no window, and ``unjudged="bounds"``.

    Returns
    -------
    The text of the statement, without a semicolon. Values are floats. What would make a value wrong (a NaN score, an infinite
    label, a document twice in a query, a label that a metric refuses) fails the statement with a sentence; in MySQL and
    SQLite, which cannot fail in a SELECT, the metrics of such a query are null.

    Raises
    ------
    UnknownMetric, InvalidOption
        If a text names no metric, an option is out of its range, or a metric or an option has no SQL.
    MissingExtra
        Without sqlglot: ``pip install 'rankframe[sql]'``.

    Examples
    --------
    >>> import rankframe as rf
    >>> text = rf.sql("ndcg@10", dialect="duckdb", table="judged", query="session_id", label="grade")
    >>> print(text[-59:])                                               # doctest: +SKIP
    """
    load("sqlglot", "sql")
    from .select import Wanted, statement  # imported late: it needs sqlglot
    from .warehouses import WAREHOUSES

    known = ", ".join(map(repr, WAREHOUSES))
    if dialect not in WAREHOUSES:
        raise InvalidOption(option(dialect=dialect), f": write one of {known}")
    own = names if isinstance(names, Mapping) else {}
    presets = [] if own or names is None else [names] if isinstance(names, str) else [*names]
    quoted = TEXT in presets
    if others := [name for name in presets if name != TEXT]:
        options["names"] = others
    setup = _read(bound(options, sql), options, run)
    calls = (
        calls_of(*metrics, example=f"rf.sql('ndcg@10', dialect={dialect!r}, table={table!r})")
        if metrics or not checks
        else []
    )
    resolved = [setup.resolve(call) for call in calls] or [(setup, None)]
    if any(other != resolved[0][0] for other, _ in resolved):
        raise InvalidOption(
            option(convention=setup.convention),
            " counts by other policies for some of these metrics; write a statement for each",
        )
    for name, given in (("run", run), ("judged_only", judged_only != "keep"), ("run_only", run_only != "drop")):
        if given and judgments is None:
            raise InvalidOption(f"{name} is about judgments in a table of their own; name it, as judgments='qrels'")
    if sum([rows, partial, checks]) > 1 or (rows and by is not None):
        raise InvalidOption(
            "rows, partial, by and checks are different statements; ask for one of them (partial goes with by)"
        )
    slices = None if by is None else (by,) if isinstance(by, str) else tuple(by)
    wanted = Wanted(
        dialect=check("dialect", dialect, str),  # type: ignore[arg-type] # is in the table
        table=table,
        judgments=judgments,
        run=run,
        keeps_judged=check("judged_only", judged_only, Literal["keep", "drop"]) == "keep",
        keeps_run=check("run_only", run_only, Literal["keep", "drop"]) == "keep",
        by=() if partial and slices is None else slices,
        rows=check("rows", rows, bool),
        partial=check("partial", partial, bool),
        checks=check("checks", checks, bool),
        numbers=tuple(numbers),
    )
    texts = [call.text for call in calls]
    named = {text: text for text in texts} if quoted else _named(texts, own)
    longest = WAREHOUSES[wanted.dialect].longest - len("__mean")
    if long := [name for name in named.values() if len(name) > longest]:
        says = (
            f"{dialect} cuts names of columns, and {long[0]!r} is longer than {longest} letters; name it yourself, as "
        )
        raise InvalidOption(says, option(names={text: "..." for text, name in named.items() if name == long[0]}))
    meant = [call for _, call in resolved if call is not None]
    found = {call.text: named[text] for text, call in zip(texts, meant, strict=True)}
    return statement(resolved[0][0], meant, found, wanted, quoted=quoted)


def _named(texts: Sequence[str], own: Mapping[str, str]) -> dict[str, str]:
    """The column of each metric; `own` are names that the caller gives."""
    given = {calls_of(text)[0].text: name for text, name in own.items()}
    flat = flat_names(text for text in texts if text not in given)
    return {text: given.get(text) or flat[text] for text in texts}


def _read(setup: Setup, options: dict[str, Any], run: str | None) -> Setup:
    """The setup; refuses options that have no SQL."""
    for name in options:
        if name in NO_SQL:
            raise InvalidOption(f"{name} has no SQL: it is about {NO_SQL[name]}; evaluate a frame")
    policies, rule = setup.policies, setup.policies.tie_rule
    if rule.averages or policies.unjudged == "bounds":
        given = option(ties=policies.ties) if rule.averages else option(unjudged="bounds")
        raise InvalidOption(given, " is computed from all orders or labels, which are no windows; evaluate a frame")
    if rule.by_row(documents=setup.roles.doc_name is not None):
        raise InvalidOption(
            f"rows of a table in SQL have no order, by which ties would stand (doc={shown(setup.roles.doc_name)}, ",
            option(ties=policies.ties), "); name the column of documents, or another rule",
        )  # fmt: skip
    if run is not None and run not in setup.roles.query:
        setup = setup.changed(query=(run, *setup.roles.query))
    return setup
