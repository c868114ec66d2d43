"""The sums that formulas of a whole table ask for, counted anew for any weights of the users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import polars as pl

from .._catalog.call import Call
from .._table.background import looked_up
from .._words.exposure import Counted, Exposure, Sum
from .._words.pairs import starts_of
from ..errors import InvalidOption
from .catalog_and_past import Past
from .lists import ITEM, RANK

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float64]
    Whole: TypeAlias = npt.NDArray[np.int64]

__all__ = ["Asked", "Recount", "users_of"]

USER, PLACE, LENGTH = "#user", "#place", "#length"


@dataclass(frozen=True)
class Asked:
    """The metrics that are asked for, and what stands beside the lists.

    Attributes
    ----------
    calls
        The metrics.
    size
        The number of items in the catalog, if it is known.
    past
        Whether past interactions are known.
    groups
        The group of each item of the catalog, if they are known.
    """

    calls: tuple[Call, ...]
    size: int | None
    past: bool
    groups: pl.DataFrame | None = None

    def formulas(self, figures: Mapping[str, float] | None = None) -> tuple[list[pl.Expr], Counted]:
        """The values as expressions over the items' sums, and the sums that they ask for; `figures` are those over users."""
        counted = Counted()
        groups = (
            None
            if self.groups is None
            else dict(self.groups["#group"].drop_nulls().value_counts().sort("#group").rows())
        )
        values = [
            call.metric.formula(Exposure(call.text, counted, self.size, self.past, figures, groups), **call.arguments)
            .cast(pl.Float64)
            .alias(call.text)
            for call in self.calls
        ]
        return values, counted

    @property
    def counted(self) -> Counted:
        """The sums that the formulas ask for; raises the error of a formula that lacks something."""
        return self.formulas()[1]


class Rows(NamedTuple):
    """The rows of lists down to a depth, sorted by item.

    Attributes
    ----------
    user
        The user of each row.
    starts, items
        Where the rows of each item start, and the items.
    drawn, product
        Room for the weight of each row, and for a product: arrays that are made anew for each resample take longer than
        the sums.
    """

    user: Whole
    starts: Whole
    items: Whole
    drawn: Floats
    product: Floats


def users_of(lists: pl.DataFrame, query: Sequence[str]) -> pl.DataFrame:
    """The users of lists in the order of their ids, so that draws do not depend on the order of rows."""
    return lists.select(query).unique().sort(query)


