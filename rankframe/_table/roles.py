"""The roles of columns, a row each, and the checks that a table has the columns of roles."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import TypeAlias

import polars as pl

from ..errors import Code, InvalidData, MissingColumn, Text, Verbatim, judge, nearest, on, option
from .steps import cast, renamed


@dataclass(frozen=True)
class Role:
    """What a column stands for. A role whose default is None may be left out.

    Attributes
    ----------
    says
        What the column is, as words in help and errors.
    usual
        Its usual names elsewhere, for advice in errors.
    example
        A name for the advice to formulas that lack it.
    identifies
        Whether it tells rows apart, so that Polars must be able to compare it, and no other role
        may share its column.
    number
        Whether it holds numbers.
    several
        Whether it may name several columns.
    lists
        Whether it may hold lists.
    of_items
        Whether it is a property of documents, which `items` may hold in place of the table.
    """

    says: str
    usual: tuple[str, ...] = ()
    example: object = None
    identifies: bool = False
    number: bool = False
    several: bool = False
    lists: bool = False
    of_items: bool = False


ROLES = {
    "query": Role("the columns that name a query", identifies=True, several=True, usual=(
        "query_id", "qid", "query", "queryid", "q_id", "topic", "topic_id", "session_id", "user_id",
        "user")),
    "doc": Role("the column that names documents", example=..., identifies=True, usual=(
        "doc_id", "docno", "docid", "doc", "document_id", "did", "pid", "corpus_id", "item_id",
        "item", "sku")),
    "score": Role("the column to rank by", number=True, usual=(
        "score", "sim", "similarity", "prediction", "pred", "y_pred", "y_score")),
    "label": Role("the column of relevance labels", number=True, usual=(
        "label", "rel", "relevance", "grade", "rating", "judgment", "judgement", "qrel", "y_true",
        "y", "clicked", "click")),
    "subtopic": Role("the column of subtopics", identifies=True, lists=True, usual=(
        "subtopic", "subtopics", "subtopic_id", "intent", "intents", "aspect", "aspects",
        "iteration")),
    "weight": Role("the column of the documents' weights", number=True),
    "propensity": Role(
        "the column of the probabilities that users saw the documents", example="p", number=True,
        usual=("propensity", "propensity_score", "examination", "pscore")),
    "stratum": Role(
        "the column of the strata from which documents were drawn for judging", example="stratum"),
    "inclusion": Role(
        "the column of the probabilities with which documents were drawn for judging",
        example="inclusion", number=True),
    "subtopic_weight": Role(
        "the column of the subtopics' weights", example="importance", number=True),
    "cost": Role(
        "the column of the documents' costs, such as the seconds to read them", example="seconds",
        number=True, of_items=True),
    "category": Role(
        "the column of the documents' categories", example="genre", lists=True, of_items=True),
    "group": Role("the column of the documents' groups", example="provider", of_items=True),
    "features": Role(
        "the columns of the documents' features", example=["x", "y"], number=True, several=True,
        lists=True, of_items=True),
    "base": Role(
        "the column of the scores of another ranking", example="other_score", number=True,
        of_items=True),
}  # fmt: skip
"""The roles, as fields of `Roles` and as options of `on`."""

USUAL_NAMES = {
    **{name: role.usual for name, role in ROLES.items() if role.usual},
    "run": (
        "run", "run_id", "runid", "run_name", "run_tag", "runtag", "tag", "system", "system_id",
        "ranker", "model",
    ),
}  # fmt: skip
"""Usual names of columns elsewhere; used without asking only if unambiguous."""

RANKS = ("rank", "ranking", "position", "pos", "place")
DISTANCES = ("distance", "dist")
"""Usual names of columns whose smallest value is the best."""


Meant: TypeAlias = str | EllipsisType | None
"""A column that may be meant; ``...`` for one of several."""


def carried(name: str) -> str:
    """The plans' name of a column that is only carried along; no column of the plan has it."""
    return f"#carried {name}"


ROW = carried("row of table")
"""The column of a part of a table with the row of the table, if rows were gathered: results keep
it, to be put in order."""


def require(
    schema: Collection[str],
    name: str,
    role: str,
    where: str = "the table",
    *,
    meant: str | None = None,
) -> None:
    """Refuse a table without the column `name`, and say which may be meant, if not `meant`."""
    require_all(schema, [(name, role)], where, meant)


def require_all(
    schema: Collection[str],
    wanted: Iterable[tuple[str, str]],
    where: str = "the table",
    meant: str | None = None,
) -> None:
    """Refuse a table without one of the columns, and name the columns that may be meant.

    The columns are given with their roles.
    """
    lacking = [(name, role) for name, role in wanted if name not in schema]
    if not lacking:
        return
    there = [name for name in schema if not name.startswith(carried(""))]
    near = {role: meant or _meant(there, name, role) for name, role in lacking}
    lists = columns_of_lists(schema)
    if lists and not {None, *lists}.isdisjoint(near.values()):
        advice: tuple[Text, ...] = of_lists(lists)
    else:
        meant_by = {name: near[role] for name, role in lacking}
        advice = _advice(near, meant_by, there, where)
    names = ", ".join(f"{name!r} for {role}" for name, role in lacking)
    columns = ", ".join(there) or "no columns"
    raise MissingColumn(f"no column {names}; {where} has {columns}. ", *advice)


