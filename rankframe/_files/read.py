"""The rows of a file of any format, checked while they are read."""

from __future__ import annotations

import glob
import shlex
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import polars as pl

from .._shapes.lists import from_lists
from ..errors import Code, InvalidData, InvalidOption, MissingColumn, RankframeError, Text
from .formats import (
    BINARY,
    CONVERTED,
    HEADERS,
    JUDGMENTS,
    OTHER_NAMES,
    QRELS,
    RUN,
    SUFFIXES,
    Content,
    DType,
    Format,
    Layout,
    Say,
    Source,
    Table,
    beir_folder,
    header_of,
    look,
    spelled,
    suffix_of,
)
from .json_rows import json_rows, listed_rows
from .numbers_in_text import numbers
from .sources import named_content
from .unreadable import as_invalid_data, can_be_read_again, delimiter, refuse_endless_line, refuse_unreadable, start_of

PROBLEM, NUMBER = "__problem", "__number"  # the fault of a row (null: none), and the number of the row


@dataclass(frozen=True)
class Rows:
    """The rows of a file. Rows read from text also have NUMBER and PROBLEM, the fault of the row or null."""

    name: str
    content: Content
    kind: Format | Literal["json"]
    table: pl.LazyFrame
    text: Mapping[str, DType]  # the columns read from text, and their dtypes
    stored: Collection[str]  # the columns' names in the file

    def read(self, *, once: Sequence[str] = (), only: Container[str] | None = None) -> pl.DataFrame:
        """Read the rows, or raise InvalidData; `once` lists columns (if present) whose values together must be unique.

        With `only`, the other columns are not read, and are null.
        """
        with as_invalid_data(self.name, self.content, self.kind):
            table = self.table
            if only is not None:
                own = (*self.text, *once, PROBLEM, NUMBER)
                unread = [name for name in table.collect_schema() if name not in only and name not in own]
                table = table.with_columns(pl.lit(None).alias(name) for name in unread)
            frame = table.collect()
        if self.text:
            problems = frame.get_column(PROBLEM).drop_nulls()
            if not problems.is_empty():
                others = f" (the first of {len(problems):,} malformed lines)" if len(problems) > 1 else ""
                raise InvalidData(problems[0] + others)
        plain = [name for name in once if name in frame.columns and not frame.schema[name].is_nested()]
        if plain and frame.select(plain).hash_rows().n_unique() < frame.height:
            self.refuse_repeated(frame, plain)
        return frame.drop(PROBLEM, NUMBER, strict=False)

    def refuse_repeated(self, frame: pl.DataFrame, once: Sequence[str]) -> None:
        """Refuse two rows with the same values, and name their lines."""
        numbered = frame if NUMBER in frame.columns else frame.with_row_index(NUMBER, 1)
        again = numbered.filter(~pl.struct(once).is_first_distinct())
        if again.is_empty():
            return
        values = again.row(0, named=True)
        first = numbered.filter(pl.col(name).eq_missing(pl.lit(values[name])) for name in once)[NUMBER][0]
        unit = "line" if self.kind == "trec" else "row"
        same = " and ".join(f"{name} {values[name]!r}" for name in once)
        others = f" (the first of {again.height:,} such {unit}s)" if again.height > 1 else ""
        raise InvalidData(
            f"{self.name}, {unit} {values[NUMBER]}: {same} stand on {unit} {first} too; keep one of them{others}"
        )

    def scan(self) -> pl.LazyFrame:
        """The rows as a plan. Each column read from text carries the check, so that no projection can drop it."""
        if not self.text:
            return self.table
        refuse_unreadable(self.name, self.content, self.kind)
        failure = pl.col(PROBLEM).cast(pl.Int8)  # this cast always fails, and its error shows the message
        checked = (
            pl.when(pl.col(PROBLEM).is_null()).then(column).otherwise(failure.cast(dtype)).alias(column)
            for column, dtype in self.text.items()
        )
        return self.table.with_columns(checked).drop(PROBLEM, NUMBER)


