"""The choices of `tests.tools.conventions` are what the tools do: every value they print is the one those choices make.

scikit-learn and trec_eval 9 are always there; the others need `pip install -r tests/tools/requirements.txt` and
`pytest -m tools tests/tools`, and the products among them what requirements-products.txt says.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.tables import INTEGER_LABELS, Table, random_table
from tests.support.untraced import untraced
from tests.tools.conventions import CONVENTIONS, choices, seen, takes
from tests.tools.formulas import METRICS, value

# TensorFlow, Spark and others warn of their own versions.
pytestmark = pytest.mark.filterwarnings("ignore")

LIGHT = ("sklearn", "trec_eval9")
HEAVY = (
    *("catboost", "lightgbm", "ptranking", "ranx", "spark", "tf_ranking", "torchmetrics", "xgboost"),
    *("haystack", "llamaindex", "microsoft_recommenders", "mlflow", "ragas", "recbole", "rectools", "replay"),
    *("cornac", "evidently", "lenskit", "recmetrics", "recpack"),
)
TOOLS = [
    *(pytest.param(tool, marks=pytest.mark.sampled) for tool in LIGHT),
    *(pytest.param(tool, marks=pytest.mark.tools) for tool in HEAVY),
]
DOCS = [f"d{number}" for number in range(50)]
SIZES = (1, 2, 3, 5, 8, 20, 45)
LABELS: dict[str, Sequence[float | None]] = {
    "binary": [0, 0, 1],
    "none or all relevant": [1],
    "grades": [0, 0, 0, 1, 1, 2, 3, 4],
    "fractions": [0, 0, 0.25, 0.5, 0.75, 1],
    "fractions above 1": [0, 0.25, 0.5, 1, 1.5, 2.75],
    "hostile": INTEGER_LABELS,
}


def table_for(tool: str, seed: int, labels: str, *, ties: bool, queries: int = 120) -> Table:
    """A random table, less what nobody could hand to the tool; half the ties are ties of floats, not of doubles."""
    table = random_table(seed, queries=queries, labels=LABELS[labels], ties=ties, docs=DOCS, sizes=SIZES)
    for query in list(table)[::2] if ties else ():
        table[query] = [
            (doc, score and score + i % 3 * 2.0**-40, label) for i, (doc, score, label) in enumerate(table[query])
        ]
    return {query: rows for query, given in table.items() if (rows := seen(tool, given))}


def calls_for(tool: str, calls: Sequence[Any], labels: str, *, ties: bool) -> list[Any]:
    """The calls that say what they do with such labels and ties."""
    return [
        (name, options)
        for name, options in calls
        if takes(tool, name, LABELS[labels])
        and (not ties or options.get("ties", choices(tool, name)["ties"]) != "undefined")
    ]


def close(found: float, wanted: float, tolerance: float) -> bool:
    both_nan = math.isnan(found) and math.isnan(wanted)
    return both_nan or math.isclose(found, wanted, rel_tol=tolerance, abs_tol=tolerance)


@pytest.mark.parametrize("tool", TOOLS)
@untraced
def test_the_choices_make_the_values_of_the_tool(tool: str, pytestconfig: pytest.Config) -> None:
    # of what is always there, a run without --all-cases takes a sixth of the queries
    share = 6 if tool in LIGHT and not pytestconfig.getoption("--all-cases") else 1
    module = importlib.import_module(f"tests.tools.{tool}_values")
    compared: dict[str, set[Any]] = {name: set() for name in CONVENTIONS[tool]["metrics"]}
    queries = {
        "spark": 2,
        "tf_ranking": 50,
        "torchmetrics": 160,
        "sklearn": 90,
        "microsoft_recommenders": 40,
        "evidently": 40,
    }.get(tool, 40 if tool in LIGHT else 80)
    for labels in LABELS:
        for ties in (False, True):
            table = table_for(tool, len(labels), labels, ties=ties, queries=queries // share)
            calls = calls_for(tool, module.CALLS, labels, ties=ties)
            for fewest in {choices(tool, name)["rows"] for name, _ in calls}:
                large = {query: rows for query, rows in table.items() if len(rows) >= fewest}
                asked = [(name, options) for name, options in calls if choices(tool, name)["rows"] == fewest]
                for query, name, options, found in module.values(large, asked):
                    wanted = value(tool, name, table[query], **options)
                    about = (labels, name, options, found, wanted, table[query])
                    assert close(found, wanted, choices(tool, name)["tolerance"]), about
                    compared[name].add((labels, ties, query))
    counts = {name: len(queries) for name, queries in compared.items()}
    assert min(counts.values()) >= (1 if tool == "spark" else 200 // share), counts


@pytest.mark.tools
@pytest.mark.parametrize("labels", ["binary", "grades", "hostile"])
def test_the_means_of_spark_are_means_of_the_values(labels: str) -> None:
    """Spark takes a third of a second a value, so most queries are compared together."""
    spark = importlib.import_module("tests.tools.spark_values")
    for number in range(5):
        table = table_for("spark", number, labels, ties=bool(number % 2), queries=20 * (number + 1))
        for name, options, found in spark.means(table):
            wanted = sum(value("spark", name, rows, **options) for rows in table.values()) / len(table)
            assert close(found, wanted, 1e-12), (labels, name, options, found, wanted)


@pytest.mark.tools
def test_spark_takes_no_notice_of_grades_from_python() -> None:
    spark = importlib.import_module("tests.tools.spark_values")
    table = table_for("spark", 1, "grades", ties=False)
    metrics = spark.graded(table)
    for k in (1, 3, 10):
        wanted = sum(value("spark", "ndcg", rows, k=k) for rows in table.values()) / len(table)
        assert close(metrics.ndcgAt(k), wanted, 1e-12)
        graded = [value("spark", "ndcg", rows, k=k, gain="exponential of the relevant") for rows in table.values()]
        assert not close(metrics.ndcgAt(k), sum(graded) / len(table), 1e-3)


def test_every_metric_of_every_tool_has_a_formula() -> None:
    assert {name for convention in CONVENTIONS.values() for name in convention["metrics"]} == set(METRICS)
