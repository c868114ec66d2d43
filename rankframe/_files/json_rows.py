"""The rows of JSON files: requests and responses of ``_rank_eval``, and dictionaries such as mteb's predictions.

A text is read piece by piece, so that only one query's documents are Python objects at a time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from types import NoneType
from typing import Any, TypeAlias, cast

import polars as pl

from ..errors import InvalidData, warn
from .read import OTHER_NAMES, DType, FileFormat, FileRows, SourceFile, numbers
from .sources import text_of

Value: TypeAlias = "str | bytes | bool | list[Value] | dict[str, Value] | None"
"""A value of JSON; a number is the bytes as which it is written, and is parsed as the numbers of other text are."""

BATCH = 100_000
"""The number of rows held as Python objects before they become columns."""

PARTS = ("templates", "requests", "metric", "max_concurrent_searches", "metric_score", "details", "failures")
"""The members of a request of ``_rank_eval`` and of a response."""

BY_COLUMN = {"columns", "index", "data", "schema"}.union(OTHER_NAMES, *OTHER_NAMES.values())
"""Members of a JSON object that pandas writes by column, in any orientation."""

META = "mteb_model_meta"
LEVELS = ("subset", "split")
"""The levels of objects around mteb's queries, outermost first."""

BLANK = re.compile(r"[ \t\n\r]*")
FIRST = re.compile(r'\{\s*(?:"((?:[^"\\]|\\.)*)"\s*:\s*(.?))?')
"""The first member of an object, and the first character of its value."""

AT = "#at"  # the position of a row in the text
TYPES = {AT: pl.Int64(), "rank": pl.Int64(), "score": pl.Binary(), "label": pl.Binary()}


class JsonText:
    """A JSON text and a position in it. Each method reads at the position and moves it past the token or value."""

    def __init__(self, file: SourceFile) -> None:
        self.file, self.text, self.at = file, text_of(file.content), 0
        self.decoder = json.JSONDecoder(
            object_pairs_hook=self._object, parse_float=str.encode, parse_int=str.encode, parse_constant=str.encode
        )

    def next(self) -> str:
        """The next character that is not blank, without passing it; empty at the end."""
        self.at = cast("re.Match[str]", BLANK.match(self.text, self.at)).end()
        return self.text[self.at : self.at + 1]

    def value(self) -> Value:
        """Read the next value."""
        self.next()
        try:
            value, self.at = self.decoder.raw_decode(self.text, self.at)
        except json.JSONDecodeError as error:
            raise self.fault(f"{error.msg[0].lower()}{error.msg[1:]}; is the file whole?", error.pos) from error
        except RecursionError as error:  # thousands of lists in lists
            raise self.fault(f"JSON that cannot be read ({error})") from error
        return cast("Value", value)

    def parts(self, ends: str) -> Iterator[int]:
        """The positions of the members of an object or list; the caller reads each before it asks for the next."""
        self._pass(ends[0])
        if self.next() != ends[1]:
            yield self.at
        while self.next() != ends[1]:
            self._pass(",", f"{ends[1]!r} or ','")
            self.next()
            yield self.at
        self.at += 1

    def members(self) -> Iterator[str]:
        """The names of an object's members; the caller reads the value of each before it asks for the next."""
        known: set[str] = set()
        for start in self.parts("{}"):
            name = self.value()
            if not isinstance(name, str):
                raise self.fault(
                    f"{self.text[start : start + 40]!r} where the name of a member must be, in double quotes", start
                )
            if name in known:
                raise self.fault(f"{name!r} stands twice in one object; keep one of them", start)
            known.add(name)
            self._pass(":")
            yield name

    def first(self) -> tuple[str, str]:
        """The name of an object's first member and the first character of its value, without passing them."""
        name, begin = cast("re.Match[str]", FIRST.match(self.text, self.at)).groups("")
        return name, begin

    def end(self) -> None:
        """Refuse further text."""
        if self.next():
            raise self.fault(f"{self.text[self.at : self.at + 40]!r} after the end of the JSON value")

    def fault(self, problem: str, at: int | None = None) -> InvalidData:
        """The error for a problem at a position, by default the present one."""
        place = self.at if at is None else at
        line, column = self.text.count("\n", 0, place) + 1, place - self.text.rfind("\n", 0, place)
        return InvalidData(f"{self.file.name}, line {line}, column {column}: {problem}")

    def _pass(self, mark: str, expected: str = "") -> None:
        if (found := self.next()) != mark:
            there = "the end of the file" if not found else repr(self.text[self.at : self.at + 40])
            raise self.fault(f"{there} where {expected or repr(mark)} must be")
        self.at += 1

    def _object(self, pairs: list[tuple[str, Value]]) -> dict[str, Value]:
        """The object of these members; a repeated name is refused, so that no value is lost."""
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise self.fault(f"an object from here has {twice!r} twice; keep one of them")
        return found


