"""The bounded interval of very many queries needs no draws: held against beta distributions, and against draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rankframe._statistics import estimators
from rankframe._statistics.estimators import ESTIMATORS, with_one_more
from rankframe._statistics.sample import Limits, Sample
from rankframe._support.floats import Floats
from tests.support.each import each

N = 20_000


def of_one(values: np.ndarray, least: float, greatest: float) -> Sample:
    """The sample of a column with equal weights."""
    ends = (np.array([least]), np.array([greatest]), np.array([True]))
    return Sample(values[:, None], np.ones(len(values)), Limits(*ends))


@each("ones", [500, 2_000, 10_000, 19_500])
def test_the_interval_and_p_of_a_share_are_those_of_clopper_and_pearson(ones: int) -> None:
    share = np.repeat([1.0, 0.0], [ones, N - ones])
    low, high = stats.beta.ppf(0.025, ones, N - ones + 1), stats.beta.ppf(0.975, ones + 1, N - ones)
    half = (high - low) / 2
    found = ESTIMATORS["bounded"](of_one(share, 0.0, 1.0), 0.95)
    assert found.low[0] == pytest.approx(low, abs=half / 1_000)
    assert found.high[0] == pytest.approx(high, abs=half / 1_000)
    for budget in (low + half / 9, low, low - half / 9, high - half / 9, high, high + half / 9):
        below, above = stats.beta.cdf(budget, ones, N - ones + 1), stats.beta.sf(budget, ones + 1, N - ones)
        found = ESTIMATORS["bounded"](of_one(share - budget, -budget, 1 - budget), 0.95)
        assert found.p[0] == pytest.approx(2 * min(below, above), rel=0.01)
        assert (found.p[0] < 0.05) == (found.low[0] > 0 or found.high[0] < 0)


def test_skewed_values_are_drawn_and_others_have_the_quantiles_of_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    skewed = np.where(rng.random(6_000) < 0.2, -(rng.random(6_000) ** 3), 0.01)
    sample = of_one(skewed, -1.0, 1.0)
    below, above = with_one_more(sample, 2_000, 0, None)
    found = ESTIMATORS["bounded"](sample, 0.95)
    assert found.low[0] == pytest.approx(np.quantile(below, 0.025), abs=np.std(below) / 5)
    assert found.high[0] == pytest.approx(np.quantile(above, 0.975), abs=np.std(above) / 5)
    drawn: list[int] = []

    def seen(some: Sample, resamples: int, *_: object) -> tuple[Floats, Floats]:
        drawn.append(resamples)
        below, above = with_one_more(some, 50, 0, None)
        shape = resamples, below.shape[1]
        return np.resize(below, shape), np.resize(above, shape)

    monkeypatch.setattr(estimators, "with_one_more", seen)
    ESTIMATORS["bounded"](sample, 0.95)
    assert drawn == []
    ESTIMATORS["bounded"](of_one(np.repeat([1.0, 0.0], [20, 5_980]), -1.0, 1.0), 0.95)  # few ones
    ESTIMATORS["bounded"](Sample(sample.values, rng.random(6_000), sample.limits), 0.95)
    assert len(drawn) == 2
