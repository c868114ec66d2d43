"""A metric with its options: one column of a result, and its canonical text."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeVar

import polars as pl

from .._support.option_kinds import bind, check
from .._support.option_values import as_number, is_number
from .._table.policies import Label, NoRelevant
from .._table.setup import OPTIONS, Setup
from .._words.context import LackingRole
from .._words.expected_ties import NoExpectation
from .._words.quotients import undefined
from .._words.ranking import Ranking, Used
from .._words.subtopics import Topics
from ..errors import Code, InvalidOption, shown
from .registry import Bounds, Judging, Metric

D = TypeVar("D")
WEIGHT = Code("weight=...", command="--weight")
PROPENSITY = Code("propensity=...", command="--propensity")
OF_NAN = (
    "and not by a quotient 0 / 0, which is 0; write the value there, as by pl.when(...).then(...)"
)
"""What is wrong with NaN as the value of a formula."""

SEVERAL = (list, tuple, range)
"""The types of several cutoffs."""


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
    given
        The options that were given, also those equal to their defaults; a convention does not
        change them.
    column
        Of a value that is not a ranking's: the expression that makes it of the rows of a query;
        None for a metric.
    weighed
        What weights of documents make of the value: ``"sum"``, of weighted gains, which has no
        upper bound; or ``"ratio"`` of two such sums, the second over all clicks of the query.
    """

    metric: Metric
    options: tuple[tuple[str, object], ...] = ()
    relevant: float | None = None
    given: frozenset[str] = field(default=frozenset(), compare=False)
    column: Expression | None = None
    weighed: Literal["sum", "ratio"] | None = field(default=None, compare=False)

    @cached_property
    def text(self) -> str:
        """The canonical text, which :func:`rankframe.parse` reads back to an equal call."""
        return self._written(self.metric.name)

    @property
    def display(self) -> str:
        """The text with the metric's name as people write it, as ``nDCG@10``."""
        name = self.metric.display
        return self._written(self.metric.name if name is None else name)

    def _written(self, name: str) -> str:
        options = dict(self.options)
        first = self.metric.first
        at = f"@{_literal(options.pop(first))}" if first in options else ""
        if self.column is not None:
            column = self.column.x.meta.output_name()
            if not name:
                return column
            name += f":{_literal(column)}"
        if self.relevant is not None:
            options["relevant"] = self.relevant
        if options:
            inside = ",".join(f"{option}={_literal(value)}" for option, value in options.items())
            name += f"({inside})"
        return name + at

    @property
    def cutoff(self) -> bool:
        """Whether the call names a rank to stop at."""
        return any(name == "k" for name, _ in self.options)

    @property
    def bounds(self) -> Bounds:
        """The least and the greatest value that the call can have; ``None`` for no limit."""
        if self.column is not None:
            bounds: Bounds = self.arguments.get("bounds", self.metric.bounds)
            return bounds
        for name, value in self.options:
            if name in self.metric.beyond or f"{name}={value}" in self.metric.beyond:
                return None, None
        least, most = self.metric.bounds
        return least, None if self.weighed == "sum" else most

    @property
    def weights(self) -> str:
        """The column of the queries' weights in a table of values: of ratios, their divisors."""
        return f"#weight {self.text}" if self.weighed == "ratio" else "#weight"

    def under(self, setup: Setup) -> Call:
        """The call with what weights of documents make of its value.

        Refused if it has no estimate from clicks.
        """
        roles = setup.roles
        estimate = self._declared(self.metric.from_clicks) if self.labels else "same"
        if roles.propensity is None or estimate == "same":
            weighs = roles.weight is not None and estimate == "sum"
            return replace(self, weighed="sum") if weighs else self
        if estimate is None:
            says = (
                "it is no sum over documents, or divided by what depends on labels that clicks "
                "do not show; normalising so"
            )
            given = (
                f"{self.text} has no unbiased estimate from clicks: {says} can put the worse of "
                "two systems first"
            )
            raise InvalidOption(f"{given} (Jeunen et al. 2023). Evaluate a sum, as 'dcg@10'")
        as_ratio = setup.policies.estimate == "snips"
        return replace(self, weighed="ratio" if as_ratio else estimate)

    @property
    def of_ranking(self) -> bool:
        """Whether it is a metric of a ranking, and not another value of a query's rows."""
        return self.column is None

    @property
    def of_pairs(self) -> bool:
        """Whether it is a measure of two rankings, and has no value for one."""
        return self.metric.over == "pairs"

    def value(self, ranking: Ranking | Topics, no_relevant: NoRelevant) -> pl.Expr:
        """Run the formula over the kind of ranking that it takes, and apply the policies.

        A query without labels has no value if the formula reads them.
        """
        value = self._value(ranking, no_relevant)
        if ranking.setup.policies.nothing_retrieved == "null":
            value = pl.when(ranking.n_retrieved > 0).then(value)
        return pl.when(ranking.has_labels).then(value) if self.labels else value

    def _value(self, ranking: Ranking | Topics, no_relevant: NoRelevant) -> pl.Expr:
        """The value under the policy for queries without relevant documents."""
        ranking = copy(ranking)
        ranking.used = Used()
        weighed = self.under(ranking.setup).weighed
        if self.relevant is not None:
            ranking = ranking.with_threshold(self.relevant)
        value = self._of_formula(ranking)
        self._refuse_other_answers(ranking, weighs=weighed is not None)
        if self.metric.dtype != pl.Float64:
            return value
        if not self.is_constant:
            ranking.refuse_value(undefined(value), f"{self.text} is NaN for a query, {OF_NAN}")
        value = value.fill_nan(0.0)  # 0 / 0
        if weighed == "ratio" and isinstance(ranking, Ranking):
            if self._declared(self.metric.from_clicks) == "sum":
                value = value / ranking.clicks
            return pl.when(ranking.clicks > 0).then(value)
        if not self.labels or no_relevant == "zero":
            return value
        has_relevant = ranking.n_relevant > 0
        if no_relevant == "null":
            return pl.when(has_relevant).then(value)
        if self.bounds != (0, 1) or not self.higher_is_better:
            return value
        # documents contribute nothing to a 1 set by policy
        best = None if ranking.answer == "document" else 1.0
        return pl.when(has_relevant).then(value).otherwise(best)

    def _of_formula(self, ranking: Ranking | Topics) -> pl.Expr:
        """The value of the formula, refused if the ranking cannot tell it."""
        try:
            value = self.metric.formula(ranking, **self.arguments)
            value = value.cast(self.metric.dtype)
            if ranking.expected is not None and ranking.used.total and not self.metric.adds_up:
                # the expectation of a sum is known, but not that of a formula's value
                raise NoExpectation
        except (NoExpectation, LackingRole) as error:
            raise InvalidOption(f"{self.text}: ", error.parts) from None
        return value

    def _refuse_other_answers(self, ranking: Ranking | Topics, *, weighs: bool) -> None:
        """Refuse parts of a value that is no sum, and weights where documents are not weighed."""
        used = ranking.used
        if ranking.answer != "query" and not (used.total and self.metric.adds_up):
            what = "curve" if ranking.answer == "rank" else "contributions"
            raise InvalidOption(
                f"{self.text} is no sum of what each rank contributes, so it has no {what}; "
                "use evaluate"
            )
        roles = ranking.setup.roles
        if not used.weight and (roles.weight is not None or weighs):
            given = WEIGHT if roles.propensity is None else PROPENSITY
            raise InvalidOption(
                f"{self.text} does not weigh documents; evaluate it separately, without ", given
            )

    def with_defaults(self, options: Mapping[str, object]) -> Call:
        """The same call with other values of options that it leaves at their defaults."""
        return self._with_options({**options, **self.arguments})

    def changed(self, **options: object) -> Call:
        """The same call with other values of options."""
        return self._with_options({**self.arguments, **options})

    def _with_options(self, options: Mapping[str, object]) -> Call:
        call = call_of(self.metric, (), options, self.relevant)
        return replace(call, given=self.given | call.given, weighed=self.weighed)

    @property
    def judging(self) -> Judging:
        """How the value reacts to judging unjudged documents."""
        return self._declared(self.metric.judging)

    @property
    def higher_is_better(self) -> bool:
        """Whether a higher value means a better ranking."""
        return self._declared(self.metric.higher_is_better)

    @property
    def labels(self) -> bool:
        """Whether the formula reads labels."""
        return self._declared(self.metric.labels)

    def _declared(self, value: D | Callable[..., D]) -> D:
        """A declaration of the metric, which may be a function of the options."""
        return value(**self.arguments) if callable(value) else value  # pyright: ignore[reportReturnType]

    @cached_property
    def is_constant(self) -> bool:
        """Whether the formula is the library's own, and its result may be cached.

        An option that is a function may give another result each time.
        """
        has_function = any(callable(value) for _, value in self.options)
        return self.metric.own and not has_function

    def gains_only(self, setup: Setup) -> bool:
        """Whether documents with label 0, negative or missing add nothing to the value."""
        if not self._declared(self.metric.gains_only) or self.expressions:
            return False
        threshold = setup.policies.relevant if self.relevant is None else self.relevant
        for value in self.arguments.values():
            if isinstance(value, Mapping) and value.get(0, 0) > 0:
                return False
        return threshold > 0

    @property
    def arguments(self) -> dict[str, Any]:
        """The options as the formula's keyword arguments."""
        return {name: _thaw(value) for name, value in self.options}

    @property
    def expressions(self) -> list[pl.Expr]:
        """The expressions over the table's columns: options, and that of a value."""
        values = list(self.arguments.values())
        if self.column is not None:
            values = [self.column.x, *values]
        return [value for value in values if isinstance(value, pl.Expr)]

    @cached_property
    def columns(self) -> list[str]:
        """The table's columns that options name."""
        return [name for x in self.expressions for name in x.meta.root_names()]

    def __hash__(self) -> int:
        return hash(self.text)  # an option may be a function that has no hash

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        """The code that gives an equal call."""
        listed = self.metric.listed
        if listed is None:
            return f"Call({self.text!r})"
        return f"rf.parse({self.text!r}{'' if listed == 'METRICS' else f', rf.{listed}'})[0]"


