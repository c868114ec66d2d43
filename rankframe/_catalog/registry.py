"""The lists of metrics: each metric is declared once, and everything else reads its declaration."""

from __future__ import annotations

import inspect
import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, ValuesView
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from textwrap import fill
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
    overload,
)

import polars as pl

from .._support.methods import called_by_users, with_short_traceback
from .._support.option_kinds import ANY_OPTION, CUTOFF, Kind, annotation_of, kind_of, role_of
from .._support.option_values import Range
from ..errors import InvalidOption, UnknownMetric, near_words, shown
from .names import ENDING, ROWS_OF, UNCLEAR, spellings_of, unclear

if TYPE_CHECKING:
    from polars._typing import PolarsDataType

F = TypeVar("F", bound=Callable[..., pl.Expr])
P = ParamSpec("P")
T = TypeVar("T")
Bounds: TypeAlias = tuple[float | None, float | None]
MeanOf: TypeAlias = Literal["mean", "sum", "geometric mean"]
Judging: TypeAlias = Literal["monotone", "threshold", "gain"] | None
Over: TypeAlias = Literal["documents", "subtopics", "rows", "pairs"]
FromClicks: TypeAlias = Literal["sum", "ratio", "same"] | None


class Registry(Mapping[str, T]):
    """A list of declarations by their canonical names; its `repr` shows the names.

    Attributes
    ----------
    name
        The name of the list in ``rankframe``.
    kind
        The word for its entries.
    verb
        The verb that takes the names of its entries.
    canonical
        Other names of entries that are plain functions, with the canonical ones.
    read
        The meanings of texts that were read before; none after a change by `put` or `drop`.
    """

    every: ClassVar[list[Registry[Any]]] = []

    def __init__(self, name: str, kind: str, verb: str = "") -> None:
        self.name = name
        self.kind = kind
        self.verb = verb
        self.canonical: dict[str, str] = {}
        self.read: dict[str, tuple[Any, ...]] = {}
        self._entries: dict[str, T] = {}
        self.every.append(self)

    def put(self, name: str, entry: T, aliases: Iterable[str] = ()) -> None:
        """Add an entry, or replace that of the same name."""
        self._entries[name] = entry
        self.canonical |= dict.fromkeys(aliases, name)
        self.read = {}  # a thread that reads at this moment fills the old one

    def drop(self, name: str) -> None:
        """Remove an entry."""
        del self._entries[name]
        self.read = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._entries:
            raise KeyError(unknown(str(name), self))
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def values(self) -> ValuesView[T]:
        return self._entries.values()  # without a look-up by name for each

    def get(self, name: str, default: Any = None) -> Any:
        return self._entries.get(name, default)  # without the message of an error

    def __repr__(self) -> str:
        return f"{len(self)} {self.kind}s by name:\n{fill(', '.join(self), 118)}"


MOST_LISTED = 12
"""The most names that an error lists where none is similar."""

METRICS: Registry[Metric] = Registry("METRICS", "metric", "evaluate")
"""Every metric by its canonical name, in the order of the documentation."""

AGREEMENTS: Registry[Metric] = Registry("AGREEMENTS", "measure", "agreement")
"""Every measure of how two rankings agree, by its canonical name."""

CATALOG_METRICS: Registry[Metric] = Registry("CATALOG_METRICS", "metric", "catalog")
"""Every metric of the whole table, by its canonical name."""

VERBS: Registry[object] = Registry("VERBS", "verb", ".rank")
"""Every verb that a ranker or one of its topics has, by its name; read where a name is not
known."""


