"""`rf.sql`: metrics as the text of one SELECT, for the warehouse that holds the table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .._catalog.call import Call
from .._catalog.flat_names import flat_name, flat_names
from .._catalog.requests import Request, calls_of, only_of_rankings
from .._lift.arrow_kernel import bound
from .._support.extras import load
from .._support.methods import called_by_users
from .._support.option_kinds import check
from .._table.roles import ROLES
from .._table.runs import RUN_OF_TABLE, Runs
from .._table.setup import Setup
from ..errors import InvalidOption, option
from .words import NO_SQL, Dialect

if TYPE_CHECKING:
    from .ranked import Ranks
    from .select import Kind

Kept: TypeAlias = Literal["keep", "drop"]
EXAMPLE = "rf.sql('ndcg@10', dialect='duckdb', table='judged')"

TEXT = "text"
"""The word that names columns by the canonical texts of metrics."""


@called_by_users
def sql(
    *metrics: Request,
    dialect: Dialect,
    table: str,
    judgments: str | None = None,
    runs: Sequence[str] | None = None,
    run: str | None = None,
    baseline: float | str | None = None,
    judged_only: Kept = "keep",
    run_only: Kept = "drop",
    by: str | Sequence[str] | None = None,
    rows: bool = False,
    partial: bool = False,
    checks: bool = False,
    names: str | Sequence[str] | Mapping[str, str] | None = None,
    numbers: str | Sequence[str] = (),
    **options: Any,
) -> str:
    """The metrics as the text of one SELECT, which a warehouse runs where the table is.

    The formulas are those of ``evaluate``, run on rows whose words are windows, so the values are
    the same to 1e-9. The text is the same from call to call, one commented step after the other, to
    be read, reviewed and kept.

    Parameters
    ----------
    *metrics
        Texts and functions, as for ``df.rank.evaluate``. A metric whose formula is not made of
        windows, such as one of subtopics, is refused with the reason.
    dialect
        ``"bigquery"``, ``"clickhouse"``, ``"databricks"``, ``"duckdb"``, ``"mysql"`` (MariaDB,
        too), ``"oracle"``, ``"postgres"``, ``"redshift"``, ``"snowflake"``, ``"spark"``,
        ``"sqlite"``, ``"trino"`` or ``"tsql"`` (SQL Server).
    table
        The table, as the statement is to name it: ``"analytics.judged"``, or ``"{{ ref('judged')
        }}"`` for dbt. It has a row for each query and document, with a score (null for a document
        that was not retrieved) and a label (null for a document that nobody judged); or, with
        `judgments`, the run alone.
    judgments
        The table of judgments, with the same query and document columns and the label, if it is a
        table of its own. Both are joined in full, as by ``run.rank.judge(qrels)``: judged documents
        that were not retrieved count as missed.
    runs
        The columns of the runs' scores, if `table` holds several side by side: the result has a row
        per run and query, with the column ``run``.
    run
        The column that names the run of each row, if `table` holds several one under the other: the
        result has a row per run and query. `judgments` without that column hold for each run.
    baseline
        With `partial`: the run that the others are compared with, query by query: the sums of the
        differences (``__diff_n``, ``__diff_mean``, ``__diff_m2``) and on how many queries the run
        is above (``__wins``) or below.
    judged_only, run_only
        With `judgments`: whether queries that only the judgments, or only the run, have are kept
        (``"keep"``) or left out (``"drop"``).
    by
        Columns of `table` that slice the queries: one row per slice (and run), with the number of
        ``queries`` and the mean of each metric (its sum, or its geometric mean, for metrics that
        are summed up so). ``[]`` for one row of all queries. A query in two slices is an error.
    rows
        One row per document, with the metrics of its query.
    partial
        With `by`: for each metric the sums that can be merged, of one day with the next and of one
        slice with another: ``__n`` (queries with a value), ``__mean``, ``__m2`` (the sum of squared
        differences from the mean), ``__min`` and ``__max``. :func:`rankframe.partial_sums` merges
        them, and tests by them.
    checks
        A statement that lists what is wrong in the table instead, as ``df.rank.check()`` does:
        severity, problem, query, document and number of rows.
    names
        The names of the metrics' columns. ``None`` for names without quotes, as ``ndcg_at_10``;
        ``"text"`` for canonical texts in quotes, as ``"ndcg@10"``; a mapping of texts to names of
        yours, which are in quotes if they need them. Presets of column names, as for
        ``df.rank.on``, are taken, too.
    numbers
        The columns of ids, of queries and documents, that hold numbers, and are compared by value.
        The others hold text, which is compared by its bytes, also in databases that would compare
        it without case.
    **options
        Column names and policies, as for ``df.rank.on``. Rows of a table in SQL have no order, so
        ``ties="order"`` is refused, also as that of a `convention`; with ``rank=`` it is taken,
        since ranks have no ties, and equal ranks are a fault. ``ties="expected"``, which is no
        window, and ``unjudged="bounds"`` are refused.

    Returns
    -------
    The text of the statement, without a semicolon. Values are floats. What would make a value wrong
    (a NaN score, an infinite label, a document twice in a query, a label that a metric refuses)
    fails the statement with a sentence; in MySQL and SQLite, which cannot fail in a SELECT, the
    metrics of such a query are null.

    Raises
    ------
    UnknownMetric, InvalidOption
        If a text names no metric, an option is out of its range, or a metric or an option has no
        SQL.
    MissingExtra
        Without sqlglot: ``pip install 'rankframe[sql]'``.

    Examples
    --------
    >>> import rankframe as rf
    >>> columns = {"query": "session_id", "label": "grade"}
    >>> text = rf.sql("ndcg@10", dialect="duckdb", table="judged", **columns)
    >>> print(text[-59:])                                               # doctest: +SKIP
    """
    load("sqlglot", "sql")
    # These modules need sqlglot, so they are imported late.
    from .ranked import Ranks
    from .select import statement

    refuse_file("table", table, dialect)
    refuse_file("judgments", judgments, dialect)
    if judgments is None and (judged_only, run_only) != ("keep", "drop"):
        raise InvalidOption(
            "judged_only and run_only are about judgments in a table of their own; name it "
            "as judgments"
        )
    own_names = names if isinstance(names, Mapping) else {}
    presets = [] if isinstance(names, Mapping) else _listed(names)
    other_presets = [name for name in presets if name != TEXT]
    if other_presets:
        options["names"] = other_presets
    several = Runs.of(runs, run)
    kind = _kind(by=by is not None, rows=rows, partial=partial, checks=checks)
    refuse_baseline(baseline, several, kind)
    setup = _read(bound(options, sql), options, several)
    calls: Sequence[Call] = []
    if metrics or kind != "findings":
        calls = only_of_rankings(calls_of(*metrics, example=EXAMPLE), EXAMPLE)
    setup, meant = _resolved(setup, calls)
    texts = [call.text for call in calls]
    are_texts = TEXT in presets
    columns = {text: text for text in texts} if are_texts else _named(texts, own_names)
    refuse_long_names(columns, dialect, kind)
    run_column = RUN_OF_TABLE if several.scores else run
    of_runs = _listed(run_column)
    slices = [*of_runs, *_listed(by)] if partial or by is not None else []
    ranks = Ranks(
        _with_windows(setup),
        dialect,
        two=judgments is not None,
        runs=tuple(of_runs),
        scores=several.scores,
        by=tuple(dict.fromkeys(slices)),
        numbers=tuple(_listed(numbers)),
        keeps_judged=checks or judged_only == "keep",
        keeps_run=checks or run_only == "keep",
    )
    refuse_other_numbers(ranks)
    pairs = zip(texts, meant, strict=True)
    shown = {call.text: columns[text] for text, call in pairs}
    compared = None if baseline is None else (str(run_column), baseline)
    tables = (table, judgments)
    return statement(ranks, meant, shown, tables, kind, quoted=are_texts, compared=compared)


def _listed(names: str | Sequence[str] | None) -> list[str]:
    """Names of columns, of which a single one may stand by itself."""
    if names is None:
        return []
    return [names] if isinstance(names, str) else [*names]


FILE = re.compile(r"""[^'"`()\[\]{}\s]*([/\\*?][^'"`()\[\]{}]*|\.(parquet|csv))""")
"""A path or a pattern of files, where a statement names a table."""

