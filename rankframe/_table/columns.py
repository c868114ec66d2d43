"""A table's columns by role: checks of names and types, sort keys with tie rules, faults of
rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from ..errors import Code, InvalidData, InvalidOption, Text, on, option, worded
from . import steps
from .background import NO_TABLES
from .policies import GREATEST
from .roles import ROLES, require_all, require_number
from .setup import Setup
from .ties import TIE_RULES

MARK = "rankframe: "
"""The prefix that marks a message of ours inside an error of Polars."""

NO_WEIGHT = f"null, negative, NaN or beyond {GREATEST:g}"
"""The words for a weight that `is_weight` refuses."""


LAST_RANK = 2**32 - 1
"""The largest rank, which a column of ranks in a result holds."""

TEXTS: Mapping[str, Callable[[Setup], tuple[Text, ...]]] = {
    "NaN score": lambda x: (
        f"column {x.roles.score!r} holds NaN; write null for a document that was not retrieved", steps.without_nan()
    ),
    "label not finite": lambda x: (
        f"column {x.roles.label!r} holds NaN or an infinite label, or one beyond " f"{GREATEST:g}; write null for a document that "
        "nobody judged, and smaller numbers for the others",
    ),
    "repeated document": lambda x: (
        f"a query holds the same {x.roles.doc_name!r} twice; keep one row of each, or, if " "these are several rankings, name the "
        "column that says which: ",
        on(query=[..., *x.roles.query]),
    ),
    "document without id": lambda x: nameless(x),
    "repeated subtopic": lambda x: (
        f"a document holds the same {x.roles.subtopic!r} twice; keep one row of each",
        steps.one_kept([*x.roles.query, x.roles.doc_name, x.roles.subtopic], ", for instance with {}"),
    ),
    "subtopic listed twice": lambda x: (
        f"a list in column {x.roles.subtopic!r} names a subtopic twice; name each once",
    ),
    "two scores": lambda x: (
        f"a document has different values of {x.roles.score!r} on the rows of its subtopics; " "give it one score",
    ),
    "forbidden tie": lambda x: (
        f"documents of a query share a value of {x.roles.score!r} and ", option(ties=x.policies.ties),
        " forbids it; choose how ties stand: " f"{', '.join(name for name, rule in TIE_RULES.items() if not rule.refuses)}",
    ),
    "nested document": lambda x: (
        f"column {x.roles.doc_name!r} holds lists or structs, which ", option(ties=x.policies.ties),
        " cannot compare as text; make text of them, or say ", option(ties="doc_desc"),
    ),
    "weight": lambda x: (
        f"column {x.roles.weight!r} holds a weight that is {NO_WEIGHT}, of a judged document; " "give each of them its weight",
        steps.filled(str(x.roles.weight), 1, ", as in {}"),
    ),
    "label is no click": lambda x: (
        f"column {x.roles.label!r} holds a label that is neither 0 nor 1, where labels are " "clicks; write 1 for a click and 0 for "
        "none",
    ),
    "propensity": lambda x: (
        f"column {x.roles.propensity!r} holds a propensity that is null, NaN, 0, negative or " "above 1, of a clicked document; "
        "write the probability with which users saw it where it was clicked",
    ),
    "subtopic weight": lambda x: (
        f"column {x.roles.subtopic_weight!r} holds a weight that is {NO_WEIGHT}, of a " "subtopic; give each of them its weight",
        steps.filled(str(x.roles.subtopic_weight), 1, ", as in {}"),
    ),
    "two weights": lambda x: (
        f"a subtopic of a query has different values of {x.roles.subtopic_weight!r}; give it " "one weight",
    ),
    "no rank": lambda x: (
        f"column {x.roles.score!r} holds a rank that is no whole number from 1 to " f"{LAST_RANK:,}, where ranks count as given; "
        "correct it, or take their order alone: ", on(rank=x.roles.score, ranks="order"),
    ),
    "shared rank": lambda x: (
        f"documents of a query share a rank in column {x.roles.score!r}, where ranks count as " "given; give each its own, or "
        "take their order alone: ", on(rank=x.roles.score, ranks="order"),
    ),
    "no document": lambda x: (
        option(ties=x.policies.ties), " orders tied rows by document, but the table has no document column; say ",
        on(doc=...), ", or ", option(ties="order"), " to keep the order of the rows",
    ),
}  # fmt: skip
"""The message for each kind of fault, which leaves metrics undefined."""


def nameless(setup: Setup, rows: int | None = None, where: str = "") -> tuple[Text, ...]:
    """The message for queries with several documents without an id; `rows` is the number of rows,
    if it is known.
    """
    many = "several rows of a query" if rows is None else f"{rows:,} rows, several of a query"
    null = f"column {setup.roles.doc_name!r}{where} is null in {many}"
    return (f"{null}; give each document its id, or leave out the rows without a document",)


def message_of(kind: str, setup: Setup) -> str:
    """The message with which a plan of Polars fails: the kind of the fault, then the sentence."""
    return f"{kind}: {worded(TEXTS[kind](setup))}"


@dataclass(frozen=True)
class Fault:
    """A fault that leaves metrics undefined: its kind, column, rows, and its message or, for a kind
    in `TEXTS`, the setup.
    """

    kind: str
    at: str
    rows: pl.Expr
    says: str | Setup
    repeated: pl.Expr | None = None  # the value that a query holds twice, if that is the fault

    @property
    def message(self) -> str:
        """The message with which a plan fails; worded when it is read, as few faults are found."""
        return self.says if isinstance(self.says, str) else message_of(self.kind, self.says)

    @property
    def column(self) -> str:
        """The name of the flag column in a plan, unlike any caller's column."""
        return f"#{self.kind} {self.at}"