def rows(
    source: Source,
    layout: Layout,
    *,
    format: Format | None = None,
    columns: Mapping[str, str] | None = None,
    must: Container[str] = (),
    label_dtype: DType = pl.Int64,
    comments: bool = True,
    say: Say = "{}={!r}".format,
) -> Rows:
    """The rows of a file of any format; `say` spells an option in the advice of errors.

    A column that `columns` renames to one of `must` has to exist, even if a column has the default name. With `comments`, lines of
    TREC text that start with # are skipped.
    """
    columns = renaming(columns)
    numeric: dict[str, DType] = {"score": pl.Float64(), "label": of_labels(label_dtype), "rank": pl.Int64()}
    if format in (None, "beir") and beir_folder(source):
        path, queries = of_beir(Path(source), layout)  # type: ignore[arg-type]
        found = rows(path, layout, format="beir", columns=columns, must=must, label_dtype=label_dtype, say=say)
        return replace(found, table=found.table.join(queries, on="query_id", how="left", maintain_order="left"))
    name, content = named_content(source, layout)
    if format is None and (convert := CONVERTED.get(suffix_of(name))) is not None:
        code = convert.format(repr(name), repr(f"{Path(name).stem}.parquet"))
        raise InvalidOption(
            f"{name} is in a format that is not read; convert it, as with {code}, or {say('format', 'trec')} if it is text"
        )
    kind: Format | Literal["json"] = format if format is not None else SUFFIXES.get(suffix_of(name), "trec")
    if kind not in BINARY and not isinstance(content, bytes) and Path(content).is_dir():
        if format == "beir":
            raise InvalidOption(
                f"{name!r} is no folder of BEIR, since it has no folder 'qrels'; name the file of judgments"
            )
        raise InvalidOption(
            f"{name!r} is a folder; name a file in it, or read all of them: "
            f"pl.concat([rf.{layout.reader}(path) for path in pathlib.Path({name!r}).iterdir()])"
        )
    with as_invalid_data(name, content, kind):
        if format is None and kind == "trec" and can_be_read_again(content):
            kind = look(start_of(content), name, layout)
        if kind not in ("json", "rank_eval", "mteb", *BINARY):
            refuse_endless_line(name, content)
        if kind == "trec":
            return from_lines(content, name, layout, numeric, say, comments=comments)
        if kind == "json" and (as_lines := listed_rows(content, name)) is not None:
            content, kind = as_lines, "ndjson"
        elif kind == "json" or kind == "rank_eval" or kind == "mteb":
            table = json_rows(content, name, layout, kind, numeric["label"])
            if table is not None:
                stored = table.columns
                taken = {old: new for old, new in columns.items() if old in stored}
                table = table.drop({*taken.values()} & {*stored} - {*taken}).rename(taken)
                return Rows(name, content, "json", table.lazy(), {}, stored)
            kind = "ndjson"
        tool: str | None = None
        if kind == "beir" or kind == "quepid":
            tool, kind = kind, SUFFIXES.get(suffix_of(name), "tsv" if kind == "beir" else "csv")
        return from_table(content, name, layout, numeric, kind, tool, columns, must, say)


