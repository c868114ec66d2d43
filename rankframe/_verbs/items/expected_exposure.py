"""The attention that documents get from several rankings, and the share that labels call for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import polars as pl
from polars import selectors as cs

from ..._plan.parts import in_parts
from ..._plan.per_query import refuse_faults
from ..._results.columns import schema
from ..._table.columns import Columns
from ..._table.policies import Cutoff
from ..._table.roles import ROW
from ..._table.runs import Runs
from ..._table.setup import Setup, refuse_bounds
from ..._table.shared_options import OfRuns, runs_of
from ..._table.table import Table, refuse_names
from ..._words.ranking import Persistence
from ..call.declaration import verb
from ..fuse.fuse import LISTED, Names, per_document
from ..sample.entries import Entries, entries_of
from ..sample.slices import typed

if TYPE_CHECKING:
    from typing import Unpack

Judgments: TypeAlias = Literal["complete", "incomplete"]

FIGURES = schema("ee_d ee_r ee_l n_rankings")
"""The columns of the result after the query columns."""

QUERY, LEVEL, N = "#query", "#level", "#n"
"""The number of the query, the label that counts (null for a document that does not), and the
number of rankings."""


@verb(gives="query")
def expected_exposure(
    table: Table[Any],
    *,
    k: Cutoff | None = None,
    persistence: Persistence = 0.5,
    judgments: Judgments = "complete",
    **options: Unpack[OfRuns],
) -> pl.DataFrame:
    r"""The attention that each query's documents get from several rankings, compared with equal
    attention for equal labels.

    Randomly drawn rankings, or several runs, can give documents with the same label the same
    attention; a single ranking cannot. The exposure of a document, :math:`e_d`, is the mean over
    the query's rankings of :math:`\gamma^{r - 1}` for the document's rank r, 0 where a ranking
    lacks it. Its target, :math:`t_d`, is the mean of this attention over the ranks that documents
    with its label have if all documents stand by falling label.

    Parameters
    ----------
    runs, run
        The rankings, as for :meth:`fuse`: score columns, a table for each, or the column that names
        the run or sample of each row. Without either, the ranker's own score. To keep several
        systems apart, make the system part of the query: ``on(query=["system", "query_id"])``.
    k
        Ranks that get attention; ``None`` for all.
    persistence
        The probability :math:`\gamma`, above 0 and below 1, that a reader goes on from a rank to
        the next one.
    judgments
        ``"complete"`` if the table holds all documents of the collection: documents with label 0,
        and unjudged ones, share the ranks below the others. ``"incomplete"`` if it holds a few of
        many: the target of such documents is 0.

    Returns
    -------
    A frame of the caller's kind with a row per query: the query columns (in pandas, the index),
    then

    - ``ee_d`` (Float64), the disparity :math:`\sum_d e_d^2`, lower for attention that is spread
      more evenly;
    - ``ee_r`` (Float64), the relevance :math:`\sum_d e_d t_d`, higher for attention to documents
      with high labels;
    - ``ee_l`` (Float64), the loss :math:`\sum_d (e_d - t_d)^2`, 0 at best: the disparity, less
      twice the relevance, and the target's own disparity;
    - ``n_rankings`` (UInt32), the number of the query's rankings; one without a document does not
      count.

    The three are from 0 on, and null for a query without rankings. Eager frames have the queries in
    the order of appearance; lazy frames have no defined order. The sums are over all documents of
    the query, in a ranking or not. The policies apply: ``ties="expected"`` gives tied documents the
    mean attention of their ranks, ``unjudged="drop"`` and ``unretrieved="drop"`` leave documents
    out of rankings and target, ``no_relevant="null"`` gives null to a query without relevant
    documents.

    Raises
    ------
    InvalidOption
        If `persistence`, `k` or `judgments` has another value, or under ``unjudged="bounds"``.
    MissingColumn, InvalidData
        As for :meth:`fuse`; also if there is no label.

    References
    ----------
    Diaz, Mitra, Ekstrand, Biega and Carterette, Evaluating stochastic rankings with expected
    exposure, CIKM 2020, for the user model of rank-biased precision.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> rows = {"query_id": [1, 1], "doc_id": ["a", "b"], "label": [1, 1]}
    >>> df = pl.DataFrame({**rows, "monday": [2, 1], "tuesday": [1, 2]})
    >>> found = df.rank.items.expected_exposure(runs=["monday"])  # 1 and 0.5; 0.75 each is fair
    >>> found["ee_d"].to_list(), found["ee_r"].to_list(), found["ee_l"].to_list()
    ([1.25], [1.125], [0.125])
    >>> found = df.rank.items.expected_exposure(runs=["monday", "tuesday"])  # each is first once
    >>> found["ee_l"].to_list()
    [0.0]
    """
    setup = table.setup
    refuse_bounds(setup)
    named = runs_of(options)
    chosen = named if named.columns else Runs((setup.roles.score,))
    of_query = chosen.queries(setup)
    names = None if table.whole is None else table.whole.runs
    refuse_names([*FIGURES], of_query.roles.query, "the query")

    def of_part(part: pl.DataFrame) -> pl.DataFrame:
        entries = _entries(part, setup, chosen, names)
        return _figures(entries, of_query, k, persistence, judgments)

    return in_parts(table.rows, of_query, [*chosen.columns, setup.roles.label], of_part)


def _entries(frame: pl.DataFrame, setup: Setup, runs: Runs, names: Names | None) -> Entries:
    """The entries of all rankings, without unjudged documents if the policy drops them."""
    runs.require(frame, setup)
    query = runs.queries(setup).roles.query
    of_run = setup.changed(query=(*runs.key, *query))
    if runs.scores:
        of_run = of_run.changed(score=runs.scores[0])
    table = Columns.of(of_run, frame.schema)
    refuse_faults(frame, of_run, table, documents=False)
    known = runs.names(frame) if names is None else sorted(names)
    policies = setup.policies
    entries = entries_of(frame, setup, runs, known, depth=policies.depth, absent=False)
    if policies.unjudged != "drop":
        return entries
    documents = entries.documents
    judged = documents.select(_judged(setup)).to_series()
    is_judged = pl.lit(judged).gather("#document")
    rows = entries.rows.filter(is_judged)
    place = pl.col("#rank").rank("ordinal").over("#list")
    rank = place.cast(pl.Float64).alias("#rank")
    return replace(entries, rows=rows.with_columns(rank))


def _judged(setup: Setup) -> pl.Expr:
    """Whether a document has a label; a negative one is none."""
    return (pl.col(setup.roles.label) >= 0).fill_null(False)


def _figures(
    entries: Entries, setup: Setup, k: int | None, persistence: float, judgments: Judgments
) -> pl.DataFrame:
    """A row per query, in the order of the documents."""
    label = pl.col(setup.roles.label).cast(pl.Float64)
    judged = _judged(setup)
    counts = pl.lit(True)
    if setup.policies.unjudged == "drop":
        counts &= judged
    if setup.policies.unretrieved == "drop":
        counts &= pl.col(LISTED)
    gain = pl.when(judged).then(label).otherwise(0.0)
    documents = _with_exposure(entries, setup, k, persistence)
    level = pl.when(counts).then(gain)
    target = _target(k, persistence, judgments)
    documents = documents.with_columns(level.alias(LEVEL))
    documents = documents.with_columns(target.alias("#t"))
    has_level = pl.col(LEVEL).is_not_null()
    n = pl.col(N).first().fill_null(0)
    defined = n > 0
    if setup.policies.no_relevant == "null":
        is_relevant = judged & has_level & (label >= setup.policies.relevant)
        defined &= is_relevant.any()
    e = pl.when(has_level).then("#e")
    t = pl.col("#t")
    sums = {"ee_d": e**2, "ee_r": e * t, "ee_l": (e - t) ** 2}
    figures = {name: pl.when(defined).then(x.sum()) for name, x in sums.items()}
    ids = cs.by_name(*setup.roles.query, ROW, require_all=False)
    queries = documents.group_by(QUERY, maintain_order=True)
    rows = queries.agg(ids.first(), **figures, n_rankings=n)
    return rows.select(ids, *typed(FIGURES))


def _with_exposure(
    entries: Entries, setup: Setup, k: int | None, persistence: float
) -> pl.DataFrame:
    """The documents with their mean attention over the rankings, and the number of these."""
    rank = pl.col("#rank")
    attention = persistence ** (rank - 1)
    if k is not None:
        attention = pl.when(rank <= k).then(attention).otherwise(0.0)
    if setup.policies.tie_rule.averages:
        attention = attention.mean().over("#list", "#score")
    e = pl.col("#e")
    documents = entries.documents
    with_attention = entries.rows.with_columns(attention.alias("#e"))
    rows = with_attention.collect(engine="in-memory")
    totals = per_document(rows, {"#e": ("sum", e)}, documents.height)
    query_of_list = pl.col("#list") // max(entries.n_runs, 1)
    rankings = rows.select(query_of_list.alias(QUERY), "#list").unique()
    n = pl.len().alias(N)
    numbers = rankings.group_by(QUERY).agg(n)
    query = pl.Series(QUERY, entries.query, pl.Int64)
    documents = documents.with_columns(query, *totals)
    documents = documents.join(numbers, QUERY, "left", maintain_order="left")
    return documents.with_columns(e / pl.col(N))


def _target(k: int | None, persistence: float, judgments: Judgments) -> pl.Expr:
    """The target: documents with one label share the attention of the ranks of the label.

    These are the ranks that an ideal ranking gives to the label.
    """
    level = pl.col(LEVEL)
    rank = level.rank("min", descending=True)
    first = rank.over(QUERY) - 1.0
    n = pl.len().over(QUERY, LEVEL)
    last = first + n
    if k is not None:
        first = first.clip(upper_bound=k)
        last = last.clip(upper_bound=k)
    attention = persistence**first - persistence**last
    share = attention / ((1 - persistence) * n)
    if judgments == "complete":
        return share
    return pl.when(level > 0).then(share).otherwise(0.0)
