"""The number that each tool prints, the choices that change it, and the tool behind a number."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from itertools import starmap
from typing import Any, TypeVar

import polars as pl

from ..._catalog.call import Call, call_of
from ..._catalog.means import Mean
from ..._catalog.registry import CATALOG_METRICS, METRICS
from ..._catalog.requests import averaged, calls_of
from ..._plan.per_query import measure
from ..._results.columns import schema
from ..._results.grid import Cell, Grid, Record, left_out, number, numbers, records
from ..._results.result import MOST_ROWS, Result
from ..._results.sentences import IN_TEXT, Quotes
from ..._support.docstrings import summary
from ..._table.conventions import CONVENTIONS, Convention, Otherwise
from ..._table.policies import IN_WORDS as POLICIES_IN_WORDS, Policies, declared
from ..._table.setup import Setup, refuse_bounds
from ..._table.table import R, Table, in_memory
from ...errors import (
    Code,
    InvalidData,
    InvalidOption,
    RankframeError,
    Spelling,
    Verbatim,
    asked_as,
    on,
    option,
    worded,
)
from ..call.declaration import call_of_verb, verb
from ..items.catalog import catalog
from ..items.item_tables import Unknown
from ..sample.resampling import Resampling

IN_WORDS: Mapping[str, Mapping[object, str]] = {
    "k": {None: "it goes down the whole ranking", ...: "it stops at rank {}"},
    "gain": {
        None: "a relevant document gains 1",
        "linear": "a document gains its label",
        "exponential": "a document gains 2^label - 1",
        "binary": "a relevant document gains 1, whatever its label",
        "scaled": "a document gains its label over the query's largest",
        ...: "a document gains {}",
    },
    "discount": {
        "log2": "the gain at a rank is divided by log2(rank + 1)",
        "original": "the gain at a rank is divided by log2(rank), from rank 2 on",
        "rank": "the gain at a rank is divided by the rank",
        ...: "the gain at a rank is discounted by {}",
    },
    "ideal": {
        "judged": "its ideal is made of the best judged documents, as many as the cutoff",
        "as_many": "its ideal has no more documents than were retrieved",
        "all": "its ideal has all judged documents, also beyond the cutoff",
        "retrieved": "its ideal is made of retrieved documents only",
        "perfect": "its ideal has a best document at every rank, also where there are not as many",
    },
    "divisor": {
        "k": "it divides by the cutoff",
        "min(k,n)": "it divides by the number of retrieved documents, at most the cutoff",
        "min(k,R)": "it divides by the number of relevant documents, at most the cutoff",
        "min(n,R)": "it divides by the number of relevant documents, at most those retrieved",
        "R": "it divides by the number of relevant documents",
        "hits": "it divides by the number of relevant documents that were found",
        "list": "it divides by the length of the list",
        "pairs": "it divides by the number of pairs",
    },
    "rounding": {
        "nearest": "the number of relevant documents at a level of recall is rounded",
        "up": "the number of relevant documents at a level of recall is rounded up",
    },
    "shown": {
        "list": "a list shorter than the cutoff has as many documents as it has",
        "k": "a list shorter than the cutoff counts as full",
    },
    "max_label": {
        None: "the top of the scale is the table's largest label",
        "query": "the top of the scale is each query's largest label",
        ...: "the top of the scale is label {}",
    },
    "min_label": {None: "every label counts", ...: "labels below {} count as 0"},
    "unseen_items": {
        "rarest": "an item without interactions counts like the least popular one",
        "skip": "items without interactions are left out",
        "zero": "an item without interactions counts 0",
        "error": "an item without interactions is refused",
    },
    "base": {
        "users": "popularity is a share of the users",
        "interactions": "popularity is a share of the interactions",
    },
    "distance": {
        "cosine": "the distance of two items is 1 less the cosine of their features",
        "hamming": "the distance of two items is the number of features in which they differ",
        "euclidean": "the distance of two items is that of their features",
    },
    "against": {
        "popularity": "an item surprises by being less popular than its rank tells",
        "co_occurrence": "an item surprises by sharing few users with those that the user had",
        "features": "an item surprises by features unlike those that the user had",
    },
    "relevance": {False: "items count whatever their labels"},
    "tail": {...: "the tail is {} of the items"},
    "weight": {
        "equal": "all ranks count the same",
        "count": "all ranks count the same",
        "log2": "a rank counts 1 / log2(rank + 1)",
        "rbp": "a rank counts as a reader who goes on with probability p reaches it",
        ...: "a rank counts {}^(rank - 1)",
    },
    "p": {...: "the reader goes on with probability {}"},
    "first_rank": {...: "it numbers the ranks of the other ranking from {} on"},
    "at": {
        "ranks": "it is the mean of the recall at all ranks",
        "relevant": "it adds up the recall at the ranks of the relevant documents",
    },
    "no_pairs": {
        "null": "a list without a pair has no value",
        "zero": "a list without a pair counts 0",
        "one": "a list without a pair counts 1",
    },
    "tied": {...: "a pair with equal scores counts {}"},
}
"""The effect of each value of an option, as a clause; ``...`` stands for any other value, which
takes the place of {}."""


def in_words(name: str, value: object, shown: str) -> str:
    """The effect of a value of a policy or an option; `shown` is the value as text."""
    clauses = {**POLICIES_IN_WORDS, **IN_WORDS}.get(name, {})
    is_listed = value is None or isinstance(value, (str, bool))
    known = value if is_listed else ...
    for_others = clauses.get(..., f"{name} is {{}}")
    clause = clauses.get(known, for_others)
    return clause.format(shown)


SCHEMA = schema("tool value metric differs_by note says")
OURS, ONE_CHOICE = "rankframe", "one choice"

NO_TOOL_COUNTS = ("NaN score", "label not finite", "repeated document")
"""The faults of a table for which no tool's convention defines a number."""

