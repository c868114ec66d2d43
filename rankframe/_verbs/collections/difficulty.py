"""How well predictors of query performance predict a metric: their correlations over queries, with
intervals.
"""

from __future__ import annotations

import math
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
    >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2, 3, 3], "doc_id": list("ab") * 3, "score": [9, 1, 6, 4, 5, 4],
    ...     "label": [1, 0, 0, 1, 0, 0]})
    >>> found = df.rank.collection.difficulty("sigma_max", of="rr")              # deviations 4, 1, 1/2 and reciprocal ranks 1, 1/2, 0
    >>> found["correlation"].to_list()[2], found["value"].to_list()[2]
    ('kendall', 1.0)
    """
    calls = averaged(predictors, "collection.difficulty('nqc@100', of='map')")
    metric, *others = averaged([of], "collection.difficulty(of='map')")
    if others:
        raise InvalidOption(option(of=of), f" names {1 + len(others)} metrics; predict one of them")
    refuse_bounds(table.setup)
    resampling = Resampling.of(options)
    values = measure(table.rows, table.setup, *dict.fromkeys([*calls, metric])).sort(
        table.setup.roles.query
    )
    result = []
    with Progress("resampling queries", resampling.progress) as step:
        for call in calls:
            both = (
                values.select(x=pl.col(call.text), y=pl.col(metric.text)).drop_nulls().to_numpy().T
            )
            n = both.shape[1]
            draws = each(counts, resampling.resamples, resampling.seed, n, step) if n else ()
            drawn = [both[:, np.repeat(np.arange(n), c.astype(np.int64))] for c in draws]
            for name in CORRELATIONS:
                value, p = _correlation(name, both)
                found = np.array([_correlation(name, x)[0] for x in drawn], dtype=float)
                known = found[~np.isnan(found)]
                ends = (
                    np.quantile(known, resampling.ends).tolist() if len(known) else [math.nan] * 2
                )
                result.append((call.text, metric.text, name, value, *ends, p, n))
    return table_in(result, TABLE)


def _correlation(name: str, both: Floats) -> tuple[float, float]:
    """A correlation and its p-value; NaN for fewer than two queries, or if all have one value."""
    if both.shape[1] < 2 or (np.ptp(both, axis=1) == 0).any():
        return math.nan, math.nan
    function = CORRELATIONS[name]
    if function is None:
        return _abstention(*both), math.nan
    found = getattr(load("scipy.stats", "stats"), function)(*both)
    return float(found[0]), float(found[1])


def _abstention(predicted: Floats, value: Floats) -> float:
    """The area by which the mean value rises as queries with small predictions are left out, over
    the most it can be.
    """
    n, areas = len(value), []
    left_out = np.array(
        [min(round(share * n), n - 1) for share in np.linspace(0, 1, 11)[:-1]]
    )  # rounded as in MTEB
    for by in (predicted, value):
        _, level = np.unique(by, return_inverse=True)
        of_level = np.bincount(level, value) / np.bincount(
            level
        )  # tied queries are left out in any order
        kept = np.cumsum(of_level[np.sort(level)][::-1])[::-1][left_out] / (n - left_out)
        areas.append(kept.sum() - (kept[0] + kept[-1]) / 2 - value.mean() * (len(left_out) - 1))
    return float(areas[0] / areas[1])
