"""Comparisons that are read again and again while queries come in.

Their intervals and p-values hold at every look.

Queries enter look by look, and those of one look in an order that a hash of their ids gives: in the
order of a table that is sorted by market, say, one market would come first, and bets on what comes
next would not be fair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, TypeAlias

import polars as pl

from ..._catalog.call import Call
from ..._catalog.requests import refuse_ratios
from ..._plan.per_query import collect
from ..._results.grid import queries as n_of
from ..._statistics.confidence_sequences import Method, method_for
from ..._statistics.estimate import Estimator
from ..._statistics.estimators import INTERVALS
from ..._statistics.sample import Limits
from ..._support.draws import seeds_of
from ..._support.floats import Floats, Integers, np
from ..._support.option_kinds import ReadInside
from ..._support.option_values import Range, is_number
from ..._support.statistical_options import PLANNED, Correction
from ..._table.roles import require_all
from ..._table.runs import RUN_OF_TABLE
from ..._table.table import Table, refuse_names
from ...errors import Code, InvalidData, InvalidOption, Verbatim, option, shown, warn
from ..measure.paired_values import PairedValues
from ..sample.resampling import limits
from ..sample.slices import by_query, keys

State: TypeAlias = Annotated[object, ReadInside]
"""The table of earlier looks, of Polars or pandas; True at the first look."""

AGAIN = Code("sequential=True", command="another file of --sequential")
"""How a gate begins."""

CONFIDENCE = 0.95
"""The confidence of a bound by default."""

NOISE = 1e-9
"""By how much numbers may change when a state is written as text."""

OF_STATE = {
    "look": Range(least=1),
    "planned": Range(least=2, most=10**9),
    "confidence": Range(above=0.5, below=1),
}
"""The columns of a state that are neither values nor name a run or a query, with the numbers that
they may have."""

WHOLE = ("look", "planned")
OF_ALL = ("planned", "confidence")
"""Those of whole numbers, and those that are the same in all rows."""

TO_QUERIES: Any = {"how": "left", "nulls_equal": True, "maintain_order": "left"}
"""How facts are joined to queries, whose rows and order stay."""

AS_GIVEN = "give the state of the last look alone, as the gate gave it"
"""What to do with a state that no gate has given."""


class Looks:
    """When the queries of a comparison came, and how often it is read; this one is read once."""

    estimator: ClassVar[str | None] = None
    """The estimator that holds at all of them."""

    given: ClassVar[object] = None
    """What stands for a state that is given."""

    @classmethod
    def of(cls, estimator: Estimator, ci: float | None, planned: int, look: str | None) -> Looks:
        """The looks of a comparison by an estimator."""
        if ci is None or "order" not in estimator.needs:
            return ONCE
        return Sequential(ci, planned, look)

    @classmethod
    def of_gate(cls, state: Any, confidence: float, planned: int | None) -> Looks:
        """The looks of a gate, by its option `sequential`."""
        if state is None:
            return ONCE
        return Sequential.of_state(state, confidence, planned)

    @property
    def options(self) -> dict[str, object]:
        """The options of the estimator."""
        return {}

    def checked(self, calls: Sequence[Call], correction: Correction | None = None) -> Looks:
        """The same looks; refuse metrics or a correction that do not fit."""
        return self

    def arranged(self, paired: PairedValues, table: Table[Any]) -> PairedValues:
        """The values of all queries, with what looks add to them."""
        return paired

    def settings(self, paired: PairedValues, figures: pl.DataFrame) -> dict[str, object]:
        """What a result records of the looks."""
        return {}

    def state_after(self, paired: PairedValues) -> pl.DataFrame | None:
        """What the next look needs."""
        return None


ONCE = Looks()


@dataclass(frozen=True)
class Sequential(Looks):
    """How a comparison is read more than once.

    Attributes
    ----------
    ci
        The confidence of an interval, at all looks together.
    planned
        The number of queries for which the method is chosen, before any of them is seen.
    look
        The column that says when a query came; ``None`` for the order of the table.
    state
        The values of earlier looks, a row per run and query; ``None`` if none are kept.
    """

    ci: float
    planned: int = PLANNED
    look: str | None = None
    state: pl.DataFrame | None = None

    estimator: ClassVar[str | None] = "sequential"
    given: ClassVar[object] = ...

    @classmethod
    def of_state(
        cls, given: Any, confidence: float | None = None, planned: int | None = None
    ) -> Sequential:
        """The looks of a gate, which begins with True and continues from a state.

        Both have the same plan.
        """
        state = _state_of(given)
        if not state.is_empty():
            require_all(state.schema, [(name, "sequential") for name in OF_STATE], "the state")
            _refuse_unfit_plan(state)
            planned = _as_begun(state, "planned", planned)
            confidence = _as_begun(state, "confidence", confidence)
        ci = 2 * (confidence or CONFIDENCE) - 1
        return cls(ci, int(planned or PLANNED), state=state)

    @property
    def options(self) -> dict[str, object]:
        """The options of the estimator."""
        return {"planned": self.planned}

    @property
    def method(self) -> Method:
        """The method of the confidence sequence."""
        return method_for(self.planned)

    def checked(self, calls: Sequence[Call], correction: Correction | None = None) -> Sequential:
        """Itself, unless a metric has no bounds, or the correction may not hold at a look."""
        refuse_ratios(calls)
        for call, is_bounded in zip(calls, _bounds(calls).declared, strict=True):
            if not is_bounded:
                says = (
                    "has no bounds, without which no interval holds at every look; take a metric "
                    "with bounds"
                )
                raise InvalidOption(f"{call.text} {says}")
        refuse_chosen_looks(correction)
        return self

    def arranged(self, paired: PairedValues, table: Table[Any]) -> PairedValues:
        """The values after those of earlier looks.

        `queries` has columns of the look, the place, and whether a query came again.
        """
        n = len(paired.queries)
        again = np.zeros(n, dtype=bool)
        values = _with(paired, look=self._looks(paired, table), again=again)
        if self.state is not None and not self.state.is_empty():
            values = _continued(values, self.state)
        queries = values.queries
        place = np.arange(len(queries))
        if self.look is not None or self.state is not None or not table.ordered:
            of_hash = seeds_of(queries, values.query, 0)
            order = np.lexsort((of_hash, queries["#look"].to_numpy()))
            place[order] = place.copy()
        return _with(values, place=place)

    def _looks(self, paired: PairedValues, table: Table[Any]) -> pl.Series | Integers:
        """The number of each query's look, from 1 on; queries without a look come last."""
        n = len(paired.queries)
        if self.look is None:
            return np.ones(n, dtype=np.int64)
        came = table.by_parts(Came(paired.query, self.look))
        came = paired.queries.join(came, on=paired.query, **TO_QUERIES)
        return came["#came"].rank("dense").fill_null(n + 1)

    def state_after(self, paired: PairedValues) -> pl.DataFrame:
        """The state after a look: a row per run and query."""
        rows = paired.long()
        refuse_names([*OF_STATE], rows.columns, "the query, or by,")
        look = pl.concat([paired.queries["#look"]] * len(paired.runs))
        return rows.select(
            look.cast(pl.Int64).alias("look"),
            pl.all(),
            planned=pl.lit(self.planned, pl.Int64),
            confidence=pl.lit((1 + self.ci) / 2),
        )

    def settings(self, paired: PairedValues, figures: pl.DataFrame) -> dict[str, object]:
        """The method, the plan, the looks, and how much wider each interval is."""
        queries = paired.queries
        settings = {
            "method": self.method,
            "planned": self.planned,
            "look": self.look,
            "looks": queries["#look"].n_unique(),
            "repeated": int(queries["#again"].sum()),
            "width_ratio": figures["#width_ratio"].to_list(),
        }
        return {"sequential": settings}