@dataclass(frozen=True, eq=False)
class Metric:
    """A formula with its names, as ``@metric`` makes it from a function.

    Attributes
    ----------
    name
        The canonical name, used in texts and result columns.
    formula
        The function from a ranking, and options, to one expression.
    aliases
        Other names of the same metric.
    display
        The name as people write it, for pictures and pages; ``None`` if that is the canonical name.
    spellings
        Other tools' names that mean this metric with certain options set.
    bounds
        The least and the greatest value; ``None`` for no limit.
    beyond
        Options, or single values as ``gain=linear``, that take the value out of the bounds.
    dot
        The option that a number after a dot sets, as in ranx's ``rbp.95``.
    summary
        How queries are summarized: by the mean, the sum, or the geometric mean of their values.
    dtype
        The type of the result column.
    adds_up
        Whether the value is a sum of contributions of ranks over a divisor, so that it has a curve.
    higher_is_better
        Whether a higher value means a better ranking.
    judging
        How the value reacts to judging unjudged documents; ``None`` if that is not known.
    over
        The rows of the formula's ranking: one per document, or per subtopic that a document is
        relevant to; ``"rows"`` of a value, which is no ranking's; ``"pairs"`` of two rankings.
    gains_only
        Whether documents with label 0, negative or missing add nothing to the value.
    labels
        Whether the formula reads labels; a table may lack them for one that does not.
    needs
        The options of ``on`` that the formula reads beside scores and labels.
    from_clicks
        How the value is estimated from clicks with propensities; ``None`` if it has no such
        estimate.
    """

    name: str
    formula: Callable[..., pl.Expr]
    aliases: tuple[str, ...] = ()
    spellings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    bounds: Bounds = (0, None)
    beyond: tuple[str, ...] = ()
    dot: str | None = None
    summary: MeanOf = "mean"
    dtype: PolarsDataType = field(default_factory=pl.Float64)
    higher_is_better: bool | Callable[..., bool] = True
    adds_up: bool = True
    judging: Judging | Callable[..., Judging] = None
    over: Over = "documents"
    gains_only: bool | Callable[..., bool] = False
    display: str | None = None
    labels: bool | Callable[..., bool] = True
    needs: tuple[str, ...] = ()
    from_clicks: FromClicks | Callable[..., FromClicks] = None

    def __repr__(self) -> str:
        if self.listed is None:
            return f"{type(self).__name__}({self.name!r})"
        return f"rf.{self.listed}[{self.name!r}]"

    @property
    def listed(self) -> str | None:
        """The list of ``rankframe`` that has it; None if it is not declared."""
        for registry in Registry.every:
            if registry.get(self.name) is self:
                return registry.name
        return None

    @cached_property
    def names(self) -> dict[str, str]:
        """Every name that a text may call it by, with the name to propose for a similar one."""
        known = (*self.aliases, self.formula.__name__, self.name)
        names = dict.fromkeys(known, self.name)
        of_tools = [name for _, name, _ in ROWS_OF.get(self.name, ())]
        for spelling in self.spellings:
            names[spelling] = self.name if spelling in of_tools else spelling
        return names

    def meanings(self, name: str) -> list[Mapping[str, Any]]:
        """The options that a name implies, ignoring case; empty if it does not name this metric."""
        wanted = name.lower()
        names = (self.name, *self.aliases)
        meanings: list[Mapping[str, Any]] = [{} for known in names if known.lower() == wanted]
        for spelling, options in self.spellings.items():
            if spelling.lower() == wanted:
                meanings.append(options)
        return meanings

    @property
    def own(self) -> bool:
        """Whether it is one of the library's own."""
        return self.formula.__module__.startswith(("rankframe.metrics.", "rankframe.fusions."))

    @property
    def doc(self) -> str:
        """The formula's docstring."""
        return inspect.getdoc(self.formula) or ""

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The options by name, in the formula's order; ``@`` in text sets the first."""
        parameters = inspect.signature(self.formula).parameters
        _, *options = parameters.items()
        return dict(options)

    @cached_property
    def annotations(self) -> dict[str, Any]:
        """The annotations of the options."""
        formula = inspect.unwrap(self.formula)
        options = self.parameters.items()
        return {name: annotation_of(name, x.annotation, formula) for name, x in options}

    @cached_property
    def kinds(self) -> dict[str, Kind]:
        """The values that options take, by their annotations."""
        kinds = {}
        for name, annotation in self.annotations.items():
            if name == "k" and annotation in (Any, inspect.Parameter.empty):
                annotation = int | None
            kind = kind_of(annotation, CUTOFF if name == "k" else Range())
            kinds[name] = kind if kind is not None and kind.of_metrics else ANY_OPTION
        return kinds

    @cached_property
    def named_values(self) -> dict[str, str]:
        """The options that name a value of a column, with the column's role."""
        roles = {name: role_of(annotation) for name, annotation in self.annotations.items()}
        return {name: role for name, role in roles.items() if role is not None}

    @property
    def first(self) -> str | None:
        """The option that ``@`` sets: the formula's first positional one."""
        for name, parameter in self.parameters.items():
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
                return name
        return None


