"""The rows of JSON files: requests and responses of ``_rank_eval``, and dictionaries such as mteb's predictions."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import NoneType
from typing import Any, NamedTuple, TypeGuard, cast

import polars as pl

from .._shapes.answers import FIRST_MEMBERS, of_queries
from ..errors import Code, InvalidData, warn
from .formats import OTHER_NAMES, Content, DType, Layout
from .json_text import Json, JsonText
from .unreadable import start_of, text_of

BATCH = 100_000
"""The number of rows held as Python objects before they become columns."""

PARTS = ("templates", "requests", "metric", "max_concurrent_searches", "metric_score", "details", "failures")
"""The members of a request of ``_rank_eval`` and of a response."""

BY_COLUMN = {"columns", "index", "data", "schema"}.union(OTHER_NAMES, *OTHER_NAMES.values())
"""Members of a JSON object that pandas writes by column, in any orientation."""

META = "mteb_model_meta"
LEVELS = ("subset", "split")
"""The levels of objects around mteb's queries, outermost first."""


class GrowingColumns:
    """Columns that grow query by query."""

    def __init__(self, schema: Mapping[str, DType]) -> None:
        self.schema = dict(schema)
        self.values: dict[str, list[Any]] = {name: [] for name in schema}
        self.batches: list[pl.DataFrame] = []

    def add(self, same: Mapping[str, str], **columns: Sequence[object]) -> None:
        """Add a query's rows, with the constants `same`; a query without documents gets one row."""
        n = len(columns["doc_id"])
        for name, values in self.values.items():
            values.extend([same[name]] * max(n, 1) if name in same else columns[name] if n else [None])
        if len(self.values["query_id"]) >= BATCH:
            self._close()

    def frame(self) -> pl.DataFrame:
        """The rows."""
        self._close()
        return pl.concat(self.batches)

    def _close(self) -> None:
        self.batches.append(pl.DataFrame(self.values, schema=self.schema))
        self.values = {name: [] for name in self.schema}


def are_numbers(values: Sequence[Json]) -> TypeGuard[Sequence[float | None]]:
    return {*map(type, values)} <= {int, float, NoneType}


class Numbers:
    """Reads scores and labels, which must be numbers or null."""

    def __init__(self, text: JsonText, label: DType) -> None:
        self.text = text
        self.label = label
        self.whole = label.is_integer()
        whole: Any = label if self.whole else pl.Int64
        self.range = pl.select(low=whole.min(), high=whole.max()).row(0)

    def scores(self, query: str, docs: Sequence[str], values: Sequence[Json]) -> list[float | None]:
        """The scores of a query's documents."""
        numbers = self._numbers("score", query, docs, values)
        self._refuse("score", math.isnan, "number", query, docs, numbers)
        return [None if x is None else float(x) for x in numbers]

    def labels(self, query: str, docs: Sequence[str], values: Sequence[Json]) -> Sequence[float | str | None]:
        """The labels of a query's documents."""
        numbers = self._numbers("label", query, docs, values)
        if self.whole:
            return [None if x is None else self._whole(query, doc, x) for doc, x in zip(docs, numbers, strict=True)]
        self._refuse("label", math.isnan, "number", query, docs, numbers)
        self._refuse("label", math.isinf, "finite number", query, docs, numbers)
        kind = str if self.label == pl.String else float
        return [None if x is None else kind(x) for x in numbers]

    def _numbers(self, column: str, query: str, docs: Sequence[str], values: Sequence[Json]) -> Sequence[float | None]:
        """The values, all of them numbers or null."""
        if not are_numbers(values):
            doc, value = next(x for x in zip(docs, values, strict=True) if type(x[1]) not in (int, float, NoneType))
            raise self.text.fault(f"{column} {value!r} of document {doc!r} of query {query!r} is not a number")
        return values

    def _refuse(
        self,
        column: str,
        wrong: Callable[[float], bool],
        kind: str,
        query: str,
        docs: Sequence[str],
        values: Sequence[float | None],
    ) -> None:
        """Refuse the first value that is wrong."""
        for doc, value in zip(docs, values, strict=True):
            if value is not None and wrong(value):
                raise self.text.fault(f"{column} {value!r} of document {doc!r} of query {query!r} is not a {kind}")

    def _whole(self, query: str, doc: str, value: float) -> int:
        """The label as a whole number within the range of its type; refuse any other."""
        low, high = self.range
        if not low <= value <= high:
            expected = f"number that {self.label} holds"
        elif value != int(value):
            expected = "whole number (label_dtype=pl.Float64 keeps fractions)"
        else:
            return int(value)
        raise self.text.fault(f"label {value!r} of document {doc!r} of query {query!r} is not a {expected}")


