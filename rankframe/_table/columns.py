"""A table's columns by role: checks of names and types, sort keys, and faults of rows."""

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

OTHER_TIES = [name for name, rule in TIE_RULES.items() if not rule.refuses]

TEXTS: Mapping[str, Callable[[Setup], tuple[Text, ...]]] = {
    "NaN score": lambda x: (
        f"column {x.roles.score!r} holds NaN; write null for a document that was not retrieved",
        steps.without_nan(),
    ),
    "label not finite": lambda x: (
        f"column {x.roles.label!r} holds NaN or an infinite label, or one beyond {GREATEST:g}; "
        "write null for a document that nobody judged, and smaller numbers for the others",
    ),
    "repeated document": lambda x: (
        f"a query holds the same {x.roles.doc_name!r} twice; keep one row of each, or, if these "
        "are several rankings, name the column that says which: ",
        on(query=[..., *x.roles.query]),
    ),
    "document without id": lambda x: nameless(x),
    "repeated subtopic": lambda x: (
        f"a document holds the same {x.roles.subtopic!r} twice; keep one row of each",
        steps.one_kept(
            [*x.roles.query, x.roles.doc_name, x.roles.subtopic], ", for instance with {}"
        ),
    ),
    "subtopic listed twice": lambda x: (
        f"a list in column {x.roles.subtopic!r} names a subtopic twice; name each once",
    ),
    "two scores": lambda x: (
        f"a document has different values of {x.roles.score!r} on the rows of its subtopics; give "
        "it one score",
    ),
    "forbidden tie": lambda x: (
        f"documents of a query share a value of {x.roles.score!r} and ",
        option(ties=x.policies.ties),
        f" forbids it; choose how ties stand: {', '.join(OTHER_TIES)}",
    ),
    "nested document": lambda x: (
        f"column {x.roles.doc_name!r} holds lists or structs, which ",
        option(ties=x.policies.ties),
        " cannot compare as text; make text of them, or say ",
        option(ties="doc_desc"),
    ),
    "weight": lambda x: (
        f"column {x.roles.weight!r} holds a weight that is {NO_WEIGHT}, of a judged document; "
        "give each of them its weight",
        steps.filled(str(x.roles.weight), 1, ", as in {}"),
    ),
    "label is no click": lambda x: (
        f"column {x.roles.label!r} holds a label that is neither 0 nor 1, where labels are "
        "clicks; write 1 for a click and 0 for none",
    ),
    "propensity": lambda x: (
        f"column {x.roles.propensity!r} holds a propensity that is null, NaN, 0, negative or "
        "above 1, of a clicked document; write the probability with which users saw it where it "
        "was clicked",
    ),
    "subtopic weight": lambda x: (
        f"column {x.roles.subtopic_weight!r} holds a weight that is {NO_WEIGHT}, of a subtopic; "
        "give each of them its weight",
        steps.filled(str(x.roles.subtopic_weight), 1, ", as in {}"),
    ),
    "two weights": lambda x: (
        f"a subtopic of a query has different values of {x.roles.subtopic_weight!r}; give it one "
        "weight",
    ),
    "no rank": lambda x: (
        f"column {x.roles.score!r} holds a rank that is no whole number from 1 to {LAST_RANK:,}, "
        "where ranks count as given; correct it, or take their order alone: ",
        on(rank=x.roles.score, ranks="order"),
    ),
    "shared rank": lambda x: (
        f"documents of a query share a rank in column {x.roles.score!r}, where ranks count as "
        "given; give each its own, or take their order alone: ",
        on(rank=x.roles.score, ranks="order"),
    ),
    "no document": lambda x: (
        option(ties=x.policies.ties),
        " orders tied rows by document, but the table has no document column; say ",
        on(doc=...),
        ", or ",
        option(ties="order"),
        " to keep the order of the rows",
    ),
}
"""The message for each kind of fault, which leaves metrics undefined."""


def nameless(setup: Setup, rows: int | None = None, where: str = "") -> tuple[Text, ...]:
    """The message for queries with several documents without an id, on so many `rows` if known."""
    many = "several rows of a query" if rows is None else f"{rows:,} rows, several of a query"
    null = f"column {setup.roles.doc_name!r}{where} is null in {many}"
    return (f"{null}; give each document its id, or leave out the rows without a document",)


def message_of(kind: str, setup: Setup) -> str:
    """The message with which a plan of Polars fails: the kind of the fault, then the sentence."""
    return f"{kind}: {worded(TEXTS[kind](setup))}"


