"""Runs: score columns of the same rows, a column that names the run, or a table for each."""

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
    "name the runs: ",
    option(runs=["bm25", "ltr"]),
    ", columns of scores, or ",
    option(run="system"),
    ", the column that names the run of each row",
)
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
        if runs is None and run is None:  # most calls: the types of options take longest
            return cls()
        if isinstance(runs, Mapping) and runs:
            if run is not None:
                says = (
                    " names the run of each row of one table; leave it out beside a table for "
                    "each run"
                )
                raise InvalidOption(option(run=run), says)
            return cls(column=RUN_OF_TABLE, tables=runs)
        scores = check("runs", runs, Sequence[Column] | Mapping[Column, object] | None)
        column = check("run", run, Column | None)
        return cls(tuple(scores or ()), column)

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

    @property
    def of_results(self) -> tuple[str, ...]:
        """The column of the runs' names in a result that has rows of each run."""
        return (RUN_OF_TABLE,) if self.scores else self.key

    def names(self, frame: pl.DataFrame | pl.LazyFrame) -> list[str]:
        """The names of the runs: score columns as they are named, or a column's values in order."""
        if self.column is None:
            return list(self.scores)
        require(frame.collect_schema(), self.column, "run")
        names = pl.col(self.column).unique(maintain_order=True).cast(pl.String)
        table = frame.lazy().select(names).collect(engine="in-memory")
        return table.to_series().drop_nulls().to_list()

    def named(self, result: pl.DataFrame) -> list[str]:
        """The runs' names, in the order of a result that has a column of them."""
        return list(self.scores or result[RUN].unique(maintain_order=True))

    def queries(self, setup: Setup) -> Setup:
        """The setup without the run's column among the query columns."""
        query = tuple(name for name in setup.roles.query if name not in self.key)
        if not query:
            raise InvalidOption(
                option(run=self.column), " is the only query column; say ", on(query=...), ", too"
            )
        return setup.changed(query=query)

    def apart(self, setup: Setup, by: tuple[str, ...]) -> tuple[dict[str, Setup], tuple[str, ...]]:
        """A setup per run by its name, and the slices.

        For a column of runs, one setup, and the run as the first slice.
        """
        if self.column is not None:
            others = [name for name in by if name != self.column]
            return {"": self._with_run(setup)}, (self.column, *others)
        if not self.scores:
            return {"": setup}, by
        refuse_names([RUN_OF_TABLE], by, "by")
        return {score: setup.changed(score=score) for score in self.scores}, by

    def _with_run(self, setup: Setup) -> Setup:
        """The setup with the run's column as the first query column."""
        return setup.changed(query=(*self.key, *self.queries(setup).roles.query))

    def require(self, frame: pl.DataFrame, setup: Setup) -> None:
        """Refuse a table that lacks a column of the runs, and rows without the name of a run."""
        for name in self.scores:
            require(frame.schema, name, "runs")
        if self.column is None:
            return
        require(frame.schema, self.column, "run")
        names = frame[self.column]
        if names.dtype.is_float() and (names % 1 != 0).any():
            self._refuse_fractions(frame, setup)
        if names.has_nulls():
            raise InvalidData(_nameless(frame, setup, self.column))

    def _refuse_fractions(self, frame: pl.DataFrame, setup: Setup) -> None:
        """Refuse a column of scores that is named as that of the runs."""
        score = setup.roles.score
        scores: list[object] = [score, self.column]
        if score == self.column or score not in frame.columns:
            scores = [self.column, ...]
        says = " is a column of fractions, which name no run; columns of scores are named by "
        raise InvalidOption(option(run=self.column), says, option(runs=scores))

    def judged_alike(self, frame: pl.DataFrame, setup: Setup) -> pl.DataFrame:
        """The rows, where each run in a column is judged on the queries with a label in another.

        A run that has only unjudged documents there has found none of the judged ones; their labels
        become -1.
        """
        label = setup.roles.label
        columns = frame.columns
        if self.column not in columns or label not in columns or not frame[label].has_nulls():
            return frame
        query = self.queries(setup).roles.query
        has_label = pl.col(label).is_not_null().any()
        in_a_run = has_label.over(query)
        in_this_run = has_label.over(self.column, *query)
        finds_none = frame.select(in_a_run & ~in_this_run).to_series()
        if not finds_none.any():
            return frame
        labels = pl.when(finds_none).then(-1).otherwise(label)
        return frame.with_columns(labels.alias(label))

    def values(
        self,
        frame: pl.DataFrame,
        setup: Setup,
        of_run: Callable[[pl.DataFrame, Setup], pl.DataFrame],
    ) -> pl.DataFrame:
        """The values of all runs' queries, one run after the other.

        `of_run` makes those of a run from the rows and its setup; runs in a column are computed in
        one call, and have this column. Of columns of scores, `RUN` is the first column.
        """
        rows = self.judged_alike(frame, setup)
        setups, _ = self.apart(setup, ())
        tables = []
        for run, own_setup in setups.items():
            values = of_run(rows, own_setup)
            if self.scores:
                values = values.select(pl.lit(run).alias(RUN), pl.all())
            tables.append(values)
        return pl.concat(tables)

    def each(
        self,
        frame: pl.DataFrame,
        setup: Setup,
        by_query: Callable[[Setup], pl.DataFrame],
        only: str | None = None,
    ) -> pl.DataFrame:
        """The tables of all runs, one after the other, with the run's name in the first column.

        `by_query` makes a table under each run's setup. Runs in a column are computed in one call,
        since a metric may use the largest label of the whole table. `only` keeps the rows of one
        run.
        """
        self.require(frame, setup)
        if self.column is not None:
            name = pl.col(self.column).cast(pl.String).alias(RUN)
            values = by_query(self._with_run(setup))
            values = values.select(name, pl.exclude(self.column))
            return values if only is None else values.filter(pl.col(RUN) == only)
        scores = [only] if only is not None else self.scores or [setup.roles.score]
        tables = []
        for score in scores:
            values = by_query(setup.changed(score=score))
            tables.append(values.select(pl.lit(score).alias(RUN), pl.all()))
        return pl.concat(tables)


def refuse_several_columns(run: object) -> None:
    """Refuse several columns as the one that names the run of each row."""
    if isinstance(run, (list, tuple)):
        says = " names several columns; columns of scores are named by "
        raise InvalidOption(option(run=run), says, option(runs=[*run]))


def names_of(columns: ColumnNames | None) -> tuple[str, ...]:
    """The columns that the option `by` names, one, several or none."""
    names = check("by", columns, ColumnNames | None)
    if isinstance(names, str):
        return (names,)
    return tuple(dict.fromkeys(names or ()))


def _nameless(frame: pl.DataFrame, setup: Setup, run: str) -> Text:
    """The message for rows without a run: documents that no run retrieved, or missing names."""
    rows = frame.filter(pl.col(run).is_null())
    n_rows = rows.height
    n_missed = n_rows
    if setup.roles.score in rows.columns:
        n_missed = rows[setup.roles.score].null_count()
    null = f"column {run!r} names the run of each row, and is null on {n_rows} of {frame.height}"
    if not n_missed:
        return f"{null}; ", to_name(run, frame.schema[run])
    says = (
        f"{null}, {n_missed} of them documents that were judged but not retrieved: judgments were "
        "joined to a table of runs as if it were one, and no run counts what it missed. Start from "
        "that table, without labels: "
    )
    return says, judge(run=run)
