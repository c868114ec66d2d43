"""A run and its judgments: the key of the join, the reasons to refuse it, and the join."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Literal, NamedTuple, TypeAlias

import polars as pl
import polars.selectors as cs

from ..errors import Advice, Code, InvalidData, InvalidOption, Text, judge, on, option, warn, worded
from .columns import failing, fresh, is_list, nameless
from .matched_rows import matches, may_be_matched
from .roles import USUAL_NAMES, carried, require, require_all
from .setup import Roles, Setup
from .steps import last_kept, of_one_type, one_kept, ones, renamed, to_name

Unmatched: TypeAlias = Literal["keep", "drop", "error"]
Join: TypeAlias = Literal["semi", "anti"]

SHOWN = 3
"""The number of rows, or ids, that a message shows."""

CHECK = Advice("check")
LISTED = Advice("check", of=("qrels",))
"""The calls that list all rows; an error shows only the first ones."""

NO_COMMON_QUERY = (
    "no query of the run is judged; write the ids alike in both tables, where '1' is not '01'"
)
UNMATCHED = "no retrieved document is judged; write the ids alike in both tables"
"""Messages for tables without a common query, and without a common document."""


FIRST_ROWS = 1_000
"""The rows of the run that are looked up; a join of all rows takes as long as a sort."""

A_TENTH = 0.1

FOLDED = "#folded"
"""The column of ids without the difference of letters."""


def folded(key: str) -> pl.Expr:
    """Ids, which are texts, in lower case and without white space at the ends."""
    return pl.col(key).str.strip_chars().str.to_lowercase().alias(FOLDED)


class Refusal(NamedTuple):
    """A reason to refuse a join.

    Attributes
    ----------
    message
        The message.
    places
        The keys of the rows at fault, and in the last column their number; empty if there is no
        fault.
    listed
        The call that lists the places.
    """

    message: Text
    places: pl.LazyFrame
    listed: Advice = LISTED

    def refuse(self) -> None:
        """Raise the message with the first places, if there are any."""
        found = self.places.collect()
        if not found.is_empty():
            *at, rows = found.columns
            raise InvalidData(
                self.message,
                found_in(found.select(at).sort(at), int(found[rows].sum()), self.listed),
            )


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
        The query column that names the run of each row; ``None`` if there is one run, or no such
        column was named.
    all_relevant
        Whether the judgments have no column of labels, so that each of their rows counts 1.
    judgment
        For each row of the run, the row of the judgments that has its key, null if none has; then
        no key repeats in either table. ``None`` if that is not known.
    """

    run: pl.LazyFrame
    qrels: pl.LazyFrame
    setup: Setup
    named: str | None = None
    all_relevant: bool = False
    judgment: pl.Series | None = None

    @classmethod
    def of(cls, run: pl.LazyFrame, qrels: pl.LazyFrame, setup: Setup) -> Tables:
        """Check the names and the types of the columns that joining needs."""
        tables = cls(run, qrels, setup).with_labels_named()
        schema, others = run.collect_schema(), tables.qrels.collect_schema()
        doc, label = setup.roles.doc_name, setup.roles.label
        if doc is None:
            raise InvalidOption(
                "judge joins by document; name the column that holds it: ", on(doc=...)
            )
        query = [(name, "query") for name in setup.roles.query]
        require_all(schema, [*query, (doc, "doc"), (setup.roles.score, "score")])
        if label == setup.roles.score and label in others:
            says = (
                f"column {label!r} holds the scores of the run and the labels of the judgments; "
                "rename that of the judgments"
            )
            raise InvalidOption(
                says, renamed({label: Roles.label}, frame="qrels"), ", and leave label out"
            )
        if label in schema:
            mend = Code(
                "drop it before judge, or evaluate", command="leave --qrels out to evaluate"
            )
            raise InvalidOption(
                f"the run already has a column {label!r}; ", mend, " the table as it is"
            )
        needed = [*([] if tables.query else query[-1:]), (doc, "doc"), (label, "label")]
        tables = tables.labelled([role for name, role in needed if name not in others])
        require_all(others, needed[:-1] if tables.all_relevant else needed, "qrels")
        tables = replace(
            tables,
            run=_typed(run, others, tables.keys),
            qrels=_typed(tables.qrels, schema, tables.keys),
        )
        if message := tables.types_differ(tables.keys):
            raise InvalidData(*message)
        shared = [
            name
            for name in tables.qrels.collect_schema()
            if name in schema and name not in tables.keys
        ]
        if shared:
            raise InvalidOption(
                f"run and judgments both have a column {shared[0]!r}; rename or drop one of them"
            )
        return tables

    def with_labels_named(self) -> Tables:
        """The tables, with the labels under the name of their role where a preset's judgments give
        them that of scores.
        """
        new_names = names_of_labels(self.setup, self.qrels.collect_schema())
        return replace(self, qrels=self.qrels.rename(new_names)) if new_names else self

    def labelled(self, lacking: Sequence[str] = ("label",)) -> Tables:
        """The tables, each judgment labelled 1 if no column holds or may hold labels; `lacking` are
        the roles without a column.

        A label column that was named, not by a preset, has to exist.
        """
        roles, schema, least = (
            self.setup.roles,
            self.qrels.collect_schema(),
            self.setup.policies.relevant,
        )
        if roles.label in schema or (roles.label != Roles.label and "label" in self.setup.given):
            return self
        named = [*roles.query, roles.doc_name, roles.subtopic]
        named += [
            name
            for role in ("query", "doc", "subtopic", "run")
            for name in schema
            if is_usual(name, role)
        ]
        others = [name for name in schema if name not in named and not name.startswith(carried(""))]
        numbers = [
            name for name in others if schema[name].is_numeric() or schema[name] == pl.Boolean
        ]
        if labels := [name for name in others if is_usual(name, "label")] + numbers:
            if [*lacking] == ["label"]:
                require(schema, roles.label, "label", "qrels", meant=labels[0])
            return self
        if least > 1:
            says = (
                f"the judgments have no column {roles.label!r}, so each counts 1, which is below "
            )
            raise InvalidOption(
                says, option(relevant=least), "; label them, as with ", ones(roles.label, least)
            )
        return replace(
            self,
            qrels=self.qrels.with_columns(pl.lit(1, pl.Int64).alias(roles.label)),
            all_relevant=True,
        )

    def of_judged_queries(self) -> Tables:
        """The tables, without judgments of queries of which all labels are null: nobody judged
        these.
        """
        label = self.setup.roles.label
        if label not in self.qrels.collect_schema():
            return self
        with_label = self.qrels.filter(pl.col(label).is_not_null()).select(self.query).unique()
        return replace(self, qrels=_joined(self.qrels, "semi", with_label, self.query))

    def with_matches(self) -> Tables:
        """The tables, in memory, with the judgment of each row, if they are such that a row of the
        run has at most one.
        """
        run, qrels = self.run.collect(), self.qrels.collect()
        in_memory = replace(self, run=run.lazy(), qrels=qrels.lazy())
        if self.runs or self.key != self.keys or not may_be_matched(run, self.keys):
            return in_memory
        judgment = matches(run.select(self.keys), qrels.select(self.keys))
        return replace(in_memory, judgment=judgment)

    def types_differ(self, keys: Sequence[str]) -> tuple[Text, ...] | None:
        """The message for a key column with different types in the two tables."""
        run, qrels = self.run.collect_schema(), self.qrels.collect_schema()
        for name in keys:
            if run[name] != qrels[name]:
                differ = (
                    f"column {name!r} is {run[name]} in the run and {qrels[name]} in the "
                    "judgments; "
                )
                return differ, *of_one_type(name, {"df": run[name], "qrels": qrels[name]})
        return None

    def with_run(self, named: str) -> Tables:
        """The same tables, with `named` as the column that names the run of each row."""
        setup = self.setup.changed(
            query=(named, *(name for name in self.setup.roles.query if name != named))
        )
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
        single = (
            []
            if subtopic not in schema or subtopic is None or is_list(schema[subtopic])
            else [subtopic]
        )
        return [*self.setup.roles.query, str(self.setup.roles.doc_name), *single]

    @property
    def queries(self) -> pl.LazyFrame:
        """The queries of the run, as the judgments name them."""
        return self.run.select(self.query).unique(maintain_order=True)

    @property
    def judged_queries(self) -> pl.LazyFrame:
        """The queries of the judgments."""
        return self.qrels.select(self.query).unique(maintain_order=True)

    @property
    def unmatched(self) -> pl.LazyFrame:
        """The rows of the run without a judgment, or all if these are not known."""
        if self.judgment is None:
            return self.run
        return self.run.filter(self.judgment.is_null())

    @property
    def unretrieved(self) -> pl.LazyFrame:
        """The judgments of documents that the run lacks, or all if these are not known."""
        if self.judgment is None:
            return self.qrels
        lacking = pl.repeat(True, self.qrels.select(pl.len()).collect().item(), eager=True)
        return self.qrels.filter(lacking.scatter(self.judgment.drop_nulls(), False))

    @property
    def run_only(self) -> pl.LazyFrame:
        """The rows of the run whose query has no judgments."""
        if self.judgment is not None and not self.judgment.has_nulls():
            return self.run.clear()
        return _joined(self.unmatched, "anti", self.judged_queries, self.query)

    @cached_property
    def run_only_queries(self) -> pl.DataFrame:
        """The queries of the run that have no judgments, in memory."""
        return self.run_only.select(self.query).unique(maintain_order=True).collect()

    @property
    def judged_only(self) -> pl.LazyFrame:
        """The judgments of queries that the run, or one of the runs, lacks."""
        query = self.setup.roles.query
        unretrieved = self.unretrieved
        every = self._for_every_run(unretrieved.select(self.query))
        if self.judgment is not None and unretrieved.head(1).collect().is_empty():
            return every
        return _joined(every, "anti", self.run.select(query).unique(), query)

    def alike(self, key: str) -> pl.LazyFrame:
        """The ids of a key that only the run has, and that only the judgments have in other
        letters; rows of each. Ids are texts.
        """
        run, judged = (
            x.filter(pl.col(key).is_not_null()).group_by(key).len("rows")
            for x in (self.run, self.qrels)
        )
        of_run = run.join(judged, on=key, how="anti").with_columns(folded(key))
        of_judged = judged.join(run, on=key, how="anti").select(folded(key)).unique()
        alike = of_run.join(of_judged, on=FOLDED, how="semi").sort(key)
        return alike.select(pl.col(key).alias(carried(key)), "rows")

    @property
    def matched(self) -> pl.LazyFrame:
        """The rows of the run that are judged."""
        return _joined(self.run, "semi", self.qrels, self.keys)

    def _for_every_run(self, qrels: pl.LazyFrame) -> pl.LazyFrame:
        runs = self.runs
        return (
            self.run.select(runs).unique(maintain_order=True).join(qrels, how="cross")
            if runs
            else qrels
        )

    # reasons to refuse the join

    def refusals(
        self, judged_only: Unmatched, run_only: Unmatched, *, repeats: bool = True
    ) -> Iterator[Refusal]:
        """The reasons to refuse a join that can be found in some of the queries alone, as in a plan
        in parts.

        Without `repeats`, no document of the run repeats.
        """
        if self.judgment is None:
            yield from self._refusals_of_repeats(repeats=repeats)
        query = self.setup.roles.query
        if run_only == "error":
            says = (
                "a query of the run has no judgments; ",
                option(run_only="drop"),
                " leaves it out",
            )
            yield Refusal(says, _counted(self.run_only, self.query))
        if judged_only == "error":
            says = (
                "a judged query is not in the run; ",
                option(judged_only="keep"),
                " counts it with nothing retrieved",
            )
            yield Refusal(says, _counted(self.judged_only, query))

    def _refusals_of_repeats(self, *, repeats: bool) -> Iterator[Refusal]:
        """The reasons to refuse a join by the tables' keys: null, or in several rows."""
        query, schema = self.setup.roles.query, self.run.collect_schema()
        if self.named is not None:
            null = f"column {self.named!r} names the run of each row and is null on some"
            says: Text = f"{null}; give runs without labels, or "
            without = _counted(self.run.filter(pl.col(self.named).is_null()), self.key)
            yield Refusal((says, to_name(self.named, schema[self.named])), without, CHECK)
        for where, rows, by in (("run", self.run, query), ("judgments", self.qrels, self.query)):
            without = _counted(rows.filter(pl.col(self.keys[-1]).is_null()), by).filter(
                pl.last() > 1
            )
            yield Refusal(nameless(self.setup, where=f" of the {where}"), without, CHECK)
        if repeats:
            says = (
                "the run holds a document of a query more than once; keep one row of each, or, "
                "if these are several runs, "
            )
            which = judge(run=...) if self.named is None else on(query=[..., *query])
            each = "give each {} of its own"
            tables = f"{each.format('a table')}, as {{'a': df_a, 'b': df_b}}"
            name = Code(
                f"name the column that says which: {which}",
                command=each.format("a file"),
                function=tables,
            )
            yield Refusal((says, name), _repeated(self.run, self.key), CHECK)
        yield self.qrels_repeat()

    def qrels_repeat(self) -> Refusal:
        """Documents that the judgments hold more than once in a query, and not for several
        subtopics.
        """
        schema, subtopic = self.qrels.collect_schema(), self.setup.roles.subtopic
        usual = [name for name in schema if is_usual(name, "subtopic") and name not in self.keys]
        key = [*self.keys, *(usual if subtopic is None or subtopic not in schema else [subtopic])]
        says = (
            "the judgments hold a document of a query more than once; name their column as "
            "subtopic, or keep one of each, "
        )
        best = last_kept(self.setup.roles.label, key, "such as the highest: {}", frame="qrels")
        message = (says, one_kept(key, "as with {}", frame="qrels") if self.all_relevant else best)
        return Refusal(message, _repeated(self.qrels, key))

    def no_common_query(self, run_only: Unmatched) -> Refusal:
        """Whether no query of the run is judged, most often because the tables write ids
        differently.
        """
        run, judged = (fresh(name, self.query) for name in ("#run", "#judged"))
        queries = self.queries.with_columns(pl.lit(True).alias(run))
        others = self.judged_queries.with_columns(pl.lit(True).alias(judged))
        both = queries.join(others, on=self.query, how="full", coalesce=True, nulls_equal=True)
        none = pl.col(run).any() & ~(pl.col(run) & pl.col(judged)).fill_null(False).any()
        if run_only == "keep":  # then a run without any judgments counts, too
            none &= pl.col(judged).any()
        return Refusal(NO_COMMON_QUERY, both.select(none.alias(run)).filter(run))

    # checks that compare both tables in memory

    def with_usual_run(self) -> tuple[Tables, bool]:
        """The tables, and whether a document of the run repeats.

        If one column with a usual name for runs distinguishes the repeated rows, it names the runs,
        and none repeats.
        """
        if self.judgment is not None or _repeated(self.run, self.key).collect().is_empty():
            return self, False
        schema = self.run.collect_schema()
        known = [*self.key, *(name for name, dtype in schema.items() if dtype == pl.Object)]
        names = [
            name
            for name in schema
            if self.named is None and is_usual(name, "run") and name not in known
        ]
        found = [
            name for name in names if _repeated(self.run, [*self.key, name]).collect().is_empty()
        ]
        return (self.with_run(found[0]), False) if len(found) == 1 else (self, True)

    def refuse_no_common_query(self, run_only: Unmatched) -> None:
        """Refuse a run without a judged query, and show some queries of both tables."""
        if self.has_match:
            return
        if not self.no_common_query(run_only).places.collect().is_empty():
            run, judged = (
                first_of(queries.collect()) for queries in (self.queries, self.judged_queries)
            )
            says = NO_COMMON_QUERY if judged else NO_COMMON_QUERY.partition(";")[0]
            raise InvalidData(
                f"{says} (found in the run: {run}; in the judgments: {judged or 'no label'})"
            )

    def warn(self, *, run_only: bool, judged_only: bool) -> None:
        """Warn of queries that only one of the tables has, if asked for, and if no retrieved
        document is judged.
        """
        if run_only:
            unjudged = self.run_only_queries
            what = "queries of the run have no judgments and are left out"
            _warn_of(
                unjudged,
                self.queries,
                what,
                option(run_only="drop"),
                option(run_only="keep"),
                "run",
            )
        if judged_only:
            missed, every = (
                self.judged_only.unique(maintain_order=True),
                self._for_every_run(self.judged_queries),
            )
            what = "judged queries are not in the run and count with nothing retrieved"
            _warn_of(
                missed.collect(),
                every,
                what,
                option(judged_only="keep"),
                option(judged_only="drop"),
                "judgments",
            )
        if not (self.has_match or self._any_row_matches()):
            both = [
                rows.select(self.keys).drop_nulls(self.keys[-1]) for rows in (self.run, self.qrels)
            ]
            run, judged = (
                _joined(x, "semi", y, self.query).head(SHOWN).collect()
                for x, y in (both, both[::-1])
            )
            if not run.is_empty():
                warn(
                    f"{UNMATCHED} (found in the run: {first_of(run.head(1))}; in the "
                    f"judgments: {first_of(judged.head(1))})"
                )

        else:
            self._warn_of_other_letters()

    @property
    def has_match(self) -> bool:
        """Whether a row of the run is known to have a judgment."""
        judgment = self.judgment
        return judgment is not None and judgment.null_count() < judgment.len()

    def _any_row_matches(self) -> bool:
        """Whether a row of the run is judged; all rows are read only if none of the first is."""
        first = self.run.head(FIRST_ROWS)
        of_first = self.qrels.join(first, on=self.keys, how="semi", nulls_equal=True)
        return any(not rows.head(1).collect().is_empty() for rows in (of_first, self.matched))

    def _warn_of_other_letters(self) -> None:
        """Warn if a tenth of the first documents that could be judged are so under an id in other
        letters alone.
        """
        doc = self.keys[-1]
        if self.qrels.collect_schema()[doc] != pl.String:
            return
        if self.judgment is not None and not self.judgment.head(FIRST_ROWS).has_nulls():
            return
        first = self.run.select(self.keys).head(FIRST_ROWS).drop_nulls().collect().lazy()
        judged = _joined(self.qrels.select(self.keys), "semi", first, self.query).collect().lazy()
        others = _joined(first, "anti", judged, self.keys).with_columns(folded(doc))
        pair, as_judged = [*self.query, FOLDED], f"{doc} judged"
        alike = others.join(
            judged.with_columns(folded(doc)),
            on=pair,
            suffix=" judged",
            nulls_equal=True,
            maintain_order="left",
        )
        found, n_first = alike.collect(), first.collect().height
        if not found.is_empty():  # the run may have both ids
            there = self.run.select(*self.query, pl.col(doc).alias(as_judged))
            found = _joined(found.lazy(), "anti", there, [*self.query, as_judged]).collect()
        n_judged = _joined(first, "semi", judged, self.keys).collect().height + found.height
        if found.height > A_TENTH * n_judged:
            of_run, of_judgments = found.select(doc, as_judged).row(0)
            says = (
                f"{found.height} of the first {n_first:,} documents of the run are judged in "
                "other letters alone"
            )
            warn(
                f"{says}, as {of_run!r} for {of_judgments!r}, and count as not judged; write "
                "the ids alike in both tables"
            )

    # the join

    def join(self, judged_only: Unmatched, run_only: Unmatched, *, ordered: bool) -> pl.LazyFrame:
        """The full join by query and document, of the queries that count."""
        label = self.setup.roles.label
        if self.judgment is None:
            joined = self._joined_by_key(judged_only, run_only, ordered=ordered)
        else:
            joined = self._joined_by_row(self.judgment, judged_only, run_only)
        if run_only == "keep":  # a label below 0 makes a query count
            in_both = self.judged_queries.with_columns(pl.lit(True).alias(carried("judged")))
            joined = joined.join(
                in_both, on=self.query, how="left", nulls_equal=True, maintain_order="left"
            )
            unjudged = pl.col(carried("judged")).is_null()
            joined = joined.with_columns(pl.when(unjudged).then(-1).otherwise(label).alias(label))
        extra = [name for name in self.qrels.collect_schema() if name not in (*self.keys, label)]
        return joined.select(cs.by_name(*self.run.collect_schema(), label, *extra))

    def _joined_by_key(
        self, judged_only: Unmatched, run_only: Unmatched, *, ordered: bool
    ) -> pl.LazyFrame:
        run, judged, query = self.run, self._for_every_run(self.qrels), self.setup.roles.query
        if run_only == "drop":
            run = _joined(run, "semi", self.judged_queries, self.query)
        if judged_only == "drop":
            judged = _joined(judged, "semi", self.run.select(query).unique(), query)
        order: Literal["left_right", "none"] = "left_right" if ordered else "none"
        key = [*self.runs, *self.keys]
        return run.join(
            judged, on=key, how="full", coalesce=True, nulls_equal=True, maintain_order=order
        )

    def _joined_by_row(
        self, judgment: pl.Series, judged_only: Unmatched, run_only: Unmatched
    ) -> pl.LazyFrame:
        """The rows of the run with their judgments, and below them the other judgments."""
        run, qrels = self.run.collect(), self.qrels.collect()
        joined = run.hstack(qrels.drop(self.keys)[judgment])
        others = self.unretrieved.collect()
        left_out = self.run_only_queries
        if run_only == "drop" and not left_out.is_empty():
            joined = _joined(joined.lazy(), "anti", left_out.lazy(), self.query).collect()
        if judged_only == "drop" and not others.is_empty():
            queries = self.run.select(self.query).unique()
            others = _joined(others.lazy(), "semi", queries, self.query).collect()
        if others.is_empty():
            return joined.lazy()
        return pl.concat([joined, others], how="diagonal").lazy()


