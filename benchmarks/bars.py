"""The bars that rankframe's speed and memory are held to, each measured and judged.

    python benchmarks/bars.py            # every bar; ten minutes
    python benchmarks/bars.py --guard    # what needs no other tool, at 300,000 rows; a minute

A bar is a ratio of medians of interleaved rounds of one run, most of them to one bare `frame.sort("query_id", "score")`
of the same table. `--guard` takes the least of the rounds, which other work on the machine disturbs least, writes
`guard.json`, and fails only where a figure is beyond twice its bar.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from competitors import COMPETITORS, LINEAR, TEN, check, matrices
from shapes import Shape, Table
from suite import machine
from timing import Seconds, interleaved, timed

import rankframe as rf


@dataclass(frozen=True)
class Bar:
    """A figure and its bar: at most that many times the unit, or at least."""

    name: str
    figure: float
    bar: float
    unit: str = "bare sorts"
    at_most: bool = True

    @property
    def excess(self) -> float:
        """How many times beyond the bar; 1 is on it."""
        return self.figure / self.bar if self.at_most else self.bar / self.figure

    @property
    def holds(self) -> bool:
        return self.excess <= 1

    def line(self) -> str:
        verdict = "holds" if self.holds else "beyond twice the bar" if self.excess > 2 else "does not hold"
        return f"{self.name:62}{self.figure:9.2f}{'  <=' if self.at_most else '  >='}{self.bar:6.2f} {self.unit:14}{verdict}"


def catalogue() -> list[str]:
    """Every metric that needs no subtopics, at its cutoff of 10 where it takes one, and the usual other cutoffs."""
    names = []
    for name, metric in rf.METRICS.items():
        if not metric.subtopics:
            names.append(f"{name}@10" if "k" in metric.parameters else name)
    return [*names, *(f"{name}@{k}" for name in ("ndcg", "precision", "recall") for k in (1, 5, 100))]