class JsonColumns:
    """Columns that grow query by query; scores and labels are checked as those of other text."""

    def __init__(self, text: JsonText, *names: str) -> None:
        self.text, self.batches = text, list[pl.DataFrame]()
        self.schema: dict[str, DType] = {x: TYPES.get(x, pl.String()) for x in (*names, AT)}
        self.values: dict[str, list[Any]] = {name: [] for name in self.schema}

    def add(self, docs: Sequence[str], columns: Mapping[str, Sequence[Value]], **same: str | None) -> None:
        """Add a query's rows, with the constants `same`; a query without documents gets one row."""
        for column in {"score", "label"} & columns.keys():
            if not {*map(type, columns[column])} <= {bytes, NoneType}:
                doc, x = next(x for x in zip(docs, columns[column], strict=True) if type(x[1]) not in (bytes, NoneType))
                raise self.text.fault(
                    f"{column} {x!r} of document {doc!r} of query {same['query_id']!r} is not a number"
                )
        given = {"doc_id": docs, **columns} if docs else {}
        fixed = {**same, AT: self.text.at}
        for name, values in self.values.items():
            values.extend([fixed[name]] * max(len(docs), 1) if name in fixed else given.get(name, [None]))
        if len(self.values[AT]) >= BATCH:
            self._close()

    def frame(self) -> pl.DataFrame:
        """The rows."""
        self._close()
        return pl.concat(self.batches)

    def _close(self) -> None:
        frame = pl.DataFrame(self.values, schema=self.schema).with_columns(pl.col(pl.Binary).cast(pl.String))
        self.values = {name: [] for name in self.schema}
        texts: dict[str, pl.Expr] = {name: pl.col(name) for name in ("score", "label") if name in self.schema}
        values, faults = numbers(texts, self.text.file.numeric)
        wrong = frame.select(AT, "doc_id", "query_id", fault=pl.coalesce(*faults)).drop_nulls("fault")
        for at, doc, query, fault in wrong.head(1).iter_rows():
            raise self.text.fault(f"{fault}: document {doc!r} of query {query!r}", at)
        self.batches.append(frame.with_columns(**values).drop(AT))


def from_json(file: SourceFile, *, lines: FileFormat) -> FileRows:
    """A JSON object of any kind, or a list of rows, which are read as JSON `lines`."""
    text = JsonText(file)
    if text.next() == "[":
        found: list[str] = []
        for start in text.parts("[]"):
            if not isinstance(text.value(), dict):
                n = len(found) + 1
                raise InvalidData(f"{file.name}: element {n} of the list is no object; write one for each document")
            found.append(text.text[start : text.at].replace("\n", " "))
        text.end()
        return lines.read(replace(file, content="\n".join(found).encode(), format=lines))
    if text.next() != "{":
        raise text.fault("neither a JSON object nor a list of rows starts here")
    start, (member, begin) = text.at, text.first()
    if member in PARTS:
        if (table := rank_eval(text)) is not None:
            return read_at_once(file, table)
        text.at = start
    if member in BY_COLUMN:
        members = cast("dict[str, Value]", text.value())
        if sum(name in BY_COLUMN and isinstance(x, (dict, list)) for name, x in members.items()) > 1:
            raise InvalidData(f"{file.name}: this JSON object has a member for each column; write one for each row")
        text.at = start
    if "\n" not in text.text.strip() and begin not in ("{", ""):
        return lines.read(replace(file, format=lines))
    return read_at_once(file, dictionary(text))


def from_object(file: SourceFile, *, read: Callable[[JsonText], pl.DataFrame | None]) -> FileRows:
    """A JSON object of one kind."""
    table = read(JsonText(file))
    if table is None:
        raise InvalidData(
            f"{file.name}: this JSON object has neither 'requests' nor 'details', as those of _rank_eval have"
        )
    return read_at_once(file, table)


def read_at_once(file: SourceFile, table: pl.DataFrame) -> FileRows:
    """The rows of a table that was read, with its columns renamed."""
    stored = table.columns
    taken = {old: new for old, new in file.columns.items() if old in stored}
    table = table.drop({*taken.values()} & {*stored} - {*taken}).rename(taken)
    return FileRows(file, table.lazy(), stored)


# _rank_eval of Elasticsearch and OpenSearch


def rank_eval(text: JsonText) -> pl.DataFrame | None:
    """The ratings of a request, or the hits of a response with their ratings; None if it is neither."""
    found, failed = None, None
    for member in text.members():
        if member == "requests" and text.next() == "[":
            if text.file.layout.of_run:
                raise text.fault("a request of _rank_eval holds ratings, and no results; give it as the judgments")
            found = requests(text)
        elif member == "details" and text.next() == "{":
            found = details(text)
            if found is None:
                return None
        elif member == "failures":
            failed = text.value()
        else:
            text.value()
    text.end()
    if found is not None and failed and isinstance(failed, dict):
        names = ", ".join(map(repr, [*failed][:3]))
        warn(f"{text.file.name}: {len(failed):,} requests failed, and their queries are left out: {names}")
    return found