CLICKS = tuple(
    Call(Metric(name, formula, from_clicks="ratio", gains_only=True))
    for name, formula in {
        "#clicks": lambda r: r.whole((r.weighed(pl.lit(1.0)) > 0).cast(pl.Float64)),
        "#sum": lambda r: r.clicks,
        "#squares": lambda r: r.whole(r.weighed(r.weight)),
    }.items()
)
"""The number of a query's clicks, the sums of their weights and of the squares of these."""


def calls_for(entry: Metric, args: Sequence[object], options: Mapping[str, object]) -> list[Call]:
    """The calls for the arguments of a method: one for each cutoff."""
    first = entry.first
    by_position = dict(zip(entry.parameters, args, strict=False))
    given = {**by_position, **options}
    cutoffs = None if first is None else given.get(first)
    given_twice = len(given) < len(args) + len(options)
    if first is None or not isinstance(cutoffs, SEVERAL) or given_twice:
        return [call_of(entry, tuple(args), options)]
    if not cutoffs:
        raise InvalidOption(f"{entry.name}({first}={cutoffs!r}) names no {first}")
    return [call_of(entry, (), {**given, first: cutoff}) for cutoff in cutoffs]


def call_of(
    entry: Metric,
    args: tuple[object, ...],
    options: Mapping[str, object],
    relevant: float | None = None,
) -> Call:
    """Bind arguments to a metric's options.

    Defaults are left out, so that calls of equal meaning compare equal.
    """
    signature = inspect.Signature([*entry.parameters.values()])
    bound = bind(entry.name, signature, args, options, of_on=OPTIONS)
    given = {}
    for name, value in bound.arguments.items():
        default = entry.parameters[name].default
        if value is default:
            continue
        value = entry.kinds[name].check(name, value, entry.name)
        if isinstance(value, (bool, pl.Expr)) or value != default:  # True equals 1
            given[name] = _freeze(value)
    if relevant is not None:
        check("relevant", relevant, Label)
        relevant = as_number(relevant)
    in_order = [(name, given[name]) for name in entry.parameters if name in given]
    return Call(entry, tuple(in_order), relevant, frozenset(bound.arguments))


