"""The C/W/L family: a reader who at each rank goes on with a certain chance, and what that reader gains and reads."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

import polars as pl

from .._ranking import MaxLabel, Ranking, check_word
from .._registry import metric
from ..errors import InvalidOption

__all__ = ["Report", "bpm", "insq", "inst", "nerr8", "nerr9", "nerr10", "nerr11", "rbp_residual", "sdcg"]

Report: TypeAlias = Literal["EU", "ETU", "ETC", "ED"]
Number = TypeVar("Number", float, pl.Expr)
Share: TypeAlias = Mapping[float, float] | None

# ------------------------------------------------------------------------------------------- what a reader goes through
#
# C(i) is the chance to go on from rank i, V(i) = C(1) ... C(i - 1) that to see rank i. Everything reported follows
# from the sums of V and of V x gain. Ranks with gain 0, and those below the last document retrieved, have closed
# forms, so that only documents with a gain are looked at: see `_cascade` and `inst`.


@dataclass(frozen=True)
class _Reading:
    """What a reader does over the ranks 1 to `depth`."""

    gained: pl.Expr  # the sum of V x gain: the gain of the documents seen, each rank's share of it a row
    seen: pl.Expr  # the sum of V: how many documents are seen
    beyond: pl.Expr  # V(depth + 1): the chance to reach the end without having stopped
    offered: pl.Expr  # the sum of gains: what who reaches the end has gained
    depth: int

    def report(self, what: Report) -> pl.Expr:
        if what == "EU":
            return self.gained / self.seen
        if what == "ETU":
            return self.gained - self.beyond * self.offered
        if what == "ETC":
            return self.seen - self.beyond * self.depth
        return self.seen


class _Gains:
    """What each document is worth, from 0 to 1; what nobody judged, or nobody retrieved, is worth `unknown`."""

    def __init__(self, r: Ranking, depth: int, each: pl.Expr, unknown: int, *, shown: bool) -> None:
        self.r, self.depth, self.unknown, self.shown = r, depth, unknown, shown
        self.each = each
        if unknown:
            r.keep(~r.judged)
            self.each = pl.when(r.judged).then(each).otherwise(1.0)

    @property
    def retrieved(self) -> pl.Expr:
        """How many ranks down to the depth hold a document."""
        return pl.min_horizontal(self.r.n_retrieved, pl.lit(float(self.depth)))

    def total(self, x: pl.Expr) -> pl.Expr:
        """The sum down to the depth; each rank's part of it can be shown where it is a part of what is reported."""
        return self.r.total(x, self.depth) if self.shown else self.whole(x)

    def whole(self, x: pl.Expr) -> pl.Expr:
        """The sum down to the depth, the same at every rank."""
        return self.r.whole(pl.when(self.r.rank <= self.depth).then(x).otherwise(0.0))

    @property
    def offered(self) -> pl.Expr:
        """The sum of all gains."""
        return self.whole(self.each) + self.unknown * (self.depth - self.retrieved)


Reader: TypeAlias = Callable[[_Gains], _Reading]


def _reported(
    r: Ranking, reader: Reader, depth: int, report: Report, residual: bool, max_label: MaxLabel, gain: Share
) -> pl.Expr:
    """The report of a reader for whom unjudged documents are worth nothing; or how much more it is if worth 1."""
    check_word("report", report, Report)
    each, shown = _share(r, max_label, gain), report == "EU" and not residual
    worst = reader(_Gains(r, depth, each, 0, shown=shown)).report(report)
    return reader(_Gains(r, depth, each, 1, shown=shown)).report(report) - worst if residual else worst


def _share(r: Ranking, max_label: MaxLabel, gain: Share) -> pl.Expr:
    if gain is not None:
        if not isinstance(gain, Mapping) or any(worth > 1 for worth in gain.values()):
            raise InvalidOption(f"gain={gain!r}: write {{label: gain}} with gains from 0 to 1, as {{1: 0.5, 2: 1}}")
        return r.gain(gain)
    if max_label is None:
        return (r.label / r.largest_label_of_table).fill_nan(0.0)
    if max_label == "query":
        return (r.label / r.largest_label).fill_nan(0.0)
    if isinstance(max_label, (str, bool)) or not 0 < max_label < math.inf:
        raise InvalidOption(f"max_label={max_label!r}: write the label that is worth 1, 'query' or None")
    r.refuse(r.label > max_label, f"a label is above max_label={max_label}; give the top of the label scale")
    return r.label / max_label