class Declaring(Protocol[P]):
    """A decorator that declares a formula, with options in brackets or without brackets."""

    @overload  # no alias is a function
    def __call__(self, formula: F, /) -> F: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, *aliases: P.args, **options: P.kwargs) -> Callable[[F], F]: ...


def also_without_brackets(declare: Callable[P, Any]) -> Declaring[P]:
    """Let users call a function that makes a decorator, and use it as one of a formula."""
    make: Callable[..., Any] = called_by_users(declare)

    @with_short_traceback
    @wraps(make)
    def declaring(*aliases: Any, **options: Any) -> Any:
        if len(aliases) == 1 and callable(aliases[0]):
            return make(**options)(aliases[0])
        return make(*aliases, **options)

    return cast("Declaring[P]", declaring)


@also_without_brackets
def metric(
    *aliases: str,
    text: str | None = None,
    display: str | None = None,
    bounds: Bounds = (0, None),
    beyond: tuple[str, ...] = (),
    dot: str | None = None,
    spellings: Mapping[str, Mapping[str, object]] | None = None,
    summary: MeanOf = "mean",
    dtype: PolarsDataType | None = None,
    higher_is_better: bool | Callable[..., bool] = True,
    adds_up: bool = True,
    judging: Judging | Callable[..., Judging] = None,
    over: Over = "documents",
    gains_only: bool | Callable[..., bool] = False,
    labels: bool | Callable[..., bool] = True,
    needs: tuple[str, ...] = (),
    from_clicks: FromClicks | Callable[..., FromClicks] = None,
) -> Callable[[F], F]:
    """Declare a function from one query's ranking to one expression as a metric.

    The function itself is unchanged.

    ``@rf.metric`` is short for ``@rf.metric()``. The metric then has a text name, is a method of
    every ranker and of ``rf.expr``, and ``evaluate`` takes the function, too. A later function of
    the same name replaces the first.

    Calls and texts are checked by the annotations of the options: ``int``, ``float`` (finite),
    ``bool``, ``str``, ``Literal[...]``, ``Mapping[float, float]``, ``pl.Expr`` and ``Callable``
    (not in texts), and unions of these with each other and ``None``. An option called ``k`` is a
    cutoff, a whole number from 1 on. An option without an annotation, or with another one, takes
    any number, word or mapping of numbers.

    Parameters
    ----------
    *aliases
        Other names of the metric, also in other tools.
    text
        The canonical name; default: the function's name.
    display
        The name as people write it, as ``"nDCG"``: pictures and pages show it. Default: the
        canonical name.
    bounds
        The least and the greatest value of the metric; ``None`` for no limit.
    beyond
        Options, or single values as ``gain=linear``, that take the value out of the bounds.
    dot
        The option that a number after a dot sets, as in ``rbp.95``.
    spellings
        Other tools' names that mean this metric with options set.
    summary
        How the queries' values are summarized: ``"mean"``, ``"sum"`` or ``"geometric mean"``.
    dtype
        The type of the result column; default: Float64.
    adds_up
        False if the value is not a sum with one term per rank over a divisor: then it has no curve,
        and no expectation over the orders of tied documents unless it does not depend on ranks.
    higher_is_better
        False if lower values are better. May be a function of the options.
    judging
        How the value depends on labels, for ``unjudged="bounds"``. ``"monotone"``: a higher label
        of a document moves the value in one direction only, or not at all. ``"threshold"``: only
        whether labels are relevant counts, and moving relevant documents up moves the value in one
        direction only. ``"gain"``: the value is a gain divided by that of the ideal, with the
        options of nDCG. ``None``: none of these, so bounds are refused. May be a function of the
        options.
    over
        The rows of the ranking: ``"documents"``, or ``"subtopics"`` for a metric of diversity such
        as alpha-nDCG.
    gains_only
        True if documents whose label is 0, negative or missing add nothing to the value: their
        terms are 0 in every sum of the formula, and 1 in every product. `evaluate` then drops these
        documents before it adds up, which is several times faster. May be a function of the
        options. The default, False, is correct for every formula.
    labels
        False if the formula reads no labels: then a table may lack them, and ``no_relevant`` does
        not apply. May be a function of the options.
    needs
        The options of ``on`` that the formula reads beside scores and labels, for the page of
        metrics.
    from_clicks
        How the value is estimated from clicks with propensities. ``"sum"``: the formula weighs what
        each document adds, by ``r.weighed``, and multiplies it by numbers that depend on ranks
        alone, so that the estimate has no bias. ``"ratio"``: such a sum over the same sum of all
        clicked documents, estimated over all queries together. ``"same"``: the value depends on no
        click. ``None``, the default: the metric has no estimate. May be a function of the options.

    Raises
    ------
    InvalidOption
        If another metric has one of the names, or a name is no text.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> @rf.metric(bounds=(0, 1))
    ... def top_heavy(r: rf.Ranking, k: int | None = None) -> pl.Expr:
    ...     "Sum of 1 / rank^2 over the relevant documents of the top k."
    ...     return r.total(r.relevant, k, over=r.rank**2)
    >>> df = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [2, 1], "label": [0, 1]})
    >>> df.rank.evaluate("top_heavy@5", "rr").row(0)
    (1, 0.25, 0.5)
    >>> df.rank.top_heavy(k=1)["top_heavy@1"].item()
    0.0
    >>> rf.unregister(top_heavy)
    """
    options: dict[str, Any] = {
        "spellings": dict(spellings or {}), "bounds": bounds, "beyond": beyond, "dot": dot,
        "summary": summary, "dtype": dtype or pl.Float64(), "higher_is_better": higher_is_better,
        "adds_up": adds_up, "judging": judging, "over": over, "gains_only": gains_only,
        "display": display, "labels": labels, "needs": needs, "from_clicks": from_clicks,
    }  # fmt: skip
    return _declare(METRICS, "metric", aliases, text, options)


