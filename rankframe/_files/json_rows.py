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
        self.file, self.n = file, 0
        self.batches = [pl.DataFrame(schema={"doc_id": pl.String, "number": pl.String})]
        self.docs: list[str] = []
        self.numbers: list[bytes] = []
        kinds: dict[str, Any] = dict.fromkeys(
            ("parse_float", "parse_int", "parse_constant"), str.encode
        )
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
            with suppress(
                AttributeError, KeyError, TypeError
            ):  # rank_eval refuses what stays a list
                members[name] = tuple(rated(members) if name == "ratings" else hits(members))
        if not pairs or type(pairs[0][1]) is not bytes or {*map(type, members.values())} != {bytes}:
            return members
        self.docs += members
        self.numbers += members.values()
        self.n += len(members)
        if len(self.docs) >= BATCH:
            self._close()
        return range(self.n - len(members), self.n)

    def rows(self) -> pl.DataFrame:
        """The rows of all ranges."""
        self._close()
        return pl.concat(self.batches)

    def _close(self) -> None:
        texts = pl.Series(self.numbers, dtype=pl.Binary).cast(pl.String)
        self.batches.append(
            pl.DataFrame({"doc_id": pl.Series(self.docs, dtype=pl.String), "number": texts})
        )
        self.docs, self.numbers = [], []


def from_json(file: SourceFile) -> FileRows:
    """A JSON object of any kind, or a row, or a list of rows."""
    text = text_of(file.content)
    if re.match(r"\s*\[", text) is None:
        json_text = JsonText(file, text)
        found = json_text.value
        if is_rank_eval(found):
            return rank_eval(json_text)
        name, value = next(iter(found.items()), ("", {})) if isinstance(found, dict) else ("", None)
        if (
            name in BY_COLUMN
            and sum(x in BY_COLUMN and isinstance(found[x], dict | list | range) for x in found) > 1
        ):
            raise InvalidData(
                f"{file.name}: this JSON object has a member for each column; write one for "
                "each row"
            )
        if isinstance(value, dict | range):
            return dictionary(json_text)
    return from_table(replace(file, content=text.encode()))


def from_object(file: SourceFile, *, read: Callable[[JsonText], FileRows]) -> FileRows:
    """A JSON object of one kind."""
    return read(JsonText(file, text_of(file.content)))


def scan_json(file: SourceFile, text: list[str]) -> pl.LazyFrame:
    """A list of rows, all of which decide the schema."""
    return pl.read_json(file.content, infer_schema_length=None).lazy()


def with_numbers(file: SourceFile, table: pl.DataFrame) -> FileRows:
    """The rows of a table, after a check of its numbers, with its columns renamed."""
    texts: dict[str, pl.Expr] = {
        name: pl.col(name) for name in ("score", "label") if name in table.columns
    }
    values, faults = numbers(texts, file.numeric)
    wrong = table.select("doc_id", "query_id", fault=pl.coalesce(*faults)).drop_nulls("fault")
    for doc, query, fault in wrong.head(1).iter_rows():
        raise InvalidData(f"{file.name}: {fault}: document {doc!r} of query {query!r}")
    renames = {old: new for old, new in file.columns.items() if old in table.columns}
    return FileRows(
        file, renamed(table.lazy().with_columns(**values), renames, table.columns), table.columns
    )


# _rank_eval of Elasticsearch and OpenSearch


def is_rank_eval(found: Any) -> bool:
    """Whether a value is a request or a response, and no dictionary with a query of such a name."""
    if not isinstance(found, dict):
        return False
    details = found.get("details")
    response = isinstance(details, dict) and all(
        isinstance(x, dict) and x for x in details.values()
    )
    return response or isinstance(found.get("requests"), list)


def rank_eval(text: JsonText) -> FileRows:
    """The ratings of a request, or the hits of a response with their ratings, then the unrated
    documents.
    """
    file, found, of_run = text.file, text.value, text.file.layout.of_run
    if not is_rank_eval(found):
        raise InvalidData(
            f"{file.name}: this JSON has neither 'requests' nor 'details', as that of "
            "_rank_eval has"
        )
    if is_request := isinstance(found.get("requests"), list):
        if of_run:
            raise InvalidData(
                f"{file.name}: a request of _rank_eval holds ratings; read it by read_qrels"
            )
        parts = [(x.get("id") if isinstance(x, dict) else None, x) for x in found["requests"]]
    else:
        parts = [*found["details"].items()]
    rows: dict[str, Any] = {}
    for query, part in parts:
        if not isinstance(query, str) or query in rows:
            raise InvalidData(
                f"{file.name}: a request has the 'id' {query!r}; each needs a text of its own"
            )
        found_rows = (
            part.get("ratings" if is_request else "hits") if isinstance(part, dict) else None
        )
        rows[query] = () if is_request and found_rows is None else found_rows
        if not isinstance(rows[query], tuple):
            texts = (
                "objects with the texts '_id' and '_index', and numbers as '_score' and 'rating'"
            )
            raise InvalidData(f"{file.name}: the documents of query {query!r} must be {texts}")
    if failed := found.get("failures"):
        names = ", ".join(map(repr, [*failed][:3]))
        warn(
            f"{file.name}: {len(failed):,} requests failed, and their queries are left out: {names}"
        )
    schema = {
        "doc_id": pl.String,
        "score": pl.Binary,
        "label": pl.Binary,
        "rank": pl.Int64,
        "index": pl.String,
    }
    flat = [(query, row) for query, of_query in rows.items() for row in of_query or NOTHING]
    columns = zip(*(row for _, row in flat), strict=True) if flat else [()] * len(schema)
    table = pl.DataFrame(dict(zip(schema, columns, strict=True)), schema=schema)
    table.insert_column(0, pl.Series("query_id", [query for query, _ in flat], dtype=pl.String))
    own = table if of_run else table.drop("score", "rank")
    return with_numbers(file, own.with_columns(pl.col(pl.Binary).cast(pl.String)))


