"""A ranking inside `group_by().agg()` or `.over()`: every word computed from the rows of the group.

Each word sorts for itself, so this form is slower than a frame's plan; its results are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, TypeAlias

import polars as pl
import polars.selectors as cs

from .._support.polars_versions import sorted_in_group
from .._table.columns import is_finite, is_rank, message_of, naming, unfit_weights
from .._table.setup import Setup
from ..errors import InvalidOption
from .rank_key import columns_of, rank_key
from .rows import Cut, PairCounts, Rows, on_rows, zero_unless

GroupFault: TypeAlias = tuple[pl.Expr, str | pl.Expr]
"""Whether a group has a fault, and the message of it."""


class GroupRows(Rows):
    """The rows of one group, in rank order by an expression over the group's raw columns."""

    def __init__(self, setup: Setup, *, labels: bool = True) -> None:
        self._refuse_policies(setup)
        self.setup = setup
        policies = setup.policies
        label = self._labels(labels)
        score = self._scores(label)
        key, descending = rank_key(setup, score, label)

        def ranked(x: pl.Expr) -> pl.Expr:
            return sorted_in_group(x, key, descending)

        self._given = label
        self._ranked = ranked
        given = self.place
        if setup.takes_ranks:
            given = ranked(pl.col(setup.roles.score).cast(pl.Float64))
        retrieved = ranked(score).is_not_null()
        if policies.depth is not None:
            retrieved &= given <= policies.depth
        if policies.drops_after_cut:
            within = retrieved & (ranked(label) >= 0).fill_null(False)
            self._ranked = lambda x: ranked(x).sort_by(within, descending=True, maintain_order=True)
            retrieved = within.sort_by(within, descending=True)
        self._score = pl.when(retrieved).then(self._ranked(score))
        shares = policies.tie_rule.shares and not setup.takes_ranks
        place = self.last_tied(self.place) if shares else given
        self.rank = pl.when(retrieved).then(place)
        self.raw = self._ranked(label)
        if policies.unretrieved == "drop":
            self.raw = pl.when(retrieved).then(self.raw)
        self.label = zero_unless(self.raw > 0, self.raw)
        numbers = [setup.roles.score]
        if labels:
            numbers.append(setup.roles.label)
        self.faults = self._faults(score, label, numbers)

    @staticmethod
    def _refuse_policies(setup: Setup) -> None:
        """Refuse policies that give no one order, or no one value."""
        if setup.policies.tie_rule.averages:
            ties = f"ties={setup.policies.ties!r}"
            says = (
                f"an expression ranks its group in one order; for {ties} write df.rank.on({ties})"
            )
            raise InvalidOption(says)
        if setup.policies.unjudged == "bounds":
            says = "an expression gives one value, not two; write df.rank.on(unjudged='bounds')"
            raise InvalidOption(says)

    def _labels(self, required: bool) -> pl.Expr:
        """The labels; null where the table has none, if they are not required."""
        name = self.setup.roles.label
        if required or self.setup.policies.orders_by_label:
            return pl.col(name).cast(pl.Float64)
        if_there = cs.by_name(name, require_all=False).cast(pl.Float64)
        nothing = pl.when(pl.int_range(pl.len()) < 0).then(0.0)
        return pl.coalesce(if_there, nothing)

    def _scores(self, label: pl.Expr) -> pl.Expr:
        """The scores by which documents are ranked, the greatest being the best."""
        policies = self.setup.policies
        score = pl.col(self.setup.roles.score)
        if policies.scores == "float32":
            score = score.cast(pl.Float32)
        if policies.ascending:  # of any type, unsigned ones too
            score = score.rank("dense", descending=True)
        if policies.drops_first:
            score = pl.when(label >= 0).then(score)
        return score

    def _faults(self, score: pl.Expr, label: pl.Expr, numbers: Sequence[str]) -> list[GroupFault]:
        """The faults of the columns, whose types are not known, with their messages."""
        setup = self.setup
        doc = columns_of(setup)
        none = pl.lit(False)
        scores = cs.by_name(setup.roles.score)
        bad_rows = {
            "NaN score": pl.any_horizontal(none, (scores & cs.float()).is_nan()),
            "label not finite": ~is_finite(label),
            "repeated document": pl.any_horizontal(none, doc.is_duplicated()),
        }
        for kind, (_, rows) in unfit_weights(setup, label).items():
            bad_rows[kind] = rows
        if setup.policies.tie_rule.as_text:
            nested = (doc & cs.nested()).is_not_null()
            bad_rows["nested document"] = pl.any_horizontal(none, nested)
        tied = score.is_duplicated() & score.is_not_null()
        if setup.takes_ranks:
            rank = pl.col(setup.roles.score).cast(pl.Float64)
            bad_rows["no rank"] = ~is_rank(rank)
            bad_rows["shared rank"] = tied
        if setup.policies.tie_rule.refuses:
            bad_rows["forbidden tie"] = tied
        faults = [self._no_numbers(name) for name in numbers]
        for kind, rows in bad_rows.items():
            faults.append((rows.any(), message_of(kind, setup)))
        return faults

    @staticmethod
    def _no_numbers(name: str) -> GroupFault:
        """The fault of a column that holds values of other types than numbers."""
        text = cs.by_name(name) - cs.numeric() - cs.boolean()
        is_text = pl.any_horizontal(pl.lit(False), text.is_not_null())
        says = f"column {name!r} holds no numbers; cast it, as with .cast(pl.Float64)"
        return is_text.any(), says

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
        fields = [x.alias(name) for name, x in columns.items()]
        rows = pl.struct([query.alias("query"), *fields])
        return rows.map_batches(partial(on_rows, function), return_dtype=pl.Float64)

    def each(self, x: pl.Expr) -> pl.Expr:
        return pl.when(pl.int_range(pl.len()) >= 0).then(x)

    def along(self, x: pl.Expr) -> pl.Expr:
        return x

    def next_to(self, x: pl.Expr, step: Literal[1, -1], end: float) -> pl.Expr:
        return x.shift(step, fill_value=end)

    def first_tied(self, x: pl.Expr) -> pl.Expr:
        before = self._score.shift(1)
        starts = self._score.ne_missing(before) | (self.place == 1)
        on_first = pl.when(starts).then(x.cast(pl.Float64))
        return on_first.forward_fill().cast(pl.Float64)  # empty groups lose the type

    def last_tied(self, x: pl.Expr) -> pl.Expr:
        after = self._score.shift(-1)
        ends = self._score.ne_missing(after) | (self.place == pl.len())
        on_last = pl.when(ends).then(x.cast(pl.Float64))
        return on_last.backward_fill().cast(pl.Float64)

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
        label = pl.when(among).then(label)
        level = self._score.rank("dense").fill_null(0)
        n = pl.len().cast(pl.Int64)
        pair = pl.int_range(n * n)
        one = pair // n
        other = pair % n
        unequal = label.gather(one) > label.gather(other)
        higher = level.gather(one)
        lower = level.gather(other)
        counts = (unequal, unequal & (higher == lower), unequal & (higher < lower))
        return PairCounts(*(x.sum().cast(pl.Float64) for x in counts))

    @property
    def largest_label_of_table(self) -> pl.Expr:
        says = "an expression sees one query at a time, not the largest label of the table"
        raise InvalidOption(f"{says}; say it, as rf.expr.err(max_label=4)")

    def refuse(self, bad: pl.Expr, message: str, *, of_label: bool = True) -> None:
        says: str | pl.Expr = message
        if of_label:
            says = naming(message, self.label.filter(bad).max())
        self.faults.append((bad.any(), says))

    def refuse_value(self, bad: pl.Expr, message: str) -> None:
        self.faults.append((bad, message))
