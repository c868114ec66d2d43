"""Every number beside accuracy that a convention gives is the one that the tool prints.

The tools need `pip install -r tests/tools/requirements-products.txt`, and --no-deps -r requirements-products-alone.txt.
"""

from __future__ import annotations

import random

import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from rankframe._table.conventions import CONVENTIONS
from tests.support.untraced import untraced
from tests.tools.beyond_accuracy_values import TOOLS, Table

# RecBole and others use what NumPy and pandas no longer like; personalization of one list length divides exactly.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.tools]

OF_RECOMMENDERS = {name for name, metric in rf.METRICS.items() if metric.needs} | {*rf.CATALOG_METRICS}
CASES = [
    (tool, metric)
    for tool in TOOLS
    for metric in (*CONVENTIONS[tool].metrics, *(x for x, y in CONVENTIONS[tool].otherwise.items() if y.value))
    if metric in OF_RECOMMENDERS
]
ONE_LENGTH = {"recbole", "recmetrics"}
"""Tools that need lists of one length."""
SAME_FOR_ONE_LENGTH = {("microsoft_recommenders", "novelty"), ("evidently", "personalization")}
"""Means over all recommendations, and those that take every list for one of k items."""
NOTHING_SEEN = {"microsoft_recommenders"}
"""Tools that refuse recommendations of what the user had."""
KNOWN_ITEMS_ONLY = {("recmetrics", "novelty")}
TOLERANCE = {"lenskit": 1e-6}  # 32-bit floats


def table(seed: int, *, one_length: bool, known: bool, seen: bool, ties: bool) -> Table:
    """Lists of items of which some were never chosen, and past pairs."""
    draw = random.Random(seed)
    n, users, k = 30, 12, 6
    pairs = {(user, min(int(draw.expovariate(0.15)), n - 5)) for user in range(users) for _ in range(8)}
    if not ties:  # every item has another number of users
        pairs = {(user, item) for item in range(9) for user in range(item + 1)}
    train = pd.DataFrame(sorted(pairs), columns=["user", "item"])
    items = sorted({item for _, item in pairs}) if known else list(range(n))
    rows = []
    for user in range(users):
        length = k if one_length else draw.randint(2, k)
        of_user = [item for item in items if seen or (user, item) not in pairs]
        for rank, item in enumerate(draw.sample(of_user, length), 1):
            rows.append((user, item, rank, float(k - rank + 1), draw.randint(0, 1)))
    recs = pd.DataFrame(rows, columns=["user", "item", "rank", "score", "label"])
    features = pd.DataFrame({name: [draw.randint(0, 1) for _ in range(n)] for name in "xy"}).assign(z=1)
    return Table(recs, train, features, k)


def example() -> Table:
    """The worked example, with a to f as 0 to 5."""
    recs = pd.DataFrame(
        {"user": [1] * 3 + [2] * 3 + [3] * 3, "item": ["abcdef".index(x) for x in "cdebdfcde"], "rank": [1, 2, 3] * 3}
    )
    recs = recs.assign(score=4.0 - recs["rank"], label=[0, 1, 0, 1, 0, 0, 0, 0, 1])
    train = pd.DataFrame({"user": [1, 1, 2, 2, 3, 3, 4, 4], "item": ["abcdef".index(x) for x in "abacabad"]})
    features = pd.DataFrame({"x": [1, 1, 0, 0, 0, 1], "y": [0, 0, 1, 1, 0, 1], "z": [1, 0, 0, 1, 1, 0]})
    return Table(recs, train, features, 3)


def ours(tool: str, metric: str, given: Table) -> float:
    """The number that the table of conventions says."""
    frames = [
        pl.DataFrame({name: x[name].to_list() for name in x}).rename({"user": "query_id", "item": "doc_id"})
        for x in (given.recs, given.train)
    ]
    items = pl.DataFrame(
        {"doc_id": list(given.features.index), **{name: given.features[name].to_list() for name in "xyz"}}
    )
    roles = {}
    if metric in ("ild", "serendipity"):
        roles = {"features": list("xyz")}
    if metric == "category_diversity":
        roles = {"category": "x"}
    if metric in ("unexpectedness", "least_item_promoted"):
        frames[0] = frames[0].with_columns(base=-pl.col("score") * (1 + pl.col("doc_id") % 3))
        roles = {"base": "base"}
    ranker = frames[0].rank.on(interactions=frames[1], items=items, **roles)
    found = ranker.conventions(f"{metric}@{given.k}").table.filter(tool=tool)
    value: float = found["value"].item()
    assert value is not None, found["note"].item()
    return value


def tables(tool: str, metric: str) -> list[Table]:
    one_length = tool in ONE_LENGTH or (tool, metric) in SAME_FOR_ONE_LENGTH
    known = (tool, metric) in KNOWN_ITEMS_ONLY
    ties = (tool, metric) != ("recbole", "tail_share")
    seen = tool not in NOTHING_SEEN
    found = [table(seed, one_length=one_length, known=known, seen=seen, ties=ties) for seed in range(5)]
    found = found if known or not ties else [example(), *found]
    return [given._replace(k=2) for given in found] if metric == "least_item_promoted" else found


@pytest.mark.parametrize(("tool", "metric"), CASES, ids=["-".join(case) for case in CASES])
@untraced
def test_a_tool_prints_the_number_that_its_convention_gives(tool: str, metric: str) -> None:
    for given in tables(tool, metric):
        tolerance = TOLERANCE.get(tool, 1e-9)
        assert TOOLS[tool](metric, given) == pytest.approx(ours(tool, metric, given), rel=tolerance, abs=tolerance)
