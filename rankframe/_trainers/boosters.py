"""The metrics in LightGBM, XGBoost and CatBoost: one object that evaluates predictions, and what
each booster passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
import polars as pl

from .._catalog.requests import Request
from .._shapes.arrays import Array
from .._shapes.lists import own_columns
from .._support.methods import called_by_users
from .._support.threads import use_polars
from .._table.policies import Cutoff
from ..errors import InvalidData, InvalidOption, shown
from .means import MetricMeans

V = TypeVar("V")
OneOrAll: TypeAlias = V | list[V]

OTHER_ROWS = -1.0
"""The value passed to CatBoost for rows outside the pool, since it takes no NaN."""


@called_by_users
def lightgbm_metric(*metrics: Request, table: object = None, **options: object) -> LightGBMMetric:
    """The metrics for LightGBM: ``feval`` of ``lightgbm.train``, ``eval_metric`` of
    ``LGBMRanker.fit``.

    Set ``metric="None"`` among LightGBM's parameters, so that only these metrics stop the training.

    Parameters
    ----------
    *metrics
        Texts and functions, as for ``df.rank.evaluate``.
    table
        The evaluation set as a Polars or pandas frame: first the rows of the Dataset, in its order,
        and below them the rows without a prediction, such as relevant documents that the first
        stage missed. It has the ids of documents, which order ties. ``None`` for the Dataset's own
        labels and groups; ties then keep the order of the rows.
    **options
        Policies, as for ``df.rank.on``: ``convention``, ``ties``, ``relevant``, ``no_relevant``
        ...; and, with `table`, names of its columns.

    Returns
    -------
    A function. LightGBM calls it with the predictions and the Dataset, or with labels, predictions,
    weights and group sizes. It returns a name, the metric's mean over the queries and whether
    higher is better; a list of these for several metrics. The name is the metric's text with
    ``_rankframe`` behind it, since LightGBM's own ``ndcg@10`` is another number, and with ``=`` in
    place of ``:``. Weights of rows weigh the mean: a query weighs as much as its rows do on average
    (in LightGBM's own nDCG, queries without gain weigh 1).

    Raises
    ------
    UnknownMetric, InvalidOption, MissingColumn
        If a text names no metric, an option is out of its range, or `table` lacks a column: raised
        before the training.
    InvalidData
        During the training, if the Dataset has no groups, its rows are not those of `table`, or no
        query has a value.

    Examples
    --------
    >>> import numpy as np, rankframe as rf
    >>> metric = rf.lightgbm_metric("ndcg@10", "rr", no_relevant="null")
    >>> labels, predictions = np.array([0, 1, 0, 0]), np.array([0.9, 0.1, 0.5, 0.4])
    >>> group = np.array([2, 2])
    >>> metric(labels, predictions, None, group)
    [('ndcg@10_rankframe', 0.6309297535714574, True), ('rr_rankframe', 0.5, True)]
    """
    has_table = table is not None
    means = MetricMeans.of(lightgbm_metric, metrics, options, table=has_table)
    return LightGBMMetric(means, table)


@called_by_users
def xgboost_metric(*metrics: Request, table: object = None, **options: object) -> XGBoostMetric:
    """The metrics for XGBoost: ``custom_metric`` of ``xgboost.train`` and ``xgboost.cv``.

    Set ``disable_default_eval_metric`` to 1 among XGBoost's parameters, so that only these metrics
    are evaluated. Say which way is better, ``xgboost.callback.EarlyStopping(rounds=30,
    maximize=True)``: XGBoost guesses from the name otherwise, and takes ``rr`` and ``recall`` for
    losses.

    Parameters
    ----------
    *metrics
        Texts and functions, as for ``df.rank.evaluate``.
    table
        The evaluation set as a table, as for :func:`lightgbm_metric`: first the rows of the
        DMatrix, in its order.
    **options
        Policies, as for ``df.rank.on``; and, with `table`, names of its columns.

    Returns
    -------
    A function. XGBoost calls it with the predictions and the DMatrix, whose groups it reads. It
    returns the metric's name and its mean over the queries; a list of these for several metrics.
    The name is the text of the metric with ``_rankframe`` behind it, since XGBoost's own
    ``ndcg@10`` is another number, and with ``=`` in place of ``:``, which ends a name in XGBoost.
    Weights of the queries weigh the mean (in XGBoost's own nDCG, the weights of queries without
    gain are 1). XGBoost rounds the returned values to six decimals.

    Raises
    ------
    UnknownMetric, InvalidOption, MissingColumn
        If a text names no metric, an option is out of its range, or `table` lacks a column: raised
        before the training.
    InvalidData
        During the training, if the DMatrix has no groups, its rows are not those of `table`, or no
        query has a value; or if an ``XGBRanker`` calls the function, which passes one query at a
        time, and no DMatrix.

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
    has_table = table is not None
    means = MetricMeans.of(xgboost_metric, metrics, options, table=has_table)
    return XGBoostMetric(means, table)


@called_by_users
def catboost_callback(
    *metrics: Request,
    pool: Any,
    table: object = None,
    patience: Cutoff | None = None,
    **options: object,
) -> CatBoostCallback:
    """The metrics of a Pool after each iteration of CatBoost, which can stop the training.

    CatBoost passes predictions only to its ``eval_metric``, and without groups. So pass the
    callback twice: ``CatBoostRanker(eval_metric=callback)``, and ``model.fit(train, eval_set=pool,
    callbacks=[callback])``. The groups are those of `pool`. CatBoost's own
    ``early_stopping_rounds`` and ``use_best_model`` use the first metric.

    Parameters
    ----------
    *metrics
        Texts and functions, as for ``df.rank.evaluate``. CatBoost prints the first one and chooses
        the best model by it.
    pool
        The ``catboost.Pool`` that is the ``eval_set`` of the training, with group ids.
    table
        The evaluation set as a table, as for :func:`lightgbm_metric`: first the rows of `pool`, in
        its order.
    patience
        Stop when the first metric has not improved for this number of iterations. ``None``:
        CatBoost's own options decide.
    **options
        Policies, as for ``df.rank.on``; and, with `table`, names of its columns.

    Returns
    -------
    An object with CatBoost's methods of a metric and of a callback. ``history`` has the mean of
    each metric after each evaluation, by the metric's text; ``best_iteration`` is the number of the
    iteration, from 0 on, that is best by the first metric. Queries weigh alike, since a Pool does
    not tell the weights of its groups. CatBoost also calls its metric for the training rows, for
    which the callback returns -1.

    Raises
    ------
    UnknownMetric, InvalidOption, MissingColumn, InvalidData
        If a text names no metric, an option is out of its range, `pool` has no groups, or `table`
        lacks its rows: raised before the training. During the training CatBoost raises its own
        ``CatBoostError`` with rankframe's message if the callback is not its ``eval_metric``, or
        `pool` not its ``eval_set``.

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
    has_table = table is not None
    means = MetricMeans.of(catboost_callback, metrics, options, table=has_table)
    return CatBoostCallback(means, table, pool, patience)


class BoosterMetric:
    """Metrics of the predictions of a booster; each subclass reads what one booster passes.

    A table, if the user gives one, has the ids of the rows, and documents that the first stage
    missed.
    """

    call: ClassVar[str]
    """The function that makes the object."""
    takes: ClassVar[str]
    """How the booster takes groups."""

    def __init__(self, means: MetricMeans, table: object) -> None:
        self._means = means
        self._first = means.calls[0]
        self._table: pl.DataFrame | None = None
        no_rows = pl.DataFrame(schema={"query_id": pl.Int64, "label": pl.Float64})
        if table is not None:
            columns = means.columns - {means.setup.roles.score}
            self._table = own_columns(table, columns, "table")
        means.check(no_rows if self._table is None else self._table)

    def _groups(self, given: object) -> Array:
        """The groups of the rows, which the booster may lack."""
        groups = np.asarray([] if given is None else given)
        if not len(groups):
            raise InvalidData(f"the rows to evaluate have no groups; write {self.takes}")
        return groups

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self._means.names))
        return f"{self.call}({names})"

    def _evaluate(
        self, predictions: object, labels: Array, sizes: Array, weights: object = None
    ) -> dict[str, float]:
        """The metrics' means by their texts, under the predictions; labels, sizes of groups and
        weights are of the rows.
        """
        use_polars()
        sizes = sizes[sizes > 0]
        frame = self._rows(labels, sizes)
        scores = np.asarray(predictions, np.float64).reshape(-1)
        n_rows = len(labels)
        if len(scores) != n_rows:
            raise InvalidData(f"{len(scores)} predictions for {n_rows} rows; give one for each row")
        roles = self._means.setup.roles
        n_below = frame.height - n_rows
        score = pl.Series(roles.score, scores).extend_constant(None, n_below)
        frame = frame.with_columns(score)
        if weights is None:
            return self._means.over(self._means.per_query(frame))
        starts = np.cumsum(sizes) - sizes
        sums = np.add.reduceat(np.asarray(weights, np.float64), starts)
        of_rows = pl.Series("#weight", np.repeat(sums / sizes, sizes))
        frame = frame.with_columns(of_rows.extend_constant(None, n_below))
        # A query without a prediction weighs 1.
        of_query = pl.col("#weight").drop_nulls().first().fill_null(1.0)
        queries = frame.group_by(roles.query, maintain_order=True).agg(of_query)
        return self._means.over(self._means.per_query(frame), queries["#weight"])

    def _rows(self, labels: Array, sizes: Array) -> pl.DataFrame:
        """The table of the rows; refuse labels and groups that differ from the first rows of the
        user's table.
        """
        n_rows = len(labels)
        if sizes.sum() != n_rows:
            raise InvalidData(f"the groups have {sizes.sum()} rows, and there are {n_rows} labels")
        query = np.repeat(np.arange(len(sizes)), sizes)
        table = self._table
        if table is None:
            return pl.DataFrame({"query_id": query, "label": labels.astype(np.float64)})
        order = (
            "first come the trainer's rows, in its order, and below them those without a prediction"
        )
        if n_rows > table.height:
            raise InvalidData(
                f"there are {n_rows} predictions, and `table` has {table.height} rows; {order}"
            )
        roles = self._means.setup.roles
        first_rows = table.head(n_rows)
        own_labels = first_rows[roles.label]
        is_other = own_labels.cast(pl.Float32).to_numpy() != labels.astype(np.float32)
        for row in np.flatnonzero(is_other)[:1]:
            given = (
                f"has the label {own_labels[int(row)]!r}, and that of the trainer {labels[row]:g}"
            )
            raise InvalidData(f"row {row} of `table` {given}; {order}")
        run_of_row = first_rows.select(pl.struct(roles.query).rle_id()).to_series()
        is_cut = run_of_row.to_numpy() != query
        for row in np.flatnonzero(is_cut)[:1]:
            raise InvalidData(
                f"row {row} of `table` begins or continues a query where no group does so; {order}"
            )
        return table


class LightGBMMetric(BoosterMetric):
    """Metrics as a function of predictions and a Dataset; :func:`lightgbm_metric` makes it."""

    call = "lightgbm_metric"
    takes = "Dataset(..., group=sizes) or fit(..., eval_group=[sizes])"

    def __call__(
        self, first: Any, second: Any, weight: object = None, group: object = None
    ) -> OneOrAll[tuple[str, float, bool]]:
        """The metrics; LightGBM passes weights and groups because it counts four parameters."""
        if hasattr(second, "get_group"):
            predictions, dataset = first, second
            labels = dataset.get_label()
            weight = dataset.get_weight()
            group = dataset.get_group()
        else:
            labels, predictions = first, second
        sizes = self._groups(group)
        means = self._evaluate(predictions, np.asarray(labels), sizes, weight)
        results = []
        for call in self._means.calls:
            result = (logged(call.text), means[call.text], call.higher_is_better)
            results.append(result)
        return one_or_all(results)


class XGBoostMetric(BoosterMetric):
    """Metrics as a function of predictions and a DMatrix; :func:`xgboost_metric` makes it."""

    call = "xgboost_metric"
    takes = "DMatrix(..., qid=queries)"
    __name__ = "rankframe"

    def __call__(self, predictions: object, matrix: Any) -> OneOrAll[tuple[str, float]]:
        """The metrics."""
        if not hasattr(matrix, "get_uint_info"):
            kind = type(matrix).__name__
            instead = (
                "XGBRanker passes each query alone; write xgboost.train(..., custom_metric=...)"
            )
            raise InvalidData(f"{kind} is no DMatrix; {instead}")
        ends = np.asarray(matrix.get_uint_info("group_ptr")).astype(np.int64)
        sizes = self._groups(np.diff(ends))
        weights = np.asarray(matrix.get_weight())
        if len(weights) == len(sizes):
            weights = np.repeat(weights, sizes)
        of_rows = weights if len(weights) else None
        labels = np.asarray(matrix.get_label())
        means = self._evaluate(predictions, labels, sizes, of_rows)
        results = [(logged(text), value) for text, value in means.items()]
        return one_or_all(results)


class CatBoostCallback(BoosterMetric):
    """Metrics of a Pool with CatBoost's methods of a metric and a callback;
    :func:`catboost_callback` makes it.

    Attributes
    ----------
    history
        The mean of each metric after each evaluation, by the metric's text.
    best_iteration
        The number of the iteration, from 0 on, with the best value of the first metric; ``None``
        before the first.
    """

    call = "catboost_callback"
    takes = "Pool(..., group_id=queries)"
    no_jit = True  # keeps CatBoost from compiling `evaluate` with Numba

    def __init__(self, means: MetricMeans, table: object, pool: Any, patience: int | None) -> None:
        super().__init__(means, table)
        if not (hasattr(pool, "get_label") and hasattr(pool, "get_group_id_hash")):
            raise InvalidData(f"pool={shown(pool)} is no Pool; give the eval_set of the training")
        groups = self._groups(pool.get_group_id_hash())
        is_start = np.append(True, groups[1:] != groups[:-1])
        starts = np.flatnonzero(is_start)
        self._labels = np.asarray(pool.get_label(), dtype=np.float64)
        self._sizes = np.diff(np.append(starts, len(groups)))
        self._rows(self._labels, self._sizes)
        self._patience = patience
        self._latest: dict[str, float] = {}
        self._start()

    def __deepcopy__(self, memo: object) -> CatBoostCallback:
        # CatBoost copies its metric, which is this callback.
        return self

    def _start(self) -> None:
        self.history: dict[str, list[float]] = {name: [] for name in self._means.names}
        self.best_iteration: int | None = None
        self._best = -np.inf
        self._last = 0

    def is_max_optimal(self) -> bool:
        """Whether a higher value of the first metric is better."""
        return self._first.higher_is_better

    def is_additive(self) -> bool:
        """False: CatBoost then passes all rows at once."""
        return False

    def evaluate(
        self, approxes: Sequence[object], target: object, weight: object
    ) -> tuple[float, float]:
        """The first metric under the predictions for the pool, and the weight 1."""
        labels = self._labels.astype(np.float32)  # as CatBoost has them
        if not np.array_equal(np.asarray(target, np.float32), labels):
            return OTHER_ROWS, 1.0
        self._latest = self._evaluate(approxes[0], self._labels, self._sizes)
        return self._latest[self._first.text], 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        """The metric that `evaluate` returned."""
        return error

    def after_iteration(self, info: Any) -> bool:
        """Record the metrics, and return whether to continue."""
        if info.iteration <= self._last:  # another training
            self._start()
        self._last = info.iteration
        values = self._latest
        self._latest = {}
        for name, value in values.items():
            self.history[name].append(value)
        if values:
            self._keep_best(values[self._first.text])
        if self.best_iteration is None:
            both = (
                "CatBoostRanker(eval_metric=callback) and fit(..., eval_set=pool), with this "
                "callback and its pool"
            )
            says = "CatBoost shows predictions to its metric alone, and showed none for `pool`"
            raise InvalidOption(f"{says}; write {both}")
        n_without_gain = info.iteration - 1 - self.best_iteration
        return self._patience is None or n_without_gain < self._patience

    def _keep_best(self, value: float) -> None:
        """Keep the last iteration if it is the best by the first metric."""
        gain = value if self.is_max_optimal() else -value
        if gain > self._best:
            self._best = gain
            self.best_iteration = self._last - 1


def logged(text: str) -> str:
    """The name under which a booster logs a metric: none of its own ends so.

    It starts with the metric's, since XGBoost maximizes what starts with ndcg, map, pre or auc; a
    colon ends a name there.
    """
    return f"{text.replace(':', '=')}_rankframe"


def one_or_all(values: list[V]) -> OneOrAll[V]:
    """A list of several metrics, a single one alone, as boosters take them."""
    return values if len(values) > 1 else values[0]
