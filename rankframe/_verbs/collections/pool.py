"""Test collections: which documents of several runs to judge, and whether runs that were not judged
are treated fairly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

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
from ..measure.evaluate import ranks_of
from ..sample.slices import in_slices

if TYPE_CHECKING:
    from typing import Unpack

TABLE = schema(
    "metric run mean mean_without difference rank rank_without n_unique n_unique_relevant"
)


def _ranked(rows: pl.DataFrame, setup: Setup, runs: Runs) -> tuple[pl.DataFrame, list[str]]:
    """A row per run and retrieved document, with ``#rank`` and ``#label`` (null for no judgment);
    and the key of a document.
    """
    doc, label = setup.of_table(rows.columns).roles.doc_name, setup.roles.label
    if doc is None:
        raise InvalidOption(
            "documents of several runs are the same if they have the same id; say ", on(doc=...)
        )
    key = [*runs.queries(setup).roles.query, doc]
    grade = pl.col(label).cast(pl.Float64) if label in rows.columns else pl.lit(None, pl.Float64)
    judged = pl.when(grade >= 0).then(grade).alias("#label")

    def of_run(of: Setup) -> pl.DataFrame:
        ids = rows.select(*dict.fromkeys([*of.roles.query, *key]), judged)
        shown = of.changed(
            unjudged="nonrelevant"
        )  # documents without a judgment have a rank, whatever the policy
        return ids.hstack(ranks_of(rows, shown, "#rank")).drop_nulls("#rank")

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
    >>> df = pl.DataFrame({"query_id": [1] * 4, "doc_id": list("abcd"), "bm25": [4, 3, 2, 1], "dense": [3, 1, 4, None]})
    >>> df.rank.collection.pool(depth=2, runs=["bm25", "dense"])["doc_id"].to_list()       # a and c are first of a run, a of two
    ['a', 'c', 'b']
    >>> df.rank.collection.pool(rbp=0.5, size=2, runs=["bm25", "dense"])["attention"].to_list()     # a 1/2 + 1/4, c 1/8 + 1/2
    [0.75, 0.625]
    """
    if depth is None and rbp is None:
        says = "a pool takes a depth, "
        raise InvalidOption(
            says, option(depth=10), ", or the persistence of readers, ", option(rbp=0.8)
        )
    found, key = _ranked(table.rows, table.setup, runs_of(options))
    rank, counts = (
        pl.col("#rank"),
        {"rank": pl.col("#rank").min(), "n_runs": pl.col(RUN).n_unique()},
    )
    if rbp is not None:
        counts["attention"] = ((1 - rbp) * rbp ** (rank.cast(pl.Float64) - 1)).sum()
    refuse_names([*counts], key, "the table")
    order = table.rows.select(key[:-1]).unique(maintain_order=True).with_row_index("#query")
    found = found.join(order, on=key[:-1], how="left", nulls_equal=True, maintain_order="left")
    judged = found.drop_nulls("#label").select(key)
    found = found.join(judged, on=key, how="anti", nulls_equal=True)
    found = found if depth is None else found.filter(rank <= depth)
    pooled = (
        found.group_by("#query", *key).agg(**counts).cast({"rank": pl.UInt32, "n_runs": pl.UInt32})
    )
    first = [] if rbp is None else [-pl.col("attention")]
    pooled = pooled.sort("#query", *first, "rank", -pl.col("n_runs").cast(pl.Int64), key[-1])
    pooled = (
        pooled
        if size is None
        else pooled.group_by("#query", maintain_order=True).head(min(size, len(pooled)))
    )
    return pooled.select(*key, *counts)


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
    >>> df = pl.DataFrame({"query_id": [1] * 3, "doc_id": list("abc"), "label": [1, 1, 1], "x": [3, 2, None], "y": [3, None, 2]})
    >>> found = df.rank.collection.leave_one_run_out("precision@2", runs=["x", "y"])       # without b, x has one relevant document of two
    >>> found["mean"].to_list(), found["mean_without"].to_list(), found["rank_without"].to_list(), found["n_unique"].to_list()
    ([1.0, 1.0], [0.5, 0.5], [2, 2], [1, 1])
    """
    rows, setup, chosen = table.rows, table.setup, runs_of(options).required()
    calls, label = (
        averaged(metrics, "leave_one_run_out('map', runs=['bm25', 'ltr'])", setup),
        setup.roles.label,
    )
    refuse_bounds(setup)
    require(rows.schema, label, "label")
    found, key = _ranked(rows, setup, chosen)
    names = chosen.names(rows)
    if unknown := [name for name in teams or {} if name not in names]:
        raise InvalidOption(
            f"teams: {unknown[0]!r} is none of the runs, which are {', '.join(names)}"
        )
    judged = found.filter(pl.col("#rank") <= depth).drop_nulls("#label")
    team = {name: (teams or {}).get(name, name) for name in names}
    of_team = pl.col(RUN).replace_strict(team, default=None, return_dtype=pl.String).alias("#team")
    one_team = (
        judged.with_columns(of_team)
        .group_by(key)
        .agg(pl.col("#team").unique(), pl.col("#label").first())
    )
    of_one_team = one_team.filter(pl.col("#team").list.len() == 1)
    own = in_slices(exploded(of_one_team, "#team"), ["#team"])
    largest = largest_in(
        rows.lazy().select(label), "in-memory"
    )  # also of the labels that are removed

    def means(frame: pl.DataFrame, only: str | None = None) -> dict[Any, dict[str, float | None]]:
        """The mean of each metric by run."""
        values = chosen.each(
            frame, setup, lambda of: measure(frame, of, *calls, largest_label=largest), only
        )
        mean = {call.text: Mean.of(call).unweighted(pl.col(call.text)) for call in calls}
        return {
            row[RUN]: row
            for row in values.group_by(RUN, maintain_order=True).agg(**mean).iter_rows(named=True)
        }

    full, result = means(rows), []
    for name in names:
        mine = own.get((team[name],), one_team.clear())
        frame = (
            rows
            if chosen.column is None
            else rows.filter(pl.col(chosen.column).cast(pl.String) == name)
        )
        gone = mine.select(*key, pl.lit(True).alias("#gone"))
        frame = frame.join(gone, on=key, how="left", nulls_equal=True, maintain_order="left")
        frame = frame.with_columns(pl.when(pl.col("#gone").is_null()).then(label).alias(label))
        lost_all = pl.col("#gone") & (
            pl.col(label).count().over(chosen.queries(setup).roles.query) == 0
        )
        frame = frame.with_columns(pl.when(lost_all).then(-1).otherwise(label).alias(label)).drop(
            "#gone"
        )  # it counts
        without = means(frame, name)
        relevant = mine.select((pl.col("#label") >= setup.policies.relevant).sum()).item()
        for call in calls:
            one, other = (means_of.get(name, {}).get(call.text) for means_of in (full, without))
            change = None if one is None or other is None else other - one
            others = [row[call.text] for other_run, row in full.items() if other_run != name]
            places = (_place(x, others, higher=call.higher_is_better) for x in (one, other))
            result.append((call.text, name, one, other, change, *places, len(mine), relevant))
    by_metric = pl.col("metric").cast(pl.Enum([call.text for call in calls]))
    return pl.DataFrame(result, TABLE, orient="row").sort(by_metric, maintain_order=True)


def _place(mean: float | None, others: list[float | None], *, higher: bool) -> int | None:
    """The place of a mean among others, 1 being the best."""
    if mean is None:
        return None
    return 1 + sum((x > mean) if higher else (x < mean) for x in others if x is not None)
