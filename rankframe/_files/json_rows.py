"""The rows of JSON files: requests and responses of ``_rank_eval``, and dictionaries such as mteb's
predictions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from types import NoneType
from typing import Any, TypeAlias

import polars as pl

from .._support.polars_versions import exploded
from ..errors import InvalidData, shown, warn
from .read import OTHER_NAMES, FileRows, SourceFile, from_table, numbers, renamed
from .sources import text_of

Hit: TypeAlias = "tuple[str | None, bytes | None, bytes | None, int | None, str | None]"
"""The document of a row, its score, label, rank and index."""

NOTHING: tuple[Hit] = ((None, None, None, None, None),)
"""The row of a query without documents."""

BATCH = 100_000
"""The number of rows held as Python objects before they become columns."""

BY_COLUMN = {"columns", "index", "data", "schema"}.union(*OTHER_NAMES.values())
"""Members of a JSON object that pandas writes by column, in any orientation."""

META = "mteb_model_meta"
LEVELS = ("subset", "split", "query_id")
"""The levels of objects around mteb's documents, outermost first."""


class JsonText:
    """A JSON text, in which an object whose members are numbers is a range of rows, {document:
    number}.

    These become columns while the text is read, and documents of _rank_eval tuples, so that only
    one query's documents are objects at a time. A number is the bytes as which it is written, and
    is parsed as the numbers of other text are.
    """

    def __init__(self, file: SourceFile, text: str) -> None:
        self.file = file
        self.n = 0
        self.batches = [pl.DataFrame(schema={"doc_id": pl.String, "number": pl.String})]
        self.docs: list[str] = []
        self.numbers: list[bytes] = []
        of_numbers = ("parse_float", "parse_int", "parse_constant")
        kinds: dict[str, Any] = dict.fromkeys(of_numbers, str.encode)
        try:
            self.value: Any = json.loads(text, object_pairs_hook=self._object, **kinds)
        except (json.JSONDecodeError, RecursionError) as error:  # thousands of lists in lists
            raise InvalidData(f"{file.name}: {error}; is the file whole?") from error

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any] | range:
        members = dict(pairs)
        if len(members) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise InvalidData(f"{self.file.name}: an object has {twice!r} twice; keep one of them")
        name = "ratings" if "ratings" in members else "hits"
        if isinstance(members.get(name), list):
            rows_of = rated if name == "ratings" else hits
            # Of other objects a list stays a list, which rank_eval refuses.
            with suppress(AttributeError, KeyError, TypeError):
                members[name] = tuple(rows_of(members))
        if not pairs or type(pairs[0][1]) is not bytes:
            return members
        if {*map(type, members.values())} != {bytes}:
            return members
        self.docs += members
        self.numbers += members.values()
        start = self.n
        self.n += len(members)
        if len(self.docs) >= BATCH:
            self._close()
        return range(start, self.n)

    def rows(self) -> pl.DataFrame:
        """The rows of all ranges."""
        self._close()
        return pl.concat(self.batches)

    def _close(self) -> None:
        docs = pl.Series(self.docs, dtype=pl.String)
        numbers = pl.Series(self.numbers, dtype=pl.Binary).cast(pl.String)
        batch = pl.DataFrame({"doc_id": docs, "number": numbers})
        self.batches.append(batch)
        self.docs = []
        self.numbers = []


def from_json(file: SourceFile) -> FileRows:
    """A JSON object of any kind, or a row, or a list of rows."""
    text = text_of(file.content)
    if re.match(r"\s*\[", text) is None:
        json_text = JsonText(file, text)
        value = json_text.value
        if is_rank_eval(value):
            return rank_eval(json_text)
        members = value if isinstance(value, dict) else {"": None}
        _refuse_columns(file, members)
        first: Any = next(iter(members.values()), {})
        if isinstance(first, dict | range):
            return dictionary(json_text)
    as_bytes = text.encode()
    return from_table(replace(file, content=as_bytes))


def _refuse_columns(file: SourceFile, members: dict[str, Any]) -> None:
    """Refuse an object with a member for each column."""
    if next(iter(members), "") not in BY_COLUMN:
        return
    named = [members[x] for x in members if x in BY_COLUMN]
    columns = [value for value in named if isinstance(value, dict | list | range)]
    if len(columns) > 1:
        raise InvalidData(
            f"{file.name}: this JSON object has a member for each column; write one for each row"
        )


