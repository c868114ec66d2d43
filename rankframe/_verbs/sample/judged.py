"""Means over queries of which people judged some, helped by a model's labels or a known column."""

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
        """Refuse values of a slice, called `where`, of which people judged too few.

        Warn where their interval misleads.
        """
        has_weight = weights > 0
        judged = self.judged & has_weight
        mine = other[judged]
        theirs = other[~self.judged & has_weight]
        weighing = " and have a weight" if (weights == 0).any() else ""
        self._refuse_few(len(mine), f"{len(other):,} are{weighing}{where}")
        self._refuse_no_others(where, len(mine), len(theirs))
        if np.isnan(values[self.judged]).any() or np.isnan(other).any():
            says = f" takes a value of {name} for each query{where}; say "
            raise InvalidData(self.given, says, on(no_relevant="zero"))
        self._warn_of_few(name, where, values[judged])
        self._warn_of_others(name, where, mine, theirs)

    @property
    def given(self) -> Advice:
        """The option that names the column."""
        return option(**{self.of: self.name})

    def _refuse_few(self, n: int, of_queries: str) -> None:
        """Refuse a slice of which people judged too few queries."""
        if n >= LEAST:
            return
        says = f" takes {LEAST} queries that people judged; {n:,} of {of_queries}"
        alone: list[Text] = []
        if self.of == "model_labels":
            alone = [", or take the labels of the model alone: ", on(label=self.name)]
        raise InvalidData(self.given, f"{says}; label {LEAST - n} more", *alone)

    def _refuse_no_others(self, where: str, n: int, n_others: int) -> None:
        """Refuse an adjustment for which there are no queries that people did not judge."""
        if self.of == "adjust" and self.mean is None and n_others == 0:
            says = f" saves nothing, as people judged all {n:,} queries{where}"
            more = "; say its mean over more, "
            raise InvalidOption(self.given, says + more, option(adjust_mean=...))

    def _warn_of_few(self, name: str, where: str, values: Floats) -> None:
        """Warn of judged values of which few differ from their median."""
        differs = values != np.median(values, axis=0)
        n_differing = differs.sum(axis=0).min()
        if n_differing < VERY_FEW:
            few = (
                f"{n_differing} of the {len(values):,} judged queries{where} differ from the median"
            )
            warn(f"the interval of {name} is too short: {few}; judge more")

    def _warn_of_others(self, name: str, where: str, mine: Floats, theirs: Floats) -> None:
        """Warn where judged queries differ from the others by more than chance."""
        mean = self.mean
        variance = mine.var(axis=0) / len(mine)
        if mean is None and len(theirs):
            mean = theirs.mean(axis=0)
            variance = variance + theirs.var(axis=0) / len(theirs)
        if mean is None:
            return
        distance = np.abs(mine.mean(axis=0) - mean)
        if (distance > FAR * np.sqrt(variance)).any():
            judged = f"judged queries{where} have a mean of {mine.mean():.3f} by {self.name}"
            says = f"the interval of {name} holds for judged queries that were drawn at random"
            warn(f"{says}: {judged}, others {np.mean(mean):.3f}")


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
        named = {name: x for name, x in self.settings.items() if name in KINDS}
        return option(**named)

    def checked(self, by: Sequence[str]) -> Help:
        """The same help; refuses two sources, and one mean for all queries together with slices."""
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
        names = [PEOPLE]
        if self.adjust in frame.columns:
            require_number(frame.schema, self.adjust, "adjust")
            names.append(self.adjust)
        else:
            known_before(self.adjust, frame.columns)
        label = setup.roles.label
        people = pl.lit(True)
        if label in frame.columns:
            people = has_label(label).any().over(setup.roles.query)
        return frame.with_columns(people.alias(PEOPLE)), names

    def control(
        self, judged: pl.Series, *column: pl.Series, values: Callable[..., Floats]
    ) -> Control:
        """What is known of all queries, from their columns of `marked`.

        `values` has the values by other labels or by a metric.
        """
        is_judged = judged.to_numpy()
        if self.model_labels is not None:
            of_model = values(label=self.model_labels)
            return Control("model_labels", self.model_labels, is_judged, of_model)
        name = str(self.adjust)
        if column:
            known = column[0].cast(pl.Float64).to_numpy()
        else:
            known = values(known_before(name, ()))[0, :, 0]
        n_lacking = int((~np.isfinite(known)).sum())
        if n_lacking:
            says = f" has no finite value for {n_lacking:,} of {queries(len(known))}"
            raise InvalidData(option(adjust=name), says)
        return Control("adjust", name, is_judged, known[None, :, None], self.adjust_mean)