MOST_THRESHOLDS = 20
"""The most different labels that are tried as thresholds of relevance."""


PLAIN = Resampling(None, "percentile", 1, 0, False)
"""Values without intervals."""


R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True, repr=False)
class Conventions(Result[R_co]):
    """The value of a metric that each tool would print for a table.

    Attributes
    ----------
    table
        A row per tool that has the metric, or another number under its name, rankframe first:
        ``tool``; ``value``, the tool's mean over queries (Float64; null if it cannot be reproduced,
        with the reason in ``note`` or ``says``); ``metric``, the text of the metric as computed,
        null if the tool has another formula; ``differs_by``, the tool's settings that change the
        value; ``note``, behaviour that no setting reproduces; and ``says``, the settings, or the
        other formula, in words. With `observed` the rows are sorted by closeness, ``difference`` is
        the value less the observed number, and ``says`` is a sentence about the value.
    settings
        The metric, the observed number, the policies, the versions.
    """

    table: R_co
    settings: Mapping[str, Any]

    def sentences(self, quotes: Quotes = IN_TEXT) -> list[str]:
        """How many values the tools print; of an observed number, who prints it."""
        rows = records(self.table)
        metric = self.settings["metric"]
        if self.settings["observed"] is not None:
            return [row["says"] for row in rows if _tells_of_observed(row)]
        values = [value for value, _ in by_value(rows)]
        if len(values) == 1:
            return [f"All tools here print the same {metric}"]
        least = number(min(values), DIGITS)
        most = number(max(values), DIGITS)
        return [f"{len(values)} values of {metric}, from {least} to {most}"]

    def grids(self, most: int | None = MOST_ROWS) -> list[Grid]:
        """A row per value: the tools that print it, and why it is another one than rankframe's."""
        rows = records(self.table)
        body = []
        for value, tools in by_value(rows):
            (cell,) = numbers({"value": value}, "value", digits=DIGITS)
            reasons = reasons_of(tools)
            names = tools_in(tools)
            body.append((cell, Cell(reasons), Cell(names)))
        unknown = tools_in([row for row in rows if row["value"] is None])
        notes = left_out(self, [], None)
        if unknown:
            notes = [f"Not known here: {unknown}.", *notes]
        return [Grid((), ("value",), body, notes, ("because", "tools"))]


DIGITS = 4
"""The digits of a tool's value."""

SAME = 12
"""Values are the same number if they agree to so many decimals."""


def by_value(rows: Sequence[Record]) -> list[tuple[float, list[Record]]]:
    """The rows of each value, rankframe's first, then those of most tools."""
    known = [row for row in rows if row["value"] is not None]
    known.sort(key=lambda row: row["tool"] != OURS)
    groups: dict[float, list[Record]] = {}
    for row in known:
        value = round(row["value"], SAME)
        groups.setdefault(value, []).append(row)
    if not groups:
        return []
    first, *others = groups.items()
    others.sort(key=lambda group: -len(group[1]))
    return [first, *others]


