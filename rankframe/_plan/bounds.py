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
    least, greatest = labels
    every = range(least, greatest + 1)
    return [_worth(call, policies, float(label)) for label in every]


def _option(call: Call, name: str) -> Any:
    """The value of an option: the call's, or the formula's default; None if it has no such
    option.
    """
    parameter = call.metric.parameters.get(name)
    default = None if parameter is None else parameter.default
    return call.arguments.get(name, default)


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
    counts = _changes_gain(call)
    is_open = pl.col("open")
    is_relevant = pl.col("label") >= threshold_of(call, policies)
    judged_relevant = (~is_open & is_relevant).fill_null(False)
    # where `no_relevant` would set the value, at least one document stays relevant
    is_free = policies.no_relevant == "zero" or not least < just_relevant <= greatest
    has_relevant = pl.lit(is_free) | ((is_open & ~counts) | judged_relevant).any()
    rows = _with_worths(rows, call, policies)
    first_labels = pl.when("unseen").then(float(greatest)).otherwise("label")
    for_least = rows.select(first_labels).to_series().to_numpy().copy()
    for_greatest = for_least.copy()
    gains = np.array(gains_of(call, policies, labels), dtype=float)
    for part in _parts(rows, greatest - least, has_relevant):
        of_part = rows.join(part, on="query")
        of_open = of_part.filter("open")
        q = of_open["q"].to_numpy()
        nth = of_open["nth"].to_numpy()
        row = of_open["row"].to_numpy()
        sums = _Sums(of_part, part, call, gains)
        lowest = ~part["has_relevant"].to_numpy()
        n_others = sums.n_open - sums.worst_number(lowest)
        for_least[row] = np.where(nth > n_others[q], greatest, least)
        numbers = sums.best_numbers(lowest, just_relevant - least)
        is_above = numbers[q] >= nth[:, None]
        for_greatest[row] = least + is_above.sum(axis=1)
    for label in (for_least, for_greatest):
        yield rows.with_columns(label=pl.Series(label, nan_to_null=True))


def _changes_gain(call: Call) -> pl.Expr:
    """Whether a document's label changes any gain that the call adds up."""
    if _option(call, "ideal") == "retrieved":
        return pl.col("rank").is_not_null()
    return pl.lit(True)


def _with_worths(rows: pl.DataFrame, call: Call, policies: Policies) -> pl.DataFrame:
    """The rows with their number, the gain of judged documents, and which open ones count."""
    counts = _changes_gain(call)
    is_open = pl.col("open")
    judged = rows.filter(~is_open)["label"].unique().drop_nulls()
    labels = [label for label in judged if label >= 0]
    worths = [_worth(call, policies, label) for label in labels]
    worth = pl.col("label").replace_strict(labels, worths, default=None, return_dtype=pl.Float64)
    columns = {
        "worth": pl.when(counts & ~is_open).then(worth),
        "open": is_open & counts,
        "unseen": is_open & ~counts,
    }
    return rows.with_row_index("row").with_columns(**columns)


def _parts(rows: pl.DataFrame, levels: int, has_relevant: pl.Expr) -> list[pl.DataFrame]:
    """The queries with open documents, in batches of similar size.

    Arrays of queries of similar size need little padding. A batch ends where its arrays would have
    more than `CELLS_OF_ARRAY` cells.
    """
    u = pl.col("n_open")
    n_open = pl.col("open").sum().cast(pl.Int64).alias("n_open")
    figures = (n_open, pl.len().alias("size"), has_relevant.alias("has_relevant"))
    queries = rows.group_by("query", maintain_order=True).agg(figures)
    size_class = (u + 1).log(2).floor().alias("class")
    queries = queries.filter(u > 0).with_columns(size_class)
    cells = 2 * (u + 1) * (levels + 2) + pl.col("size")
    part_of_class = cells.cum_sum().over("class") // CELLS_OF_ARRAY
    parts = queries.with_columns(part=part_of_class).partition_by("class", "part")
    number = pl.int_range(pl.len()).alias("q")
    return [part.select("query", "has_relevant", number) for part in parts]


