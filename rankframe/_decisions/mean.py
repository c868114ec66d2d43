"""The mean of each metric over the queries: one row per slice, a column per metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from .._catalog.call import Call
from .._catalog.means import Mean
from .._catalog.requests import Request, averaged
from .._plan.per_query import Frame, refuse_names, with_names
from .._table.setup import Setup
from .._verbs.declaration import verb
from .mergeable_summary import Summary, summary_of
from .resampling import SummaryResampling
from .summary import summarize

NO_INTERVAL = SummaryResampling(None, "auto", 1, 0, progress=False)


@dataclass(frozen=True)
class Means:
    """The means of a table in parts: the means of its summary, in a column per metric."""

    summary: Summary

    @property
    def calls(self) -> tuple[Call, ...]:
        """The metrics."""
        return self.summary.calls

    @property
    def names(self) -> set[str]:
        """The columns to read besides columns with a role."""
        return self.summary.names

    @property
    def slices(self) -> Mapping[str, str]:
        """The columns of the slices, by their names in the figures of parts."""
        return self.summary.slices

    @property
    def key(self) -> list[str]:
        """The columns by which parts' figures merge."""
        return [*self.slices]

    def part(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The sums of a part, a row per slice and metric."""
        return self.summary.part(frame)

    def merge(self, parts: pl.DataFrame) -> pl.DataFrame:
        """The means of the table, from the sums of its parts."""
        return _wide(self.summary.merge(parts).lazy(), self.summary.setup, self.calls, self.summary.by).lazy().collect()


def in_parts(setup: Setup, largest_label: float | None, by: Sequence[str], *requests: Request) -> Means:
    """The means that a call of `mean` asks for, to be computed part by part."""
    calls = _averaged(requests, by)
    return Means(summary_of(setup, calls, by, ci=None, largest_label=largest_label))


@verb(gives="table", reads=["by"], watched=True, in_parts=in_parts)
def mean(frame: Frame, setup: Setup, by: Sequence[str], *requests: Request) -> Frame:
    """One row per slice: its columns, and a column per metric."""
    calls = _averaged(requests, by)
    return _wide(summarize(frame, setup, by, None, NO_INTERVAL, *requests), setup, calls, by)


def _averaged(requests: Sequence[Request], by: Sequence[str]) -> list[Call]:
    calls = averaged(requests, "mean('ndcg@10', 'map')")
    refuse_names([call.text for call in calls], by, "by")
    return calls


def _wide(summed: Frame, setup: Setup, calls: Sequence[Call], by: Sequence[str]) -> Frame:
    """A summary with a column per metric instead of a row."""
    means = {call.text: pl.col(Mean.of(call).figure).filter(metric=call.text).first() for call in calls}
    wide = summed.group_by(by, maintain_order=True).agg(**means) if by else summed.select(**means)
    return with_names(wide, setup, calls)
