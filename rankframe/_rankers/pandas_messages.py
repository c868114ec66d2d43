"""Code of Polars in messages, and the same in pandas."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["in_words_of_pandas"]

IN_WORDS_OF_PANDAS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (
        r"df\.sort\((.*?), descending=True, nulls_last=True\)\.unique\((\[.*?\]), keep='first', maintain_order=True\)",
        r"df.sort_values(\1, ascending=False).drop_duplicates(\2)",
    ),
    (
        r"\.sort\(([^()]*?)\)\.unique\((\[.*?\]), keep='last'\)",
        r".sort_values(\1, na_position='first').drop_duplicates(\2, keep='last')",
    ),
    (r"df\.unique\((\[.*?\])\)", r"df.drop_duplicates(\1)"),
    (r"df\.with_columns\(pl\.col\(([^()]*?)\)\.fill_null\((.*?)\)\)", r"df.fillna({\1: \2})"),
    (
        r"df\.with_columns\(pl\.col\(([^()]*?)\)\.cast\(pl\.String\)\.fill_null\((.*?)\)\)",
        r"df.assign(**{\1: df[\1].astype(object).fillna(\2)})",
    ),
    (
        r"(\w+)\.with_columns\(pl\.col\((.*?)\)(?:\.cast\(pl\.String\))?\.cast\(pl\.(\w+)\)\)",
        lambda cast: f"{cast[1]}.astype({{{cast[2]}: {'str' if cast[3] == 'String' else repr(cast[3].lower())}}})",
    ),
    (r"df\.with_columns\(pl\.col\((.*?)\)\.replace_strict\((\{.*?\})\)\)", r"df.assign(**{\1: df[\1].map(\2)})"),
    (r"df\.with_columns\(-pl\.col\((.*?)\)\.cast\(pl\.Float64\)\)", r"df.assign(**{\1: -df[\1].astype(float)})"),
    (r"df\.with_columns\(score=-pl\.col\((.*?)\)\.cast\(pl\.Int64\)\)", r"df.assign(score=-df[\1].astype('int64'))"),
    (r"df\.with_columns\(score=-pl\.col\((.*?)\)\)", r"df.assign(score=-df[\1])"),
    (r"(\w+)\.with_columns\((\w+)=pl\.lit\((.*?)\)\)", r"\1.assign(\2=\3)"),
    (r"df\.with_columns\(\.\.\.\)", "df.assign(...)"),
    (r"by replace_strict\b", "by map"),
    (r"\.filter\(pl\.col\('rank'\) <= 10\)", ".query('rank <= 10')"),
    (r"(\w+)\.rename\((\{.*?\})\)", r"\1.rename(columns=\2)"),
)


def in_words_of_pandas(message: str) -> str:
    """The message with the code that it advises as pandas spells it."""
    for polars, pandas in IN_WORDS_OF_PANDAS:
        message = re.sub(polars, pandas, message)
    return message