def _tells_of_observed(row: Record) -> bool:
    """Whether a row is about rankframe's value, a single choice, or a tool with the same value."""
    return row["tool"] in (OURS, ONE_CHOICE) or row["difference"] == 0


def tools_in(rows: Sequence[Record]) -> str:
    """The names of the tools."""
    return ", ".join(row["tool"] for row in rows)


def reasons_of(rows: Sequence[Record]) -> str:
    """The settings of the tools that change the value, each once; the words of another formula."""
    reasons = []
    for row in rows:
        of_formula = "" if row["metric"] else row["says"]
        reasons.append(row["differs_by"] or of_formula)
    return " or ".join(dict.fromkeys(filter(None, reasons)))


@verb(gives="whole")
def conventions(
    table: Table[R], metric: str, observed: float | str | None = None
) -> Conventions[R]:
    r"""The value that each tool would print for this table, and the settings of the tool that cause
    the difference.

    Parameters
    ----------
    metric
        A text, as ``"ndcg@10"``, or of a metric of the whole table, as ``"coverage@10"``; the
        catalog and past interactions are those of ``on(items=..., interactions=...)``.
    observed
        A number that another tool printed, a mean over queries: the rows then show which tool
        prints it. A value matches if it rounds to the digits given; write the number as a text to
        keep a last zero, as ``"0.80"``.

    Returns
    -------
    A :class:`rankframe.results.Conventions`, which prints a row per value, with the tools that
    print it and why. Its ``table`` has a row per tool. If neither rankframe nor any tool gives an
    `observed` number, each row with the tool ``one choice`` changes a single policy, or a single
    option of the metric, so that it does; if no such change exists, ``says`` in the row of
    rankframe tells this. A LazyFrame is collected first.

    Raises
    ------
    InvalidOption
        If `metric` is not one metric, or `observed` is no number.

    Examples
    --------
    >>> import polars as pl, rankframe as rf
    >>> rows = {"query_id": [1, 1, 2], "doc_id": list("aba"), "score": [3, 2, 1]}
    >>> df = pl.DataFrame({**rows, "label": [1, 2, 0]})
    >>> found = df.rank.conventions("ndcg@10").table
    >>> [choices for tool, choices in zip(found["tool"], found["differs_by"]) if tool == "lightgbm"]
    ['no_relevant=one, gain=exponential']
    >>> rows = {"query_id": 1, "doc_id": ["a", "b"], "score": [1, None], "label": [1, 1]}
    >>> short = pl.DataFrame(rows)
    >>> found = short.rank.conventions("ndcg@10", observed=1.0).table
    >>> says = next(says for tool, says in zip(found["tool"], found["says"]) if tool == "mlflow")
    >>> print(*says.split("; "), sep="\n")
    1.0 is what mlflow prints: its ideal has no more documents than were retrieved
    the definition says 0.6
    """
    setup = table.setup
    refuse_bounds(setup)
    call = _only(metric)
    seen = None if observed is None else Seen.of(observed)
    numbers = _Numbers(table.rows, setup, call, table.spelling)
    rows = [numbers.row(OURS, setup, call)]
    rows += [numbers.of_tool(*meant) for meant in _meant(call)]
    if seen is None:
        by_tool = _table(rows, [row.clauses for row in rows])
        return Conventions(table.give(by_tool), {"metric": call.text, "observed": None})
    if not any(seen.matches(row.value) for row in rows):
        rows += [row for row in numbers.single_choices() if seen.matches(row.value)]
    by_tool = _table(rows, [*_sentences(rows, seen)])
    difference = by_tool["value"] - float(seen.number)
    by_tool.insert_column(2, difference.alias("difference"))
    by_tool = by_tool.sort(pl.col("difference").abs(), nulls_last=True, maintain_order=True)
    return Conventions(table.give(by_tool), {"metric": call.text, "observed": seen.text})


def explained(text: str) -> pl.DataFrame:
    """A row per tool that has the metric, with all its choices; no table is evaluated."""
    call = _only(text)
    setup = Setup()
    rows = [Row(OURS, None, call.text, (), summary(call.metric.doc))]
    for tool, convention, other in _meant(call):
        if other is not None:
            rows.append(Row(tool, None, None, (), convention.note, other.says))
            continue
        theirs, meant = setup.counted_as(tool).resolve(call)
        choices = tuple(choice for choice, _ in _choices(theirs, meant, setup, call))
        rows.append(Row(tool, None, meant.text, choices, convention.note))
    return _table(rows, [row.clauses for row in rows]).drop("value")


