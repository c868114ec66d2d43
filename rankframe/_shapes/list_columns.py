"""Columns of lists, of documents and of a number for each: their checks, and the faults of their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import polars as pl

from .._table.roles import USUAL_NAMES
from ..errors import Code, InvalidData, MissingColumn, Text, nearest

Repeated: TypeAlias = Literal["error", "first"]

USUAL = {
    "query": USUAL_NAMES["query"],
    "retrieved": (
        *("retrieved", "retrieved_ids", "retrieved_doc_ids", "retrieved_docs", "retrieved_contexts", "contexts"),
        *("ranking", "ranked", "results", "hits", "docs", "documents", "recommended", "recommendations", "recs"),
        *("prediction", "predictions", "predicted"),
    ),
    "relevant": (
        *("relevant", "relevant_ids", "relevant_docs", "gold", "truth", "ground_truth", "ground_truths", "expected"),
        *("expected_ids", "reference", "references", "reference_contexts", "actual", "targets", "target"),
    ),
    "scores": ("scores", "similarities"),
    "labels": ("labels", "grades", "relevances", "ratings"),
    "carry": (),
}
"""The usual names of columns by their parameter, for the advice in an error."""

DOC_FIELDS = (*USUAL_NAMES["doc"], "id", "_id")
NUMBER_FIELDS = {"scores": (*USUAL_NAMES["score"], "_score"), "labels": USUAL_NAMES["label"]}
"""The usual names of the fields of structs."""

ROW, DOC, PLACE = "#row", "#doc", "#place"
"""The plan's columns for the number of a query's row, a document and its place in the list."""

LISTS = (pl.List, pl.Array)


@dataclass(frozen=True)
class ListColumn:
    """A column of lists, or of `single` values: its name, the lists as an expression, and the type of their elements."""

    name: str
    lists: pl.Expr
    inner: pl.DataType
    single: bool = False

    @classmethod
    def of(cls, schema: pl.Schema, name: str, role: str, *, single: bool = False) -> ListColumn:
        """Check that a column holds lists, or, if allowed, `single` values."""
        if name not in schema:
            raise missing(schema, name, role)
        dtype, column = schema[name], pl.col(name)
        if isinstance(dtype, pl.Array):
            return cls(name, column.arr.to_list(), dtype.inner)  # type: ignore[arg-type]
        if isinstance(dtype, pl.List):
            return cls(name, column, dtype.inner)  # type: ignore[arg-type]
        if not (single or dtype == pl.Null):
            split = f"pl.col({name!r}).str.split(' ')", f"df[{name!r}].str.split()"
            advice = Code(
                f"df.with_columns({split[0]})", f"df.assign({name}={split[1]})", phrase="; split text, as in {}"
            )
            raise InvalidData(
                f"column {name!r} for {role} holds {dtype}, not lists", advice if dtype == pl.String else ""
            )
        return cls(name, pl.when(column.is_not_null()).then(pl.concat_list(column)), dtype, dtype != pl.Null)

    def field(self, name: str) -> ListColumn:
        """A column with the lists of one field of the structs."""
        (inner,) = (x.dtype for x in self.inner.fields if x.name == name)  # type: ignore[attr-defined]
        return ListColumn(self.name, self.lists.list.eval(pl.element().struct.field(name)), inner)

    @property
    def fields(self) -> list[str]:
        """The fields of the structs; empty if the elements are no structs."""
        return [x.name for x in self.inner.fields] if isinstance(self.inner, pl.Struct) else []

    @property
    def has_nan(self) -> pl.Expr:
        """Whether a list holds NaN."""
        return self.lists.list.eval(pl.element().is_nan()).list.any() if self.inner.is_float() else pl.lit(False)

    @property
    def has_null(self) -> pl.Expr:
        """Whether a list holds null."""
        return self.lists.list.len() != self.lists.list.drop_nulls().list.len()

    def cast(self, inner: pl.DataType) -> ListColumn:
        """The lists with elements of another type."""
        return self if inner == self.inner else replace(self, lists=self.lists.cast(pl.List(inner)), inner=inner)

    def normalized(self, name: str) -> ListColumn:
        """The lists as the plan's column `name`."""
        return replace(self, lists=pl.col(name))