def fresh(name: str, taken: Container[str]) -> str:
    """Lengthen the name until it is not among `taken`."""
    return fresh(f"{name}#", taken) if name in taken else name


def naming(message: str, label: pl.Expr) -> pl.Expr:
    """The message with the label found; null for a null label."""
    return pl.concat_str(pl.lit(f"{message} (found: label "), label.cast(pl.String), pl.lit(")"))


def failing(faults: Sequence[tuple[pl.Expr, str | pl.Expr]]) -> pl.Expr:
    """A null number that fails with the message of the first fault that holds; see `failed`.

    It is a strict cast of the message, so it needs no Python and survives in any plan.
    """
    plain = [
        (holds, pl.lit(message) if isinstance(message, str) else message)
        for holds, message in faults
    ]
    texts = [pl.when(holds).then(pl.lit(MARK) + message) for holds, message in plain]
    return pl.coalesce(*texts, pl.lit(None, dtype=pl.String)).cast(pl.Float64)


def failed(error: pl.exceptions.InvalidOperationError) -> tuple[str | None, str] | None:
    """Kind of fault (or None) and sentence of a failed plan; None if the error is not from
    `failing`.
    """
    found = re.search(rf'\["{MARK}(.*?)"(?:, "{MARK}|, …|\](?:\n|$))', str(error), re.DOTALL)
    if found is None:
        return None
    kind, _, sentence = found[1].partition(": ")
    return (kind, sentence) if kind in TEXTS else (None, found[1])


