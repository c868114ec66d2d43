"""Runs: score columns of the same rows, a column that names the run of each row, or a table for
each run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeAlias

import polars as pl

from .._support.option_kinds import Column, ColumnNames, ReadInside, check
from ..errors import InvalidData, InvalidOption, Text, judge, on, option
from .roles import require
from .setup import Setup
from .steps import to_name
from .table import refuse_names

TheRuns: TypeAlias = Annotated[Sequence[Column] | Mapping[Column, object], ReadInside]
"""The columns of the runs' scores, or a table for each run."""

RUN = "#run"
"""The column of the runs' names in the results for several runs."""


RUN_OF_TABLE = "run"
"""The column of the runs' names if each run is a table."""

WHICH_RUNS: tuple[Text, ...] = (
    "name the runs: ", option(runs=["bm25", "ltr"]), ", columns of scores, or ", option(run="system"),
    ", the column that names the run of each row",
)  # fmt: skip
"""The advice for a call that names no runs, or names them in two ways."""


@dataclass(frozen=True)
class Runs:
    """The runs of a table; by default one, with the ranker's own scores.

    Attributes
    ----------
    scores
        The score columns, one of each run.
    column
        Instead: the column that names the run of each row.
    tables
        The tables of the runs by their names; a front concatenates them, with that column.
    """

    scores: tuple[str, ...] = ()
    column: str | None = None
    tables: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.scores and self.column is not None:
            raise InvalidOption(*WHICH_RUNS, "; not both")
        if len(set(self.scores)) < len(self.scores):
            raise InvalidOption(
                option(runs=list(self.scores)), " names a column twice; name each once"
            )

    @classmethod
    def of(cls, runs: Runs | TheRuns | None = None, run: str | None = None) -> Runs:
        """The runs that a caller names."""
        if isinstance(runs, Runs):
            return runs
        if isinstance(runs, Mapping) and runs:
            if run is not None:
                says = (
                    " names the run of each row of one table; leave it out beside a table for "
                    "each run"
                )
                raise InvalidOption(option(run=run), says)
            return cls(column=RUN_OF_TABLE, tables=runs)
        scores = check("runs", runs, Sequence[Column] | Mapping[Column, object] | None)
        return cls(tuple(scores or ()), check("run", run, Column | None))

    def required(self) -> Runs:
        """These runs, which a call must name."""
        if not self.columns:
            raise InvalidOption(*WHICH_RUNS)
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that are named."""
        return (*self.scores, *self.key)

    @property
    def key(self) -> tuple[str, ...]:
        """The column that names the run of each row, if any."""
        return () if self.column is None else (self.column,)

    def names(self, frame: pl.DataFrame | pl.LazyFrame) -> list[str]:
        """The names of the runs: score columns as they are named, or the values of a column by
        first appearance.
        """
        if self.column is None:
            return list(self.scores)
        require(frame.collect_schema(), self.column, "run")
        column = pl.col(self.column).unique(maintain_order=True).cast(pl.String)
        return (
            frame.lazy()
            .select(column)
            .collect(engine="in-memory")
            .to_series()
            .drop_nulls()
            .to_list()
        )

    def named(self, found: pl.DataFrame) -> list[str]:
        """The runs' names, in the order of a result that has a column of them."""
        return list(self.scores or found[RUN].unique(maintain_order=True))

    def queries(self, setup: Setup) -> Setup:
        """The setup without the run's column among the query columns."""
        query = tuple(name for name in setup.roles.query if name not in self.key)
        if not query:
            raise InvalidOption(
                option(run=self.column), " is the only query column; say ", on(query=...), ", too"
            )
        return setup.changed(query=query)

    def apart(self, setup: Setup, by: tuple[str, ...]) -> tuple[dict[str, Setup], tuple[str, ...]]:
        """A setup per run by its name, and the slices; for a column of runs, one setup, and the run
        as the first slice.
        """
        if self.column is not None:
            key = (self.column, *self.queries(setup).roles.query)
            return {"": setup.changed(query=key)}, (
                self.column,
                *(name for name in by if name != self.column),
            )
        if not self.scores:
            return {"": setup}, by
        refuse_names([RUN_OF_TABLE], by, "by")
        return {score: setup.changed(score=score) for score in self.scores}, by

    def require(self, frame: pl.DataFrame, setup: Setup) -> None:
        """Refuse a table that lacks a column of the runs, and rows without the name of their
        run.
        """
        for name in self.scores:
            require(frame.schema, name, "runs")
        if self.column is not None:
            require(frame.schema, self.column, "run")
            if frame.schema[self.column].is_float() and (frame[self.column] % 1 != 0).any():
                others = [
                    name for name in (setup.roles.score, self.column) if name in frame.columns
                ]
                says = (
                    " is a column of fractions, which name no run; columns of scores are named by "
                )
                scores = others if len({*others}) > 1 else [self.column, ...]
                raise InvalidOption(option(run=self.column), says, option(runs=scores))
            if frame[self.column].has_nulls():
                raise InvalidData(_nameless(frame, setup, self.column))

    def judged_alike(self, frame: pl.DataFrame, setup: Setup) -> pl.DataFrame:
        """The rows, where each run in a column counts as judged on the queries that have a label in
        another run.

        A run that has only unjudged documents there has found none of the judged ones; their labels
        become -1.
        """
        label = setup.roles.label
        if (
            self.column is None
            or not {self.column, label} <= {*frame.columns}
            or not frame[label].has_nulls()
        ):
            return frame
        query, has_label = self.queries(setup).roles.query, pl.col(label).is_not_null()
        found_none = has_label.any().over(query) & ~has_label.any().over(self.column, *query)
        mask = frame.select(found_none).to_series()
        return (
            frame.with_columns(pl.when(mask).then(-1).otherwise(label).alias(label))
            if mask.any()
            else frame
        )

    def each(
        self,
        frame: pl.DataFrame,
        setup: Setup,
        by_query: Callable[[Setup], pl.DataFrame],
        only: str | None = None,
    ) -> pl.DataFrame:
        """Concatenate the tables that `by_query` makes under each run's setup, with the run's name
        in the first column.

        Runs in a column are computed in one call, since a metric may use the largest label of the
        whole table. `only` keeps the rows of one run.
        """
        self.require(frame, setup)
        if self.column is not None:
            found = by_query(setup.changed(query=(self.column, *self.queries(setup).roles.query)))
            found = found.select(
                pl.col(self.column).cast(pl.String).alias(RUN), pl.exclude(self.column)
            )
            return found if only is None else found.filter(pl.col(RUN) == only)
        scores = [only] if only is not None else self.scores or [setup.roles.score]
        tables = ((score, by_query(setup.changed(score=score))) for score in scores)
        return pl.concat(
            found.select(pl.lit(score).alias(RUN), pl.all()) for score, found in tables
        )


def names_of(columns: ColumnNames | None) -> tuple[str, ...]:
    """The columns that the option `by` names, one, several or none."""
    names = check("by", columns, ColumnNames | None)
    return (names,) if isinstance(names, str) else tuple(dict.fromkeys(names or ()))


def _nameless(frame: pl.DataFrame, setup: Setup, run: str) -> Text:
    """The message for rows without a run: documents that no run retrieved, or missing names."""
    rows = frame.filter(pl.col(run).is_null())
    missed = (
        rows.height
        if setup.roles.score not in rows.columns
        else rows[setup.roles.score].null_count()
    )
    null = (
        f"column {run!r} names the run of each row, and is null on {rows.height} of {frame.height}"
    )
    if missed:
        return (
            f"{null}, {missed} of them documents that were judged but not retrieved: "
            "judgments were joined to a table of "
            "runs as if it were one, and no run counts what it missed. Start from that "
            "table, without labels: ",
            judge(run=run),
        )
    return f"{null}; ", to_name(run, frame.schema[run])
