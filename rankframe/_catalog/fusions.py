"""The lists of methods of fusion and of normalisations, and the parser of their texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from inspect import Parameter, signature
from typing import Literal, TypeAlias, TypeVar

import polars as pl

from .._support.option_kinds import CUTOFF, Kind, Part, kind_of
from .._support.option_values import Range
from .._words.rankings import JudgedRankings, Learned, Missing, Normalization
from ..errors import Code, InvalidOption, RankframeError, Text, option, shown
from .call import Call, call_of
from .find_by_name import nearest_name
from .mapping_by_name import ByName
from .parse import calls_in, literals
from .registry import Metric

F = TypeVar("F", bound=Callable[..., pl.Expr])
N = TypeVar("N", bound=Normalization)
Of: TypeAlias = Literal["scores", "ranks", "engine"]

_fusions: dict[str, Fusion] = {}
FUSIONS: Mapping[str, Fusion] = ByName(_fusions, "methods of fusion")
"""Every method of fusion by its canonical name, in the order of the documentation."""

_trained: dict[str, Trained] = {}
TRAINED_FUSIONS: Mapping[str, Trained] = ByName(_trained, "methods of fusion")
"""Every method of fusion that is trained on judged rankings, by its name."""

_normalizations: dict[str, Normalization] = {}
NORMALIZATIONS: Mapping[str, Normalization] = ByName(_normalizations, "normalizations")
"""Every normalisation by its canonical name."""

_other_names: dict[str, str] = {}

OPTIONS = {"norm": "normalize", "p": "phi"}
"""ranx' and trectools' names of options."""

TEXT = re.compile(r"\s*(?P<name>[^\s()]+)\s*(?:\((?P<inside>.*)\))?\s*", re.DOTALL)


@dataclass(frozen=True, eq=False, repr=False)
class Fusion(Metric):
    """A method of fusion with its names, as ``@fusion`` makes it from a function of `Rankings`.

    Attributes
    ----------
    of
        ``"scores"``: it adds up scores, which may be normalised; ``"ranks"``: it uses ranks; ``"engine"``: it counts as a
        search engine does, with its own normalisation.
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
        shared = {name: Parameter(name, Parameter.KEYWORD_ONLY, default=x) for name, (_, x) in self._shared.items()}
        return {**super().parameters, **shared}

    @cached_property
    def kinds(self) -> dict[str, Kind]:
        """The values that options take."""
        return {**super().kinds, **{name: kind for name, (kind, _) in self._shared.items()}}

    @property
    def listed(self) -> str | None:
        """The list of ``rankframe`` that has it; None if it is not declared."""
        lists = {"FUSIONS": FUSIONS, "TRAINED_FUSIONS": TRAINED_FUSIONS}
        return next((name for name, entries in lists.items() if entries.get(self.name) is self), None)

    @property
    def first(self) -> None:
        """No option of a fusion is written after ``@``."""

    @property
    def own(self) -> bool:
        """Whether it is one of the library's own."""
        return self.formula.__module__.startswith("rankframe.fusions.")

    @property
    def _shared(self) -> dict[str, tuple[Kind, object]]:
        name, default = self.depth
        depth: dict[str, tuple[Kind, object]] = {name: (_kind(int | None, CUTOFF), default)}
        if self.of != "scores":
            return depth
        words = tuple(Part(repr(name), normalization_of, name) for name in NORMALIZATIONS)
        normalize = Kind((*words, *_kind(None).parts))
        return {"normalize": (normalize, None), "missing": (_kind(Missing), "skip"), **depth}


@dataclass(frozen=True, eq=False, repr=False)
class Trained(Fusion):
    """A method of fusion that learns from judged rankings.

    Attributes
    ----------
    learn
        A function from `JudgedRankings`, and the method's options among its parameters, to the learned values.
    """

    learn: Callable[..., Learned] = field(kw_only=True)

    def learned(self, rankings: JudgedRankings, options: Mapping[str, object]) -> Learned:
        """The values that the method learns from the rankings."""
        taken = signature(self.learn).parameters
        return self.learn(rankings, **{name: value for name, value in options.items() if name in taken})


def _kind(annotation: object, within: Range = Range()) -> Kind:  # noqa: B008 - frozen
    kind = kind_of(annotation, within)
    if kind is None:
        raise TypeError(annotation)
    return kind


def fusion(
    *aliases: str, of: Of, absent: bool = False, depth: tuple[str, int | None] = ("depth", None)
) -> Callable[[F], F]:
    """Declare a function of `Rankings` as a method of fusion; the function is returned unchanged."""

    def register(formula: F) -> F:
        name = formula.__name__
        _fusions[name] = Fusion(name, formula, aliases, bounds=(None, None), of=of, absent=absent, depth=depth)
        return formula

    return register


