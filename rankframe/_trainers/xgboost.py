"""XGBoost's ``custom_metric``."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from .._catalog.requests import Request
from .._support.methods import called_by_users
from ..errors import InvalidData
from .evaluation_set import Lists, SetCache, logged

NamedValue: TypeAlias = tuple[str, float]


@called_by_users
def xgboost_metric(*metrics: Request, table: object = None, **options: object) -> XGBoostMetric:
    """The metrics for XGBoost: ``custom_metric`` of ``xgboost.train`` and ``xgboost.cv``.

    Set ``disable_default_eval_metric`` to 1 among XGBoost's parameters, so that only these metrics are evaluated.
    Say which way is better, ``xgboost.callback.EarlyStopping(rounds=30, maximize=True)``: XGBoost guesses from the name
    otherwise, and takes ``rr`` and ``recall`` for losses.

    Parameters
    ----------
    *metrics
        Texts and functions, as for ``df.rank.evaluate``.
    table
        The evaluation set as a table, as for :func:`lightgbm_metric`: first the rows of the DMatrix, in its order.
    **options
        Policies, as for ``df.rank.on``; and, with `table`, names of its columns.

    Returns
    -------
    A function. XGBoost calls it with the predictions and the DMatrix, whose groups it reads. It returns the metric's
    name and its mean over the queries; a list of these for several metrics. The name is the text of the metric with
    ``_rankframe`` behind it, since XGBoost's own ``ndcg@10`` is another number, and with ``=`` in place of ``:``, which
    ends a name in XGBoost. Weights of the queries weigh the mean (in XGBoost's own nDCG, the weights of queries without
    gain are 1). XGBoost rounds the returned values to six decimals.

    Raises
    ------
    UnknownMetric, InvalidOption, MissingColumn
        If a text names no metric, an option is out of its range, or `table` lacks a column: raised before the training.
    InvalidData
        During the training, if the DMatrix has no groups, its rows are not those of `table`, or no query has a value;
        or if an ``XGBRanker`` calls the function, which passes one query at a time, and no DMatrix.

    Examples
    --------
    Any object with the methods of a DMatrix will do:

    >>> import numpy as np, rankframe as rf
    >>> class Matrix:
    ...     def get_label(self):
    ...         return np.array([0, 1, 0, 0], dtype=np.float32)
    ...     def get_weight(self):
    ...         return np.array([], dtype=np.float32)
    ...     def get_uint_info(self, field):
    ...         return {"group_ptr": np.array([0, 2, 4])}[field]
    >>> rf.xgboost_metric("ndcg@10", no_relevant="null")(np.array([0.9, 0.1, 0.5, 0.4]), Matrix())
    ('ndcg@10_rankframe', 0.6309297535714574)
    """
    return XGBoostMetric(Lists.read(xgboost_metric, metrics, table, options))


class XGBoostMetric:
    """Metrics as a function of predictions and a DMatrix; :func:`xgboost_metric` makes it."""

    __name__ = "rankframe"

    def __init__(self, lists: Lists) -> None:
        self._lists = lists
        self._cache = SetCache()

    def __call__(self, predictions: object, matrix: Any) -> NamedValue | list[NamedValue]:
        """The metrics."""
        if not hasattr(matrix, "get_uint_info"):
            raise InvalidData(
                f"{type(matrix).__name__} is no DMatrix; XGBRanker gives a function each query alone, counts a query of one "
                "document 1 and weighs queries by their size: write xgboost.train(..., custom_metric=...) instead"
            )
        ends = np.asarray(matrix.get_uint_info("group_ptr")).astype(np.int64)
        if len(ends) < 2:
            raise InvalidData(
                "the rows of the DMatrix have no groups; give XGBoost the query of each row, as in DMatrix(..., qid=queries)"
            )
        sizes = np.diff(ends)
        weights = np.asarray(matrix.get_weight())
        of_rows = np.repeat(weights, sizes) if len(weights) == len(sizes) else weights
        arrays = (np.asarray(matrix.get_label()), sizes, of_rows if len(weights) else None)
        means = self._cache.of(matrix, self._lists.set_of, *arrays).of(predictions)
        found = [(logged(text), value) for text, value in means.items()]
        return found if len(found) > 1 else found[0]

    def __repr__(self) -> str:
        return f"xgboost_metric({', '.join(map(repr, self._lists.means.names))})"
