"""Workers' tasks on a part: functions of Polars frames that can be pickled."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import polars as pl

from .._plan.per_query import LARGEST, measure
from .._table.setup import Setup
from .._verbs import verbs
from .._verbs.declaration import Mergeable, verb_of

__all__ = ["Distinct", "Judging", "LargestLabel", "Merged", "OnQueries", "Partial", "Work"]


class Work(Protocol):
    """A task on a part of a table, and on the part of a second table with the same keys."""

    @abstractmethod
    def __call__(self, frame: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
        """The result for the part."""

    @property
    @abstractmethod
    def kept(self) -> Mapping[str, str]:
        """The result's columns taken from the first table, by their names there; they keep their types."""


@dataclass(frozen=True)
class Judging:
    """The join of a run and its judgments.

    Attributes
    ----------
    setup
        The roles of columns, and the policies.
    judged_only, run_only
        Treatment of queries that only one table has.
    runs
        All runs of the whole table, if judgments hold for each.
    """

    setup: Setup
    judged_only: verbs.Missing
    run_only: verbs.Missing
    runs: pl.DataFrame | None = None

    def __call__(self, run: pl.DataFrame, qrels: pl.DataFrame) -> pl.DataFrame:
        if self.runs is not None:
            qrels = self.runs.join(qrels, how="cross")
        judged = verbs.judge(run, self.setup, qrels, None, self.judged_only, self.run_only, part=True)
        return judged.lazy().collect()


def _joined(judging: Judging | None, frame: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
    return frame if judging is None else judging(frame, *others)


@dataclass(frozen=True)
class OnQueries:
    """A verb that works query by query; `runs` are those of a join, as for :class:`Judging`."""

    function: Callable[..., pl.DataFrame]
    setup: Setup
    args: tuple[Any, ...]
    judging: Judging | None = None
    runs: pl.DataFrame | None = None
    largest_label: float | None = None

    @property
    def known(self) -> Mapping[str, float]:
        """The largest label as a keyword argument."""
        return {} if self.largest_label is None else {"largest_label": self.largest_label}

    def __call__(self, frame: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
        if self.judging is not None:
            frame, others = self.judging(frame, *others), ()
        if self.runs is not None:
            others = tuple(self.runs.join(other, how="cross") for other in others)
        return self.function(frame, self.setup, *others, *self.args, **self.known)

    @property
    def kept(self) -> Mapping[str, str]:
        """The query columns of a per-query result; else none."""
        return {name: name for name in self.setup.roles.query if verb_of(self.function).gives == "query"}


@dataclass(frozen=True)
class Partial:
    """The figures of a part, which holds whole queries."""

    figures: Mergeable
    judging: Judging | None = None

    def __call__(self, frame: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
        return self.figures.part(_joined(self.judging, frame, *others))

    @property
    def kept(self) -> Mapping[str, str]:
        """The slices, under internal names."""
        return self.figures.slices


@dataclass(frozen=True)
class Merged:
    """Merge the figures of parts."""

    figures: Mergeable

    def __call__(self, frame: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
        return self.figures.merge(frame)

    @property
    def kept(self) -> Mapping[str, str]:
        """The slices, under the caller's names."""
        return {name: at for at, name in self.figures.slices.items()}


@dataclass(frozen=True)
class LargestLabel:
    """The largest label of a part: of its rows, or of the documents that count in a ranking of whole queries."""

    setup: Setup
    ranked: bool
    judging: Judging | None = None

    def __call__(self, frame: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
        label = pl.col(self.setup.roles.label)
        if self.ranked:
            frame = measure(_joined(self.judging, frame, *others), self.setup, LARGEST).lazy().collect()
            label = pl.col(LARGEST.text)
        label = label.cast(pl.Float64)
        return frame.select(label.filter(label.is_finite()).max().alias("largest_label"))

    @property
    def kept(self) -> Mapping[str, str]:
        """No column of the table."""
        return {}


@dataclass(frozen=True)
class Distinct:
    """The distinct values of columns in a part."""

    names: tuple[str, ...]

    def __call__(self, frame: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
        return frame.select(self.names).unique(maintain_order=True)

    @property
    def kept(self) -> Mapping[str, str]:
        """All columns."""
        return {name: name for name in self.names}
