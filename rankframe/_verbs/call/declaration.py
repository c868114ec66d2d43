"""Verbs: functions of a table, declared once for every front; and calls of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeAlias, TypeVar, cast

import polars as pl

from ..._catalog.call import Call
from ..._catalog.flat_names import flat_names
from ..._catalog.registry import Metric
from ..._catalog.requests import Request, averaged, calls_of, each_of, read_requests
from ..._plan.per_query import names_of
from ..._support.extras import versions
from ..._support.methods import F
from ..._support.option_kinds import Column, annotation_of, bind, check, kinds_of, names_columns
from ..._table.runs import Runs, names_of as columns_of, refuse_several_columns
from ..._table.setup import OPTIONS, OTHER_TABLES, Setup
from ..._table.shared_options import with_options
from ..._table.table import Table, refuse_names

P = ParamSpec("P")
X = TypeVar("X")
Gives: TypeAlias = Literal["query", "row", "subset", "document", "list", "join", "table", "whole"]
"""The shape of a verb's result.

``query``: one row per query. ``row``: the caller's rows, in their order, with further columns.
``subset``: some of the caller's rows, in their order; the verb's first argument is a second table.
``document``: retrieved or judged rows by query and rank, with the columns that the table carries.
``list``: new rows, query by query. ``join``: the rows of two tables; the verb's first argument is
the second table. ``table``: a new table. ``whole``: whatever the verb makes of the whole table,
whose frames it gives in the caller's kind; a LazyFrame is collected first, unless the verb takes it
by parts.
"""

WITHIN_QUERIES: frozenset[Gives] = frozenset(["query", "row", "document", "list", "join"])
"""Shapes of verbs that work query by query: a part with whole queries gives a part of the
result."""


class Mergeable(Protocol):
    """Figures of a table, computed part by part, then merged."""

    @property
    def slices(self) -> Mapping[str, str]:
        """The table's columns that slice the figures, by their names in the figures of parts."""
        ...

    @property
    def key(self) -> Sequence[str]:
        """The columns by which parts' figures merge."""
        ...

    def part(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The figures of a part of the table, which holds whole queries."""
        ...

    def merge(self, parts: pl.DataFrame) -> pl.DataFrame:
        """Merge the figures of parts into the table's."""
        ...


@dataclass(frozen=True)
class FiguresOfPart:
    """The figures of a part of a table."""

    figures: Mergeable

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        return self.figures.part(part.rows)


def merged_figures(table: Table[Any], figures: Mergeable) -> pl.DataFrame:
    """The figures of a table, merged from those of its parts."""
    return figures.merge(table.by_parts(FiguresOfPart(figures)))


@dataclass(frozen=True)
class Verb:
    """A verb's declaration.

    Attributes
    ----------
    function
        The verb: a documented function of a `Table` and options.
    gives
        The shape of its result.
    labels
        Whether it reads labels for more than the order. A function decides it for the verb's
        metrics.
    scores
        Whether it reads scores.
    among
        The metrics that it takes; None if its requests are read by itself.
    watched
        Whether its requests are metrics of the table's one run, so that a number which is not what
        is meant warns.
    refuses
        Whether it refuses a table in which nothing can be measured, instead of a warning.
    every_column
        Whether it may look at any column.
    checks
        Whether it lists the findings of the table, and so reads the columns that these look at.
    runs
        The runs of a call, from its arguments `runs` and `run` (and `method`).
    by_parts
        For ``table`` and ``whole``: whether it takes rows only by `Table.by_parts`, and those of
        some queries by `rows_of_queries`, so that a table need not be in memory.
    merges
        For ``table``: a function that makes its `Mergeable` from the setup, the largest labels of
        the whole table (or None), and the arguments.
    lazily
        A function of a LazyFrame, the setup and the arguments in place of the verb, which gives a
        plan.
    """

    function: Callable[..., Any]
    gives: Gives
    labels: bool | Callable[[Sequence[Request | Call]], bool] = True
    scores: bool = True
    among: Mapping[str, Metric] | None = None
    watched: bool = False
    refuses: bool = False
    every_column: bool = False
    checks: bool = False
    runs: Callable[..., Runs] = Runs.of
    by_parts: bool = False
    merges: Callable[..., Mergeable] | None = None
    lazily: Callable[..., Any] | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return verb_of, (self.function,)

    @cached_property
    def name(self) -> str:
        """Its name."""
        return self.function.__name__

    @property
    def combines_runs(self) -> bool:
        """Whether one result is of all runs, and so needs their names; metrics are of each run."""
        return self.gives in ("list", "query") and self.among is None

    @property
    def within_queries(self) -> bool:
        """Whether it works query by query."""
        return self.gives in WITHIN_QUERIES

    @cached_property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """Its parameters after the table."""
        _, *parameters = inspect.signature(self.function).parameters.values()
        return {x.name: x for x in parameters}

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The parameters that name columns."""
        return tuple(name for name in self.parameters if names_columns(self.function, name))

    def bound(self, args: Sequence[Any], options: Mapping[str, Any]) -> VerbCall:
        """The call with these arguments, each read by its annotation.

        Its metrics are read, so that workers need no names.
        """
        signature, kinds = kinds_of(self.function)
        every = (None, *args)
        bound = bind(self.name, signature, every, options, hidden=1, of_on=OPTIONS, kinds=kinds)
        del bound.arguments["table"]
        if "runs" in signature.parameters:
            refuse_several_columns(bound.arguments.get("run"))
        for option, value in bound.arguments.items():
            if option in kinds:
                bound.arguments[option] = kinds[option].check(option, value)
        bound.apply_defaults()
        arguments = dict(bound.arguments)
        for name in self.takes_metrics:
            if isinstance(arguments[name], tuple):
                arguments[name] = tuple(each_of(arguments[name]))
        for name in self.reads:
            if self.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
                arguments[name] = check(name, arguments[name], Sequence[Column])
        if self.among is not None:
            (metrics,) = self.takes_metrics
            arguments[metrics] = read_requests(arguments[metrics], self.among)
        if "runs" in arguments:
            names = _signature(self.runs).parameters
            arguments["runs"] = self.runs(**{name: arguments[name] for name in names})
            arguments["run"] = None
        return VerbCall(self, arguments)

    @cached_property
    def takes_metrics(self) -> tuple[str, ...]:
        """The parameter of its metrics, or those of one metric each."""
        parameters = self.parameters.items()
        several = [name for name, x in parameters if x.kind is x.VAR_POSITIONAL]
        metrics = [name for name in several if name not in self.reads]
        if metrics:
            return tuple(metrics)
        original = inspect.unwrap(self.function)
        hints = {name: annotation_of(name, x.annotation, original) for name, x in parameters}
        return tuple(name for name, hint in hints.items() if hint == Request)


ONE_RUN = Runs()


@lru_cache(maxsize=512)
def _signature(function: Callable[..., object]) -> inspect.Signature:
    return inspect.signature(function)


@dataclass(frozen=True)
class VerbCall:
    """A verb with its arguments by name: what each front runs on its tables."""

    verb: Verb
    arguments: Mapping[str, Any]

    def on(self, table: Table[Any]) -> Any:
        """The result for a table, of the caller's kind; with names for SQL if the setup is flat."""
        result = self._run(self.verb.function, table)
        if not isinstance(result, pl.DataFrame):
            return self.recorded(result, table.setup, table.rows)
        # A verb that gives a table of its own names its columns itself.
        if self.verb.gives != "whole":
            result = with_names(result, table.setup, self.calls)
        return table.give(result)

    def recorded(self, result: Any, setup: Setup, rows: pl.DataFrame | pl.LazyFrame) -> Any:
        """A result with call, policies and versions in its settings; a frame as it is."""
        from ..._results.result import Result

        # compare and gate write them down themselves.
        if not isinstance(result, Result) or "policies" in result.settings:
            return result
        policies = setup.followed(rows.collect_schema().names())
        settings = {
            **self.settings,
            **result.settings,
            "policies": policies,
            "versions": versions(),
        }
        return replace(cast("Any", result), settings=settings)

    @property
    def settings(self) -> dict[str, object]:
        """The metrics and options of the call, without tables, and the runs by their columns."""
        from ..._results.grid import is_setting

        settings: dict[str, object] = {}
        if self.requests:
            settings["metrics"] = [call.text for call in averaged(self.requests, "")]
        for name, value in self.arguments.items():
            if isinstance(value, Runs):
                settings |= {"runs": [*value.scores], "run": value.column}
            elif name == "by":
                settings[name] = columns_of(value)
            elif name not in (*settings, *OTHER_TABLES) and is_setting(value):
                settings[name] = value
        return settings

    def _run(self, function: Any, *first: object) -> Any:
        """The result of a function with the verb's arguments after others."""
        signature = _signature(self.verb.function)
        given = inspect.BoundArguments(signature, {"table": None, **self.arguments})
        return function(*first, *given.args[1:], **given.kwargs)

    def mergeable(
        self, setup: Setup, largest_labels: Mapping[str, float] | None = None
    ) -> Mergeable | None:
        """What computes the verb's table in parts; None for a verb that works query by query."""
        merges = self.verb.merges
        if merges is None:
            return None
        figures: Mergeable = self._run(merges, setup, largest_labels)
        return figures

    def changed(self, **arguments: object) -> VerbCall:
        """The call with other arguments."""
        return replace(self, arguments={**self.arguments, **arguments})

    @cached_property
    def requests(self) -> Sequence[Any]:
        """The metrics, measures and expressions among the arguments."""
        requests: list[Any] = []
        for name in self.verb.takes_metrics:
            given = self.arguments[name]
            for one in given if isinstance(given, tuple) else (given,):
                requests += one if isinstance(one, Mapping) else [one]
        return requests

    @cached_property
    def calls(self) -> list[Call]:
        """The metrics, where they are metrics of queries or of the verb's own kind."""
        if self.verb.among is not None:
            return [request for request in self.requests if isinstance(request, Call)]
        if self.verb.labels is not True:
            return []
        others = [request for request in self.requests if not isinstance(request, pl.Expr)]
        return calls_of(*others) if others else []

    @cached_property
    def runs(self) -> Runs:
        """The runs that the call names."""
        runs: Runs = self.arguments.get("runs", ONE_RUN)
        return runs

    @property
    def named(self) -> set[str]:
        """The columns that the arguments name."""
        given = [self.arguments[parameter] for parameter in self.verb.reads]
        return {*chain.from_iterable(map(_names_in, given))}

    @property
    def reads_labels(self) -> bool:
        """Whether it reads labels for more than the order."""
        labels = self.verb.labels
        if callable(labels):
            return labels(self.requests)
        return labels

    @property
    def reads_any(self) -> bool:
        """Whether any column of the table may matter, as to a selector among the expressions."""
        expressions = [x for x in self.requests if isinstance(x, pl.Expr)]
        expressions += [x for call in self.calls for x in call.expressions]
        return self.verb.every_column or any(x.meta.has_multiple_outputs() for x in expressions)

    def columns(self, setup: Setup) -> set[str]:
        """The columns that the call reads."""
        roles = setup.roles
        if not self.reads_labels and not setup.policies.orders_by_label:
            roles = setup.changed(label=roles.score).roles
        names = roles.names | self.named
        if not self.verb.scores and roles.score not in self.named:
            names.discard(roles.score)
        for call in self.calls:
            names.update(call.columns)
        for request in self.requests:
            if isinstance(request, pl.Expr):
                names.update(request.meta.root_names())
        return names

    def only(self, names: Sequence[str] | None, setup: Setup) -> VerbCall:
        """The call without metrics of which no column is among `names`, if any is."""
        if names is None or not self.calls:
            return self
        columns = {call: {*names_of(setup, call)} for call in self.calls}
        if setup.flat:
            flat = flat_names(chain.from_iterable(columns.values()))
            columns = {call: {flat[name] for name in texts} for call, texts in columns.items()}
        unasked = {call for call in columns if columns[call].isdisjoint(names)}
        requests = self.requests
        asked = tuple(x for x in requests if isinstance(x, pl.Expr) or x not in unasked)
        (metrics,) = self.verb.takes_metrics
        return self.changed(**{metrics: asked or (requests[0],)})


def _names_in(given: Any) -> Iterable[str]:
    """The names of columns in an argument."""
    if isinstance(given, Runs):
        return given.columns
    if isinstance(given, str):
        return (given,)
    return () if given is None else given


def with_names(result: Any, setup: Setup, calls: Sequence[Call]) -> Any:
    """Rename the metrics' columns for SQL if the setup is `flat`."""
    if not setup.flat:
        return result
    columns = {*result.collect_schema()}
    flat = flat_names(name for call in calls for name in names_of(setup, call))
    renamed = {text: name for text, name in flat.items() if text in columns}
    refuse_names([*renamed.values()], columns - {*flat}, "the table")
    return result.rename(renamed)


def verb(*, usual: Mapping[str, object] | None = None, **declared: Any) -> Callable[[F], F]:
    """Declare a function of a :class:`Table` and options as a verb; see :class:`Verb`.

    `usual` are its own defaults of options that it shares with other verbs.
    """

    def declare(function: F) -> F:
        shown = with_options(function, usual or {})
        shown.verb = Verb(shown, **declared)  # type: ignore[attr-defined]
        return shown

    return declare


def with_options_of(
    other: Callable[Concatenate[Table[Any], P], X],
) -> Callable[[Callable[..., X]], Callable[Concatenate[Table[Any], P], X]]:
    """Give a verb the options of another one, and its help if it has none of its own."""

    def declare(function: Callable[..., X]) -> Callable[Concatenate[Table[Any], P], X]:
        function.__wrapped__ = other  # type: ignore[attr-defined] # inspect shows its signature
        function.__doc__ = function.__doc__ or other.__doc__
        return function

    return declare


def verb_of(function: Callable[..., object]) -> Verb:
    """The declaration of a verb."""
    try:
        declared: Verb = function.verb  # type: ignore[attr-defined]
    except AttributeError:
        says = f"{function.__name__} is not declared as a verb"
        why = "so no front knows the shape of its result; write @verb(gives=...) above it"
        raise TypeError(f"{says}, {why}") from None
    return declared


def call_of_verb(function: Callable[..., object], *args: object, **options: object) -> VerbCall:
    """A call of a verb."""
    return verb_of(function).bound(args, options)