def from_object(file: SourceFile, *, read: Callable[[JsonText], FileRows]) -> FileRows:
    """A JSON object of one kind."""
    return read(JsonText(file, text_of(file.content)))


def scan_json(file: SourceFile, text: list[str]) -> pl.LazyFrame:
    """A list of rows, all of which decide the schema."""
    return pl.read_json(file.content, infer_schema_length=None).lazy()


def with_numbers(file: SourceFile, table: pl.DataFrame) -> FileRows:
    """The rows of a table, after a check of its numbers, with its columns renamed."""
    columns = table.columns
    there = [name for name in ("score", "label") if name in columns]
    texts: dict[str, pl.Expr] = {name: pl.col(name) for name in there}
    values, faults = numbers(texts, file.numeric)
    fault_of_row = pl.coalesce(*faults)
    wrong = table.select("doc_id", "query_id", fault=fault_of_row).drop_nulls("fault")
    for doc, query, fault in wrong.head(1).iter_rows():
        raise InvalidData(f"{file.name}: {fault}: document {doc!r} of query {query!r}")
    renames = {old: new for old, new in file.columns.items() if old in columns}
    parsed = table.lazy().with_columns(**values)
    return FileRows(file, renamed(parsed, renames, columns), columns)


# _rank_eval of Elasticsearch and OpenSearch


