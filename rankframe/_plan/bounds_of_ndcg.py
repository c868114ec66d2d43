"""The judgments of the unjudged documents for which nDCG is least, and for which it is greatest.

DCG and ideal DCG are sums over levels, the intervals between neighbouring gains: a level adds its width times the sum
of the discounts at the ranks of the documents above it; for the ideal, at as many ranks from the top. Of m open
documents above a level, the first m make DCG greatest, and the last m least; so a way to judge is a number of documents
for each level, and nDCG a ratio of two sums over levels.

The value is a linear function of the gains over a convex one, so it is least where each gain is the least or the
greatest: the same number for all levels. The greatest is found by Dinkelbach's method: for a value v, each level gets
the number that maximizes its DCG less v times its ideal DCG; their nDCG is the next v, until it no longer rises.

References: Dinkelbach, On nonlinear fractional programming, Management Science 13, 1967.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from .._catalog.call import Call
from .._table.policies import Policies
from ..metrics.gain import divisor_at

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, Any]

CELLS_OF_ARRAY = 5_000_000
"""The most numbers that an array of a batch of queries holds."""

LARGEST_RANGE = 1000
"""The largest difference of two labels that an unjudged document may have."""


def threshold_of(call: Call, policies: Policies) -> float:
    """The least label that the call counts as relevant."""
    return policies.relevant if call.relevant is None else call.relevant


def gains_of(call: Call, policies: Policies, labels: tuple[int, int]) -> list[float | None]:
    """The gain of each label from the least to the greatest; None for a label missing from the mapping."""
    return [_worth(call, policies, float(label)) for label in range(labels[0], labels[1] + 1)]


def _option(call: Call, name: str) -> Any:
    """The value of an option: the call's, or the formula's default; None if it has no such option."""
    parameter = call.metric.parameters.get(name)
    return call.arguments.get(name, None if parameter is None else parameter.default)


def _worth(call: Call, policies: Policies, label: float) -> float | None:
    gain = _option(call, "gain")
    if label < (_option(call, "min_label") or 0):
        label = 0.0
    if isinstance(gain, Mapping):
        worth: float | None = gain.get(label, None if label > 0 else 0.0)
        return worth
    if gain == "binary":
        return float(label >= threshold_of(call, policies))
    return 2.0**label - 1 if gain == "exponential" else label


def extreme_labels(
    rows: pl.DataFrame, call: Call, policies: Policies, labels: tuple[int, int], just_relevant: int
) -> Iterator[pl.DataFrame]:
    """The rows with the labels that make the call least, then with those that make it greatest."""
    import numpy as np  # imported late, to keep other calls fast

    least, greatest = labels
    # whether the label changes any gain
    counts = pl.col("rank").is_not_null() if _option(call, "ideal") == "retrieved" else pl.lit(True)
    # where `no_relevant` would set the value, at least one document stays relevant
    threshold = threshold_of(call, policies)
    free = policies.no_relevant == "zero" or not least < just_relevant <= greatest
    relevant = (pl.col("open") & ~counts) | (~pl.col("open") & (pl.col("label") >= threshold)).fill_null(False)
    judged = rows.filter(~pl.col("open"))["label"].unique().drop_nulls()
    worths = {label: _worth(call, policies, label) for label in judged if label >= 0}
    worth = pl.col("label").replace_strict(list(worths), list(worths.values()), default=None, return_dtype=pl.Float64)
    rows = rows.with_row_index("row").with_columns(
        worth=pl.when(counts & ~pl.col("open")).then(worth),
        open=pl.col("open") & counts,
        unseen=pl.col("open") & ~counts,
    )
    start = rows.select(pl.when("unseen").then(float(greatest)).otherwise("label")).to_series().to_numpy()
    found = [start.copy(), start.copy()]
    levels = greatest - least
    gains = np.array(gains_of(call, policies, labels), dtype=float)
    for part in _parts(rows, levels, pl.lit(free) | relevant.any()):
        of_part = rows.join(part, on="query")
        q, nth, row = (of_part.filter("open")[name].to_numpy() for name in ("q", "nth", "row"))
        sums = _Sums(of_part, part, call, gains)
        lowest = ~part["has_relevant"].to_numpy()
        u = sums.n_open
        found[0][row] = np.where(nth > (u - sums.worst_number(lowest))[q], greatest, least)
        numbers = sums.best_numbers(lowest, just_relevant - least)
        found[1][row] = least + (numbers[q] >= nth[:, None]).sum(axis=1)
    for label in found:
        yield rows.with_columns(label=pl.Series(label, nan_to_null=True))


def _parts(rows: pl.DataFrame, levels: int, has_relevant: pl.Expr) -> list[pl.DataFrame]:
    """The queries with open documents, in batches of similar size so that arrays need little padding."""
    u, size = pl.col("n_open"), pl.col("size")
    queries = rows.group_by("query", maintain_order=True).agg(
        pl.col("open").sum().cast(pl.Int64).alias("n_open"), pl.len().alias("size"), has_relevant.alias("has_relevant")
    )
    queries = queries.filter(u > 0).with_columns((u + 1).log(2).floor().alias("class"))
    cells = (2 * (u + 1) * (levels + 2) + size).cum_sum().over("class")
    parts = queries.with_columns(part=cells // CELLS_OF_ARRAY).partition_by("class", "part")
    return [part.select("query", "has_relevant", pl.int_range(pl.len()).alias("q")) for part in parts]


class _Sums:
    """DCG and ideal DCG of some queries, as sums over levels, for each number of open documents above a level."""

    def __init__(self, rows: pl.DataFrame, queries: pl.DataFrame, call: Call, gains: Array) -> None:
        import numpy as np

        q, is_open, nth = (rows[name].to_numpy() for name in ("q", "open", "nth"))
        rank, worth = rows["rank"].fill_null(0).to_numpy(), rows["worth"].to_numpy()
        n = len(queries)
        longest = int(np.bincount(q, minlength=n).max())
        ranks = pl.Series(np.arange(1.0, longest + 1))
        discount = 1 / pl.select(divisor_at(pl.lit(ranks), _option(call, "discount") or "log2")).to_series().to_numpy()
        discount[_option(call, "k") or longest :] = 0
        discount = np.concatenate([[0.0], discount])  # rank 0: not retrieved
        discounts = discount.cumsum()

        self.n_open = np.bincount(q[is_open], minlength=n)
        self.numbers = np.arange(self.n_open.max() + 1)
        self.found = np.zeros((n, len(self.numbers)))
        self.found[q[is_open], nth[is_open]] = discount[rank[is_open]]
        self.found = self.found.cumsum(axis=1)  # the discounts of the first m open documents
        self.widths = np.diff(gains)

        judged = ~np.isnan(worth)
        q, rank, worth = q[judged], rank[judged], worth[judged]
        self.dcg = np.bincount(q, discount[rank] * worth, minlength=n) + gains[0] * self.found[:, -1]
        self.best = np.zeros(n)
        self.bests = np.zeros((n, len(self.widths), len(self.numbers)))
        steps = np.unique(np.concatenate([[0.0], worth, gains]))
        at = np.bincount(q * len(steps) + np.searchsorted(steps, worth), minlength=n * len(steps))
        above = at.reshape(n, -1)[:, ::-1].cumsum(axis=1)[:, ::-1]  # judged documents with this gain or more
        for step in range(1, len(steps)):
            width, level = steps[step] - steps[step - 1], int(np.searchsorted(gains, steps[step]))
            if 0 < level < len(gains):
                down_to = np.minimum(above[:, step, None] + self.numbers, longest)
                self.bests[:, level - 1] += width * discounts[down_to]
            else:  # below all gains of open documents, or above them
                self.best += width * discounts[above[:, step] + (self.n_open if level == 0 else 0)]

    def worst_number(self, lowest: Array) -> Array:
        """For the least value, the number of open documents, counted from the last, that get the greatest label."""
        import numpy as np

        others = np.maximum(self.n_open[:, None] - self.numbers, 0)
        last = self.found[:, -1:] - np.take_along_axis(self.found, others, axis=1)
        value = _ratio(self.dcg[:, None] + self.widths.sum() * last, self.best[:, None] + self.bests.sum(axis=1))
        value[(self.numbers > self.n_open[:, None]) | (self.numbers < lowest[:, None])] = np.inf
        worst: Array = value.argmin(axis=1)
        return worst

    def best_numbers(self, lowest: Array, relevant_levels: int) -> Array:
        """For the greatest value, the number of open documents, counted from the first, above each level."""
        import numpy as np

        founds = self.widths[:, None] * self.found[:, None, :]
        numbers = np.repeat(self.n_open[:, None], len(self.widths), axis=1)
        value = self._value(founds, numbers)
        while True:
            worth = founds - value[:, None, None] * self.bests
            worth = np.where(self.numbers <= self.n_open[:, None, None], worth, -np.inf)
            worth[lowest, :relevant_levels, 0] = -np.inf
            found = worth.argmax(axis=2)
            for level in np.flatnonzero(self.widths == 0):  # a label with the same gain as the one below
                found[:, level] = found[:, level - 1] if level else self.n_open
            found = np.minimum.accumulate(found, axis=1)
            found_value = self._value(founds, found)
            better = found_value > value
            if not better.any():
                return numbers
            numbers, value = np.where(better[:, None], found, numbers), np.where(better, found_value, value)

    def _value(self, founds: Array, numbers: Array) -> Array:
        import numpy as np

        at = numbers[:, :, None]
        dcg, best = (np.take_along_axis(x, at, axis=2).sum(axis=(1, 2)) for x in (founds, self.bests))
        return _ratio(self.dcg + dcg, self.best + best)


def _ratio(a: Array, b: Array) -> Array:
    import numpy as np

    value: Array = np.divide(a, b, out=np.zeros(np.broadcast_shapes(a.shape, b.shape)), where=b > 0)
    return value
