"""The exposure of groups of items has the values that FairRankTune prints: `pip install FairRankTune==0.0.7`."""

from __future__ import annotations

import random

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankframe as rf  # noqa: F401 - registers .rank

pytestmark = [pytest.mark.tools]

COMBINATIONS = {
    "MinMaxRatio": "group_exposure_ratio",
    "MaxMinRatio": "group_exposure_gap(combine=max_min_ratio)",
    "MaxMinDiff": "group_exposure_gap",
    "MaxAbsDiff": "group_exposure_gap(combine=max_deviation)",
    "MeanAbsDev": "group_exposure_gap(combine=mean_deviation)",
    "Variance": "group_exposure_gap(combine=variance)",
    "LTwo": "group_exposure_gap(combine=l2)",
}


@pytest.mark.parametrize("combination", COMBINATIONS)
@pytest.mark.parametrize("seed", range(5))
def test_fairranktune_prints_the_same_exposure_of_groups(seed: int, combination: str) -> None:
    from FairRankTune.Metrics.ERB import ERBP
    from FairRankTune.Metrics.EXP import EXP

    draw = random.Random(seed)
    items = [f"i{i}" for i in range(12)]
    groups = {item: draw.choice("xyz") for item in items} | dict(zip(items, "xyz", strict=False))
    lists = {f"u{user}": draw.sample(items, 6) for user in range(4)}
    rows = [(user, item, -float(place)) for user, shown in lists.items() for place, item in enumerate(shown)]
    frame = pl.DataFrame(rows, ["query_id", "doc_id", "score"], orient="row")
    ranker = frame.rank.on(group="maker", items=pl.DataFrame({"doc_id": [*groups], "maker": [*groups.values()]}))
    text = COMBINATIONS[combination]
    by_rbp = f"{text.removesuffix(')')},weight=rbp,p=0.7)" if "(" in text else f"{text}(weight=rbp,p=0.7)"
    ours = [np.inf if x is None else x for x in ranker.items.catalog(text, by_rbp, ci=None)["value"]]
    with np.errstate(divide="ignore"):
        theirs = [
            EXP(pd.DataFrame(lists), groups, combination)[0],
            ERBP(pd.DataFrame(lists), groups, 0.7, combination)[0],
        ]
    assert ours == pytest.approx(theirs, rel=1e-12)