@dataclass(frozen=True)
class Fault:
    """A fault that leaves metrics undefined.

    Attributes
    ----------
    kind, at, rows
        Its kind, its column, and its rows.
    says
        Its message; or, for a kind in `TEXTS`, the setup.
    repeated
        The value that a query holds twice, if that is the fault.
    """

    kind: str
    at: str
    rows: pl.Expr
    says: str | Setup
    repeated: pl.Expr | None = None

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
    texts = []
    for holds, message in faults:
        sentence = pl.lit(message) if isinstance(message, str) else message
        texts.append(pl.when(holds).then(pl.lit(MARK) + sentence))
    no_text = pl.lit(None, dtype=pl.String)
    return pl.coalesce(*texts, no_text).cast(pl.Float64)


def failed(error: pl.exceptions.InvalidOperationError) -> tuple[str | None, str] | None:
    """Kind of fault (or None) and sentence of a failed plan; None if it did not fail on purpose."""
    marked = re.search(rf'\["{MARK}(.*?)"(?:, "{MARK}|, …|\](?:\n|$))', str(error), re.DOTALL)
    if marked is None:
        return None
    message = marked[1]
    kind, _, sentence = message.partition(": ")
    return (kind, sentence) if kind in TEXTS else (None, message)


@dataclass(frozen=True)
class Columns:
    """The checked columns of a schema: all that plans know of a table before they run."""

    setup: Setup
    schema: pl.Schema

    @classmethod
    def of(cls, setup: Setup, schema: pl.Schema, *, label: bool = True) -> Columns:
        """Check the names and types that ranking needs, and resolve the default document column."""
        setup = setup.of_table(schema)
        doc = setup.roles.doc_name
        background = setup.background
        needs_label = label or setup.policies.orders_by_label
        needed = [
            (name, role) for name, role in setup.roles.named if role != "label" or needs_label
        ]
        in_items = [(x, role) for x, role in needed if ROLES[role].of_items and background.has(x)]
        in_table = [pair for pair in needed if pair not in in_items]
        require_all(schema, in_table)
        refuse_without_document(setup)
        _refuse_texts_for_numbers(schema, in_table)
        _refuse_texts_for_numbers(background.schema_of_items, in_items)
        if background != NO_TABLES:
            background.check(schema, setup.roles.query, doc)
        refuse_objects(schema, [name for name, role in in_table if ROLES[role].identifies])
        subtopic = setup.roles.subtopic
        if subtopic is not None and doc is None and not is_list(schema[subtopic]):
            says = (
                f"column {subtopic!r} holds single subtopics, so a document stands on several "
                "rows and needs a name; say "
            )
            raise InvalidOption(says, on(doc=...))
        as_text = setup.policies.tie_rule.as_text
        if doc is not None and as_text and schema[doc].is_nested():
            raise InvalidData(*TEXTS["nested document"](setup), kind="nested document")
        return cls(setup, schema)

    @property
    def lists_subtopics(self) -> bool:
        """Whether a document has one row with a list of its subtopics."""
        name = self.setup.roles.subtopic
        return name is not None and is_list(self.schema[name])

    @property
    def subtopic(self) -> pl.Expr:
        """The subtopic, or the list of subtopics; only where a column was named."""
        name = str(self.setup.roles.subtopic)
        subtopic = pl.col(name)
        return subtopic.arr.to_list() if isinstance(self.schema[name], pl.Array) else subtopic

    @property
    def query(self) -> list[pl.Expr]:
        """The query columns under their names in plans, see `key`."""
        names = zip(self.setup.roles.query, self.key, strict=True)
        return [pl.col(name).alias(key) for name, key in names]

    @property
    def key(self) -> list[str]:
        """The query columns' names in plans, unlike any caller's column."""
        n_columns = len(self.setup.roles.query)
        return [f"#query{i}" for i in range(n_columns)]

    @property
    def score(self) -> pl.Expr:
        """The score, the greatest being the best; null for a document that is not ranked.

        Such a document was not retrieved, or is dropped before ranking.
        """
        name = self.setup.roles.score
        policies = self.setup.policies
        score = pl.col(name)
        dtype = self.schema[name]
        if dtype in (pl.Boolean, pl.Null):
            dtype = pl.UInt8()
            score = score.cast(dtype)
        if policies.scores == "float32":
            dtype = pl.Float32()
            score = score.cast(dtype)
        if policies.ascending:
            score = ~score if dtype.is_integer() else -score  # flipped bits do not overflow
        if policies.drops_first:
            is_judged = pl.col(self.setup.roles.label) >= 0
            score = pl.when(is_judged).then(score)
        return score

    @property
    def given_rank(self) -> pl.Expr | None:
        """The rank as a float, where ranks count as they are given; else None."""
        if not self.setup.takes_ranks:
            return None
        return pl.col(self.setup.roles.score).cast(pl.Float64)

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
        as_text = self.setup.policies.tie_rule.as_text
        is_category = name is not None and self.schema[name] in (pl.Categorical, pl.Enum)
        return doc.cast(pl.String) if as_text or is_category else doc

    @property
    def key_of_documents(self) -> list[str]:
        """The caller's columns that name a document."""
        roles = self.setup.roles
        return [*roles.query, *roles.of("doc")]

    @property
    def needs_row(self) -> bool:
        """Whether the order of rows breaks ties."""
        return self.setup.roles.doc is None or not self.setup.policies.tie_rule.by_document

    def order(self) -> list[tuple[pl.Expr, bool]]:
        """The sort keys that put a query's rows in rank order, each with whether it falls.

        Nulls stand last, and the sort must be stable.
        """
        compared = {"label": self.label.fill_null(-float("inf")), "document": self.doc}
        keys = [(self.score, True)]
        for key in self.setup.policies.tie_rule.keys:
            values = compared[key.of]
            if values is not None:
                keys.append((key.value(values), key.falling))
        return keys

    def faults(self, *, label: bool = True) -> list[Fault]:
        """The faults the table may have, each a flag on rows, computed within a query."""
        setup = self.setup
        score = self.score
        of_score = setup.roles.score
        of_label = setup.roles.label
        doc = setup.roles.doc_name
        needs_label = label or setup.policies.orders_by_label
        faults = []
        if self.schema[of_score].is_float():
            faults.append(Fault("NaN score", of_score, score.is_nan(), setup))
        if needs_label and self.schema[of_label].is_float():
            faults.append(Fault("label not finite", of_label, ~is_finite(self.label), setup))
        if doc is not None:
            repeats = pl.col(doc).is_duplicated()
            faults.append(Fault("repeated document", doc, repeats, setup, repeated=pl.col(doc)))
        if label:
            for kind, (name, rows) in unfit_weights(setup, self.label).items():
                faults.append(Fault(kind, name, rows, setup))
        refuses_ties = setup.policies.tie_rule.refuses
        if not setup.takes_ranks and not refuses_ties:
            return faults
        is_tied = score.is_duplicated() & score.is_not_null()
        if self.given_rank is not None:
            faults.append(Fault("no rank", of_score, ~is_rank(self.given_rank), setup))
            faults.append(Fault("shared rank", of_score, is_tied, setup, repeated=score))
        if refuses_ties:
            faults.append(Fault("forbidden tie", of_score, is_tied, setup, repeated=score))
        return faults


