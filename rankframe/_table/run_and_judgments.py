"""A run and its judgments: the key of the join, the reasons to refuse it, and the join."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Literal, NamedTuple, TypeAlias

import polars as pl
import polars.selectors as cs

from ..errors import Advice, Code, InvalidData, InvalidOption, Text, on, option, warn, worded
from .columns import failing, fresh, is_list, nameless
from .roles import USUAL_NAMES, require, require_all
from .setup import Setup
from .steps import last_kept, one_kept, to_name, typed, types_differ
from .telling_apart import Apart, repeated_in_run, repeats, telling_apart, usual_runs
from .unlabelled import all_ones

Missing: TypeAlias = Literal["keep", "drop", "error"]

SHOWN = 3
"""The number of rows, or ids, that a message shows."""

CHECK = Advice("check")
LISTED = Advice("check", of=("qrels",))
"""The calls that list all rows; an error shows only the first ones."""

STRANGERS = "no query of the run is judged; write the ids alike in both tables, where '1' is not '01', nor 'a' 'A'"
UNMATCHED = "no retrieved document is judged; write the ids alike in both tables, or every metric counts nothing found"
"""Messages for tables without a common query, and without a common document."""


class Refusal(NamedTuple):
    """A reason to refuse a join.

    Attributes
    ----------
    message
        The message.
    places
        The keys of the rows at fault, and in the last column their number; empty if there is no fault.
    listed
        The call that lists the places.
    error
        Makes the error from the text of the first places; ``None``: the message followed by this text.
    """

    message: Text
    places: pl.LazyFrame
    listed: Advice = LISTED
    error: Callable[[Text], InvalidData] | None = None

    def refuse(self) -> None:
        """Raise the message with the first places, if there are any."""
        found = self.places.collect()
        if not found.is_empty():
            *at, rows = found.columns
            where = found_in(found.select(at).sort(at), int(found[rows].sum()), self.listed)
            raise InvalidData(self.message, where) if self.error is None else self.error(where)


@dataclass(frozen=True)
class Tables:
    """A run and its judgments.

    Attributes
    ----------
    run, qrels
        The tables.
    setup
        The roles of columns, and the policies.
    named
        The query column that names the run of each row; ``None`` if there is one run, or no such column was named.
    all_relevant
        Whether the judgments have no column of labels, so that each of their rows counts 1.
    """

    run: pl.LazyFrame
    qrels: pl.LazyFrame
    setup: Setup
    named: str | None = None
    all_relevant: bool = False

    @classmethod
    def of(cls, run: pl.LazyFrame, qrels: pl.LazyFrame, setup: Setup) -> Tables:
        """Check the names and the types of the columns that joining needs."""
        run_schema, qrels_schema = run.collect_schema(), qrels.collect_schema()
        doc = setup.roles.doc_name
        if doc is None:
            raise InvalidOption("judge joins by document; name the column that holds it: ", on(doc=...))
        require_all(
            run_schema, [*((name, "query") for name in setup.roles.query), (doc, "doc"), (setup.roles.score, "score")]
        )
        if setup.roles.label in run_schema:
            raise InvalidOption(
                f"the run already has a column {setup.roles.label!r}; ",
                Code("drop it before judge, or evaluate", command="leave --qrels out to evaluate"),
                " the table as it is",
            )
        tables = cls(run, qrels, setup)
        query = [] if tables.query else [(setup.roles.query[-1], "query")]
        needed = [*query, (doc, "doc"), (setup.roles.label, "label")]
        tables = tables.labelled([role for name, role in needed if name not in qrels_schema])
        require_all(qrels_schema, needed[:-1] if tables.all_relevant else needed, "qrels")
        tables = replace(
            tables, run=typed(run, qrels_schema, tables.keys), qrels=typed(tables.qrels, run_schema, tables.keys)
        )
        run_schema, qrels_schema = tables.run.collect_schema(), tables.qrels.collect_schema()
        if message := types_differ(run_schema, qrels_schema, tables.keys):
            raise InvalidData(*message)
        shared = [name for name in qrels_schema if name in run_schema and name not in tables.keys]
        if shared:
            raise InvalidOption(f"run and judgments both have a column {shared[0]!r}; rename or drop one of them")
        return tables

    def labelled(self, lacking: Sequence[str] = ("label",)) -> Tables:
        """The tables, each judgment labelled 1 if no column holds labels; `lacking` are the roles without a column."""
        labelled = all_ones(self.qrels, self.setup, lacking)
        return self if labelled is None else replace(self, qrels=labelled, all_relevant=True)

    def with_run(self, named: str) -> Tables:
        """The same tables, with `named` as the column that names the run of each row."""
        setup = self.setup.changed(query=(named, *(name for name in self.setup.roles.query if name != named)))
        require(self.run.collect_schema(), named, "run")
        return replace(self, setup=setup, named=named)

    @property
    def query(self) -> list[str]:
        """The query columns of both tables."""
        return [name for name in self.setup.roles.query if name in self.qrels.collect_schema()]

    @property
    def runs(self) -> list[str]:
        """The query columns that only the run has; the judgments apply to each of their values."""
        return [name for name in self.setup.roles.query if name not in self.qrels.collect_schema()]

    @property
    def keys(self) -> list[str]:
        """The columns that name a document in both tables."""
        return [*self.query, str(self.setup.roles.doc_name)]

    @property
    def key(self) -> list[str]:
        """The key columns of the run: no two rows may have the same values in them."""
        subtopic, schema = self.setup.roles.subtopic, self.run.collect_schema()
        single = [] if subtopic not in schema or subtopic is None or is_list(schema[subtopic]) else [subtopic]
        return [*self.setup.roles.query, str(self.setup.roles.doc_name), *single]

    @property
    def usual_runs(self) -> Apart:
        """The columns of the run with a usual name for a column of runs."""
        return usual_runs(self.run.collect_schema().names(), self.key)

    @property
    def queries(self) -> pl.LazyFrame:
        """The queries of the run, as the judgments name them."""
        return self.run.select(self.query).unique(maintain_order=True)

    @property
    def judged_queries(self) -> pl.LazyFrame:
        """The queries of the judgments."""
        return self.qrels.select(self.query).unique(maintain_order=True)

    @property
    def judged(self) -> pl.LazyFrame:
        """The judgments, once for each run."""
        return self._for_every_run(self.qrels)

    @property
    def run_only(self) -> pl.LazyFrame:
        """The rows of the run whose query has no judgments."""
        return self.run.join(self.qrels, on=self.query, how="anti", nulls_equal=True, maintain_order="left")

    @property
    def judged_only(self) -> pl.LazyFrame:
        """The judgments of queries that the run, or one of the runs, lacks."""
        judged, on = self._for_every_run(self.qrels.select(self.query)), self.setup.roles.query
        return judged.join(self.run, on=on, how="anti", nulls_equal=True, maintain_order="left")

    @property
    def matched(self) -> pl.LazyFrame:
        """The rows of the run that are judged."""
        return self.run.join(self.qrels, on=self.keys, how="semi", nulls_equal=True, maintain_order="left")

    def _for_every_run(self, qrels: pl.LazyFrame) -> pl.LazyFrame:
        runs = self.runs
        return self.run.select(runs).unique(maintain_order=True).join(qrels, how="cross") if runs else qrels

    # reasons to refuse the join

    def refusals(
        self, judged_only: Missing, run_only: Missing, apart: Apart | None, possible: Sequence[str] = ()
    ) -> Iterator[Refusal]:
        """The reasons to refuse a join that can be found in some of the queries alone, as in a plan in parts.

        `apart` lists the columns, or pairs of them, that may name the run of repeated documents, and `possible` the columns to
        name if it is empty; ``None``: none repeats.
        """
        if self.named is not None:
            yield self._nameless(self.named)
        for where, rows, query in (("run", self.run, self.setup.roles.query), ("judgments", self.qrels, self.query)):
            without = _counted(rows.filter(pl.col(self.keys[-1]).is_null()), query).filter(pl.last() > 1)
            yield Refusal(nameless(self.setup, where=f" of the {where}"), without, CHECK)
        if apart is not None:
            yield self._run_repeats(apart, possible)
        yield self.qrels_repeat()
        if run_only == "error":
            yield Refusal(
                (
                    "a query of the run has no judgments; ",
                    option(run_only="drop"),
                    " leaves it out, ",
                    option(run_only="keep"),
                    " counts it as having none; ",
                    LISTED,
                    " lists them",
                ),
                _counted(self.run_only, self.query),
            )
        if judged_only == "error":
            yield Refusal(
                (
                    "a judged query is not in the run; ",
                    option(judged_only="keep"),
                    " counts it with nothing retrieved, 'drop' leaves it out; ",
                    LISTED,
                    " lists them",
                ),
                _counted(self.judged_only, self.setup.roles.query),
            )

    def _nameless(self, named: str) -> Refusal:
        """Rows without the name of their run."""
        message = (
            f"column {named!r} names the run of each row, and is null on some. Where these have no score, labels were "
            "joined before: start from the table of the runs alone. Where they have one, ",
            to_name(named, self.run.collect_schema()[named]),
        )
        return Refusal(message, _counted(self.run.filter(pl.col(named).is_null()), self.key), CHECK)

    def _run_repeats(self, apart: Apart, possible: Sequence[str]) -> Refusal:
        """Documents that the run holds more than once in a query, most often because it is several runs."""
        advise = partial(repeated_in_run, self.setup, self.key, self.named)
        error = partial(repeats, self.key, self.setup, advise, apart)
        return Refusal(advise(apart, possible), _repeated(self.run, self.key), CHECK, error)

    def qrels_repeat(self) -> Refusal:
        """Documents that the judgments hold more than once in a query, and not for several subtopics."""
        schema, subtopic = self.qrels.collect_schema(), self.setup.roles.subtopic
        usual = [name for name in schema if name.lower() in USUAL_NAMES["subtopic"] and name not in self.keys]
        key = [*self.keys, *(usual if subtopic is None or subtopic not in schema else [subtopic])]
        kept: tuple[Text, ...] = ("such as the highest", last_kept(self.setup.roles.label, key, ": {}", frame="qrels"))
        if self.all_relevant:
            kept = (one_kept(key, "as with {}", frame="qrels"),)
        message = (
            "the judgments hold a document of a query more than once; keep one of each, ",
            *kept,
            ", or name the column of the subtopics that it was judged for: ",
            on(subtopic=...),
        )
        return Refusal(message, _repeated(self.qrels, key))

    def strangers(self, run_only: Missing) -> Refusal:
        """Whether no query of the run is judged, most often because the tables write ids differently."""
        run, judged = (fresh(name, self.query) for name in ("#run", "#judged"))
        both = self.queries.with_columns(pl.lit(True).alias(run)).join(
            self.judged_queries.with_columns(pl.lit(True).alias(judged)),
            on=self.query,
            how="full",
            coalesce=True,
            nulls_equal=True,
        )
        none = pl.col(run).any() & ~(pl.col(run) & pl.col(judged)).fill_null(False).any()
        if run_only == "keep":  # then a run without any judgments counts, too
            none &= pl.col(judged).any()
        return Refusal(STRANGERS, both.select(none.alias(run)).filter(run))

    # checks that compare both tables in memory

    def told_apart(self) -> tuple[Tables, Apart | None]:
        """The tables with the one usual column of runs that tells repeated documents apart; else unchanged, with the candidates.

        ``None`` for the candidates if no document repeats, or if the column is set.
        """
        if not self._repeats:
            return self, None
        apart = telling_apart(self.run, self.key, self.setup)
        usual = [] if self.named is not None else [names for names in apart if names in self.usual_runs]
        return (self.with_run(*usual[0]), None) if len(usual) == 1 else (self, usual or apart)

    @property
    def _repeats(self) -> bool:
        return not _repeated(self.run, self.key).collect().is_empty()

    def refuse_strangers(self, run_only: Missing) -> None:
        """Refuse a run without a judged query, and show some queries of both tables."""
        if not self.strangers(run_only).places.collect().is_empty():
            run, judged = (first_of(queries.collect()) for queries in (self.queries, self.judged_queries))
            raise InvalidData(f"{STRANGERS} (found in the run: {run}; in the judgments: {judged or 'nothing'})")

    def warn(self, *, run_only: bool, judged_only: bool) -> None:
        """Warn of queries that only one of the tables has, if asked for, and if no retrieved document is judged."""
        unjudged = self.queries.join(
            self.judged_queries, on=self.query, how="anti", nulls_equal=True, maintain_order="left"
        )
        left_out = unjudged.collect() if run_only else pl.DataFrame()
        if not left_out.is_empty():
            n = self.queries.select(pl.len()).collect().item()
            warn(
                f"{left_out.height} of {n} queries of the run have no judgments and are left out; say ",
                option(run_only="drop"),
                " to leave them out without a warning, or ",
                option(run_only="keep"),
                f" to count them as having nothing relevant (found in the run: {first_of(left_out)})",
            )
        missed = self.judged_only.unique(maintain_order=True).collect() if judged_only else pl.DataFrame()
        if not missed.is_empty():
            n = self._for_every_run(self.judged_queries).select(pl.len()).collect().item()
            warn(
                f"{missed.height} of {n} judged queries are not in the run and count with nothing retrieved; say ",
                option(judged_only="drop"),
                " to leave them out, or ",
                option(judged_only="keep"),
                f" to count them without a warning (found in the judgments: {first_of(missed)})",
            )
        # The first rows usually suffice; a join of all rows takes as long as a sort.
        of_first = self.qrels.join(self.run.head(1_000), on=self.keys, how="semi", nulls_equal=True)
        if all(rows.head(1).collect().is_empty() for rows in (of_first, self.matched)):
            on, both = self.query, (self.run.select(self.keys), self.qrels.select(self.keys))
            common = (
                x.join(y, on=on, how="semi", nulls_equal=True, maintain_order="left") for x, y in (both, both[::-1])
            )
            run, judged = (table.head(SHOWN).collect() for table in common)
            if not run.is_empty():
                warn(f"{UNMATCHED} (found in the run: {first_of(run)}; in the judgments: {first_of(judged)})")

    # the join

    def join(self, judged_only: Missing, run_only: Missing, *, ordered: bool) -> pl.LazyFrame:
        """The full join by query and document, of the queries that count."""
        run, judged, query = self.run, self.judged, self.setup.roles.query
        if run_only == "drop":
            run = run.join(self.judged_queries, on=self.query, how="semi", nulls_equal=True, maintain_order="left")
        if judged_only == "drop":
            queries = self.run.select(query).unique()
            judged = judged.join(queries, on=query, how="semi", nulls_equal=True, maintain_order="left")
        order: Literal["left_right", "none"] = "left_right" if ordered else "none"
        on = [*self.runs, *self.keys]
        joined = run.join(judged, on=on, how="full", coalesce=True, nulls_equal=True, maintain_order=order)
        label = self.setup.roles.label
        extra = [name for name in self.qrels.collect_schema() if name not in (*self.keys, label)]
        return joined.select(cs.by_name(*self.run.collect_schema(), label, *extra))


def unless(rows: pl.LazyFrame, refusals: Iterable[Refusal]) -> pl.LazyFrame:
    """The rows; a plan that reads them fails if a refusal applies."""
    # a cross join with one row, or a failure: no later filter or selection can bypass it
    name = fresh("#failure", rows.collect_schema())
    failures = [
        refusal.places.select(failing([(pl.len() > 0, worded(refusal.message))]).alias(f"{name}{i}"))
        for i, refusal in enumerate(refusals)
    ]
    passed = reduce(lambda one, other: one.join(other, how="cross"), failures)
    passed = passed.select(pl.coalesce(pl.all()).alias(name)).filter(pl.col(name).is_null())
    return rows.join(passed, how="cross").drop(name)


def first_of(places: pl.DataFrame) -> str:
    """The first few places, as text."""
    named = places.head(SHOWN).to_dicts()
    return "; ".join(", ".join(f"{name}={value!r}" for name, value in row.items()) for row in named)


def found_in(places: pl.DataFrame, rows: int, listed: Advice) -> Text:
    """The number of rows with the fault, the first few places, and the call that lists all."""
    more = () if places.height <= SHOWN else (f" and {places.height - SHOWN} more, all listed by ", listed)
    return f" (found in {rows} row{'' if rows == 1 else 's'}: {first_of(places)}", *more, ")"


def _counted(rows: pl.LazyFrame, key: Sequence[str]) -> pl.LazyFrame:
    """The distinct values of the columns `key`, with their number of rows in a last column."""
    return rows.group_by(key).agg(pl.len().alias(fresh("rows", key)))


def _repeated(rows: pl.LazyFrame, key: Sequence[str]) -> pl.LazyFrame:
    """The values of the columns `key` that occur in several rows, with their number of rows in a last column."""
    hashed = fresh("#hash", key)  # groups of numbers take a third of the time of groups of texts
    numbered = rows.select(*key, pl.struct(key).hash().alias(hashed))
    return _counted(
        numbered.join(_counted(numbered, [hashed]).filter(pl.last() > 1), on=hashed, how="semi"), key
    ).filter(pl.last() > 1)
