"""User models of the C/W/L metrics: expected gain and documents seen, if a reader goes on with a
given probability.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, TypedDict, TypeVar

import polars as pl

from .._catalog.registry import metric
from .._support.polars_versions import of_one
from .._words.ranking import Label, Proportion, Range, Ranking, with_group, zero_unless

__all__ = [
    "BEYOND",
    "ByRank",
    "Gains",
    "OfReport",
    "Reader",
    "ReaderSums",
    "Report",
    "Share",
    "Target",
    "TopLabel",
    "by_rank",
    "insq_weights",
    "listed",
    "reported",
    "running",
    "squares_from",
    "table",
    "user_model",
    "without_residual",
]

Report: TypeAlias = Literal["EU", "ETU", "EC", "ETC", "ED"]
Number = TypeVar("Number", float, pl.Expr)
F = TypeVar("F", bound=Callable[..., pl.Expr])
Share: TypeAlias = Mapping[Label, Proportion] | None
TopLabel: TypeAlias = Literal["query"] | Annotated[float, Range(above=0)] | None
Target: TypeAlias = Annotated[float, Range(least=1e-9, most=1_000_000)]
ByRank: TypeAlias = Callable[[Any], Any]
"""A number for a rank that is a number, and an expression for an expression."""
BEYOND = ("report", "residual")
"""Reports other than the mean gain; for these, `no_relevant="one"` does not apply."""


class OfReport(TypedDict, total=False):
    """The options of every metric of the C/W/L family, as `sdcg` documents them."""

    max_label: TopLabel
    gain: Share
    report: Report
    residual: bool


def user_model(*aliases: str, report: Report = "EU", **declared: Any) -> Callable[[F], F]:
    """Declare a formula that unpacks `OfReport` as a metric; `report` is its default report."""
    defaults = {"max_label": None, "gain": None, "report": report, "residual": False}

    def declare(formula: F) -> F:
        with_options = with_group(formula, defaults)
        return metric(*aliases, beyond=BEYOND, **declared)(with_options)

    return declare


def without_residual(*, residual: bool = False, report: Report = "EU", **_: object) -> bool:
    """Whether documents without gain add nothing to a report; unjudged ones add to a residual, and
    all have a cost.
    """
    return not residual and report not in ("EC", "ETC")


LISTED = 10_000
"""The depth down to which INSQ's sums are listed."""

# ----------------------------------------------------------------------- what a reader goes through
#
# C(i) is the probability to go on from rank i, V(i) = C(1) ... C(i - 1) that to see rank i. All
# reports follow from the sums of V and of V x gain. Ranks with gain 0, and those below the last
# document retrieved, have closed forms, so that only documents with a gain are looked at: see
# `by_rank` and `inst`.


@dataclass(frozen=True)
class ReaderSums:
    """Sums over the ranks 1 to the depth that a reader sees."""

    #: The sum of V x gain, with the share of each rank in its row.
    gained: pl.Expr
    #: The sum of V: the number of documents seen.
    seen: pl.Expr
    #: V at each rank.
    chance: Callable[[], pl.Expr]
    #: The probability to reach the end without stopping; None if reading stops there.
    beyond: pl.Expr | None = None

    def report(self, what: Report, gains: Gains) -> pl.Expr:
        """The sums as EU, the gain per document seen; ETU, the total gain; EC and ETC, the same of
        costs; ED, documents seen.
        """
        if what == "EU":
            return self.gained / self.seen
        if what == "ED":
            return self.seen
        if what == "ETU":
            return self._less_beyond(self.gained, gains.offered)
        spent, at_the_end = self._costs(gains)
        if what == "EC":
            return spent / self.seen
        return self._less_beyond(spent, at_the_end)

    def _less_beyond(self, value: pl.Expr, at_the_end: pl.Expr) -> pl.Expr:
        """A total, without readers who reach the end."""
        return value if self.beyond is None else value - self.beyond * at_the_end

    def _costs(self, gains: Gains) -> tuple[pl.Expr, pl.Expr]:
        """The cost of what a reader sees, and of all ranks; a rank without a document costs 1."""
        depth = pl.lit(float(gains.depth))
        if gains.r.setup.roles.cost is None:
            return self.seen, depth
        more = gains.r.cost - 1
        spent = self.seen + gains.whole(self.chance() * more)
        return spent, depth + gains.whole(more)


class Gains:
    """The gain of each document, from 0 to 1; `unknown` for unjudged documents and unfilled
    ranks.
    """

    def __init__(self, r: Ranking, depth: int, each: pl.Expr, unknown: int, *, shown: bool) -> None:
        self.r = r
        self.depth = depth
        self.unknown = unknown
        self.shown = shown
        if unknown:
            r.need_every_rank()
            each = pl.when(r.judged).then(each).otherwise(1.0)
        self.each = each

    @property
    def retrieved(self) -> pl.Expr:
        """The number of ranks down to the depth that have a document."""
        return pl.min_horizontal(self.r.n_retrieved, pl.lit(float(self.depth)))

    def total(self, x: pl.Expr, weight: pl.Expr | None = None) -> pl.Expr:
        """The sum down to the depth, with each rank's part where the report is a sum over ranks."""
        if self.shown:
            return self.r.total(x, self.depth, weight=weight)
        return self.whole(x if weight is None else x * weight)

    def whole(self, x: pl.Expr) -> pl.Expr:
        """The sum down to the depth, the same at every rank."""
        return self.r.whole(zero_unless(self.r.rank <= self.depth, x))

    @property
    def offered(self) -> pl.Expr:
        """The sum of all gains."""
        empty_ranks = self.depth - self.retrieved
        return self.whole(self.each) + self.unknown * empty_ranks


Reader: TypeAlias = Callable[[Gains], ReaderSums]