READERS = {
    "duckdb": "read_parquet('{}')",
    "spark": "parquet.`{}`",
    "databricks": "parquet.`{}`",
    "clickhouse": "file('{}')",
}
"""How a statement names a file, in the dialects that read one."""


def refuse_file(name: str, table: str | None, dialect: Dialect) -> None:
    """Refuse a file in place of a table, and a table without a name."""
    if table is None:
        return
    if not table.strip():
        raise InvalidOption(
            option(**{name: table}),
            " names no table; write its name, as ",
            option(**{name: "judged"}),
        )
    if FILE.fullmatch(table.strip()) is None:
        return
    path = table.strip()
    if dialect not in READERS:
        raise InvalidOption(
            option(**{name: table}),
            f" is a file, which {dialect} does not read; load it into a table",
        )
    reader = READERS[dialect].format(path)
    if path.endswith(".csv"):
        reader = reader.replace("parquet", "csv")
    raise InvalidOption(
        option(**{name: table}), " is a file, and no table; write ", option(**{name: reader})
    )


def refuse_baseline(baseline: float | str | None, runs: Runs, kind: str) -> None:
    """Refuse a baseline where no runs are compared, and one that is no run."""
    if baseline is None:
        return
    if not runs.columns or kind != "sums":
        raise InvalidOption(
            "a baseline is compared in the partial sums of several runs; ask for these, and "
            "name run, their column, or runs"
        )
    if runs.scores and baseline not in runs.scores:
        names = ", ".join(map(repr, runs.scores))
        raise InvalidOption(option(baseline=baseline), f" is none of the runs, which are {names}")


