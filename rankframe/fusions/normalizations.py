"""Normalisations: the scores of one ranking brought to a scale that all rankings share."""

from __future__ import annotations

import polars as pl

from .._catalog.fusions import normalization
from .._words.rankings import Scores

__all__ = ["dbsf", "l2", "min_max", "min_max_inverted", "over_greatest", "over_sum", "rank", "zmuv"]


@normalization("minmax", "min-max")
def min_max(r: Scores) -> pl.Expr:
    """From 0, the least score, to 1, the greatest; 1 for every document where all scores are equal."""
    return pl.when(r.greatest > r.least).then((r.score - r.least) / (r.greatest - r.least)).otherwise(_one(r))


@normalization("min-max-inverted")
def min_max_inverted(r: Scores) -> pl.Expr:
    """From 1, the least score, to 0, the greatest: for distances; 1 for every document where all are equal."""
    return pl.when(r.greatest > r.least).then((r.greatest - r.score) / (r.greatest - r.least)).otherwise(_one(r))


@normalization(text="max")
def over_greatest(r: Scores) -> pl.Expr:
    """The score over the greatest of the ranking."""
    r.refuse(r.score < 0, "normalize='max' divides by the greatest score, and a score is negative; write 'min_max'")
    return pl.when(r.greatest > 0).then(r.score / r.greatest).otherwise(_one(r))


@normalization(text="sum")
def over_sum(r: Scores) -> pl.Expr:
    """The score above the least, over the sum of these; 1 over the number of documents where all are equal."""
    above = r.score - r.least
    return pl.when(r.greatest > r.least).then(above / r.total(above)).otherwise(_one(r) / r.length)


@normalization("z_score", "z-score", "zscore")
def zmuv(r: Scores) -> pl.Expr:
    """Zero mean, unit variance: standard deviations above the mean; 0 where all scores are equal."""
    return pl.when(r.deviation > 0).then((r.score - r.mean) / r.deviation).otherwise(_one(r) - 1)


@normalization()
def rank(r: Scores) -> pl.Expr:
    """By the rank alone: 1 for the first of n documents, and 1/n less at each next rank."""
    return r.by_rank(1 - (r.rank - 1) / r.length)


@normalization()
def l2(r: Scores) -> pl.Expr:
    """The score over the Euclidean norm of the ranking's scores; 0 where that is 0."""
    return pl.when(r.norm > 0).then(r.score / r.norm).otherwise(_one(r) - 1)


@normalization("dist_based_score")
def dbsf(r: Scores) -> pl.Expr:
    """Distribution-based: from three standard deviations below the mean, 0, to three above, 1; 1/2 where all are equal."""
    low = r.mean - 3 * r.deviation
    return pl.when(r.deviation > 0).then((r.score - low) / (6 * r.deviation)).otherwise(_one(r) / 2)


def _one(r: Scores) -> pl.Expr:
    """1 for each document that the ranking has."""
    return pl.when(r.rank.is_not_null()).then(1.0)
