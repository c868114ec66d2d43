"""Steps on a table that an error advises, as code for Polars and for pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from ..errors import Code, Text

WORDS = (pl.String, pl.Categorical, pl.Enum)


def renamed(new: Mapping[str, str], *, frame: str = "df") -> Code:
    """Rename columns; ``...`` is a name that the reader chooses."""
    pairs = (f"{old!r}: {name if name == '...' else repr(name)}" for old, name in new.items())
    names = f"{{{', '.join(pairs)}}}"
    return Code(
        f"{frame}.rename({names})", f"{frame}.rename(columns={names})", phrase=", as with {}"
    )


def cast(
    name: str, dtype: pl.DataType, *, frame: str = "df", of_words: bool = False, phrase: str = "{}"
) -> Code:
    """Cast a column; categories are cast by way of text."""
    text = ".cast(pl.String)" if of_words else ""
    polars = f"{frame}.with_columns(pl.col({name!r}){text}.cast(pl.{dtype}))"
    unit = (
        f"datetime64[{dtype.time_unit}]" if isinstance(dtype, pl.Datetime) else str(dtype).lower()
    )
    return Code(
        polars,
        f"{frame}.astype({{{name!r}: {'str' if dtype == pl.String else repr(unit)}}})",
        phrase=phrase,
    )


def of_one_type(name: str, types: Mapping[str, pl.DataType]) -> tuple[Text, ...]:
    """Cast an id column of one of two frames, given with their types, to the type of the other, or
    to text.
    """
    order = sorted(types.items(), key=lambda x: (x[1] in WORDS, x[1] == pl.String, len(str(x[1]))))
    (frame, one), (_, other) = order
    if one.is_nested() or other.is_nested():
        return ("make both of one type",)
    return "cast one", cast(
        name, pl.String() if other in WORDS else other, frame=frame, phrase=", as in {}"
    )


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
    return Code(
        f"{frame}.unique({key}){then}", f"{frame}.drop_duplicates({key}){then}", phrase=phrase
    )


def last_kept(name: str, key: Sequence[str], phrase: str, *, frame: str = "df") -> Code:
    """Keep the row with the largest value of a column for each value of `key`."""
    polars = f"{frame}.sort({name!r}).unique({key}, keep='last')"
    pandas = (
        f"{frame}.sort_values({name!r}, na_position='first').drop_duplicates({key}, keep='last')"
    )
    return Code(polars, pandas, phrase=phrase)


def judged_only(query: Sequence[str], label: str, phrase: str = "{}") -> Code:
    """Keep the queries that have a label; no code for functions of runs and judgments, which have
    no such table.
    """
    key = query[0] if len(query) == 1 else [*query]
    polars = f"df.filter(pl.col({label!r}).count().over({key!r}) > 0)"
    pandas = f"df[df.groupby({[*query]}, dropna=False)[{label!r}].transform('count') > 0]"
    return Code(polars, pandas, phrase=phrase, function="")


def to_name(run: str, dtype: pl.DataType) -> Text:
    """The advice for rows without the name of their run."""
    code = filled(run, -1 if dtype.is_numeric() else "unnamed", ", as with {}")
    return "name the run there, too", code if dtype.is_numeric() or dtype in WORDS else ""
