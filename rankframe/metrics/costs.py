"""Readers who spend: time-biased gain, the U-measure and IFT, for documents with costs such as time
or length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, TypeAlias

import polars as pl

from .._words.ranking import Cutoff, Range, Ranking, foraging, zero_unless
from ..errors import InvalidOption
from .cwl_user_models import (
    Gains,
    OfReport,
    Reader,
    ReaderSums,
    Report as Report,
    Share as Share,
    TopLabel as TopLabel,
    reported,
    user_model,
)

if TYPE_CHECKING:
    from typing import Unpack

__all__ = ["ift", "time_biased_gain", "u_measure"]

Amount: TypeAlias = Annotated[float, Range(above=0, most=1e12)]
Slope: TypeAlias = Annotated[float, Range(least=0, most=1e6)]


def _spending(
    decay: Callable[[pl.Expr], pl.Expr], below: Callable[[pl.Expr, pl.Expr], pl.Expr]
) -> Reader:
    """A reader who sees a document with a probability that falls with the cost of those above it.

    `below` is the sum of the probabilities of a number of ranks without a document, which cost 1
    each, after a cost.
    """

    def reader(g: Gains) -> ReaderSums:
        cost = g.r.cost
        sees = decay(g.r.so_far(cost) - cost)
        rest = below(g.whole(cost), g.depth - g.retrieved)
        gained = g.total(g.each * sees)
        if g.unknown:
            gained = gained + rest
        return ReaderSums(gained, g.whole(sees) + rest, lambda: sees)

    return reader


@user_model("tbg", display="TBG", bounds=(0, None), needs=("cost",), report="ETU")
def time_biased_gain(
    r: Ranking,
    depth: Cutoff = 1000,
    *,
    half_life: Amount = 224.0,
    **options: Unpack[OfReport],
) -> pl.Expr:
    r"""Time-biased gain: the gain of each document, halved for each `half_life` that a reader
    spends above it.

    .. math:: \sum_i g_i \, 2^{-t_i / h}, \quad t_i = \sum_{j=1}^{i-1} c_j

    Here `c` is the time that a document takes, and `h` is `half_life`.

    Parameters
    ----------
    depth
        The last rank that is read, by default 1000, as in cwl_eval. Ranks without a document take
        the time 1 each, which matters to the reports per document.
    half_life
        The time after which half of the readers have left, in the unit of the costs, above 0.
    max_label, gain, residual
        As for :func:`rankframe.metrics.cwl.sdcg`.
    report
        As for :func:`rankframe.metrics.cwl.sdcg`; the default here is ``"ETU"``, the total gain, as
        in the paper.

    Returns
    -------
    One Float64 per query, from 0 on. ``on(cost=...)`` names the column of times. In the paper the
    time of a document is 4.4 seconds for its summary, and 0.018 seconds a word and 7.8 more with
    the probability of a click, and the gain of a relevant one the probability that it is clicked
    and saved, 0.64 x 0.77.

    References
    ----------
    Smucker and Clarke, Time-based calibration of effectiveness measures, SIGIR 2012; cwl_eval's
    ``TBG``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": 1,
    ...         "doc_id": ["a", "b"],
    ...         "score": [2, 1],
    ...         "label": [1, 1],
    ...         "seconds": [30, 10],
    ...     }
    ... )
    >>> found = df.rank.on(cost="seconds").evaluate("tbg(half_life=30,max_label=1)")
    >>> found["time_biased_gain(half_life=30,max_label=1)"].item()  # 1 + 1/2
    1.5
    """

    def stays(spent: pl.Expr | float) -> pl.Expr:
        return pl.lit(2.0) ** (-spent / half_life)

    def below(spent: pl.Expr, ranks: pl.Expr) -> pl.Expr:
        of_spent = stays(spent)
        return of_spent * (1 - stays(ranks)) / (1 - stays(1.0))

    reader = _spending(stays, below)
    return reported(r, reader, depth, options, stops=True)


@user_model("u-measure", display="U-measure", bounds=(0, None), needs=("cost",), report="ETU")
def u_measure(
    r: Ranking,
    depth: Cutoff = 1000,
    *,
    length: Amount = 132_000.0,
    **options: Unpack[OfReport],
) -> pl.Expr:
    r"""U-measure: the gain of each document, less the share of the text of a length that a reader
    has read above it.

    .. math:: \sum_i g_i \max\left(0, 1 - \frac{t_i}{L}\right), \quad t_i = \sum_{j=1}^{i-1} c_j

    Here `c` is the length of a document, and `L` is `length`.

    Parameters
    ----------
    depth
        The last rank that is read, by default 1000. Ranks without a document have the length 1
        each. cwl_eval leaves out the last one.
    length
        The length of text after which no reader goes on, in the unit of the costs, above 0: 132,000
        characters in the paper.
    max_label, gain, report, residual
        As for :func:`rankframe.metrics.costs.time_biased_gain`.

    Returns
    -------
    One Float64 per query, from 0 on. ``on(cost=...)`` names the column of lengths.

    References
    ----------
    Sakai and Dou, Summaries, ranked retrieval and sessions: a unified framework for information
    access evaluation, SIGIR 2013; cwl_eval's ``U``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": 1,
    ...         "doc_id": ["a", "b"],
    ...         "score": [2, 1],
    ...         "label": [1, 1],
    ...         "length": [300, 100],
    ...     }
    ... )
    >>> found = df.rank.on(cost="length").evaluate("u_measure(length=1200,max_label=1)")
    >>> found["u_measure(length=1200,max_label=1)"].item()  # 1 + (1 - 300 / 1200)
    1.75
    """

    def below(spent: pl.Expr, ranks: pl.Expr) -> pl.Expr:
        read = (length - spent).ceil().clip(lower_bound=0)
        n = pl.min_horizontal(read, ranks)
        return n * (1 - spent / length) - n * (n - 1) / (2 * length)

    reader = _spending(lambda before: (1 - before / length).clip(lower_bound=0), below)
    return reported(r, reader, depth, options, stops=True)


@user_model("information_foraging", display="IFT", bounds=(0, 1), needs=("cost",))
def ift(
    r: Ranking,
    depth: Cutoff = 1000,
    *,
    target: Amount | None = 2.0,
    rate: Amount | None = 0.2,
    goal_intercept: Amount = 0.9,
    goal_slope: Slope = 10.0,
    rate_intercept: Amount = 0.9,
    rate_slope: Slope = 10.0,
    **options: Unpack[OfReport],
) -> pl.Expr:
    r"""IFT, by information foraging: the gain per document of a reader with a goal, who leaves if
    the gain is too slow.

    After a gain `y` at the cost `k` the reader goes on with probability C, the product of one for
    the goal and one for the rate of gain.

    .. math:: C = \left(1 - \frac{1}{1 + b_1 e^{(T - y) R_1}}\right) \frac{1}{1 + b_2 e^{(A - y / k)
       R_2}}

    Parameters
    ----------
    depth
        The last rank that is read, by default 1000, as in cwl_eval. Ranks without a document cost 1
        each.
    target
        The gain that is wanted, `T`; ``None`` for a reader without a goal (IFT-C2).
    rate
        The gain per cost that is expected, `A`; ``None`` for a reader who stays at any rate
        (IFT-C1).
    goal_intercept, rate_intercept
        `b`: the smaller, the less likely the reader goes on at the goal, and the more likely at the
        rate.
    goal_slope, rate_slope
        `R`, from 0 on: how sharply the reader decides; 0 ignores the goal, or the rate.
    max_label, gain, report, residual
        As for :func:`rankframe.metrics.cwl.sdcg`.

    Returns
    -------
    One Float64 per query; EU is from 0 to 1. ``on(cost=...)`` names the column of costs.

    References
    ----------
    Azzopardi, Thomas and Craswell, Measuring the utility of search engine result pages: an
    information foraging based measure, SIGIR 2018; cwl_eval's ``IFT-C1``, ``IFT-C2`` and
    ``IFT-C1-C2``.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {
    ...         "query_id": 1,
    ...         "doc_id": ["a", "b"],
    ...         "score": [2, 1],
    ...         "label": [1, 0],
    ...         "seconds": [30, 10],
    ...     }
    ... )
    >>> text = "ift(target=None,rate=1.0,rate_intercept=1.0,rate_slope=0.0,max_label=1)@2"
    >>> found = df.rank.on(cost="seconds").evaluate(
    ...     text
    ... )  # the reader goes on with probability 1/2: 1 over 1 + 1/2
    >>> round(found[str(rf.parse(text)[0])].item(), 4)
    0.6667
    """
    if target is None and rate is None:
        says = "ift: a reader has a target, a rate or both; give one of them, as ift(target=2)"
        raise InvalidOption(says)
    goal = None if target is None else (target, goal_intercept, goal_slope)
    least = None if rate is None else (rate, rate_intercept, rate_slope)

    def reader(g: Gains) -> ReaderSums:
        cost = g.r.cost
        goes_on = foraging(r.so_far(g.each), r.so_far(cost), goal, least)
        sees = g.r.product_before(goes_on)
        is_last = g.r.rank == g.retrieved
        at_end = g.whole(zero_unless(is_last, sees * goes_on))
        state = {
            "gained": g.whole(g.each),
            "spent": g.whole(cost),
            "chance": pl.when(g.retrieved > 0).then(at_end).otherwise(1.0),
            "ranks": g.depth - g.retrieved,
        }
        below = r.below_list(goal, least, g.unknown, "seen", state)
        left = r.below_list(goal, least, g.unknown, "left", state)
        gained = g.total(g.each * sees)
        if g.unknown:
            gained = gained + below
        return ReaderSums(gained, g.whole(sees) + below, lambda: sees, left)

    return reported(r, reader, depth, options)
