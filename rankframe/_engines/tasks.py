"""Workers' tasks on a part: functions of Polars frames that can be pickled."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

import polars as pl

from .._plan.per_query import LARGEST, measure
from .._table.setup import Setup
from .._table.table import Whole, in_memory
from .._verbs.declaration import Mergeable, VerbCall

F = TypeVar("F")


class Work(Protocol):
    """A task on a part of a table, and on the part of a second table with the same keys."""

    @abstractmethod
    def __call__(self, frame: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
        """The result for the part."""

    @property
    @abstractmethod
    def kept(self) -> Mapping[str, str]:
        """The result's columns taken from the first table, by their names there; they keep their types."""


class Frames(Protocol[F]):
    """A worker's kind of frames."""

    @abstractmethod
    def run(self, call: VerbCall, frame: F, setup: Setup, whole: Whole) -> F:
        """Run a verb on a frame, a part of a table."""

    @abstractmethod
    def for_each(self, runs: pl.DataFrame, qrels: F, frame: F) -> F:
        """The judgments, repeated for each of the runs, which have the dtypes of the frame."""


class PolarsFrames:
    """Frames as the verbs take them."""

    def run(self, call: VerbCall, frame: pl.DataFrame, setup: Setup, whole: Whole) -> pl.DataFrame:
        """Run the verb."""
        found: pl.DataFrame = call.on(in_memory(frame, setup, whole))
        return found

    def for_each(self, runs: pl.DataFrame, qrels: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
        """A cross join."""
        return runs.join(qrels, how="cross")


@dataclass(frozen=True)
class OnQueries:
    """A verb that works query by query.

    Attributes
    ----------
    call, setup
        The call of the verb, and the setup.
    whole
        Facts of the whole table.
    judging
        The task that joins the part with its judgments before the verb runs.
    runs
        For a join: all runs of the whole table, if judgments hold for each.
    """

    call: VerbCall
    setup: Setup
    whole: Whole = Whole()  # noqa: RUF009 - frozen
    judging: OnQueries | None = None
    runs: pl.DataFrame | None = None

    def __call__(self, frame: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
        return self.on(PolarsFrames(), frame, *others)

    def on(self, kind: Frames[F], frame: F, *others: F) -> F:
        """The result for frames of a kind; a join takes a second one."""
        if self.judging is not None:
            frame, others = self.judging.on(kind, frame, *others), ()
        call = self.call
        for other in others:
            call = call.changed(qrels=other if self.runs is None else kind.for_each(self.runs, other, frame))
        return kind.run(call, frame, self.setup, self.whole)

    @property
    def kept(self) -> Mapping[str, str]:
        """The query columns of a per-query result; of new rows, also document and label."""
        roles, gives = self.setup.roles, self.call.verb.gives
        names = {"query": roles.query, "list": (*roles.query, roles.doc_name, roles.label)}.get(gives, ())
        return {name: name for name in names if name is not None}


def _joined(judging: OnQueries | None, frame: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
    return frame if judging is None else judging(frame, *others)


@dataclass(frozen=True)
class Partial:
    """The figures of a part, which holds whole queries."""

    figures: Mergeable
    judging: OnQueries | None = None

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
    judging: OnQueries | None = None

    def __call__(self, frame: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
        label = pl.col(self.setup.roles.label)
        if self.ranked:
            frame = measure(_joined(self.judging, frame, *others), self.setup, LARGEST)
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
