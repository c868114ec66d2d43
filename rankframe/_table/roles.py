"""Checks of a table's columns by role: a needed column exists and holds numbers, or an error advises what to write."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import polars as pl

from ..errors import Code, InvalidData, InvalidOption, MissingColumn, Text, Verbatim, judge, nearest, on, option, shown
from .name_presets import PRESETS, presets_for
from .steps import cast, mapped, ones, renamed

USUAL_NAMES = {
    "query": ("query_id", "qid", "query", "queryid", "q_id", "topic", "topic_id", "session_id", "user_id", "user"),
    "doc": ("doc_id", "docno", "docid", "doc", "document_id", "did", "pid", "corpus_id", "item_id", "item", "sku"),
    "score": ("score", "sim", "similarity", "prediction", "pred", "y_pred", "y_score"),
    "subtopic": ("subtopic", "subtopics", "subtopic_id", "intent", "intents", "aspect", "aspects", "iteration"),
    "label": (
        "label",
        "rel",
        "relevance",
        "grade",
        "rating",
        "judgment",
        "judgement",
        "qrel",
        "y_true",
        "y",
        "clicked",
        "click",
    ),
    "run": ("run", "run_id", "runid", "run_name", "run_tag", "runtag", "tag", "system", "system_id", "ranker", "model"),
}
"""Usual names of columns elsewhere, for hints in errors; used without asking only if unambiguous."""

RANKS = ("rank", "ranking", "position", "pos", "place")
DISTANCES = ("distance", "dist")
"""Usual names of columns whose smallest value is the best."""

JUDGE = ("; or bring the judgments of another table: ", judge())
"""Further advice for a table without labels."""


def carried(name: str) -> str:
    """The plans' name of a column that is only carried along; no column of the plan has it."""
    return f"#carried {name}"


ROW = carried("row of table")
"""The column of a part of a table with the row of the table, if rows were gathered: results keep it, to be put in order."""


def require(
    schema: Collection[str],
    name: str,
    role: str,
    where: str = "the table",
    *,
    meant: str | None = None,
    optional: Sequence[str] = (),
) -> None:
    """Refuse a table without the column `name`, and say which of its columns may be meant, if not `meant`.

    The advice also names the columns of `optional` roles, which are no reason to refuse the table.
    """
    if name in schema:
        return
    there = _of_caller(schema)
    named = [meant] if meant else _meant(there, name, role)
    near = next(iter(named), None)
    advice: Text
    if where == "qrels" and role == "label":
        every = ("; or, if all rows are relevant, ", ones(name)) if name.isidentifier() else ""
        advice = ("Say ", on(label=near or ...), "" if near else " with the column's name", every)
    elif where != "the table":
        advice = ("Rename it", renamed({near or "...": name}, frame=where))
    elif role in ("agreement", "an expression", "by", "run", "runs", "weights"):
        what = "of scores " if role in ("agreement", "runs") else ""
        advice = f"Did you mean {' or '.join(map(repr, named))}?" if near else f"Name a column {what}that is there"
    else:
        advice = _on(schema, [(name, role)], optional)
    raise MissingColumn(f"no column {name!r} for {role}; {where} has {', '.join(there) or 'no columns'}. ", advice)


def require_all(
    schema: Collection[str],
    roles: Sequence[tuple[str, str]],
    where: str = "the table",
    *,
    optional: Sequence[str] = (),
) -> None:
    """Refuse a table without one of the columns, given with their roles; the advice covers all missing columns."""
    lacking = [(name, role) for name, role in roles if name not in schema]
    if len(lacking) == 1:
        require(schema, *lacking[0], where, optional=optional)
    elif lacking:
        there = _of_caller(schema)
        names = ", ".join(f"{name!r} for {role}" for name, role in lacking)
        advice: Text = _on(schema, lacking, optional)
        if where != "the table":
            near = {next(iter(_meant(there, name, role)), f"its {role} column"): name for name, role in lacking}
            advice = ("Rename them", renamed(near, frame=where))
        raise MissingColumn(f"no column {names}; {where} has {', '.join(there) or 'no columns'}. ", advice)


def _on(schema: Collection[str], lacking: Sequence[tuple[str, str]], optional: Sequence[str] = ()) -> Text:
    """The advice for missing columns, given with their roles, and for `optional` roles with a usual name."""
    there = _of_caller(schema)
    meant: dict[str, str | None] = {role: next(iter(_meant(there, name, role)), None) for name, role in lacking}
    unknown = None in meant.values()
    preset = next((name for name in presets_for(there) if _fits(PRESETS[name], meant, there)), None)
    least_first = meant.get("score")
    if least_first is not None and least_first.lower() in RANKS:
        meant = {("rank" if role == "score" else role): near for role, near in meant.items()}
    elif least_first is not None and least_first.lower() in DISTANCES:
        meant["ascending"] = Verbatim(True)
    too = {role: name for role in optional if (name := _usual(there, role)) and name not in meant.values()}
    said = {**{role: near or ... for role, near in meant.items()}, **too}
    advice: list[Text] = ["Say ", on(**said)]
    for name, role in lacking:
        advice += [part for other in _meant(there, name, role)[1:] for part in (" or ", on(**{**said, role: other}))]
    if preset is not None:
        advice += [", or ", on(names=preset)]
    if unknown:
        advice.append(" with the columns' names" if len(meant) > 1 else " with the column's name")
    if isinstance(schema, Mapping):
        lists = [name for name in there if isinstance(schema[name], (pl.List, pl.Array))]
        advice += [part for name in lists[:1] for part in of_lists(name, str(schema[name]))]
    return (*advice, JUDGE if "label" in meant else "")


