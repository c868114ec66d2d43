"""What an estimator is: a row with its words, its needs, and a function from sample to estimate."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any, Literal, TypeAlias

import polars as pl

from .._support.floats import Floats, np
from .._support.statistical_options import FEW
from ..errors import InvalidOption, Text, option
from .sample import Sample

Need: TypeAlias = Literal[
    "limits", "bounds", "plain means", "confidence", "directions", "order", "ids", "runs", "known"
]
"""What an estimator needs of a sample.

Limits of the values, which metrics may declare, or bounds that all metrics declare; plain means of
the values; an interval; and the facts of `Sample` of these names."""


@dataclass(frozen=True)
class Estimate:
    """What an estimator tells of each column.

    Attributes
    ----------
    value
        The mean.
    low, high
        The ends of the interval; NaN without one. Where the test can reject no mean, they are the
        limits of the values.
    p
        The two-sided p-value of a mean of 0; NaN without a value, and where the estimator has no
        test.
    more
        What else it tells, such as whether p is ``"exact"``.
    kinds
        The kind of each interval, None without one; a function whose kind is the estimator's name
        leaves it out.
    """

    value: Floats
    low: Floats
    high: Floats
    p: Floats
    more: Mapping[str, Floats] = field(default_factory=dict)
    kinds: Sequence[str | None] = ()


def enough_for_most(share: float, ci: float) -> int:
    """The fewest units, whatever the loss, for an interval that does not hold for few."""
    return FEW


def weighted(sample: Sample) -> Floats:
    """The weighted mean of each column."""
    return sample.mean


@dataclass(frozen=True)
class Estimator:
    """A way from a sample to an estimate.

    Attributes
    ----------
    name
        Its name, as options and results have it.
    function
        Takes a sample and alpha, which is NaN without an interval, and its own options by name.
    test, interval
        The words for its test and for its interval; for several kinds of interval, their words by
        kind.
    needs
        What it needs of a sample.
    units
        The options of a verb about units that the estimator takes: their weights, their clusters,
        the look at which they came.
    columns
        The columns that results have of `Estimate.more`.
    gives_p
        Whether it gives a p-value.
    corrected
        Whether p and the intervals hold for all columns of a family at once.
    holds_for_few
        Whether its interval holds for any number of units.
    mean
        The mean alone, from a sample and those of its options that it reads.
    enough
        After how many units without a change a bound of this confidence rules out the loss of a
        share of the values' range.
    """

    name: str
    function: Callable[..., Estimate]
    test: str
    interval: str | Mapping[str, str] = ""
    needs: Sequence[Need] = ()
    units: Sequence[str] = ("weights", "cluster")
    columns: Mapping[str, pl.DataType] = field(default_factory=dict)
    gives_p: bool = True
    corrected: bool = False
    holds_for_few: bool = False
    mean: Callable[..., Floats] = weighted
    enough: Callable[..., int] = enough_for_most

    @property
    def options(self) -> list[str]:
        """The names of its own options."""
        return _options_of(self.function)

    @property
    def intervals(self) -> Mapping[str, str]:
        """The words of its kinds of interval."""
        if isinstance(self.interval, str):
            return {self.name: self.interval} if self.interval else {}
        return self.interval

    def takes(self, name: str) -> bool:
        """Whether it takes an option of a verb."""
        return name in self.units or name in self.options

    def own(self, function: Callable[..., object], options: Mapping[str, object]) -> dict[str, Any]:
        """The options that one of the estimator's functions takes."""
        names = _options_of(function)
        return {name: options[name] for name in names if name in options}

    def __call__(self, sample: Sample, ci: float | None, **options: object) -> Estimate:
        """The estimate, with those of some options that the estimator takes."""
        alpha = math.nan if ci is None else round(1 - ci, 12)
        return self.at(sample, alpha, **options)

    def at(self, sample: Sample, alpha: float, **options: object) -> Estimate:
        """The estimate with intervals of the confidence 1 - alpha; without them if alpha is NaN."""
        taken = self.own(self.function, options)
        estimate = self.function(sample, alpha, **taken)
        kinds = [*(estimate.kinds or [self.name] * sample.columns)]
        for i in np.flatnonzero(np.isnan(estimate.low)):
            kinds[i] = None
        return replace(estimate, kinds=kinds)

    def refuse_others(
        self,
        chosen: Text,
        options: Mapping[str, tuple[object, object]],
        ways: Sequence[tuple[Estimator, Text]] = (),
    ) -> None:
        """Refuse options that it does not take.

        Parameters
        ----------
        chosen
            How the call asks for this estimator.
        options
            The value and the default of each option. One that names the estimator asks for it.
        ways
            The estimators that the verb has, and how a call asks for each.
        """
        for name, (value, usual) in options.items():
            asks_for_it = self.name in (name, value)
            if value == usual or asks_for_it or self.takes(name):
                continue
            given = option(**{name: value})
            asks_for_another = any(other.name == value for other, _ in ways)
            others = [way for other, way in ways if other.takes(name)]
            if len(others) == 1 and not asks_for_another:
                raise InvalidOption(chosen, f" takes no {name}; ", given, " is for ", others[0])
            raise InvalidOption(chosen, f" takes no {name}; leave out ", given)


def _options_of(function: Callable[..., object]) -> list[str]:
    """The names of a function's options."""
    parameters = signature(function).parameters
    return [name for name, x in parameters.items() if x.kind is x.KEYWORD_ONLY]