def of_beir(folder: Path, layout: Layout) -> tuple[Path, pl.LazyFrame]:
    """The path of the judgments in a folder of BEIR (of several splits, ``test``), and the texts of the queries."""
    if layout.reader == "read_run":
        raise InvalidOption(f"{spelled(str(folder))!r} is a folder of BEIR, which holds no run; {JUDGMENTS}")
    splits = {path.stem: path for path in sorted((folder / "qrels").glob("*.tsv"))}
    split = "test" if len(splits) > 1 else next(iter(splits), "test")
    if split not in splits:
        known = ", ".join(splits) or "no split"
        raise InvalidOption(f"{spelled(str(folder / 'qrels'))} has {known}, and no test.tsv; name one of its files")
    texts = folder / "queries.jsonl"
    if not texts.is_file():
        return splits[split], pl.LazyFrame(schema={"query_id": pl.String, "query_text": pl.String})
    with as_invalid_data(spelled(str(texts)), texts, "ndjson"):
        table = pl.read_ndjson(texts.read_bytes(), schema={"_id": pl.String, "text": pl.String})
    again = table.filter(pl.col("_id").is_duplicated())
    if not again.is_empty():
        raise InvalidData(f"{spelled(str(texts))}: several queries have the _id {again[0, 0]!r}; keep one of them")
    return splits[split], table.lazy().rename({"_id": "query_id", "text": "query_text"})


def renaming(columns: Mapping[str, str] | None) -> Mapping[str, str]:
    """Check the new names of columns: each is used once."""
    if columns is None:
        return {}
    names = list(columns.values())
    if twice := [name for name in names if names.count(name) > 1]:
        raise InvalidOption(f"columns={columns!r}: two columns would be named {twice[0]!r}; rename one of them")
    return columns


def of_labels(dtype: DType) -> DType:
    """Check that labels can be read as the type."""
    is_type = isinstance(dtype, pl.DataType) or (isinstance(dtype, type) and issubclass(dtype, pl.DataType))
    if not is_type or not (dtype.is_integer() or dtype.is_float() or dtype == pl.String):
        raise InvalidOption(
            f"label_dtype={dtype!r}: write a type of whole numbers or floats, as pl.Int64 or pl.Float64, or pl.String to keep "
            "labels as they are written"
        )
    return dtype


def from_lines(
    content: Content, name: str, layout: Layout, numeric: Mapping[str, DType], say: Say, *, comments: bool
) -> Rows:
    """TREC text: fields separated by C's white space, as in trec_eval; an id may hold a no-break space."""
    fields = pl.col("fields")
    n_fields, n = fields.list.len(), len(layout.fields)
    lines = (
        pl.scan_lines(content, name="line", row_index_name=NUMBER, row_index_offset=1, glob=False)
        .with_columns(fields=pl.col("line").str.strip_prefix("\ufeff").str.extract_all(r"[^ \t\r\x0b\x0c]+"))
        .filter(n_fields > 0)
    )
    if comments:
        lines = lines.filter(fields.list.first().str.starts_with("#").not_())
    text = {field: fields.list.get(i, null_on_oob=True) for i, field in enumerate(layout.fields) if field}
    values, misread = numbers(text, numeric)
    unit = pl.when(n_fields == 1).then(pl.lit("field")).otherwise(pl.lit("fields"))
    miscounted = pl.format("{} {} instead of {}", pl.when(n_fields != n).then(n_fields), unit, pl.lit(n))
    other = QRELS if layout.reader == RUN.reader else RUN
    mistaken = pl.lit(f", a line of {other.holds}. Name the file of {layout.holds}, with lines '{layout.line}'")
    advice = pl.lit(f". Write '{layout.line}', or say {say('format', 'csv')} if it is a table")
    problem = pl.format(
        "{}, line {}: {} in '{}'{}",
        pl.lit(name),
        NUMBER,
        pl.coalesce(miscounted, *misread),
        pl.col("line").str.head(200),
        pl.when(n_fields == len(other.fields)).then(mistaken).otherwise(advice),
    )
    dtypes = {field: numeric.get(field, pl.String()) for field in text}
    return Rows(name, content, "trec", lines.select(NUMBER, **values, **{PROBLEM: problem}), dtypes, tuple(text))


