"""The rows that a trainer predicts, as a table that is made once and gets new scores in each iteration."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from .._catalog.requests import Request
from .._support.forks import use_polars
from ..errors import InvalidData
from .arrays import Array, same
from .means import Means, read


def logged(text: str) -> str:
    """The name under which a booster logs a metric: none of its own ends so.

    It starts with the metric's, since XGBoost maximizes what starts with ndcg, map, pre or auc; a colon ends a name there.
    """
    return f"{text.replace(':', '=')}_rankframe"


@dataclass(frozen=True)
class EvaluationSet:
    """Metrics of a table to which a trainer gives the scores.

    Attributes
    ----------
    means
        The metrics.
    frame
        The predicted rows, in the trainer's order, then rows without a prediction.
    n
        The number of predicted rows.
    weights
        The weight of each query of the table, in the order of their first rows; ``None`` weighs them alike.
    """

    means: Means
    frame: pl.DataFrame
    n: int
    weights: pl.Series | None = None

    def of(self, predictions: object) -> dict[str, float]:
        """The metrics' means under the predictions, by their texts."""
        use_polars()
        scores = pl.Series(np.asarray(predictions, dtype=np.float64).reshape(-1))
        if len(scores) != self.n:
            raise InvalidData(f"{len(scores)} predictions for {self.n} rows; a ranker predicts one number for each row")
        scored = scores.extend_constant(None, self.frame.height - self.n).alias(self.means.setup.roles.score)
        return self.means.over(self.means.per_query(self.frame.with_columns(scored)), self.weights)


@dataclass(frozen=True)
class Lists:
    """Makes evaluation sets from a trainer's labels and groups.

    Attributes
    ----------
    means
        The metrics.
    table
        The user's table of the rows, with ids, and with documents that the first stage missed; ``None`` uses the
        trainer's groups only.
    """

    means: Means
    table: pl.DataFrame | None

    @classmethod
    def read(
        cls, caller: Callable[..., object], metrics: Sequence[Request], table: object, options: dict[str, object]
    ) -> Lists:
        """Check the metrics, options and table given to a hook."""
        means = Means.of(caller, metrics, options, table=table is not None)
        if table is None:
            means.check(pl.DataFrame(schema={"query_id": pl.Int64, "label": pl.Float64}))
            return cls(means, None)
        roles = means.setup.roles
        frame = read(table, means.columns - {roles.score}, "table")
        means.check(frame)
        return cls(means, frame)

    def set_of(self, labels: Array, sizes: Array, weights: Array | None) -> EvaluationSet:
        """The evaluation set of a trainer's labels, group sizes, and weights of rows."""
        if sizes.sum() != len(labels):
            raise InvalidData(f"the groups have {sizes.sum()} rows, and there are {len(labels)} labels")
        sizes = sizes[sizes > 0]
        group = np.repeat(np.arange(len(sizes)), sizes)
        if self.table is None:
            frame = pl.DataFrame({"query_id": group, "label": labels.astype(np.float64)})
        else:
            frame = self.table
            self._refuse_others(labels, group)
        if weights is None:
            return EvaluationSet(self.means, frame, len(labels))
        starts = np.cumsum(sizes) - sizes
        by_group = np.add.reduceat(weights.astype(np.float64), starts) / sizes
        return EvaluationSet(self.means, frame, len(labels), self._by_query(pl.Series(by_group), group, frame))

    def _by_query(self, weights: pl.Series, group: Array, frame: pl.DataFrame) -> pl.Series:
        """The weight of each query of the frame; a query without predicted rows weighs 1."""
        query = list(self.means.setup.roles.query)
        of_rows = weights.gather(group).extend_constant(None, frame.height - len(group)).alias("#weight")
        found = (
            frame.select(*query, of_rows)
            .group_by(query, maintain_order=True)
            .agg(pl.col("#weight").drop_nulls().first())
        )
        return found["#weight"].fill_null(1.0)

    def _refuse_others(self, labels: Array, group: Array) -> None:
        """Refuse labels and groups that differ from the table's first rows."""
        roles, table = self.means.setup.roles, self.table
        assert table is not None  # noqa: S101 - the caller checks it
        order = "give the rows that are predicted for in the trainer's order, and below them those without a prediction"
        if len(labels) > table.height:
            raise InvalidData(f"there are {len(labels)} predictions, and `table` has {table.height} rows; {order}")
        own = table.head(len(labels))
        wrong = np.flatnonzero(own[roles.label].cast(pl.Float32).to_numpy() != labels.astype(np.float32))
        if len(wrong):
            row = int(wrong[0])
            raise InvalidData(
                f"row {row} of `table` has the label {own[roles.label][row]!r}, and that of the trainer {labels[row]:g}; {order}"
            )
        runs = own.select(pl.struct(roles.query).rle_id().cast(pl.Int64)).to_series().to_numpy()
        apart = np.flatnonzero(runs != group)
        if len(apart):
            raise InvalidData(
                f"row {int(apart[0])} of `table` begins or continues a query where the trainer's groups do not; {order}"
            )


class SetCache:
    """A cache of evaluation sets by the trainer's data object, while that lives and its arrays stay equal."""

    def __init__(self) -> None:
        self._sets: dict[int, tuple[weakref.ref[object], tuple[Array | None, ...], EvaluationSet]] = {}

    def __reduce__(self) -> Any:  # a pickled or copied cache is empty
        return SetCache, ()

    def of(self, given: object, make: Callable[..., EvaluationSet], *arrays: Array | None) -> EvaluationSet:
        """The evaluation set that `make` makes from the arrays, cached while they are equal."""
        key = id(given)
        found = self._sets.get(key)
        if found is not None and found[0]() is given and all(map(same, found[1], arrays)):
            return found[2]
        made = make(*arrays)
        copies = tuple(None if x is None else x.copy() for x in arrays)
        sets = self._sets
        sets[key] = weakref.ref(given, lambda gone: sets.pop(key, None)), copies, made
        return made