@also_without_brackets
def catalog_metric(
    *aliases: str,
    display: str | None = None,
    bounds: Bounds = (0, None),
    higher_is_better: bool = True,
    spellings: Mapping[str, Mapping[str, object]] | None = None,
    labels: bool | Callable[..., bool] = False,
) -> Callable[[F], F]:
    """Declare a function from the exposure of items to one number as a metric of the whole table.

    ``df.rank.items.catalog`` and ``df.rank.items.compare`` then take its text, with cutoff and
    options, or the function itself. Its options are checked like those of ``@rf.metric``. A later
    function of the same name replaces the first; ``rf.unregister`` removes it.

    Parameters
    ----------
    *aliases
        Other names of the metric.
    display
        The name as people write it. Default: the function's own.
    bounds
        The least and the greatest value; ``None`` for no limit. Intervals stay within them.
    higher_is_better
        False if lower values are better.
    spellings
        Other tools' names that mean this metric with options set.
    labels
        True if the formula reads labels: a table without labels is then refused. May be a function
        of the options.

    Raises
    ------
    InvalidOption
        If another such metric has one of the names, or a name is no text.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> @rf.catalog_metric(bounds=(0, 1), higher_is_better=False)
    ... def once_only(e: rf.Exposure, k: int | None = None) -> pl.Expr:
    ...     "The share of the items shown that a single user was shown."
    ...     return (e.shown(k) == 1).sum() / (e.shown(k) > 0).sum()
    >>> scores = [2.0, 1.0, 2.0, 1.0]
    >>> df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abac"), "score": scores})
    >>> df.rank.items.catalog("once_only@2", ci=None).row(0, named=True)
    {'metric': 'once_only@2', 'value': 0.6666666666666666, 'n_queries': 2, 'n_items': None}
    >>> rf.unregister("once_only")
    """
    options: dict[str, Any] = {
        "spellings": dict(spellings or {}), "bounds": bounds, "display": display,
        "higher_is_better": higher_is_better, "labels": labels,
    }  # fmt: skip
    return _declare(CATALOG_METRICS, "catalog_metric", aliases, None, options)