def requests(text: JsonText) -> pl.DataFrame:
    """The rated documents of each request."""
    found, known = JsonColumns(text, "query_id", "doc_id", "label", "index"), set[str]()
    for start in text.parts("[]"):
        request = text.value()
        query = request.get("id") if isinstance(request, dict) else None
        if not isinstance(request, dict) or not isinstance(query, str):
            raise text.fault("a request needs a text 'id'", start)
        if query in known:
            raise text.fault(f"the id {query!r} is that of an earlier request too; give each its own", start)
        known.add(query)
        rated = documents(text, query, request.get("ratings") or [], "ratings")
        columns = {"label": [x.get("rating") for x in rated], "index": [x.get("_index") for x in rated]}
        found.add([x["_id"] for x in rated], columns, query_id=query)
    return found.frame()


def details(text: JsonText) -> pl.DataFrame | None:
    """The hits of each query with their ratings, then the unrated documents that are not hits."""
    found = JsonColumns(text, "query_id", "doc_id", "score", "label", "rank", "index")
    for query in text.members():
        detail = text.value()
        rows = detail.get("hits") if isinstance(detail, dict) else None
        if not isinstance(rows, list):
            if not isinstance(detail, dict) or {*map(type, detail.values())} <= {bytes}:
                return None  # a dictionary of scores with a query named "details"
            raise text.fault(f"the details of query {query!r} have no list of 'hits'")
        rated = [row for row in rows if isinstance(row, dict) and isinstance(row.get("hit"), dict)]
        if len(rated) < len(rows):
            raise text.fault(f"a hit of query {query!r} is no object with a 'hit' and its 'rating'")
        hits = documents(text, query, [row["hit"] for row in rated], "hits")
        shown = {(x.get("_index"), x["_id"]) for x in hits}
        unrated = documents(text, query, cast("Any", detail).get("unrated_docs") or [], "unrated_docs")
        docs = [*hits, *(x for x in unrated if (x.get("_index"), x["_id"]) not in shown)]
        beyond = [None] * (len(docs) - len(hits))
        columns: dict[str, list[Any]] = {
            "score": [*in_order([x.get("_score") for x in hits]), *beyond],
            "label": [*(row.get("rating") for row in rated), *beyond],
            "rank": [*range(1, len(hits) + 1), *beyond],
            "index": [x.get("_index") for x in docs],
        }
        found.add([x["_id"] for x in docs], columns, query_id=query)
    frame = found.frame()
    return frame if text.file.layout.of_run else frame.drop("score", "rank")


def documents(text: JsonText, query: str, found: Value, member: str) -> list[dict[str, Any]]:
    """The documents, after a check that each has a text id."""
    listed = found if isinstance(found, list) else [found]
    known = [x for x in listed if isinstance(x, dict) and isinstance(x.get("_id"), str)]
    if len(known) < len(listed) or not all(isinstance(x.get("_index"), (str, NoneType)) for x in known):
        raise text.fault(f"the {member} of query {query!r} must be objects with the texts '_index' and '_id'")
    return known


def in_order(scores: list[Value]) -> list[Value]:
    """The scores if they fall in the order of the hits; else 1 / rank, as for results sorted by a field."""
    values = [float(x) if isinstance(x, bytes) else x for x in scores]
    falls = all(isinstance(x, float) and isinstance(y, float) and x >= y for x, y in pairwise(values))
    refused = not {*map(type, values)} <= {float, NoneType} or any(x != x for x in values)
    if refused or (falls and None not in values):
        return scores
    return [repr(1 / rank).encode() for rank in range(1, len(scores) + 1)]


# dictionaries of queries


def dictionary(text: JsonText) -> pl.DataFrame:
    """The rows of ``{query: {document: number}}``, optionally nested by split, or by subset and split."""
    column = "score" if text.file.layout.of_run else "label"
    meta: dict[str, Value] = {}
    found: JsonColumns | None = None
    for around, query, docs in queries(text, meta):
        outer = LEVELS[len(LEVELS) - len(around) :]
        found = found or JsonColumns(text, "query_id", "doc_id", column, *outer)
        if outer != tuple(x for x in LEVELS if x in found.schema):
            raise text.fault(
                f"{query!r} holds no objects, or one more deeply, where those before it do; take its file apart"
            )
        found.add([*docs], {column: [*docs.values()]}, query_id=query, **dict(zip(outer, around, strict=True)))
    text.end()
    table = (found or JsonColumns(text, "query_id", "doc_id", column)).frame()
    model = meta.get("model_name")
    run = {"run": pl.lit(model)} if isinstance(model, str) and column == "score" else {}
    return table.with_columns(**run)


def queries(
    text: JsonText, meta: dict[str, Value], around: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str, dict[str, Value]]]:
    """Each query with its documents, and the names of the objects around it; mteb's object about the model goes to `meta`."""
    for name in text.members():
        start = text.at
        if text.next() != "{":
            raise text.fault(f"the value of {name!r} is no object, as those of queries and their documents are", start)
        if len(around) < len(LEVELS) and text.first()[1] == "{" and (name != META or around):
            yield from queries(text, meta, (*around, name))
            continue
        found = cast("dict[str, Value]", text.value())
        if name == META and not around:
            meta.update(found)
        else:
            yield around, name, found
