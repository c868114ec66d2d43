"""The settings of methods of fusion that tuning tries: a grid, or one option after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from math import comb
from typing import Literal, TypeAlias

from .._catalog.call import Call, call_of
from .._catalog.fusions import fusion_of
from .._support.option_values import is_number
from ..errors import InvalidOption, did_you_mean, option, shown

Search: TypeAlias = Literal["grid", "coordinate"]
Score: TypeAlias = Callable[[Sequence[Call]], Sequence[float]]
"""The mean of each call over the training queries, the higher the better."""

CHOICES: Mapping[str, tuple[float, ...]] = {
    "k": (60, 0, 5, 10, 20, 40, 80, 100),
    "gamma": (1, 0, -1, -0.5, 0.5, 1.5, 2),
    "sigma": (0.01, 0, 0.05, 0.1, 0.2, 0.5, 1),
    "phi": (0.8, 0.5, 0.6, 0.7, 0.85, 0.9, 0.95),
}
"""The values of an option that are tried if the caller gives none, the default first."""

WEIGHTS = "weights"
GRID_RUNS = 3
"""The most runs whose weights are searched by a grid if the caller does not say."""
MOST = 20_000
"""The most settings of a grid."""
SWEEPS = 10
"""The most times that a coordinate search goes through all options."""
GAIN = 1e-12
"""The relative gain, more than rounding, by which a setting must beat another to replace it."""


@dataclass(frozen=True)
class Tuning:
    """The settings of a call of `tune`.

    Attributes
    ----------
    methods
        The texts of the methods; options that a text gives stay as they are.
    options
        The values to try, by option.
    step
        The step of the weights, which add up to 1.
    search
        How settings are searched; ``None``: a grid for up to three runs, else coordinate by coordinate.
    folds, seed
        The number of parts of the queries, and the seed of the partition.
    """

    methods: tuple[str, ...]
    options: Mapping[str, Sequence[object]]
    step: float
    search: Search | None
    folds: int
    seed: int

    def __post_init__(self) -> None:
        if not self.methods:
            raise InvalidOption("there is no method to tune; name one, as in df.rank.tune('wsum(normalize=min_max)')")
        if not (is_number(self.step) and 0 < self.step <= 1 and abs(1 / self.step - round(1 / self.step)) < 1e-9):
            raise InvalidOption(
                option(step=self.step),
                " does not divide 1 into equal steps; write one that does, as ",
                option(step=0.1),
            )
        for name, values in self.options.items():
            if not values:
                raise InvalidOption(
                    f"options={{{name!r}: {shown(values)}}} gives no values to try; write a list, as options={{'k': [10, 60]}}"
                )

    @property
    def n_steps(self) -> int:
        """The number of steps from 0 to 1."""
        return round(1 / self.step)

    def searched(self, n_runs: int) -> Search:
        """The search for a number of runs: a grid, or one coordinate at a time."""
        return self.search or ("grid" if n_runs <= GRID_RUNS else "coordinate")


@dataclass(frozen=True)
class Space:
    """The settings of one method.

    Attributes
    ----------
    start
        The method with the options that its text gives.
    choices
        The values to try of each other option, the untuned one first; for weights, full lists.
    tuning, n_runs
        The call of `tune`, and the number of runs.
    """

    start: Call
    choices: Mapping[str, Sequence[object]]
    tuning: Tuning
    n_runs: int

    @property
    def untuned(self) -> Call:
        """The setting to which tuning is compared: the first value of each option, and equal weights."""
        return self._call({name: values[0] for name, values in self.choices.items()})

    @cached_property
    def grid(self) -> list[Call]:
        """All settings, the untuned one first."""
        settings = (self._call(dict(zip(self.choices, x, strict=True))) for x in product(*self.choices.values()))
        return list(dict.fromkeys(settings))

    def best(self, score: Score) -> Call:
        """The setting with the highest mean; of equal ones the first tried."""
        if self.tuning.searched(self.n_runs) == "grid":
            return _best(self.grid, score)
        chosen = {name: values[0] for name, values in self.choices.items()}
        for _ in range(SWEEPS):
            before = chosen
            for name, run in self._coordinates():
                values = [chosen[name], *self._values(name, run, chosen[name])]
                settings = {self._call(x): x for x in ({**chosen, name: value} for value in values)}
                chosen = settings[_best([*settings], score)]
            if chosen == before:
                break
        return self._call(chosen)

    def _coordinates(self) -> list[tuple[str, int | None]]:
        """The options, and weights run by run."""
        own = [name for name in self.choices if name != WEIGHTS or name in self.tuning.options]
        return [
            *((WEIGHTS, run) for run in range(self.n_runs) if WEIGHTS not in own and WEIGHTS in self.choices),
            *((name, None) for name in own),
        ]

    def _values(self, name: str, run: int | None, now: object) -> Sequence[object]:
        """The values of an option to try; for a run's weight, lists in which the other weights keep their ratios."""
        if run is None:
            return self.choices[name]
        weights = now if isinstance(now, Sequence) else (1.0,) * self.n_runs
        return [_with(weights, run, i / self.tuning.n_steps) for i in range(self.tuning.n_steps + 1)]

    def _call(self, options: Mapping[str, object]) -> Call:
        given = {name: x for name, x in options.items() if x is not None}
        return call_of(self.start.metric, (), {**self.start.arguments, **given})


