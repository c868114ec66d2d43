"""Samples of pairs of runs on the queries of a slice, by metric and then pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from ..._catalog.call import Call
from ..._catalog.means import Mean, scaled
from ..._statistics.estimate import Need
from ..._statistics.sample import Known, Limits, RunsOfPairs, Sample
from ..._statistics.weighted_means import effective_number, means, weighed
from ..._support.floats import Booleans, Floats, Integers, np
from ..measure.paired_values import PairedValues, Pairs, differences, sides
from ..sample.resampling import limits


@dataclass(frozen=True)
class SliceOfPairs:
    """The queries of a slice, with values of pairs of runs: a column per metric and pair.

    Attributes
    ----------
    paired
        The values of all runs and queries.
    rows
        The numbers of the slice's queries.
    pairs
        The pairs of baseline and run.
    changes
        The differences per query; NaN where a run has no value.
    first, second
        The samples of the baseline's and of the run's values, on the scales of the metrics' means;
        of queries.
    tested
        The differences on these scales, per query, of queries that people judged.
    """

    paired: PairedValues
    rows: Integers
    pairs: Pairs
    changes: Floats
    first: Sample
    second: Sample
    tested: Floats

    @classmethod
    def of(cls, paired: PairedValues, rows: Integers, pairs: Pairs) -> SliceOfPairs:
        """The slice with some of the queries."""
        sides_of_pairs = paired.sides(pairs, rows)
        changes = differences(*sides_of_pairs)
        calls = [call for call in paired.calls for _ in pairs]
        tested = _of_people(paired, rows, changes)
        is_left_out = np.isnan(tested)
        weights = paired.queries["#weight"].to_numpy()[rows]
        known_of_sides = _known_of_sides(paired, rows, pairs)
        samples = []
        for side, known in zip(sides_of_pairs, known_of_sides, strict=True):
            on_scale = scaled(np.where(is_left_out, np.nan, side), calls)
            samples.append(Sample(on_scale, weights, _unlimited(len(calls)), known=known))
        first, second = samples
        is_geometric = np.array([Mean.of(call).is_geometric for call in calls])
        if is_geometric.any():
            tested = np.where(is_geometric, _of_logarithms(first, second), tested)
        return cls(paired, rows, pairs, changes, first, second, tested)

    @property
    def calls(self) -> list[Call]:
        """The metric of each column."""
        return [call for call in self.paired.calls for _ in self.pairs]

    @property
    def weights(self) -> Floats:
        """The weights of the queries."""
        return self.first.weights

    @property
    def numbers(self) -> Floats:
        """How many queries or clusters of equal weight those with a difference are worth."""
        differing = _of_people(self.paired, self.rows, self.changes)
        nothing = np.where(np.isnan(differing), np.nan, 0.0)
        sample = self.paired.sample(self.rows, nothing)
        _, weights = weighed(sample.values, sample.weights)
        return effective_number(weights)

    def sample(self, needs: Sequence[Need]) -> Sample:
        """The sample of differences, with the facts that its estimator needs.

        Its units are queries or clusters.
        """
        within = self._limits(bounds="bounds" in needs)
        sample = self.paired.sample(self.rows, self.tested, within)
        if "directions" in needs:
            sample = replace(sample, directions=directions(self.calls))
        if "order" in needs:
            place = self.paired.queries["#place"].to_numpy()
            sample = replace(sample, order=place[self.rows].argsort())
        if "runs" in needs:
            sample = replace(sample, runs=self._runs())
        if "known" in needs:
            sample = replace(sample, known=self.known)
        return sample

    def _limits(self, *, bounds: bool) -> Limits:
        """The limits of the differences.

        They come from the metrics' bounds and, unless these alone count, from the values.
        """
        values = self.paired.values[:, :0] if bounds else self.paired.values
        of_values = limits(values, self.paired.calls)
        low, high, declared = of_values.repeated(len(self.pairs))
        # The values of a metric of two runs are differences already.
        of_both = np.array([call.of_pairs for call in self.calls])
        least = np.where(of_both, low, low - high)
        greatest = np.where(of_both, high, high - low)
        return Limits(least, greatest, declared)

    def _runs(self) -> RunsOfPairs:
        """The values of all runs, of queries where each has one."""
        samples = []
        for i, call in enumerate(self.paired.calls):
            of_metric = self.paired.values[:, self.rows, i, None]
            values = scaled(of_metric, [call])[..., 0].T
            values[np.isnan(values).any(axis=1)] = np.nan
            samples.append(self.paired.sample(self.rows, values))
        first, second = np.transpose(self.pairs)
        return RunsOfPairs(samples, first, second)

    @property
    def known(self) -> Known | None:
        """What is known of the differences of all queries."""
        first = self.first.known
        second = self.second.known
        control = self.paired.control
        if first is None or second is None or control is None or not control.differs_by_run:
            return first
        return Known(differences(first.values, second.values), first.judged)

    def refuse_unfit_judgments(self) -> None:
        """Refuse a slice of which people judged too few queries.

        Nothing is refused where nothing is known of the others.
        """
        known = self.known
        control = self.paired.control
        if known is None or control is None or not len(self.rows):
            return
        ids = self.paired.of_slices(self.rows[:1].tolist())
        where = "".join(f" of {column.name} {column.item()}" for column in ids)
        name = f"differences of {', '.join(call.text for call in self.paired.calls)}"
        of_slice = control.of_slice(self.rows)
        of_slice.refuse_unfit(name, where, self.changes, known.values, self.weights)


def directions(calls: Sequence[Call]) -> Floats:
    """1 for each metric whose larger values are better, otherwise -1."""
    return np.array([1.0 if call.higher_is_better else -1.0 for call in calls])


def in_order_of(calls: Sequence[Call], table: pl.DataFrame) -> pl.DataFrame:
    """The rows of a table metric by metric."""
    texts = [call.text for call in calls]
    by_metric = pl.col("metric").cast(pl.Enum(texts))
    return table.sort(by_metric, maintain_order=True)


def by_people(paired: PairedValues, rows: Integers) -> Booleans:
    """Whether people judged each query, which they did if no query is left to others."""
    if paired.control is None:
        return np.ones(len(rows), dtype=bool)
    return paired.control.judged[rows]


def _of_people(paired: PairedValues, rows: Integers, values: Floats) -> Floats:
    """The values of queries that people judged; NaN for others."""
    if paired.control is None:
        return values
    return np.where(by_people(paired, rows)[:, None], values, np.nan)


def _known_of_sides(paired: PairedValues, rows: Integers, pairs: Pairs) -> Sequence[Known | None]:
    """What is known of all queries, of either side of the pairs."""
    control = paired.control
    if control is None:
        return (None, None)
    of_runs = np.broadcast_to(control.values[:, rows], paired.values[:, rows].shape)
    is_judged = control.judged[rows]
    return [Known(values, is_judged) for values in sides(of_runs, pairs)]


def _unlimited(columns: int) -> Limits:
    """No limits."""
    unknown = np.full(columns, np.nan)
    return Limits(unknown, unknown, np.zeros(columns, dtype=bool))


def _of_logarithms(first: Sample, second: Sample) -> Floats:
    """The differences of logarithms.

    They are NaN in columns where a mean is not finite, as a value of 0 has no logarithm.
    """
    mean_a = means(first.values, first.weights)
    mean_b = means(second.values, second.weights)
    is_defined = np.isfinite(mean_a) & np.isfinite(mean_b)
    with np.errstate(invalid="ignore"):
        change = differences(first.values, second.values)
    return np.where(is_defined, change, np.nan)