def reported(
    r: Ranking, reader: Reader, depth: int, options: OfReport, *, stops: bool = False
) -> pl.Expr:
    """The report of a reader if unjudged documents have gain 0; or, for a residual, its increase if
    they have gain 1.

    With `stops` reading always ends at the depth, so that the total gain is a sum over ranks, too.
    """
    report = options.get("report", "EU")
    residual = options.get("residual", False)
    is_sum = report == "EU" or (report == "ETU" and stops)
    shown = is_sum and not residual
    each = _share(r, options.get("max_label"), options.get("gain"))

    def if_unknown_are_worth(unknown: int) -> pl.Expr:
        gains = Gains(r, depth, each, unknown, shown=shown)
        return reader(gains).report(report, gains)

    if not residual:
        return if_unknown_are_worth(0)
    return if_unknown_are_worth(1) - if_unknown_are_worth(0)


def _share(r: Ranking, max_label: TopLabel, gain: Share) -> pl.Expr:
    if gain is not None:
        return r.gain(gain)
    if max_label is None:
        return (r.label / r.largest_label_of_table).fill_nan(0.0)
    if max_label == "query":
        return (r.label / r.largest_label).fill_nan(0.0)
    says = f"a label is above max_label={max_label}; give the top of the label scale"
    r.refuse(r.label > max_label, says)
    return r.label / max_label


def by_rank(sees: ByRank, seen: ByRank, *, stops: bool, cascade: bool) -> Reader:
    """A reader who sees a rank with probability `sees`; `seen` is the sum of these down to a rank.

    With `stops` reading always ends at the depth. With `cascade` each document also ends it, with a
    probability equal to its gain: then V(i) is ``sees(i)`` times P(i), the product of 1 - gain
    above, and as P drops by P x gain at each document, the sum of V is ``seen(depth)`` less the sum
    of P x gain x (``seen(depth)`` - ``seen(rank)``).
    """

    def reader(g: Gains) -> ReaderSums:
        rank = g.r.rank
        last = pl.lit(seen(float(g.depth)))
        after = None if stops else pl.lit(sees(g.depth + 1.0))
        if not cascade:
            gained = g.total(g.each, sees(rank))
            if g.unknown:
                gained = gained + last - seen(g.retrieved)
            return ReaderSums(gained, last, lambda: pl.lit(1.0) * sees(rank), after)
        ends = g.r.stops(g.each)
        gained = g.total(ends, sees(rank))
        number = last - g.whole(ends * (last - seen(rank)))
        left = 1 - g.whole(ends)
        if g.unknown:  # the first rank below the last document has gain 1, and reading ends there
            has_room = (g.retrieved < g.depth).cast(pl.Float64)
            stops_below = has_room * left
            gained += stops_below * sees(g.retrieved + 1)
            number -= stops_below * (last - seen(g.retrieved + 1))
            left -= stops_below
        beyond = None if after is None else after * left
        return ReaderSums(
            gained, number, lambda: g.r.product_before(1 - g.each) * sees(rank), beyond
        )

    return reader


def table(values: list[float]) -> ByRank:
    """`values` by number from 0 on; 0 beyond."""
    listed = pl.lit(values, dtype=pl.List(pl.Float64))

    def value(i: Any) -> Any:
        if isinstance(i, pl.Expr):
            place = i.cast(pl.Int64)
            return listed.list.get(place, null_on_oob=True).fill_null(0.0)
        return values[int(i)] if i < len(values) else 0.0

    return value


def running(terms: list[float]) -> list[float]:
    """The running sums, from 0 before the first term on."""
    sums = [0.0]
    for term in terms:
        sums.append(sums[-1] + term)
    return sums


def squares_from(x: Number) -> Number:
    """1 / x^2 + 1 / (x + 1)^2 + ... without end: the trigamma function, for x above 0.

    >>> import math
    >>> (
    ...     abs(squares_from(1.0) - math.pi**2 / 6) < 1e-15,
    ...     abs(squares_from(0.5) - math.pi**2 / 2) < 1e-14,
    ... )
    (True, True)
    """
    if not isinstance(x, pl.Expr):
        return _squares_from(x)
    return of_one(x, _squares_from)


def _squares_from(x: Number) -> Number:
    # The first six terms in pairs: (x + i)(x + 5 - i) = x (x + 5) + i (5 - i), and of two numbers
    # with the product p and a sum whose square is s, 1 / a^2 + 1 / b^2 = (s - 2 p) / p^2.
    s = (2 * x + 5) ** 2
    p = x * (x + 5)
    q = p + 4
    r = p + 6
    head = (s / p - 2) / p + (s / q - 2) / q + (s / r - 2) / r
    # All that follow, by Stieltjes' continued fraction, which so many steps make exact to the last
    # digit or two.
    middle = x + 5.5
    rest = middle
    for k in range(8, 0, -1):
        rest = middle + k**4 / (16 * k**2 - 4) / rest
    return head + 1 / rest


def insq_weights(target: float, depth: int) -> tuple[ByRank, ByRank]:
    """V(i) = (2 T / (2 T + i - 1))^2, and its sum."""
    wanted = 2 * target

    def sees(rank: Any) -> Any:
        return (wanted / (wanted + rank - 1)) ** 2

    def seen(rank: Any) -> Any:
        rest = squares_from(wanted + rank)
        return wanted**2 * (squares_from(wanted) - rest)

    if depth > LISTED:
        return sees, seen
    # looking a sum up takes a sixth of the time of computing it, as long as the list is short
    _, sums = listed([sees(rank) for rank in range(1, depth + 1)])
    return sees, sums


def listed(weights: list[float]) -> tuple[ByRank, ByRank]:
    """V(i) from a list of the first ones, and its sum."""
    return table([0.0, *weights]), table(running(weights))