def _by_rank(
    sees: Callable[[pl.Expr], pl.Expr], seen: Callable[[pl.Expr], pl.Expr], *, stops: bool, cascade: bool
) -> Reader:
    """A reader who sees a rank with chance `sees`, and the ranks down to one in number `seen`.

    With `stops` the depth is where reading ends in any case. With `cascade` each document also ends it, with its gain
    as the chance: then V(i) is ``sees(i)`` times P(i), the product of 1 - gain above, and as P drops by P x gain at
    each document, the sum of V is ``seen(depth)`` less the sum of P x gain x (``seen(depth)`` - ``seen(rank)``).
    """

    def reader(g: _Gains) -> _Reading:
        rank, last, after = g.r.rank, seen(pl.lit(float(g.depth))), sees(pl.lit(g.depth + 1.0))
        if stops:
            after = pl.lit(0.0)
        if not cascade:
            below = g.unknown * (last - seen(g.retrieved))
            return _Reading(g.total(g.each * sees(rank)) + below, last, after, g.offered, g.depth)
        ends = g.each * g.r.product_before(1 - g.each)
        left = 1 - g.whole(ends)
        found, number = g.total(ends * sees(rank)), last - g.whole(ends * (last - seen(rank)))
        if g.unknown:  # the first rank below the last document is worth 1, and reading ends there
            next_rank = g.retrieved + 1
            room = (g.retrieved < g.depth).cast(pl.Float64) * left
            found += room * sees(next_rank)
            number -= room * (last - seen(next_rank))
            left -= room
        return _Reading(found, number, after * left, g.offered, g.depth)

    return reader


def _table(values: list[float]) -> Callable[[pl.Expr], pl.Expr]:
    """`values` by number from 0 on; 0 beyond."""
    numbers = [float(i) for i in range(len(values))]
    return lambda i: i.cast(pl.Float64).replace_strict(numbers, values, default=0.0, return_dtype=pl.Float64)


def _running(terms: list[float]) -> list[float]:
    sums = [0.0]
    for term in terms:
        sums.append(sums[-1] + term)
    return sums


def _squares_from(x: Number) -> Number:
    """1 / x^2 + 1 / (x + 1)^2 + ... without end: the trigamma function, for x above 0."""
    head: Number = 1 / x**2
    for i in range(1, 16):
        head = head + 1 / (x + i) ** 2
    y = 1 / (x + 16)
    tail = y**2 * (1 / 6 - y**2 * (1 / 30 - y**2 * (1 / 42 - y**2 * (1 / 30 - y**2 * 5 / 66))))
    return head + y + y**2 / 2 + y * tail


def _insq_weights(target: float) -> tuple[Callable[[pl.Expr], pl.Expr], Callable[[pl.Expr], pl.Expr]]:
    """V(i) = (2 T / (2 T + i - 1))^2, and its sum."""
    wanted = 2 * target

    def sees(rank: pl.Expr) -> pl.Expr:
        return (wanted / (wanted + rank - 1)) ** 2

    def seen(rank: pl.Expr) -> pl.Expr:
        return wanted**2 * (_squares_from(wanted) - _squares_from(wanted + rank))

    return sees, seen


def _check_target(name: str, target: object, least: float) -> None:
    number = isinstance(target, (int, float)) and not isinstance(target, bool)
    if not number or not max(least, 1e-9) <= target < math.inf:  # type: ignore[operator]
        above = f"{least} or more" if least else "above 0"
        raise InvalidOption(f"{name}(target={target!r}): write the gain that the reader wants, {above}")


def _check_p(name: str, p: object) -> None:
    if isinstance(p, (str, bool)) or not isinstance(p, (int, float)) or not 0 < p < 1:
        raise InvalidOption(f"{name}(p={p!r}): p is a probability between 0 and 1; write {name}(p=0.9)")


# ------------------------------------------------------------------------------------------------------ the metrics


