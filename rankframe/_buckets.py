"""What an engine's workers do with a bucket of whole queries: functions of Arrow tables, which can be pickled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import polars as pl

from . import _verbs
from ._call import Call
from ._combine import Summary
from ._conventions import under
from ._kernel import ArrowKernel, as_arrow
from ._policies import Columns
from .errors import InvalidOption

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Judging", "Merge", "OnBucket", "Partial", "Values", "refuse_row_order"]

WITHOUT_ORDER = ("best", "worst", "expected", "error")
"""The tie rules for which it does not matter in which order the rows stand."""


def refuse_row_order(columns: Columns, calls: Sequence[Call], names: Sequence[str], what: str) -> None:
    """Refuse to break ties by an order that rows do not have."""
    for policies in {columns, *(under(columns, call)[0] for call in calls)}:
        order = policies.ties == "order"
        if policies.ties not in WITHOUT_ORDER and (order or policies.doc_in(names) is None):
            why = "ties='order' goes by" if order else "tied rows would stand by, as no column names documents"
            raise InvalidOption(
                f"the rows of a {what} have no order, which {why}; name the documents, as in doc='doc_id', "
                "ties='doc_desc', or say ties='best', 'worst', 'expected' or 'error'"
            )


class OnBucket(Protocol):
    """From a bucket, and its judgments where they are apart, to a result."""

    def __call__(self, table: pa.Table, *qrels: pa.Table) -> pa.Table:
        """The result for the bucket."""

    @property
    def kept(self) -> dict[str, str]:
        """The columns of the result that are columns of the bucket."""
        raise NotImplementedError


@dataclass(frozen=True)
class Judging:
    """How a run and its judgments become one table."""

    columns: Columns
    judged_only: _verbs.Missing
    run_only: _verbs.Missing

    def __call__(self, run: pl.DataFrame, qrels: pl.DataFrame) -> pl.DataFrame:
        return _verbs.judge(run, self.columns, qrels, self.judged_only, self.run_only).lazy().collect()


@dataclass(frozen=True)
class Values:
    """From a bucket to the values of its queries."""

    kernel: ArrowKernel
    judging: Judging | None = None

    def __call__(self, table: pa.Table, *qrels: pa.Table) -> pa.Table:
        return self.kernel(_joined(self.judging, table, *qrels))

    @property
    def kept(self) -> dict[str, str]:
        """The query columns."""
        return {name: name for name in self.kernel.columns.query}


@dataclass(frozen=True)
class Partial:
    """From a bucket to its part of a summary."""

    summary: Summary
    judging: Judging | None

    def __call__(self, table: pa.Table, *qrels: pa.Table) -> pa.Table:
        part = self.summary.part(pl.DataFrame(_joined(self.judging, table, *qrels)))
        return as_arrow(part, {at: table.schema.field(name).type for at, name in self.kept.items()})

    @property
    def kept(self) -> dict[str, str]:
        """The slices, under names that no caller has."""
        return dict(zip(self.summary.slices, self.summary.by, strict=True))


@dataclass(frozen=True)
class Merge:
    """From the parts of a summary to the summary."""

    summary: Summary

    def __call__(self, table: pa.Table, *qrels: pa.Table) -> pa.Table:
        merged = self.summary.merge(pl.DataFrame(table))
        return as_arrow(merged, {name: table.schema.field(at).type for name, at in self.kept.items()})

    @property
    def kept(self) -> dict[str, str]:
        """The slices, under the caller's names."""
        return dict(zip(self.summary.by, self.summary.slices, strict=True))


def _joined(judging: Judging | None, table: pa.Table, *qrels: pa.Table) -> pa.Table:
    if judging is None:
        return table
    frame = judging(pl.DataFrame(table), pl.DataFrame(*qrels))
    return as_arrow(frame, {field.name: field.type for field in table.schema})