class _Sums:
    """DCG and ideal DCG of some queries, as sums over levels, for each number of open documents
    above a level.
    """

    def __init__(self, rows: pl.DataFrame, queries: pl.DataFrame, call: Call, gains: Cells) -> None:
        n = len(queries)
        q = rows["q"].to_numpy()
        nth = rows["nth"].to_numpy()
        rank = rows["rank"].fill_null(0).to_numpy()
        worth = rows["worth"].to_numpy()
        longest = int(np.bincount(q, minlength=n).max())
        discount = _discount(call, longest)

        is_open = rows["open"].to_numpy()
        self.n_open = np.bincount(q[is_open], minlength=n)
        self.numbers = np.arange(self.n_open.max() + 1)
        of_nth = np.zeros((n, len(self.numbers)))
        of_nth[q[is_open], nth[is_open]] = discount[rank[is_open]]
        # the discounts of the first m open documents
        self.of_first = of_nth.cumsum(axis=1)
        self.widths = np.diff(gains)

        is_judged = ~np.isnan(worth)
        q = q[is_judged]
        rank = rank[is_judged]
        worth = worth[is_judged]
        of_judged = np.bincount(q, discount[rank] * worth, minlength=n)
        self.dcg = of_judged + gains[0] * self.of_first[:, -1]
        self._sum_ideal(q, worth, gains, discount.cumsum())

    def _sum_ideal(self, q: Cells, worth: Cells, gains: Cells, discounts: Cells) -> None:
        """Add up the ideal DCG level by level, from the judged documents' queries and gains.

        `discounts` has the sum of the discounts down to each rank.
        """
        n = len(self.n_open)
        longest = len(discounts) - 1
        self.best = np.zeros(n)
        self.bests = np.zeros((n, len(self.widths), len(self.numbers)))
        steps = np.unique(np.concatenate([[0.0], worth, gains]))
        cell = q * len(steps) + np.searchsorted(steps, worth)
        at = np.bincount(cell, minlength=n * len(steps)).reshape(n, -1)
        # judged documents with this gain or more
        above = at[:, ::-1].cumsum(axis=1)[:, ::-1]
        for step in range(1, len(steps)):
            width = steps[step] - steps[step - 1]
            level = int(np.searchsorted(gains, steps[step]))
            n_above = above[:, step]
            if 0 < level < len(gains):
                down_to = np.minimum(n_above[:, None] + self.numbers, longest)
                self.bests[:, level - 1] += width * discounts[down_to]
            elif level == 0:  # below all gains of open documents
                self.best += width * discounts[n_above + self.n_open]
            else:  # above them
                self.best += width * discounts[n_above]

    def worst_number(self, lowest: Cells) -> Cells:
        """For the least value, the number of open documents, counted from the last, that get the
        greatest label.
        """
        n_open = self.n_open[:, None]
        others = np.maximum(n_open - self.numbers, 0)
        of_others = np.take_along_axis(self.of_first, others, axis=1)
        of_last = self.of_first[:, -1:] - of_others
        dcg = self.dcg[:, None] + self.widths.sum() * of_last
        ideal = self.best[:, None] + self.bests.sum(axis=1)
        value = _ratio(dcg, ideal)
        is_impossible = (self.numbers > n_open) | (self.numbers < lowest[:, None])
        value[is_impossible] = np.inf
        worst: Cells = value.argmin(axis=1)
        return worst

    def best_numbers(self, lowest: Cells, relevant_levels: int) -> Cells:
        """For the greatest value, the number of open documents, counted from the first, above each
        level.
        """
        dcgs = self.widths[:, None] * self.of_first[:, None, :]
        numbers = np.repeat(self.n_open[:, None], len(self.widths), axis=1)
        value = self._value(dcgs, numbers)
        is_possible = self.numbers <= self.n_open[:, None, None]
        same_gain = np.flatnonzero(self.widths == 0)  # labels with the gain of the one below
        while True:
            worth = dcgs - value[:, None, None] * self.bests
            worth = np.where(is_possible, worth, -np.inf)
            worth[lowest, :relevant_levels, 0] = -np.inf
            others = worth.argmax(axis=2)
            for level in same_gain:
                others[:, level] = others[:, level - 1] if level else self.n_open
            others = np.minimum.accumulate(others, axis=1)
            value_of_others = self._value(dcgs, others)
            is_better = value_of_others > value
            if not is_better.any():
                return numbers
            numbers = np.where(is_better[:, None], others, numbers)
            value = np.where(is_better, value_of_others, value)

    def _value(self, dcgs: Cells, numbers: Cells) -> Cells:
        at = numbers[:, :, None]
        dcg = np.take_along_axis(dcgs, at, axis=2).sum(axis=(1, 2))
        ideal = np.take_along_axis(self.bests, at, axis=2).sum(axis=(1, 2))
        return _ratio(self.dcg + dcg, self.best + ideal)


def _ratio(a: Cells, b: Cells) -> Cells:
    zeros = np.zeros(np.broadcast_shapes(a.shape, b.shape))
    value: Cells = np.divide(a, b, out=zeros, where=b > 0)
    return value


