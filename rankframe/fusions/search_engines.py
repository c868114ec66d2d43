"""Fusion as search engines and libraries do it: constants, normalisations, defaults.

Engines compute with 32-bit numbers; these formulas keep 64 bits, so that values agree to about
seven digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Annotated, Literal, TypeAlias

import polars as pl

from .._catalog.fusions import fusion
from .._words.ranking import Range
from .._words.rankings import Rankings, Scores
from ..errors import InvalidOption, option
from .ranks import rrf
from .scores import in_six_deviations

__all__ = [
    "elasticsearch_linear", "elasticsearch_rrf", "haystack", "langchain", "llamaindex",
    "opensearch_hybrid", "opensearch_rrf", "qdrant_dbsf", "qdrant_rrf",
]  # fmt: skip

LEAST_FLOAT = 2.0**-149
"""The least 32-bit number above 0, at which Elasticsearch and OpenSearch start to look for the
greatest score."""

Shares: TypeAlias = Annotated[Sequence[float], Range(least=0)]
"""Weights of an engine that takes none below 0."""

WINDOW = ("rank_window_size", 10)
"""Elasticsearch's name of the depth, and its default."""


@fusion(of="engine", depth=WINDOW)
def elasticsearch_rrf(
    r: Rankings,
    *,
    rank_constant: Annotated[int, Range(least=1)] = 60,
    weights: Shares | None = None,
) -> pl.Expr:
    r"""Elasticsearch's ``rrf`` retriever: the sum of 1 over `rank_constant` plus the rank.

    .. math:: \sum_j \frac{w_j}{c + r_j(d)}

    Parameters
    ----------
    rank_constant
        The constant `c`.
    weights
        A weight for each run from 0 on, in the order of the runs; ``None`` weighs each by 1.
    rank_window_size
        How many documents of each ranking count; Elasticsearch's default is 10.

    References
    ----------
    Elasticsearch 9.2, ``RRFRetrieverBuilder``.
    """
    return rrf(r, rank_constant, weights=weights)


@fusion(of="engine", depth=WINDOW)
def elasticsearch_linear(
    r: Rankings,
    *,
    weights: Shares | None = None,
    normalizer: Literal["none", "minmax", "l2_norm"] = "none",
) -> pl.Expr:
    r"""Elasticsearch's ``linear`` retriever: the weighted sum of the normalised scores.

    .. math:: \sum_j w_j \, s_j(d)

    A ranking of equal scores keeps them under ``minmax``. Its greatest score is looked for among
    numbers above 0 only, so that negative scores come out too low.

    Parameters
    ----------
    weights
        A weight for each run from 0 on, in the order of the runs; ``None`` weighs each by 1.
    normalizer
        ``"none"``, ``"minmax"`` or ``"l2_norm"``, for all runs.
    rank_window_size
        How many documents of each ranking count; Elasticsearch's default is 10.

    References
    ----------
    Elasticsearch 9, ``LinearRetrieverBuilder``, ``MinMaxScoreNormalizer`` and
    ``L2ScoreNormalizer``.
    """
    formulas = {"none": None, "minmax": _elasticsearch_minmax, "l2_norm": _elasticsearch_l2}
    score = r.normalized(formulas[normalizer])
    return r.total(score * r.weight(weights))


def _elasticsearch_minmax(r: Scores) -> pl.Expr:
    width = _greatest_above_0(r) - r.least
    is_equal = width.abs() < 1e-6
    share = (r.score - r.least) / width
    return pl.when(is_equal).then(r.least).otherwise(share)


def _elasticsearch_l2(r: Scores) -> pl.Expr:
    share = r.score / r.norm
    return pl.when(r.norm < 1e-6).then(r.score).otherwise(share)


def _greatest_above_0(r: Scores) -> pl.Expr:
    return pl.max_horizontal(r.greatest, LEAST_FLOAT)


