"""How often, and how visibly, each item is shown: one row per item."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast, get_args

import polars as pl

from .._decisions.summary import keys
from .._plan.per_query import Frame, like, refuse_names
from .._support.option_kinds import check
from .._table.policies import Cutoff
from .._table.roles import require_number
from .._table.setup import Setup
from .._verbs.declaration import verb
from .._words.exposure import Persistence, Weight, weight_of
from ..errors import InvalidOption, did_you_mean, option
from .lists import ITEM, RANK, RELEVANT, item_column, lists_of

__all__ = ["Weighing", "exposure"]

FIGURES = ("shown", "exposure", "share", "relevant_shown")
"""The columns beside the slices and the item."""

WORDS = (*get_args(Weight), "rbp(p=0.8)")


@dataclass(frozen=True)
class Weighing:
    """The depth of the lists, and how much each rank exposes its item."""

    k: int | None
    weight: Weight
    p: float = 0.8

    @classmethod
    def of(cls, k: object, weight: object) -> Weighing:
        """The weighing that a caller names, as ``"log2"`` or ``"rbp(p=0.8)"``."""
        found = re.fullmatch(
            r"\s*(\w+)\s*(?:\(\s*p\s*=\s*([^)]*?)\s*\))?\s*", weight if isinstance(weight, str) else ""
        )
        if found is None or found[1] not in get_args(Weight) or (found[2] is not None and found[1] != "rbp"):
            hint = did_you_mean(weight, WORDS) if isinstance(weight, str) else ""
            raise InvalidOption(option(weight=weight), f": write one of {', '.join(map(repr, WORDS))}.{hint}")
        p = 0.8
        if found[2] is not None:
            try:
                p = check("p", float(found[2]), Persistence)
            except ValueError:
                raise InvalidOption(
                    option(weight=weight), ": p is a number above 0 and below 1, as in ", option(weight="rbp(p=0.8)")
                ) from None
        return cls(check("k", k, Cutoff | None), cast("Weight", found[1]), p)


@verb(gives="table", reads=["by"])
def exposure(frame: Frame, setup: Setup, weighing: Weighing, by: Sequence[str]) -> Frame:
    """One row per slice and item: how often it is shown, its exposure, its share of all, how often it is shown and relevant."""
    schema = frame.collect_schema()
    doc = item_column(setup, schema)
    refuse_names([doc, *FIGURES], by, "by")
    refuse_names(FIGURES, [doc], "the table")
    judged = setup.roles.label in schema
    if judged:
        require_number(schema, setup.roles.label, "label")
    rows = lists_of(frame, setup, by, relevant=judged).lazy().filter(pl.col(RANK).is_not_null())
    if weighing.k is not None:
        rows = rows.filter(pl.col(RANK) <= weighing.k)
    weight = weight_of(weighing.weight, weighing.p)
    slices, total = keys(by), pl.col("exposure").sum()
    relevant = pl.col(RELEVANT).sum().cast(pl.UInt32) if judged else pl.lit(None, pl.UInt32)
    rows = rows.with_columns(weight.cast(pl.Float64).alias("exposure"))
    found = (
        rows.group_by(*slices, ITEM, maintain_order=isinstance(frame, pl.DataFrame))
        .agg(pl.len().cast(pl.UInt32).alias("shown"), pl.col("exposure").sum(), relevant.alias("relevant_shown"))
        .with_columns((pl.col("exposure") / (total.over(slices) if by else total)).alias("share"))
        .sort(*slices, "exposure", ITEM, descending=[*[False] * len(slices), True, False], nulls_last=True)
    )
    names = [pl.col(at).alias(name) for at, name in zip(slices, by, strict=True)]
    return like(frame, found.select(*names, pl.col(ITEM).alias(doc), *FIGURES), setup)
