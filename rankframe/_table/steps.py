"""Steps on a table that an error advises, as code for Polars and for pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from ..errors import Code, Text

WORDS = (pl.String, pl.Categorical, pl.Enum)


def renamed(new: Mapping[str, str], *, frame: str = "df") -> Code:
    """Rename columns; ``...`` is a name that the reader chooses."""
    pairs = [f"{old!r}: {name if name == '...' else repr(name)}" for old, name in new.items()]
    names = f"{{{', '.join(pairs)}}}"
    pandas = f"{frame}.rename(columns={names})"
    return Code(f"{frame}.rename({names})", pandas, phrase=", as with {}")


def cast(
    name: str, dtype: pl.DataType, *, frame: str = "df", of_words: bool = False, phrase: str = "{}"
) -> Code:
    """Cast a column; categories are cast by way of text."""
    text = ".cast(pl.String)" if of_words else ""
    polars = f"{frame}.with_columns(pl.col({name!r}){text}.cast(pl.{dtype}))"
    kind = repr(str(dtype).lower())
    if isinstance(dtype, pl.Datetime):
        kind = repr(f"datetime64[{dtype.time_unit}]")
    elif dtype == pl.String:
        kind = "str"
    return Code(polars, f"{frame}.astype({{{name!r}: {kind}}})", phrase=phrase)


def of_one_type(name: str, types: Mapping[str, pl.DataType]) -> tuple[Text, ...]:
    """Cast an id column of one of two frames to the type of the other, or to text.

    The frames are given by their names, with the type of the column.
    """

    def preference(frame: str) -> tuple[bool, bool, int]:
        dtype = types[frame]
        return dtype in WORDS, dtype == pl.String, len(str(dtype))

    frame, other = sorted(types, key=preference)
    if types[frame].is_nested() or types[other].is_nested():
        return ("make both of one type",)
    dtype = types[other]
    if dtype in WORDS:
        dtype = pl.String()
    return "cast one", cast(name, dtype, frame=frame, phrase=", as in {}")


def without_nan() -> Code:
    """Replace NaN by null; no code for pandas, which does not distinguish them."""
    return Code("df.fill_nan(None)", "", phrase=", as {} does")


def filled(name: str, value: object, phrase: str) -> Code:
    """Fill the nulls of a column."""
    polars = f"df.with_columns(pl.col({name!r}).fill_null({value!r}))"
    return Code(polars, f"df.fillna({{{name!r}: {value!r}}})", phrase=phrase)


def ones(name: str, label: float = 1) -> Code:
    """Judgments with one label for all rows."""
    return Code(f"qrels.with_columns({name}=pl.lit({label}))", f"qrels.assign({name}={label})")


def one_kept(
    key: Sequence[str | None], phrase: str = "{}", then: str = "", *, frame: str = "df"
) -> Code:
    """Keep one row for each value of `key`."""
    polars = f"{frame}.unique({key}){then}"
    pandas = f"{frame}.drop_duplicates({key}){then}"
    return Code(polars, pandas, phrase=phrase)


def last_kept(name: str, key: Sequence[str], phrase: str, *, frame: str = "df") -> Code:
    """Keep the row with the largest value of a column for each value of `key`."""
    polars = f"{frame}.sort({name!r}).unique({key}, keep='last')"
    by_value = f"{frame}.sort_values({name!r}, na_position='first')"
    return Code(polars, f"{by_value}.drop_duplicates({key}, keep='last')", phrase=phrase)


def judged_only(query: Sequence[str], label: str, phrase: str = "{}") -> Code:
    """Keep the queries that have a label.

    No code for functions of runs and judgments, which have no such table.
    """
    names = [*query]
    key = names[0] if len(names) == 1 else names
    polars = f"df.filter(pl.col({label!r}).count().over({key!r}) > 0)"
    pandas = f"df[df.groupby({names}, dropna=False)[{label!r}].transform('count') > 0]"
    return Code(polars, pandas, phrase=phrase, function="")


def to_name(run: str, dtype: pl.DataType) -> Text:
    """The advice for rows without the name of their run."""
    if not dtype.is_numeric() and dtype not in WORDS:
        return "name the run there, too", ""
    name = -1 if dtype.is_numeric() else "unnamed"
    return "name the run there, too", filled(run, name, ", as with {}")
