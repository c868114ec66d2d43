"""The lists of methods of fusion and of normalisations, and the parser of their texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from inspect import Parameter, signature
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import polars as pl

from .._support.option_kinds import NONE, Alternative, Kind
from .._support.option_values import Range
from .._words.rankings import JudgedRankings, Learned, Missing, Normalization
from ..errors import InvalidOption, shown
from .call import Call, call_of
from .parse import literals
from .registry import Metric, Registry, unknown

F = TypeVar("F", bound=Callable[..., pl.Expr])
N = TypeVar("N", bound=Normalization)
Of: TypeAlias = Literal["scores", "ranks", "engine"]
DepthOfRuns: TypeAlias = Annotated[int, Range(least=1)] | None

FUSIONS: Registry[Fusion] = Registry("FUSIONS", "fusion method", "fuse")
"""Every method of fusion by its canonical name, in the order of the documentation."""

TRAINED_FUSIONS: Registry[Trained] = Registry("TRAINED_FUSIONS", "fusion method", "fit_fusion")
"""Every method of fusion that is trained on judged rankings, by its name."""

NORMALIZATIONS: Registry[Normalization] = Registry("NORMALIZATIONS", "normalization")
"""Every normalisation by its canonical name."""

OPTIONS = {"norm": "normalize", "p": "phi"}
"""ranx' and trectools' names of options."""

NO_BOUNDS = (None, None)

TEXT = re.compile(r"\s*(?P<name>[^\s()]+)\s*(?:\((?P<inside>.*)\))?\s*", re.DOTALL)


@dataclass(frozen=True, eq=False, repr=False)
class Fusion(Metric):
    """A method of fusion with its names, as ``@fusion`` makes it from a function of `Rankings`.

    Attributes
    ----------
    of
        ``"scores"``: it adds up scores, which may be normalised; ``"ranks"``: it uses ranks;
        ``"engine"``: it counts as a search engine does, with its own normalisation.
    absent
        Whether it uses the documents that a ranking lacks.
    depth
        The option that says how many documents of each ranking count, and its default.
    """

    of: Of = "scores"
    absent: bool = False
    depth: tuple[str, int | None] = ("depth", None)

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """The formula's options, then the options that all methods of its kind share."""
        parameters = {**super().parameters}
        shared: list[tuple[str, Any, object]] = []
        if self.of == "scores":
            words = [Alternative(repr(name), normalization_of, name) for name in NORMALIZATIONS]
            normalize = Annotated[str, Kind((*words, NONE))]
            shared.append(("normalize", normalize, None))
            shared.append(("missing", Missing, "skip"))
        depth, most = self.depth
        shared.append((depth, DepthOfRuns, most))
        for name, kind, default in shared:
            parameter = Parameter(name, Parameter.KEYWORD_ONLY, default=default)
            parameters[name] = parameter.replace(annotation=kind)
        return parameters

    @property
    def first(self) -> None:
        """No option of a fusion is written after ``@``."""


@dataclass(frozen=True, eq=False, repr=False)
class Trained(Fusion):
    """A method of fusion that learns from judged rankings.

    Attributes
    ----------
    learn
        A function from `JudgedRankings`, and the method's options among its parameters, to the
        learned values.
    """

    learn: Callable[..., Learned] = field(kw_only=True)

    def learned(self, rankings: JudgedRankings, options: Mapping[str, object]) -> Learned:
        """The values that the method learns from the rankings."""
        names = signature(self.learn).parameters
        known = {name: value for name, value in options.items() if name in names}
        return self.learn(rankings, **known)


def fusion(
    *aliases: str, of: Of, absent: bool = False, depth: tuple[str, int | None] = ("depth", None)
) -> Callable[[F], F]:
    """Declare a function of `Rankings` as a method of fusion; it is returned unchanged."""

    def register(formula: F) -> F:
        name = formula.__name__
        entry = Fusion(name, formula, aliases, bounds=NO_BOUNDS, of=of, absent=absent, depth=depth)
        FUSIONS.put(name, entry)
        return formula

    return register


def trained(learn: Callable[..., Learned], *, of: Of, absent: bool = False) -> Callable[[F], F]:
    """Declare a function of `Rankings`, and that which trains it; it is returned unchanged."""

    def register(formula: F) -> F:
        name = formula.__name__
        entry = Trained(name, formula, bounds=NO_BOUNDS, of=of, absent=absent, learn=learn)
        TRAINED_FUSIONS.put(name, entry)
        return formula

    return register


def normalization(*aliases: str, text: str | None = None) -> Callable[[N], N]:
    """Declare a function of one ranking's `Scores` as a normalisation.

    `text` is its name if not the function's own.
    """

    def register(function: N) -> N:
        NORMALIZATIONS.put(text or function.__name__, function, aliases)
        return function

    return register


def normalization_of(given: object) -> str:
    """The canonical name of a normalisation."""
    name = NORMALIZATIONS.canonical.get(given, given) if isinstance(given, str) else ""
    if name not in NORMALIZATIONS:
        raise ValueError(given)
    return name


def fusion_of(text: str, among: Mapping[str, Fusion] = FUSIONS, /, **options: object) -> Call:
    """The call of a method of fusion that a text names, with further options that it lacks.

    Raises
    ------
    InvalidOption
        If no method has the name, or an option is unknown, given twice, or out of its range.
    """
    match = TEXT.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise InvalidOption(
            f"{shown(text)} is no method of fusion; write its name and options, as in 'rrf(k=60)'"
        )
    method = match["name"]
    given = dict(literals(match["inside"] or "", text, "'rrf(k=60)'"))
    if method == "combos":  # trectools, whose strategies are methods here
        method = str(given.pop("strategy", "sum"))
    entry = _find(method, text, among)
    for name in given.keys() & OPTIONS.keys():
        if OPTIONS[name] in entry.parameters.keys() - given.keys():
            given[OPTIONS[name]] = given.pop(name)
    for option, value in options.items():
        if value is None:
            continue
        name = entry.depth[0] if option == "depth" else option
        if name in given:
            raise InvalidOption(
                f"{name}={shown(value)} and {shown(text)} both give {name}; give it once"
            )
        if name not in entry.parameters and name in ("normalize", "missing"):
            why = "treats scores as the engine does"
            if entry.of == "ranks":
                why = "goes by ranks alone"
            raise InvalidOption(f"{entry.name} {why}, so {name}={shown(value)} has no effect")
        given[name] = value
    return call_of(entry, (), given)


def _find(name: str, text: str, among: Mapping[str, Fusion]) -> Fusion:
    entry = _of_any_list(name, among)
    if entry is None:
        says = unknown(name, among, text)
    elif entry.name in among:
        return entry
    elif isinstance(entry, Trained):
        says = f"{entry.name} is trained on judged rankings, by fit_fusion"
    else:
        says = f"{entry.name} needs no training; trained methods are {', '.join(among)}"
    raise InvalidOption(says)


def _of_any_list(name: str, among: Mapping[str, Fusion]) -> Fusion | None:
    """The method of a name, first of all of one list; None for an unknown name."""
    wanted = _plain(name)
    for entries in (among, FUSIONS, TRAINED_FUSIONS):
        for entry in entries.values():
            if wanted in map(_plain, (entry.name, *entry.aliases)):
                return entry
    return None


def _plain(name: str) -> str:
    """A name in lower case without _ and -, so that ``CombMNZ`` is ``comb_mnz``."""
    return re.sub("[_-]", "", name.lower())
