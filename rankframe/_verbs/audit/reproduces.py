"""How far runs reproduce original ones: the order of documents, the values per query, and the
effect of the better run.
"""

from __future__ import annotations

from collections.abc import Mapping
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
            names = " against ".join(quoted(row[name], quotes) for name in ("run", "original"))
            mean, original, rmse = (
                number(row[name], 3) for name in ("mean", "original_mean", "rmse")
            )
            p = "" if row["p_value"] is None else f", {p_of(row['p_value'], adjusted=False)}"
            lines.append(f"{names} on {row['metric']}: {mean} for {original}, RMSE {rmse}{p}")
        return lines

    def grids(self, most: int | None = MOST_ROWS) -> list[Grid]:
        """A row per metric and run."""
        rows = records(self.table)
        figures = "original_mean mean ktu rmse effect_ratio delta_relative_improvement p_value"
        note = (
            f"Over {queries_of(rows)}. KTU: Kendall's tau of both rankings of a query. A run that "
            "is reproduced has a KTU and "
        )
        note += "an effect ratio of 1, an RMSE and a delta of the relative improvement (RI) of 0."
        return [
            grid(
                self,
                rows,
                ("metric", "run", "original"),
                figures,
                (note, *left_out(self, rows, most)),
                most,
            )
        ]


def _runs(original: Mapping[str, str], runs: TheRuns | None = None, run: str | None = None) -> Runs:
    """The runs of a call; by default the columns that `original` names."""
    names = (
        None
        if runs is not None or run is not None
        else [*dict.fromkeys([*original.values(), *original])]
    )
    return Runs.of(names if runs is None else runs, run)


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
    >>> found["mean"].item(), found["ktu"].item(), found["rmse"].item()        # tau of 1 and -1; differences of 0 and 1/2
    (0.75, 0.0, 0.3535533905932738)
    """
    chosen, example = runs_of(options), "reproduces('ndcg@10', original={'new': 'old'})"
    calls = refuse_geometric(averaged(metrics, example, table.setup))
    found = paired_values(
        table, calls, Design(chosen, None, (), None, options.get("missing", "error"))
    )
    for name, of in original.items():
        if not {name, of} <= {*found.runs} or name == of:
            says = f": {name!r} and {of!r} are to be two of the runs, {', '.join(found.runs)}"
            raise InvalidOption(option(original=dict(original)), says)
    pairs = [(found.runs.index(name), found.runs.index(of)) for name, of in original.items()]
    orders = orders_of(table, chosen, found, original, k, union)
    rows, per_query = [], []
    for i, call in enumerate(calls):
        for (new, old), pair, order in zip(original.items(), pairs, orders, strict=True):
            both = found.values[
                [*pair, *pairs[0]], :, i
            ]  # the run, its original, and those of the baseline
            figures = effects(both[:, ~np.isnan(both).any(axis=0)], is_baseline=pair == pairs[0])
            rows.append((call.text, new, old, *figures[:2], order.mean(), *figures[2:]))
    for (new, old), pair, order in zip(original.items(), pairs, orders, strict=True):
        d = found.rows({"run": new, "original": old}, differences(*found.values[[*reversed(pair)]]))
        per_query.append(d.insert_column(len(found.query) + 2, order))
    of_table = table_in(rows, TABLE)
    return Reproduction(
        table.give(of_table), table.give(pl.concat(per_query)), {"runs": found.runs}
    )


def effects(values: Floats, *, is_baseline: bool) -> tuple[float, ...]:
    """The figures of a run after those of its order, from the values of the run, its original, the
    baseline and its original.
    """
    if not values.size:
        return (*[np.nan] * 6, 0)
    d, means = differences(values[1], values[0]), values.mean(axis=1)
    (p,), _ = stats.paired_test(d[:, None], np.ones(len(d)), "t", 1, 0)
    gain, old_gain = means[:2] - means[2:]
    effect = quotient(gain, old_gain), quotient(old_gain, means[3]) - quotient(gain, means[2])
    own = (np.nan, np.nan) if is_baseline else map(float, effect)
    return (*means[:2], float(np.sqrt((d**2).mean())), *own, p, len(d))


def orders_of(
    table: Table[Any],
    runs: Runs,
    found: PairedValues,
    original: Original,
    k: int | None,
    union: Union,
) -> Taus:
    """Kendall's tau union of each query, for each reproduced run."""
    frame, setup, query = table.rows, table.setup, found.query
    doc = setup.roles.doc_in(frame.columns)
    if doc is None:
        raise InvalidOption(
            "reproduces compares rankings by document; name the column that holds it: ", on(doc=...)
        )
    rows = frame.select(*dict.fromkeys([*runs.key, *query]), pl.col(doc).alias("#doc"))
    ranked = runs.each(frame, setup, lambda run: rows.hstack(ranks_of(frame, run, "#rank")))
    ranked = ranked.filter(pl.col("#rank") <= (k or pl.col("#rank").max()))
    taus = []
    for pair in original.items():
        new, old = (ranked.filter(pl.col(RUN) == run).drop(RUN) for run in pair)
        both = old.join(
            new, on=[*query, "#doc"], how="full", coalesce=True, nulls_equal=True, suffix="#new"
        )
        order = (
            [pl.col("#doc").cast(pl.String)]
            if union == "sorted"
            else [pl.col("#rank"), pl.col("#rank#new")]
        )
        both = both.sort(order, nulls_last=True)
        place = pl.int_range(pl.len()).over(query)
        in_order = {
            at: pl.col("#place").sort_by(at, nulls_last=True) for at in ("#rank", "#rank#new")
        }
        lists = (x.head(pl.col(at).count()).alias(at) for at, x in in_order.items())
        of_query = both.with_columns(place.alias("#place")).group_by(query).agg(*lists)
        tau = [kendall_union(*row) for row in of_query.select("#rank", "#rank#new").iter_rows()]
        values = of_query.select(*query, pl.Series("ktu", tau, pl.Float64).fill_nan(None))
        own = found.queries.select(query)
        taus.append(
            own.join(values, on=query, how="left", nulls_equal=True, maintain_order="left")["ktu"]
        )
    return taus