def _discount(call: Call, longest: int) -> Cells:
    """The discount at each rank down to the longest ranking; 0 at rank 0, of no retrieval."""
    ranks = pl.Series(np.arange(1.0, longest + 1))
    divisor = divisor_at(pl.lit(ranks), _option(call, "discount") or "log2")
    discount = 1 / pl.select(divisor).to_series().to_numpy()
    depth = _option(call, "k") or longest
    discount[depth:] = 0
    return np.concatenate([[0.0], discount])


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
    labels = _range(frame, table, largest_label)
    for call in calls:
        _refuse(call, setup, labels)
    settled = setup.changed(unjudged="nonrelevant")
    if setup.roles.score == setup.roles.label:  # the labels will change
        settled = settled.changed(score=fresh("#score", table.schema))
        score = pl.col(setup.roles.score).alias(settled.roles.score)
        frame = frame.with_columns(score)

    def all_at(label: int, of: Sequence[Call]) -> pl.DataFrame:
        """The values if all unjudged documents get one label; errors in the data name the caller's
        columns.
        """
        judged = pl.when(_unjudged(table)).then(float(label)).otherwise(table.label)
        relabelled = frame.with_columns(judged.alias(setup.roles.label))
        return measure(relabelled, settled, *of)

    ways = _calls_by_way(calls, setup, labels)
    measured = [all_at(label, of) for (which, label), of in ways.items() if which == "all"]
    query = setup.roles.query
    queries = measured[0].select(*query, cs.by_name(ROW, require_all=False))
    values = [x.drop(*query, ROW, strict=False).with_row_index("query") for x in measured]
    last = {label: of for (which, label), of in ways.items() if which == "last"}
    if last or any(_follows(call) in ("threshold", "gain") for call in calls):
        # the rows of `_ranked` have the greatest score first, and no further columns
        policies = replace(settled.policies, ties="doc_asc", ascending=False)
        in_order = Setup(Roles(("query",), "place"), policies)
        values += _in_order(_ranked(frame, table), calls, last, in_order, labels, measure)
    both = _extremes(values, calls, ["query"]).sort("query").drop("query")
    return queries.hstack(both)


def _calls_by_way(
    calls: Sequence[Call], setup: Setup, labels: tuple[int, int]
) -> dict[Way, list[Call]]:
    """The calls to measure under each way that is the same for all queries."""
    least, greatest = labels
    ways: dict[Way, list[Call]] = {("all", least): list(calls)}
    for call in calls:
        for way in _ways(call, setup, least, greatest):
            ways.setdefault(way, []).append(call)
    return ways


def _in_order(
    ranked: pl.DataFrame,
    calls: Sequence[Call],
    last: Mapping[int, Sequence[Call]],
    setup: Setup,
    labels: tuple[int, int],
    measure: MeasureRows,
) -> Iterator[pl.DataFrame]:
    """The values under the ways that judge by the place of a document; `last` has the calls to
    measure with a label for the last one.
    """
    least, _ = labels
    for label, of in last.items():
        yield measure(_last_at(ranked, label, least), setup, *of)
    by_number = [call for call in calls if _follows(call) == "threshold"]
    yield from _by_number(ranked, by_number, setup, labels, measure)
    for call in calls:
        if _follows(call) == "gain":
            just = _just_relevant(call, setup, least)
            for rows in extreme_labels(ranked, call, setup.policies, labels, just):
                yield measure(rows, setup, call)


def _extremes(
    tables: Sequence[pl.DataFrame], calls: Sequence[Call], key: Sequence[str]
) -> pl.DataFrame:
    """The least and the greatest value of each call and query, over the values that are not
    null.
    """
    both = [end for call in calls for end in _least_and_greatest(call)]
    return pl.concat(tables, how="diagonal").group_by(key).agg(both)


def _least_and_greatest(call: Call) -> tuple[pl.Expr, pl.Expr]:
    least, greatest = bounds_of(call)
    value = pl.col(call.text)
    return value.min().alias(least), value.max().alias(greatest)


def _unjudged(table: Columns) -> pl.Expr:
    """Whether the document is unjudged; a label that is NaN or infinite stays in the table, an
    error.
    """
    label = table.label
    is_negative = label.is_finite() & (label < 0)
    return label.is_null() | is_negative


def _range(frame: pl.DataFrame, table: Columns, largest: float | None) -> tuple[int, int]:
    """The least and the greatest label that judging may give an unjudged document."""
    if table.setup.policies.unjudged_labels is not None:
        return table.setup.policies.unjudged_labels
    if largest is None:
        label = table.label
        largest = frame.select(label.filter(is_finite(label)).max()).item()
    just_relevant = math.ceil(table.setup.policies.relevant)
    return 0, max(math.floor(largest or 0), just_relevant, 0)


