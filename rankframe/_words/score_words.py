"""What a formula sees of the scores themselves: ranks, sums and pairs in which tied documents are equals."""

from __future__ import annotations

from abc import ABC, abstractmethod

import polars as pl

__all__ = ["ByScore"]


class ByScore(ABC):
    """The words of a ranking that go by score alone, whatever the tie rule.

    A candidate is a document that was retrieved or judged. Judged documents that were not retrieved tie with each
    other, below all others; a candidate that nobody judged has label 0.
    """

    @property
    @abstractmethod
    def mean_rank(self) -> pl.Expr:
        """The rank by score alone, where tied documents share the mean of their ranks."""

    @property
    @abstractmethod
    def n_tied(self) -> pl.Expr:
        """How many candidates have this one's score, itself among them."""

    @abstractmethod
    def above(self, x: pl.Expr) -> pl.Expr:
        """The sum of `x`, which is 0 or more, over the documents that are scored higher than this one."""

    @abstractmethod
    def at_or_above(self, x: pl.Expr) -> pl.Expr:
        """The sum of `x`, which is 0 or more, over the documents that are scored at least as high as this one."""

    @property
    @abstractmethod
    def unequal_pairs(self) -> pl.Expr:
        """How many pairs of candidates differ in their labels."""

    @property
    @abstractmethod
    def tied_pairs(self) -> pl.Expr:
        """How many pairs of candidates that differ in their labels have one score."""

    @property
    @abstractmethod
    def inverted_pairs(self) -> pl.Expr:
        """How many pairs of candidates there are in which the higher label has the lower score."""
