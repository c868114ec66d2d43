"""CatBoost's ``eval_metric`` and ``callbacks``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._catalog.requests import Request
from .._support.methods import called_by_users
from .._table.policies import Cutoff
from ..errors import InvalidData, InvalidOption, shown
from .arrays import Array, same
from .evaluation_set import EvaluationSet, Lists

OTHER_ROWS = -1.0
"""The value passed to CatBoost for rows outside the pool, since it takes no NaN."""


@called_by_users
def catboost_callback(
    *metrics: Request, pool: Any, table: object = None, patience: Cutoff | None = None, **options: object
) -> CatBoostCallback:
    """The metrics of a Pool after each iteration of CatBoost, which can stop the training.

    CatBoost passes predictions only to its ``eval_metric``, and without groups. So pass the callback twice:
    ``CatBoostRanker(eval_metric=callback)``, and ``model.fit(train, eval_set=pool, callbacks=[callback])``. The groups
    are those of `pool`. CatBoost's own ``early_stopping_rounds`` and ``use_best_model`` use the first metric.

    Parameters
    ----------
    *metrics
        Texts and functions, as for ``df.rank.evaluate``. CatBoost prints the first one and chooses the best model by
        it.
    pool
        The ``catboost.Pool`` that is the ``eval_set`` of the training, with group ids.
    table
        The evaluation set as a table, as for :func:`lightgbm_metric`: first the rows of `pool`, in its order.
    patience
        Stop when the first metric has not improved for this number of iterations. ``None``: CatBoost's own options
        decide.
    **options
        Policies, as for ``df.rank.on``; and, with `table`, names of its columns.

    Returns
    -------
    An object with CatBoost's methods of a metric and of a callback. ``history`` has the mean of each metric after each
    evaluation, by the metric's text; ``best_iteration`` is the number of the iteration, from 0 on, that is best by the
    first metric. Queries weigh alike, since a Pool does not tell the weights of its groups. CatBoost also calls its
    metric for the training rows, for which the callback returns -1.

    Raises
    ------
    UnknownMetric, InvalidOption, MissingColumn, InvalidData
        If a text names no metric, an option is out of its range, `pool` has no groups, or `table` lacks its rows:
        raised before the training. During the training CatBoost raises its own ``CatBoostError`` with rankframe's
        message if the callback is not its ``eval_metric``, or `pool` not its ``eval_set``.

    Examples
    --------
    CatBoost's part is played by hand here:

    >>> import numpy as np, rankframe as rf
    >>> class Pool:
    ...     def get_label(self):
    ...         return [0, 1, 0, 0]
    ...     def get_group_id_hash(self):
    ...         return [7, 7, 9, 9]
    >>> callback = rf.catboost_callback("ndcg@10", "rr", pool=Pool(), no_relevant="null")
    >>> callback.evaluate([np.array([0.9, 0.1, 0.5, 0.4])], np.array([0, 1, 0, 0]), None)
    (0.6309297535714574, 1.0)
    >>> from types import SimpleNamespace
    >>> callback.after_iteration(SimpleNamespace(iteration=1))
    True
    >>> callback.history
    {'ndcg@10': [0.6309297535714574], 'rr': [0.5]}
    """
    lists = Lists.read(catboost_callback, metrics, table, options)
    if not (hasattr(pool, "get_label") and hasattr(pool, "get_group_id_hash")):
        raise InvalidData(f"pool={shown(pool)} is no Pool; give the catboost.Pool that is the eval_set of the training")
    groups = pool.get_group_id_hash()
    if groups is None:
        raise InvalidData(
            "the rows of `pool` have no groups; give the query of each row, as in Pool(..., group_id=queries)"
        )
    labels, groups = np.asarray(pool.get_label(), dtype=np.float64), np.asarray(groups)
    starts = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
    sizes = np.diff(np.append(starts, len(groups)))
    return CatBoostCallback(lists.set_of(labels, sizes, None), labels, patience)


class CatBoostCallback:
    """Metrics of a Pool with CatBoost's methods of a metric and a callback; :func:`catboost_callback` makes it.

    Attributes
    ----------
    history
        The mean of each metric after each evaluation, by the metric's text.
    best_iteration
        The number of the iteration, from 0 on, with the best value of the first metric; ``None`` before the first.
    """

    no_jit = True  # keeps CatBoost from compiling `evaluate` with Numba

    def __init__(self, evaluated: EvaluationSet, labels: Array, patience: int | None) -> None:
        self._evaluated = evaluated
        self._labels = labels.astype(np.float32)  # as CatBoost keeps them
        self._patience = patience
        self._first = evaluated.means.calls[0]
        self._latest: dict[str, float] | None = None
        self._start()

    def __deepcopy__(self, memo: object) -> CatBoostCallback:  # CatBoost copies its metric, which is this callback
        return self

    def _start(self) -> None:
        self.history: dict[str, list[float]] = {name: [] for name in self._evaluated.means.names}
        self.best_iteration: int | None = None
        self._best = 0.0
        self._last = 0

    def is_max_optimal(self) -> bool:
        """Whether a higher value of the first metric is better."""
        return self._first.higher_is_better

    def is_additive(self) -> bool:
        """False: CatBoost then passes all rows at once."""
        return False

    def evaluate(self, approxes: Sequence[object], target: object, weight: object) -> tuple[float, float]:
        """The first metric under the predictions for the pool, and the weight 1."""
        if not same(np.asarray(target, dtype=np.float32), self._labels):
            return OTHER_ROWS, 1.0
        self._latest = self._evaluated.of(approxes[0])
        return self._latest[self._first.text], 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        """The metric that `evaluate` returned."""
        return error

    def after_iteration(self, info: Any) -> bool:
        """Record the metrics, and return whether to continue."""
        if info.iteration <= self._last:  # another training
            self._start()
        self._last = info.iteration
        found, self._latest = self._latest, None
        if found is not None:
            self._note(found, info.iteration - 1)
        if self.best_iteration is None:
            raise InvalidOption(
                "CatBoost showed no predictions for `pool`, as it shows them to its metric alone; write "
                "CatBoostRanker(eval_metric=callback) with this callback, and fit(..., eval_set=pool) with its pool"
            )
        return self._patience is None or info.iteration - 1 - self.best_iteration < self._patience

    def _note(self, found: dict[str, float], iteration: int) -> None:
        for name, value in found.items():
            self.history[name].append(value)
        value = found[self._first.text]
        if self.best_iteration is None or (value > self._best if self.is_max_optimal() else value < self._best):
            self.best_iteration, self._best = iteration, value

    def __repr__(self) -> str:
        return f"catboost_callback({', '.join(map(repr, self._evaluated.means.names))})"