@fusion(of="engine")
def opensearch_hybrid(
    r: Rankings,
    *,
    normalization: Literal["min_max", "l2", "z_score"] = "min_max",
    combination: Literal["arithmetic_mean", "geometric_mean", "harmonic_mean"] = "arithmetic_mean",
    weights: Shares | None = None,
) -> pl.Expr:
    r"""OpenSearch's ``normalization-processor``: a weighted mean of the normalised scores over the
    rankings that have it.

    .. math:: \frac{\sum_j w_j s_j(d)}{\sum_j w_j} \quad\text{or}\quad \exp \frac{\sum_j w_j \ln
       s_j(d)}{\sum_j w_j} \quad\text{or}\quad \frac{\sum_j w_j}{\sum_j w_j / s_j(d)}

    The arithmetic mean leaves out scores below 0, the others also 0. Under ``min_max`` the least
    score of a ranking becomes .001, and equal scores above 0 become 1; the greatest score is looked
    for among numbers above 0 only. Under ``z_score``, with the standard deviation of a sample,
    scores below the mean become .001, and one at the mean becomes the greatest score of the ranking
    as it is, as do equal scores.

    Parameters
    ----------
    normalization
        ``"min_max"``, ``"l2"`` or ``"z_score"``.
    combination
        ``"arithmetic_mean"``, ``"geometric_mean"`` or ``"harmonic_mean"``; ``z_score`` takes the
        first only.
    weights
        A weight for each run from 0 on, in the order of the runs; brought to a sum of 1, as
        OpenSearch takes them. ``None`` weighs all alike.

    References
    ----------
    OpenSearch neural-search 3, ``NormalizationProcessor``.
    """
    if normalization == "z_score" and combination != "arithmetic_mean":
        says = (
            f" gives no {combination}, as OpenSearch refuses it; leave out combination, or write "
        )
        raise InvalidOption(option(normalization="z_score"), says, option(normalization="min_max"))
    formulas = {
        "min_max": _opensearch_min_max,
        "l2": _opensearch_l2,
        "z_score": _opensearch_z_score,
    }
    given = r.normalized(formulas[normalization])
    weight = _share(r, weights)
    counts = given >= 0 if combination == "arithmetic_mean" else given > 0
    score = pl.when(counts).then(given)
    weight_of_counted = pl.when(counts).then(weight)
    all_weights = r.total(weight_of_counted)
    if combination == "arithmetic_mean":
        mean = r.total(score * weight) / all_weights
    elif combination == "geometric_mean":
        mean_logarithm = r.total(score.log() * weight) / all_weights
        mean = mean_logarithm.exp()
    else:
        mean = all_weights / r.total(weight / score)
    return pl.when(all_weights > 0).then(mean).otherwise(0.0)


def _opensearch_min_max(r: Scores) -> pl.Expr:
    greatest = _greatest_above_0(r)
    scaled = (r.score - r.least) / (greatest - r.least)
    above_0 = pl.when(scaled == 0).then(0.001).otherwise(scaled)
    return pl.when(greatest == r.least).then(1.0).otherwise(above_0)


def _opensearch_l2(r: Scores) -> pl.Expr:
    share = r.score / r.norm
    return pl.when(r.norm == 0).then(0.0).otherwise(share)


def _opensearch_z_score(r: Scores) -> pl.Expr:
    above = (r.score - r.mean) / r.sample_deviation
    score = r.score.cast(pl.Float32)
    mean = r.mean.cast(pl.Float32)
    above_0 = pl.when(above <= 0).then(0.001).otherwise(above)
    return pl.when(score == mean).then(r.greatest).otherwise(above_0)


