"""The lists of metrics: each metric is declared once, and everything else reads its declaration."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, overload

import polars as pl

from .._support.option_kinds import CUTOFF, Kind, Range, annotation_of, kind_of
from ..errors import InvalidOption, UnknownMetric, called_by_users, nearest, shown
from .unclear_names import UNCLEAR, call_with, elsewhere, without_digits

if TYPE_CHECKING:
    from polars._typing import PolarsDataType

__all__ = [
    "AGREEMENTS", "CATALOG_METRICS", "METRICS", "Metric", "agreement", "find", "list_catalog_metric", "metric", "of", "unregister",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., pl.Expr])
Bounds: TypeAlias = tuple[float | None, float | None]
Summary: TypeAlias = Literal["mean", "sum", "geometric mean"]
Judging: TypeAlias = Literal["monotone", "threshold", "gain"] | None
Over: TypeAlias = Literal["documents", "subtopics"]

_metrics: dict[str, Metric] = {}
METRICS: Mapping[str, Metric] = MappingProxyType(_metrics)
"""Every metric by its canonical name, in the order of the documentation."""

_agreements: dict[str, Metric] = {}
AGREEMENTS: Mapping[str, Metric] = MappingProxyType(_agreements)
"""Every measure of how two rankings agree, by its canonical name."""

_catalog_metrics: dict[str, Metric] = {}
CATALOG_METRICS: Mapping[str, Metric] = MappingProxyType(_catalog_metrics)
"""Every metric of the whole table, by its canonical name."""


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
        The rows of the formula's ranking: one per document, or per subtopic that a document is relevant to.
    gains_only
        Whether documents with label 0, negative or missing add nothing to the value.
    labels
        Whether the formula reads labels; a table may lack them for one that does not.
    needs
        The options of ``on`` that the formula reads beside scores and labels.
    """

    name: str
    formula: Callable[..., pl.Expr]
    aliases: tuple[str, ...] = ()
    spellings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    bounds: Bounds = (0, None)
    beyond: tuple[str, ...] = ()
    dot: str | None = None
    summary: Summary = "mean"
    dtype: PolarsDataType = field(default_factory=pl.Float64)
    higher_is_better: bool | Callable[..., bool] = True
    adds_up: bool = True
    judging: Judging | Callable[..., Judging] = None
    over: Over = "documents"
    gains_only: bool | Callable[..., bool] = False
    display: str | None = None
    labels: bool | Callable[..., bool] = True
    needs: tuple[str, ...] = ()

    @property
    def own(self) -> bool:
        """Whether it is one of the library's own."""
        return self.formula.__module__.startswith("rankframe.metrics.")

    @property
    def doc(self) -> str:
        """The formula's docstring."""
        return inspect.getdoc(self.formula) or ""

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The options by name, in the formula's order; ``@`` in text sets the first."""
        return dict(list(inspect.signature(self.formula).parameters.items())[1:])

    @cached_property
    def kinds(self) -> dict[str, Kind]:
        """The values that options take, by their annotations, without options that take any value."""
        kinds = {}
        for name, parameter in self.parameters.items():
            annotation = annotation_of(name, parameter.annotation, self.formula)
            if name == "k" and annotation in (Any, parameter.empty):
                annotation = int | None
            kinds[name] = kind_of(annotation, CUTOFF if name == "k" else Range())
        return {name: kind for name, kind in kinds.items() if kind is not None}

    @property
    def first(self) -> str | None:
        """The option that ``@`` sets: the formula's first positional one."""
        names = [p.name for p in self.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
        return names[0] if names else None


@overload
def metric(formula: F, /) -> F: ...
@overload
def metric(
    *aliases: str,
    text: str | None = None,
    display: str | None = None,
    bounds: Bounds = (0, None),
    beyond: tuple[str, ...] = (),
    dot: str | None = None,
    spellings: Mapping[str, Mapping[str, Any]] | None = None,
    summary: Summary = "mean",
    dtype: PolarsDataType | None = None,
    higher_is_better: bool | Callable[..., bool] = True,
    adds_up: bool = True,
    judging: Judging | Callable[..., Judging] = None,
    over: Over = "documents",
    gains_only: bool | Callable[..., bool] = False,
    labels: bool | Callable[..., bool] = True,
    needs: tuple[str, ...] = (),
) -> Callable[[F], F]: ...
@called_by_users
def metric(
    *aliases: Any,
    text: str | None = None,
    display: str | None = None,
    bounds: Bounds = (0, None),
    beyond: tuple[str, ...] = (),
    dot: str | None = None,
    spellings: Mapping[str, Mapping[str, Any]] | None = None,
    summary: Summary = "mean",
    dtype: PolarsDataType | None = None,
    higher_is_better: bool | Callable[..., bool] = True,
    adds_up: bool = True,
    judging: Judging | Callable[..., Judging] = None,
    over: Over = "documents",
    gains_only: bool | Callable[..., bool] = False,
    labels: bool | Callable[..., bool] = True,
    needs: tuple[str, ...] = (),
) -> Any:
    """Declare a function from one query's ranking to one expression as a metric; the function stays as it was.

    Written above a function, ``@rf.metric`` is ``@rf.metric()``. From then on it has a text name, is a method of every
    ranker and of ``rf.expr``, and may be given to ``evaluate`` itself. A function of the same name, declared again, takes
    the place of the first.

    Its options are checked, where it is called and where text is read, by their annotations: ``int``, ``float`` (finite),
    ``bool``, ``str``, ``Literal[...]``, ``Mapping[float, float]``, ``pl.Expr`` and ``Callable``, which a method alone can
    be given, and unions of these with each other and ``None``. An option called ``k`` is a cutoff, a whole number from 1
    on. An option without an annotation, or with another one, takes any number, word or mapping of numbers.

    Parameters
    ----------
    *aliases
        Other names of the metric, including other tools'.
    text
        The canonical name, if it is not the function's own.
    display
        The name as people write it, as ``"nDCG"``: pictures and pages show it. Default: the canonical name.
    bounds
        The least and the greatest value of the metric; ``None`` for no limit.
    beyond
        Options, or single values as ``gain=linear``, that take the value out of the bounds.
    dot
        The option that a number after a dot sets, as in ``rbp.95``.
    spellings
        Other tools' names that mean this metric with options set.
    summary
        How queries are summarized: ``"mean"``, ``"sum"`` or ``"geometric mean"`` of their values.
    dtype
        The type of the result column, if it is not Float64.
    adds_up
        False if the value is not a sum of contributions of ranks over a divisor: it then has no curve, and no expectation
        over the orders of tied documents unless it does not depend on ranks.
    higher_is_better
        False if a lower value means a better ranking. Or a function of the given options that decides.
    judging
        The property that ``unjudged="bounds"`` relies on: ``"monotone"``, a higher label of a document moves the value in one
        direction only, or not at all; ``"threshold"``, labels matter only by their relevance, and moving relevant
        documents up moves the value in one direction only; ``"gain"``, the value is a gain over the ideal gain, with the
        options of nDCG. Or a function of the given options that decides.
        ``None``: none of these, so that bounds are refused.
    over
        The rows of the ranking: ``"documents"``, or ``"subtopics"`` for a metric of diversity, with the methods that
        alpha-nDCG uses.
    gains_only
        True if documents with label 0, negative or missing add nothing to the value: in every sum of the formula their
        term is 0, in every product their factor is 1. `evaluate` then leaves these documents out before it adds up,
        which is several times faster. Or a function of the given options that decides. The default, False, is right for
        every formula.
    labels
        False if the formula reads no label: a table may then lack them, and ``no_relevant`` does not apply. Or a function
        of the given options that decides.
    needs
        The options of ``on`` that the formula reads beside scores and labels, for the page of metrics.

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
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
    >>> df.rank.evaluate("top_heavy@5", "rr").row(0)
    (1, 0.25, 0.5)
    >>> df.rank.top_heavy(k=1)["top_heavy@1"].item()
    0.0
    >>> rf.unregister(top_heavy)
    """
    alone = next(iter(aliases), None) if len(aliases) == 1 and callable(aliases[0]) else None
    names = () if alone is not None else aliases
    for other in (*names, *([] if display is None else [display])):
        if not isinstance(other, str):
            raise InvalidOption(f"{other!r} is no name of a metric; write other names as texts, as @rf.metric('top')")

    @called_by_users
    def register(formula: F) -> F:
        name, *others = dict.fromkeys([text or formula.__name__, formula.__name__, *names])
        known = dict(spellings or {})
        kind = dtype or pl.Float64()
        entry = Metric(
            name, formula, tuple(others), known, bounds, beyond, dot, summary, kind, higher_is_better, adds_up, judging,
            over, gains_only, display, labels, needs,
        )  # fmt: skip
        _refuse_name(entry, _metrics)
        _metrics[name] = entry
        return formula

    return register if alone is None else register(alone)


def list_catalog_metric(entry: Metric) -> None:
    """Register a metric of the whole table."""
    _refuse_name(entry, _catalog_metrics)
    _catalog_metrics[entry.name] = entry


def _refuse_name(entry: Metric, among: Mapping[str, Metric]) -> None:
    """Refuse a name that cannot be used in text, or that another metric of the list has."""
    if re.fullmatch(r"[^\W\d]\w*", entry.name) is None:
        raise InvalidOption(
            f"{entry.name!r} cannot stand in text; name a metric by letters, digits and _, as 'top_heavy'"
        )
    _refuse_taken(entry, among)


def _refuse_taken(entry: Metric, among: Mapping[str, Metric]) -> None:
    """Refuse a name that another metric has, or this one with other options; names are compared without case."""
    own = [entry.name, *entry.aliases, *entry.spellings]
    for name in own:
        if name.lower() in UNCLEAR:
            raise InvalidOption(elsewhere(name, name) or "", "; choose an unambiguous name")
        first, *others = _meanings(entry, name)
        if any(options != first for options in others):
            raise InvalidOption(f"{name!r} names {entry.name!r} twice, with other options; choose another name for one")
    for other in among.values():
        taken = [name for name in own if _meanings(other, name)]
        if taken and not (other.name == entry.name and _same_place(other.formula, entry.formula)):
            raise InvalidOption(
                f"{taken[0]!r} is a name of the metric {other.name!r}, in upper or lower case; choose another one"
            )


def _meanings(entry: Metric, name: str) -> list[Mapping[str, Any]]:
    """The options that a name implies for the metric, ignoring case; empty if it does not name this metric."""
    named: list[Mapping[str, Any]] = [{} for own in (entry.name, *entry.aliases) if own.lower() == name.lower()]
    return named + [options for spelling, options in entry.spellings.items() if spelling.lower() == name.lower()]


def _same_place(a: Callable[..., Any], b: Callable[..., Any]) -> bool:
    """Whether two functions are one, declared twice, as in a notebook's cell that runs again."""
    return (a.__module__, a.__qualname__) == (b.__module__, b.__qualname__)


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
    both = {**_catalog_metrics, **_metrics}
    entry = find(metric, metric, both)[0] if isinstance(metric, str) else of(metric, both)
    if entry.own:
        raise InvalidOption(f"{entry.name!r} is a metric of the library's own, which stays")
    if entry in _metrics.values():
        del _metrics[entry.name]
    else:
        del _catalog_metrics[entry.name]


def agreement(*aliases: str, bounds: Bounds) -> Callable[[F], F]:
    """Declare a function of a pair of rankings as a measure of their agreement."""

    def register(formula: F) -> F:
        _agreements[formula.__name__] = Metric(formula.__name__, formula, aliases, bounds=bounds)
        return formula

    return register


def of(formula: Callable[..., pl.Expr], among: Mapping[str, Metric] = METRICS) -> Metric:
    """The metric that a formula was declared as."""
    for entry in among.values():
        if entry.formula is formula:
            return entry
    name = getattr(formula, "__name__", repr(formula))
    if name in METRICS:
        raise UnknownMetric(f"{name} is a method; name the metric by a text, as {name!r}")
    raise UnknownMetric(f"{name} was not declared as a metric; write @rf.metric above it")


def find(name: str, text: str, among: Mapping[str, Metric]) -> tuple[Metric, Mapping[str, Any]]:
    """The metric called `name` in `text`, in upper or lower case, and the options that the name implies."""
    if name in among:
        return among[name], {}
    for entry in among.values():
        if meanings := _meanings(entry, name):
            return entry, meanings[0]
    _refuse_of("evaluate", _metrics, name, text)
    if advice := elsewhere(name, text):
        raise UnknownMetric(advice)
    _refuse_of("agreement", _agreements, name, text)
    _refuse_of("catalog", _catalog_metrics, name, text)
    known = [n for m in among.values() for n in (m.name, *m.aliases, *m.spellings)]
    near = nearest(name, known)
    longer = [other for other in among if other.startswith(f"{name.lower()}_")]  # hit may be hits or hit_rate
    meant = _with_cutoff(name, among) or dict.fromkeys([*([] if near is None else [near]), *longer])
    hint = f"Did you mean {' or '.join(map(repr, meant))}?" if meant else f"Known metrics: {_listed(among)}"
    raise UnknownMetric(f"unknown metric {shown(name)}{'' if name == text else f' in {shown(text)}'}. {hint}")


def _refuse_of(method: str, others: Mapping[str, Metric], name: str, text: str) -> None:
    if any(_meanings(entry, name) for entry in others.values()):
        raise UnknownMetric(*call_with(method, name, text))


def _listed(among: Mapping[str, Metric]) -> str:
    """The metrics' names; of many, the most usual ones."""
    usual = [name for name in ("ndcg", "map", "rr", "precision", "recall", "hit_rate", "err", "rbp") if name in among]
    others = f"{', '.join(usual)} and {len(among) - len(usual)} more, all listed by `python -m rankframe metrics`"
    return others if usual else ", ".join(among)


def _with_cutoff(name: str, among: Mapping[str, Metric]) -> list[str]:
    """The text meant by a name that ends in a cutoff, as ``ndcg10`` and ``ndcg_at_10`` do."""
    base, cutoff = without_digits(name.replace("_at_", "_"))
    near = nearest(base, [n for m in among.values() if m.first == "k" for n in (m.name, *m.aliases, *m.spellings)])
    sure = cutoff and near is not None and (near.lower() == base.lower() or len(base) > 3)
    return [f"{near}@{cutoff}"] if sure else []
