"""Steps on a table that an error advises, as code for Polars and for pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from ..errors import Code, Text


def renamed(new: Mapping[str, str], *, frame: str = "df") -> Code:
    """Rename columns; ``...`` is a name that the reader chooses."""
    pairs = (f"{old!r}: {name if name == '...' else repr(name)}" for old, name in new.items())
    names = f"{{{', '.join(pairs)}}}"
    return Code(f"{frame}.rename({names})", f"{frame}.rename(columns={names})", phrase=", as with {}")


def cast(name: str, dtype: pl.DataType, *, frame: str = "df", of_words: bool = False) -> Code:
    """Cast a column; categories are cast by way of text."""
    text = ".cast(pl.String)" if of_words else ""
    in_pandas = "str" if dtype == pl.String else repr(_in_pandas(dtype))
    return Code(
        f"{frame}.with_columns(pl.col({name!r}){text}.cast(pl.{dtype}))", f"{frame}.astype({{{name!r}: {in_pandas}}})"
    )


def _in_pandas(dtype: pl.DataType) -> str:
    return f"datetime64[{dtype.time_unit}]" if isinstance(dtype, pl.Datetime) else str(dtype).lower()


def of_one_type(name: str, types: Mapping[str, pl.DataType]) -> tuple[Text, ...]:
    """Cast an id column of two frames, given with their types, to a type that holds the ids of both."""
    if any(dtype.is_nested() for dtype in types.values()):
        return ("make both of one type",)
    try:
        both = pl.concat([pl.DataFrame(schema={name: dtype}) for dtype in types.values()], how="vertical_relaxed")
        one = both.schema[name]
    except pl.exceptions.SchemaError:
        one = pl.String()
    first, *second = (cast(name, one, frame=frame) for frame, dtype in types.items() if dtype != one)
    others = (replace(each, phrase=", {}") for each in second)
    return f"cast {'both' if second else 'one'}", replace(first, phrase=", as in {}"), *others


def typed(rows: pl.LazyFrame, other: pl.Schema, keys: Sequence[str]) -> pl.LazyFrame:
    """Cast key columns of type Null, as in a table without rows, to the type of the other table's column."""
    schema = rows.collect_schema()
    return rows.with_columns(pl.col(name).cast(other[name]) for name in keys if schema[name] == pl.Null)


def types_differ(run: pl.Schema, qrels: pl.Schema, keys: Sequence[str]) -> tuple[Text, ...] | None:
    """The message and advice for a key column with different types in the run and in the judgments."""
    for name in keys:
        if run[name] != qrels[name]:
            differ = f"column {name!r} is {run[name]} in the run and {qrels[name]} in the judgments"
            return f"{differ}; ", *of_one_type(name, {"df": run[name], "qrels": qrels[name]})
    return None


def without_nan() -> Code:
    """Replace NaN by null; no code for pandas, which does not distinguish them."""
    return Code("df.fill_nan(None)", "", phrase=", as {} does")


def filled(name: str, value: object, phrase: str, *, as_text: bool = False) -> Code:
    """Fill the nulls of a column; a text value turns the other values into text."""
    if as_text:
        polars, pandas = (
            f"pl.col({name!r}).cast(pl.String).fill_null({value!r})",
            f"df.assign(**{{{name!r}: df[{name!r}].astype(object).fillna({value!r})}})",
        )
    else:
        polars, pandas = f"pl.col({name!r}).fill_null({value!r})", f"df.fillna({{{name!r}: {value!r}}})"
    return Code(f"df.with_columns({polars})", pandas, phrase=phrase)


def ones(name: str, label: float = 1) -> Code:
    """Judgments with one label for all rows."""
    return Code(f"qrels.with_columns({name}=pl.lit({label}))", f"qrels.assign({name}={label})")


def one_kept(key: Sequence[str | None], phrase: str = "{}", then: str = "", *, frame: str = "df") -> Code:
    """Keep one row for each value of `key`."""
    return Code(f"{frame}.unique({key}){then}", f"{frame}.drop_duplicates({key}){then}", phrase=phrase)


def best_kept(score: str, key: Sequence[str], phrase: str, *, ascending: bool = False) -> Code:
    """Keep the first row in rank order for each value of `key`."""
    polars = "" if ascending else "descending=True, "
    return Code(
        f"df.sort({score!r}, {polars}nulls_last=True).unique({key}, keep='first', maintain_order=True)",
        f"df.sort_values({score!r}, ascending={ascending}).drop_duplicates({key})",
        phrase=phrase,
    )


def last_kept(name: str, key: Sequence[str], phrase: str, *, frame: str = "df") -> Code:
    """Keep the row with the largest value of a column for each value of `key`."""
    return Code(
        f"{frame}.sort({name!r}).unique({key}, keep='last')",
        f"{frame}.sort_values({name!r}, na_position='first').drop_duplicates({key}, keep='last')",
        phrase=phrase,
    )


def to_name(run: str, dtype: pl.DataType) -> Text:
    """The advice for rows without the name of their run."""
    number = dtype.is_numeric()
    return "name the run there, too", filled(run, -1 if number else "unnamed", ", as with {}", as_text=not number)
