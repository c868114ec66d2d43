"""``rankframe catalog`` and ``rankframe gaps``: the items shown to all users, and gaps between groups of users."""

from __future__ import annotations

import argparse

from .._rankers.polars import PolarsRanker
from .._rankers.ranker import ItemVerbs
from .._text.displays import gap_lines
from .command import DEFAULT_METRICS, Command, Outcome, metrics_of, values_of
from .output import OutputTable
from .reading import answered


def catalog(arguments: argparse.Namespace) -> Outcome:
    """A row per slice and metric."""
    metrics, options = metrics_of(arguments), values_of(arguments)
    found = answered(arguments, lambda ranker: ranker.items.catalog(*metrics, **options), "counting items")
    return Outcome(OutputTable(found))


def gaps(arguments: argparse.Namespace) -> Outcome:
    """A row per metric and figure."""
    metrics, options = metrics_of(arguments), values_of(arguments)
    found = answered(arguments, lambda ranker: ranker.gaps(*metrics, **options), "comparing groups")
    return Outcome(OutputTable(found.table, sentences=gap_lines(found)))


CATALOG = Command(
    catalog,
    "metrics of the items that all users are shown, such as coverage and Gini",
    (
        "rankframe catalog bm25.run -m coverage@10,gini@10 --items 1000",
        "rankframe catalog table.parquet --items catalog.csv --by market --format csv > catalog_metrics.csv",
        "rankframe catalog table.parquet -m popularity_lift@10 --interactions train.csv --score ltr",
    ),
    files=1,
    metrics=("coverage@10", "gini@10", "personalization@10"),
    verb=ItemVerbs.catalog,
)
GAPS = Command(
    gaps,
    "how far the means of groups of queries are apart, and whether that may be chance",
    (
        "rankframe gaps table.parquet -m ndcg@10 --by market",
        "rankframe gaps bm25.run --qrels market.parquet -m ndcg@10,rr --by market --format json",
    ),
    files=1,
    metrics=DEFAULT_METRICS,
    verb=PolarsRanker.gaps,
)
