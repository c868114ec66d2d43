"""Prediction-powered means, agreement of judges, the Bayesian test and reproducibility have the values that other packages print."""

from __future__ import annotations

import math
import random
import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf  # noqa: F401 - registers .rank
from rankframe._statistics.agreement import alpha, coincidences
from rankframe._statistics.bayes import shares, signed_rank
from rankframe._statistics.prediction_powered import estimates

pytestmark = [pytest.mark.tools]

WORKED = [0.5, 0.8, 0.2, 0.9], [0.6, 0.9, 0.2, 1.0], [0.7, 0.4, 0.9, 0.8, 0.6, 0.5]


def drawn(seed: int) -> tuple[Any, Any, Any]:
    """Values, what a model says of them, and what it says of other queries."""
    rng = np.random.default_rng(seed)
    n, others = int(rng.integers(5, 80)), int(rng.integers(5, 400))
    truth = rng.beta(0.4, 1.2, n + others)
    said = np.clip(truth + rng.normal(0.1, rng.uniform(0.05, 0.8), n + others), 0, 1)
    return truth[:n], said[:n], said[n:]


@pytest.mark.parametrize("seed", range(20))
def test_ppi_py_has_the_same_tuned_mean_and_interval(seed: int) -> None:
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

    y, yh, yu = map(np.array, WORKED) if seed == 0 else drawn(seed)
    values, other = np.append(y, np.full(len(yu), np.nan))[:, None], np.append(yh, yu)[:, None]
    found = estimates(values, other, ~np.isnan(values[:, 0]), np.ones(len(values)), within=True)
    half = 1.959963984540054 * np.sqrt(
        found.of_known + found.of_others
    )  # ppi_py divides by n, and takes normal quantiles
    assert found.mean == pytest.approx(ppi_mean_pointestimate(y, yh, yu), rel=1e-12)
    low, high = ppi_mean_ci(y, yh, yu, alpha=0.05)
    assert [*(found.mean - half), *(found.mean + half)] == pytest.approx([*low, *high], rel=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_krippendorff_has_the_same_alpha_with_missing_grades(seed: int) -> None:
    import krippendorff

    rng = np.random.default_rng(seed)
    grades = rng.integers(0, 4, (5, 60)).astype(float)
    grades = np.where(rng.random((5, 60)) < 0.5, grades[0], grades)
    grades[rng.random((5, 60)) < 0.3] = math.nan
    wanted = krippendorff.alpha(grades, level_of_measurement="ordinal")
    assert alpha(coincidences(grades, 4).sum(axis=0)) == pytest.approx(wanted, rel=1e-12)
    names = [f"judge{i}" for i in range(5)]
    table = pl.DataFrame(dict(zip(names, grades, strict=True))).fill_nan(None)
    table = table.with_row_index("query_id").with_columns(doc_id=pl.lit("d"))
    found = table.rank.collection.label_agreement(*names, resamples=99).table
    assert found.filter(pl.col("judge").is_null())["value"].item() == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("rope", [0.0, 0.0625])
@pytest.mark.parametrize("seed", range(5))
def test_baycomp_has_the_same_shares_for_the_same_weights_and_nearly_the_same_probabilities(
    seed: int, rope: float
) -> None:
    from baycomp import SignedRankTest

    rng = np.random.default_rng(seed)
    x, y = (
        rng.integers(0, 64, (2, 25)) / 64
    )  # some means on the border, without rounding, which baycomp counts beside it
    wanted = SignedRankTest.sample(x, y, rope, nsamples=200, random_state=seed)
    weights = np.random.RandomState(seed).dirichlet([0.5, *[1] * 25], 200)
    assert shares(np.append(0, y - x), rope, weights) == pytest.approx(wanted, abs=1e-12)
    probabilities = SignedRankTest.probs(x, y, rope, nsamples=50_000, random_state=seed)
    found = signed_rank(y - x, rope, 50_000, seed)
    assert (found if rope else found[[0, 2]]) == pytest.approx(probabilities, abs=0.015)


RUNS = ("b", "a", "new_b", "new_a")


def ranked(seed: int) -> pl.DataFrame:
    """Four runs with ten of fourteen documents each; documents and scores without ties."""
    draw = random.Random(seed)
    rows: list[dict[str, Any]] = []
    for query in range(12):
        documents = {
            f"d{i:02}": {"query_id": f"q{query:02}", "doc_id": f"d{i:02}", "label": draw.randint(0, 2)}
            for i in range(14)
        }
        for run in RUNS:
            kept = draw.sample([*documents], 10)
            for doc in documents:
                documents[doc][run] = draw.random() + documents[doc]["label"] if doc in kept else None
        rows += documents.values()
    return pl.DataFrame(rows, infer_schema_length=None)


def dictionary(table: pl.DataFrame, run: str) -> dict[str, dict[str, float]]:
    """A run as pytrec_eval has it, best documents first."""
    found: dict[str, dict[str, float]] = {}
    for row in table.drop_nulls(run).sort(run, descending=True).iter_rows(named=True):
        found.setdefault(row["query_id"], {})[row["doc_id"]] = row[run]
    return {query: found[query] for query in sorted(found)}


@pytest.mark.parametrize("seed", range(5))
def test_repro_eval_prints_the_same_order_error_effect_and_p(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it imports a module of SciPy by an old name
        from repro_eval.measure.document_order import KTU
        from repro_eval.measure.effectiveness import RMSE
        from repro_eval.measure.overall_effects import DRI, ER
        from repro_eval.measure.statistics import ttest

    table, metrics = ranked(seed), ("ndcg@10", "map")
    found = table.rank.collection.reproduces(*metrics, original={"new_b": "b", "new_a": "a"}, union="sorted").table
    scores = {}
    for run in RUNS:
        values = table.rank.on(score=run).evaluate(*metrics)
        scores[run] = {row.pop("query_id"): row for row in values.to_dicts()}
    for new, old in (("new_b", "b"), ("new_a", "a")):
        rows = found.filter(run=new)
        assert rows["ktu"].to_list() == pytest.approx(
            [KTU(dictionary(table, old), dictionary(table, new))] * 2, abs=1e-10
        )
        assert rows["rmse"].to_list() == pytest.approx([*RMSE(scores[old], scores[new]).values()])
        assert rows["p_value"].to_list() == pytest.approx([*ttest(scores[old], scores[new]).values()])
    of_all = [scores[run] for run in ("a", "b", "new_a", "new_b")]
    rows = found.filter(run="new_a")
    assert rows["effect_ratio"].to_list() == pytest.approx([*ER(*of_all).values()])
    assert rows["delta_relative_improvement"].to_list() == pytest.approx([*DRI(*of_all).values()])
