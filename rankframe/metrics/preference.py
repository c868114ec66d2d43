"""Graded preferences: the similarity of a ranking to the ideal one."""

from __future__ import annotations

import math
from typing import Annotated

import polars as pl

from .._catalog.registry import metric
from .._words.ranking import Range, Ranking, zero_unless
from .cwl_user_models import running, table

__all__ = ["compatibility"]

NEGLIGIBLE = 1e-18


@metric("Compat", display="Compatibility", bounds=(0, 1), gains_only=True)
def compatibility(
    r: Ranking, *, p: Annotated[float, Range(above=0, most=0.9999)] = 0.95, normalize: bool = True
) -> pl.Expr:
    r"""Compatibility: the rank-biased overlap of the ranking with the ideal ranking that is nearest
    to it.

    The ideal ranking has the documents with a label above 0 by falling label, those with equal
    labels in their order in the ranking. The overlap at depth i is the number of documents in the
    top i of both, over i, with weight p^(i - 1).

    .. math:: \frac{\sum_{i \ge 1} p^{\,i-1} o_i / i}{\sum_{i \ge 1} p^{\,i-1} \min(i, m) / i}

    `o` is the overlap at depth i; `m` documents have a label above 0.

    Parameters
    ----------
    p
        The persistence, above 0 and up to 0.9999: the larger, the more lower ranks count.
    normalize
        Divide by the overlap of the ideal ranking with itself, so that the best ranking has 1 for
        any number of documents.

    Returns
    -------
    One Float64 per query, from 0 to 1; 0 without a label above 0. The sum is over infinitely many
    depths; ir_measures stops where both rankings end, and orders tied labels by score only.

    References
    ----------
    Clarke, Vtyurina and Smucker, Assessing top-k preferences, ACM TOIS 39(3), 2021.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> df = pl.DataFrame(
    ...     {"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]}
    ... )
    >>> round(
    ...     df.rank.compatibility(p=0.5)["compatibility(p=0.5)"].item(), 4
    ... )  # 1/4 + 1/12 + ... over 1 + 1/4 + 1/12 + ...
    0.2787
    """
    # A document that is in both from depth m on adds p^(m - 1) / m + p^m / (m + 1) + ...
    n_terms = math.ceil(math.log(NEGLIGIBLE) / math.log(p)) + 2
    shares = [p ** (i - 1) / i for i in range(1, n_terms)]
    from_depth = running(shares[::-1])[:0:-1]  # add the small ones first
    ideal_rank = r.along(r.label.rank("ordinal", descending=True))
    in_both_from = pl.max_horizontal(r.rank, ideal_rank.cast(pl.Float64))
    is_wanted = r.label > 0
    met = table([0.0, *from_depth])(in_both_from)
    overlap = r.total(zero_unless(is_wanted, met))
    if not normalize:
        return (1 - p) * overlap
    n_wanted = r.whole(is_wanted.cast(pl.Float64)).clip(upper_bound=len(from_depth))
    best: pl.Expr = table(running(from_depth))(n_wanted)  # all of them at the top
    return overlap / best