def _freeze(value: object) -> object:
    """A mapping of numbers as a sorted tuple of pairs, so that calls can be compared and hashed."""
    if isinstance(value, pl.Expr):
        return Expression(value)
    if not isinstance(value, Mapping):
        return value
    pairs = []
    for key, x in value.items():
        if not is_number(key) or not is_number(x):
            raise InvalidOption(f"{shown(dict(value))} is no mapping of numbers")
        pairs.append((float(key), float(x)))
    return _Pairs(sorted(pairs))


class _Pairs(tuple[tuple[float, float], ...]):
    """A frozen mapping."""

    __slots__ = ()


class Expression:
    """A frozen expression, equal to an equivalent one."""

    def __init__(self, x: pl.Expr) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.x.meta.eq(other.x)

    def __hash__(self) -> int:
        return hash(self.x.meta.serialize())

    def __repr__(self) -> str:
        return str(self.x)


def _thaw(value: object) -> Any:
    if isinstance(value, Expression):
        return value.x
    return dict(value) if isinstance(value, _Pairs) else value


def _literal(value: object) -> str:
    """An option's value as text: words bare, whole numbers with all their digits and no point."""
    if isinstance(value, _Pairs):
        pairs = [f"{_literal(key)}:{_literal(x)}" for key, x in value]
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, tuple):
        return f"[{','.join(map(_literal, value))}]"
    if isinstance(value, str):
        return value if value.isidentifier() else repr(value)
    if value is None or isinstance(value, int):
        return str(value)
    if not isinstance(value, float):
        return getattr(value, "__name__", repr(value))
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(value)