@metric("scaled_dcg", bounds=(0, None))
def sdcg(
    r: Ranking, k: int, *, max_label: MaxLabel = None, gain: Share = None, report: Report = "EU", residual: bool = False
) -> pl.Expr:
    """Scaled DCG: the DCG of the top `k` over that of `k` documents of the top label.

    Parameters
    ----------
    k
        The last rank that is read.
    max_label
        The label that is worth 1, others in proportion: a number, ``"query"``, or ``None`` for the largest of the
        table.
    gain
        ``None``, or ``{label: gain}`` with gains from 0 to 1.
    report
        ``"EU"``, the gain per document read; ``"ETU"``, the gain altogether; ``"ED"``, how many documents are read;
        ``"ETC"``, how many are read by those who stop within the depth. Every document costs 1.
    residual
        Report instead how much more it would be if every unjudged document, and every rank below the last one
        retrieved, were worth 1.

    Returns
    -------
    One Float64 per query; EU is from 0 to 1.

    References
    ----------
    Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20(4), 2002; Azzopardi, Thomas
    and Moffat, cwl_eval: an evaluation tool for information retrieval, SIGIR 2019.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, 0]})
    >>> round(df.rank.evaluate("sdcg@2")["sdcg@2"].item(), 4)     # 1 over 1 + 1 / log2(3)
    0.6131
    """
    chances = [1 / math.log2(i + 1) for i in range(1, k + 1)]
    reader = _by_rank(_table([0.0, *chances]), _table(_running(chances)), stops=True, cascade=False)
    return _reported(r, reader, k, report, residual, max_label, gain)


@metric("bejeweled_player_model", bounds=(0, None))
def bpm(
    r: Ranking,
    k: int,
    *,
    target: float = 1.0,
    max_label: MaxLabel = None,
    gain: Share = None,
    report: Report = "EU",
    residual: bool = False,
) -> pl.Expr:
    """Bejeweled player model: the gain per document of a reader who stops at a gain of `target`, or at rank `k`.

    Parameters
    ----------
    k
        The last rank that is read.
    target
        The gain that is enough: ir_measures' ``T``.
    max_label, gain, report, residual
        As for :func:`sdcg`.

    Returns
    -------
    One Float64 per query; EU is from 0 to 1.

    References
    ----------
    Zhang, Liu, Li, Zhang, Xu and Ma, Evaluating web search with a bejeweled player model, SIGIR 2017 (static).

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1, 1], "doc_id": ["a", "b", "c"], "score": [3.0, 2.0, 1.0]})
    >>> df = df.with_columns(label=pl.Series([0, 1, 1]))
    >>> df.rank.evaluate("bpm@3")["bpm@3"].item()                 # a gain of 1 from two documents
    0.5
    """
    _check_target("bpm", target, 0)

    def reader(g: _Gains) -> _Reading:
        so_far = r.so_far(g.each)
        read = (so_far - g.each < target).cast(pl.Float64)
        enough = (so_far >= target).cast(pl.Float64) * read
        stop = g.whole(enough * g.r.rank)  # 0 where the target is not met
        last = pl.when(stop > 0).then(stop).otherwise(float(k))
        found = g.total(g.each * read)
        if g.unknown:  # below the last document each rank adds 1
            missing = pl.when(stop > 0).then(0.0).otherwise((target - g.whole(g.each)).ceil())
            more = pl.min_horizontal(missing, g.depth - g.retrieved)
            found += more
            last = pl.when(stop > 0).then(stop).otherwise(g.retrieved + more)
        return _Reading(found, last, pl.lit(0.0), pl.lit(0.0), k)

    return _reported(r, reader, k, report, residual, max_label, gain)


@metric(bounds=(0, None))
def insq(
    r: Ranking,
    depth: int = 1000,
    *,
    target: float = 1.0,
    max_label: MaxLabel = None,
    gain: Share = None,
    report: Report = "EU",
    residual: bool = False,
) -> pl.Expr:
    """INSQ: the gain per document of a reader who wants a gain of `target`, and the more of it, the longer reads on.

    The chance to go on from rank i is ((i + 2 T - 1) / (i + 2 T))^2, whatever the documents hold.

    Parameters
    ----------
    depth
        The last rank that is read, 1000 as cwl_eval has it, whether so many documents were retrieved or not.
    target
        The gain that is wanted: ``T`` above.
    max_label, gain, report, residual
        As for :func:`sdcg`.

    Returns
    -------
    One Float64 per query; EU is from 0 to 1.

    References
    ----------
    Moffat, Scholer and Thomas, Models and metrics: IR evaluation as a user process, ADCS 2012.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
    >>> round(df.rank.evaluate("insq@2")["insq@2"].item(), 4)     # chances 1 and 4/9: 4/9 over 13/9
    0.3077
    """
    _check_target("insq", target, 0)
    reader = _by_rank(*_insq_weights(target), stops=False, cascade=False)
    return _reported(r, reader, depth, report, residual, max_label, gain)


