"""How far runs reproduce original ones: order of documents, values per query, and effect."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import polars as pl

from ... import stats
from ..._catalog.registry import METRICS
from ..._catalog.requests import Request, averaged, refuse_geometric
from ..._results.columns import grid, schema, table_in
from ..._results.grid import Grid, left_out, number, queries_of, records
from ..._results.result import MOST_ROWS, Result
from ..._results.sentences import IN_TEXT, Quotes, p_of, quoted
from ..._statistics.agreement import kendall_union, quotient
from ..._support.floats import Floats, np
from ..._support.joins import left_joined
from ..._support.option_kinds import Column
from ..._table.policies import Cutoff
from ..._table.runs import RUN, Runs, TheRuns
from ..._table.shared_options import OfSameQueries, runs_of
from ..._table.table import Table
from ...errors import InvalidOption, on, option
from ..call.declaration import verb
from ..measure.evaluate import ranks_of
from ..measure.paired_values import Design, PairedValues, differences, paired_values

if TYPE_CHECKING:
    from typing import Unpack

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

Union: TypeAlias = Literal["ranked", "sorted"]
Original: TypeAlias = Mapping[Column, Column]
Taus: TypeAlias = list[pl.Series]

TABLE = schema(
    "metric run original mean original_mean ktu rmse effect_ratio delta_relative_improvement "
    "p_value n_queries"
)

"""The figures of reproduction, and their names on top of a column."""


@dataclass(frozen=True, repr=False)
class Reproduction(Result[R_co]):
    """How far runs reproduce original ones.

    Attributes
    ----------
    table
        A row per metric and reproduced run, with the columns that :meth:`reproduces` lists.
    per_query
        A row per reproduced run and query: the query, ``run``, ``original``, ``ktu`` (Float64; null
        for fewer than two common ranks), and per metric the value of the run less that of the
        original.
    settings
        How it was computed.
    """

    table: R_co
    per_query: R_co
    settings: Mapping[str, Any]

    def sentences(self, quotes: Quotes = IN_TEXT) -> list[str]:
        """For each metric and run, how close it comes to the original."""
        lines = []
        for row in records(self.table):
            names = f"{quoted(row['run'], quotes)} against {quoted(row['original'], quotes)}"
            means = f"{number(row['mean'], 3)} for {number(row['original_mean'], 3)}"
            p = "" if row["p_value"] is None else f", {p_of(row['p_value'], adjusted=False)}"
            lines.append(f"{names} on {row['metric']}: {means}, RMSE {number(row['rmse'], 3)}{p}")
        return lines

    def grids(self, most: int | None = MOST_ROWS) -> list[Grid]:
        """A row per metric and run."""
        rows = records(self.table)
        note = (
            f"Over {queries_of(rows)}. KTU: Kendall's tau of both rankings of a query. A run that "
            "is reproduced has a KTU and an effect ratio of 1, an RMSE and a delta of the relative "
            "improvement (RI) of 0."
        )
        named = "metric", "run", "original"
        notes = (note, *left_out(self, rows, most))
        figures = "original_mean mean ktu rmse effect_ratio delta_relative_improvement p_value"
        return [grid(self, rows, named, figures, notes, most)]


def _runs(original: Mapping[str, str], runs: TheRuns | None = None, run: str | None = None) -> Runs:
    """The runs of a call; by default the columns that `original` names."""
    if runs is None and run is None:
        names = dict.fromkeys([*original.values(), *original])
        return Runs.of([*names], None)
    return Runs.of(runs, run)


@verb(gives="whole", among=METRICS, watched=True, runs=_runs)
def reproduces(
    table: Table[R],
    *metrics: Request,
    original: Original,
    k: Cutoff | None = None,
    union: Union = "ranked",
    **options: Unpack[OfSameQueries],
) -> Reproduction[R]:
    """How far runs reproduce original ones on the same queries: order, values per query, effect and
    test, as in repro_eval.

    Parameters
    ----------
    *metrics
        Texts and functions, as for :meth:`evaluate`.
    original
        The original of each reproduced run, the baseline first: ``{"new_bm25": "bm25", "new_ltr":
        "ltr"}``.
    runs, run, missing
        Where the runs are, as for :meth:`compare`. Without `runs` and `run`, they are the columns
        of scores in `original`.
    k
        How many documents of each ranking count for Kendall's tau; ``None`` counts all, repro_eval
        the first 1,000.
    union
        The order of the union of documents for Kendall's tau: ``"ranked"``, that of the original
        ranking, then of other documents of the reproduced one; ``"sorted"``, by document as text,
        as in repro_eval, whose value changes if documents are renamed.

    Returns
    -------
    A :class:`rankframe.results.Reproduction`, whose ``table`` and ``per_query`` are frames of the
    caller's kind. A LazyFrame is collected first. ``table`` has a row per metric and reproduced
    run: ``metric``, ``run``, ``original``, and as Float64

    - ``mean`` and ``original_mean``;
    - ``ktu``: Kendall's tau union, the mean over queries of Kendall's tau between the numbers that
      the documents at each rank of both rankings have in the union of documents; 1 for the same
      documents in the same order. A longer ranking is cut;
    - ``rmse``: the root of the mean squared difference of the values per query, 0 for equal values;
    - ``effect_ratio``: the mean gain of the run over the reproduced baseline, over that of the
      originals; 1 for the same gain; null for the baseline;
    - ``delta_relative_improvement``: the relative gain of the originals' means less that of the
      reproduced; 0 for the same; null for the baseline;
    - ``p_value``: that of the paired t-test of the values per query against the original's; small
      if they differ;

    and ``n_queries`` (UInt32). Needs SciPy.

    Raises
    ------
    InvalidOption
        If `original` names a run that is not there, or a run as its own original; if a metric has a
        geometric mean, or one of ratios of clicks.

    References
    ----------
    T. Breuer, N. Ferro, N. Fuhr, M. Maistro, T. Sakai, P. Schaer, I. Soboroff (2020), How to
    measure the reproducibility of system-oriented IR experiments, SIGIR.

    Examples
    --------
    The reproduced run finds the relevant document one rank too late for one of two queries:

    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abab"), "label": [1, 0, 1, 0],
    ...     "old": [2, 1, 2, 1], "again": [2, 1, 1, 2]})
    >>> found = df.rank.collection.reproduces("rr", original={"again": "old"}).table
    >>> found["mean"].item(), found["ktu"].item()  # tau of 1 and -1
    (0.75, 0.0)
    >>> found["rmse"].item()  # differences of 0 and 1/2
    0.3535533905932738
    """
    chosen = runs_of(options)
    example = "reproduces('ndcg@10', original={'new': 'old'})"
    calls = refuse_geometric(averaged(metrics, example, table.setup))
    design = Design(chosen, None, (), None, options.get("missing", "error"))
    paired = paired_values(table, calls, design)
    runs = paired.runs
    values = paired.values
    pairs = []
    for new, old in original.items():
        if new == old or not {new, old} <= {*runs}:
            says = f": {new!r} and {old!r} are to be two of the runs, {', '.join(runs)}"
            raise InvalidOption(option(original=dict(original)), says)
        of_new = runs.index(new)
        of_old = runs.index(old)
        pairs.append((of_new, of_old))
    orders = orders_of(table, chosen, paired, original, k, union)
    rows = []
    for i, call in enumerate(calls):
        for (new, old), pair, order in zip(original.items(), pairs, orders, strict=True):
            # The run, its original, the baseline and the baseline's original.
            of_four = values[[*pair, *pairs[0]], :, i]
            has_all = ~np.isnan(of_four).any(axis=0)
            is_baseline = pair == pairs[0]
            means, others = effects(of_four[:, has_all], is_baseline=is_baseline)
            rows.append((call.text, new, old, *means, order.mean(), *others))
    per_query = []
    for (new, old), pair, order in zip(original.items(), pairs, orders, strict=True):
        of_new, of_old = pair
        d = differences(values[of_old], values[of_new])
        of_queries = paired.rows({"run": new, "original": old}, d)
        place = len(paired.query) + 2
        per_query.append(of_queries.insert_column(place, order))
    by_metric = table_in(rows, TABLE)
    by_query = pl.concat(per_query)
    return Reproduction(table.give(by_metric), table.give(by_query), {"runs": runs})


def effects(values: Floats, *, is_baseline: bool) -> tuple[Sequence[float], Sequence[float]]:
    """The means of a run and its original, and the figures after those of its order.

    `values` are those of the run, of its original, of the baseline and of the baseline's original.
    """
    if not values.size:
        return [math.nan] * 2, [*[math.nan] * 4, 0]
    d = differences(values[1], values[0])
    means = values.mean(axis=1)
    mse = (d**2).mean()
    weights = np.ones(len(d))
    (p,), _ = stats.paired_test(d[:, None], weights, "t", 1, 0)
    effect_ratio = delta = math.nan
    if not is_baseline:
        gain, old_gain = means[:2] - means[2:]
        effect_ratio = float(quotient(gain, old_gain))
        improvement = quotient(gain, means[2])
        delta = float(quotient(old_gain, means[3]) - improvement)
    rmse = float(np.sqrt(mse))
    return means[:2], [rmse, effect_ratio, delta, p, len(d)]


def orders_of(
    table: Table[Any],
    runs: Runs,
    paired: PairedValues,
    original: Original,
    k: int | None,
    union: Union,
) -> Taus:
    """Kendall's tau union of each query, for each reproduced run."""
    frame = table.rows
    setup = table.setup
    query = paired.query
    doc = setup.roles.doc_in(frame.columns)
    if doc is None:
        says = "reproduces compares rankings by document; name the column that holds it: "
        raise InvalidOption(says, on(doc=...))
    names = dict.fromkeys([*runs.key, *query])
    rows = frame.select(*names, pl.col(doc).alias("#doc"))
    ranked = runs.each(frame, setup, lambda run: rows.hstack(ranks_of(frame, run, "#rank")))
    rank = pl.col("#rank")
    ranked = ranked.filter(rank <= (k or rank.max()))
    taus = []
    for new_run, old_run in original.items():
        new = ranked.filter(pl.col(RUN) == new_run).drop(RUN)
        old = ranked.filter(pl.col(RUN) == old_run).drop(RUN)
        by_query = _taus(old, new, query, union)
        of_queries = left_joined(paired.queries[query], by_query, query)
        taus.append(of_queries["ktu"])
    return taus


def _taus(old: pl.DataFrame, new: pl.DataFrame, query: Sequence[str], union: Union) -> pl.DataFrame:
    """Kendall's tau union of each query that one of two rankings has."""
    on = [*query, "#doc"]
    both = old.join(new, on=on, how="full", coalesce=True, nulls_equal=True, suffix="#new")
    order = [pl.col("#rank"), pl.col("#rank#new")]
    if union == "sorted":
        order = [pl.col("#doc").cast(pl.String)]
    place = pl.int_range(pl.len()).over(query)
    in_order = both.sort(order, nulls_last=True)
    numbered = in_order.with_columns(place.alias("#place"))
    lists = []
    for rank in ("#rank", "#rank#new"):
        by_rank = pl.col("#place").sort_by(rank, nulls_last=True)
        n_ranked = pl.col(rank).count()
        lists.append(by_rank.head(n_ranked).alias(rank))
    of_query = numbered.group_by(query).agg(*lists)
    rankings = of_query.select("#rank", "#rank#new").iter_rows()
    tau = [kendall_union(*pair) for pair in rankings]
    ktu = pl.Series("ktu", tau, pl.Float64)
    return of_query.select(*query, ktu.fill_nan(None))