def _declare(
    among: Registry[Metric],
    decorator: str,
    aliases: tuple[str, ...],
    text: str | None,
    options: Mapping[str, Any],
) -> Callable[[F], F]:
    """The decorator that puts a function into a list."""
    for name in (*aliases, options["display"] or ""):
        if not isinstance(name, str):
            raise InvalidOption(
                f"{shown(name)} is no name of a metric; write text, as @rf.{decorator}('top')"
            )

    @with_short_traceback
    def register(formula: Any) -> Any:
        if not inspect.isfunction(formula):
            raise InvalidOption(f"{shown(formula)} is no function; write @rf.{decorator} above one")
        names = (text or formula.__name__, formula.__name__, *aliases)
        name, *more_names = dict.fromkeys(names)
        entry = Metric(name, formula, tuple(more_names), **options)
        of_tools = spellings_of(name, lambda option: option in entry.parameters)
        entry = replace(entry, spellings={**entry.spellings, **of_tools})
        if not entry.own:  # a test reads the library's own names, which no import need do
            _refuse_name(entry, among)
        among.put(name, entry)
        return formula

    return cast("Callable[[F], F]", register)


def _refuse_name(entry: Metric, among: Mapping[str, Metric]) -> None:
    """Refuse a name that no text can hold, or that means another metric or other options, too."""
    if re.fullmatch(r"[^\W\d]\w*", entry.name) is None:
        raise InvalidOption(
            f"{entry.name!r} is no name of a metric; write letters, digits and _, as 'top_heavy'"
        )
    for name in (entry.name, *entry.aliases, *entry.spellings):
        if meant := unclear(name):
            raise InvalidOption(f"{meant}; choose an unambiguous name")
        first, *others = entry.meanings(name)
        if any(options != first for options in others):
            raise InvalidOption(
                f"{name!r} names {entry.name!r} twice, with other options; choose another "
                "name for one"
            )
        for other in among.values():
            again = other.name == entry.name and _place(other) == _place(entry)
            if other.meanings(name) and not again:
                raise InvalidOption(
                    f"{name!r} is a name of the metric {other.name!r}, in any case; choose "
                    "another one"
                )


def _place(entry: Metric) -> tuple[str, str]:
    """Where a formula is written: a notebook's cell that runs again declares it anew."""
    return entry.formula.__module__, entry.formula.__qualname__


@called_by_users
def unregister(metric: str | Callable[..., pl.Expr]) -> None:
    """Remove a metric of your own, per query or of the whole table, from its list.

    Parameters
    ----------
    metric
        Its canonical name, or the function that was declared.

    Raises
    ------
    UnknownMetric, InvalidOption
        If there is no such metric, or it is one of the library's own.
    """
    both = {**CATALOG_METRICS, **METRICS}
    if isinstance(metric, str):
        entry, _ = find(metric, metric, both)
    else:
        entry = metric_of(metric, both)
    if entry.own:
        raise InvalidOption(f"{entry.name!r} is a metric of the library's own, which stays")
    registry = METRICS if entry in METRICS.values() else CATALOG_METRICS
    registry.drop(entry.name)


