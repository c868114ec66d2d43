"""Metrics under policies, as means over the queries of a table, and what users and trainers give,
for all hooks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from .._catalog.call import Call
from .._catalog.means import Mean, added, sums_of
from .._catalog.requests import Request, averaged
from .._lift.arrow_kernel import bound
from .._plan.per_query import measure
from .._plan.unjudged import counting
from .._support.threads import use_polars
from .._table.roles import ROLES
from .._table.setup import Setup, refuse_bounds
from .._verbs.call.declaration import call_of_verb
from .._verbs.call.top_grade import TopGrade
from .._verbs.call.unjudged_queries import UnjudgedQueries
from .._verbs.measure.evaluate import evaluate
from ..errors import InvalidData, InvalidOption, shown


@dataclass(frozen=True)
class MetricMeans:
    """Metrics, and their columns and policies.

    Attributes
    ----------
    calls
        The metrics, each with a mean.
    setup
        The roles of columns, and the policies.
    """

    calls: tuple[Call, ...]
    setup: Setup

    @classmethod
    def of(
        cls,
        caller: Callable[..., object],
        metrics: Sequence[Request],
        options: dict[str, object],
        *,
        table: bool,
    ) -> MetricMeans:
        """Check the metrics and options given to a hook; without a `table`, refuse names of
        columns.
        """
        setup = bound(options, caller)
        hook = caller.__name__
        if options.get("rank") is not None:
            given = shown(options["rank"])
            raise InvalidOption(
                f"rank={given}: {hook} ranks by the scores of the trainer; leave it out"
            )
        named = [name for name in (*ROLES, "names") if options.get(name) not in (None, ...)]
        if named and not table:
            first = named[0]
            given = f"{first}={shown(options[first])}"
            raise InvalidOption(
                f"{given} names a column, and {hook} was given no table; leave it out"
            )
        if not metrics:
            raise InvalidOption(f"no metric given; name at least one, as in {hook}('ndcg@10')")
        refuse_bounds(setup)
        calls = averaged(metrics, "evaluate('ndcg@10')", of_rankings=True)
        return cls(tuple(calls), setup)

    @property
    def names(self) -> list[str]:
        """The canonical texts of the metrics."""
        return [call.text for call in self.calls]

    @property
    def columns(self) -> set[str]:
        """The columns that a table may need to have."""
        return call_of_verb(evaluate, *self.calls).columns(self.setup)

    def check(self, frame: pl.DataFrame) -> None:
        """Refuse a table or policies for which the metrics are undefined, before there are
        scores.
        """
        no_score = pl.lit(None, pl.Float64).alias(self.setup.roles.score)
        no_rows = frame.head(0).with_columns(no_score)
        self.per_query(no_rows)

    def per_query(self, frame: pl.DataFrame) -> pl.DataFrame:
        """One row per query: the query columns and a column per metric."""
        use_polars()
        grades = TopGrade(self.setup, self.calls)
        unjudged = UnjudgedQueries(self.setup)
        with counting() as counts:
            values = measure(frame, self.setup, *self.calls)
        grades.see(frame)
        grades.warn()
        unjudged.count(counts)
        unjudged.warn()
        return values

    def over(self, per_query: pl.DataFrame, weights: pl.Series | None = None) -> dict[str, float]:
        """The means of the queries' values, by the metrics' texts; `weights` has one number per
        query.
        """
        weight = pl.lit(1.0) if weights is None else weights
        weighted = per_query.lazy().with_columns(weight.alias("#weight"))
        sums = added(weighted, self.calls, ())
        columns = []
        for call in self.calls:
            mean = Mean.of(call).value(sums_of(call))["mean"]
            columns.append(mean.alias(call.text))
        row = sums.select(columns).collect(engine="in-memory").row(0, named=True)
        means: dict[str, float] = {}
        for name, value in row.items():
            if value is None or math.isnan(value):
                raise InvalidData(
                    f"no query has a value of {name}, so there is no mean of the {per_query.height}"
                )
            means[name] = value
        return means
