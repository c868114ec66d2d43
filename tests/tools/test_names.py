"""A tool's own text, read as a metric under the tool's convention, gives what the tool prints for it."""

from __future__ import annotations

import importlib
import math
from typing import Any

import pytest

import rankframe  # noqa: F401 - puts .rank on frames
from tests.support.tables import frame, random_table
from tests.support.untraced import untraced
from tests.tools.conventions import choices, seen

pytestmark = [pytest.mark.tools, pytest.mark.filterwarnings("ignore")]

BY_CLASS = {"cornac": "@{}", "evidently": "(k={})", "lenskit": "(n={})", "recpack": "_{}", "replay": "({})"}
"""Tools that name metrics by classes, each with its spelling of a cutoff."""


def spelled(tool: str, module: Any, metric: str, options: dict[str, Any]) -> str:
    """The text of a tool for a metric with options."""
    if tool not in BY_CLASS:
        text = str(module.spell(metric, options))
        return f"{text}:" if text == "PrecisionAt" else text  # which in other letters is Spark's
    name = module.NAMES[metric].__name__ if metric in module.NAMES else {"average_precision": "MAP"}.get(metric, "MRR")
    patience = f"(patience={options['p']})" if "p" in options else ""
    return name + patience + (BY_CLASS[tool].format(options["k"]) if "k" in options else "")


@pytest.mark.parametrize("tool", ["catboost", "xgboost", *BY_CLASS])
@untraced
def test_the_text_of_a_tool_gives_the_number_of_the_tool(tool: str) -> None:
    module: Any = importlib.import_module(f"tests.tools.{tool}_values")
    docs = [f"d{number}" for number in range(50)]
    table = random_table(7, queries=15, labels=[0, 0, 1], ties=False, docs=docs, sizes=(3, 8, 20))
    table = {query: rows for query, given in table.items() if len(rows := seen(tool, given)) > 1}
    # of XGBoost, a linear gain is said elsewhere; of RePlay, ROC AUC differs as the note of its convention says
    calls = [
        (name, x)
        for name, x in module.CALLS
        if (tool, name) != ("replay", "auc") and (tool, "gain" in x) != ("xgboost", True)
    ]
    df, compared = frame(table, seed=None), 0
    for query, name, options, found in module.values(table, calls):
        text = spelled(tool, module, name, options)
        policies = {"no_relevant": "zero"} if text.endswith("-") else {}
        value = dict(df.rank.on(convention=tool, **policies).evaluate(text).iter_rows())[query]
        near = choices(tool, name)["tolerance"]
        assert math.isclose(math.nan if value is None else value, found, rel_tol=near, abs_tol=near) or (
            value is None and math.isnan(found)
        ), (text, query, value, found)
        compared += 1
    assert compared > 100