@dataclass(frozen=True)
class Came:
    """When the queries of a part of a table came, by the column `look`: a row per query."""

    query: Sequence[str]
    look: str

    def __call__(self, part: Table[Any]) -> pl.DataFrame:
        require_all(part.rows.schema, [(self.look, "look")])
        looks = by_query(part.rows, self.query, (self.look,), None)
        looks = looks.rename({"#by0": "#came"}).drop("#weight")
        return collect(looks, part.rows, part.setup)


def refuse_chosen_looks(correction: str | None) -> None:
    """Refuse the correction that may not hold at a look that the reader chose."""
    if correction == "bh":
        says = (
            " may not hold at a look that was chosen, as its p-values depend on each other; write "
        )
        raise InvalidOption(option(correction=correction), says, option(correction="by"))


def warn_of_drift(figures: pl.DataFrame) -> None:
    """Warn of a mean with which no look agrees with the others."""
    crossed = figures.filter(pl.col("#crossed") > 0)
    if not crossed.is_empty():
        row = crossed.row(0, named=True)
        warn(
            f"no mean of {row['metric']} of {row['run']} less {row['baseline']} agrees with "
            "all looks: the order of the queries goes "
            "with their values, or the mean changed"
        )


def price(settings: Mapping[str, Any]) -> list[str]:
    """What a sequential comparison promises, and what it costs; nothing of another comparison."""
    looks = settings.get("sequential")
    if looks is None:
        return []
    ratios = sorted(x for x in looks["width_ratio"] if x is not None and np.isfinite(x))
    costs = ""
    if ratios:
        ends = dict.fromkeys(f"{ratio:.1f}" for ratio in (ratios[0], ratios[-1]))
        costs = f", {' to '.join(ends)} times as wide as that of a single look"
    how = f"by {INTERVALS[looks['method']]}, for {looks['planned']:,} planned queries."
    lines = [f"The interval holds at every look, whenever you stop{costs}; {how}"]
    n = looks["repeated"]
    if n:
        count = "counts" if n == 1 else "count"
        lines.append(f"{n_of(n)} came again and {count} once, with the first values.")
    return lines