@dataclass(frozen=True)
class Columns:
    """The checked columns of a schema: all that plans know of a table before they run."""

    setup: Setup
    schema: pl.Schema

    @classmethod
    def of(cls, setup: Setup, schema: pl.Schema, *, label: bool = True) -> Columns:
        """Check the names and types that ranking needs, and resolve the default document column."""
        setup = setup.of_table(schema)
        doc, rule, labelled = (
            setup.roles.doc_name,
            setup.policies.tie_rule,
            label or setup.policies.orders_by_label,
        )
        named = [(name, role) for name, role in setup.roles.named if role != "label" or labelled]
        looked_up = [
            (x, role) for x, role in named if ROLES[role].of_items and setup.background.has(x)
        ]
        named = [pair for pair in named if pair not in looked_up]
        require_all(schema, named)
        refuse_without_document(setup)
        for pairs, of in ((named, schema), (looked_up, setup.background.schema_of_items)):
            for name, role in pairs:
                if ROLES[role].number:
                    require_number(of, name, role)
        if setup.background != NO_TABLES:
            setup.background.check(schema, setup.roles.query, doc)
        refuse_objects(schema, [name for name, role in named if ROLES[role].identifies])
        subtopic = setup.roles.subtopic
        if subtopic is not None and doc is None and not is_list(schema[subtopic]):
            says = (
                f"column {subtopic!r} holds single subtopics, so a document stands on several "
                "rows and needs a name; say "
            )
            raise InvalidOption(says, on(doc=...))
        if doc is not None and rule.as_text and schema[doc].is_nested():
            raise InvalidData(*TEXTS["nested document"](setup), kind="nested document")
        return cls(setup, schema)

    @property
    def lists_subtopics(self) -> bool:
        """Whether a document has one row with a list of its subtopics."""
        return self.setup.roles.subtopic is not None and is_list(
            self.schema[self.setup.roles.subtopic]
        )

    @property
    def subtopic(self) -> pl.Expr:
        """The subtopic, or the list of subtopics; only where a column was named."""
        name = str(self.setup.roles.subtopic)
        return (
            pl.col(name).arr.to_list() if isinstance(self.schema[name], pl.Array) else pl.col(name)
        )

    @property
    def query(self) -> list[pl.Expr]:
        """The query columns under their names in plans, see `key`."""
        return [
            pl.col(name).alias(key)
            for name, key in zip(self.setup.roles.query, self.key, strict=True)
        ]

    @property
    def key(self) -> list[str]:
        """The query columns' names in plans, unlike any caller's column."""
        return [f"#query{i}" for i in range(len(self.setup.roles.query))]

    @property
    def score(self) -> pl.Expr:
        """The score, the greatest being the best; null for a document that was not retrieved, or is
        dropped before ranking.
        """
        score, dtype = pl.col(self.setup.roles.score), self.schema[self.setup.roles.score]
        if dtype in (pl.Boolean, pl.Null):
            score, dtype = score.cast(pl.UInt8), pl.UInt8()
        if self.setup.policies.scores == "float32":
            score, dtype = score.cast(pl.Float32), pl.Float32()
        if self.setup.policies.ascending:
            score = ~score if dtype.is_integer() else -score  # flipped bits do not overflow
        if self.setup.policies.drops_first:
            score = pl.when(pl.col(self.setup.roles.label) >= 0).then(score)
        return score

    @property
    def given_rank(self) -> pl.Expr | None:
        """The rank as a float, where ranks count as they are given; else None."""
        return pl.col(self.setup.roles.score).cast(pl.Float64) if self.setup.takes_ranks else None

    @property
    def label(self) -> pl.Expr:
        """The unchanged label, as float."""
        return pl.col(self.setup.roles.label).cast(pl.Float64)

    @property
    def doc(self) -> pl.Expr | None:
        """The document as the tie rule compares it: categories by their text, the rest by value."""
        name = self.setup.roles.doc_name
        return None if name is None else self.compared(pl.col(name))

    def compared(self, doc: pl.Expr) -> pl.Expr:
        """A document's id in the form in which it is compared."""
        name = self.setup.roles.doc_name
        as_text = self.setup.policies.tie_rule.as_text or (
            name and self.schema[name] in (pl.Categorical, pl.Enum)
        )
        return doc.cast(pl.String) if as_text else doc

    @property
    def key_of_documents(self) -> list[str]:
        """The caller's columns that name a document."""
        return [
            *self.setup.roles.query,
            *([] if self.setup.roles.doc_name is None else [self.setup.roles.doc_name]),
        ]

    @property
    def needs_row(self) -> bool:
        """Whether the order of rows breaks ties."""
        return self.setup.roles.doc is None or not self.setup.policies.tie_rule.by_document

    def order(self) -> list[tuple[pl.Expr, bool]]:
        """The sort keys that put a query's rows in rank order, nulls last, each with whether it
        falls; the sort must be stable.
        """
        compared = {"label": self.label.fill_null(-float("inf")), "document": self.doc}
        keys = ((compared[key.of], key) for key in self.setup.policies.tie_rule.keys)
        return [
            (self.score, True),
            *((key.value(x), key.falling) for x, key in keys if x is not None),
        ]

    def faults(self, *, label: bool = True) -> list[Fault]:
        """The faults the table may have, each a flag on rows, computed within a query."""
        found = []
        score, setup, doc = self.score, self.setup, self.setup.roles.doc_name
        if self.schema[setup.roles.score].is_float():
            found.append(Fault("NaN score", setup.roles.score, score.is_nan(), setup))
        if (label or setup.policies.orders_by_label) and self.schema[setup.roles.label].is_float():
            found.append(
                Fault("label not finite", setup.roles.label, ~is_finite(self.label), setup)
            )
        if doc is not None:
            found.append(
                Fault(
                    "repeated document",
                    doc,
                    pl.col(doc).is_duplicated(),
                    setup,
                    repeated=pl.col(doc),
                )
            )
        if label:
            unfit = unfit_weights(setup, self.label)
            found += [Fault(kind, str(name), rows, setup) for kind, (name, rows) in unfit.items()]
        refuses_ties = setup.policies.tie_rule.refuses
        if not setup.takes_ranks and not refuses_ties:
            return found
        tied = score.is_duplicated() & score.is_not_null()
        if self.given_rank is not None:
            found.append(Fault("no rank", setup.roles.score, ~is_rank(self.given_rank), setup))
            found.append(Fault("shared rank", setup.roles.score, tied, setup, repeated=score))
        if refuses_ties:
            found.append(Fault("forbidden tie", setup.roles.score, tied, setup, repeated=score))
        return found


