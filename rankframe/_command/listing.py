"""``rankframe metrics``: the metrics with their other names."""

from __future__ import annotations

import argparse
import re

import polars as pl

import rankframe as rf

from .command import Answer, Command
from .options import add_format
from .output import Table

__all__ = ["COMMAND"]

EXAMPLES = ("rankframe metrics", "rankframe metrics --format json > metrics.json")
USAGE = "A metric takes a cutoff and options: ndcg@10, 'ndcg(gain=exponential)@5', 'rbp(p=0.95)'."


def metrics(arguments: argparse.Namespace) -> Answer:
    """One line per metric: its name, its other names, and what it is."""
    found = {**rf.METRICS, **rf.CATALOG_METRICS}
    table = pl.DataFrame(
        {
            "metric": list(found),
            "other names": [", ".join(metric.aliases) for metric in found.values()],
            "what it is": [without_links(metric.doc.partition("\n")[0]) for metric in found.values()],
        }
    )
    of_catalog = f"rankframe catalog takes {', '.join(rf.CATALOG_METRICS)}; other commands take the other metrics."
    return Answer(Table(table, [USAGE, of_catalog]))


def without_links(text: str) -> str:
    """The text with each documentation link replaced by its name."""
    return re.sub(r":\w+:`[~.\w]*?(\w+)`", r"`\1`", text)


COMMAND = Command("metrics", "[options]", "list the metrics and their other names", EXAMPLES, add_format, metrics)