@metric(bounds=(0, None))
def inst(
    r: Ranking,
    depth: int = 1000,
    *,
    target: float = 1.0,
    max_label: MaxLabel = None,
    gain: Share = None,
    report: Report = "EU",
    residual: bool = False,
) -> pl.Expr:
    """INST: as INSQ, but the reader goes by the gain that is still wanted.

    The chance to go on from rank i is ((i + T + T_i - 1) / (i + T + T_i))^2, where T_i is `target` less the gain of
    the first i documents.

    Parameters
    ----------
    depth
        The last rank that is read, 1000 as cwl_eval has it, whether so many documents were retrieved or not.
    target
        The gain that is wanted: ``T`` above; at least 0.5.
    max_label, gain, report, residual
        As for :func:`sdcg`.

    Returns
    -------
    One Float64 per query; EU is from 0 to 1.

    References
    ----------
    Bailey, Moffat, Scholer and Thomas, User variability and IR system evaluation, SIGIR 2015; Moffat, Bailey, Scholer
    and Thomas, INST: an adaptive metric for information retrieval evaluation, ADCS 2015.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, 1]})
    >>> df.rank.evaluate("inst@2")["inst@2"].item()               # both worth 1, however many are read
    1.0
    """
    _check_target("inst", target, 0.5)
    wanted = 2 * target

    def reader(g: _Gains) -> _Reading:
        # With x(i) = i + 2 T - (gain of the first i), C(i) = ((x(i) - 1) / x(i))^2. Where the gain is 0,
        # x(i) - 1 = x(i - 1), and the product shrinks to V(i) = (2 T Q(i) / x(i - 1))^2, where Q is a product over
        # the documents above that have a gain, each 1 - gain / x just above it.
        rank, last = g.r.rank, g.retrieved if g.unknown else pl.lit(float(g.depth))
        before = r.so_far(g.each) - g.each
        x = rank - 1 + wanted - before
        keeps = (1 - g.each / x).fill_null(1.0)
        q = g.r.product_before(keeps)
        # The sum of V, as if no document had a gain; each that has one then changes all ranks below it.
        end = last + wanted
        change = (q * keeps) ** 2 * (_squares_from(x + 1 - g.each) - _squares_from(end - before - g.each))
        change -= q**2 * (_squares_from(x + 1) - _squares_from(end - before))
        changes = g.whole(pl.when(g.each > 0).then(change).otherwise(0.0))
        gained = g.total(g.each * (wanted * q / x) ** 2)
        seen = wanted**2 * (_squares_from(wanted) - _squares_from(end) + changes)
        # Below the last document; the product to the end is the sum of its steps.
        here = end - g.whole(g.each)
        beyond = wanted**2 * (1 + g.whole(q**2 * (keeps**2 - 1))) / here**2
        if g.unknown:  # each rank is worth 1, so x stays, and V falls by the same factor
            factor = ((here - 1) / here) ** 2
            left = factor ** (g.depth - last)
            more = beyond * (1 - left) / (1 - factor)
            gained, seen, beyond = gained + more, seen + more, beyond * left
        return _Reading(gained, seen, beyond, g.offered, g.depth)

    return _reported(r, reader, depth, report, residual, max_label, gain)


@metric(bounds=(0, None))
def nerr8(
    r: Ranking, k: int, *, max_label: MaxLabel = None, gain: Share = None, report: Report = "EU", residual: bool = False
) -> pl.Expr:
    """NERR by equation 8: the gain per document of a reader whom each document satisfies with its gain as the chance.

    Parameters
    ----------
    k
        The last rank that is read.
    max_label, gain, report, residual
        As for :func:`sdcg`.

    Returns
    -------
    One Float64 per query; EU is from 0 to 1.

    References
    ----------
    Azzopardi, Mackenzie and Moffat, ERR is not C/W/L: exploring the relationship between expected reciprocal rank and
    other metrics, ICTIR 2021.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
    >>> df.rank.evaluate("nerr8@3")["nerr8@3"].item()             # a gain of 1 from two documents
    0.5
    """
    reader = _by_rank(lambda i: pl.lit(1.0), lambda i: i, stops=True, cascade=True)
    return _reported(r, reader, k, report, residual, max_label, gain)