@dataclass(frozen=True)
class Documents:
    """Lists of documents, and lists of their scores or labels."""

    role: str
    ids: ListColumn
    numbers: Mapping[str, ListColumn]

    @classmethod
    def of(cls, schema: pl.Schema, role: str, name: str, numbers: Mapping[str, str | None]) -> Documents:
        """Check the names and types of the columns; each of `numbers` is a column, a field, or None."""
        single = role == "relevant"
        ids, found = ListColumn.of(schema, name, role, single=single), {}
        structs = ids if ids.fields else None
        if structs is not None:
            field = _field(structs.fields, DOC_FIELDS)
            if field is None:
                raise InvalidData(
                    f"the structs in column {name!r} for {role} have the fields {', '.join(structs.fields)}; call the field of the "
                    "document id"
                )
            ids = structs.field(field)
        for number, column in numbers.items():
            field = None
            if structs is not None:
                field = _field(structs.fields, NUMBER_FIELDS[number]) if column is None else column
            if structs is not None and field in structs.fields:
                found[number] = structs.field(field)
            elif column is not None:
                found[number] = ListColumn.of(schema, column, number, single=not isinstance(schema[name], LISTS))
        if ids.inner.is_nested() or ids.inner == pl.Object:
            raise InvalidData(
                f"column {name!r} for {role} holds lists of {ids.inner}; a document is a text or a number"
            )
        for number, values in found.items():
            if not (values.inner.is_numeric() or values.inner in (pl.Boolean, pl.Null)):
                raise InvalidData(f"column {values.name!r} for {number} holds lists of {values.inner}, not of numbers")
        return cls(role, ids, found)

    def cast(self, dtype: pl.DataType) -> Documents:
        """The same with ids of another type."""
        return replace(self, ids=self.ids.cast(dtype))

    @property
    def columns(self) -> list[pl.Expr]:
        """The lists under the plan's names; see `normalized`."""
        return [
            self.ids.lists.alias(f"#{self.role}"),
            *(x.lists.alias(f"#{name} of {self.role}") for name, x in self.numbers.items()),
        ]

    @property
    def normalized(self) -> Documents:
        """The same lists, read from the plan's columns."""
        numbers = {name: x.normalized(f"#{name} of {self.role}") for name, x in self.numbers.items()}
        return Documents(self.role, self.ids.normalized(f"#{self.role}"), numbers)

    def faults(self, query: pl.Expr, repeated: Repeated) -> Iterator[tuple[pl.Expr, pl.Expr]]:
        """The faults that a row may have, each with its message; `query` is the text of the row's query."""
        ids, lists = self.ids, self.ids.lists.list
        at = pl.format(f"the list in column {_braced(ids.name)} of query {{}}", query)
        text = lists.first().str.contains(r"^\s*\[") if ids.single and ids.inner == pl.String else pl.lit(False)
        decode = f"df.with_columns(pl.col({ids.name!r}).str.json_decode(pl.List(pl.String)))"
        yield text, pl.concat_str(at, pl.lit(f" is text that looks like JSON; make a list of it, as in {decode}"))
        yield (
            ids.has_null | ids.has_nan,
            pl.concat_str(at, pl.lit(" holds null or NaN, which is no document; leave it out")),
        )
        if repeated == "error":
            twice = lists.eval(pl.element().filter(pl.element().is_duplicated())).list.first().cast(pl.String)
            found = pl.concat_str(
                at, pl.lit(" holds "), twice, pl.lit(" twice; repeated='first' keeps its first place")
            )
            yield lists.n_unique() != lists.len(), found
        for name, numbers in self.numbers.items():
            lengths = [x.lists.list.len().fill_null(0) for x in (ids, numbers)]
            message = (
                f"query {{}} has {{}} documents in column {_braced(ids.name)} and {{}} {name} in column {_braced(numbers.name)}; give "
                "one for each document"
            )
            yield lengths[0] != lengths[1], pl.format(message, query, *lengths)
            if name == "scores":
                message = f"the scores in column {_braced(numbers.name)} of query {{}} hold null or NaN; give each document a score"
                yield numbers.has_null | numbers.has_nan, pl.format(message, query)

    def long(self, rows: pl.LazyFrame, repeated: Repeated) -> pl.LazyFrame:
        """One row per document: the row's number, the document, its place in the list, its numbers."""
        ids = self.ids.lists
        places = pl.int_ranges(1, ids.list.len().cast(pl.Int64) + 1)
        lists = {DOC: ids, PLACE: places, **{f"#{name}": x.lists for name, x in self.numbers.items()}}
        documents = rows.filter(ids.list.len() > 0).select(ROW, **lists).explode(*lists)
        if repeated == "error":
            return documents
        return documents.unique([ROW, DOC], keep="first", maintain_order=True)


def _field(fields: Sequence[str], usual: Sequence[str]) -> str | None:
    return next((name for name in fields if name.lower() in usual), None)


def _braced(name: str) -> str:
    """A name quoted for a format string."""
    return repr(name).replace("{", "{{").replace("}", "}}")


def missing(schema: pl.Schema, name: str, role: str) -> MissingColumn:
    """The error for a missing column, with the column that may be meant."""
    there = list(schema)
    near = next((x for x in there if x.lower() in USUAL[role]), None) or nearest(name, there)
    advice: Text = ("Write ", Code(f"rf.from_lists(df, {role}={near or '...'!r})"))
    if role == "relevant":
        advice = (advice, ", or relevant=None if the judgments are in another table")
    return MissingColumn(f"no column {name!r} for {role}; the table has {', '.join(there) or 'no columns'}. ", advice)