class Recount:
    """The lists of some users, ready to be counted with any weights.

    Parameters
    ----------
    lists
        A row per user and item.
    query
        The columns of users.
    users
        The users; a weight is that of the user in the same row.
    counted
        The sums to count.
    past
        What users chose before.
    groups
        The group of each item of the catalog.
    """

    def __init__(
        self,
        lists: pl.DataFrame,
        query: Sequence[str],
        users: pl.DataFrame,
        counted: Counted,
        past: Past | None,
        groups: pl.DataFrame | None,
    ) -> None:
        import numpy as np

        self.n = users.height
        of_users = users.with_row_index(USER)
        depths = {x.k for x in (*counted.items.values(), *counted.users.values()) if not x.by_user}
        shown = pl.col(RANK).is_not_null()
        if None not in depths:
            shown &= pl.col(RANK) <= max((k for k in depths if k is not None), default=0)
        rows = lists.filter(shown).join(of_users, on=query, nulls_equal=True)
        items = rows.select(ITEM).unique().sort(ITEM).with_row_index(PLACE)
        if past is not None:
            items = items.with_columns(past.popularity(items[ITEM]).alias("#popularity"))
            of_users = of_users.with_columns(past.mean_of(of_users).alias("#past"))
        if groups is not None:
            items = items.with_columns(looked_up(items.select(ITEM), groups, [ITEM]).alias("#group"))
        self.items = items
        by_item = pl.col(PLACE).cast(pl.UInt64) * self.n + pl.col(USER)  # one number sorts faster than two columns
        rows = rows.select(USER, ITEM, RANK).join(items, on=ITEM).sort(by_item)
        self.rows: dict[int | None, Rows] = {}
        self.added: dict[str, tuple[int | None, Floats | float]] = {}
        frames: dict[int | None, pl.DataFrame] = {}
        for k in depths:
            down = rows if k is None else rows.filter(pl.col(RANK) <= k)
            user, place = down[USER].to_numpy().astype(np.int64), down[PLACE].to_numpy()
            lengths = np.bincount(user, minlength=self.n).astype(np.uint32)
            frames[k] = down.with_columns(pl.Series(LENGTH, lengths[user]))
            starts = starts_of(place)
            self.rows[k] = Rows(user, starts, place[starts].astype(np.int64), *np.empty((2, len(user))))
        for name, x in counted.items.items():
            column = frames[x.k].with_columns(x.of.cast(pl.Float64).alias("#x"))["#x"].to_numpy()
            constant = column.size and (column == column[0]).all()  # as where all lists have one length
            self.added[name] = x.k, float(column[0]) if constant else column
        self.per_user = self._of_users(counted.users, frames, of_users)

    def _of_users(
        self, sums: Mapping[str, Sum], frames: Mapping[int | None, pl.DataFrame], users: pl.DataFrame
    ) -> dict[str, tuple[Floats, bool]]:
        """The summand of each user, 0 for one without, and whether the weight is squared."""
        summands = {name: x.of.cast(pl.Float64).fill_null(0.0) for name, x in sums.items()}
        found = users.select(USER, **{name: summands[name] for name, x in sums.items() if x.by_user})
        for k, rows in frames.items():
            of_rows = {name: summands[name] for name, x in sums.items() if x.k == k and not x.by_user}
            if of_rows:
                values = rows.group_by(USER).agg(**of_rows)
                found = found.join(values, on=USER, how="left", maintain_order="left")
        return {name: (found[name].fill_null(0.0).to_numpy(), x.squared) for name, x in sums.items()}

    def numbers(self, weights: Floats) -> dict[str, float]:
        """The sums over users."""
        return {name: float((weights**2 if squared else weights) @ x) for name, (x, squared) in self.per_user.items()}

    def table(self, weights: Floats) -> pl.DataFrame:
        """The items that were shown, with their sums."""
        import numpy as np

        counted = {}
        for k, rows in self.rows.items():
            np.take(weights, rows.user, out=rows.drawn, mode="clip")  # without room of its own for numbers out of range
            counted[k] = self._by_item(k, rows.drawn)
        columns = {}
        for name, (k, x) in self.added.items():
            if isinstance(x, float):
                found = counted[k] * x
            else:
                rows = self.rows[k]
                found = self._by_item(k, np.multiply(rows.drawn, x, out=rows.product))
            columns[name] = pl.Series(name, found)
        return self.items.with_columns(**columns)

    def _by_item(self, k: int | None, x: Floats) -> Floats:
        """The sums of rows down to a depth, item by item."""
        import numpy as np

        rows, found = self.rows[k], np.zeros(self.items.height)
        if len(rows.starts):
            found[rows.items] = np.add.reduceat(x, rows.starts)
        return found

    def plain(self, asked: Asked) -> list[float]:
        """The values of the metrics, each user counting once."""
        import numpy as np

        return self.values(asked, np.ones(self.n), check=True)

    def values(self, asked: Asked, weights: Floats, *, check: bool = False) -> list[float]:
        """The values of the metrics, NaN where there is none."""
        return evaluated(asked, self.table(weights), self.numbers(weights), check=check)


def evaluated(asked: Asked, table: pl.DataFrame, numbers: Mapping[str, float], *, check: bool = False) -> list[float]:
    """The values of the metrics from the sums of items and those over users, NaN where there is none.

    With `check`, a formula that gives a value for each item is refused.
    """
    formulas, _ = asked.formulas(numbers)
    if check:
        for call, value in zip(asked.calls, formulas, strict=True):
            if (n := table.select(value).height) != 1:
                raise InvalidOption(
                    f"{call.text} gives {n} values, one for each item; a catalog metric gives one, as of x.sum()"
                )
    return [float("nan") if x is None else x for x in table.select(formulas).row(0)]
