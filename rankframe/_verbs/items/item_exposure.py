"""The exposure of each item: one row per item."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

import polars as pl

from ..._plan.per_query import collect
from ..._support.option_kinds import ColumnNames, ReadInside, check
from ..._table.policies import Cutoff
from ..._table.roles import require_number
from ..._table.runs import names_of
from ..._table.setup import Setup
from ..._table.table import Table, refuse_names
from ..._words.exposure import LABEL, Persistence, Weight, weight_of
from ..call.declaration import merged_figures, verb
from ..sample.slices import Sliced
from .item_tables import ITEM, RANK, item_column, lists_of

FIGURES = ("shown", "exposure", "share", "relevant_shown")
"""The columns beside the slices and the item."""

SUMS = ("shown", "exposure", "relevant_shown")
"""The figures that merge by addition."""


@dataclass(frozen=True)
class Weighing:
    """The depth of the lists, and how much each rank exposes its item."""

    k: int | None
    weight: Weight
    p: float = 0.8

    @classmethod
    def of(cls, k: object, weight: object) -> Weighing:
        """The weighing that a caller names, as ``"log2"`` or ``"rbp(p=0.8)"``."""
        depth: int | None = check("k", k, Cutoff | None)
        if isinstance(weight, str):
            rbp = re.fullmatch(r"\s*rbp\s*\(\s*p\s*=\s*(\d*\.?\d+(?:e-\d+)?)\s*\)\s*", weight)
            if rbp is not None:
                p = check("p", float(rbp[1]), Persistence)
                return cls(depth, "rbp", p)
        return cls(depth, check("weight", weight, Weight))


@dataclass(frozen=True)
class Exposures(Sliced):
    """The exposure of items; parts hold all rows of their users, and figures merge by addition."""

    setup: Setup
    weighing: Weighing
    by: tuple[str, ...]

    @classmethod
    def of(
        cls, setup: Setup, _: object, k: int | None, *, weight: str, by: ColumnNames | None
    ) -> Exposures:
        """The exposure that a call of the verb asks for."""
        return cls(setup, Weighing.of(k, weight), names_of(by))

    def part(self, frame: pl.DataFrame) -> pl.DataFrame:
        """A row per slice and item of a part."""
        return collect(self.sums(frame), frame, self.setup)

    def merge(self, parts: pl.DataFrame) -> pl.DataFrame:
        """The table, from the rows of its parts."""
        others = (*self.slices, *SUMS)
        doc = next(name for name in parts.columns if name not in others)
        return self.table(parts.lazy(), doc).collect()

    def sums(self, frame: pl.DataFrame) -> pl.LazyFrame:
        """By slice and item: the times shown, the exposure, and the times shown and relevant."""
        schema = frame.schema
        setup = self.setup
        doc = item_column(setup, schema)
        refuse_names([doc, *FIGURES], self.by, "by")
        refuse_names(FIGURES, [doc], "the table")
        has_labels = setup.roles.label in schema
        columns = set()
        relevant = pl.lit(None, pl.UInt32)
        if has_labels:
            require_number(schema, setup.roles.label, "label")
            columns = {LABEL}
            is_relevant = pl.col(LABEL) >= setup.policies.relevant
            relevant = is_relevant.fill_null(False).cast(pl.UInt32)
        lists = lists_of(frame, setup, self.by, columns)
        rank = pl.col(RANK)
        rows = lists.lazy().filter(rank.is_not_null())
        weighing = self.weighing
        if weighing.k is not None:
            rows = rows.filter(rank <= weighing.k)
        weight = weight_of(weighing.weight, weighing.p)
        exposed = weight.cast(pl.Float64)
        sums = {"shown": pl.lit(1, pl.UInt32), "exposure": exposed, "relevant_shown": relevant}
        item = pl.col(ITEM).alias(doc)
        rows = rows.select(*self.slices, item, **sums)
        return self._added(rows, doc)

    def _added(self, rows: pl.LazyFrame, doc: str) -> pl.LazyFrame:
        """The rows added up by slice and item."""
        shown = pl.col("shown").sum()
        exposed = pl.col("exposure").sum()
        relevant = pl.col("relevant_shown")
        has_labels = relevant.is_not_null().any()
        relevant_shown = pl.when(has_labels).then(relevant.sum())
        named = relevant_shown.alias("relevant_shown").cast(pl.UInt32)
        by_item = rows.group_by(*self.slices, doc, maintain_order=True)
        return by_item.agg(shown.cast(pl.UInt32), exposed, named)

    def table(self, sums: pl.LazyFrame, doc: str) -> pl.LazyFrame:
        """One row per slice and item: the sums, and the share of the slice's exposure."""
        slices = [*self.slices]
        total = pl.col("exposure").sum()
        if slices:
            total = total.over(slices)
        share = (pl.col("exposure") / total).alias("share")
        rows = self._added(sums, doc).with_columns(share)
        falling = [*[False] * len(slices), True, False]
        rows = rows.sort(*slices, "exposure", doc, descending=falling, nulls_last=True)
        named = rows.rename({**self.slices})
        return named.select(*self.by, doc, *FIGURES)


@verb(gives="table", by_parts=True, merges=Exposures.of)
def exposure(
    table: Table[Any],
    k: int | None = None,
    *,
    weight: Annotated[str, ReadInside] = "count",
    by: ColumnNames | None = None,
) -> pl.DataFrame:
    """The number of users that each item is shown to, and its exposure: one row per item.

    Parameters
    ----------
    k
        The depth of the lists; ``None`` takes whole lists.
    weight
        How much a rank exposes its item: ``"count"``, 1; ``"log2"``, 1 / log2(rank + 1);
        ``"rbp(p=0.8)"``, (1 - p) p^(rank - 1), the probability that a user who goes on with
        probability p looks there last.
    by
        The column, or columns, whose values slice the users, as for :meth:`summarize`.

    Returns
    -------
    A frame with the slice's columns, the item, ``shown`` (UInt32, the number of users who are shown
    it), ``exposure`` (Float64, the weights of its ranks added up over users), ``share`` (Float64,
    from 0 to 1, of the exposure of all items of the slice) and ``relevant_shown`` (UInt32, the
    number of users who are shown it and to whom it is relevant; null if the table has no labels).
    Items that nobody is shown have no row. Sorted by slice, then by falling exposure, then by item.

    Raises
    ------
    InvalidOption
        If no column names the items, or the weight or the depth is invalid.
    InvalidData
        If an item that is shown is null, a label is NaN or infinite, or a user has several values
        of a slice.

    See Also
    --------
    catalog : coverage, Gini and other numbers of the same lists.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> lists = {"query_id": [1, 1, 2], "doc_id": ["a", "b", "b"], "score": [2.0, 1, 1]}
    >>> df = pl.DataFrame({**lists, "label": [0, 1, 0]})
    >>> found = df.rank.items.exposure(k=10)
    >>> found["doc_id"].to_list(), found["shown"].to_list(), found["relevant_shown"].to_list()
    (['b', 'a'], [2, 1], [1, 0])
    """
    exposures = Exposures.of(table.setup, None, k=k, weight=weight, by=by)
    return merged_figures(table, exposures)
