"""Sums that a warehouse has written, merged into means, intervals and t tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, cast

import polars as pl

from .. import stats
from .._catalog.call import Call
from .._catalog.flat_names import flat_name
from .._catalog.means import Mean
from .._catalog.requests import Request, averaged
from .._statistics.estimators import ESTIMATORS
from .._support.extras import load, versions
from .._support.floats import np
from .._support.methods import called_by_users
from .._support.option_kinds import check
from .._support.option_values import Range
from .._support.statistical_options import Confidence, Correction
from .._table.run_and_judgments import is_usual
from .._table.runs import names_of
from .._table.table import R
from .._verbs.decide.compare import TABLE, Comparison, adjusted
from .._verbs.decide.gate import Verdict, budgets_of, judged
from .._verbs.measure.summary import FIGURES
from ..errors import Code, InvalidData, InvalidOption, MissingColumn, option, warn
from .callers_frames import in_polars

SUMS = ("n", "mean", "m2", "min", "max")
DIFFERENCES = ("diff_n", "diff_mean", "diff_m2", "wins", "losses")
Test = Literal["t"]
Share = Annotated[float, Range(above=0.5, below=1)]


@called_by_users
def partial_sums(frame: R, *metrics: Request, run: str | None = None) -> PartialSums[R]:
    """The sums that ``rf.sql(..., partial=True)`` gives: they merge over days and slices, and give
    t intervals and t tests.

    Parameters
    ----------
    frame
        A frame of Polars or pandas with the rows that the statement gave, those of several days one
        under the other: the slices, and for each metric its columns ``__n``, ``__mean``, ``__m2``,
        ``__min`` and ``__max``.
    *metrics
        The metrics, as for ``df.rank.evaluate``; the columns have the text or the flat name of
        each.
    run
        The column that names the run, if the sums are those of several.

    Returns
    -------
    A :class:`PartialSums`, with ``summarize``, ``compare`` and ``gate``. All other columns are
    slices.

    Raises
    ------
    MissingColumn, InvalidData
        If a sum of a metric is missing or null where there are queries; if two rows are of the same
        slice and run, as after a day that was computed twice.

    Examples
    --------
    Two days with two queries of 0 and 1, and one query of 1:

    >>> import polars as pl, rankframe as rf
    >>> days = pl.DataFrame(
    ...     {
    ...         "day": [1, 2],
    ...         "rr__n": [2, 1],
    ...         "rr__mean": [0.5, 1.0],
    ...         "rr__m2": [0.5, 0.0],
    ...         "rr__min": [0.0, 1.0],
    ...         "rr__max": [1.0, 1.0],
    ...     }
    ... )
    >>> found = rf.partial_sums(days, "rr").summarize(ci=None)
    >>> found["n_queries"].item(), round(found["mean"].item(), 4), round(found["std"].item(), 4)
    (3, 0.6667, 0.5774)
    """
    rows: Any = in_polars(frame)
    if isinstance(rows, pl.LazyFrame):
        rows = rows.collect()
    if not isinstance(rows, pl.DataFrame):
        raise InvalidData(f"{type(frame).__name__} is no frame of Polars or pandas")
    calls = averaged(metrics, "partial_sums(rows, 'ndcg@10')")
    names = {call: _name_in(rows, call) for call in calls}
    slices = [x for x in rows.columns if "__" not in x and x != "queries"]
    _refuse_repeated(rows, slices)
    sums = PartialSums(rows, names, tuple(slices), run, frame)
    sums._refuse_no_slices(names_of(run))
    return sums


def _name_in(rows: pl.DataFrame, call: Call) -> str:
    """The name of a metric in the columns of its sums: its text or its flat name."""
    if Mean.of(call).is_geometric:
        says = "has a geometric mean, which sums of values do not give; sum up rows per query"
        raise InvalidOption(f"{call.text} {says}")
    columns = rows.columns
    name = call.text if f"{call.text}__n" in columns else flat_name(call.text)
    needed = [f"{name}__{part}" for part in SUMS]
    lacking = [column for column in needed if column not in columns]
    if lacking:
        raise MissingColumn(f"no column {lacking[0]!r}; the table has {', '.join(columns)}")
    return name


def _refuse_repeated(rows: pl.DataFrame, slices: Sequence[str]) -> None:
    """Refuse sums of the same queries twice, as of a job that ran again: they would add up."""
    if rows.height < 2:
        return
    if not slices:
        rows_of_sums = f"{rows.height:,} rows of sums"
        says = "have no column that tells them apart, such as their day"
        raise InvalidData(f"{rows_of_sums} {says}; add it, so that none counts twice")
    repeated = rows.filter(pl.struct(slices).is_duplicated())
    if repeated.is_empty():
        return
    first = repeated.row(0, named=True)
    at = ", ".join(f"{name} {first[name]}" for name in slices)
    says = (
        "comes more than once, and sums of the same queries would add up; keep one row of each, "
        "or add the column that tells them apart"
    )
    raise InvalidData(f"{at} {says}")


@dataclass(frozen=True, repr=False)
class PartialSums(Generic[R]):
    """Sums per slice, which merge exactly (Chan, Golub, LeVeque, 1979); :func:`partial_sums` makes
    it.

    Intervals and tests are Student's: a bootstrap, a permutation or a bounded interval needs the
    value of each query.
    """

    _rows: pl.DataFrame
    _names: Mapping[Call, str]
    _slices: tuple[str, ...]
    _run: str | None
    _given: R

    def summarize(
        self, *, by: str | Sequence[str] | None = None, ci: Confidence | None = 0.95
    ) -> R:
        """The figures of ``df.rank.summarize``, with Student's interval.

        Parameters
        ----------
        by
            The slices; ``None`` merges all rows, those of each run by themselves.
        ci
            The confidence of the intervals; ``None`` for none.

        Returns
        -------
        A frame of the caller's kind with the columns of ``df.rank.summarize``.
        """
        keys = self._keys(by)
        self._warn_of_runs(keys)
        parts = []
        for call, name in self._names.items():
            figures = self._figures(call, self._merged(keys, name, SUMS), keys)
            if ci is not None:
                figures = self._with_interval(figures, "mean", ci)
            columns = [column for column in FIGURES if column in figures.columns]
            parts.append(figures.select(*keys, *columns))
        return self._give(pl.concat(parts))

    def _figures(self, call: Call, sums: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
        """The figures of a metric, from its sums."""
        n = pl.col("n")
        mean = pl.col("mean")
        is_total = Mean.of(call).figure == "total"
        columns = {"metric": pl.lit(call.text)}
        columns["n_queries"] = n.cast(pl.UInt32)
        columns["std"] = _deviation(n)
        columns["total"] = pl.when(is_total).then(n * mean)
        columns["mean"] = pl.when(n > 0).then(mean)
        return sums.select(*keys, **columns)

    def compare(
        self,
        *,
        by: str | Sequence[str] | None = None,
        test: Test = "t",
        correction: Correction | None = "holm",
        ci: Confidence = 0.95,
    ) -> Comparison[R]:
        """The runs against the baseline of ``rf.sql(..., baseline=)``, by paired t tests.

        Runs are compared on the queries where both have a value, with a warning if one has more;
        their means on these queries are null if each has more. A run that lacks a slice has a row
        without a difference.

        Parameters
        ----------
        by
            The slices; ``None`` merges all rows.
        test
            ``"t"``: other tests need the values per query, which ``rf.sql`` gives without
            `partial`.
        correction, ci
            As for ``df.rank.compare``.

        Returns
        -------
        A :class:`rankframe.results.Comparison`; its frames of values per query are empty.
        """
        if test != "t":
            says = (
                " needs the value of each query; sums give t tests: compare the rows of rf.sql "
                "without partial"
            )
            raise InvalidOption(option(test=test), says)
        compared = self._compared(by, check("ci", ci, Confidence))
        figures = adjusted(compared, correction, [])
        settings = self._settings(by, figures)
        settings |= {"test": "t", "correction": correction, "family": "all", "ci": ci}
        settings["enumerated"] = 0
        nothing = self._give(pl.DataFrame())
        return Comparison(self._give(figures), nothing, nothing, nothing, settings)

    def gate(
        self,
        *budgets: Mapping[Request, float] | Request,
        margin: float | None = None,
        by: str | Sequence[str] | None = None,
        confidence: Share = 0.95,
    ) -> Verdict[R]:
        """Whether every run stays within its budgets, by the bound of Student's interval, as
        ``df.rank.gate(interval="t")``.

        Parameters
        ----------
        *budgets, margin
            As for ``df.rank.gate``; of metrics among these sums.
        by
            The slices; ``None`` merges all rows.
        confidence
            The confidence of the one-sided bound.

        Returns
        -------
        A :class:`rankframe.results.Verdict`; with fewer than 50 queries no run passes, and
        ``moved`` is empty.
        """
        budget_of = budgets_of(budgets, margin)
        texts = [call.text for call in budget_of]
        unknown = [call.text for call in budget_of if call not in self._names]
        if unknown:
            known = ", ".join(call.text for call in self._names)
            raise InvalidOption(f"{unknown[0]} is not among these sums: {known}")
        ci = 2 * check("confidence", confidence, Share) - 1
        figures = self._compared(by, ci)
        figures = figures.filter(pl.col("metric").is_in(texts))
        # sums have no weights
        figures = figures.with_columns(pl.col("n_queries").alias("#number"))
        student = ESTIMATORS["t"]
        needed = [student.enough(budget, ci) for budget in budget_of.values()]
        verdicts = judged(figures, budget_of, needed, self._by(by), student)
        failures = verdicts.filter(~pl.col("passed"))
        settings = self._settings(by, figures)
        settings["budgets"] = {call.text: budget for call, budget in budget_of.items()}
        settings["confidence"] = confidence
        table = self._give(verdicts)
        failed = self._give(failures)
        moved = self._give(pl.DataFrame())
        return Verdict(failures.is_empty(), table, failed, moved, settings)

    def _compared(self, by: str | Sequence[str] | None, ci: float) -> pl.DataFrame:
        """The table of a comparison, without correction."""
        slices = self._by(by)
        keys = self._keys(by)
        if self._run is None:
            example = "rf.partial_sums(rows, 'map', run='system')"
            raise InvalidOption(f"a comparison needs runs: name their column, as {example}")
        parts = []
        for call in self._names:
            pairs, baseline = self._pairs(call, slices, keys)
            _warn_of_unpaired(call, pairs, self._run)
            columns = _differences(call)
            run = pl.col(self._run).cast(pl.String)
            figures = pairs.select(*slices, run=run, baseline=pl.lit(str(baseline)), **columns)
            figures = self._with_interval(figures, "difference", ci)
            p_value = _p_values(figures)
            figures = figures.with_columns(p_value, p_value.alias("p_adjusted"))
            parts.append(figures.select(*slices, *TABLE))
        return pl.concat(parts)

    def _pairs(
        self, call: Call, slices: Sequence[str], keys: Sequence[str]
    ) -> tuple[pl.DataFrame, object]:
        """The sums of runs, of their differences and of the baseline; and the baseline.

        Each run has a row for each slice.
        """
        name = self._names[call]
        if f"{name}__diff_n" not in self._rows.columns:
            says = "write the sums with rf.sql(..., baseline=...)"
            raise MissingColumn(f"no differences of {call.text}: {says}")
        sums = self._merged(keys, name, SUMS)
        differences = self._merged(keys, name, DIFFERENCES)
        run = pl.col(str(self._run))
        by_run = differences.group_by(run).agg(pl.col("n").sum())
        baselines = by_run.filter(pl.col("n") == 0)[str(self._run)].to_list()
        if len(baselines) != 1:
            says = "one run, the baseline, has no differences; here they are"
            raise InvalidData(f"{says} {baselines}")
        (baseline,) = baselines
        pairs = differences.filter(run != baseline).select(run).unique(maintain_order=True)
        if slices:
            pairs = pairs.join(sums.select(slices).unique(maintain_order=True), how="cross")
        how: Any = {"how": "left", "nulls_equal": True, "maintain_order": "left"}
        of_runs = sums.select(*keys, run_mean="mean", n_run="n")
        of_baseline = sums.filter(run == baseline).select(*slices, base_mean="mean", n_base="n")
        pairs = pairs.join(differences.rename({"mean": "d"}), on=keys, **how)
        pairs = pairs.join(of_runs, on=keys, **how)
        if slices:
            pairs = pairs.join(of_baseline, on=slices, **how)
        else:
            pairs = pairs.join(of_baseline, how="cross")
        sums_of_pairs = pl.col("n", "m2", "min", "max", "n_run", "n_base")
        return pairs.with_columns(sums_of_pairs.fill_null(0)), baseline

    def _merged(self, keys: Sequence[str], name: str, parts: Sequence[str]) -> pl.DataFrame:
        """The sums of a metric per key, as n, mean, m2, min and max.

        Of differences, wins and losses stand for the last two.
        """
        sums = [pl.col(f"{name}__{part}").cast(pl.Float64).fill_nan(None) for part in parts]
        self._refuse_lacking(name, parts, sums)
        n, mean, m2, low, high = (x.fill_null(0.0) for x in sums)
        overall = (n * mean).sum() / n.sum()
        between = n * (mean - overall) ** 2
        columns = {"n": n.sum(), "mean": overall}
        columns["m2"] = m2.sum() + between.sum()
        add_up = parts is DIFFERENCES
        columns["min"] = low.sum() if add_up else low.min()
        columns["max"] = high.sum() if add_up else high.max()
        if keys:
            by_key = self._rows.group_by(keys, maintain_order=True)
        else:
            by_key = self._rows.group_by(pl.lit(0).alias("#all"))
        return by_key.agg(**columns).select(*keys, *columns)

    def _refuse_lacking(self, name: str, parts: Sequence[str], sums: Sequence[pl.Expr]) -> None:
        """Refuse rows with queries that lack a sum."""
        n, *others = sums
        lacks_one = pl.any_horizontal(x.is_null() for x in others)
        lacks = n.is_null() | ((n > 0) & lacks_one)
        n_lacking = self._rows.select(lacks.sum()).item()
        if not n_lacking:
            return
        of_rows = f"{n_lacking:,} of {self._rows.height:,} rows lack a sum of {name}"
        says = f"{name}__{parts[0]} is null, or another one where it is not 0"
        raise InvalidData(f"{of_rows}: {says}; take the rows as the statement gave them")

    def _with_interval(self, figures: pl.DataFrame, mean: str, ci: float) -> pl.DataFrame:
        """Student's interval of a mean, null for fewer than two queries."""
        n = figures["n_queries"].to_numpy().astype(float)
        deviations = figures["std"].fill_null(np.nan).to_numpy()
        errors = deviations / np.sqrt(np.maximum(n, 1))
        half = pl.Series("#half", stats.reach(errors, n, ci)).fill_nan(None)
        low = pl.col(mean) - half
        high = pl.col(mean) + half
        interval = pl.when(half.is_not_null()).then(pl.lit("t"))
        return figures.with_columns(ci_low=low, ci_high=high, interval=interval)

    def _by(self, by: str | Sequence[str] | None) -> list[str]:
        names = names_of(by)
        self._refuse_no_slices(names)
        return [name for name in names if name != self._run]

    def _refuse_no_slices(self, names: Sequence[str]) -> None:
        unknown = [name for name in names if name not in self._slices]
        if unknown:
            known = ", ".join(self._slices) or "none"
            raise MissingColumn(f"no column {unknown[0]!r}; the slices are {known}")

    def _warn_of_runs(self, keys: Sequence[str]) -> None:
        """Warn of a column that seems to name runs, whose rows are merged into one."""
        if self._run is not None:
            return
        for name in self._slices:
            n_runs = self._rows[name].n_unique()
            if n_runs > 1 and is_usual(name, "run") and name not in keys:
                says = (
                    f"column {name!r} has {n_runs:,} values and seems to name runs, which are "
                    "merged into one; say "
                )
                warn(says, Code(f"rf.partial_sums(..., run={name!r})"))

    def _keys(self, by: str | Sequence[str] | None) -> list[str]:
        of_run = [] if self._run is None else [self._run]
        return [*of_run, *self._by(by)]

    def _settings(self, by: str | Sequence[str] | None, figures: pl.DataFrame) -> dict[str, Any]:
        runs = [*figures["baseline"].unique(), *figures["run"].unique(maintain_order=True)]
        settings: dict[str, Any] = {"metrics": [call.text for call in self._names]}
        settings |= {"by": self._by(by), "run": self._run, "runs": runs}
        settings["baseline"] = runs[0] if runs else None
        return settings | {"interval": "t", "versions": versions()}

    def _give(self, frame: pl.DataFrame) -> R:
        """The frame in the caller's kind."""
        if isinstance(self._given, pl.LazyFrame):
            return cast("R", frame.lazy())
        if isinstance(self._given, pl.DataFrame):
            return cast("R", frame)
        return cast("R", frame.to_pandas())

    def __repr__(self) -> str:
        names = ", ".join(call.text for call in self._names)
        slices = ", ".join(self._slices) or "nothing"
        return f"PartialSums of {names} in {self._rows.height} rows, by {slices}"


