"""The exposure of each item: one row per item."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast, get_args

import polars as pl

from .._plan.per_query import Frame, collect, refuse_names
from .._support.option_kinds import check
from .._table.policies import Cutoff
from .._table.roles import require_number
from .._table.setup import Setup
from .._verbs.declaration import verb
from .._words.exposure import LABEL, Persistence, Weight, weight_of
from ..errors import InvalidOption, did_you_mean, option
from .lists import ITEM, RANK, at_once, item_column, lists_of
from .sliced import Sliced

FIGURES = ("shown", "exposure", "share", "relevant_shown")
"""The columns beside the slices and the item."""

SUMS = ("shown", "exposure", "relevant_shown")
"""The figures that merge by addition."""

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


@dataclass(frozen=True)
class Exposures(Sliced):
    """The exposure of items, computed in parts that hold all rows of their users; figures merge by addition."""

    setup: Setup
    weighing: Weighing
    by: tuple[str, ...]

    def part(self, frame: pl.DataFrame) -> pl.DataFrame:
        """A row per slice and item of a part."""
        return collect(self.sums(frame), frame, self.setup)

    def merge(self, parts: pl.DataFrame) -> pl.DataFrame:
        """The table, from the rows of its parts."""
        doc = next(name for name in parts.columns if name not in (*self.slices, *SUMS))
        return self.table(parts.lazy(), doc).collect()

    def sums(self, frame: pl.DataFrame) -> pl.LazyFrame:
        """The times that each item is shown, its exposure, and the times that it is shown and relevant, by slice."""
        schema = frame.schema
        doc = item_column(self.setup, schema)
        refuse_names([doc, *FIGURES], self.by, "by")
        refuse_names(FIGURES, [doc], "the table")
        judged = self.setup.roles.label in schema
        if judged:
            require_number(schema, self.setup.roles.label, "label")
        lists = lists_of(frame, self.setup, self.by, {LABEL} if judged else frozenset())
        rows = lists.lazy().filter(pl.col(RANK).is_not_null())
        if self.weighing.k is not None:
            rows = rows.filter(pl.col(RANK) <= self.weighing.k)
        is_relevant = (pl.col(LABEL) >= self.setup.policies.relevant).fill_null(False)
        relevant = is_relevant.cast(pl.UInt32) if judged else pl.lit(None, pl.UInt32)
        rows = rows.select(
            *self.slices,
            pl.col(ITEM).alias(doc),
            shown=pl.lit(1, pl.UInt32),
            exposure=weight_of(self.weighing.weight, self.weighing.p).cast(pl.Float64),
            relevant_shown=relevant,
        )
        return self._added(rows, doc)

    def _added(self, rows: pl.LazyFrame, doc: str) -> pl.LazyFrame:
        relevant = pl.col("relevant_shown")
        known = pl.when(relevant.is_not_null().any()).then(relevant.sum())
        return rows.group_by(*self.slices, doc, maintain_order=True).agg(
            pl.col("shown").sum().cast(pl.UInt32),
            pl.col("exposure").sum(),
            known.cast(pl.UInt32).alias("relevant_shown"),
        )

    def table(self, sums: pl.LazyFrame, doc: str) -> pl.LazyFrame:
        """One row per slice and item: the sums of all parts, and the share of the slice's exposure."""
        slices, total = [*self.slices], pl.col("exposure").sum()
        found = (
            self._added(sums, doc)
            .with_columns((pl.col("exposure") / (total.over(slices) if slices else total)).alias("share"))
            .sort(*slices, "exposure", doc, descending=[*[False] * len(slices), True, False], nulls_last=True)
        )
        return found.rename(dict(self.slices)).select(*self.by, doc, *FIGURES)


def in_parts(setup: Setup, largest_label: float | None, weighing: Weighing, by: Sequence[str]) -> Exposures:
    """The table of a call of `exposure`, to compute part by part."""
    return Exposures(setup, weighing, tuple(by))


@verb(gives="table", reads=["by"], in_parts=in_parts)
def exposure(frame: Frame, setup: Setup, weighing: Weighing, by: Sequence[str]) -> Frame:
    """One row per slice and item: the times it is shown, its exposure and share, and the times it is shown and relevant."""
    if isinstance(frame, pl.LazyFrame):
        return at_once(exposure, frame, setup, weighing, by)
    exposures = Exposures(setup, weighing, tuple(by))
    doc = item_column(setup, frame.schema)
    return collect(exposures.table(exposures.sums(frame), doc), frame, setup)