WITH_LABELS: dict[str, Metric] = {}
"""The measures of two rankings that read labels, to find which ranking is better."""

COMPARED: Mapping[str, Metric] = ChainMap(WITH_LABELS, METRICS)  # type: ignore[arg-type]
"""The metrics that `compare` takes: those of one ranking, and those of two."""


def agreement(
    *aliases: str, bounds: Bounds, display: str | None = None, labels: bool = False
) -> Callable[[F], F]:
    """Declare a function of a pair of rankings as a measure of their agreement.

    With labels it says which of the two is better.
    """

    def register(formula: F) -> F:
        entry = Metric(
            formula.__name__,
            formula,
            aliases,
            bounds=bounds,
            display=display,
            labels=labels,
            over="pairs",
        )
        AGREEMENTS.put(entry.name, entry)
        if labels:
            WITH_LABELS[entry.name] = entry
        return formula

    return register


def metric_of(formula: Callable[..., object], among: Mapping[str, Metric] = METRICS) -> Metric:
    """The metric that a formula was declared as."""
    for entry in among.values():
        if entry.formula is formula:
            return entry
    name = getattr(formula, "__name__", shown(formula))
    raise UnknownMetric(
        f"{name} is no function that was declared as a metric, by @rf.metric above it"
    )


def find(name: str, text: str, among: Mapping[str, Metric]) -> tuple[Metric, Mapping[str, Any]]:
    """The metric called `name` in `text`, in any case, and the options that the name implies."""
    if name in among:
        return among[name], {}
    if name not in UNCLEAR:
        for entry in among.values():
            if meanings := entry.meanings(name):
                return entry, meanings[0]
    raise UnknownMetric(unknown(name, among, text))


def unknown(name: str, among: Mapping[str, Any], text: str = "") -> str:
    """The message for a name that is not in a list: the nearest names of all lists."""
    kind = among.kind if isinstance(among, Registry) else "metric"
    where = "" if text in ("", name) else f" in {shown(text)}"
    says = f"unknown {kind} {shown(name)}{where}"
    near = near_names(name, among)
    if near:
        return f"{says}{near}"
    known = ", ".join([*among][:MOST_LISTED])
    n_more = len(among) - MOST_LISTED
    if n_more > 0:
        known += f" and {n_more} more"
    column = ""
    if among is METRICS:
        column = f"; {shown('value:' + name)} is the value of a column, if this is one"
    return f"{says}. Known names: {known}{column}"


def near_names(name: str, among: Mapping[str, Any], others: Mapping[str, str] | None = None) -> str:
    """``. Did you mean 'ndcg' or 'rndcg'?`` for the nearest names; empty if none is near.

    The names are those of all lists, of verbs, and `others`.
    """
    words = dict(others or {})
    base = name
    if name not in words:  # nerr8 is a name, ndcg10 has a cutoff
        base = ENDING.sub("", name) or name
    if meant := unclear(base):
        return f"; {meant}"
    known: dict[str, str] = {}
    for registry in reversed(Registry.every):
        if registry.verb:
            verb = "" if registry is among else f" (of {registry.verb})"
            known |= _proposals(registry, verb)
    near = near_words(base, known | _proposals(among) | words, 3)
    return f". Did you mean {' or '.join(near)}?" if near else ""


def _proposals(entries: Mapping[str, Any], verb: str = "") -> dict[str, str]:
    """The names of a list, each with the name that a message proposes."""
    proposals = {}
    for key, entry in entries.items():
        for name, proposed in getattr(entry, "names", {key: key}).items():
            proposals[name] = f"{proposed!r}{verb}"
    return proposals
