"""The number of queries needed to detect a difference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import polars as pl

from .._catalog.means import Mean
from .._catalog.requests import Request, averaged
from .._plan.per_query import Frame, as_given, refuse_names
from .._table.setup import Setup
from .._verbs.declaration import verb
from ..errors import InvalidOption, option
from .compare import differences
from .paired_values import Design, paired_values
from .summary import keys

TABLE = {
    "metric": pl.String,
    "baseline": pl.String,
    "run": pl.String,
    "std": pl.Float64,
    "difference": pl.Float64,
    "n_queries": pl.UInt32,
    "power": pl.Float64,
    "queries_needed": pl.Int64,
}


@dataclass(frozen=True)
class Effects:
    """The difference, or differences, to detect, the required power, and the level of the test."""

    differences: float | Sequence[float]
    power: float
    alpha: float

    @property
    def each(self) -> tuple[float, ...]:
        """The differences, one or several."""
        several = isinstance(self.differences, Iterable) and not isinstance(self.differences, str)
        return tuple(cast("Sequence[float]", self.differences)) if several else (cast("float", self.differences),)


@verb(gives="table", reads=["design"])
def power(frame: Frame, setup: Setup, design: Design, effects: Effects, *requests: Request) -> Frame:
    """A row per metric, slice, pair of runs and difference: the power of this table, and the queries needed."""
    from .. import stats

    calls = averaged(requests, "power('ndcg@10', runs=['bm25', 'ltr'], difference=0.01)")
    refuse_names([*TABLE], design.by, "by")
    for call in calls:
        if Mean.of(call).is_geometric:
            raise InvalidOption(f"{call.text} is summed up by its geometric mean; ask for the power of {call.text[3:]}")
    found = paired_values(frame.lazy().collect(), setup, calls, design)
    rows = []
    for i, call in enumerate(calls):
        for part in found.slices(design.by):
            named = found.queries[part[:1].tolist()].select(keys(design.by)).row(0) if design.by else ()
            for a, b in design.pairs(found.runs):
                d = differences(found.values[a][part, i], found.values[b][part, i])[:, None]
                (std,) = stats.spreads(d, found.queries["#weight"].to_numpy()[part]).tolist()
                n = int((d == d).sum())
                for difference in effects.each:
                    there = needed = None
                    if std > 0:
                        there = stats.power(difference / std, n, effects.alpha)
                        try:
                            needed = stats.queries_needed(difference / std, effects.power, effects.alpha)
                        except InvalidOption:
                            raise InvalidOption(
                                option(difference=difference),
                                f" of {call.text}, whose differences have a standard deviation of {std:.3g}, takes more "
                                "than 2**53 queries to see; write a larger one, as ",
                                option(difference=float(f"{std / 10:.2g}")),
                            ) from None
                    names = call.text, found.runs[a], found.runs[b]
                    rows.append((*named, *names, std if n > 1 else None, difference, n, there, needed))
    of_slices = {name: found.queries.schema[at] for name, at in zip(design.by, keys(design.by), strict=True)}
    table = pl.DataFrame(rows, schema={**of_slices, **TABLE}, orient="row")
    return as_given(frame, table)
