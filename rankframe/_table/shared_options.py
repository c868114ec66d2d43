"""The options that many verbs share; a verb takes a group as `**options: Unpack[...]`."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter
from typing import Any, Literal, TypeAlias, TypedDict

from .._support.methods import F
from .._support.option_groups import explain, group_of, help_of, show, with_defaults
from .._support.option_kinds import Column, ColumnNames
from .._support.statistical_options import Confidence, Resamples, Seed
from .runs import Runs, TheRuns

Lacking: TypeAlias = Literal["error", "drop", "zero"]
"""What is done with queries that a run lacks."""


class OfRuns(TypedDict, total=False):
    """The runs of a call.

    runs
        The columns of the runs' scores, or a table for each run, as for :meth:`compare`.
    run
        The column that names the run of each row, instead of `runs`.
    """

    runs: TheRuns | None
    run: Column | None


class OfSameQueries(OfRuns, total=False):
    """Runs on the same queries.

    missing
        Queries that a run lacks, as for :meth:`compare`.
    """

    missing: Lacking


class Sliced(TypedDict, total=False):
    """The slices of a call.

    by
        The column, or columns, whose values slice the queries, as for :meth:`summarize`.
    """

    by: ColumnNames | None


class Weighed(TypedDict, total=False):
    """How queries count.

    weights
        The column of the queries' weights, or a metric, as for :meth:`summarize`.
    cluster
        The column of the users, or of other clusters of queries that are not independent, as for
        :meth:`summarize`.
    """

    weights: Column | None
    cluster: Column | None


class Drawn(TypedDict, total=False):
    """Random draws.

    resamples
        The number of resamples of the queries; all metrics share the same draws.
    seed
        The seed of the draws. Equal seeds give equal results, for any order of the rows.
    progress
        Whether long computations show a progress bar; only on a terminal, and only if ``rich`` is
        installed.
    """

    resamples: Resamples
    seed: Seed
    progress: bool


class Intervals(Drawn, total=False):
    """Intervals of what is estimated.

    ci
        The confidence of the intervals.
    """

    ci: Confidence


class ChosenIntervals(Drawn, total=False):
    """Intervals that a call may leave out."""

    ci: Confidence | None


class SlicesOfRuns(OfRuns, Sliced, total=False):
    """Runs and slices."""


class Summarized(SlicesOfRuns, Weighed, ChosenIntervals, total=False):
    """Means of runs and slices, with intervals."""


class OfDecision(OfSameQueries, Sliced, Weighed, total=False):
    """Runs on the same queries, in slices, and how queries count."""


class OfGate(OfDecision, Drawn, total=False):
    """The options of a gate, whose confidence is its own."""


class OfComparison(OfDecision, ChosenIntervals, total=False):
    """The options of a comparison of runs."""


class IntervalsOfRuns(OfSameQueries, Intervals, total=False):
    """Runs on the same queries, with intervals."""


class IntervalsOfSlices(Sliced, Intervals, total=False):
    """Slices with intervals."""


class ChosenIntervalsOfSlices(Sliced, ChosenIntervals, total=False):
    """Slices with intervals that a call may leave out."""


class IntervalsOfGroups(Weighed, Intervals, total=False):
    """Groups of queries with intervals."""


def runs_of(options: OfRuns) -> Runs:
    """The runs that a call names."""
    return Runs.of(options.get("runs"), options.get("run"))


HELP = help_of(OfRuns, OfSameQueries, Sliced, Weighed, Intervals, Drawn)
"""The entry of each option in the help of a verb that has no own words for it."""

USUAL: Mapping[str, object] = {
    "runs": None, "run": None, "missing": "error", "by": None, "ci": 0.95, "weights": None,
    "cluster": None, "resamples": 1_000, "seed": 0, "progress": True,
}  # fmt: skip
"""The default of each option, in the order in which signatures have them."""

FIRST = ("runs", "run", "missing", "by")
"""The options that stand before those of the verb itself."""

KNOWN: Mapping[str, object] = {
    "TheRuns": TheRuns, "Column": Column, "ColumnNames": ColumnNames, "Lacking": Lacking,
    "Confidence": Confidence, "Resamples": Resamples, "Seed": Seed,
}  # fmt: skip
"""The types of the options, by the names that annotations have."""


def with_options(function: F, usual: Mapping[str, object]) -> F:
    """A verb whose signature, defaults and help have the options of the group that it unpacks.

    `usual` are its own defaults.
    """
    types = group_of(function)
    if types is None:
        return function
    defaults: dict[str, Any] = {**USUAL, **usual}
    options = {}
    for name, default in defaults.items():
        if name in types:
            parameter = Parameter(name, Parameter.KEYWORD_ONLY, default=default)
            options[name] = parameter.replace(annotation=types[name])
    show(function, options, KNOWN, FIRST)
    explain(function, HELP)
    return with_defaults(function, options)
