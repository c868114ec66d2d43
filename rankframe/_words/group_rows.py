"""A ranking inside `group_by().agg()` or `.over()`: every word computed from the rows of the group.

Each word sorts for itself, so this form is slower than a frame's plan; its results are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import polars as pl
import polars.selectors as cs

from .._support.polars_versions import sorted_in_group
from .._table.columns import is_finite, is_rank, message_of, naming, unfit_weights
from .._table.setup import Setup
from ..errors import InvalidOption
from .rank_key import columns_of, rank_key
from .rows import Cut, PairCounts, Rows, on_rows


class GroupRows(Rows):
    """The rows of one group, in rank order by an expression over the group's raw columns."""

    def __init__(self, setup: Setup, *, labels: bool = True) -> None:
        if setup.policies.tie_rule.averages:
            ties = f"ties={setup.policies.ties!r}"
            raise InvalidOption(
                f"an expression ranks its group in one order; for {ties} write df.rank.on({ties})"
            )
        if setup.policies.unjudged == "bounds":
            raise InvalidOption(
                "an expression gives one value, not two; write df.rank.on(unjudged='bounds')"
            )
        self.setup = setup
        label = pl.col(setup.roles.label).cast(pl.Float64)
        if not labels and not setup.policies.orders_by_label:  # null, where the table has none
            there = cs.by_name(setup.roles.label, require_all=False).cast(pl.Float64)
            label = pl.coalesce(there, pl.when(pl.int_range(pl.len()) < 0).then(0.0))
        score = pl.col(setup.roles.score)
        if setup.policies.scores == "float32":
            score = score.cast(pl.Float32)
        if setup.policies.ascending:  # of any type, unsigned ones too
            score = score.rank("dense", descending=True)
        if setup.policies.drops_first:
            score = pl.when(label >= 0).then(score)
        key, descending = rank_key(setup, score, label)

        def ranked(x: pl.Expr) -> pl.Expr:
            return sorted_in_group(x, key, descending)

        self._given = label
        self._ranked, retrieved = ranked, ranked(score).is_not_null()
        given = (
            ranked(pl.col(setup.roles.score).cast(pl.Float64)) if setup.takes_ranks else self.place
        )
        if setup.policies.depth is not None:
            retrieved &= given <= setup.policies.depth
        if setup.policies.drops_after_cut:
            within = retrieved & (ranked(label) >= 0).fill_null(False)
            self._ranked = lambda x: ranked(x).sort_by(within, descending=True, maintain_order=True)
            retrieved = within.sort_by(within, descending=True)
        self._score = pl.when(retrieved).then(self._ranked(score))
        shares = setup.policies.tie_rule.shares and not setup.takes_ranks
        place = self.last_tied(self.place) if shares else given
        self.rank = pl.when(retrieved).then(place)
        self.raw = self._ranked(label)
        if setup.policies.unretrieved == "drop":
            self.raw = pl.when(retrieved).then(self.raw)
        self.label = pl.when(self.raw > 0).then(self.raw).otherwise(0.0)
        self.faults = self._faults(
            score, label, [setup.roles.score, *([setup.roles.label] if labels else [])]
        )

    def _faults(
        self, score: pl.Expr, label: pl.Expr, numbers: Sequence[str]
    ) -> list[tuple[pl.Expr, str | pl.Expr]]:
        """The faults of the columns, whose types are not known, with their messages."""
        setup, doc, none = self.setup, columns_of(self.setup), pl.lit(False)
        texts = {name: cs.by_name(name) - cs.numeric() - cs.boolean() for name in numbers}
        is_nan = pl.any_horizontal(none, (cs.by_name(setup.roles.score) & cs.float()).is_nan())
        found = {"NaN score": is_nan, "label not finite": ~is_finite(label)}
        found["repeated document"] = pl.any_horizontal(none, doc.is_duplicated())
        found |= {kind: rows for kind, (_, rows) in unfit_weights(setup, label).items()}
        if setup.policies.tie_rule.as_text:
            found["nested document"] = pl.any_horizontal(none, (doc & cs.nested()).is_not_null())
        tied = score.is_duplicated() & score.is_not_null()
        if setup.takes_ranks:
            found["no rank"] = ~is_rank(pl.col(setup.roles.score).cast(pl.Float64))
            found["shared rank"] = tied
        if setup.policies.tie_rule.refuses:
            found["forbidden tie"] = tied
        says = "column {!r} holds no numbers; cast it, as with .cast(pl.Float64)"
        no_numbers = [
            (pl.any_horizontal(none, x.is_not_null()).any(), says.format(name))
            for name, x in texts.items()
        ]
        return [*no_numbers, *((x.any(), message_of(kind, setup)) for kind, x in found.items())]

    @property
    def has_labels(self) -> pl.Expr:
        return self._given.count() > 0

    @property
    def place(self) -> pl.Expr:
        return pl.int_range(1, pl.len() + 1).cast(pl.Float64)

    @property
    def tied_from(self) -> pl.Expr:
        return self.first_tied(self.place)

    @property
    def tied_to(self) -> pl.Expr:
        return self.last_tied(self.place)

    def column(self, x: pl.Expr, known_by: bytes = b"") -> pl.Expr:
        return self._ranked(x)

    def gathered(self, values: pl.Series, places: pl.Expr, known_by: bytes) -> pl.Expr:
        return places.map_batches(values.gather, return_dtype=values.dtype)

    def mapped(self, function: Callable[[pl.DataFrame], pl.Series], **columns: pl.Expr) -> pl.Expr:
        query = pl.int_range(pl.len()) * 0
        rows = pl.struct([query.alias("query"), *(x.alias(name) for name, x in columns.items())])
        return rows.map_batches(partial(on_rows, function), return_dtype=pl.Float64)

    def each(self, x: pl.Expr) -> pl.Expr:
        return pl.when(pl.int_range(pl.len()) >= 0).then(x)

    def along(self, x: pl.Expr) -> pl.Expr:
        return x

    def next_to(self, x: pl.Expr, step: Literal[1, -1], end: float) -> pl.Expr:
        return x.shift(step, fill_value=end)

    def first_tied(self, x: pl.Expr) -> pl.Expr:
        starts = self._score.ne_missing(self._score.shift(1)) | (self.place == 1)
        return (
            pl.when(starts).then(x.cast(pl.Float64)).forward_fill().cast(pl.Float64)
        )  # empty groups lose the type

    def last_tied(self, x: pl.Expr) -> pl.Expr:
        ends = self._score.ne_missing(self._score.shift(-1)) | (self.place == pl.len())
        return pl.when(ends).then(x.cast(pl.Float64)).backward_fill().cast(pl.Float64)

    def whole(self, x: pl.Expr) -> pl.Expr:
        return x.sum()

    def largest(self, x: pl.Expr) -> pl.Expr:
        return x.max()

    def total(self, x: pl.Expr, k: Cut, *, divisor: bool) -> pl.Expr:
        return x.sum()

    def count(self, rows: pl.Expr) -> pl.Expr:
        return rows.cast(pl.Float64).sum()

    def count_so_far(self, rows: pl.Expr, *, of_all: bool = False) -> pl.Expr:
        return rows.cast(pl.Float64).cum_sum()

    def pairs(self, label: pl.Expr, among: pl.Expr) -> PairCounts:
        # over all pairs, as an expression has no loops
        label, level = pl.when(among).then(label), self._score.rank("dense").fill_null(0)
        n = pl.len().cast(pl.Int64)
        one, other = pl.int_range(n * n) // n, pl.int_range(n * n) % n
        differ, higher, lower = (
            label.gather(one) > label.gather(other),
            level.gather(one),
            level.gather(other),
        )
        counts = (differ, differ & (higher == lower), differ & (higher < lower))
        return PairCounts(*(x.sum().cast(pl.Float64) for x in counts))

    @property
    def largest_label_of_table(self) -> pl.Expr:
        says = "an expression sees one query at a time, not the largest label of the table"
        raise InvalidOption(f"{says}; say it, as rf.expr.err(max_label=4)")

    def refuse(self, bad: pl.Expr, message: str, *, of_label: bool = True) -> None:
        self.faults.append(
            (bad.any(), naming(message, self.label.filter(bad).max()) if of_label else message)
        )

    def refuse_value(self, bad: pl.Expr, message: str) -> None:
        self.faults.append((bad, message))
