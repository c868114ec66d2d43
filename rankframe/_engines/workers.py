"""What an engine's workers do with a bucket of whole queries: functions of Arrow tables, which can be pickled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import polars as pl

from .._catalog.call import Call
from .._table.setup import Setup
from .._verbs import verbs
from ..errors import InvalidOption, RankframeError
from .arrow_kernel import ArrowKernel, as_arrow
from .mergeable_summary import Summary

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Guarded", "Judging", "Merge", "OnBucket", "Partial", "Values", "refuse_row_order"]

WITHOUT_ORDER = ("best", "worst", "expected", "error")
"""The tie rules for which it does not matter in which order the rows stand."""


def refuse_row_order(setup: Setup, calls: Sequence[Call], names: Sequence[str], what: str) -> None:
    """Refuse to break ties by an order that rows do not have."""
    for ties in {setup.policies.ties, *(setup.resolve(call)[0].policies.ties for call in calls)}:
        order = ties == "order"
        if ties not in WITHOUT_ORDER and (order or setup.roles.doc_in(names) is None):
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

    setup: Setup
    judged_only: verbs.Missing
    run_only: verbs.Missing

    def __call__(self, run: pl.DataFrame, qrels: pl.DataFrame) -> pl.DataFrame:
        judged = verbs.judge(run, self.setup, qrels, None, self.judged_only, self.run_only, part=True)
        return judged.lazy().collect()


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
        return {name: name for name in self.kernel.setup.roles.query}


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


@dataclass(frozen=True)
class Guarded:
    """A function in a worker of Spark, whose errors of ours become a row with a message in a column of its own.

    Attributes
    ----------
    function
        The function.
    names
        The callers' names of each table's columns, which came with others.
    types
        The types of the columns that are new.
    fault
        The name of the message's column.
    """

    function: OnBucket
    names: list[list[str]]
    types: dict[str, pa.DataType]
    fault: str

    def __call__(self, *tables: pa.Table) -> pa.Table:
        import pyarrow as pa

        parts = [t.select(range(len(names))).rename_columns(names) for t, names in zip(tables, self.names, strict=True)]
        message = None
        try:
            found = self.function(*parts)
        except RankframeError as error:
            message = str(error)
            found = self.function(*(part.schema.empty_table() for part in parts))
            found = pa.table({field.name: pa.nulls(1, field.type) for field in found.schema})
        found = found.append_column(self.fault, pa.array([message] * found.num_rows, pa.string()))
        return found.cast(pa.schema([(x.name, self.types.get(x.name, _in_utc(x.type))) for x in found.schema]))


def _in_utc(x: pa.DataType) -> pa.DataType:
    """The type in which Spark takes a column back: it gives its timestamps in the zone of the session."""
    import pyarrow as pa

    return pa.timestamp(x.unit, "UTC") if pa.types.is_timestamp(x) and x.tz is not None else x
