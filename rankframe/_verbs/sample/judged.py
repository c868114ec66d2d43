"""Means over queries of which people judged some, with the help of a model's labels of all, or of a
column known before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import polars as pl

from ..._catalog.call import Call
from ..._catalog.requests import averaged, refuse_geometric
from ..._plan.per_query import needs_largest_label
from ..._results.grid import Record, queries
from ..._support.floats import Booleans, Floats, Integers, np
from ..._support.statistical_options import VERY_FEW
from ..._table.roles import require, require_number
from ..._table.setup import Setup
from ...errors import (
    Advice,
    Code,
    InvalidData,
    InvalidOption,
    RankframeError,
    Text,
    on,
    option,
    warn,
)

Helper = Literal["model_labels", "adjust"]
KINDS: Mapping[Helper, str] = {"model_labels": "prediction_powered", "adjust": "adjusted"}
"""The kind of interval and of test, as results name it."""

LEAST = 30
"""The fewest judged queries whose mean has an interval."""

FAR = 4.0
"""The standard errors by which judged queries may differ from the others if they were drawn at
random."""

PEOPLE = "#people"
"""The column that says whether people judged the query of a row."""


@dataclass(frozen=True)
class Control:
    """What is known of all queries.

    Attributes
    ----------
    of, name
        The option that names the column, and the column.
    judged
        Whether people judged each query.
    values
        Runs by queries by metrics: by the model's labels; or the column known before, the same for
        all runs and metrics.
    mean
        The mean of the column known before, over all queries; None for that of the table.
    """

    of: Helper
    name: str
    judged: Booleans
    values: Floats
    mean: float | None = None

    def of_slice(self, rows: Integers) -> Control:
        """What is known of some of the queries."""
        return replace(self, judged=self.judged[rows], values=self.values[:, rows])

    @property
    def differs_by_run(self) -> bool:
        """Whether runs have values of their own."""
        return self.of == "model_labels"

    def refuse_unfit(
        self, name: str, where: str, values: Floats, other: Floats, weights: Floats
    ) -> None:
        """Refuse values of a slice, called `where`, of which people judged too few; warn where
        their interval misleads.
        """
        judged, rest = (x & (weights > 0) for x in (self.judged, ~self.judged))
        n, of, mine, theirs = (
            int(judged.sum()),
            option(**{self.of: self.name}),
            other[judged],
            other[rest],
        )
        if n < LEAST:
            says = " and have a weight" * bool((weights == 0).any())
            few = (
                f" takes {LEAST} queries that people judged; {n:,} of {len(other):,} "
                f"are{says}{where}; label {LEAST - n} more"
            )
            alone: list[Text] = (
                [", or take the labels of the model alone: ", on(label=self.name)]
                if self.of == "model_labels"
                else []
            )
            raise InvalidData(of, few, *alone)
        if self.of == "adjust" and self.mean is None and not len(theirs):
            says = (
                f" saves nothing, as people judged all {n:,} queries{where}; say its mean over "
                "more, "
            )
            raise InvalidOption(of, says, option(adjust_mean=...))
        if np.isnan(values[self.judged]).any() or np.isnan(other).any():
            raise InvalidData(
                of, f" takes a value of {name} for each query{where}; say ", on(no_relevant="zero")
            )
        differing = (values[judged] != np.median(values[judged], axis=0)).sum(axis=0).min()
        if differing < VERY_FEW:
            few = f"{differing} of the {n:,} judged queries{where} differ from the median"
            warn(f"the interval of {name} is too short: {few}; judge more")
        mean, error = self.mean, mine.var(axis=0) / n
        if len(theirs) and mean is None:
            mean, error = theirs.mean(axis=0), error + theirs.var(axis=0) / len(theirs)
        if mean is not None and (np.abs(mine.mean(axis=0) - mean) > FAR * np.sqrt(error)).any():
            far = (
                f"judged queries{where} have a mean of {mine.mean():.3f} by {self.name}, others "
                f"{np.mean(mean):.3f}"
            )
            warn(
                f"the interval of {name} holds for judged queries that were drawn at random: {far}"
            )


@dataclass(frozen=True)
class Help:
    """The options that add to people's labels.

    Attributes
    ----------
    model_labels
        The column of a model's labels.
    adjust, adjust_mean
        A column known before, or the text of a metric that reads no labels; and its mean over all
        queries.
    """

    model_labels: str | None = None
    adjust: str | None = None
    adjust_mean: float | None = None

    @property
    def settings(self) -> dict[str, object]:
        """The options that are given."""
        return {name: x for name, x in asdict(self).items() if x is not None}

    @property
    def estimator(self) -> str | None:
        """The estimator that uses what is known; None where nothing is."""
        return next((KINDS[name] for name in KINDS if name in self.settings), None)

    @property
    def given(self) -> Advice:
        """The option that says what is known."""
        return option(**{name: x for name, x in self.settings.items() if name in KINDS})

    def checked(self, by: Sequence[str]) -> Help:
        """The same help; refuse labels of a model together with an adjustment, and slices together
        with one mean for all queries.
        """
        if self.adjust_mean is not None and by:
            says = " is the mean of a column over all queries, not over slices; name it alone: "
            raise InvalidOption(option(adjust_mean=self.adjust_mean), says, option(adjust=...))
        if self.model_labels is not None and self.adjust is not None:
            raise InvalidOption(self.given, " both stand in for labels of people; take one of them")
        return self

    def marked(
        self, frame: pl.DataFrame, setup: Setup, calls: Sequence[Call]
    ) -> tuple[pl.DataFrame, list[str]]:
        """The frame with columns of one value per query, and the names of these."""
        if self.model_labels is not None:
            return by_people(frame, setup, self.model_labels, calls), [PEOPLE]
        if self.adjust is None:
            return frame, []
        refuse_geometric(calls)
        column, label = [self.adjust] if self.adjust in frame.columns else [], setup.roles.label
        if column:
            require_number(frame.schema, self.adjust, "adjust")
        else:
            known_before(self.adjust, frame.columns)
        people = (
            has_label(label).any().over(setup.roles.query)
            if label in frame.columns
            else pl.lit(True)
        )
        return frame.with_columns(people.alias(PEOPLE)), [PEOPLE, *column]

    def control(
        self, judged: pl.Series, *column: pl.Series, values: Callable[..., Floats]
    ) -> Control:
        """What is known of all queries, from their columns of `marked`; `values` has those of other
        labels or of a metric.
        """
        if self.model_labels is not None:
            return Control(
                "model_labels",
                self.model_labels,
                judged.to_numpy(),
                values(label=self.model_labels),
            )
        name = str(self.adjust)
        known = (
            column[0].cast(pl.Float64).to_numpy()
            if column
            else values(known_before(name, ()))[0, :, 0]
        )
        if lacking := int((~np.isfinite(known)).sum()):
            raise InvalidData(
                option(adjust=name),
                f" has no finite value for {lacking:,} of {queries(len(known))}",
            )
        return Control("adjust", name, judged.to_numpy(), known[None, :, None], self.adjust_mean)


NO_HELP = Help()


def known_before(name: str, columns: Collection[str]) -> Call:
    """The metric of this name, which must not depend on labels; refuse a name that is neither this
    nor a column.
    """
    try:
        call = averaged([name], "compare('ndcg@10', adjust='ild@10')")[0]
    except RankframeError:
        require(columns, name, "adjust")
        raise
    if call.labels:
        raise InvalidOption(
            option(adjust=name), " reads labels, which are not known before; name a column"
        )
    return call


def has_label(name: str) -> pl.Expr:
    """Whether a row has a label; a negative one is none."""
    return (pl.col(name).cast(pl.Float64) >= 0).fill_null(False)


def by_people(
    frame: pl.DataFrame, setup: Setup, model_labels: str, calls: Sequence[Call]
) -> pl.DataFrame:
    """The rows with the column `PEOPLE`, and the model's labels in queries that people did not
    judge.

    People judge all documents of a query or none; the model judges every document.
    """
    label, query, of = setup.roles.label, setup.roles.query, option(model_labels=model_labels)
    for name, role in ((label, "label"), (model_labels, "model_labels")):
        require(frame.schema, name, role)
        require_number(frame.schema, name, role)
    if setup.roles.propensity is not None:
        raise InvalidOption(
            of,
            " labels documents, of which clicks are no labels; leave out ",
            on(propensity=setup.roles.propensity),
        )
    for call in refuse_geometric(calls):
        if needs_largest_label(setup, frame.schema, [call]):
            says = (
                f": {call.text} reads the largest label; say it, as {call.metric.name}(max_label=3)"
            )
            raise InvalidOption(of, says)
    if lacking := frame.select((~has_label(model_labels)).sum()).item():
        raise InvalidData(
            of,
            f": {lacking:,} of {frame.height:,} rows have no label; a model judges every document",
        )
    given = has_label(label)
    rows = frame.with_columns(
        given.sum().over(query).alias("#given"), pl.len().over(query).alias("#rows")
    )
    partly = rows.filter(pl.col("#given").is_between(1, pl.col("#rows") - 1)).unique(
        [*query], maintain_order=True
    )
    if partly.height:
        says = (
            f"people judged {queries(partly.height)} in part, as "
            f"{' '.join(map(str, partly.select(query).row(0)))}"
        )
        advice = Code(
            f"df.with_columns(pl.when((pl.col({label!r}) >= "
            f"0).fill_null(False).all().over({[*query]})).then({label!r}))",
            f"df.assign({label}=df[{label!r}].where(df[{label!r}].ge(0).groupby([df[x] for x "
            f"in {[*query]}]).transform('all')))",
        )
        raise InvalidData(says, "; label all documents of a query or none, as by ", advice)
    people = pl.col("#given") > 0
    merged = (
        pl.when(people)
        .then(pl.col(label).cast(pl.Float64))
        .otherwise(pl.col(model_labels).cast(pl.Float64))
    )
    return rows.with_columns(people.alias(PEOPLE), merged.alias(label)).drop("#given", "#rows")


def sentences_of(rows: Sequence[Record], settings: Mapping[str, Any]) -> list[str]:
    """How many queries people judged, what was saved, and how many judged queries halve the
    interval.
    """
    there = [row for row in rows if row.get("n_judged")]

    def ends(name: str, form: str = "{:,}") -> str:
        least, most = (form.format(end(row[name] for row in there)) for end in (min, max))
        return least if least == most else f"{least} to {most}"

    if not there:
        return []
    by, saved = (
        settings.get("model_labels", settings.get("adjust")),
        ends("variance_saved", "{:.0%}"),
    )
    judged, halve = f"People judged {ends('n_judged')} queries", ends("queries_to_halve")
    return [
        f"{judged}; {by} saves {saved} of the variance; an interval half as long takes "
        f"{halve} judged queries"
    ]