def of_lists(name: str, kind: str) -> tuple[Text, Text]:
    """The advice for a table with a column of lists."""
    return f". Column {name!r} holds {kind}; ", Code(
        "rf.from_lists(df)", phrase="if a row is a query with its lists, write {}"
    )


def _fits(preset: Mapping[str, str], meant: Mapping[str, str | None], there: Collection[str]) -> bool:
    """Whether a preset names the columns meant and one more, and the table has all of them but, for a run, the label."""
    lacking = {role for role, name in preset.items() if name not in there}
    if lacking and (lacking != {"label"} or "label" in there):
        return False
    return all(preset.get(role) == near for role, near in meant.items()) and len(preset) > len(meant)


def _of_caller(schema: Iterable[str]) -> list[str]:
    return [name for name in schema if not name.startswith(carried(""))]


def _meant(there: Sequence[str], name: str, role: str) -> list[str]:
    """The columns that the user may mean for a role, most likely first.

    They are the first one with a usual name; or those with the given name and a suffix, as a merge of tables names a column
    that both have; or the one with the most similar name.
    """
    usual = _usual(there, role)
    suffixed = [column for column in there if column.startswith(f"{name}_")]
    near = None if usual or suffixed else nearest(name, there)
    return [usual] if usual else suffixed or ([near] if near else [])


def _usual(there: Sequence[str], role: str) -> str | None:
    """The first column with a usual name for a role, in any case and with spaces or underscores."""
    usual = (USUAL_NAMES.get(role, ()), (*RANKS, *DISTANCES) if role == "score" else ())
    return next((n for names in usual for n in there if n.lower().replace(" ", "_") in names), None)


def not_a_name(given: object) -> InvalidOption:
    """The error for an object in the place of a column's name."""
    column = given.meta.output_name() if isinstance(given, pl.Expr) and given.meta.is_column() else None
    name = column or getattr(given, "name", None)  # a Series has one
    added = f", as {name!r}" if isinstance(name, str) else ""
    first = "; add what is computed to the table first, as a column"
    more = first if (hasattr(given, "name") or callable(given)) and not column else ""
    return InvalidOption(f"{shown(given)} is no column name; a column is named by its text{added}{more}")


def refuse_one_text(runs: object) -> None:
    """Refuse one text, or tables, where columns of scores are listed."""
    if isinstance(runs, str):
        several = [name.strip() for name in runs.split(",")]
        if len(several) > 1:
            raise InvalidOption(option(runs=runs), " is one text; list the columns of scores: ", option(runs=several))
        raise InvalidOption(
            option(runs=runs),
            " names one column; list the columns of scores, as ",
            option(runs=["bm25", "ltr"]),
            ", or say ",
            option(run=runs),
            ", if that column names the run of each row",
        )
    refuse_tables(runs if isinstance(runs, (list, tuple)) else [runs])


def refuse_tables(given: Iterable[object]) -> None:
    """Refuse tables given in place of metrics or columns, and advise how to compare several tables."""
    if any(hasattr(each, "columns") for each in given):
        raise InvalidOption("name the table of each run", Code("runs={'a': df_a, 'b': df_b}", phrase=", as with {}"))


def require_number(schema: pl.Schema, name: str, role: str) -> None:
    """Refuse a column that does not hold numbers."""
    dtype = schema[name]
    if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
        error = InvalidData(*_no_numbers(name, dtype, role, None))
        error._advise = partial(_with_words, name, role)
        raise error


def _with_words(name: str, role: str, frame: pl.DataFrame | pl.LazyFrame) -> InvalidData | None:
    """The error for a column without numbers, with advice for its words; None if they are not in memory."""
    if isinstance(frame, pl.LazyFrame) or name not in frame.columns or not is_text(frame[name].dtype):
        return None
    dtype = frame[name].dtype
    found = None if isinstance(dtype, pl.Enum) else frame[name].drop_nulls().unique().cast(pl.String).sort().to_list()
    return InvalidData(*_no_numbers(name, dtype, role, found))


def is_text(dtype: pl.DataType) -> bool:
    """Whether a column of this type holds words."""
    return dtype in (pl.String, pl.Categorical, pl.Enum)


FEW_WORDS = 12
"""The most words that an error lists."""


def _no_numbers(name: str, dtype: pl.DataType, role: str, words: Sequence[str] | None) -> tuple[Text, ...]:
    """The message for a column without numbers; `words` are its values, known for a DataFrame and for an Enum."""
    if words is None and isinstance(dtype, pl.Enum):
        words = dtype.categories.to_list()
    as_numbers = cast(
        name, pl.Float64(), of_words=dtype in (pl.Categorical, pl.Enum)
    )  # categories have no cast to numbers
    other: Text = ("name another column: ", option(weights=...) if role == "weights" else on(**{role: ...}))
    numbers = [] if words is None else pl.Series(words, dtype=pl.String).cast(pl.Float64, strict=False).to_list()
    advice: Text = ("cast it", replace(as_numbers, phrase=", as in {}"), ", or ", other)
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        advice = other
    elif is_text(dtype) and words is None:
        advice = (
            "cast numbers that are text",
            replace(as_numbers, phrase=", as in {}"),
            ", make numbers of words",
            Code("replace_strict", "map", phrase=" by {}"),
            ", or ",
            other,
        )
    elif words is not None and None in numbers:
        some = numbers.count(None) < len(numbers)
        ordered = isinstance(dtype, pl.Enum)  # the order of other words is the reader's to say
        of_words = range(len(words)) if ordered else [Verbatim("...")] * len(words)
        number_of: dict[str, object] = dict(zip(words, numbers if some else of_words, strict=True))
        each = ("say which number each word is", mapped(name, number_of, ", as in {}"), ", or ", other)
        advice = each if len(words) <= FEW_WORDS else other
    return f"column {name!r} for {role} holds {dtype}, not numbers; ", advice