@fusion(of="engine")
def opensearch_rrf(
    r: Rankings,
    *,
    rank_constant: Annotated[int, Range(least=1, most=10_000)] = 60,
    weights: Shares | None = None,
) -> pl.Expr:
    r"""OpenSearch's ``score-ranker-processor``: the sum of 1 over `rank_constant` plus the rank, to
    ten decimals.

    .. math:: \sum_j \frac{w_j}{c + r_j(d)}

    Parameters
    ----------
    rank_constant
        The constant `c`.
    weights
        A weight for each run from 0 on, in the order of the runs; ``None`` weighs each by 1.

    References
    ----------
    OpenSearch neural-search 3, ``RRFNormalizationTechnique`` and ``RRFScoreCombinationTechnique``.
    """
    credit = (1 / (rank_constant + r.rank)).round(10)
    weight = r.weight(weights)
    return r.total(r.by_rank(credit) * weight)


@fusion(of="engine")
def qdrant_rrf(
    r: Rankings, *, k: Annotated[int, Range(least=1)] = 2, weights: Sequence[float] | None = None
) -> pl.Expr:
    r"""Qdrant's ``rrf``: reciprocal ranks in which a ranking of weight `w` counts as if its ranks
    were divided by `w`.

    .. math:: \sum_j \frac{1}{k - 1 + r_j(d) / w_j}

    Parameters
    ----------
    k
        The constant; Qdrant's default is 2, which gives 1/2 to the first document.
    weights
        A weight for each run, in the order of the runs; ``None`` weighs each by 1. A run of weight
        0 or less adds nothing.

    References
    ----------
    Qdrant 1.17, ``reciprocal_rank_fusion``; before 1.17 it had no weights, and before 1.16 no other
    constant.
    """
    weight = r.weight(weights)
    rank = r.rank / weight
    credit = r.by_rank(1 / (k - 1 + rank))
    term = pl.when(weight > 0).then(credit).otherwise(0.0)
    return r.total(term)


@fusion(of="engine")
def qdrant_dbsf(r: Rankings) -> pl.Expr:
    r"""Qdrant's ``dbsf``: the sum of the scores on a scale from three standard deviations below the
    mean to three above.

    .. math:: \sum_j \frac{s_j(d) - (\mu_j - 3 \sigma_j)}{6 \sigma_j}

    The standard deviation is that of a sample (divided by the number of scores less 1); 1/2 for
    equal scores, and for the document of a ranking of one.

    References
    ----------
    Qdrant 1.11, ``score_fusion``.
    """
    return r.total(r.normalized(_qdrant_distribution))


def _qdrant_distribution(r: Scores) -> pl.Expr:
    share = in_six_deviations(r, r.sample_deviation)
    equal = pl.when(r.rank.is_not_null()).then(0.5)
    return pl.when(r.sample_deviation > 0).then(share).otherwise(equal)


@fusion("ensemble_retriever", of="engine")
def langchain(
    r: Rankings, *, c: Annotated[int, Range(least=0)] = 60, weights: Sequence[float] | None = None
) -> pl.Expr:
    r"""LangChain's ``EnsembleRetriever``: the sum of weights over `c` plus the rank.

    .. math:: \sum_j \frac{w_j}{c + r_j(d)}

    Parameters
    ----------
    c
        The constant.
    weights
        A weight for each run, in the order of the runs; ``None`` weighs each by 1 over their
        number.

    References
    ----------
    langchain-classic 1.0, ``EnsembleRetriever``.
    """
    weight = _share(r, None) if weights is None else r.weight(weights)
    credit = 1 / (c + r.rank)
    return r.total(r.by_rank(credit) * weight)