def _refuse(call: Call, setup: Setup, labels: tuple[int, int]) -> None:
    """Refuse a call whose bounds are not known."""
    least, greatest = labels
    reason: Text = _why_unknown(call, setup, labels)
    if call.judging == "gain" and greatest - least > LARGEST_RANGE:
        reason = (
            f"from {least} to {greatest} there are too many labels; say fewer: ",
            on(unjudged_labels=(0, 4)),
        )
    if reason:
        raise InvalidOption(f"no bounds are known for {call.text!r}: ", reason)


def _why_unknown(call: Call, setup: Setup, labels: tuple[int, int]) -> str:
    """Why the bounds of a call are not known; an empty text if they are."""
    options = call.arguments
    if call.judging is None:
        has_scale = "max_label" in call.metric.parameters
        if has_scale and not isinstance(options.get("max_label"), (int, float)):
            top = "the top of its label scale would depend on the judgments"
            return f"{top}; where max_label is a number, err has bounds"
        return "its value follows the judgments in no way that is known"
    if call.expressions:
        return "its gain is an expression of the table's columns, whatever the label"
    if callable(options.get("discount")):
        return "nothing is known of a discount of your own; name one, as discount='log2'"
    if not isinstance(options.get("gain"), Mapping):
        return ""
    least, greatest = labels
    gains = gains_of(call, setup.policies, labels)
    known = [gain for gain in gains if gain is not None]
    if len(known) < len(gains):
        missing = least + gains.index(None)
        return (
            f"an unjudged document may turn out to have label {missing}, which its gain leaves out"
        )
    if any(a > b for a, b in itertools.pairwise(known)):
        return f"its gain does not rise with the label, from {least} to {greatest}"
    return ""


def _just_relevant(call: Call, setup: Setup, least: int) -> int:
    """The least label that makes an unjudged document relevant."""
    threshold = threshold_of(call, setup.policies)
    return max(least, math.ceil(threshold))


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
        for label in range(least + 1, greatest + 1):
            ways.append(("all", label))
            ways.append(("last", label))
    just = _just_relevant(call, setup, least)
    if setup.policies.no_relevant != "zero" and just <= greatest:
        ways.append(("last", just))
    return list(dict.fromkeys(ways))


def _ranked(frame: pl.DataFrame, table: Columns) -> pl.DataFrame:
    """The rows in rank order, with their place and rank, and their number among the open documents,
    which judging may change.
    """
    ranking = in_rank_order(frame, table).rows()
    judgments = frame.select(label=table.label, open=_unjudged(table))
    places = ranking.select(query="#query", place="#position", score="#score")
    rows = places.hstack(judgments[ranking["#row"]])
    policies = table.setup.policies
    is_ranked = pl.col("score").is_not_null()
    if policies.depth is not None:
        is_ranked &= pl.col("place") <= policies.depth
    rows = rows.with_columns(rank=pl.when(is_ranked).then("place"))
    if policies.unretrieved == "drop":
        label = pl.when(is_ranked).then("label")
        rows = rows.with_columns(label=label, open=pl.col("open") & is_ranked)
    count = pl.col("open").cast(pl.Int64)
    nth = count.cum_sum().over("query")
    n_open = count.sum().over("query")
    return rows.with_columns(nth=nth, n_open=n_open)


def _last_at(rows: pl.DataFrame, label: int, least: int) -> pl.DataFrame:
    """The rows with `label` for the last open document, and the least label for the others."""
    is_last = pl.col("nth") == pl.col("n_open")
    return _with_labels(rows, is_last, label, least)


def _with_labels(rows: pl.DataFrame, at: pl.Expr, label: int, otherwise: int) -> pl.DataFrame:
    judged = pl.when(at).then(float(label)).otherwise(float(otherwise))
    of_open = pl.when("open").then(judged).otherwise("label")
    return rows.with_columns(label=of_open)


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
    least, greatest = labels
    by_query = rows.group_by("query", maintain_order=True)
    sizes = by_query.agg(pl.len().cast(pl.Int64), pl.col("n_open").first())
    n = pl.col("n_open")
    m = pl.col("m")
    # m > 0: the first m; m < 0: the last -m
    numbers = sizes.filter(n > 0).with_columns(m=pl.int_ranges(1 - n, n + 1))
    part_of_numbers = pl.col("len").cum_sum() // ROWS_AT_ONCE
    numbers = exploded(numbers, "m").with_columns(part=part_of_numbers)
    nth = pl.col("nth")
    is_relevant = pl.when(m > 0).then(nth <= m).otherwise(nth > n + m)
    by_way = setup.changed(query=("query", "m"))
    ways = numbers.select("query", "m", "part")
    for part in ways.partition_by("part", include_key=False):
        repeated = rows.join(part, on="query")
        judged = _with_labels(repeated, is_relevant, greatest, least)
        values = measure(judged, by_way, *calls).drop("m").group_by("query")
        yield values.min()
        yield values.max()