def _with(values: PairedValues, **columns: Any) -> PairedValues:
    """The values, with facts of their queries under names of the plan's own."""
    facts = [pl.Series(f"#{name}", column) for name, column in columns.items()]
    return replace(values, queries=values.queries.with_columns(facts))


def _in(dtype: pl.DataType, column: pl.Series) -> pl.Series:
    """A column of a state in the table's type; times are read from text, as JSON has none."""
    if dtype.is_temporal() and not column.dtype.is_temporal():
        return column.cast(pl.String).str.strptime(dtype)  # type: ignore[arg-type]
    return column.cast(dtype)


def _state_of(given: Any) -> pl.DataFrame:
    """The state that a gate gives as a Polars frame; empty at the first look."""
    if given is True:
        return pl.DataFrame()
    if not hasattr(given, "lazy"):
        wrong = option(sequential=Verbatim(type(given).__name__))
        says = " is no state of an earlier look; at the first look, write "
        raise InvalidOption(wrong, says, AGAIN)
    state: pl.DataFrame = given.lazy().collect()
    return state


def _as_begun(state: pl.DataFrame, name: str, now: float | None) -> Any:
    """A number of the plan as at the first look; another one is refused."""
    began = state[name][0]
    if now is not None and abs(now - began) > NOISE:
        says = (
            f" is not the {began:g} of the first look, and a plan that changes makes "
            "looks invalid; keep it, or begin again with "
        )
        raise InvalidOption(option(**{name: now}), says, AGAIN)
    return began


def _refuse_unfit_plan(state: pl.DataFrame) -> None:
    """Refuse a state whose looks are not numbered, or whose rows have no plan in common."""
    for name, within in OF_STATE.items():
        is_whole = name in WHOLE
        kind = f"a whole number {within}" if is_whole else f"a number {within}"
        values = state[name].unique(maintain_order=True).to_list()
        for value in values:
            if not is_number(value) or value not in within or (is_whole and value % 1):
                raise InvalidData(f"the state has {shown(value)} as {name}, not {kind}; {AS_GIVEN}")
        if name in OF_ALL and max(values) - min(values) > NOISE:
            raise InvalidData(
                f"the state has {min(values)} and {max(values)} as {name}; {AS_GIVEN}"
            )


def _bounds(calls: Sequence[Call]) -> Limits:
    """The bounds that metrics declare."""
    no_values = np.empty((0, 0, len(calls)))
    return limits(no_values, calls)


