"""Bounds of a metric: the least and the greatest value that judging the unjudged documents could
give.

Each bound is attained by one of a few ways to judge them. A way is a column of labels; the plain
metrics are measured under each way, and the least and the greatest of a query's values are its
bounds.

- A metric that moves in one direction when a label rises ("monotone"): all at the least label; all
  at the greatest.
- A metric of binary relevance ("threshold"): with m relevant documents, the first m in rank order
  give one extreme and the last m the other; so these two, for every m. The average relevance
  position uses gains, and the same ways serve: a ratio of two sums over documents is extreme where
  each gain is the least or the greatest.
- nDCG ("gain"): `bounds_of_ndcg` finds one way for each bound.

Where `no_relevant` sets the value of a query without relevant documents, the bound may come from a
way with one: the worst of these makes the last document in rank order just relevant and gives the
others the least label.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import polars as pl
from polars import selectors as cs

from .._catalog.call import Call
from .._support.floats import np
from .._support.polars_versions import exploded
from .._table.columns import Columns, fresh, is_finite
from .._table.policies import Policies
from .._table.roles import ROW
from .._table.setup import Roles, Setup
from ..errors import InvalidOption, Text, on
from ..metrics.gain import divisor_at
from .rank_order import in_rank_order

Cells: TypeAlias = "np.ndarray[Any, Any]"

CELLS_OF_ARRAY = 5_000_000
"""The most numbers that an array of a batch of queries holds."""

LARGEST_RANGE = 1000
"""The largest difference of two labels that an unjudged document may have."""


def threshold_of(call: Call, policies: Policies) -> float:
    """The least label that the call counts as relevant."""
    return policies.relevant if call.relevant is None else call.relevant


def gains_of(call: Call, policies: Policies, labels: tuple[int, int]) -> list[float | None]:
    """The gain of each label from the least to the greatest; None for a label missing from the
    mapping.
    """
    return [_worth(call, policies, float(label)) for label in range(labels[0], labels[1] + 1)]


def _option(call: Call, name: str) -> Any:
    """The value of an option: the call's, or the formula's default; None if it has no such
    option.
    """
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
    least, greatest = labels
    # whether the label changes any gain
    counts = pl.col("rank").is_not_null() if _option(call, "ideal") == "retrieved" else pl.lit(True)
    # where `no_relevant` would set the value, at least one document stays relevant
    threshold = threshold_of(call, policies)
    free = policies.no_relevant == "zero" or not least < just_relevant <= greatest
    relevant = (pl.col("open") & ~counts) | (
        ~pl.col("open") & (pl.col("label") >= threshold)
    ).fill_null(False)
    judged = rows.filter(~pl.col("open"))["label"].unique().drop_nulls()
    worths = {label: _worth(call, policies, label) for label in judged if label >= 0}
    worth = pl.col("label").replace_strict(
        list(worths), list(worths.values()), default=None, return_dtype=pl.Float64
    )
    opened = pl.col("open")
    columns = {
        "worth": pl.when(counts & ~opened).then(worth),
        "open": opened & counts,
        "unseen": opened & ~counts,
    }
    rows = rows.with_row_index("row").with_columns(**columns)
    start = (
        rows.select(pl.when("unseen").then(float(greatest)).otherwise("label"))
        .to_series()
        .to_numpy()
    )
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
    """The queries with open documents, in batches of similar size so that arrays need little
    padding.
    """
    u, size = pl.col("n_open"), pl.col("size")
    queries = rows.group_by("query", maintain_order=True).agg(
        pl.col("open").sum().cast(pl.Int64).alias("n_open"),
        pl.len().alias("size"),
        has_relevant.alias("has_relevant"),
    )
    queries = queries.filter(u > 0).with_columns((u + 1).log(2).floor().alias("class"))
    cells = (2 * (u + 1) * (levels + 2) + size).cum_sum().over("class")
    parts = queries.with_columns(part=cells // CELLS_OF_ARRAY).partition_by("class", "part")
    return [
        part.select("query", "has_relevant", pl.int_range(pl.len()).alias("q")) for part in parts
    ]


class _Sums:
    """DCG and ideal DCG of some queries, as sums over levels, for each number of open documents
    above a level.
    """

    def __init__(self, rows: pl.DataFrame, queries: pl.DataFrame, call: Call, gains: Cells) -> None:
        q, is_open, nth = (rows[name].to_numpy() for name in ("q", "open", "nth"))
        rank, worth = rows["rank"].fill_null(0).to_numpy(), rows["worth"].to_numpy()
        n = len(queries)
        longest = int(np.bincount(q, minlength=n).max())
        ranks = pl.Series(np.arange(1.0, longest + 1))
        discount = (
            1
            / pl.select(divisor_at(pl.lit(ranks), _option(call, "discount") or "log2"))
            .to_series()
            .to_numpy()
        )
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
        self.dcg = (
            np.bincount(q, discount[rank] * worth, minlength=n) + gains[0] * self.found[:, -1]
        )
        self.best = np.zeros(n)
        self.bests = np.zeros((n, len(self.widths), len(self.numbers)))
        steps = np.unique(np.concatenate([[0.0], worth, gains]))
        at = np.bincount(q * len(steps) + np.searchsorted(steps, worth), minlength=n * len(steps))
        above = at.reshape(n, -1)[:, ::-1].cumsum(axis=1)[
            :, ::-1
        ]  # judged documents with this gain or more
        for step in range(1, len(steps)):
            width, level = steps[step] - steps[step - 1], int(np.searchsorted(gains, steps[step]))
            if 0 < level < len(gains):
                down_to = np.minimum(above[:, step, None] + self.numbers, longest)
                self.bests[:, level - 1] += width * discounts[down_to]
            else:  # below all gains of open documents, or above them
                self.best += width * discounts[above[:, step] + (self.n_open if level == 0 else 0)]

    def worst_number(self, lowest: Cells) -> Cells:
        """For the least value, the number of open documents, counted from the last, that get the
        greatest label.
        """
        others = np.maximum(self.n_open[:, None] - self.numbers, 0)
        last = self.found[:, -1:] - np.take_along_axis(self.found, others, axis=1)
        value = _ratio(
            self.dcg[:, None] + self.widths.sum() * last,
            self.best[:, None] + self.bests.sum(axis=1),
        )
        value[(self.numbers > self.n_open[:, None]) | (self.numbers < lowest[:, None])] = np.inf
        worst: Cells = value.argmin(axis=1)
        return worst

    def best_numbers(self, lowest: Cells, relevant_levels: int) -> Cells:
        """For the greatest value, the number of open documents, counted from the first, above each
        level.
        """
        founds = self.widths[:, None] * self.found[:, None, :]
        numbers = np.repeat(self.n_open[:, None], len(self.widths), axis=1)
        value = self._value(founds, numbers)
        while True:
            worth = founds - value[:, None, None] * self.bests
            worth = np.where(self.numbers <= self.n_open[:, None, None], worth, -np.inf)
            worth[lowest, :relevant_levels, 0] = -np.inf
            found = worth.argmax(axis=2)
            for level in np.flatnonzero(
                self.widths == 0
            ):  # a label with the same gain as the one below
                found[:, level] = found[:, level - 1] if level else self.n_open
            found = np.minimum.accumulate(found, axis=1)
            found_value = self._value(founds, found)
            better = found_value > value
            if not better.any():
                return numbers
            numbers, value = (
                np.where(better[:, None], found, numbers),
                np.where(better, found_value, value),
            )

    def _value(self, founds: Cells, numbers: Cells) -> Cells:
        at = numbers[:, :, None]
        dcg, best = (
            np.take_along_axis(x, at, axis=2).sum(axis=(1, 2)) for x in (founds, self.bests)
        )
        return _ratio(self.dcg + dcg, self.best + best)


def _ratio(a: Cells, b: Cells) -> Cells:
    value: Cells = np.divide(a, b, out=np.zeros(np.broadcast_shapes(a.shape, b.shape)), where=b > 0)
    return value


MeasureRows: TypeAlias = Callable[..., pl.DataFrame]
Way: TypeAlias = tuple[str, int]

ROWS_AT_ONCE = 5_000_000
"""The most rows, copies of a table with other labels, that are measured at once."""


def bounds_of(call: Call) -> tuple[str, str]:
    """The names of the two columns of a call."""
    return f"{call.text} least", f"{call.text} greatest"


def bounds(
    frame: pl.DataFrame,
    setup: Setup,
    calls: Sequence[Call],
    measure: MeasureRows,
    largest_label: float | None,
) -> pl.DataFrame:
    """One row per query: the query columns, and the least and the greatest value of each call."""
    table = Columns.of(setup, frame.collect_schema())
    least, greatest = labels = _range(frame, table, largest_label)
    for call in calls:
        _refuse(call, setup, labels)
    settled = setup.changed(unjudged="nonrelevant")
    if setup.roles.score == setup.roles.label:  # the labels will change
        settled = settled.changed(score=fresh("#score", table.schema))
        frame = frame.with_columns(pl.col(setup.roles.score).alias(settled.roles.score))

    def all_at(label: int, of: Sequence[Call]) -> pl.DataFrame:
        """The values if all unjudged documents get one label; errors in the data name the caller's
        columns.
        """
        judged = pl.when(_unjudged(table)).then(float(label)).otherwise(table.label)
        return measure(frame.with_columns(judged.alias(setup.roles.label)), settled, *of)

    ways: dict[Way, list[Call]] = {("all", least): list(calls)}
    for call in calls:
        for way in _ways(call, setup, least, greatest):
            ways.setdefault(way, []).append(call)
    found = [all_at(label, of) for (which, label), of in ways.items() if which == "all"]
    last = {label: of for (which, label), of in ways.items() if which == "last"}
    # the rows of `_ranked` have the greatest score first, and no further columns
    in_order = Setup(
        Roles(("query",), "place"), replace(settled.policies, ties="doc_asc", ascending=False)
    )
    queries = found[0].select(*setup.roles.query, cs.by_name(ROW, require_all=False))
    found = [
        values.drop(*setup.roles.query, ROW, strict=False).with_row_index("query")
        for values in found
    ]
    by_number, extreme = ([c for c in calls if _follows(c) == how] for how in ("threshold", "gain"))
    if last or by_number or extreme:
        ranked = _ranked(frame, table)
        found += [
            measure(_last_at(ranked, label, least), in_order, *of) for label, of in last.items()
        ]
        found += _by_number(ranked, by_number, in_order, labels, measure)
        for call in extreme:
            judged = extreme_labels(
                ranked, call, setup.policies, labels, _just_relevant(call, setup, least)
            )
            found += [measure(rows, in_order, call) for rows in judged]
    both = _extremes(found, calls, ["query"]).sort("query").drop("query")
    return queries.hstack(both)


def _extremes(
    found: Sequence[pl.DataFrame], calls: Sequence[Call], key: Sequence[str]
) -> pl.DataFrame:
    """The least and the greatest value of each call and query, over the values that are not
    null.
    """
    values = [x for call in calls for x in _least_and_greatest(call)]
    return pl.concat(found, how="diagonal").group_by(key).agg(values)


def _least_and_greatest(call: Call) -> tuple[pl.Expr, pl.Expr]:
    least, greatest = bounds_of(call)
    return pl.col(call.text).min().alias(least), pl.col(call.text).max().alias(greatest)


def _unjudged(table: Columns) -> pl.Expr:
    """Whether the document is unjudged; a label that is NaN or infinite stays in the table, an
    error.
    """
    return table.label.is_null() | (table.label.is_finite() & (table.label < 0))


def _range(frame: pl.DataFrame, table: Columns, largest: float | None) -> tuple[int, int]:
    """The least and the greatest label that judging may give an unjudged document."""
    if table.setup.policies.unjudged_labels is not None:
        return table.setup.policies.unjudged_labels
    if largest is None:
        largest = frame.select(table.label.filter(is_finite(table.label)).max()).item()
    return 0, max(math.floor(largest or 0), math.ceil(table.setup.policies.relevant), 0)


def _refuse(call: Call, setup: Setup, labels: tuple[int, int]) -> None:
    """Refuse a call whose bounds are not known."""
    judging, options = call.judging, call.arguments
    reason: Text = ""
    if judging is None:
        reason = "its value follows the judgments in no way that is known"
        if "max_label" in call.metric.parameters and not isinstance(
            options.get("max_label"), (int, float)
        ):
            top = "the top of its label scale would depend on the judgments"
            reason = f"{top}; where max_label is a number, err has bounds"
    elif call.expressions:
        reason = "its gain is an expression of the table's columns, whatever the label"
    elif callable(options.get("discount")):
        reason = "nothing is known of a discount of your own; name one, as discount='log2'"
    elif isinstance(options.get("gain"), Mapping):
        gains = gains_of(call, setup.policies, labels)
        known = [gain for gain in gains if gain is not None]
        if len(known) < len(gains):
            missing = labels[0] + gains.index(None)
            reason = (
                f"an unjudged document may turn out to have label {missing}, which its gain "
                "leaves out"
            )
        elif any(a > b for a, b in itertools.pairwise(known)):
            reason = f"its gain does not rise with the label, from {labels[0]} to {labels[1]}"
    if judging == "gain" and labels[1] - labels[0] > LARGEST_RANGE:
        reason = (
            f"from {labels[0]} to {labels[1]} there are too many labels; say fewer: ",
            on(unjudged_labels=(0, 4)),
        )
    if reason:
        raise InvalidOption(f"no bounds are known for {call.text!r}: ", reason)


def _just_relevant(call: Call, setup: Setup, least: int) -> int:
    """The least label that makes an unjudged document relevant."""
    return max(least, math.ceil(threshold_of(call, setup.policies)))


def _follows(call: Call) -> str | None:
    """How the value reacts to judgments: as declared, but with a perfect ideal the largest gain
    alone decides.
    """
    perfect = call.judging == "gain" and call.arguments.get("ideal") == "perfect"
    return "largest gain" if perfect else call.judging


def _ways(call: Call, setup: Setup, least: int, greatest: int) -> list[Way]:
    """The ways to judge that are the same for all queries: one label for all documents, or for the
    last one only.
    """
    ways: list[Way] = []
    if _follows(call) == "monotone":
        ways.append(("all", greatest))
    elif _follows(call) == "largest gain":
        ways += [
            (which, label) for label in range(least + 1, greatest + 1) for which in ("all", "last")
        ]
    just = _just_relevant(call, setup, least)
    if setup.policies.no_relevant != "zero" and just <= greatest:
        ways.append(("last", just))
    return list(dict.fromkeys(ways))


def _ranked(frame: pl.DataFrame, table: Columns) -> pl.DataFrame:
    """The rows in rank order, with their place and rank, and their number among the open documents,
    which judging may change.
    """
    rows = in_rank_order(frame, table).rows()
    columns = frame.select(label=table.label, open=_unjudged(table))[rows["#row"]]
    rows = rows.select(query="#query", place="#position", score="#score").hstack(columns)
    ranked, depth = pl.col("score").is_not_null(), table.setup.policies.depth
    if depth is not None:
        ranked &= pl.col("place") <= depth
    rows = rows.with_columns(rank=pl.when(ranked).then("place"))
    if table.setup.policies.unretrieved == "drop":
        rows = rows.with_columns(label=pl.when(ranked).then("label"), open=pl.col("open") & ranked)
    count = pl.col("open").cast(pl.Int64)
    return rows.with_columns(nth=count.cum_sum().over("query"), n_open=count.sum().over("query"))


def _last_at(rows: pl.DataFrame, label: int, least: int) -> pl.DataFrame:
    """The rows with `label` for the last open document, and the least label for the others."""
    return _with_labels(rows, pl.col("nth") == pl.col("n_open"), label, least)


def _with_labels(rows: pl.DataFrame, at: pl.Expr, label: int, otherwise: int) -> pl.DataFrame:
    judged = pl.when(at).then(float(label)).otherwise(float(otherwise))
    return rows.with_columns(label=pl.when("open").then(judged).otherwise("label"))


def _by_number(
    rows: pl.DataFrame,
    calls: Sequence[Call],
    setup: Setup,
    labels: tuple[int, int],
    measure: MeasureRows,
) -> Iterator[pl.DataFrame]:
    """The least and the greatest value over every m, with the first m or the last m open documents
    relevant.
    """
    if not calls:
        return
    sizes = rows.group_by("query", maintain_order=True).agg(
        pl.len().cast(pl.Int64), pl.col("n_open").first()
    )
    # m > 0: the first m; m < 0: the last -m
    n = pl.col("n_open")
    numbers = sizes.filter(n > 0).with_columns(m=pl.int_ranges(1 - n, n + 1))
    numbers = exploded(numbers, "m").with_columns(part=pl.col("len").cum_sum() // ROWS_AT_ONCE)
    first, last = pl.col("nth") <= pl.col("m"), pl.col("nth") > pl.col("n_open") + pl.col("m")
    relevant = pl.when(pl.col("m") > 0).then(first).otherwise(last)
    setup = setup.changed(query=("query", "m"))
    for part in numbers.select("query", "m", "part").partition_by("part", include_key=False):
        repeated = _with_labels(rows.join(part, on="query"), relevant, labels[1], labels[0])
        values = measure(repeated, setup, *calls).drop("m").group_by("query")
        yield from (values.min(), values.max())