def from_table(
    content: Content,
    name: str,
    layout: Layout,
    numeric: Mapping[str, DType],
    kind: Table,
    tool: str | None,
    columns: Mapping[str, str],
    must: Container[str],
    say: Say,
) -> Rows:
    """A file with named columns. CSV has no types: ids stay text, scores and labels must be numbers."""
    if kind not in BINARY and is_empty(content):
        schema = {column: numeric.get(column, pl.String()) for column in layout.needed}
        return Rows(name, content, kind, pl.LazyFrame(schema=schema), {}, tuple(columns))
    ids = [*OTHER_NAMES, *(old for old, new in columns.items() if new in OTHER_NAMES)]
    stored = [column for column in scan_table(content, kind, ids).collect_schema().names() if column != NUMBER]
    for old, new in columns.items():
        if new in must and old not in stored:
            raise MissingColumn(f"no column {old!r} for {new} in {name}; it has {', '.join(stored)}")
    renames = {old: new for old, new in columns.items() if old in stored}
    found = [renames.get(column, column) for column in stored]
    lacking = [column for column in layout.needed if column not in found]
    header = header_of(stored, layout, tool) if lacking or tool else None
    if tool and header is None:
        known = " or ".join(",".join(x.columns) for x in HEADERS if x.tool == tool)
        raise MissingColumn(
            f"{name} has {', '.join(stored)}, and no header of {tool}, as {known}; {say('format', kind)}"
        )
    if header is not None:
        taken = {*renames.values()}
        renames = {**{old: new for old, new in header.columns.items() if new not in taken}, **renames}
        found = [renames.get(column, column) for column in stored]
        lacking = [column for column in layout.needed if column not in (*found, "score" if "rank" in found else "")]
        if lacking:
            raise MissingColumn(f"{name} holds {header.holds}, without {' and '.join(lacking)}; {header.instead}")
    if kind in ("csv", "tsv"):
        refuse_twice(name, content, kind, stored, [*OTHER_NAMES, *renames])
    text = dict.fromkeys([*OTHER_NAMES, *(header.columns.values() if header else ())])
    table = scan_table(content, kind, [*text, *(old for old, new in renames.items() if new in text)])
    table = table.drop({*renames.values()} & {*stored} - {*renames}).rename(renames)
    if lacking and "doc_id" not in found and (lists := of_lists(table, name, layout)) is not None:
        return Rows(name, content, kind, lists, {}, stored)
    if lacking:
        told = [column for column in layout.told if column not in found]
        raise MissingColumn(*missing(name, lacking, told, stored, say))
    dtypes: dict[str, DType] = {}
    if kind in ("csv", "tsv"):
        raw = {column: pl.col(column) for column in text if column in found}
        if header is not None and header.tool == "quepid":  # Quepid puts a space before formulas
            unescaped = {x: pl.col(x).str.replace("^ ([-=+@])", "${1}") for x in ("query_id", "doc_id")}
            table = table.with_columns(**unescaped)
        values, misread = numbers(raw, numeric)
        empty = "; leave the field empty for a document that was not retrieved"
        nan = raw["score"].cast(pl.Float64, strict=False).is_nan() if "score" in raw else pl.lit(False)
        advice = pl.when(nan).then(pl.lit(empty)).otherwise(pl.lit(""))
        problem = pl.format(
            "{}, row {}: {}{}", pl.lit(name), NUMBER, pl.coalesce(pl.lit(None, pl.String), *misread), advice
        )
        dtypes = {column: numeric.get(column, pl.String()) for column in raw}
        table = table.with_columns(**values, **{PROBLEM: problem})
    if header is not None and "rank" in found and "score" not in found:
        table = table.with_columns(score=1 / pl.col("rank"))
        dtypes |= {"score": pl.Float64()} if dtypes else {}
    return Rows(name, content, kind, table, dtypes, stored)


