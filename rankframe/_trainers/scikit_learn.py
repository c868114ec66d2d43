"""The metrics as a scorer of scikit-learn, for cross-validation and searches of parameters."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import polars as pl

from .._catalog.requests import Request
from .._shapes.arrays import Array
from .._support.methods import called_by_users
from .._support.threads import use_polars
from ..errors import InvalidData, InvalidOption, shown
from .means import MetricMeans

METHODS = ("decision_function", "predict_proba", "predict")
"""The methods of estimators that give scores, the first that an estimator has being called."""


@called_by_users
def sklearn_scorer(metric: Request, group: object = None, **options: object) -> SklearnScorer:
    """A metric as scikit-learn's ``scoring``, of queries that are groups of rows.

    Parameters
    ----------
    metric
        A text such as ``"ndcg@10"``, or a function, as for ``df.rank.evaluate``.
    group
        The query of each row: the name of a column of ``X``; a pandas Series with the index of
        ``X``, which the estimator then does not see; or a function of ``X`` that gives an array.
        ``None`` if scikit-learn passes it, as ``cross_val_score(..., params={"groups": ...})``
        does with ``sklearn.set_config(enable_metadata_routing=True)``. Split by queries,
        ``cv=GroupKFold()``, so that no query is cut.
    **options
        Policies, as for ``df.rank.on``: ``convention``, ``ties``, ``relevant``, ``no_relevant``
        ... Ties keep the order of the rows.

    Returns
    -------
    A function of an estimator, ``X`` and the labels ``y``. It ranks the rows of each query by the
    estimator's ``decision_function``, else by its ``predict_proba`` of the greater of two classes,
    else by its ``predict``, and returns the metric's mean over the queries as a float; the
    negative mean where lower is better, as all scorers of scikit-learn.

    Raises
    ------
    UnknownMetric, InvalidOption
        If the text names no metric, or an option is out of its range: raised at the call.
    InvalidData
        During the scoring, if the rows have no groups, or the estimator tells more than two
        classes apart.

    Examples
    --------
    >>> import pandas as pd, rankframe as rf
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.model_selection import GroupKFold, cross_val_score
    >>> X = pd.DataFrame({"bm25": [3.0, 1, 2, 1, 5, 4], "age": [1.0, 2, 2, 1, 1, 3]})
    >>> y, query = [1, 0, 1, 0, 1, 0], pd.Series([1, 1, 2, 2, 3, 3])
    >>> scorer = rf.sklearn_scorer("ndcg@10", group=query)
    >>> folds = {"groups": query, "cv": GroupKFold(3)}
    >>> cross_val_score(LinearRegression(), X, y, scoring=scorer, **folds).round(2).tolist()
    [1.0, 0.63, 1.0]
    """
    means = MetricMeans.of(sklearn_scorer, [metric], options, table=False)
    if len(means.calls) != 1:
        given = ", ".join(means.names)
        n = len(means.calls)
        raise InvalidOption(
            f"a scorer gives one number, and {given} are {n} metrics; give scoring={{...}} a "
            "scorer for each"
        )
    return SklearnScorer(means, group)


class SklearnScorer:
    """A metric as a function of an estimator, rows and labels; :func:`sklearn_scorer` makes it."""

    def __init__(self, means: MetricMeans, group: object) -> None:
        self._means = means
        self._group = group
        no_rows = pl.DataFrame(schema={"query_id": pl.Int64, "label": pl.Float64})
        means.check(no_rows)

    def __call__(self, estimator: Any, X: Any, y: Any, groups: Any = None) -> float:  # noqa: N803 - scikit-learn's name
        """The metric's mean over the queries of the rows."""
        use_polars()
        (call,) = self._means.calls
        labels = np.asarray(y, np.float64)
        scores = scores_of(estimator, X)
        queries = self._groups_of(X, groups)
        if len(queries) != len(labels):
            raise InvalidData(
                f"{len(queries)} groups for {len(labels)} rows; give one for each row"
            )
        columns = {"query_id": queries, self._means.setup.roles.score: scores, "label": labels}
        series = {name: pl.Series(values) for name, values in columns.items()}
        per_query = self._means.per_query(pl.DataFrame(series))
        mean = self._means.over(per_query)[call.text]
        return mean if call.higher_is_better else -mean

    def _groups_of(self, X: Any, routed: Any) -> Array:  # noqa: N803 - scikit-learn's name
        """The query of each row."""
        group: Any = self._group
        if routed is not None:
            return np.asarray(routed)
        if group is None:
            raise InvalidData(
                "the rows have no groups; write sklearn_scorer(..., group=column of X)"
            )
        if callable(group):
            return np.asarray(group(X))
        if isinstance(group, str):
            if group not in getattr(X, "columns", ()):
                raise InvalidData(f"X has no column {group!r}; name one of its columns")
            return np.asarray(X[group])
        if not hasattr(group, "loc"):
            raise InvalidData(
                f"group={shown(group)} has no index to find the rows of a fold by; write "
                "group=pd.Series(queries, index=X.index)"
            )
        if not hasattr(X, "index"):
            raise InvalidData(
                "X has no index to find the groups of a fold by; give a pandas DataFrame, or a "
                "function of X as group"
            )
        return np.asarray(group.loc[X.index])

    def get_metadata_routing(self) -> Any:
        """What scikit-learn asks of scorers: this one takes `groups`, where `group` is None."""
        routing = import_module("sklearn.utils.metadata_routing")
        request = routing.MetadataRequest(owner=self)
        if self._group is None:
            request.score.add_request(param="groups", alias=True)
        return request

    def __repr__(self) -> str:
        return f"sklearn_scorer({self._means.names[0]!r})"


def scores_of(estimator: Any, X: Any) -> Array:  # noqa: N803 - scikit-learn's name
    """The scores by which an estimator ranks rows."""
    methods = (name for name in METHODS if hasattr(estimator, name))
    method = next(methods, "predict")
    function: Callable[[Any], Any] = getattr(estimator, method)
    scores = np.asarray(function(X), np.float64)
    if scores.ndim == 2 and scores.shape[1] == 2 and method == "predict_proba":
        return scores[:, 1]
    if scores.ndim == 2 and scores.shape[1] == 1:
        return scores[:, 0]
    if scores.ndim != 1:
        classes = scores.shape[-1]
        raise InvalidData(
            f"{type(estimator).__name__} tells {classes} classes apart, and a ranking needs one "
            "score for each row; give a regressor or a classifier of two classes"
        )
    return scores