def json_rows(content: Content, name: str, layout: Layout, kind: str, label: DType) -> pl.DataFrame | None:
    """The rows of a JSON file of the format `kind`; for ``json``, find out which. None for a single row of JSON lines."""
    text = JsonText(name, text_of(content))
    if text.next() != "{":
        raise text.fault("neither a JSON object nor a list of rows starts here")
    numbers = Numbers(text, label)
    start = text.at
    if kind == "rank_eval" or (kind == "json" and text.first()[0] in PARTS):
        found = rank_eval(text, layout, numbers)
        if found is not None:
            return found
        if kind == "rank_eval":
            raise InvalidData(
                f"{name}: this JSON object has neither 'requests' nor 'details', as those of _rank_eval have"
            )
        text.at = start
    if kind == "json" and text.first()[0] in FIRST_MEMBERS:
        if (answer := of_queries(text.value())) is not None:
            raise InvalidData(f"{name} is {answer}")
        text.at = start
    if kind == "json" and text.first()[0] in BY_COLUMN:
        if sum(member in BY_COLUMN and isinstance(x, (dict, list)) for member, x in text.object().items()) > 1:
            to_lines = Code("df.to_json('run.jsonl', orient='records', lines=True)", phrase=", as with {}")
            raise InvalidData(
                f"{name}: this JSON object has a member for each column; write one for each row", to_lines
            )
        text.at = start
    if kind == "json" and "\n" not in text.text.strip() and text.first()[1] not in ("{", ""):
        return None
    return dictionary(text, layout, numbers)


def listed_rows(content: Content, name: str) -> bytes | None:
    """The rows of a JSON list as JSON lines; None if the text is no list."""
    if not start_of(content).lstrip("\ufeff \t\r\n").startswith("["):
        return None
    text = JsonText(name, text_of(content))
    rows = cast("list[Json]", text.value())  # it begins as a list
    text.end()
    for i, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise InvalidData(
                f"{name}: element {i} of the list is no object; write one for each document, with its columns"
            )
    return "\n".join(map(json.dumps, rows)).encode()


# _rank_eval of Elasticsearch and OpenSearch


def rank_eval(text: JsonText, layout: Layout, numbers: Numbers) -> pl.DataFrame | None:
    """The ratings of a request, or the hits of a response with their ratings; None if it is neither."""
    found, failed = None, None
    for member in text.members():
        if member == "requests" and text.next() == "[":
            if layout.reader == "read_run":
                raise text.fault("a request of _rank_eval holds ratings, and no results; give it as the judgments")
            found = requests(text, numbers)
        elif member == "details" and text.next() == "{":
            found = details(text, layout, numbers)
            if found is None:
                return None
        elif member == "failures":
            failed = text.value()
        else:
            text.value()
    text.end()
    if found is not None and failed and isinstance(failed, dict):
        names = ", ".join(map(repr, [*failed][:3]))
        warn(f"{text.name}: {len(failed):,} requests failed, and their queries are left out: {names}")
    return found


def requests(text: JsonText, numbers: Numbers) -> pl.DataFrame:
    """The rated documents of each request."""
    found = GrowingColumns({"query_id": pl.String, "doc_id": pl.String, "label": numbers.label, "index": pl.String})
    known: set[str] = set()
    for _ in text.items():
        start = text.at
        request = text.value()
        query = request.get("id") if isinstance(request, dict) else None
        if not (isinstance(request, dict) and isinstance(query, str)):
            raise text.fault("a request needs a text 'id'", start)
        if query in known:
            raise text.fault(f"the id {query!r} is that of an earlier request too; give each its own", start)
        known.add(query)
        ratings = rated_documents(text, query, request.get("ratings") or [], "ratings")
        docs = [x.id for x in ratings]
        labels = numbers.labels(query, docs, [x.members.get("rating") for x in ratings])
        found.add({"query_id": query}, doc_id=docs, label=labels, index=[x.at for x in ratings])
    return found.frame()


