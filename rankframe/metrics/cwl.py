"""The C/W/L family: the gain of a reader who goes on from each rank with a given probability."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import polars as pl

from .._catalog.registry import Judging, metric
from .._words.ranking import (
    Cutoff,
    ListedCutoff,
    Persistence,
    Range,
    Ranking,
    is_number,
    zero_unless,
)
from .cwl_user_models import (
    Gains,
    OfReport,
    ReaderSums,
    Report,
    Share,
    Target,
    TopLabel,
    by_rank,
    insq_weights,
    listed,
    reported,
    squares_from,
    user_model,
    without_residual,
)

if TYPE_CHECKING:
    from typing import Unpack

__all__ = ["bpm", "insq", "inst", "nerr8", "nerr9", "nerr10", "nerr11", "rbp_residual", "sdcg"]


ROUNDING = 1e-10
"""The share of a target by which a sum of gains, such as six times 1/6, may miss it by rounding."""


def _judging(
    *,
    max_label: TopLabel = None,
    gain: Share = None,
    report: Report = "EU",
    residual: bool = False,
    **reader: float,
) -> Judging:
    """Monotone if the weights of ranks do not depend on the documents above.

    A higher label then never lowers the value.
    """
    as_given = report == "EU" and not residual and gain is None
    return "monotone" if as_given and is_number(max_label) else None


@user_model(
    "scaled_dcg",
    display="SDCG",
    bounds=(0, 1),
    judging=_judging,
    gains_only=without_residual,
)
def sdcg(
    r: Ranking,
    k: ListedCutoff,
    **options: Unpack[OfReport],
) -> pl.Expr:
    r"""Scaled DCG: the DCG of the top `k` over that of `k` documents of the top label.

    .. math:: \frac{\sum_{i=1}^{k} g_i / \log_2(i + 1)}{\sum_{i=1}^{k} 1 / \log_2(i + 1)}

    Parameters
    ----------
    k
        The last rank that is read, at most 1,000,000.
    max_label
        The label with gain 1; other labels have gains in proportion. A number, ``"query"``, or
        ``None`` (default) for the largest label of the table, with a warning that names it, since a
        query's value then depends on the others.
    gain
        ``None`` (default), or ``{label: gain}`` with gains from 0 to 1.
    report
        ``"EU"`` (default), the gain per document read; ``"ETU"``, the total gain; ``"ED"``, the
        number of documents read; ``"EC"``, the cost per document read; ``"ETC"``, the total cost of
        readers who stop within the depth. Costs are those of ``on(cost=...)``; without them, and at
        ranks without a document, each is 1.
    residual
        ``True`` reports instead the increase if every unjudged document, and every rank below the
        last retrieved one, had gain 1.

    Returns
    -------
    One Float64 per query; EU is from 0 to 1.

    References
    ----------
    Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20(4), 2002;
    Azzopardi, Thomas and Moffat, cwl_eval: an evaluation tool for information retrieval, SIGIR
    2019.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, 0]}
    ... )
    >>> round(
    ...     df.rank.metrics.sdcg(2, max_label=1)["sdcg(max_label=1)@2"].item(), 4
    ... )  # 1 over 1 + 1 / log2(3)
    0.6131
    """
    discounts = [1 / math.log2(i + 1) for i in range(1, k + 1)]
    reader = by_rank(*listed(discounts), stops=True, cascade=False)
    return reported(r, reader, k, options)


@user_model(
    "bejeweled_player_model",
    display="BPM",
    bounds=(0, 1),
    gains_only=without_residual,
)
def bpm(
    r: Ranking,
    k: int,
    *,
    target: Target = 1.0,
    **options: Unpack[OfReport],
) -> pl.Expr:
    r"""Bejeweled player model: the gain per document of a reader who stops at a gain of `target`,
    or at rank `k`.

    .. math:: \frac{1}{m} \sum_{i=1}^{m} g_i, \quad m = \min(\{k\} \cup \{i : g_1 + \cdots + g_i \ge
       T\})

    `T` is `target`.

    Parameters
    ----------
    k
        The last rank that is read.
    target
        The gain that is enough, above 0 and up to 1,000,000: ir_measures' ``T``.
    max_label, gain, report, residual
        As for :func:`sdcg`.

    Returns
    -------
    One Float64 per query; EU is from 0 to 1.

    References
    ----------
    Zhang, Liu, Li, Zhang, Xu and Ma, Evaluating web search with a bejeweled player model, SIGIR
    2017 (static).

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1, 1], "doc_id": list("abc"), "score": [3, 2, 1], "label": [0, 1, 1]}
    ... )
    >>> df.rank.metrics.bpm(3, max_label=1)[
    ...     "bpm(max_label=1)@3"
    ... ].item()  # a gain of 1 from two documents
    0.5
    """
    wanted = target * (1 - ROUNDING)

    def reader(g: Gains) -> ReaderSums:
        so_far = r.so_far(g.each)
        read = r.product_before((so_far < wanted).cast(pl.Float64))
        enough = (so_far >= wanted).cast(pl.Float64) * read
        stop = g.whole(enough * g.r.rank)  # 0 where the target is not met
        is_met = stop > 0
        end = pl.lit(float(k))
        gained = g.total(g.each * read)
        if g.unknown:  # below the last document each rank adds 1
            lacking = (wanted - g.whole(g.each)).ceil()
            missing = pl.when(is_met).then(0.0).otherwise(lacking)
            more = pl.min_horizontal(missing, g.depth - g.retrieved)
            gained += more
            end = g.retrieved + more
        last = pl.when(is_met).then(stop).otherwise(end)
        return ReaderSums(gained, last, lambda: read)

    return reported(r, reader, k, options)


@user_model(display="INSQ", bounds=(0, 1), judging=_judging, gains_only=without_residual)
def insq(
    r: Ranking,
    depth: Cutoff = 1000,
    *,
    target: Target = 1.0,
    **options: Unpack[OfReport],
) -> pl.Expr:
    r"""INSQ: the gain per document of a reader who needs a gain of about `target`, and reads the
    deeper the larger it is.

    The probability of going on from rank i is ((i + 2 T - 1) / (i + 2 T))^2, whatever the
    documents.

    .. math:: \frac{\sum_i V_i \, g_i}{\sum_i V_i}, \quad V_i = \left(\frac{2T}{2T + i - 1}\right)^2

    `T` is `target`; the sums go down to `depth`.

    Parameters
    ----------
    depth
        The last rank that is read, by default 1000, as in cwl_eval, even if fewer documents were
        retrieved.
    target
        The gain that the reader needs, above 0 and up to 1,000,000: ``T`` above.
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
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]}
    ... )
    >>> round(
    ...     df.rank.metrics.insq(2, max_label=1)["insq(max_label=1)@2"].item(), 4
    ... )  # chances 1 and 4/9: 4/9 over 13/9
    0.3077
    """
    reader = by_rank(*insq_weights(target, depth), stops=False, cascade=False)
    return reported(r, reader, depth, options)


@user_model(display="INST", bounds=(0, 1), gains_only=without_residual)
def inst(
    r: Ranking,
    depth: Cutoff = 1000,
    *,
    target: Annotated[float, Range(least=0.5, most=1_000_000)] = 1.0,
    **options: Unpack[OfReport],
) -> pl.Expr:
    r"""INST: as INSQ, but the reader adapts to the gain that is still missing.

    The probability of going on from rank i is ((i + T + T_i - 1) / (i + T + T_i))^2, where T_i is
    `target` minus the gain of the first i documents.

    .. math:: \frac{\sum_i V_i \, g_i}{\sum_i V_i}, \quad V_i = \prod_{j=1}^{i-1} \left(\frac{j + T
       + T_j - 1}{j + T + T_j}\right)^2

    The sums go down to `depth`.

    Parameters
    ----------
    depth
        The last rank that is read, by default 1000, as in cwl_eval, even if fewer documents were
        retrieved.
    target
        The gain that the reader needs, from 0.5 to 1,000,000: ``T`` above.
    max_label, gain, report, residual
        As for :func:`sdcg`.

    Returns
    -------
    One Float64 per query; EU is from 0 to 1.

    References
    ----------
    Bailey, Moffat, Scholer and Thomas, User variability and IR system evaluation, SIGIR 2015;
    Moffat, Bailey, Scholer and Thomas, INST: an adaptive metric for information retrieval
    evaluation, ADCS 2015.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, 1]}
    ... )
    >>> round(
    ...     df.rank.metrics.inst(2, max_label=1)["inst(max_label=1)@2"].item(), 4
    ... )  # both worth 1, however many are read
    1.0
    """
    wanted = 2 * target

    def reader(g: Gains) -> ReaderSums:
        # Let x(i) = i + 2 T - (gain of the first i). Then C(i) = ((x(i) - 1) / x(i))^2. Where the
        # gain is 0, x(i) - 1 = x(i - 1), so that V(i) = (2 T Q(i) / x(i - 1))^2. Q(i) is the
        # product of 1 - gain(j) / x(j - 1) over the documents j above i.
        before = r.so_far(g.each) - g.each
        x = g.r.rank - 1 + wanted - before
        keeps = (1 - g.each / x).fill_null(1.0)
        q = g.r.product_before(keeps)
        after = q * keeps
        sees = (wanted * q / x) ** 2
        # The sum of V without end, as if no document had a gain; each that has one then changes all
        # ranks below it.
        with_it = after**2 * squares_from(x + 1 - g.each)
        without = q**2 * squares_from(x + 1)
        endless = wanted**2 * (squares_from(wanted) + g.whole(with_it - without))
        # Below the last document; the product to there is the sum of its steps.
        last = g.retrieved if g.unknown else pl.lit(float(g.depth))
        here = last + wanted - g.whole(g.each)
        left = wanted**2 * (1 + g.whole(after**2 - q**2))
        gained = g.total(g.each * sees)
        seen = endless - left * squares_from(here)
        beyond = left / here**2
        if g.unknown:  # each rank is worth 1, so x stays, and V falls by the same factor
            factor = ((here - 1) / here) ** 2
            stays = factor ** (g.depth - last)
            more = beyond * (1 - stays) / (1 - factor)
            gained = gained + more
            seen = seen + more
            beyond = beyond * stays
        return ReaderSums(gained, seen, lambda: sees, beyond)

    return reported(r, reader, depth, options)


@metric(
    display="RBP residual",
    bounds=(0, 1),
    dot="p",
    higher_is_better=False,
    judging="monotone",
    from_clicks="same",
)
def rbp_residual(r: Ranking, k: int | None = None, *, p: Persistence = 0.8) -> pl.Expr:
    r"""The most that judging could add to rank-biased precision: the weight of unjudged documents
    and unfilled ranks.

    .. math:: (1 - p) \sum_{i=1}^{m} p^{\,i-1} u_i + p^{\,m}, \quad m = \min(k, n)

    Parameters
    ----------
    k
        Ranks to look at; ``None`` looks at all that were retrieved.
    p
        The reader's persistence, between 0 and 1. The default, 0.8, is that of ``rbp``; trec_eval's
        is 0.9, and its value is 0 where every retrieved document is judged.

    Returns
    -------
    One Float64 per query, from 0 to 1.

    References
    ----------
    Moffat and Zobel, Rank-biased precision for measurement of retrieval effectiveness, ACM TOIS
    27(1), 2008.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [1, None]}
    ... )
    >>> df.rank.evaluate("rbp_residual(p=0.5)")[
    ...     "rbp_residual(p=0.5)"
    ... ].item()  # rank 2: 1/4; below it: 1/4
    0.5
    """
    r.need_every_rank()
    weight = (1 - p) * p ** (r.rank - 1)
    unknown = (~r.judged).cast(pl.Float64) * weight
    last = r.n_retrieved
    if k is not None:
        last = pl.min_horizontal(last, pl.lit(float(k)))
    below = p ** last.cast(pl.Float64)
    return r.whole(zero_unless(r.rank <= last, unknown)) + below


@user_model(display="nERR8", bounds=(0, 1), gains_only=without_residual)
def nerr8(
    r: Ranking,
    k: ListedCutoff,
    **options: Unpack[OfReport],
) -> pl.Expr:
    r"""NERR by equation 8: the gain per document of a reader who stops at a document with
    probability equal to its gain.

    .. math:: \frac{\sum_{i=1}^{k} V_i \, g_i}{\sum_{i=1}^{k} V_i}, \quad V_i = \prod_{j=1}^{i-1} (1
       - g_j)

    Parameters
    ----------
    k
        The last rank that is read, at most 1,000,000.
    max_label, gain, report, residual
        As for :func:`rankframe.metrics.cwl.sdcg`.

    Returns
    -------
    One Float64 per query; EU is from 0 to 1.

    References
    ----------
    Azzopardi, Mackenzie and Moffat, ERR is not C/W/L: exploring the relationship between expected
    reciprocal rank and other metrics, ICTIR 2021.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]}
    ... )
    >>> df.rank.metrics.nerr8(3, max_label=1)[
    ...     "nerr8(max_label=1)@3"
    ... ].item()  # a gain of 1 from two documents
    0.5
    """
    reader = by_rank(lambda i: 1.0, lambda i: i, stops=True, cascade=True)
    return reported(r, reader, k, options)


@user_model(display="nERR9", bounds=(0, 1), gains_only=without_residual)
def nerr9(
    r: Ranking,
    k: ListedCutoff,
    **options: Unpack[OfReport],
) -> pl.Expr:
    r"""NERR by equation 9: as :func:`nerr8`, but a reader not satisfied at rank i gives up with
    probability 1 / (i + 1).

    .. math:: \frac{\sum_{i=1}^{k} V_i \, g_i}{\sum_{i=1}^{k} V_i}, \quad V_i = \frac{1}{i}
       \prod_{j=1}^{i-1} (1 - g_j)

    Parameters
    ----------
    k
        The last rank that is read, at most 1,000,000.
    max_label, gain, report, residual
        As for :func:`rankframe.metrics.cwl.sdcg`.

    Returns
    -------
    One Float64 per query; EU is from 0 to 1.

    References
    ----------
    Azzopardi, Mackenzie and Moffat, ERR is not C/W/L, ICTIR 2021.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]}
    ... )
    >>> round(
    ...     df.rank.metrics.nerr9(3, max_label=1)["nerr9(max_label=1)@3"].item(), 4
    ... )  # 1/2 over 1 + 1/2
    0.3333
    """
    chances = [1 / i for i in range(1, k + 1)]
    reader = by_rank(*listed(chances), stops=True, cascade=True)
    return reported(r, reader, k, options)


@user_model(display="nERR10", bounds=(0, 1), gains_only=without_residual)
def nerr10(
    r: Ranking,
    depth: Cutoff = 1000,
    *,
    p: Persistence = 0.9,
    **options: Unpack[OfReport],
) -> pl.Expr:
    r"""NERR by equation 10: as :func:`nerr8`, but a reader who is not satisfied goes on with
    probability `p`.

    .. math:: \frac{\sum_i V_i \, g_i}{\sum_i V_i}, \quad V_i = p^{\,i-1} \prod_{j=1}^{i-1} (1 -
       g_j)

    The sums go down to `depth`.

    Parameters
    ----------
    depth
        The last rank that is read, by default 1000, as in cwl_eval, even if fewer documents were
        retrieved.
    p
        The reader's persistence, between 0 and 1.
    max_label, gain, report, residual
        As for :func:`rankframe.metrics.cwl.sdcg`.

    Returns
    -------
    One Float64 per query; EU is from 0 to 1.

    References
    ----------
    Azzopardi, Mackenzie and Moffat, ERR is not C/W/L, ICTIR 2021.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]}
    ... )
    >>> round(
    ...     df.rank.metrics.nerr10(p=0.5, max_label=1)["nerr10(p=0.5,max_label=1)"].item(), 4
    ... )  # 1/2 over 1 + 1/2
    0.3333
    """

    def sees(rank: Any) -> Any:
        return p ** (rank - 1)

    def seen(rank: Any) -> Any:
        return (1 - p**rank) / (1 - p)

    reader = by_rank(sees, seen, stops=False, cascade=True)
    return reported(r, reader, depth, options)


@user_model(display="nERR11", bounds=(0, 1), gains_only=without_residual)
def nerr11(
    r: Ranking,
    depth: Cutoff = 1000,
    *,
    target: Target = 1.0,
    **options: Unpack[OfReport],
) -> pl.Expr:
    r"""NERR by equation 11: as :func:`nerr8`, but a reader who is not satisfied goes on as in
    :func:`rankframe.metrics.cwl.insq`.

    .. math:: \frac{\sum_i V_i \, g_i}{\sum_i V_i}, \quad V_i = \left(\frac{2T}{2T + i - 1}\right)^2
       \prod_{j=1}^{i-1} (1 - g_j)

    `T` is `target`; the sums go down to `depth`.

    Parameters
    ----------
    depth
        The last rank that is read, by default 1000, as in cwl_eval, even if fewer documents were
        retrieved.
    target
        The gain that the reader needs, above 0 and up to 1,000,000.
    max_label, gain, report, residual
        As for :func:`rankframe.metrics.cwl.sdcg`.

    Returns
    -------
    One Float64 per query; EU is from 0 to 1.

    References
    ----------
    Azzopardi, Mackenzie and Moffat, ERR is not C/W/L, ICTIR 2021.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]}
    ... )
    >>> round(
    ...     df.rank.metrics.nerr11(max_label=1)["nerr11(max_label=1)"].item(), 4
    ... )  # 4/9 over 1 + 4/9
    0.3077
    """
    reader = by_rank(*insq_weights(target, depth), stops=False, cascade=True)
    return reported(r, reader, depth, options)