def _refuse_unfit_values(state: pl.DataFrame, query: Sequence[str], calls: Sequence[Call]) -> None:
    """Refuse a state that has a query of a run twice, or a value that its metric cannot have."""
    key = [RUN_OF_TABLE, *query]
    again = state.filter(state.select(key).is_duplicated())
    if len(again):
        whose = ", ".join(f"{name} {again[name][0]!r}" for name in key)
        raise InvalidData(
            f"the state has {whose} more than once, as if states were appended to each other; "
            f"{AS_GIVEN}"
        )
    within = _bounds(calls)
    for call, least, greatest in zip(calls, within.least, within.greatest, strict=True):
        value = state[call.text]
        is_wrong = (value < least - NOISE) | (value > greatest + NOISE) | value.is_nan()
        wrong = value.filter(is_wrong)
        if len(wrong):
            raise InvalidData(
                f"the state has {wrong[0]:g} for {call.text}, which is from {least:g} to "
                f"{greatest:g}; {AS_GIVEN}"
            )


def _in_dtypes(state: pl.DataFrame, dtypes: Mapping[str, Any]) -> pl.DataFrame:
    """The columns of a state that a table has, in the types of these."""
    require_all(state.schema, [(name, "sequential") for name in dtypes], "the state")
    try:
        return state.select(_in(dtype, state[name]) for name, dtype in dtypes.items())
    except pl.exceptions.PolarsError as error:
        says = str(error).splitlines()[0]
        raise InvalidData(f"the state has values of another kind than the table: {says}") from None


def _refuse_other_runs(state: pl.DataFrame, runs: Sequence[str]) -> None:
    """Refuse a state with a run that the table lacks."""
    for run in state[RUN_OF_TABLE].unique(maintain_order=True):
        if run not in runs:
            says = "a state continues with the same runs"
            raise InvalidData(f"run {run!r} of the state is none of {', '.join(runs)}; {says}")


def _warn_of_changes(before: Floats, now: Floats) -> None:
    """Warn of queries of earlier looks that came again with other values.

    The values are runs by queries by metrics.
    """
    is_same = np.isclose(before, now, atol=NOISE, equal_nan=True) | np.isnan(before)
    changed = int((~is_same).any(axis=(0, 2)).sum())
    if changed:
        says = (
            f"{n_of(changed)} of an earlier look came again with other values, and the first ones "
            "count; if a run or its labels changed, begin again with "
        )
        warn(says, AGAIN)


def _continued(paired: PairedValues, state: pl.DataFrame) -> PairedValues:
    """The values of earlier looks, then those of queries that are new.

    A query counts once, with its first values.
    """
    query = paired.query
    state = _in_dtypes(state, {**paired.long().schema, "look": pl.Int64()})
    _refuse_other_runs(state, paired.runs)
    _refuse_unfit_values(state, query, paired.calls)
    old = state.unique(query, keep="first", maintain_order=True).select(
        *query,
        *(pl.col(name).alias(at) for at, name in zip(keys(paired.by), paired.by, strict=True)),
        pl.col("look").alias("#look"),
        pl.lit(1.0).alias("#weight"),
        pl.lit(False).alias("#again"),
    )
    values_before = []
    for run in paired.runs:
        of_run = state.filter(pl.col(RUN_OF_TABLE) == run)
        of_run = old.select(query).join(of_run, on=query, **TO_QUERIES)
        values = of_run.select(pl.col(call.text).fill_null(np.nan) for call in paired.calls)
        values_before.append(values.to_numpy())
    before = np.stack(values_before)
    numbered = old.select(query).with_row_index("#row")
    row = paired.queries.join(numbered, on=query, **TO_QUERIES)["#row"]
    came_again = row.is_not_null().to_numpy()
    rows = row.drop_nulls()
    _warn_of_changes(before[:, rows.to_numpy()], paired.values[:, came_again])
    last: Any = old["#look"].max()
    new = paired.queries.filter(~came_again).select(old.columns)
    new = new.with_columns(pl.lit(last + 1, pl.Int64).alias("#look"))
    is_again = pl.int_range(pl.len()).is_in(rows.implode())
    old = old.with_columns(is_again.alias("#again"))
    return replace(
        paired,
        queries=pl.concat([old, new]),
        values=np.concatenate([before, paired.values[:, ~came_again]], axis=1),
    )