@dataclass(frozen=True)
class Choice:
    """A value of a policy or of an option."""

    name: str
    value: object

    @property
    def text(self) -> str:
        """The choice as text."""
        return f"{self.name}={short(self.value)}"

    @property
    def says(self) -> str:
        """Its effect, in words."""
        return in_words(self.name, self.value, short(self.value))


@dataclass(frozen=True)
class Row:
    """The answer of a tool.

    Attributes
    ----------
    tool, value
        The tool, and the number that it prints.
    metric
        The metric as computed; None for a tool with another formula under its name.
    choices
        The choices that change the number.
    note
        What no choice reproduces.
    formula
        The other formula, in words.
    """

    tool: str
    value: float | None
    metric: str | None
    choices: tuple[Choice, ...]
    note: str
    formula: str = ""

    @property
    def differs_by(self) -> str:
        """The choices as they are written."""
        return ", ".join(choice.text for choice in self.choices)

    @property
    def clauses(self) -> str:
        """The choices, or the other formula, in words."""
        return self.formula or "; ".join(choice.says for choice in self.choices)


def _table(rows: Sequence[Row], says: Sequence[str]) -> pl.DataFrame:
    """A row per tool, and what it says."""
    cells = []
    for row, sentence in zip(rows, says, strict=True):
        cells.append((row.tool, row.value, row.metric, row.differs_by, row.note, sentence))
    return pl.DataFrame(cells, SCHEMA, orient="row")


class _Numbers:
    """The numbers of one table and metric, by the setup and the call that give them."""

    def __init__(self, table: pl.DataFrame, setup: Setup, call: Call, spelling: Spelling) -> None:
        self.table = table
        self.setup = setup
        self.call = call
        self.spelling = spelling
        self._values: dict[tuple[Setup, Call], float | None] = {}

    def value(self, setup: Setup, call: Call) -> float | None:
        """The mean over the queries that count; of a metric of the whole table, its value."""
        if (setup, call) not in self._values:
            is_of_table = CATALOG_METRICS.get(call.metric.name) is call.metric
            measured = of_table if is_of_table else mean_of
            self._values[setup, call] = measured(self.table, setup, call)
        return self._values[setup, call]

    def of_tool(self, tool: str, convention: Convention, other: Otherwise | None) -> Row:
        """The number that a tool prints, by options of ours or by another formula."""
        theirs = self.setup.counted_as(tool)
        note = convention.note
        if other is None:
            return self.row(tool, *theirs.resolve(self.call), note)
        value = math.nan
        if other.value is not None:
            try:
                values = _Values(self, replace(theirs, convention=None))
                value = other.value(values)
            except RankframeError as error:
                note = self._noted(error, note)
        known = None if math.isnan(value) else value
        return Row(tool, known, None, (), note, other.says)

    def row(self, tool: str, setup: Setup, call: Call, note: str = "") -> Row:
        """The number of a tool with this setup and call, with the choices that change it."""
        try:
            here = self.value(setup, call)
        except RankframeError as error:  # such as tied scores under a rule of the tool that we lack
            if isinstance(error, InvalidData) and error.kind in NO_TOOL_COUNTS:
                raise
            return Row(tool, None, call.text, (), self._noted(error, note))
        changing = []
        choices = []
        for choice, ours in _choices(setup, call, self.setup, self.call):
            choices.append(choice)
            if not _same(here, self._with_ours(setup, call, choice, ours)):
                changing.append(choice)
        our_value = self._value_if_any(self.setup, self.call)
        is_ours = tool == OURS or _same(here, our_value)
        if not changing and not is_ours:
            changing = choices  # several of them make the same difference
        return Row(tool, here, call.text, tuple(changing), note)

    def _noted(self, error: RankframeError, note: str) -> str:
        """A note after the sentence of an error."""
        sentence = worded(error.parts, self.spelling)
        return "; ".join(filter(None, [sentence, note]))

    def _with_ours(self, setup: Setup, call: Call, choice: Choice, ours: object) -> float | None:
        """The value with our choice in place of the tool's; NaN if the others exclude it."""
        try:
            changed = _with(setup, call, choice.name, ours)
        except RankframeError:
            return math.nan
        return self._value_if_any(*changed)

    def _value_if_any(self, setup: Setup, call: Call) -> float | None:
        """The value; NaN if the choices exclude each other."""
        try:
            return self.value(setup, call)
        except RankframeError:
            return math.nan

    def single_choices(self) -> Iterator[Row]:
        """The number that each single choice gives."""
        for choice in dict.fromkeys(self._tried()):
            if choice == Choice("unjudged", "bounds"):
                continue  # it gives two numbers
            with suppress(RankframeError):  # the choice may exclude another one
                setup, call = _with(self.setup, self.call, choice.name, choice.value)
                if (setup, call) != (self.setup, self.call):
                    yield Row(ONE_CHOICE, self.value(setup, call), call.text, (choice,), "")

    def _tried(self) -> Iterator[Choice]:
        """Each word of a policy or an option, numbers that tools use, and labels as thresholds."""
        metric = self.call.metric
        label = self.setup.roles.label
        for tool in CONVENTIONS.values():
            of_metric = tool.metrics.get(metric.name, {})
            yield from starmap(Choice, (*tool.policies.items(), *of_metric.items()))
        if label in self.table.columns:
            labels = self.table[label].drop_nulls().unique().sort()
            if len(labels) <= MOST_THRESHOLDS:
                yield from [Choice("relevant", x) for x in labels if x > 0]
        for name, policy in declared(Policies).items():
            words: list[object] = [*policy.words]
            if bool in policy.kinds:
                words += [True, False]
            yield from [Choice(name, word) for word in words]
        for name, kind in metric.kinds.items():
            if kind:
                yield from [Choice(name, word) for word in kind.words]
        if "k" in metric.parameters:
            yield Choice("k", None)