def is_rank_eval(value: Any) -> bool:
    """Whether a value is a request or a response, and no dictionary with a query of such a name."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("requests"), list):
        return True
    details = value.get("details")
    if not isinstance(details, dict):
        return False
    return all(isinstance(detail, dict) and detail for detail in details.values())


def rank_eval(text: JsonText) -> FileRows:
    """The ratings of a request, or the hits of a response with their ratings, then the unrated
    documents.
    """
    file = text.file
    value = text.value
    of_run = file.layout.of_run
    if not is_rank_eval(value):
        raise InvalidData(
            f"{file.name}: this JSON has neither 'requests' nor 'details', as that of _rank_eval "
            "has"
        )
    is_request = isinstance(value.get("requests"), list)
    if is_request and of_run:
        raise InvalidData(
            f"{file.name}: a request of _rank_eval holds ratings; read it by read_qrels"
        )
    rows = _documents(file, value, is_request=is_request)
    failures = value.get("failures")
    if failures:
        names = ", ".join(map(repr, [*failures][:3]))
        n = len(failures)
        warn(f"{file.name}: {n:,} requests failed, and their queries are left out: {names}")
    table = _table_of_hits(rows)
    if not of_run:
        table = table.drop("score", "rank")
    as_text = pl.col(pl.Binary).cast(pl.String)
    return with_numbers(file, table.with_columns(as_text))


def _documents(file: SourceFile, value: Any, *, is_request: bool) -> dict[str, tuple[Hit, ...]]:
    """The documents of each query of a request, or of a response."""
    if is_request:
        requests = value["requests"]
        parts = [(x.get("id") if isinstance(x, dict) else None, x) for x in requests]
    else:
        parts = [*value["details"].items()]
    name = "ratings" if is_request else "hits"
    rows: dict[str, tuple[Hit, ...]] = {}
    for query, part in parts:
        if not isinstance(query, str) or query in rows:
            raise InvalidData(
                f"{file.name}: a request has the 'id' {query!r}; each needs a text of its own"
            )
        documents = part.get(name) if isinstance(part, dict) else None
        if is_request and documents is None:
            documents = ()
        if not isinstance(documents, tuple):
            raise InvalidData(
                f"{file.name}: the documents of query {query!r} must be objects with the texts "
                "'_id' and '_index', and numbers as '_score' and 'rating'"
            )
        rows[query] = documents
    return rows


def _table_of_hits(rows: dict[str, tuple[Hit, ...]]) -> pl.DataFrame:
    """A row for each document of each query, and for each query without documents."""
    schema = {
        "doc_id": pl.String,
        "score": pl.Binary,
        "label": pl.Binary,
        "rank": pl.Int64,
        "index": pl.String,
    }
    queries = []
    documents: list[Hit] = []
    for query, of_query in rows.items():
        given = of_query or NOTHING
        queries += [query] * len(given)
        documents += given
    columns = zip(*documents, strict=True) if documents else [()] * len(schema)
    table = pl.DataFrame(dict(zip(schema, columns, strict=True)), schema=schema)
    query_id = pl.Series("query_id", queries, dtype=pl.String)
    return table.insert_column(0, query_id)


def rated(request: Any) -> list[Hit]:
    """The rated documents of a request."""
    return [document(x, label=x.get("rating")) for x in request["ratings"]]


def hits(detail: Any) -> list[Hit]:
    """The hits of a query with their ratings, then the unrated documents that are not hits."""
    scores = in_order([row["hit"].get("_score") for row in detail["hits"]])
    rows = []
    for rank, (row, score) in enumerate(zip(detail["hits"], scores, strict=True), 1):
        rows.append(document(row["hit"], score, row.get("rating"), rank))
    known = {(doc, index) for doc, *_, index in rows}
    unrated = map(document, detail.get("unrated_docs") or [])
    others = [row for row in unrated if (row[0], row[-1]) not in known]
    return rows + others


def document(given: Any, score: Any = None, label: Any = None, rank: int | None = None) -> Hit:
    """The row of a document; TypeError if a member is of another type."""
    doc = given["_id"]
    index = given.get("_index")
    has_texts = type(doc) is str and type(index) in (str, NoneType)
    has_numbers = type(score) in (bytes, NoneType) and type(label) in (bytes, NoneType)
    if not has_texts or not has_numbers:
        raise TypeError
    return doc, score, label, rank, index


def in_order(scores: list[Any]) -> list[Any]:
    """The scores if they fall in the order of the hits; else 1 / rank, as for results sorted by a
    field.
    """
    is_number = {*map(type, scores)} <= {bytes, NoneType}
    if not is_number or b"NaN" in scores:
        return scores  # a later check refuses them
    if None not in scores:
        values = [*map(float, scores)]
        if values == sorted(values, reverse=True):
            return scores
    ranks = range(1, len(scores) + 1)
    return [repr(1 / rank).encode() for rank in ranks]


# dictionaries of queries


def dictionary(text: JsonText) -> FileRows:
    """The rows of ``{query: {document: number}}``, optionally nested by split, or by subset and
    split.
    """
    file = text.file
    of_run = file.layout.of_run
    members = text.value if isinstance(text.value, dict) else {"": None}
    meta = members.pop(META, None)
    documents = [*queries(file, members)]
    n_levels = {len(names) for names, _ in documents}
    if len(n_levels) > 1:
        raise InvalidData(
            f"{file.name} holds queries at several depths; write those of each to a file"
        )
    levels = LEVELS[-max(n_levels, default=1) :]
    frame = _table_of_ranges(documents, levels)
    rows = frame.drop_in_place("row")
    in_text = text.rows().select(pl.all().gather(rows))
    table = frame.with_columns(in_text)
    model = meta.get("model_name") if isinstance(meta, dict) and of_run else None
    run = {"run": pl.lit(model)} if isinstance(model, str) else {}
    number = pl.col("number").alias("score" if of_run else "label")
    of_query = levels[:-1]
    return with_numbers(file, table.select("query_id", "doc_id", number, *of_query, **run))


def _table_of_ranges(
    documents: list[tuple[tuple[str, ...], range]], levels: tuple[str, ...]
) -> pl.DataFrame:
    """The names around each row, and its number `row`, null for a query without documents."""
    keys = [(*names, rows.start, rows.stop) for names, rows in documents]
    schema = {**dict.fromkeys(levels, pl.String), "start": pl.Int64, "stop": pl.Int64}
    ranges = pl.DataFrame(keys, schema=schema, orient="row")
    numbered = ranges.select(*levels, row=pl.int_ranges("start", "stop"))
    return exploded(numbered, "row")


def queries(
    file: SourceFile, members: Any, around: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], range]]:
    """The rows of each query, and its name after those of the objects around it."""
    for name, docs in members.items():
        names = (*around, name)
        if isinstance(docs, range):
            yield names, docs
        elif docs == {}:
            yield names, range(0)
        elif _holds_objects(docs) and len(names) < len(LEVELS):
            yield from queries(file, docs, names)
        else:
            if isinstance(docs, dict):
                docs = {doc: x for doc, x in docs.items() if not isinstance(x, bytes)}
            where = f"{' / '.join(names)} holds {shown(docs)}"
            raise InvalidData(
                f"{file.name}: {where}, where a query holds a number for each document"
            )


def _holds_objects(docs: Any) -> bool:
    """Whether an object has no number among its members."""
    if not isinstance(docs, dict):
        return False
    return not any(isinstance(x, bytes) for x in docs.values())
