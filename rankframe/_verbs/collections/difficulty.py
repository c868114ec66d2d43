"""How well predictors of query performance predict a metric: correlations over queries."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from ..._catalog.registry import METRICS
from ..._catalog.requests import Request, averaged
from ..._plan.per_query import measure
from ..._results.columns import schema, table_in
from ..._support.draws import counts, each
from ..._support.extras import load
from ..._support.floats import Floats, np
from ..._support.progress import Progress
from ..._table.setup import refuse_bounds
from ..._table.shared_options import Intervals
from ..._table.table import Table
from ...errors import InvalidOption, option
from ..call.declaration import verb
from ..sample.resampling import Resampling

if TYPE_CHECKING:
    from typing import Unpack

TABLE = schema("predictor metric correlation value ci_low ci_high p_value n_queries")

CORRELATIONS = {
    "pearson": "pearsonr",
    "spearman": "spearmanr",
    "kendall": "kendalltau",
    "nauc": None,
}
"""The correlations, and their functions in SciPy."""


@verb(gives="table", among=METRICS)
def difficulty(
    table: Table[Any],
    *predictors: Request,
    of: str,
    **options: Unpack[Intervals],
) -> pl.DataFrame:
    """How well values that need no judgments predict which queries go well: their correlations with
    a metric over queries.

    ``"nauc"`` measures what is gained by leaving out the queries with the smallest predictions: the
    area under the curve of the mean metric of the remaining queries, when 0, 10, ... 90 per cent
    are left out. It is 0 if queries are left out at random, and 1 if those with the smallest values
    of the metric are.

    Parameters
    ----------
    *predictors
        Texts and functions, as for :meth:`evaluate`: ``"nqc@100"``, ``"wig@5"``, ``"sigma_max"``,
        or a value of your own.
    of
        The metric that they should predict, as ``"map"``.

    Returns
    -------
    A frame with four rows per predictor: ``predictor``, ``metric``, ``correlation`` (String,
    ``"pearson"``, ``"spearman"``, ``"kendall"``, tau b, or ``"nauc"``), ``value``, ``ci_low`` and
    ``ci_high`` (percentiles of the resamples), ``p_value`` (of no correlation, by SciPy; null for
    ``"nauc"``; all Float64) and ``n_queries`` (UInt32, those where both have a value). Null if one
    of the two has equal values.

    Raises
    ------
    MissingExtra
        If SciPy is not installed.

    References
    ----------
    Hauff, Azzopardi and Hiemstra, The combination and evaluation of query performance prediction
    methods, ECIR 2009. Gisserot-Boukhlef, Faysse, Malherbe, Hudelot and Colombo, Towards
    trustworthy reranking: a simple yet effective abstention mechanism, TMLR 2024; MTEB's ``nAUC``,
    whose confidences are the largest score, its lead over the second, and the deviation of the
    scores.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2, 3, 3], "doc_id": list("ab") * 3,
    ...     "score": [9, 1, 6, 4, 5, 4], "label": [1, 0, 0, 1, 0, 0]})
    >>> # deviations 4, 1, 1/2 and reciprocal ranks 1, 1/2, 0
    >>> found = df.rank.collection.difficulty("sigma_max", of="rr")
    >>> found["correlation"].to_list()[2], found["value"].to_list()[2]
    ('kendall', 1.0)
    """
    calls = averaged(predictors, "collection.difficulty('nqc@100', of='map')")
    metric, *others = averaged([of], "collection.difficulty(of='map')")
    if others:
        raise InvalidOption(option(of=of), f" names {1 + len(others)} metrics; predict one of them")
    refuse_bounds(table.setup)
    resampling = Resampling.of(options)
    requests = dict.fromkeys([*calls, metric])
    values = measure(table.rows, table.setup, *requests)
    values = values.sort(table.setup.roles.query)
    rows = []
    with Progress("resampling queries", resampling.progress) as step:
        for call in calls:
            x = pl.col(call.text)
            y = pl.col(metric.text)
            both = values.select(x=x, y=y).drop_nulls()
            predicted_and_value = both.to_numpy().T
            for name, *figures in _correlations(predicted_and_value, resampling, step):
                rows.append((call.text, metric.text, name, *figures, both.height))
    return table_in(rows, TABLE)


def _correlations(
    both: Floats, resampling: Resampling, step: Progress
) -> Iterator[tuple[str, float, float, float, float]]:
    """Each correlation, its interval and its p-value."""
    n = both.shape[1]
    draws = each(counts, resampling.resamples, resampling.seed, n, step) if n else ()
    query = np.arange(n)
    resamples = [both[:, np.repeat(query, times.astype(np.int64))] for times in draws]
    for name in CORRELATIONS:
        value, p = _correlation(name, both)
        correlations = np.array([_correlation(name, x)[0] for x in resamples], dtype=float)
        known = correlations[~np.isnan(correlations)]
        low, high = np.quantile(known, resampling.ends) if len(known) else (math.nan, math.nan)
        yield name, value, float(low), float(high), p


def _correlation(name: str, both: Floats) -> tuple[float, float]:
    """A correlation and its p-value; NaN for fewer than two queries, or if all have one value."""
    if both.shape[1] < 2 or (np.ptp(both, axis=1) == 0).any():
        return math.nan, math.nan
    function = CORRELATIONS[name]
    if function is None:
        return _abstention(*both), math.nan
    of_scipy = getattr(load("scipy.stats", "stats"), function)
    value, p = of_scipy(*both)
    return float(value), float(p)


def _abstention(predicted: Floats, value: Floats) -> float:
    """How far leaving out queries with small predictions raises the mean, of the most it can."""
    n = len(value)
    # Rounded as in MTEB.
    left_out = [min(round(share * n), n - 1) for share in np.linspace(0, 1, 11)[:-1]]
    areas = []
    for by in (predicted, value):
        _, level = np.unique(by, return_inverse=True)
        # Tied queries are left out in any order: each has the mean of its level.
        n_of_level = np.bincount(level)
        of_level = np.bincount(level, value) / n_of_level
        ascending = of_level[np.sort(level)]
        total_from = np.cumsum(ascending[::-1])[::-1]
        n_left = n - np.array(left_out)
        means = total_from[left_out] / n_left
        area = means.sum() - (means[0] + means[-1]) / 2
        at_random = value.mean() * (len(left_out) - 1)
        areas.append(area - at_random)
    return float(areas[0] / areas[1])