NO_HELP = Help()


def known_before(name: str, columns: Collection[str]) -> Call:
    """The metric of this name, which must not depend on labels; other names are refused."""
    try:
        call = averaged([name], "compare('ndcg@10', adjust='ild@10')")[0]
    except RankframeError:
        require(columns, name, "adjust")
        raise
    if call.labels:
        says = " reads labels, which are not known before; name a column"
        raise InvalidOption(option(adjust=name), says)
    return call


def has_label(name: str) -> pl.Expr:
    """Whether a row has a label; a negative one is none."""
    return (pl.col(name).cast(pl.Float64) >= 0).fill_null(False)


def by_people(
    frame: pl.DataFrame, setup: Setup, model_labels: str, calls: Sequence[Call]
) -> pl.DataFrame:
    """The rows with the column `PEOPLE`, and the model's labels where people did not judge.

    People judge all documents of a query or none; the model judges every document.
    """
    refuse_labels_of_model(frame, setup, model_labels, calls)
    label = setup.roles.label
    query = setup.roles.query
    n_given = has_label(label).sum().over(query).alias("#given")
    rows = frame.with_columns(n_given, pl.len().over(query).alias("#rows"))
    refuse_partly_judged(rows, label, query)
    people = pl.col("#given") > 0
    of_people = pl.col(label).cast(pl.Float64)
    of_model = pl.col(model_labels).cast(pl.Float64)
    merged = pl.when(people).then(of_people).otherwise(of_model)
    rows = rows.with_columns(people.alias(PEOPLE), merged.alias(label))
    return rows.drop("#given", "#rows")


def refuse_labels_of_model(
    frame: pl.DataFrame, setup: Setup, model_labels: str, calls: Sequence[Call]
) -> None:
    """Refuse a model's labels that do not go with the metrics or the roles, or that lack a row."""
    given = option(model_labels=model_labels)
    schema = frame.schema
    for name, role in ((setup.roles.label, "label"), (model_labels, "model_labels")):
        require(schema, name, role)
        require_number(schema, name, role)
    propensity = setup.roles.propensity
    if propensity is not None:
        says = " labels documents, of which clicks are no labels; leave out "
        raise InvalidOption(given, says, on(propensity=propensity))
    for call in refuse_geometric(calls):
        if needs_largest_label(setup, schema, [call]):
            says = f": {call.text} reads the largest label; say it, as "
            raise InvalidOption(given, f"{says}{call.metric.name}(max_label=3)")
    n_lacking = frame.select((~has_label(model_labels)).sum()).item()
    if n_lacking:
        says = f": {n_lacking:,} of {frame.height:,} rows have no label"
        raise InvalidData(given, f"{says}; a model judges every document")


def refuse_partly_judged(rows: pl.DataFrame, label: str, query: Sequence[str]) -> None:
    """Refuse queries of which people judged some documents and not others."""
    is_partly_judged = pl.col("#given").is_between(1, pl.col("#rows") - 1)
    partly = rows.filter(is_partly_judged).select(query).unique(maintain_order=True)
    if partly.is_empty():
        return
    first = " ".join(map(str, partly.row(0)))
    says = f"people judged {queries(partly.height)} in part, as {first}"
    keys = [*query]
    in_full = f"(pl.col({label!r}) >= 0).fill_null(False).all().over({keys})"
    in_pandas = f"df[{label!r}].ge(0).groupby([df[x] for x in {keys}]).transform('all')"
    advice = Code(
        f"df.with_columns(pl.when({in_full}).then({label!r}))",
        f"df.assign({label}=df[{label!r}].where({in_pandas}))",
    )
    raise InvalidData(says, "; label all documents of a query or none, as by ", advice)


def sentences_of(rows: Sequence[Record], settings: Mapping[str, Any]) -> list[str]:
    """What people judged, what was saved, and how many judged queries halve the interval."""
    judged = [row for row in rows if row.get("n_judged")]
    if not judged:
        return []
    name = settings.get("model_labels", settings.get("adjust"))
    saved = _ends(judged, "variance_saved", "{:.0%}")
    halve = _ends(judged, "queries_to_halve")
    return [
        f"People judged {_ends(judged, 'n_judged')} queries; {name} saves {saved} of the variance; "
        f"an interval half as long takes {halve} judged queries"
    ]


def _ends(rows: Sequence[Record], name: str, form: str = "{:,}") -> str:
    """The least and the greatest number of a column as text, or the one number of all rows."""
    figures = [row[name] for row in rows]
    least = form.format(min(figures))
    most = form.format(max(figures))
    return least if least == most else f"{least} to {most}"