def columns_of_lists(schema: Collection[str]) -> list[str]:
    """The columns that hold lists, if types are known."""
    types: Mapping[str, pl.DataType] = schema if isinstance(schema, Mapping) else {}
    return [name for name, dtype in types.items() if isinstance(dtype, (pl.List, pl.Array))]


def _advice(
    near: Mapping[str, Meant], names: Mapping[str, Meant], there: Sequence[str], where: str
) -> tuple[Text, ...]:
    """The advice for missing columns, from those that may be meant, by role and by missing name."""
    if not near.keys() <= ROLES.keys():  # an argument names them
        meant = next(iter(near.values()))
        if isinstance(meant, str):
            return (f"Did you mean {meant!r}?",)
        return ("Name a column that is there",)
    if where == "the table" and near == {"label": None}:
        return "Bring the judgments of another table: ", judge()
    only_labels = where == "qrels" and near.keys() == {"label"}
    if where != "the table" and not only_labels:
        new = {x if isinstance(x, str) else "...": name for name, x in names.items()}
        return "Rename its columns", renamed(new, frame=where)
    given: dict[str, object] = {role: name or ... for role, name in near.items()}
    score = str(near.get("score")).lower()
    if score in RANKS:
        given["rank"] = given.pop("score")
    elif score in DISTANCES:
        given["ascending"] = Verbatim(True)
    doc = _usual(there, "doc")
    if "query" in near and "doc" not in near and doc not in (None, "doc_id"):
        given["doc"] = doc
    otherwise = "; or, if all rows are relevant, give each the label 1" if only_labels else ""
    return "Say ", on(**given), otherwise


def of_lists(lists: Sequence[str]) -> tuple[Text, Text]:
    """The advice for a table with columns of lists."""
    return f"Column {lists[0]!r} holds lists; ", if_rows_are_queries(lists)


def if_rows_are_queries(lists: Sequence[str]) -> Code:
    """The code for a table whose rows are queries, from the names of its columns of lists."""
    phrase = "if a row is a query, write {}"
    docs, scores, labels = (_usual_lists(lists, role) for role in ("doc", "score", "label"))
    if "retrieved" in lists or (docs is None and None in (scores, labels)):
        return Code("rf.from_lists(df)", phrase=phrase)
    options: dict[str, str | None] = {"retrieved": docs}
    if "relevant" not in lists:
        options["relevant"] = None
    numbers = {"scores": scores, "labels": labels}
    options |= {name: column for name, column in numbers.items() if column is not None}
    given = ", ".join(f"{name}={column!r}" for name, column in options.items())
    return Code(f"rf.from_lists(df, {given})", phrase=phrase)


def seem_queries(lists: Sequence[str]) -> bool:
    """Whether the names of columns of lists are those of tables whose rows are queries."""
    has = [_usual_lists(lists, role) is not None for role in ("doc", "score", "label")]
    return "retrieved" in lists or sum(has) > 1


def _usual_lists(lists: Sequence[str], role: str) -> str | None:
    """The first column of lists with a usual name for a role, or with its plural."""
    usual = USUAL_NAMES[role]
    for name in lists:
        if name.lower() in usual or name.lower().removesuffix("s") in usual:
            return name
    return None


def _meant(there: Sequence[str], name: str, role: str) -> Meant:
    """The column that the user may mean for a role.

    It is the first one with a usual name; or the one with the given name and a suffix, as a merge
    of tables names a column that both have; or the one with the most similar name.
    """
    usual = _usual(there, role)
    suffixed = [column for column in there if column.startswith(f"{name}_")]
    if usual or not suffixed:
        return usual or nearest(name, there)
    return suffixed[0] if len(suffixed) == 1 else ...


def _usual(there: Sequence[str], role: str) -> str | None:
    """The first column with a usual name for a role, in any case and with spaces or underscores."""
    groups = [USUAL_NAMES.get(role, ())]
    if role == "score":
        groups.append((*RANKS, *DISTANCES))
    for usual in groups:
        for name in there:
            if name.lower().replace(" ", "_") in usual:
                return name
    return None


def is_text(dtype: pl.DataType) -> bool:
    """Whether a column of this type holds words."""
    return dtype in (pl.String, pl.Categorical, pl.Enum)


def require_number(schema: pl.Schema, name: str, role: str) -> None:
    """Refuse a column that does not hold numbers, or lists of them where the role has lists."""
    dtype = schema[name]
    may_be_lists = role in ROLES and ROLES[role].lists
    while may_be_lists and isinstance(dtype, (pl.List, pl.Array)):
        dtype = dtype.inner  # type: ignore[assignment]
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        return
    lists = columns_of_lists(schema)
    if role in ("score", "label") and name in lists and seem_queries(lists):
        advice: tuple[Text, ...] = (if_rows_are_queries(lists),)
    elif dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        other = {role: ...}
        advice = (
            "name another column: ",
            on(**other) if role in ROLES else option(**other),
        )
    else:
        of_words = dtype in (pl.Categorical, pl.Enum)
        code = cast(name, pl.Float64(), of_words=of_words, phrase=", as in {}")
        advice = ("cast it", code, ", or name another column")
    raise InvalidData(f"column {name!r} for {role} holds {dtype}, not numbers; ", *advice)
