"""How often users examine each rank, from logs with documents at several ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar

import polars as pl

from ..._plan.rank_order import numbered
from ..._results.columns import schema
from ..._statistics.examination import chained, harvested, swapped
from ..._support.draws import resampled
from ..._support.floats import Floats, Integers, np
from ..._support.option_kinds import Column, ColumnNames
from ..._support.option_values import Range
from ..._support.progress import Progress
from ..._table.columns import TEXTS, Columns, unfit_clicks
from ..._table.roles import require
from ..._table.runs import Runs, names_of
from ..._table.setup import Setup
from ..._table.shared_options import Intervals
from ..._table.table import Table
from ...errors import InvalidData, InvalidOption, on, option
from ..call.declaration import verb
from ..measure.evaluate import ranks_of
from ..sample.resampling import Resampling

if TYPE_CHECKING:
    from typing import Unpack

R = TypeVar("R")

Method: TypeAlias = Literal["harvest", "swap", "adjacent"]
Ranks: TypeAlias = Annotated[int, Range(least=2, most=100)]

ESTIMATES: Mapping[str, Callable[[Floats], Floats]] = {
    "harvest": harvested,
    "swap": swapped,
    "adjacent": chained,
}

TABLE = schema("rank propensity ci_low ci_high n_documents n_clicks")

CELLS = 5_000_000
"""The most numbers in memory, k^2 for each group of contexts; of more contexts, several share a
group, and are resampled as one."""

FEWEST_GROUPS = 100
"""The number of groups that is kept even if they take more memory."""


@dataclass(frozen=True)
class Shown:
    """A row per context, document and rank of a part: how often it was shown there, and clicked."""

    run: str | None
    context: ColumnNames | None
    k: int

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        rows = part.rows
        setup = part.setup.of_table(rows.columns)
        contexts, doc = self._document(setup)
        for name in contexts:
            require(rows.schema, name, "context")
        lists = setup
        if self.run is not None:
            if self.run not in contexts:
                require(rows.schema, self.run, "run")
            if self.run not in setup.roles.query:
                lists = setup.changed(query=(self.run, *setup.roles.query))
        Columns.of(setup, rows.schema)
        label = pl.col(setup.roles.label).cast(pl.Float64)
        if rows.select(unfit_clicks(label).any()).item():
            raise InvalidData(*TEXTS["label is no click"](setup), kind="label is no click")
        # A document without a label has a rank, too.
        of_all = lists.changed(unjudged="nonrelevant")
        ranks = ranks_of(rows, of_all, "#rank")
        is_within = pl.col("#rank") <= self.k
        shown = rows.hstack(ranks).filter(is_within, label.is_not_null())
        counts = {"#shown": pl.len(), "#clicks": label.sum()}
        at_rank = shown.group_by(*contexts, doc, "#rank", maintain_order=True)
        return at_rank.agg(**counts)

    def _document(self, setup: Setup) -> tuple[Sequence[str], str]:
        """The columns of the context and of the document."""
        of_queries = Runs.of(run=self.run).queries(setup)
        contexts = names_of(self.context) or of_queries.roles.query
        doc = setup.roles.doc_name
        if doc is None:
            says = "documents that were shown at several ranks are known by their ids; say "
            raise InvalidOption(says, on(doc=...))
        if doc in contexts:
            says = " names the documents; a context is what several have in common, as "
            raise InvalidOption(option(context=doc), says, option(context="query_id"))
        return contexts, doc


@verb(gives="table", by_parts=True)
def propensities(
    table: Table[Any],
    *,
    run: Column | None = None,
    context: ColumnNames | None = None,
    method: Method = "harvest",
    k: Ranks = 10,
    **options: Unpack[Intervals],
) -> pl.DataFrame:
    """How often users examine each rank, over how often they examine rank 1: the propensities of
    clicks.

    The rows are a log: all documents of the lists that were shown, with clicks 1 and 0 as labels.
    Ranks are logged in the rows of a list, so that a document whose clicks are unknown needs a row
    with a null label. In a position-based model, users click a document if they examine its rank,
    with a probability that depends on the rank alone, and find the document relevant. So the click
    rates of a document for the same query at different ranks differ by these probabilities alone. A
    document may have different ranks because several rankers were on line, or because documents
    were swapped on purpose.

    Parameters
    ----------
    run
        The column that names the ranker of each row, if lists of several have the same query;
        ``None`` if the query columns identify each list, as those of sessions do.
    context
        The column, or columns, of the query's text or of any other context in which a document is
        equally relevant, if the query columns are those of sessions; default: the query columns.
    method
        ``"harvest"`` fits all pairs of ranks at once (intervention harvesting), and needs the
        fewest clicks. ``"swap"`` compares each rank with rank 1, as after swaps of these two;
        ``"adjacent"`` multiplies the ratios of adjacent ranks, as after swaps of neighbours.
    k
        The last rank, from 2 to 100.
    resamples, seed
        The number of resamples of the contexts, each with all its documents, and the seed of the
        draws.

    Returns
    -------
    A frame with a row for each rank: ``rank`` (UInt32), ``propensity`` (Float64; 1 at rank 1; null
    for a rank that clicks on shared documents do not connect with rank 1, or only by clicks at this
    rank and none at the other), ``ci_low`` and ``ci_high`` (Float64, percentiles of the resamples),
    ``n_documents`` (UInt32: the documents of contexts that were shown at this rank and at another
    one) and ``n_clicks`` (UInt32: their clicks at this rank). A value above 1 comes by chance, or
    the model does not hold.

    Raises
    ------
    InvalidOption
        If the table has no column of documents.
    InvalidData
        If a label is neither 0 nor 1, or no document of a context was shown at two ranks.

    References
    ----------
    Agarwal, Zaitsev, Wang, Li, Najork and Joachims, Estimating position bias without intrusive
    interventions, WSDM 2019: its AllPairs, PivotOne and AdjacentChain. Where AllPairs estimates the
    relevance of each pair's documents, the likelihood here is that of which rank a click is at, in
    which relevance does not occur (Bradley and Terry). Joachims, Swaminathan and Schnabel, Unbiased
    learning-to-rank with biased feedback, WSDM 2017, for swaps. A document shown n times at one
    rank and m times at the other weighs n m / (n + m): Mantel and Haenszel, JNCI 22, 1959.

    Examples
    --------
    Ranker a shows x, y and ranker b shows y, x. For six queries, they get four clicks each at rank
    1 and two at rank 2:

    >>> import polars as pl, rankframe as rf
    >>> log = pl.DataFrame({"query_id": [q for q in range(6) for _ in "xyyx"],
    ...     "ranker": list("aabb") * 6, "doc_id": list("xyyx") * 6, "rank": [1, 2] * 12,
    ...     "label": [1, 0, 1, 0] * 4 + [0, 1, 0, 1] * 2})
    >>> found = log.rank.on(rank="rank").clicks.propensities(run="ranker", k=2)
    >>> found["propensity"].round(6).to_list(), found["n_clicks"].to_list()
    ([1.0, 0.5], [8, 4])
    """
    resampling = Resampling.of(options)
    shown = table.by_parts(Shown(run, context, k))
    *key, doc = shown.columns[:-3]
    at_rank = [*key, doc, "#rank"]
    totals = pl.col("#shown", "#clicks").sum()
    # Sorted, so that draws do not depend on the order of the rows.
    logged = shown.group_by(at_rank).agg(totals.cast(pl.Float64))
    logged = logged.sort(at_rank)
    document = numbered(logged.select(*key, doc)).number
    group = numbered(logged.select(key)).number
    most_groups = max(CELLS // k**2, FEWEST_GROUPS)
    logged = logged.select(
        pl.col("#rank").cast(pl.Int64) - 1,
        "#shown",
        "#clicks",
        pl.Series("#document", document.astype(np.int64)),
        pl.Series("#group", group.astype(np.int64) % most_groups),
    )
    pairs = logged.join(logged, on="#document", maintain_order="left_right")
    is_other = pl.col("#rank") != pl.col("#rank_right")
    pairs = pairs.filter(is_other)
    if pairs.is_empty() and not shown.is_empty():
        says = (
            f"no document of a query was shown at two of the first {k} ranks; name the column of "
            "the rankers, as "
        )
        of_sessions = ", or of what sessions have in common, as "
        raise InvalidData(says, option(run="ranker"), of_sessions, option(context="query"))
    clicks = _clicks(pairs, k)
    propensity, low, high = _estimates(clicks, k, ESTIMATES[method], resampling)
    at_ranks = pairs.unique(["#document", "#rank"]).group_by("#rank")
    n_clicks = pl.col("#clicks").sum()
    counts = at_ranks.agg(n_documents=pl.len(), n_clicks=n_clicks)
    columns = {"#rank": np.arange(k), "propensity": propensity, "ci_low": low, "ci_high": high}
    result = pl.DataFrame(columns).fill_nan(None)
    result = result.with_columns(rank=pl.col("#rank") + 1)
    result = result.join(counts, on="#rank", how="left", maintain_order="left")
    sizes = pl.col("n_documents", "n_clicks")
    result = result.with_columns(sizes.fill_null(0))
    return result.select(pl.col(name).cast(dtype) for name, dtype in TABLE.items())


def _estimates(
    clicks: Floats, k: int, estimate: Callable[[Floats], Floats], resampling: Resampling
) -> tuple[Floats, Floats, Floats]:
    """The propensity of each rank and its interval, of the clicks of groups of contexts."""
    ends = np.full((2, k), np.nan)
    if not len(clicks):
        return np.full(k, np.nan), ends[0], ends[1]
    totals = clicks.sum(axis=0)
    propensity = estimate(totals.reshape(k, k))

    def of_resamples(sums: list[Floats]) -> Floats:
        return estimate(sums[0].reshape(-1, k, k))

    with Progress("resampling queries", resampling.progress) as step:
        how = (resampling.resamples, resampling.seed, step)
        draws = resampled(of_resamples, [clicks], *how)
    is_known = ~np.isnan(propensity)
    is_known &= ~np.isnan(draws).all(axis=0)
    of_known = draws[:, is_known]
    ends[:, is_known] = np.nanquantile(of_known, resampling.ends, axis=0)
    return propensity, ends[0], ends[1]


def _clicks(pairs: pl.DataFrame, k: int) -> Floats:
    """The weighed clicks of each pair of ranks, a row per group of contexts.

    A document that was shown n times at one rank and m times at the other weighs n m / (n + m).
    """
    here = pl.col("#shown")
    there = pl.col("#shown_right")
    # Of the n m / (n + m), n is in the number of clicks.
    weighed = pl.col("#clicks") * there / (here + there)
    clicks = pairs.select(weighed).to_series().to_numpy()
    of_pairs = pairs["#group"].to_numpy()
    group: Integers = np.unique(of_pairs, return_inverse=True)[1]
    n_groups = int(group.max(initial=-1)) + 1
    n_cells = n_groups * k * k
    first = pairs["#rank"].to_numpy()
    second = pairs["#rank_right"].to_numpy()
    cell = (group * k + first) * k + second
    sums: Floats = np.bincount(cell, weights=clicks, minlength=n_cells).astype(np.float64)
    return sums.reshape(n_groups, k * k)