@fusion("query_fusion_retriever", of="engine")
def llamaindex(
    r: Rankings,
    *,
    mode: Literal["simple", "reciprocal_rerank", "relative_score", "dist_based_score"] = "simple",
    weights: Sequence[float] | None = None,
) -> pl.Expr:
    r"""LlamaIndex' ``QueryFusionRetriever`` for one query: the greatest score, or a sum.

    .. math:: \max_j s_j(d) \quad\text{or}\quad \sum_j \frac{1}{60 + r_j(d) - 1} \quad\text{or}\quad
       \sum_j w_j \frac{s_j(d) - a_j}{b_j - a_j}

    The scale from `a` to `b` is that from the least to the greatest score under ``relative_score``,
    and that from three standard deviations below the mean to three above under
    ``dist_based_score``; of equal scores, each becomes 1 if they are above 0, and 0 if not.

    Parameters
    ----------
    mode
        ``"simple"``, ``"reciprocal_rerank"``, ``"relative_score"`` or ``"dist_based_score"``.
    weights
        A weight for each run, in the order of the runs, which the last two modes read; brought to a
        sum of 1. ``None`` weighs all alike.

    References
    ----------
    llama-index-core 0.14, ``QueryFusionRetriever`` with ``num_queries=1``.
    """
    weight = _share(r, weights)
    if mode == "simple":
        score = r.normalized(None)
        return r.greatest(score)
    if mode == "reciprocal_rerank":
        credit = 1 / (60 + r.rank - 1)
        return r.total(r.by_rank(credit))
    normalize = _relative if mode == "relative_score" else _distribution(_one_if_above_0)
    return r.total(r.normalized(normalize) * weight)


def _relative(r: Scores) -> pl.Expr:
    scaled = (r.score - r.least) / (r.greatest - r.least)
    return pl.when(r.greatest > r.least).then(scaled).otherwise(_one_if_above_0(r))


def _one_if_above_0(r: Scores) -> pl.Expr:
    return (r.score > 0).cast(pl.Float64)


def _distribution(of_equal: Callable[[Scores], pl.Expr]) -> Callable[[Scores], pl.Expr]:
    def normalize(r: Scores) -> pl.Expr:
        share = in_six_deviations(r, r.deviation)
        return pl.when(r.deviation > 0).then(share).otherwise(of_equal(r))

    return normalize


@fusion("document_joiner", of="engine")
def haystack(
    r: Rankings,
    *,
    join_mode: Literal[
        "concatenate", "merge", "reciprocal_rank_fusion", "distribution_based_rank_fusion"
    ] = "concatenate",
    weights: Sequence[float] | None = None,
) -> pl.Expr:
    r"""Haystack's ``DocumentJoiner``: the greatest score, the weighted sum of scores, or that of
    reciprocal ranks.

    .. math:: \max_j s_j(d) \quad\text{or}\quad \sum_j w_j s_j(d) \quad\text{or}\quad \sum_j
       \frac{61 w_j}{60 + r_j(d)}

    Under ``distribution_based_rank_fusion`` it is the greatest score on a scale from three standard
    deviations below the ranking's mean to three above; a ranking of equal scores keeps them.

    Parameters
    ----------
    join_mode
        ``"concatenate"``, ``"merge"``, ``"reciprocal_rank_fusion"`` or
        ``"distribution_based_rank_fusion"``.
    weights
        A weight for each run, in the order of the runs, which ``merge`` and
        ``reciprocal_rank_fusion`` read; brought to a sum of 1. ``None`` weighs all alike.

    References
    ----------
    haystack-ai 3.4, ``DocumentJoiner``.
    """
    weight = _share(r, weights)
    if join_mode == "concatenate":
        return r.greatest(r.normalized(None))
    if join_mode == "merge":
        return r.total(r.normalized(None) * weight)
    if join_mode == "reciprocal_rank_fusion":
        credit = 61 / (60 + r.rank)
        return r.total(r.by_rank(credit) * weight)
    score = r.normalized(_distribution(lambda r: r.score))
    return r.greatest(score)


def _share(r: Rankings, weights: Sequence[float] | None) -> pl.Expr:
    """The weight of a row's ranking, of weights brought to a sum of 1."""
    if weights is None or not r.n_rankings:  # an empty table names no runs
        n = max(r.n_rankings, 1)
        return pl.lit(1 / n)
    weight = r.weight(weights)
    if min(weights) < 0 or not 0 < sum(weights) < math.inf:
        says = (
            " cannot be brought to a sum of 1; give weights from 0 on, one of them above 0, "
            "whose sum is finite"
        )
        raise InvalidOption(option(weights=list(weights)), says)
    return weight / sum(weights)