@dataclass(frozen=True)
class _Values:
    """The values of metrics for a table, as the other formula of a tool reads them."""

    numbers: _Numbers
    setup: Setup

    @property
    def past_items(self) -> pl.Series:
        """The items of past interactions, each once."""
        past = self.setup.background.interactions
        roles = self.setup.roles
        doc = roles.doc_in(self.numbers.table.columns)
        if past is None or doc is None:
            advice = on(interactions=Verbatim("train"))
            raise InvalidOption("it reads past interactions; give them, as ", advice)
        return past.named(roles.query, doc).counts[doc]

    @property
    def n_queries(self) -> int:
        """The number of users."""
        return self.numbers.table.select(self.setup.roles.query).n_unique()

    @property
    def call(self) -> Call:
        """The call that is asked for."""
        return self.numbers.call

    def of(self, text: str, items: object = None, **options: object) -> float:
        """The value of a metric at the call's cutoff; NaN if undefined.

        The options may be some that no text holds.
        """
        (call,) = _named(text)
        k = self.call.arguments.get("k")
        arguments = {**call.arguments, "k": k, **options}
        call = call_of(call.metric, (), arguments, call.relevant)
        if items is None:
            value = self.numbers.value(self.setup, call)
        else:
            setup = self.setup.on(items=items)
            value = of_table(self.numbers.table, setup, call, "drop")
        return math.nan if value is None else value


def mean_of(table: pl.DataFrame, setup: Setup, call: Call) -> float | None:
    """The mean of a metric over the queries that count."""
    mean = Mean.of(call).unweighted(pl.col(call.text))
    by_query = measure(table, setup, call)
    over_queries = by_query.lazy().select(mean).collect()
    value: float | None = over_queries.item()
    return value


def of_table(
    table: pl.DataFrame, setup: Setup, call: Call, unknown: Unknown = "error"
) -> float | None:
    """The value of a metric of the whole table."""
    of_call = call_of_verb(catalog, call, ci=None, unknown_items=unknown)
    values = of_call.on(in_memory(table, setup))
    value: float | None = values["value"].item()
    return value


def _named(text: str) -> list[Call]:
    """The calls that a text names, of one query's ranking or of the whole table."""
    for among in (METRICS, CATALOG_METRICS):
        with suppress(RankframeError):
            return calls_of(text, among=among)
    return calls_of(text, example="conventions('ndcg@10')")  # refuses it


def _only(text: str) -> Call:
    """The metric that a text names."""
    calls = _named(text)
    if len(calls) != 1:
        says = f"{text!r} names {len(calls)} metrics; ask for one, as in "
        raise InvalidOption(says, asked_as("conventions('ndcg@10')"))
    return averaged(calls, "conventions('ndcg@10')", of_rankings=True)[0]