def of_lists(table: pl.LazyFrame, name: str, layout: Layout) -> pl.LazyFrame | None:
    """The long table of rows with lists of documents; None if there are none."""
    columns = table.collect_schema().names()
    is_run = layout.reader == "read_run"
    if ("retrieved" if is_run else "relevant") not in columns or "query_id" not in columns:
        return None
    if not is_run:
        table = table.drop("retrieved", "scores", strict=False).with_columns(retrieved=pl.lit([], pl.List(pl.Null)))
    schema = table.collect_schema()
    relevant, scores, labels = (role if role in schema else None for role in ("relevant", "scores", "labels"))
    carry = [column for column in schema if column not in ("query_id", "retrieved", relevant, scores, labels)]
    try:
        long = from_lists(table, relevant=relevant, scores=scores, labels=labels, carry=carry)
    except RankframeError as error:
        raise type(error)(f"{name}: ", *error.parts) from error
    return long if is_run else long.drop("score")


def scan_table(content: Content, kind: Table, text: list[str]) -> pl.LazyFrame:
    """The table as stored; of CSV, the columns `text` unparsed, and NUMBER, the number of the row."""
    if kind == "parquet":
        return pl.scan_parquet(content, glob=False)
    if kind == "ipc":
        return pl.scan_ipc(content, glob=False)
    if kind == "ndjson":
        # All rows decide the schema: the first ones may suggest a wrong type, or lack a column.
        plain = isinstance(content, bytes) or not can_be_read_again(content)
        return pl.scan_ndjson(content if plain else glob.escape(str(content)), infer_schema_length=None)
    return pl.scan_csv(
        content,
        separator=delimiter(kind),
        schema_overrides=dict.fromkeys(text, pl.String),
        infer_schema_length=10_000,
        row_index_name=NUMBER,
        row_index_offset=1,
        glob=False,
    )


def refuse_twice(name: str, content: Content, kind: Table, stored: Sequence[str], roles: Iterable[str]) -> None:
    """Refuse a header that names a needed column twice."""
    renamed = [column for column in roles if f"{column}_duplicated_0" in stored]  # Polars renames the second one so
    if renamed:
        header = pl.scan_csv(content, separator=delimiter(kind), has_header=False, infer_schema=False, glob=False)
        names = header.head(1).collect().row(0)
        for column in renamed:
            if names.count(column) > 1:
                raise InvalidData(
                    f"{name}: {names.count(column)} columns are named {column!r}; give each a name of its own"
                )


def is_empty(content: Content) -> bool:
    """Whether a source has no bytes at all."""
    if isinstance(content, bytes):
        return not content
    return Path(content).is_file() and not Path(content).stat().st_size


def missing(name: str, lacking: list[str], told: list[str], found: list[str], say: Say) -> tuple[Text, ...]:
    """The advice for missing columns: another separator, new names for the likely ones, else how to name columns."""
    mark = next((mark for mark in "\t;|," if len(found) == 1 and mark in found[0]), None)
    if mark in ("\t", ","):
        return (f"{name} separates its columns by {mark!r}; say {say('format', 'tsv' if mark != ',' else 'csv')}",)
    if mark is not None:
        convert = f"{shlex.join(['tr', mark, ','])} < {shlex.quote(name)} > commas.csv"
        read = Code(f"read it with pl.read_csv({name!r}, separator={mark!r})", command=f"convert it, as with {convert}")
        return f"{name} separates its columns by {mark!r}, not by commas; ", read
    plain = {column.lower().replace("-", "_"): column for column in reversed(found)}
    meant: dict[str, str] = {}
    for new in (*lacking, *told):
        usual = (plain[other] for other in (new, *OTHER_NAMES[new]) if other in plain)
        if (old := next((name for name in usual if name not in meant), None)) is not None:
            meant[old] = new
    lacking = [*lacking, *(new for new in told if new in meant.values())]
    problem = f"no column {', '.join(map(repr, lacking))} in {name}; it has {', '.join(found)}"
    if len(meant) == len(lacking):
        return (f"{problem}. Say {say('columns', meant)}",)
    known = {new: old for old, new in meant.items()}
    named = say("columns", {known.get(new, f"its {new.removesuffix('_id')} column"): new for new in lacking})
    return (f"{problem}. Say {named}, or {say('format', 'trec')} if it is TREC text",)