def refuse_without_document(setup: Setup) -> None:
    """Refuse a tie rule by document where there is no column of documents."""
    if setup.roles.doc_name is None and setup.policies.tie_rule.needs_document:
        raise InvalidOption(*TEXTS["no document"](setup), kind="no document")


def refuse_objects(schema: pl.Schema, names: Sequence[str]) -> None:
    """Refuse columns of ids that Polars cannot compare."""
    for name in names:
        if schema[name] == pl.Object:
            code = Code(
                f"df.with_columns(pl.Series({name!r}, [str(x) for x in df[{name!r}]]))",
                phrase=", as in {}",
            )
            says = (
                f"column {name!r} holds Python objects, which cannot be sorted or grouped; make "
                "text of them"
            )
            raise InvalidData(says, code)


def is_rank(rank: pl.Expr) -> pl.Expr:
    """Whether a number, a float, is a rank; null for null."""
    return rank.is_between(1, LAST_RANK) & (rank == rank.floor())


def is_finite(label: pl.Expr) -> pl.Expr:
    """Whether labels, as floats, can be added up."""
    return label.is_between(-GREATEST, GREATEST)


def unfit_weights(setup: Setup, label: pl.Expr) -> dict[str, tuple[str, pl.Expr]]:
    """The faults of weights, clicks and propensities by kind: the column, and the rows."""
    found, roles = {}, setup.roles
    if roles.weight is not None:
        found["weight"] = (
            roles.weight,
            (label >= 0).fill_null(False) & ~is_weight(pl.col(roles.weight)),
        )
    if roles.propensity is not None:
        p = pl.col(roles.propensity).cast(pl.Float64)
        found["label is no click"] = roles.label, unfit_clicks(label)
        found["propensity"] = roles.propensity, (label > 0) & ~((p > 0) & (p <= 1)).fill_null(False)
    return {kind: (name, rows.fill_null(False)) for kind, (name, rows) in found.items()}


def unfit_clicks(label: pl.Expr) -> pl.Expr:
    """Whether the label, a float, is no click."""
    return ~label.is_in([0.0, 1.0])


def is_weight(x: pl.Expr) -> pl.Expr:
    """Whether the weight is allowed."""
    return x.cast(pl.Float64).is_between(0, GREATEST).fill_null(False)


def is_list(dtype: pl.DataType) -> bool:
    """Whether a subtopic column holds several per row."""
    return isinstance(dtype, (pl.List, pl.Array))
