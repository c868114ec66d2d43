"""A verb's declaration, which every front reads: the shape of its result and the columns it needs."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

import polars as pl

from .._catalog.call import Call
from .._catalog.requests import Request
from .._table.setup import Setup

F = TypeVar("F", bound=Callable[..., object])

Gives: TypeAlias = Literal["query", "row", "subset", "document", "list", "join", "table", "comparison"]
"""The shape of a verb's result.

``query``: one row per query. ``row``: the caller's rows, in their order, with further columns. ``subset``: some of the
caller's rows, in their order; the verb's first argument is a second table. ``document``: retrieved or judged rows by query
and rank; the verb takes `carry`, columns to bring along. ``list``: new rows, query by query. ``join``: the rows of two
tables; the verb's first argument is the second table; its keyword `part` is true if both are parts of tables. ``table``: a
new table.
``comparison``: an object of several tables, made for the `Design` that is the verb's first argument.
"""

WITHIN_QUERIES: frozenset[Gives] = frozenset(["query", "row", "document", "list", "join"])
"""Shapes of verbs that work query by query: a part with whole queries gives a part of the result."""


@runtime_checkable
class NamesColumns(Protocol):
    """An argument that names columns, such as a design of a comparison."""

    @property
    @abstractmethod
    def names(self) -> Iterable[str]:
        """The columns."""


class Mergeable(Protocol):
    """Figures of a table, computed part by part, then merged."""

    @property
    @abstractmethod
    def calls(self) -> tuple[Call, ...]:
        """The metrics."""

    @property
    @abstractmethod
    def names(self) -> set[str]:
        """The columns to read besides columns with a role."""

    @property
    @abstractmethod
    def slices(self) -> Mapping[str, str]:
        """The table's columns that slice the figures, by their names in the figures of parts."""

    @property
    @abstractmethod
    def key(self) -> Sequence[str]:
        """The columns by which parts' figures merge."""

    @abstractmethod
    def part(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The figures of a part of the table, which holds whole queries."""

    @abstractmethod
    def merge(self, parts: pl.DataFrame) -> pl.DataFrame:
        """Merge the figures of parts into the table's."""


@dataclass(frozen=True)
class Verb:
    """A verb's declaration.

    Attributes
    ----------
    name
        Its name.
    gives
        The shape of its result.
    reads
        Parameters that name columns: by a name, several, None, or as `NamesColumns`.
    labels
        Whether it reads labels for more than the order; only then are its requests metrics. A function decides it for
        requests that are metrics of the whole table.
    watched
        Whether its requests are metrics of the table's one run, so that a number which is not what is meant warns.
    in_parts
        For ``table``: a function that makes its `Mergeable` from the setup, the largest label of the whole table (or
        None), and the arguments.
    parameters
        Its parameters after the table and the setup, without the requests at the end.
    """

    name: str
    gives: Gives
    reads: tuple[str, ...]
    labels: bool | Callable[[Sequence[Request | Call]], bool]
    watched: bool
    in_parts: Callable[..., Mergeable] | None
    parameters: tuple[str, ...]

    @property
    def within_queries(self) -> bool:
        """Whether it works query by query."""
        return self.gives in WITHIN_QUERIES

    def columns(self, setup: Setup, args: Sequence[object]) -> set[str]:
        """The columns that a call of the verb reads."""
        labels = self.labels(self.requests(args)) if callable(self.labels) else self.labels
        labels = labels or setup.policies.orders_by_label
        needed = (setup if labels else setup.changed(label=setup.roles.score)).roles.names
        needed |= self.named(args)
        for request in self.requests(args):
            needed.update(request.meta.root_names() if isinstance(request, pl.Expr) else ())
            needed.update(request.columns if isinstance(request, Call) else ())
        return needed

    def named(self, args: Sequence[Any]) -> set[str]:
        """The columns that the arguments of a call name."""
        given = zip(self.parameters, args, strict=False)
        return {name for parameter, x in given if parameter in self.reads for name in names_in(x)}

    def reads_any(self, args: Sequence[object]) -> bool:
        """Whether any column of the table may matter: to a selector among the requests, or to advice that the verb spells."""
        requests = self.requests(args)
        expressions = [x for call in requests if isinstance(call, Call) for x in call.expressions]
        expressions += [x for x in requests if isinstance(x, pl.Expr)]
        return "spelling" in self.parameters or any(x.meta.has_multiple_outputs() for x in expressions)

    def requests(self, args: Sequence[Any]) -> Sequence[Request | Call]:
        """The metrics, measures and expressions among the arguments."""
        return args[len(self.parameters) :]

    def metrics(self, args: Sequence[object]) -> Sequence[Request | Call]:
        """The requests, where they are metrics."""
        return self.requests(args) if self.labels is True else ()

    def with_names(self, args: Sequence[object], change: Callable[[object], object]) -> tuple[object, ...]:
        """The arguments, with `change` applied to those that name columns."""
        named = (change(x) if name in self.reads else x for name, x in zip(self.parameters, args, strict=False))
        return (*named, *self.requests(args))


def verb(
    *,
    gives: Gives,
    reads: Sequence[str] = (),
    labels: bool | Callable[[Sequence[Request | Call]], bool] = True,
    watched: bool = False,
    in_parts: Callable[..., Mergeable] | None = None,
) -> Callable[[F], F]:
    """Declare a function of a Polars frame, a setup and arguments as a verb; see :class:`Verb`."""

    def declare(function: F) -> F:
        _, _, *parameters = inspect.signature(function).parameters.values()
        names = tuple(x.name for x in parameters if x.kind is x.POSITIONAL_OR_KEYWORD)
        if unknown := [name for name in reads if name not in names]:
            raise TypeError(f"{function.__name__} has no parameter {unknown[0]!r} that could name a column")
        declared = Verb(function.__name__, gives, tuple(reads), labels, watched, in_parts, names)
        function.verb = declared  # type: ignore[attr-defined]
        return function

    return declare


def verb_of(function: Callable[..., object]) -> Verb:
    """The declaration of a verb."""
    try:
        declared: Verb = function.verb  # type: ignore[attr-defined]
    except AttributeError:
        raise TypeError(
            f"{function.__name__} is not declared as a verb, so no front knows the shape of its result; write "
            "@verb(gives=...) above it"
        ) from None
    return declared


def names_in(given: str | Iterable[str] | NamesColumns | None) -> Iterator[str]:
    """The column names in an argument."""
    if isinstance(given, str):
        yield given
    elif given is not None:
        yield from given.names if isinstance(given, NamesColumns) else given