def refuse_without_document(setup: Setup) -> None:
    """Refuse a tie rule by document where there is no column of documents."""
    if setup.roles.doc_name is None and setup.policies.tie_rule.needs_document:
        raise InvalidOption(*TEXTS["no document"](setup), kind="no document")


def _refuse_texts_for_numbers(schema: pl.Schema, named: Sequence[tuple[str, str]]) -> None:
    """Refuse columns that do not hold numbers where their role has numbers."""
    for name, role in named:
        if ROLES[role].number:
            require_number(schema, name, role)


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
    roles = setup.roles
    faults = {}
    if roles.weight is not None:
        unfit = ~is_weight(pl.col(roles.weight))
        faults["weight"] = roles.weight, (label >= 0) & unfit
    if roles.propensity is not None:
        p = pl.col(roles.propensity).cast(pl.Float64)
        unfit = ~((p > 0) & (p <= 1)).fill_null(False)
        faults["label is no click"] = roles.label, unfit_clicks(label)
        faults["propensity"] = roles.propensity, (label > 0) & unfit
    return {kind: (name, rows.fill_null(False)) for kind, (name, rows) in faults.items()}


def unfit_clicks(label: pl.Expr) -> pl.Expr:
    """Whether the label, a float, is no click."""
    return ~label.is_in([0.0, 1.0])


def is_weight(x: pl.Expr) -> pl.Expr:
    """Whether the weight is allowed."""
    return x.cast(pl.Float64).is_between(0, GREATEST).fill_null(False)


def is_list(dtype: pl.DataType) -> bool:
    """Whether a subtopic column holds several per row."""
    return isinstance(dtype, (pl.List, pl.Array))
