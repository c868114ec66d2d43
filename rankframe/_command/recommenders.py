"""``rankframe catalog`` and ``rankframe gaps``: the items shown to all users, and gaps between groups of users."""

from __future__ import annotations

import argparse

from .._rankers.polars import PolarsRanker
from .._rankers.ranker import ItemVerbs
from .._support.progress import Busy
from .._text.displays import gap_lines
from .command import Answer, Command, Parser
from .evaluate import metrics_of
from .options import add_file, add_format, add_metrics, columns_read, ranker
from .output import Table
from .parameters import add_parameters, values_of
from .reading import judged

OF_CATALOG = (
    "rankframe catalog bm25.run -m coverage@10,gini@10 --items 1000",
    "rankframe catalog table.parquet --items catalog.csv --by market --format csv > catalog_metrics.csv",
    "rankframe catalog table.parquet -m popularity_lift@10 --interactions train.csv --score ltr",
)
OF_GAPS = (
    "rankframe gaps table.parquet -m ndcg@10 --by market",
    "rankframe gaps bm25.run --qrels market.parquet -m ndcg@10,rr --by market --format json",
)
DEFAULT = ("coverage@10", "gini@10", "personalization@10")


def options_of_catalog(sub: Parser) -> None:
    """The lists and the catalog metrics."""
    add_file(sub)
    add_metrics(sub, DEFAULT)
    add_parameters(sub, ItemVerbs.catalog)
    add_format(sub)


def options_of_gaps(sub: Parser) -> None:
    """The metrics, and the column of the groups."""
    add_file(sub)
    add_metrics(sub)
    add_parameters(sub, PolarsRanker.gaps)
    add_format(sub)


def catalog(arguments: argparse.Namespace) -> Answer:
    """A row per slice and metric."""
    options, metrics = values_of(arguments, ItemVerbs.catalog), arguments.metrics or DEFAULT
    reads = columns_read(arguments, lambda ranker: ranker.items.catalog(*metrics, **options))
    table = judged(arguments, reads, labels="label" in reads).table
    with Busy("counting items"):
        return Answer(Table(ranker(table, arguments).items.catalog(*metrics, **options)))


def gaps(arguments: argparse.Namespace) -> Answer:
    """A row per metric and figure."""
    options, metrics = values_of(arguments, PolarsRanker.gaps), metrics_of(arguments)
    table = judged(arguments, columns_read(arguments, lambda ranker: ranker.gaps(*metrics, **options))).table
    with Busy("comparing groups"):
        found = ranker(table, arguments).gaps(*metrics, **options)
    return Answer(Table(found.table, sentences=gap_lines(found)))


CATALOG = Command(
    "catalog",
    "[options] RUN",
    "metrics of the items that all users are shown, such as coverage and Gini",
    OF_CATALOG,
    options_of_catalog,
    catalog,
)
GAPS = Command(
    "gaps",
    "[options] --by COLUMN RUN",
    "how far the means of groups of queries are apart, and whether that may be chance",
    OF_GAPS,
    options_of_gaps,
    gaps,
)