def _deviation(n: pl.Expr) -> pl.Expr:
    """The standard deviation of `n` values, null for one."""
    variance = pl.col("m2") / (n - 1)
    return pl.when(n > 1).then(variance.sqrt())


def _warn_of_unpaired(call: Call, pairs: pl.DataFrame, run: str) -> None:
    """Warn of queries with a value of one run only."""
    n = pl.col("n")
    every_one = (n == pl.col("n_run")) & (n == pl.col("n_base"))
    unpaired = pairs.filter(~every_one)
    if unpaired.is_empty():
        return
    row = unpaired.row(0, named=True)
    of_run = f"run {str(row[run])!r} has {row['n_run']:,.0f}"
    of_base = f"the baseline {row['n_base']:,.0f}"
    on = f"{call.text} is compared on the {row['n']:,.0f} queries with values of both runs"
    warn(f"{on}: {of_run} and {of_base}")


def _differences(call: Call) -> dict[str, pl.Expr]:
    """The columns of a comparison that sums give, on the queries with values of both runs."""
    n = pl.col("n")
    d = pl.col("d")
    run_mean = pl.col("run_mean")
    base_mean = pl.col("base_mean")
    # a mean is known where all queries of its run have a pair
    of_run = n == pl.col("n_run")
    of_base = n == pl.col("n_base")
    from_base = pl.when(n > 0, of_base).then(base_mean)
    from_run = pl.when(n > 0, of_run).then(run_mean)
    wins = pl.col("min")
    losses = pl.col("max")
    if not call.higher_is_better:
        wins, losses = losses, wins
    deviation = _deviation(n)
    effect_size = pl.when(deviation > stats.NOISE * d.abs()).then(d / deviation)
    columns = {"metric": pl.lit(call.text)}
    columns["baseline_mean"] = from_base.when(n > 0, of_run).then(run_mean - d)
    columns["mean"] = from_run.when(n > 0, of_base).then(base_mean + d)
    columns["difference"] = pl.when(n > 0).then(d)
    columns["effect_size"] = effect_size
    columns["wins"] = wins.cast(pl.UInt32)
    columns["ties"] = (n - wins - losses).cast(pl.UInt32)
    columns["losses"] = losses.cast(pl.UInt32)
    columns["n_queries"] = n.cast(pl.UInt32)
    columns["std"] = deviation
    return columns


def _p_values(figures: pl.DataFrame) -> pl.Series:
    """The p-values of paired t tests; null for fewer than two queries."""
    n = figures["n_queries"].to_numpy().astype(float)
    mean = figures["difference"].to_numpy()
    deviation = figures["std"].to_numpy()
    student = load("scipy.special", "stats").stdtr
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.where(mean == 0, 0.0, mean / (deviation / np.sqrt(n)))
        p = 2 * student(np.maximum(n - 1, 1), -np.abs(t))
    values = np.where(n > 1, p, np.nan)
    return pl.Series("p_value", values).fill_nan(None)
