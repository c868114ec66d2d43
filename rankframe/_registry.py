"""The list of metrics, and the canonical text of a call of one: everything else is read from here."""

from __future__ import annotations

import inspect
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import polars as pl

from ._ranking import NoExpectation, NoRelevant, Ranking, is_number
from .errors import InvalidOption, UnknownMetric, did_you_mean

if TYPE_CHECKING:
    from polars._typing import PolarsDataType

__all__ = ["AGREEMENTS", "METRICS", "Call", "Metric", "agreement", "call_of", "find", "metric", "of", "unregister"]

F = TypeVar("F", bound=Callable[..., pl.Expr])
Summary: TypeAlias = Literal["mean", "sum", "geometric mean"]

_metrics: dict[str, Metric] = {}
METRICS: Mapping[str, Metric] = MappingProxyType(_metrics)
"""Every metric by its canonical name, in the order of the documentation."""

_agreements: dict[str, Metric] = {}
AGREEMENTS: Mapping[str, Metric] = MappingProxyType(_agreements)
"""Every measure of how two rankings agree, by its canonical name."""


@dataclass(frozen=True, eq=False)
class Metric:
    """A formula with its names: what ``@metric`` makes of a function.

    Attributes
    ----------
    name
        The canonical name, as it stands in text and in result columns.
    formula
        The function from a ranking, and options, to one expression.
    aliases
        Other names of the same metric.
    spellings
        Other tools' names that mean this metric with certain options set.
    bounds
        The least and the greatest value; ``None`` where there is no limit.
    dot
        The option that a number after a dot sets, as in ranx's ``rbp.95``.
    summary
        What sums the queries' values up: their mean, their sum, or their geometric mean.
    dtype
        The type of the result column.
    """

    name: str
    formula: Callable[..., pl.Expr]
    aliases: tuple[str, ...] = ()
    spellings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    bounds: tuple[float | None, float | None] = (0, None)
    dot: str | None = None
    summary: Summary = "mean"
    dtype: PolarsDataType = field(default_factory=pl.Float64)

    @property
    def doc(self) -> str:
        """The formula's docstring."""
        return inspect.getdoc(self.formula) or ""

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The options by name, in the formula's order; the first is what ``@`` sets in text."""
        return dict(list(inspect.signature(self.formula).parameters.items())[1:])

    @property
    def first(self) -> str | None:
        """The option that ``@`` sets: the formula's first positional one."""
        names = [p.name for p in self.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
        return names[0] if names else None


@dataclass(frozen=True)
class Call:
    """A metric with its options: one result column.

    Attributes
    ----------
    metric
        The metric.
    options
        The options that differ from their defaults, in the formula's order.
    relevant
        A relevance threshold of this column's own, as in ``precision(relevant=2)@5``.
    said
        The options that were given, defaults among them: what a convention leaves as it is.
    """

    metric: Metric
    options: tuple[tuple[str, Any], ...] = ()
    relevant: float | None = None
    said: frozenset[str] = field(default=frozenset(), compare=False)

    @property
    def text(self) -> str:
        """The canonical text, which :func:`rankframe.parse` reads back to an equal call."""
        options = dict(self.options)
        first = self.metric.first
        at = f"@{_literal(options.pop(first))}" if first in options else ""
        if self.relevant is not None:
            options["relevant"] = self.relevant
        inside = ",".join(f"{name}={_literal(value)}" for name, value in options.items())
        return self.metric.name + (f"({inside})" if inside else "") + at

    @property
    def cutoff(self) -> bool:
        """Whether the call names a rank to stop at."""
        return any(name == "k" for name, _ in self.options)

    def value(self, ranking: Ranking, no_relevant: NoRelevant) -> pl.Expr:
        """The formula over `ranking`, as a float; for a query without relevant documents, what the policy says."""
        if self.relevant is not None:
            ranking = ranking.with_threshold(self.relevant)
        try:
            value = self.metric.formula(ranking, **self.arguments).cast(self.metric.dtype)
        except NoExpectation as error:
            raise InvalidOption(f"{self.text}: {error}") from None
        if ranking.weight is not None and "weight" not in ranking.asked:
            raise InvalidOption(f"{self.text} does not weigh documents; evaluate it apart, without weight=...")
        if self.metric.dtype != pl.Float64:
            return value
        value = value.fill_nan(0.0)
        if no_relevant == "null":
            return pl.when(ranking.n_relevant > 0).then(value)
        if no_relevant == "one" and self.metric.bounds == (0, 1):
            return pl.when(ranking.n_relevant > 0).then(value).otherwise(1.0)
        return value

    def with_defaults(self, options: Mapping[str, Any]) -> Call:
        """The same call with other values of options that it leaves at their defaults."""
        call = call_of(self.metric, (), {**options, **self.arguments}, self.relevant)
        return replace(call, said=self.said | call.said)

    @property
    def arguments(self) -> dict[str, Any]:
        """The options as the formula's keyword arguments."""
        return {name: _thaw(value) for name, value in self.options}

    @property
    def expressions(self) -> list[pl.Expr]:
        """The options that are expressions over the table's columns."""
        return [x for x in self.arguments.values() if isinstance(x, pl.Expr)]

    def __str__(self) -> str:
        return self.text


def metric(
    *aliases: str,
    text: str | None = None,
    bounds: tuple[float | None, float | None] = (0, None),
    dot: str | None = None,
    spellings: Mapping[str, Mapping[str, Any]] | None = None,
    summary: Summary = "mean",
    dtype: PolarsDataType | None = None,
) -> Callable[[F], F]:
    """Declare a function from one query's ranking to one expression as a metric; the function stays as it was.

    From then on it has a text name, is a method of every ranker and of ``rf.expr``, and may be given to
    ``evaluate`` itself. A function of the same name, declared again, takes the place of the first.

    Parameters
    ----------
    *aliases
        Other names of the metric, the other tools' among them.
    text
        The canonical name where it is not the function's own.
    bounds
        The least and the greatest value of the metric; ``None`` for no limit.
    dot
        The option that a number after a dot sets, as in ``rbp.95``.
    spellings
        Other tools' names that mean this metric with options set.
    summary
        What sums the queries' values up: ``"mean"``, ``"sum"`` or ``"geometric mean"``.
    dtype
        The type of the result column where it is not Float64.

    Raises
    ------
    InvalidOption
        If another metric has one of the names.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> @rf.metric(bounds=(0, 1))
    ... def top_heavy(r: rf.Ranking, k: int | None = None) -> pl.Expr:
    ...     "Sum of 1 / rank^2 over the relevant documents of the top k."
    ...     return r.total(r.relevant, k, over=r.rank**2)
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
    >>> df.rank.evaluate("top_heavy@5", "rr").row(0)
    (1, 0.25, 0.5)
    >>> df.rank.top_heavy(k=1)["top_heavy@1"].item()
    0.0
    >>> rf.unregister(top_heavy)
    """

    def register(formula: F) -> F:
        name, *others = dict.fromkeys([text or formula.__name__, formula.__name__, *aliases])
        known = dict(spellings or {})
        entry = Metric(name, formula, tuple(others), known, bounds, dot, summary, dtype or pl.Float64())
        if re.fullmatch(r"[^\W\d]\w*", name) is None:
            raise InvalidOption(
                f"{name!r} cannot stand in text; name a metric by letters, digits and _, as 'top_heavy'"
            )
        for other in list(_metrics.values()):
            taken = {other.name, *other.aliases, *other.spellings} & {name, *others, *known}
            if taken and not (other.name == name and _same_place(other.formula, formula)):
                raise InvalidOption(f"{sorted(taken)[0]!r} is a name of the metric {other.name!r}; choose another one")
        _metrics[name] = entry
        return formula

    return register


def _same_place(a: Callable[..., Any], b: Callable[..., Any]) -> bool:
    """Whether two functions are one, declared twice, as in a notebook's cell that runs again."""
    return (a.__module__, a.__qualname__) == (b.__module__, b.__qualname__)


def unregister(metric: str | Callable[..., pl.Expr]) -> None:
    """Take a metric of your own out of the list.

    Parameters
    ----------
    metric
        Its canonical name, or the function that was declared.

    Raises
    ------
    UnknownMetric, InvalidOption
        If there is no such metric, or it is one of the library's own.
    """
    entry = find(metric, metric, METRICS)[0] if isinstance(metric, str) else of(metric)
    if entry.formula.__module__.startswith("rankframe.metrics."):
        raise InvalidOption(f"{entry.name!r} is a metric of the library's own, which stays")
    del _metrics[entry.name]


def agreement(*aliases: str, bounds: tuple[float | None, float | None]) -> Callable[[F], F]:
    """Declare a function of a pair of rankings as a measure of their agreement."""

    def register(formula: F) -> F:
        _agreements[formula.__name__] = Metric(formula.__name__, formula, aliases, bounds=bounds)
        return formula

    return register


def of(formula: Callable[..., pl.Expr]) -> Metric:
    """The metric that a formula was declared as."""
    for entry in _metrics.values():
        if entry.formula is formula:
            return entry
    name = getattr(formula, "__name__", repr(formula))
    raise UnknownMetric(f"{name} was not declared as a metric; write @rf.metric() above it")


def find(name: str, text: str, among: Mapping[str, Metric]) -> tuple[Metric, Mapping[str, Any]]:
    """The metric called `name` in `text`, exactly or but for case, and the options that the name implies."""
    for key in (str, str.lower):
        for entry in among.values():
            if key(name) in map(key, (entry.name, *entry.aliases)):
                return entry, {}
            for spelling, options in entry.spellings.items():
                if key(name) == key(spelling):
                    return entry, options
    known = [n for m in among.values() for n in (m.name, *m.aliases, *m.spellings)]
    where = "" if name == text else f" in {text!r}"
    hint = did_you_mean(name, known) or f" Known metrics: {', '.join(among)}"
    raise UnknownMetric(f"unknown metric {name!r}{where}.{hint}")


def call_of(entry: Metric, args: tuple[Any, ...], options: Mapping[str, Any], relevant: float | None = None) -> Call:
    """Bind arguments to a metric's options; defaults are left out, so equal calls are equal."""
    signature = inspect.Signature(list(entry.parameters.values()))
    try:
        bound = signature.bind(*args, **options)
    except TypeError as error:
        takes = ", ".join(entry.parameters) or "none"
        at = f"; {entry.first} may stand after @" if entry.first else ""
        raise InvalidOption(f"{entry.name}: {error}; its options are: {takes}{at}") from None
    given = {}
    for name, value in bound.arguments.items():
        if name == "k" and value is not None:
            value = _cutoff(entry, value)
        elif is_number(value):
            value = int(value) if isinstance(value, Integral) else float(value)  # also of another library's
        elif value is not None and not isinstance(value, (str, bool, Mapping, pl.Expr)) and not callable(value):
            raise InvalidOption(
                f"{entry.name}: {name}={value!r} is of type {type(value).__name__}; an option is a number (int or float), "
                "a word or a mapping, as {1: 3, 2: 7}"
            )
        if isinstance(value, pl.Expr) or value != entry.parameters[name].default:
            given[name] = _freeze(value)
    options_given = tuple((n, given[n]) for n in entry.parameters if n in given)
    return Call(entry, options_given, relevant, frozenset(bound.arguments))


def _cutoff(entry: Metric, k: Any) -> int:
    """`k` as a whole number from 1 on."""
    try:
        if isinstance(k, bool):
            raise TypeError
        whole = operator.index(k)
    except TypeError:
        raise InvalidOption(
            f"{entry.name}: k={k!r} is no whole number; write {entry.name}@10, or leave k out for no cutoff"
        ) from None
    if whole < 1:
        raise InvalidOption(f"{entry.name}@{whole}: a cutoff is 1 or more; leave it out (k=None) to count every rank")
    return whole


def _freeze(value: Any) -> Any:
    """A mapping of numbers as a sorted tuple of pairs, so that calls can be compared and hashed."""
    if isinstance(value, pl.Expr):
        return _Expression(value)
    if not isinstance(value, Mapping):
        return value
    try:
        return _Pairs(sorted((float(key), float(x)) for key, x in value.items()))
    except (TypeError, ValueError):
        raise InvalidOption(
            f"{dict(value)!r} is no mapping of numbers; write {{label: gain}}, as {{1: 3, 2: 7}}"
        ) from None


class _Pairs(tuple[tuple[Any, Any], ...]):
    """A frozen mapping."""

    __slots__ = ()


class _Expression:
    """A frozen expression: equal to another one that says the same."""

    def __init__(self, x: pl.Expr) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Expression) and self.x.meta.eq(other.x)

    def __hash__(self) -> int:
        return hash(self.x.meta.serialize())

    def __repr__(self) -> str:
        return str(self.x)


def _thaw(value: Any) -> Any:
    if isinstance(value, _Expression):
        return value.x
    return dict(value) if isinstance(value, _Pairs) else value


def _literal(value: Any) -> str:
    """An option's value as text: words bare, whole numbers without a point."""
    if isinstance(value, _Pairs):
        return "{" + ",".join(f"{_literal(k)}:{_literal(v)}" for k, v in value) + "}"
    if isinstance(value, str):
        return value if value.isidentifier() else repr(value)
    if value is None or isinstance(value, bool):
        return str(value)
    if not isinstance(value, (int, float)):
        return getattr(value, "__name__", repr(value))
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