def rated(request: Any) -> list[Hit]:
    """The rated documents of a request."""
    return [document(x, label=x.get("rating")) for x in request["ratings"]]


def hits(detail: Any) -> list[Hit]:
    """The hits of a query with their ratings, then the unrated documents that are not hits."""
    scores = in_order([row["hit"].get("_score") for row in detail["hits"]])
    places = enumerate(zip(detail["hits"], scores, strict=True), 1)
    found = [document(row["hit"], score, row.get("rating"), rank) for rank, (row, score) in places]
    known = {(doc, index) for doc, *_, index in found}
    unrated = map(document, detail.get("unrated_docs") or [])
    return [*found, *(row for row in unrated if (row[0], row[-1]) not in known)]


def document(given: Any, score: Any = None, label: Any = None, rank: int | None = None) -> Hit:
    """The row of a document; TypeError if a member is of another type."""
    doc, index = given["_id"], given.get("_index")
    texts = type(doc) is str and (index is None or type(index) is str)
    if (
        not texts
        or not (score is None or type(score) is bytes)
        or not (label is None or type(label) is bytes)
    ):
        raise TypeError
    return doc, score, label, rank, index


def in_order(scores: list[Any]) -> list[Any]:
    """The scores if they fall in the order of the hits; else 1 / rank, as for results sorted by a
    field.
    """
    refused = not {*map(type, scores)} <= {bytes, NoneType} or b"NaN" in scores
    if refused or (None not in scores and (x := [*map(float, scores)]) == sorted(x, reverse=True)):
        return scores
    return [repr(1 / rank).encode() for rank in range(1, len(scores) + 1)]


# dictionaries of queries


def dictionary(text: JsonText) -> FileRows:
    """The rows of ``{query: {document: number}}``, optionally nested by split, or by subset and
    split.
    """
    file, of_run, found = (
        text.file,
        text.file.layout.of_run,
        text.value if isinstance(text.value, dict) else {"": None},
    )
    meta = found.pop(META, None)
    documents = [*queries(file, found)]
    if len({len(names) for names, _ in documents}) > 1:
        raise InvalidData(
            f"{file.name} holds queries at several depths; write those of each to a file"
        )
    levels = LEVELS[-len(documents[0][0]) :] if documents else LEVELS[-1:]
    keys = [(*names, rows.start, rows.stop) for names, rows in documents]
    schema = {**dict.fromkeys(levels, pl.String), "start": pl.Int64, "stop": pl.Int64}
    frame = pl.DataFrame(keys, schema=schema, orient="row").select(
        *levels, row=pl.int_ranges("start", "stop")
    )
    frame = exploded(frame, "row")  # null for a query without documents
    table = frame.with_columns(text.rows().select(pl.all().gather(frame.drop_in_place("row"))))
    run = meta.get("model_name") if isinstance(meta, dict) and of_run else None
    named = {"run": pl.lit(run)} if isinstance(run, str) else {}
    number = pl.col("number").alias("score" if of_run else "label")
    return with_numbers(file, table.select("query_id", "doc_id", number, *levels[:-1], **named))


def queries(
    file: SourceFile, found: Any, around: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], range]]:
    """The rows of each query, and its name after those of the objects around it."""
    for name, docs in found.items():
        names = (*around, name)
        others = (
            {doc: x for doc, x in docs.items() if not isinstance(x, bytes)}
            if isinstance(docs, dict)
            else docs
        )
        if isinstance(docs, range) or docs == {}:
            yield names, docs if isinstance(docs, range) else range(0)
        elif isinstance(docs, dict) and len(others) == len(docs) and len(names) < len(LEVELS):
            yield from queries(file, docs, names)
        else:
            where = f"{' / '.join(names)} holds {shown(others)}"
            raise InvalidData(
                f"{file.name}: {where}, where a query holds a number for each document"
            )
