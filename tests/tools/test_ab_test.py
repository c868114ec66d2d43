"""The A/B test of docs/ab_test.md has the figures that SciPy and tea-tasting print."""

from __future__ import annotations

import math
import re
from doctest import DocTestParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_ind

import rankframe as rf

PAGE = Path(__file__).parents[2] / "docs" / "ab_test.md"


def users() -> pl.DataFrame:
    """The table of the page, made by its own code."""
    examples = DocTestParser().get_examples(PAGE.read_text("utf-8"))
    names: dict[str, Any] = {}
    for example in examples:
        exec(example.source, names)
        if "users" in names:
            break
    return names["users"]


def compared(frame: pl.DataFrame) -> dict[str, Any]:
    ranker = frame.rank.on(query="user")
    return ranker.compare_groups(rf.value("orders"), by="variant", baseline="control").table.row(0, named=True)


def arms(frame: pl.DataFrame) -> list[np.ndarray[Any, Any]]:
    return [frame.filter(variant=name)["orders"].to_numpy() for name in ("control", "treatment")]


def test_the_figures_of_the_page_are_those_of_scipy() -> None:
    control, treatment = arms(users())
    wanted = ttest_ind(treatment, control, equal_var=False)
    low, high = wanted.confidence_interval()
    row = compared(users())
    assert [row[name] for name in ("p_value", "ci_low", "ci_high")] == pytest.approx(
        [wanted.pvalue, low, high], rel=1e-12
    )
    figures = re.findall(r"([\d., ]+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)[:5]
    means = control.mean(), treatment.mean(), treatment.mean() - control.mean()
    assert figures == [*(f" {x:.4f}" for x in means), f" {low:.4f}, {high:.4f}", f" {wanted.pvalue:.4f}"]


@pytest.mark.tools
def test_tea_tasting_has_the_same_difference_interval_and_p() -> None:
    import tea_tasting

    experiment = tea_tasting.Experiment({"orders": tea_tasting.Mean("orders")}, variant="variant")
    theirs = experiment.analyze(users(), control="control")["orders"]
    row = compared(users())
    same = {
        "baseline_mean": theirs.control, "mean": theirs.treatment, "difference": theirs.effect_size,
        "ci_low": theirs.effect_size_ci_lower, "ci_high": theirs.effect_size_ci_upper,
        "p_value": theirs.pvalue, "ratio": 1 + theirs.rel_effect_size,
    }  # fmt: skip
    assert {name: row[name] for name in same} == pytest.approx(same, rel=1e-12)
    # their ends of the ratio are those of the delta method, which the page prints
    ends = f"{1 + theirs.rel_effect_size_ci_lower:.4f} to {1 + theirs.rel_effect_size_ci_upper:.4f}"
    assert ends in PAGE.read_text("utf-8")
    assert all(
        math.isclose(row[x], 1 + getattr(theirs, f"rel_effect_size_ci_{y}"), abs_tol=2e-3)
        for x, y in (("ratio_low", "lower"), ("ratio_high", "upper"))
    )
