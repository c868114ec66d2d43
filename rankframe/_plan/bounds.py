"""Bounds of a metric: the least and the greatest value that judging the unjudged documents could give.

Each bound is attained by one of a few ways to judge them. A way is a column of labels; the plain metrics are measured
under each way, and the least and the greatest of a query's values are its bounds.

- A metric that moves in one direction when a label rises ("monotone"): all at the least label; all at the greatest.
- A metric of binary relevance ("threshold"): with m relevant documents, the first m in rank order give one extreme and
  the last m the other; so these two, for every m. The average relevance position uses gains, and the same ways serve:
  a ratio of two sums over documents is extreme where each gain is the least or the greatest.
- nDCG ("gain"): `bounds_of_ndcg` finds one way for each bound.

Where `no_relevant` sets the value of a query without relevant documents, the bound may come from a way with one: the
worst of these makes the last document in rank order just relevant and gives the others the least label.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import polars as pl
from polars import selectors as cs

from .._catalog.call import Call
from .._table.columns import Columns, fresh, is_finite
from .._table.roles import ROW
from .._table.setup import Setup
from ..errors import InvalidOption, Text, on
from .bounds_of_ndcg import LARGEST_RANGE, extreme_labels, gains_of, threshold_of
from .rank_order import in_rank_order

Measure: TypeAlias = Callable[..., pl.DataFrame]
Way: TypeAlias = tuple[str, int]

ROWS_AT_ONCE = 5_000_000
"""The most rows, copies of a table with other labels, that are measured at once."""


def bounds_of(call: Call) -> tuple[str, str]:
    """The names of the two columns of a call."""
    return f"{call.text} least", f"{call.text} greatest"


def bounds(
    frame: pl.DataFrame, setup: Setup, calls: Sequence[Call], measure: Measure, largest_label: float | None
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
        """The values if all unjudged documents get one label; errors in the data name the caller's columns."""
        judged = pl.when(_unjudged(table)).then(float(label)).otherwise(table.label)
        return measure(frame.with_columns(judged.alias(setup.roles.label)), settled, *of)

    ways: dict[Way, list[Call]] = {("all", least): list(calls)}
    for call in calls:
        for way in _ways(call, setup, least, greatest):
            ways.setdefault(way, []).append(call)
    found = [all_at(label, of) for (which, label), of in ways.items() if which == "all"]
    last = {label: of for (which, label), of in ways.items() if which == "last"}
    in_order = settled.changed(query=("query",), doc="place", score="score", label="label", ties="doc_asc")
    queries = found[0].select(*setup.roles.query, cs.by_name(ROW, require_all=False))
    found = [values.drop(*setup.roles.query, ROW, strict=False).with_row_index("query") for values in found]
    by_number, extreme = ([c for c in calls if _follows(c) == how] for how in ("threshold", "gain"))
    if last or by_number or extreme:
        ranked = _ranked(frame, table)
        found += [measure(_last_at(ranked, label, least), in_order, *of) for label, of in last.items()]
        found += _by_number(ranked, by_number, in_order, labels, measure)
        for call in extreme:
            judged = extreme_labels(ranked, call, setup.policies, labels, _just_relevant(call, setup, least))
            found += [measure(rows, in_order, call) for rows in judged]
    both = _extremes(found, calls, ["query"]).sort("query").drop("query")
    return queries.hstack(both)


def _extremes(found: Sequence[pl.DataFrame], calls: Sequence[Call], key: Sequence[str]) -> pl.DataFrame:
    """The least and the greatest value of each call and query, over the values that are not null."""
    values = [x for call in calls for x in _least_and_greatest(call)]
    return pl.concat(found, how="diagonal").group_by(key).agg(values)


def _least_and_greatest(call: Call) -> tuple[pl.Expr, pl.Expr]:
    least, greatest = bounds_of(call)
    return pl.col(call.text).min().alias(least), pl.col(call.text).max().alias(greatest)


def _unjudged(table: Columns) -> pl.Expr:
    """Whether the document is unjudged; a label that is NaN or infinite stays in the table, an error."""
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
    if judging is None:
        reason: Text = "its value follows the judgments in no way that is known"
        if "max_label" in call.metric.parameters and not isinstance(options.get("max_label"), (int, float)):
            reason = (
                "the top of its label scale would depend on the judgments; where max_label is a number, err has bounds"
            )
        raise InvalidOption(f"no bounds are known for {call.text!r}: {reason}")
    reason = ""
    if call.expressions:
        reason = "its gain is an expression of the table's columns, whatever the label"
    elif callable(options.get("discount")):
        reason = "nothing is known of a discount of your own; name one, as discount='log2'"
    elif isinstance(options.get("gain"), Mapping):
        gains = gains_of(call, setup.policies, labels)
        known = [gain for gain in gains if gain is not None]
        if len(known) < len(gains):
            missing = labels[0] + gains.index(None)
            reason = f"an unjudged document may turn out to have label {missing}, which its gain leaves out"
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
    """How the value reacts to judgments: as declared, but with a perfect ideal the largest gain alone decides."""
    perfect = call.judging == "gain" and call.arguments.get("ideal") == "perfect"
    return "largest gain" if perfect else call.judging


def _ways(call: Call, setup: Setup, least: int, greatest: int) -> list[Way]:
    """The ways to judge that are the same for all queries: one label for all documents, or for the last one only."""
    ways: list[Way] = []
    if _follows(call) == "monotone":
        ways.append(("all", greatest))
    elif _follows(call) == "largest gain":
        ways += [(which, label) for label in range(least + 1, greatest + 1) for which in ("all", "last")]
    just = _just_relevant(call, setup, least)
    if setup.policies.no_relevant != "zero" and just <= greatest:
        ways.append(("last", just))
    return list(dict.fromkeys(ways))


def _ranked(frame: pl.DataFrame, table: Columns) -> pl.DataFrame:
    """The rows in rank order, with their place and rank, and their number among the open documents, which judging may change."""
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
    rows: pl.DataFrame, calls: Sequence[Call], setup: Setup, labels: tuple[int, int], measure: Measure
) -> Iterator[pl.DataFrame]:
    """The least and the greatest value over every m, with the first m or the last m open documents relevant."""
    if not calls:
        return
    sizes = rows.group_by("query", maintain_order=True).agg(pl.len().cast(pl.Int64), pl.col("n_open").first())
    # m > 0: the first m; m < 0: the last -m
    numbers = sizes.filter(pl.col("n_open") > 0).with_columns(
        m=pl.int_ranges(1 - pl.col("n_open"), pl.col("n_open") + 1)
    )
    numbers = numbers.explode("m").with_columns(part=pl.col("len").cum_sum() // ROWS_AT_ONCE)
    first, last = pl.col("nth") <= pl.col("m"), pl.col("nth") > pl.col("n_open") + pl.col("m")
    relevant = pl.when(pl.col("m") > 0).then(first).otherwise(last)
    setup = setup.changed(query=("query", "m"))
    for part in numbers.select("query", "m", "part").partition_by("part", include_key=False):
        repeated = _with_labels(rows.join(part, on="query"), relevant, labels[1], labels[0])
        values = measure(repeated, setup, *calls).drop("m").group_by("query")
        yield from (values.min(), values.max())
