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
    >>> days = pl.DataFrame({"day": [1, 2], "rr__n": [2, 1], "rr__mean": [0.5, 1.0], "rr__m2": [0.5, 0.0],
    ...     "rr__min": [0.0, 1.0], "rr__max": [1.0, 1.0]})
    >>> found = rf.partial_sums(days, "rr").summarize(ci=None)
    >>> found["n_queries"].item(), round(found["mean"].item(), 4), round(found["std"].item(), 4)
    (3, 0.6667, 0.5774)
    """
    rows: Any = in_polars(frame)
    rows = rows.collect() if isinstance(rows, pl.LazyFrame) else rows
    if not isinstance(rows, pl.DataFrame):
        raise InvalidData(f"{type(frame).__name__} is no frame of Polars or pandas")
    calls = averaged(metrics, "partial_sums(rows, 'ndcg@10')")
    names = {}
    for call in calls:
        if Mean.of(call).is_geometric:
            says = "has a geometric mean, which sums of values do not give; sum up rows per query"
            raise InvalidOption(f"{call.text} {says}")
        names[call] = call.text if f"{call.text}__n" in rows.columns else flat_name(call.text)
        if lacking := [
            column for x in SUMS if (column := f"{names[call]}__{x}") not in rows.columns
        ]:
            raise MissingColumn(
                f"no column {lacking[0]!r}; the table has {', '.join(rows.columns)}"
            )
    slices = [x for x in rows.columns if "__" not in x and x != "queries"]
    _refuse_repeated(rows, slices)
    found = PartialSums(rows, names, tuple(slices), run, frame)
    found._by(run)  # refuses another column
    return found


def _refuse_repeated(rows: pl.DataFrame, slices: Sequence[str]) -> None:
    """Refuse sums of the same queries twice, as of a job that ran again: they would add up."""
    if rows.height < 2:
        return
    if not slices:
        says = (
            f"{rows.height:,} rows of sums have no column that tells them apart, such as their day"
        )
        raise InvalidData(f"{says}; add it, so that none counts twice")
    repeated = rows.filter(pl.struct(slices).is_duplicated())
    if repeated.height:
        first = repeated.row(0, named=True)
        at = ", ".join(f"{name} {first[name]}" for name in slices)
        says = (
            "comes more than once, and sums of the same queries would add up; keep one row of each"
        )
        raise InvalidData(f"{at} {says}, or add the column that tells them apart")


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
            sums = self._merged(keys, name, SUMS)
            n, mean, spread = pl.col("n"), pl.col("mean"), pl.col("m2")
            found = sums.select(
                *keys,
                metric=pl.lit(call.text),
                n_queries=n.cast(pl.UInt32),
                std=pl.when(n > 1).then((spread / (n - 1)).sqrt()),
                total=pl.when(Mean.of(call).figure == "total").then(n * mean),
                mean=pl.when(n > 0).then(mean),
            )
            found = found if ci is None else self._with_interval(found, "mean", "std", ci)
            parts.append(found.select(*keys, *(name for name in FIGURES if name in found.columns)))
        return self._give(pl.concat(parts))

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
        figures = adjusted(self._compared(by, check("ci", ci, Confidence)), correction, [])
        settings = self._settings(by, figures) | {
            "test": "t",
            "correction": correction,
            "family": "all",
            "ci": ci,
        }
        nothing = self._give(pl.DataFrame())
        return Comparison(
            self._give(figures), nothing, nothing, nothing, {**settings, "enumerated": 0}
        )

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
        if unknown := [call.text for call in budget_of if call not in self._names]:
            raise InvalidOption(
                f"{unknown[0]} is not among these sums: {', '.join(x.text for x in self._names)}"
            )
        figures = self._compared(by, 2 * check("confidence", confidence, Share) - 1)
        figures = figures.filter(pl.col("metric").is_in([call.text for call in budget_of]))
        figures = figures.with_columns(pl.col("n_queries").alias("#number"))  # sums have no weights
        student = ESTIMATORS["t"]
        needed = [student.enough(budget, 2 * confidence - 1) for budget in budget_of.values()]
        found = judged(figures, budget_of, needed, self._by(by), student)
        failures = found.filter(~pl.col("passed"))
        budget_by_text = {call.text: budget for call, budget in budget_of.items()}
        settings = self._settings(by, figures) | {
            "budgets": budget_by_text,
            "confidence": confidence,
        }
        table, failed, moved = (self._give(x) for x in (found, failures, pl.DataFrame()))
        return Verdict(failures.is_empty(), table, failed, moved, settings)

    def _compared(self, by: str | Sequence[str] | None, ci: float) -> pl.DataFrame:
        """The table of a comparison, without correction."""
        slices, keys = self._by(by), self._keys(by)
        if self._run is None:
            example = "rf.partial_sums(rows, 'map', run='system')"
            raise InvalidOption(f"a comparison needs runs: name their column, as {example}")
        parts = []
        for call, name in self._names.items():
            if f"{name}__diff_n" not in self._rows.columns:
                raise MissingColumn(
                    f"no differences of {call.text}: write the sums with rf.sql(..., baseline=...)"
                )
            sums = self._merged(keys, name, SUMS)
            away = self._merged(keys, name, DIFFERENCES)
            known = away.group_by(self._run).agg(pl.col("n").sum())
            bases = known.filter(pl.col("n") == 0)[self._run].to_list()
            if len(bases) != 1:
                raise InvalidData(
                    f"one run, the baseline, has no differences; here they are {bases}"
                )
            base = sums.filter(pl.col(self._run) == bases[0]).select(
                *slices, base_mean="mean", n_base="n"
            )
            others = (
                away.filter(pl.col(self._run) != bases[0])
                .select(self._run)
                .unique(maintain_order=True)
            )
            both = (
                others.join(sums.select(slices).unique(maintain_order=True), how="cross")
                if slices
                else others
            )
            how: Any = {"how": "left", "nulls_equal": True, "maintain_order": "left"}
            both = both.join(away.rename({"mean": "d"}), on=keys, **how)
            both = both.join(sums.select(*keys, run_mean="mean", n_run="n"), on=keys, **how)
            both = both.join(base, on=slices, **how) if slices else both.join(base, how="cross")
            both = both.with_columns(
                pl.col("n", "m2", "min", "max", "n_run", "n_base").fill_null(0)
            )
            n, wins, losses = pl.col("n"), pl.col("min"), pl.col("max")
            run_mean, base_mean, d = (pl.col(x) for x in ("run_mean", "base_mean", "d"))
            of_run, of_base = (
                n == pl.col("n_run"),
                n == pl.col("n_base"),
            )  # all of its queries have a pair
            if (alone := both.filter(~(of_run & of_base))).height:
                row = alone.row(0, named=True)
                says = (
                    f"run {str(row[self._run])!r} has {row['n_run']:,.0f} and the baseline "
                    f"{row['n_base']:,.0f}"
                )
                warn(
                    f"{call.text} is compared on the {row['n']:,.0f} queries with values of "
                    f"both runs: {says}"
                )
            if not call.higher_is_better:
                wins, losses = losses, wins
            spread = pl.when(n > 1).then((pl.col("m2") / (n - 1)).sqrt())
            found = both.select(
                *slices,
                metric=pl.lit(call.text),
                baseline=pl.lit(str(bases[0])),
                run=pl.col(self._run).cast(pl.String),
                baseline_mean=pl.when(n > 0, of_base)
                .then(base_mean)
                .when(n > 0, of_run)
                .then(run_mean - d),
                mean=pl.when(n > 0, of_run).then(run_mean).when(n > 0, of_base).then(base_mean + d),
                difference=pl.when(n > 0).then(d),
                effect_size=pl.when(spread > stats.NOISE * d.abs()).then(d / spread),
                wins=wins.cast(pl.UInt32),
                ties=(n - wins - losses).cast(pl.UInt32),
                losses=losses.cast(pl.UInt32),
                n_queries=n.cast(pl.UInt32),
                std=spread,
            )
            found = self._with_interval(found, "difference", "std", ci)
            mean, error = (found[x].to_numpy() for x in ("difference", "std"))
            count = found["n_queries"].to_numpy().astype(float)
            with np.errstate(invalid="ignore", divide="ignore"):
                t = np.where(mean == 0, 0.0, mean / (error / np.sqrt(count)))
                p = 2 * load("scipy.special", "stats").stdtr(np.maximum(count - 1, 1), -np.abs(t))
            p_value = pl.Series("p_value", np.where(count > 1, p, np.nan)).fill_nan(None)
            parts.append(
                found.with_columns(p_value, p_value.alias("p_adjusted")).select(*slices, *TABLE)
            )
        return pl.concat(parts)

    def _merged(self, keys: Sequence[str], name: str, parts: Sequence[str]) -> pl.DataFrame:
        """The sums of a metric per key, as n, mean, m2, min and max; of differences, wins and
        losses stand for the last two.
        """
        found = [pl.col(f"{name}__{part}").cast(pl.Float64).fill_nan(None) for part in parts]
        lacks = found[0].is_null() | (
            (found[0] > 0) & pl.any_horizontal(x.is_null() for x in found[1:])
        )
        if lacking := self._rows.select(lacks.sum()).item():
            says = (
                f"{lacking:,} of {self._rows.height:,} rows lack a sum of {name}: "
                f"{name}__{parts[0]} is null, or"
            )
            raise InvalidData(
                f"{says} another one where it is not 0; take the rows as the statement gave them"
            )
        n, mean, m2, low, high = (x.fill_null(0.0) for x in found)
        overall = (n * mean).sum() / n.sum()
        ends = (low.sum(), high.sum()) if parts is DIFFERENCES else (low.min(), high.max())
        around = m2.sum() + (n * (mean - overall) ** 2).sum()
        sums = {"n": n.sum(), "mean": overall, "m2": around, "min": ends[0], "max": ends[1]}
        rows = (
            self._rows.group_by(keys, maintain_order=True)
            if keys
            else self._rows.group_by(pl.lit(0).alias("#all"))
        )
        return rows.agg(**sums).select(*keys, *sums)

    def _with_interval(self, found: pl.DataFrame, mean: str, std: str, ci: float) -> pl.DataFrame:
        """Student's interval of a mean, null for fewer than two queries."""
        n = found["n_queries"].to_numpy().astype(float)
        errors = found[std].fill_null(np.nan).to_numpy() / np.sqrt(np.maximum(n, 1))
        half = pl.Series("#half", stats.reach(errors, n, ci)).fill_nan(None)
        interval = pl.when(half.is_not_null()).then(pl.lit("t"))
        return found.with_columns(
            ci_low=pl.col(mean) - half, ci_high=pl.col(mean) + half, interval=interval
        )

    def _by(self, by: str | Sequence[str] | None) -> list[str]:
        names = [*names_of(by)]
        if unknown := [name for name in names if name not in self._slices]:
            raise MissingColumn(
                f"no column {unknown[0]!r}; the slices are {', '.join(self._slices) or 'none'}"
            )
        return [name for name in names if name != self._run]

    def _warn_of_runs(self, keys: Sequence[str]) -> None:
        """Warn of a column that seems to name runs, whose rows are merged into one."""
        if self._run is not None:
            return
        for name in self._slices:
            runs = self._rows[name].n_unique()
            if runs > 1 and is_usual(name, "run") and name not in keys:
                says = (
                    f"column {name!r} has {runs:,} values and seems to name runs, which are "
                    "merged into one; say "
                )
                warn(says, Code(f"rf.partial_sums(..., run={name!r})"))

    def _keys(self, by: str | Sequence[str] | None) -> list[str]:
        return [*([] if self._run is None else [self._run]), *self._by(by)]

    def _settings(self, by: str | Sequence[str] | None, figures: pl.DataFrame) -> dict[str, Any]:
        runs = [*figures["baseline"].unique(), *figures["run"].unique(maintain_order=True)]
        found = {
            "metrics": [x.text for x in self._names],
            "by": self._by(by),
            "run": self._run,
            "runs": runs,
        }
        return found | {
            "baseline": runs[0] if runs else None,
            "interval": "t",
            "versions": versions(),
        }

    def _give(self, frame: pl.DataFrame) -> R:
        """The frame in the caller's kind."""
        lazy, eager = isinstance(self._given, pl.LazyFrame), isinstance(self._given, pl.DataFrame)
        return cast("R", frame.lazy() if lazy else frame if eager else frame.to_pandas())

    def __repr__(self) -> str:
        names = ", ".join(call.text for call in self._names)
        return (
            f"PartialSums of {names} in {self._rows.height} rows, by "
            f"{', '.join(self._slices) or 'nothing'}"
        )