def _meant(call: Call) -> Iterator[tuple[str, Convention, Otherwise | None]]:
    """Each tool that has the metric, or another number by its name."""
    name = call.metric.name
    for tool, convention in CONVENTIONS.items():
        if name in convention.metrics or name in convention.otherwise:
            yield tool, convention, convention.otherwise.get(name)


def _choices(
    setup: Setup, call: Call, ours: Setup, our_call: Call
) -> Iterator[tuple[Choice, object]]:
    """Each choice in which a setup and a call differ from ours, with our value in its place."""
    for name in declared(Policies):
        chosen = getattr(setup.policies, name)
        our_choice = getattr(ours.policies, name)
        if chosen != our_choice:
            yield Choice(name, chosen), our_choice
    options = dict(call.options)
    our_options = dict(our_call.options)
    for name, parameter in call.metric.parameters.items():
        chosen = options.get(name, parameter.default)
        our_choice = our_options.get(name, parameter.default)
        if chosen != our_choice:
            yield Choice(name, chosen), our_choice


def _with(setup: Setup, call: Call, name: str, value: object) -> tuple[Setup, Call]:
    """The setup and the call with another value of a policy or of an option."""
    if name not in call.metric.parameters:
        return setup.changed(**{name: value}), call
    arguments = {**call.arguments, name: value}
    return setup, call_of(call.metric, (), arguments, call.relevant)


def _sentences(rows: list[Row], seen: Seen) -> Iterator[str]:
    """The sentence of each row, ours first, on the observed number."""
    ours, *others = rows
    defined = f"the definition says {seen.like(ours.value)}"
    if seen.matches(ours.value):
        yield f"{seen.text} is what the definition says"
    elif others and others[-1].tool == ONE_CHOICE:
        yield f"no tool here prints {seen.text}; {defined}"
    elif any(seen.matches(row.value) for row in others):
        yield defined
    else:
        yield f"no tool here prints {seen.text}, and no single choice gives it; {defined}"
    for row in others:
        why = f": {row.clauses}" if row.clauses else ", as the definition says"
        if row.value is None:
            yield f"what {row.tool} prints is not known here"
        elif not seen.matches(row.value):
            yield f"{row.tool} prints {seen.like(row.value)}{why}"
        else:
            who = "one choice gives" if row.tool == ONE_CHOICE else f"{row.tool} prints"
            instead = f"; {defined}" if row.clauses else ""
            yield f"{seen.text} is what {who}{why}{instead}"


def _same(a: float | None, b: float | None) -> bool:
    """Whether two values are the same number but for rounding, or neither is there."""
    if a is None or b is None:
        return a is b
    return a is b or math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)


JUST_ABOVE = {math.nextafter(0.5, 1): "0.5", math.nextafter(0, 1): "0"}
"""Thresholds that leave out a number, by the number as text."""


def short(choice: object) -> str:
    """A choice as text; a threshold just above a number is written with ``above``."""
    if isinstance(choice, float) and choice in JUST_ABOVE:
        return f"above {JUST_ABOVE[choice]}"
    return str(choice)


NOISE = 1e-12
"""The relative difference allowed for another order of computation."""


@dataclass(frozen=True)
class Seen:
    """A number as it was printed.

    Attributes
    ----------
    number
        The number, with as many digits as were given.
    """

    number: Decimal

    @classmethod
    def of(cls, given: float | str) -> Seen:
        """Read a number, or its text."""
        try:
            number = Decimal(str(given).strip())
        except InvalidOperation:
            number = Decimal("NaN")
        if not number.is_finite():
            says = " is no number; give the one that was printed, with its digits, as "
            example = Code("observed=0.81", command="--observed 0.81")
            raise InvalidOption(option(observed=given), says, example)
        return cls(number)

    @property
    def text(self) -> str:
        """The number as it was given."""
        return f"{self.number:f}"

    @property
    def unit(self) -> Decimal:
        """The value of 1 in the last digit."""
        return Decimal(1).scaleb(int(self.number.as_tuple().exponent))

    def matches(self, value: float | None) -> bool:
        """Whether a value, rounded to the digits given, is this number.

        A half may be rounded up or down.
        """
        if value is None or not math.isfinite(value):
            return False
        rounding_errors = abs(self.number) * Decimal(NOISE)
        return abs(Decimal(value) - self.number) <= self.unit / 2 + rounding_errors

    def like(self, value: float | None) -> str:
        """A value rounded to the same digits."""
        if value is None or not math.isfinite(value):
            return "nothing"
        return f"{Decimal(value).quantize(min(self.unit, Decimal(1))):f}"
