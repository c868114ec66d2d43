"""The samples of pairs of runs on the queries of a slice: both sides and their differences, by
metric and then pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
    found
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

    found: PairedValues
    rows: Integers
    pairs: Pairs
    changes: Floats
    first: Sample
    second: Sample
    tested: Floats

    @classmethod
    def of(cls, found: PairedValues, rows: Integers, pairs: Pairs) -> SliceOfPairs:
        """The slice with some of the queries."""
        sides_of_pairs = found.sides(pairs, rows)
        changes = differences(*sides_of_pairs)
        calls = [call for call in found.calls for _ in pairs]
        tested = _of_people(found, rows, changes)
        nowhere = np.isnan(tested)
        weights, unlimited = found.queries["#weight"].to_numpy()[rows], _unlimited(len(calls))
        samples = []
        for side, known in zip(sides_of_pairs, _known_of_sides(found, rows, pairs), strict=True):
            on_scale = scaled(np.where(nowhere, np.nan, side), calls)
            samples.append(Sample(on_scale, weights, unlimited, known=known))
        first, second = samples
        geometric = np.array([Mean.of(call).is_geometric for call in calls])
        if geometric.any():
            tested = np.where(geometric, _of_logarithms(first, second), tested)
        return cls(found, rows, pairs, changes, first, second, tested)

    @property
    def calls(self) -> list[Call]:
        """The metric of each column."""
        return [call for call in self.found.calls for _ in self.pairs]

    @property
    def weights(self) -> Floats:
        """The weights of the queries."""
        return self.first.weights

    @property
    def numbers(self) -> Floats:
        """How many queries, or clusters, of equal weight those with a difference are worth, by
        column.
        """
        differing = _of_people(self.found, self.rows, self.changes)
        sample = self.found.sample(self.rows, np.where(np.isnan(differing), np.nan, 0.0))
        return effective_number(weighed(sample.values, sample.weights)[1])

    def sample(self, needs: Sequence[Need]) -> Sample:
        """The sample of differences, whose units are queries or clusters, with the facts that its
        estimator needs.
        """
        sample = self.found.sample(self.rows, self.tested, self._limits(bounds="bounds" in needs))
        if "directions" in needs:
            directions = [1.0 if call.higher_is_better else -1.0 for call in self.calls]
            sample = replace(sample, directions=np.array(directions))
        if "order" in needs:
            places = self.found.queries["#place"].to_numpy()[self.rows]
            sample = replace(sample, order=places.argsort())
        if "runs" in needs:
            sample = replace(sample, runs=self._runs())
        if "known" in needs:
            sample = replace(sample, known=self.known)
        return sample

    def _limits(self, *, bounds: bool) -> Limits:
        """The limits of the differences, by the metrics' bounds and, unless these alone count, by
        the values.
        """
        values = self.found.values[:, :0] if bounds else self.found.values
        low, high, declared = limits(values, self.found.calls).repeated(len(self.pairs))
        of_both = np.array([call.of_pairs for call in self.calls])  # their values are differences
        return Limits(
            np.where(of_both, low, low - high), np.where(of_both, high, high - low), declared
        )

    def _runs(self) -> RunsOfPairs:
        """The values of all runs, of queries where each has one."""
        samples = []
        for i, call in enumerate(self.found.calls):
            values = scaled(self.found.values[:, self.rows, i, None], [call])[..., 0].T
            values[np.isnan(values).any(axis=1)] = np.nan
            samples.append(self.found.sample(self.rows, values))
        return RunsOfPairs(samples, *np.transpose(self.pairs))

    @property
    def known(self) -> Known | None:
        """What is known of the differences of all queries."""
        first, second, control = self.first.known, self.second.known, self.found.control
        if first is None or second is None or control is None or not control.differs_by_run:
            return first
        return Known(differences(first.values, second.values), first.judged)

    def refuse_unfit_judgments(self) -> None:
        """Refuse a slice of which people judged too few queries, if something is known of the
        others.
        """
        known, control = self.known, self.found.control
        if known is None or control is None or not len(self.rows):
            return
        where = "".join(
            f" of {x.name} {x.item()}" for x in self.found.of_slices(self.rows[:1].tolist())
        )
        name = f"differences of {', '.join(call.text for call in self.found.calls)}"
        control.of_slice(self.rows).refuse_unfit(
            name, where, self.changes, known.values, self.weights
        )


def by_people(found: PairedValues, rows: Integers) -> Booleans:
    """Whether people judged each query, which they did if no query is left to others."""
    if found.control is None:
        return np.ones(len(rows), dtype=bool)
    return found.control.judged[rows]


def _of_people(found: PairedValues, rows: Integers, values: Floats) -> Floats:
    """The values of queries that people judged; NaN for others."""
    if found.control is None:
        return values
    return np.where(by_people(found, rows)[:, None], values, np.nan)


def _known_of_sides(found: PairedValues, rows: Integers, pairs: Pairs) -> Sequence[Known | None]:
    """What is known of all queries, of either side of the pairs."""
    if found.control is None:
        return (None, None)
    of_runs = np.broadcast_to(found.control.values[:, rows], found.values[:, rows].shape)
    return [Known(values, found.control.judged[rows]) for values in sides(of_runs, pairs)]


def _unlimited(columns: int) -> Limits:
    """No limits."""
    unknown = np.full(columns, np.nan)
    return Limits(unknown, unknown, np.zeros(columns, dtype=bool))


def _of_logarithms(first: Sample, second: Sample) -> Floats:
    """The differences of logarithms; NaN in columns where a mean is not finite, as a value of 0 has
    no logarithm.
    """
    mean_a, mean_b = (means(side.values, side.weights) for side in (first, second))
    defined = np.isfinite(mean_a) & np.isfinite(mean_b)
    with np.errstate(invalid="ignore"):
        return np.where(defined, differences(first.values, second.values), np.nan)