def refuse_long_names(columns: Mapping[str, str], dialect: Dialect, kind: Kind) -> None:
    """Refuse a name that the database would cut."""
    from .warehouses import WAREHOUSES

    longest = WAREHOUSES[dialect].longest
    if kind == "sums":
        longest -= len("__diff_mean")
    for text, name in columns.items():
        if len(name) > longest:
            says = (
                f"{dialect} cuts names of columns, and {name!r} is longer than {longest} letters; "
                "name it yourself, as "
            )
            raise InvalidOption(says, option(names={text: "..."}))


def refuse_other_numbers(ranks: Ranks) -> None:
    """Refuse numbers that are no ids of the table."""
    roles = ranks.setup.roles
    ids = [name for name in (*roles.query, roles.doc_name, *ranks.by) if name]
    if ranks.scores:
        ids = [name for name in ids if name != RUN_OF_TABLE]
    others = [name for name in ranks.numbers if name not in ids]
    if others:
        columns = ", ".join(map(repr, ids))
        raise InvalidOption(option(numbers=others), f": the columns of ids are {columns}")


def _kind(*, by: bool, rows: bool, partial: bool, checks: bool) -> Kind:
    """What the rows of the statement stand for."""
    asked: dict[Kind, bool] = {"findings": checks, "rows": rows, "sums": partial}
    asked["slices"] = by and not partial
    wanted: list[Kind] = [kind for kind, is_asked in asked.items() if is_asked]
    if len(wanted) > 1:
        raise InvalidOption(
            "rows, by (also with partial) and checks are statements of their own; ask for "
            "one of them"
        )
    if wanted:
        return wanted[0]
    return "queries"


def _named(texts: Sequence[str], own_names: Mapping[str, str]) -> dict[str, str]:
    """The column of each metric: the caller's own name, or one derived from its text."""
    given = {}
    for text, name in own_names.items():
        metric = text if text in texts else calls_of(text)[0].text
        wrong = option(names={text: name})
        if metric not in texts:
            raise InvalidOption(wrong, f": {text!r} is none of the metrics of the statement")
        if not name.strip():
            right = option(names={text: flat_name(metric)})
            raise InvalidOption(wrong, " is no name of a column; write one, as ", right)
        given[metric] = name
    others = [text for text in texts if text not in given]
    return flat_names(others) | given


def _read(setup: Setup, options: dict[str, Any], runs: Runs) -> Setup:
    """The setup, with the column of runs."""
    refuse_options_without_sql(options)
    refuse_roles_that_are_no_names(setup)
    query = setup.roles.query
    if runs.scores and RUN_OF_TABLE in query:
        says = " is the column that names the runs in the result; rename yours"
        raise InvalidOption(option(query=RUN_OF_TABLE), says)
    column = RUN_OF_TABLE if runs.scores else runs.column
    if column is None or column in query:
        return setup
    return setup.changed(query=(column, *query))


def refuse_options_without_sql(options: Mapping[str, Any]) -> None:
    """Refuse options that have no SQL."""
    for name in options:
        if name in NO_SQL:
            raise InvalidOption(f"{name} has no SQL: it is about {NO_SQL[name]}; evaluate a frame")


def refuse_roles_that_are_no_names(setup: Setup) -> None:
    """Refuse roles that no text can hold, as expressions."""
    for role, row in ROLES.items():
        given = setup.roles.doc_name if role == "doc" else getattr(setup.roles, role)
        names = (given or ()) if row.several else (given,)
        for name in names:
            check(role, name, str | None)


def _resolved(setup: Setup, calls: Sequence[Call]) -> tuple[Setup, list[Call]]:
    """The setup and the metrics with the choices of the convention, the same for all metrics."""
    resolved = [setup.resolve(call) for call in calls]
    setups = {of_call for of_call, _ in resolved}
    if len(setups) > 1:
        says = " counts by other policies for some of these metrics; write a statement for each"
        raise InvalidOption(option(convention=setup.convention), says)
    meant = [call for _, call in resolved]
    return (setups.pop() if setups else setup), meant


def _with_windows(setup: Setup) -> Setup:
    """The setup for rows that have no order; refuses what windows do not give."""
    policies = setup.policies
    rule = policies.tie_rule
    if rule.averages or policies.unjudged == "bounds":
        given = option(ties=policies.ties) if rule.averages else option(unjudged="bounds")
        says = " is computed from all orders or labels, which are no windows; evaluate a frame"
        raise InvalidOption(given, says)
    has_ranks = "rank" in setup.given
    if has_ranks:
        # Single precision holds ranks, too.
        setup = setup.changed(scores="as_given")
    if not rule.by_row(documents=setup.roles.doc_name is not None):
        return setup
    if has_ranks:
        return setup.changed(ties="error")
    no_order = "rows of a table in SQL have no order, by which ties would stand ("
    if setup.roles.doc_name is None:
        wrong = option(doc=None, ties=policies.ties)
        right = option(doc="doc_id")
        raise InvalidOption(no_order, wrong, "); name the column of documents: ", right)
    wrong = option(ties=policies.ties)
    right = option(ties="doc_desc")
    raise InvalidOption(
        no_order, wrong, "); say ", right, " or, if the table has ranks, ", option(rank="rank")
    )