def _best(calls: Sequence[Call], score: Score) -> Call:
    best, highest = calls[0], None
    for call, mean in zip(calls, score(calls), strict=True):
        if highest is None or mean > highest + GAIN * abs(highest):
            best, highest = call, mean
    return best


def _with(weights: Sequence[float], run: int, weight: float) -> tuple[float, ...]:
    """The weights with a new one for a run; the others keep their ratios, and all add up to 1."""
    rest = sum(weights) - weights[run]
    shares = [x / rest if rest > 0 else 1 / (len(weights) - 1) for x in weights]
    return tuple(round(weight if i == run else (1 - weight) * share, 6) for i, share in enumerate(shares))


def spaces_of(tuning: Tuning, n_runs: int) -> list[Space]:
    """The settings of each method; refused if there is nothing to choose, or too much for a grid."""
    if n_runs < 2:
        raise InvalidOption(
            "there is one run, and nothing to fuse; name two or more, as ", option(runs=["bm25", "dense"])
        )
    calls = [fusion_of(text) for text in tuning.methods]
    spaces = [Space(call, _choices(call, tuning), tuning, n_runs) for call in calls]
    for name in tuning.options:
        taking = [space for space in spaces if name in space.choices]
        if not taking:
            known = {x for space in spaces for x in space.start.metric.parameters}
            raise InvalidOption(
                f"no method takes or leaves open the option {name!r} of options; options of {', '.join(tuning.methods)} "
                f"are {', '.join(sorted(known)) or 'none'}.{did_you_mean(name, known - {name})}"
            )
    sizes = [_size(space) for space in spaces]
    if sum(sizes) < 2:
        raise InvalidOption(
            f"{spaces[0].start.text} leaves nothing to choose; give options={{...}} with the values to try, several methods, as "
            "['comb_sum', 'comb_mnz'], or several normalisations, as ",
            option(normalize=["min_max", "zmuv"]),
        )
    if tuning.searched(n_runs) == "grid" and sum(sizes) > MOST:
        raise InvalidOption(
            f"the grid has {sum(sizes):,} settings, and at most {MOST:,} are tried; write ",
            option(search="coordinate"),
            f", or a greater step than {tuning.step:g}",
        )
    if tuning.searched(n_runs) == "coordinate" or not any(WEIGHTS in space.choices for space in spaces):
        return spaces
    simplex = _simplex(tuning.n_steps, n_runs)
    return [
        replace(space, choices={**space.choices, WEIGHTS: [space.choices[WEIGHTS][0], *simplex]})
        if WEIGHTS in space.choices and WEIGHTS not in tuning.options
        else space
        for space in spaces
    ]


def _choices(call: Call, tuning: Tuning) -> dict[str, Sequence[object]]:
    """The values of each option that the text leaves open."""
    fixed = {name for name, _ in call.options} | call.given
    found: dict[str, Sequence[object]] = {}
    for name in call.metric.parameters:
        if name in tuning.options and name in fixed and len(tuning.methods) == 1:
            raise InvalidOption(
                f"options gives values of {name!r}, which {shown(call.text)} says already; leave one of them out"
            )
        if name in fixed:
            continue
        if name in tuning.options:
            found[name] = [tuple(x) if isinstance(x, list) else x for x in tuning.options[name]]
        elif name == WEIGHTS:
            found[name] = [None]
        elif name in CHOICES:
            found[name] = CHOICES[name]
    return found


def _size(space: Space) -> int:
    """The number of settings in a grid."""
    size = 1
    for name, values in space.choices.items():
        own = name == WEIGHTS and name not in space.tuning.options
        size *= 1 + comb(space.tuning.n_steps + space.n_runs - 1, space.n_runs - 1) if own else len(values)
    return size


def _simplex(steps: int, n: int) -> list[tuple[float, ...]]:
    """All weights of n runs that are multiples of the step and add up to 1, the most equal first."""
    bars = combinations(range(steps + n - 1), n - 1)
    parts = [[b - a - 1 for a, b in zip((-1, *x), (*x, steps + n - 1), strict=True)] for x in bars]
    return [tuple(x / steps for x in part) for part in sorted(parts, key=lambda part: sum(x * x for x in part))]