@metric(bounds=(0, None))
def nerr9(
    r: Ranking, k: int, *, max_label: MaxLabel = None, gain: Share = None, report: Report = "EU", residual: bool = False
) -> pl.Expr:
    """NERR by equation 9: as :func:`nerr8`, and a reader at rank i who is not satisfied gives up as 1 of i + 1 do.

    Parameters
    ----------
    k
        The last rank that is read.
    max_label, gain, report, residual
        As for :func:`sdcg`.

    Returns
    -------
    One Float64 per query; EU is from 0 to 1.

    References
    ----------
    Azzopardi, Mackenzie and Moffat, ERR is not C/W/L, ICTIR 2021.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
    >>> round(df.rank.evaluate("nerr9@3")["nerr9@3"].item(), 4)   # 1/2 over 1 + 1/2
    0.3333
    """
    chances = [1 / i for i in range(1, k + 1)]
    reader = _by_rank(_table([0.0, *chances]), _table(_running(chances)), stops=True, cascade=True)
    return _reported(r, reader, k, report, residual, max_label, gain)


@metric(bounds=(0, None))
def nerr10(
    r: Ranking,
    depth: int = 1000,
    *,
    p: float = 0.9,
    max_label: MaxLabel = None,
    gain: Share = None,
    report: Report = "EU",
    residual: bool = False,
) -> pl.Expr:
    """NERR by equation 10: as :func:`nerr8`, and a reader who is not satisfied goes on with probability `p`.

    Parameters
    ----------
    depth
        The last rank that is read, 1000 as cwl_eval has it, whether so many documents were retrieved or not.
    p
        The reader's persistence, between 0 and 1.
    max_label, gain, report, residual
        As for :func:`sdcg`.

    Returns
    -------
    One Float64 per query; EU is from 0 to 1.

    References
    ----------
    Azzopardi, Mackenzie and Moffat, ERR is not C/W/L, ICTIR 2021.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
    >>> round(df.rank.evaluate("nerr10(p=0.5)")["nerr10(p=0.5)"].item(), 4)     # 1/2 over 1 + 1/2
    0.3333
    """
    _check_p("nerr10", p)
    reader = _by_rank(lambda i: p ** (i - 1), lambda i: (1 - p**i) / (1 - p), stops=False, cascade=True)
    return _reported(r, reader, depth, report, residual, max_label, gain)


@metric(bounds=(0, None))
def nerr11(
    r: Ranking,
    depth: int = 1000,
    *,
    target: float = 1.0,
    max_label: MaxLabel = None,
    gain: Share = None,
    report: Report = "EU",
    residual: bool = False,
) -> pl.Expr:
    """NERR by equation 11: as :func:`nerr8`, and a reader who is not satisfied goes on as for :func:`insq`.

    Parameters
    ----------
    depth
        The last rank that is read, 1000 as cwl_eval has it, whether so many documents were retrieved or not.
    target
        The gain that is wanted.
    max_label, gain, report, residual
        As for :func:`sdcg`.

    Returns
    -------
    One Float64 per query; EU is from 0 to 1.

    References
    ----------
    Azzopardi, Mackenzie and Moffat, ERR is not C/W/L, ICTIR 2021.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
    >>> round(df.rank.evaluate("nerr11")["nerr11"].item(), 4)     # 4/9 over 1 + 4/9
    0.3077
    """
    _check_target("nerr11", target, 0)
    reader = _by_rank(*_insq_weights(target), stops=False, cascade=True)
    return _reported(r, reader, depth, report, residual, max_label, gain)


@metric("rbp_resid", bounds=(0, 1), dot="p")
def rbp_residual(r: Ranking, k: int | None = None, *, p: float = 0.8) -> pl.Expr:
    """What judging could add to rank-biased precision: the share of it that unjudged and missing ranks hold.

    Parameters
    ----------
    k
        Ranks to look at; ``None`` looks at all that were retrieved.
    p
        The reader's persistence, between 0 and 1. The default, 0.8, is that of ``rbp``; trec_eval's is 0.9, and it
        gives 0 where every retrieved document is judged.

    Returns
    -------
    One Float64 per query, from 0 to 1.

    References
    ----------
    Moffat and Zobel, Rank-biased precision for measurement of retrieval effectiveness, ACM TOIS 27(1), 2008.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, None]})
    >>> df.rank.evaluate("rbp_residual(p=0.5)")["rbp_residual(p=0.5)"].item()   # rank 2: 1/4; below it: 1/4
    0.5
    """
    _check_p("rbp_residual", p)
    r.keep(~r.judged)
    unknown = (1 - p) * (~r.judged).cast(pl.Float64) * p ** (r.rank - 1)
    last = r.n_retrieved if k is None else pl.min_horizontal(r.n_retrieved, pl.lit(float(k)))
    return r.whole(pl.when(r.rank <= last).then(unknown).otherwise(0.0)) + p ** last.cast(pl.Float64)