def names_of_labels(setup: Setup, columns: Collection[str]) -> Mapping[str, str]:
    """The new name of the judgments' column of labels, if a preset gives it the name of the
    scores.
    """
    score, label = setup.roles.score, setup.roles.label
    named_as_scores = setup.labels_as_scores and score in columns and label not in columns
    return {score: label} if named_as_scores else {}


def runs_in(setup: Setup) -> list[str]:
    """The columns of a key of several columns that have a usual name for runs."""
    query = setup.roles.query
    return [name for name in query if len(query) > 1 and is_usual(name, "run")]


def is_usual(name: str, role: str) -> bool:
    """Whether a column has a usual name for a role."""
    return name.lower() in USUAL_NAMES[role]


def unless(rows: pl.LazyFrame, refusals: Iterable[Refusal]) -> pl.LazyFrame:
    """The rows; a plan that reads them fails if a refusal applies."""
    # a cross join with one row, or a failure: no later filter or selection can bypass it
    name = fresh("#failure", rows.collect_schema())
    failing_plans = ((x.places, failing([(pl.len() > 0, worded(x.message))])) for x in refusals)
    failures = [
        places.select(failure.alias(f"{name}{i}"))
        for i, (places, failure) in enumerate(failing_plans)
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
    more = (
        ()
        if places.height <= SHOWN
        else (f" and {places.height - SHOWN} more, all listed by ", listed)
    )
    return f" (found in {rows} row{'' if rows == 1 else 's'}: {first_of(places)}", *more, ")"


def _warn_of(
    found: pl.DataFrame, of: pl.LazyFrame, what: str, one: Text, other: Text, where: str
) -> None:
    """Warn of queries that one table lacks; either option counts them without a warning."""
    if not found.is_empty():
        n = of.select(pl.len()).collect().item()
        where = f" (found in the {where}: {first_of(found.head(1))})"
        warn(f"{found.height} of {n} {what}; say ", one, " to have it so, or ", other, where)


def _typed(rows: pl.LazyFrame, other: pl.Schema, keys: Sequence[str]) -> pl.LazyFrame:
    """Cast key columns of type Null, as in a table without rows, to the type of the other table's
    column.
    """
    schema = rows.collect_schema()
    return rows.with_columns(
        pl.col(name).cast(other[name]) for name in keys if schema[name] == pl.Null
    )


def _joined(rows: pl.LazyFrame, how: Join, other: pl.LazyFrame, key: Sequence[str]) -> pl.LazyFrame:
    """The rows with, or without, a partner in the other table, in their order."""
    return rows.join(other, on=key, how=how, nulls_equal=True, maintain_order="left")


def _counted(rows: pl.LazyFrame, key: Sequence[str]) -> pl.LazyFrame:
    """The distinct values of the columns `key`, with their number of rows in a last column."""
    return rows.group_by(key).agg(pl.len().alias(fresh("rows", key)))


def _repeated(rows: pl.LazyFrame, key: Sequence[str]) -> pl.LazyFrame:
    """The values of the columns `key` that occur in several rows, with their number of rows in a
    last column.
    """
    hashed = fresh("#hash", key)  # groups of numbers take a third of the time of groups of texts
    numbered = rows.select(*key, pl.struct(key).hash().alias(hashed))
    twice = _counted(numbered, [hashed]).filter(pl.last() > 1)
    return _counted(numbered.join(twice, on=hashed, how="semi"), key).filter(pl.last() > 1)
