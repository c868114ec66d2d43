"""Test collections: which documents to judge, and whether new runs are treated fairly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from ..._catalog.call import Call
from ..._catalog.means import Mean
from ..._catalog.registry import METRICS
from ..._catalog.requests import Request, averaged
from ..._plan.per_query import largest_in, measure
from ..._results.columns import schema
from ..._support.polars_versions import exploded
from ..._table.policies import Cutoff
from ..._table.roles import require
from ..._table.runs import RUN, Runs
from ..._table.setup import Setup, refuse_bounds
from ..._table.shared_options import OfRuns, runs_of
from ..._table.table import Table, refuse_names
from ..._words.context import Persistence
from ...errors import InvalidOption, on, option
from ..call.declaration import verb
from ..decide.slice_of_pairs import in_order_of
from ..measure.evaluate import ranks_of
from ..sample.slices import in_slices

if TYPE_CHECKING:
    from typing import Unpack

TABLE = schema(
    "metric run mean mean_without difference rank rank_without n_unique n_unique_relevant"
)


Means: TypeAlias = Mapping[Any, Mapping[str, float | None]]
"""The mean of each metric, by run."""


def _ranked(rows: pl.DataFrame, setup: Setup, runs: Runs) -> tuple[pl.DataFrame, list[str]]:
    """A row per run and retrieved document, with ``#rank`` and ``#label``; and a document's key.

    The label is null where there is no judgment.
    """
    doc = setup.of_table(rows.columns).roles.doc_name
    if doc is None:
        says = "documents of several runs are the same if they have the same id; say "
        raise InvalidOption(says, on(doc=...))
    key = [*runs.queries(setup).roles.query, doc]
    label = setup.roles.label
    grade = pl.lit(None, pl.Float64)
    if label in rows.columns:
        grade = pl.col(label).cast(pl.Float64)
    judged = pl.when(grade >= 0).then(grade).alias("#label")

    def of_run(run: Setup) -> pl.DataFrame:
        ids = dict.fromkeys([*run.roles.query, *key])
        # Documents without a judgment have a rank, whatever the policy.
        of_all = run.changed(unjudged="nonrelevant")
        ranks = ranks_of(rows, of_all, "#rank")
        return rows.select(*ids, judged).hstack(ranks).drop_nulls("#rank")

    return runs.each(rows, setup, of_run), key


@verb(gives="list")
def pool(
    table: Table[Any],
    *,
    depth: Cutoff | None = None,
    rbp: Persistence | None = None,
    size: Cutoff | None = None,
    **options: Unpack[OfRuns],
) -> pl.DataFrame:
    """The documents of several runs to judge, the most useful first: a pool for a test collection.

    Parameters
    ----------
    runs, run
        The runs, as for :meth:`compare`; by default the ranker's own scores.
    depth
        The documents that any run has at this rank or above are in the pool.
    rbp
        The persistence of readers, as 0.8, between 0 and 1: documents come by the attention that
        all runs together give them, so that each judgment settles as much of rank-biased precision
        as it can. Without it, they come by their best rank, and of equal ones first those that more
        runs have.
    size
        The largest number of documents per query; ``None`` for all.

    Returns
    -------
    A frame with a row per query and document that nobody has judged (the label is null or negative,
    or there is none): the query columns, the document, ``rank`` (UInt32, the best in any run),
    ``n_runs`` (UInt32, the runs that have it in the pool) and, with `rbp`, ``attention`` (Float64,
    the sum over runs of (1 - p) p^(rank - 1)). Query by query, in the order in which they should be
    judged; documents that are equal are in ascending order of their ids.

    Raises
    ------
    InvalidOption
        If neither a depth nor a persistence is given, or the table has no column of documents.

    References
    ----------
    Spärck Jones and van Rijsbergen, Report on the need for and provision of an ideal test
    collection, 1975. Moffat, Webber and Zobel, Strategic system comparisons via targeted relevance
    judgments, SIGIR 2007.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1] * 4, "doc_id": list("abcd"),
    ...     "bm25": [4, 3, 2, 1], "dense": [3, 1, 4, None]})
    >>> # a and c are first of a run, a of two
    >>> df.rank.collection.pool(depth=2, runs=["bm25", "dense"])["doc_id"].to_list()
    ['a', 'c', 'b']
    >>> # a 1/2 + 1/4, c 1/8 + 1/2
    >>> df.rank.collection.pool(rbp=0.5, size=2, runs=["bm25", "dense"])["attention"].to_list()
    [0.75, 0.625]
    """
    if depth is None and rbp is None:
        says = "a pool takes a depth, "
        more = ", or the persistence of readers, "
        raise InvalidOption(says, option(depth=10), more, option(rbp=0.8))
    runs = runs_of(options)
    ranked, key = _ranked(table.rows, table.setup, runs)
    *query, doc = key
    rank = pl.col("#rank")
    n_runs = pl.col(RUN).n_unique()
    columns = {"rank": rank.min().cast(pl.UInt32), "n_runs": n_runs.cast(pl.UInt32)}
    more_first: list[pl.Expr] = []
    if rbp is not None:
        steps = rank.cast(pl.Float64) - 1
        attention = (1 - rbp) * rbp**steps
        columns["attention"] = attention.sum()
        more_first = [-pl.col("attention")]
    refuse_names([*columns], key, "the table")
    queries = table.rows.select(query).unique(maintain_order=True)
    queries = queries.with_row_index("#query")
    ranked = ranked.join(queries, on=query, how="left", nulls_equal=True, maintain_order="left")
    judged = ranked.drop_nulls("#label").select(key)
    unjudged = ranked.join(judged, on=key, how="anti", nulls_equal=True)
    if depth is not None:
        unjudged = unjudged.filter(rank <= depth)
    pooled = unjudged.group_by("#query", *key).agg(**columns)
    in_more_runs = -pl.col("n_runs").cast(pl.Int64)
    pooled = pooled.sort("#query", *more_first, "rank", in_more_runs, doc)
    if size is not None:
        of_query = pooled.group_by("#query", maintain_order=True)
        most = min(size, len(pooled))
        pooled = of_query.head(most)
    return pooled.select(*key, *columns)


@verb(gives="table", among=METRICS)
def leave_one_run_out(
    table: Table[Any],
    *metrics: Request,
    depth: Cutoff = 100,
    teams: Mapping[str, str] | None = None,
    **options: Unpack[OfRuns],
) -> pl.DataFrame:
    """The metrics of each run without the judgments that it alone brought to the pool: whether
    these serve new runs, too.

    Without its own judgments, a run is like one that comes after the pool was judged. If runs keep
    their values and ranks, the collection is reusable.

    Parameters
    ----------
    *metrics
        Texts and functions, as for :meth:`evaluate`.
    depth
        The depth of the pool: a judgment is a run's own if no other run has the document at this
        rank or above.
    teams
        The team of each run, as ``{"bm25": "a", "bm25_prf": "a"}``; the judgments of all runs of
        its team are removed, since these are alike. ``None``: each run is a team.

    Returns
    -------
    A frame with a row per metric and run: ``metric``, ``run`` (String), ``mean``, ``mean_without``
    (the mean without the judgments of its own), ``difference`` (the second less the first; all
    Float64), ``rank``, ``rank_without`` (UInt32, among the means of all runs, 1 being the best),
    ``n_unique`` and ``n_unique_relevant`` (UInt32, the judgments that were removed).

    References
    ----------
    Zobel, How reliable are the results of large-scale information retrieval experiments?, SIGIR
    1998. Buckley, Dimmick, Soboroff and Voorhees, Bias and the limits of pooling, SIGIR 2006, for
    teams.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1] * 3, "doc_id": list("abc"), "label": [1, 1, 1],
    ...     "x": [3, 2, None], "y": [3, None, 2]})
    >>> # without b, x has one relevant document of two
    >>> found = df.rank.collection.leave_one_run_out("precision@2", runs=["x", "y"])
    >>> found["mean"].to_list(), found["mean_without"].to_list()
    ([1.0, 1.0], [0.5, 0.5])
    >>> found["rank_without"].to_list(), found["n_unique"].to_list()
    ([2, 2], [1, 1])
    """
    rows = table.rows
    setup = table.setup
    runs = runs_of(options).required()
    calls = averaged(metrics, "leave_one_run_out('map', runs=['bm25', 'ltr'])", setup)
    label = setup.roles.label
    refuse_bounds(setup)
    require(rows.schema, label, "label")
    ranked, key = _ranked(rows, setup, runs)
    names = runs.names(rows)
    team_of = {name: name for name in names} | dict(teams or {})
    _refuse_unknown(team_of, names)
    is_pooled = pl.col("#rank") <= depth
    judged = ranked.filter(is_pooled).drop_nulls("#label")
    by_team = _of_one_team(judged, key, team_of)
    # The largest label counts also where it is removed.
    labels = rows.lazy().select(label)
    largest = largest_in(labels, "in-memory")
    means = partial(_means, runs=runs, setup=setup, calls=calls, largest=largest)
    with_all = means(rows)
    of_queries = runs.queries(setup)
    figures = []
    for name in names:
        removed = by_team.get((team_of[name],), judged.clear())
        of_run = rows
        if runs.column is not None:
            run = pl.col(runs.column).cast(pl.String)
            of_run = rows.filter(run == name)
        documents = removed.select(key)
        left = _without(of_run, documents, of_queries, label)
        without = means(left, only=name)
        is_relevant = removed["#label"] >= setup.policies.relevant
        sizes = (removed.height, is_relevant.sum())
        for call in calls:
            change = _change(call, name, with_all, without)
            figures.append((call.text, name, *change, *sizes))
    return in_order_of(calls, pl.DataFrame(figures, TABLE, orient="row"))


def _refuse_unknown(teams: Iterable[str], names: Sequence[str]) -> None:
    """Refuse a team of a run that there is not."""
    for name in teams:
        if name not in names:
            there = ", ".join(names)
            raise InvalidOption(f"teams: {name!r} is none of the runs, which are {there}")


def _of_one_team(
    judged: pl.DataFrame, key: Sequence[str], team_of: Mapping[str, str]
) -> dict[tuple[Any, ...], pl.DataFrame]:
    """The judged documents that one team alone brought to the pool, by team."""
    team = pl.col(RUN).replace_strict(team_of, default=None, return_dtype=pl.String)
    label = pl.col("#label").first()
    teams = team.unique().alias("#team")
    documents = judged.group_by(key).agg(teams, label)
    of_one_team = documents.filter(pl.col("#team").list.len() == 1)
    return in_slices(exploded(of_one_team, "#team"), ["#team"])


def _without(rows: pl.DataFrame, removed: pl.DataFrame, queries: Setup, label: str) -> pl.DataFrame:
    """The rows without the labels of some documents.

    A query that loses all its labels still counts: its documents get -1, which stands for unjudged
    and is a label all the same.
    """
    gone = removed.with_columns(pl.lit(True).alias("#gone"))
    key = removed.columns
    rows = rows.join(gone, on=key, how="left", nulls_equal=True, maintain_order="left")
    is_gone = pl.col("#gone")
    left = pl.when(is_gone.is_null()).then(label)
    rows = rows.with_columns(left.alias(label))
    n_labels = pl.col(label).count().over(queries.roles.query)
    lost_all = is_gone & (n_labels == 0)
    or_nonrelevant = pl.when(lost_all).then(-1).otherwise(label)
    rows = rows.with_columns(or_nonrelevant.alias(label))
    return rows.drop("#gone")


def _means(
    rows: pl.DataFrame,
    runs: Runs,
    setup: Setup,
    calls: Sequence[Call],
    largest: float | None,
    only: str | None = None,
) -> Means:
    """The mean of each metric by run."""

    def of_run(run: Setup) -> pl.DataFrame:
        return measure(rows, run, *calls, largest_label=largest)

    values = runs.each(rows, setup, of_run, only)
    mean_of = {call.text: Mean.of(call).unweighted(pl.col(call.text)) for call in calls}
    means = values.group_by(RUN, maintain_order=True).agg(**mean_of)
    return {row[RUN]: row for row in means.iter_rows(named=True)}


def _change(call: Call, run: str, with_all: Means, without: Means) -> tuple[object, ...]:
    """The means of a run with and without its own judgments, their difference, and its ranks."""
    mean = with_all.get(run, {}).get(call.text)
    mean_without = without.get(run, {}).get(call.text)
    change = None if mean is None or mean_without is None else mean_without - mean
    others = [means[call.text] for other, means in with_all.items() if other != run]
    both = (mean, mean_without)
    places = [_place(x, others, higher=call.higher_is_better) for x in both]
    return *both, change, *places


def _place(mean: float | None, others: list[float | None], *, higher: bool) -> int | None:
    """The place of a mean among others, 1 being the best."""
    if mean is None:
        return None
    return 1 + sum((x > mean) if higher else (x < mean) for x in others if x is not None)