def trained(learn: Callable[..., Learned], *, of: Of, absent: bool = False) -> Callable[[F], F]:
    """Declare a function of `Rankings`, and the function that trains it, as a trained method; return it unchanged."""

    def register(formula: F) -> F:
        name = formula.__name__
        _trained[name] = Trained(name, formula, bounds=(None, None), of=of, absent=absent, learn=learn)
        return formula

    return register


def normalization(*aliases: str, text: str | None = None) -> Callable[[N], N]:
    """Declare a function of one ranking's `Scores` as a normalisation; `text` is its name if not the function's own."""

    def register(function: N) -> N:
        name = text or function.__name__
        _normalizations[name] = function
        _other_names.update(dict.fromkeys(aliases, name))
        return function

    return register


def normalization_of(given: object) -> str:
    """The canonical name of a normalisation."""
    name = _other_names.get(given, given) if isinstance(given, str) else ""
    if name not in NORMALIZATIONS:
        raise ValueError(given)
    return name


def fusion_of(text: str, among: Mapping[str, Fusion] = FUSIONS, /, **options: object) -> Call:
    """The call of a method of fusion that a text names, with further options, which must not be in the text.

    Raises
    ------
    InvalidOption
        If no method has the name, or an option is unknown, given twice, or out of its range.
    """
    match = TEXT.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        if hasattr(text, "fuse") and hasattr(text, "text"):
            raise InvalidOption(
                f"{shown(text)} fuses tables by itself: write ",
                Code("tuned.fuse(df)"),
                "; where a method is named, write its text and its runs: ",
                Code("df.rank.fusion.explain(tuned.text, runs=tuned.runs)", phrase="as in {}"),
            )
        raise InvalidOption(f"{shown(text)} is no method of fusion; write its name and options, as in 'rrf(k=60)'")
    named, given = match["name"], dict(literals(match["inside"] or "", text, "'rrf(k=60)'"))
    if named == "combos":  # trectools, whose strategies are methods here
        named = str(given.pop("strategy", "sum"))
    entry = _find(named, text, among)
    for name in given.keys() & OPTIONS.keys():
        if OPTIONS[name] in entry.parameters.keys() - given.keys():
            given[OPTIONS[name]] = given.pop(name)
    for name, value in options.items():
        if value is None:
            continue
        if name == "depth":
            name = entry.depth[0]
        if name in given:
            raise InvalidOption(
                f"{name}={shown(value)} is given beside {shown(text)}, which says {name}, too; give it once"
            )
        if name not in entry.parameters and name in ("normalize", "missing"):
            why = "goes by ranks alone" if entry.of == "ranks" else "treats scores as the engine does"
            raise InvalidOption(
                f"{entry.name} {why}, so {name}={shown(value)} has no effect; leave it out, or fuse by scores, "
                "as with 'comb_sum'"
            )
        given[name] = value
    return call_of(entry, (), given)


def _find(name: str, text: str, among: Mapping[str, Fusion]) -> Fusion:
    for entry in (*among.values(), *FUSIONS.values(), *TRAINED_FUSIONS.values()):
        if _plain(name) in map(_plain, (entry.name, *entry.aliases)):
            return _trained_or_not(entry, text, among)
    near = nearest_name(name, among)
    where = "" if name == text else f" in {shown(text)}"
    hint: Text = f"Did you mean {near!r}?" if near else f"Known methods: {', '.join(among)}"
    with suppress(RankframeError):
        calls_in(text)
        hint = ("It is a metric: say ", option(metric=text), " beside a method, such as 'rrf'")
    raise InvalidOption(f"unknown method of fusion {shown(name)}{where}. ", hint)


def _plain(name: str) -> str:
    """A name in lower case without _ and -, so that ``CombMNZ`` is ``comb_mnz``."""
    return re.sub("[_-]", "", name.lower())


def _trained_or_not(entry: Fusion, text: str, among: Mapping[str, Fusion]) -> Fusion:
    """The method if it is in `among`; else the error for a trained method in place of an untrained one, or the reverse."""
    if entry.name in among:
        return entry
    if isinstance(entry, Trained):
        train = Code(f"df.rank.fuse(rf.fit_fusion(train, {text!r}, runs=[...]))", phrase=": write {}")
        raise InvalidOption(f"{entry.name} is trained on judged rankings", train)
    fuse = Code(f"df.rank.fuse({text!r}, runs=[...])", phrase=": write {}")
    raise InvalidOption(f"{entry.name} needs no training", fuse, f"; trained methods are {', '.join(among)}")