def details(text: JsonText, layout: Layout, numbers: Numbers) -> pl.DataFrame | None:
    """The hits of each query with their ratings, then the unrated documents that are not hits."""
    found = GrowingColumns(
        {
            "query_id": pl.String,
            "doc_id": pl.String,
            "score": pl.Float64,
            "label": numbers.label,
            "rank": pl.Int64,
            "index": pl.String,
        }
    )
    for query in text.members():
        detail = text.value()
        rows = detail.get("hits") if isinstance(detail, dict) else None
        if not (isinstance(detail, dict) and isinstance(rows, list)):
            if not isinstance(detail, dict) or {*map(type, detail.values())} <= {int, float}:
                return None  # a dictionary of scores with a query named "details"
            raise text.fault(f"the details of query {query!r} have no list of 'hits'")
        rated: list[dict[str, Json]] = []
        for row in rows:
            if not isinstance(row, dict) or not isinstance(row.get("hit"), dict):
                raise text.fault(f"a hit of query {query!r} is no object with a 'hit' and its 'rating': {row!r:.100}")
            rated.append(row)
        hits = rated_documents(text, query, [row["hit"] for row in rated], "hits")
        shown = {(x.at, x.id) for x in hits}
        unrated = rated_documents(text, query, detail.get("unrated_docs") or [], "unrated_docs")
        others = [x for x in unrated if (x.at, x.id) not in shown]
        docs = [x.id for x in [*hits, *others]]
        scores = numbers.scores(query, docs[: len(hits)], [x.members.get("_score") for x in hits])
        labels = numbers.labels(query, docs[: len(hits)], [row.get("rating") for row in rated])
        beyond = [None] * len(others)
        found.add(
            {"query_id": query},
            doc_id=docs,
            score=[*in_order(scores), *beyond],
            label=[*labels, *beyond],
            rank=[*range(1, len(hits) + 1), *beyond],
            index=[x.at for x in [*hits, *others]],
        )
    frame = found.frame()
    return frame if layout.reader == "read_run" else frame.drop("score", "rank")


class Document(NamedTuple):
    """A document: its id, the index that it is at, and the members of its object."""

    id: str
    at: str | None
    members: dict[str, Json]


def rated_documents(text: JsonText, query: str, found: Json, member: str) -> list[Document]:
    """The documents, after a check that each has a text id."""
    documents = []
    for doc in found if isinstance(found, list) else [found]:
        members = doc if isinstance(doc, dict) else {}
        own, index = members.get("_id"), members.get("_index")
        if not (isinstance(own, str) and isinstance(index, (str, NoneType))):
            raise text.fault(
                f"the {member} of query {query!r} must be objects with the texts '_index' and '_id': {doc!r:.100}"
            )
        documents.append(Document(own, index, members))
    return documents


def in_order(scores: list[float | None]) -> list[float | None]:
    """The scores if they fall in the order of the hits; else 1 / rank, as for results sorted by a field."""
    falling = all(x is not None and y is not None and x >= y for x, y in pairwise(scores))
    if falling and None not in scores:
        return scores
    return [1 / rank for rank in range(1, len(scores) + 1)]


# dictionaries of queries


def dictionary(text: JsonText, layout: Layout, numbers: Numbers) -> pl.DataFrame:
    """The rows of ``{query: {document: number}}``, optionally nested by split, or by subset and split."""
    column, dtype, read = (
        ("score", pl.Float64(), numbers.scores)
        if layout.reader == "read_run"
        else ("label", numbers.label, numbers.labels)
    )
    meta: dict[str, Json] = {}
    found: GrowingColumns | None = None
    levels: tuple[str, ...] = ()
    for around, query, of_query in queries(text, meta):
        outer = LEVELS[len(LEVELS) - len(around) :]
        if found is None:
            schema = {
                "query_id": pl.String(),
                "doc_id": pl.String(),
                column: dtype,
                **dict.fromkeys(outer, pl.String()),
            }
            found, levels = GrowingColumns(schema), outer
        elif outer != levels:
            raise text.fault(
                f"{query!r} holds no objects, or one more deeply, where those before it do; take its file apart"
            )
        docs = [*of_query]
        same = {"query_id": query, **dict(zip(outer, around, strict=True))}
        found.add(same, **{"doc_id": docs, column: read(query, docs, [*of_query.values()])})
    text.end()
    if found is None:
        return pl.DataFrame(schema={"query_id": pl.String(), "doc_id": pl.String(), column: dtype})
    model = meta.get("model_name")
    run = {"run": pl.lit(model)} if isinstance(model, str) and column == "score" else {}
    return found.frame().with_columns(**run)


def queries(
    text: JsonText, meta: dict[str, Json], around: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str, dict[str, Json]]]:
    """Each query with its documents, and the names of the objects around it; mteb's object about the model goes to `meta`."""
    for name in text.members():
        start = text.at
        if text.next() != "{":
            raise text.fault(f"the value of {name!r} is no object, as those of queries and their documents are", start)
        if name == META and not around:
            meta.update(text.object())
        elif len(around) < len(LEVELS) and text.first()[1] == "{":
            yield from queries(text, meta, (*around, name))
        else:
            yield around, name, text.object()
