"""LightGBM's ``feval`` and ``eval_metric``."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from .._catalog.requests import Request
from .._support.methods import called_by_users
from ..errors import InvalidData
from .evaluation_set import Lists, SetCache, logged

NamedValue: TypeAlias = tuple[str, float, bool]


@called_by_users
def lightgbm_metric(*metrics: Request, table: object = None, **options: object) -> LightGBMMetric:
    """The metrics for LightGBM: ``feval`` of ``lightgbm.train``, ``eval_metric`` of ``LGBMRanker.fit``.

    Set ``metric="None"`` among LightGBM's parameters, so that only these metrics stop the training.

    Parameters
    ----------
    *metrics
        Texts and functions, as for ``df.rank.evaluate``.
    table
        The evaluation set as a Polars or pandas frame: first the rows of the Dataset, in its order, and below them the
        rows without a prediction, such as relevant documents that the first stage missed. It has the ids of documents,
        which order ties. ``None`` for the Dataset's own labels and groups; ties then keep the order of the rows.
    **options
        Policies, as for ``df.rank.on``: ``convention``, ``ties``, ``relevant``, ``no_relevant`` ...; and, with `table`,
        names of its columns.

    Returns
    -------
    A function. LightGBM calls it with the predictions and the Dataset, or with labels, predictions, weights and group
    sizes. It returns a name, the metric's mean over the queries and whether higher is better; a list of these for
    several metrics. The name is the metric's text with ``_rankframe`` behind it, since LightGBM's own ``ndcg@10`` is
    another number, and with ``=`` in place of ``:``. Weights of rows weigh the mean: a query weighs as much as its rows do on average (in LightGBM's own
    nDCG, queries without gain weigh 1).

    Raises
    ------
    UnknownMetric, InvalidOption, MissingColumn
        If a text names no metric, an option is out of its range, or `table` lacks a column: raised before the training.
    InvalidData
        During the training, if the Dataset has no groups, its rows are not those of `table`, or no query has a value.

    Examples
    --------
    >>> import numpy as np, rankframe as rf
    >>> metric = rf.lightgbm_metric("ndcg@10", "rr", no_relevant="null")
    >>> labels, predictions, group = np.array([0, 1, 0, 0]), np.array([0.9, 0.1, 0.5, 0.4]), np.array([2, 2])
    >>> metric(labels, predictions, None, group)
    [('ndcg@10_rankframe', 0.6309297535714574, True), ('rr_rankframe', 0.5, True)]
    """
    return LightGBMMetric(Lists.read(lightgbm_metric, metrics, table, options))


class LightGBMMetric:
    """Metrics as a function of predictions and a Dataset; :func:`lightgbm_metric` makes it."""

    def __init__(self, lists: Lists) -> None:
        self._lists = lists
        self._cache = SetCache()

    def __call__(
        self, first: Any, second: Any, weight: object = None, group: object = None
    ) -> NamedValue | list[NamedValue]:
        """The metrics; LightGBM passes weights and groups because it counts four parameters."""
        if hasattr(second, "get_group"):
            predictions, of = first, second
            labels, weight, group = of.get_label(), of.get_weight(), of.get_group()
        else:
            labels, predictions, of = first, second, first
        if group is None:
            raise InvalidData(
                "the rows of the evaluation set have no groups; give LightGBM the number of rows of each query, as "
                "Dataset(..., group=sizes) or fit(..., eval_group=[sizes])"
            )
        arrays = (np.asarray(labels), np.asarray(group), None if weight is None else np.asarray(weight))
        means = self._cache.of(of, self._lists.set_of, *arrays).of(predictions)
        found = [(logged(call.text), means[call.text], call.higher_is_better) for call in self._lists.means.calls]
        return found if len(found) > 1 else found[0]

    def __repr__(self) -> str:
        return f"lightgbm_metric({', '.join(map(repr, self._lists.means.names))})"
