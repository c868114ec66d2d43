"""The help of a ranker, which ``help(df.rank)`` and ``df.rank?`` show: its verbs, metrics and options, and an example."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Mapping
from textwrap import fill, indent
from typing import Any

from .._catalog.registry import METRICS, Metric
from .._support.methods import Lifted
from .._table.setup import OPTIONS, PARTS

WIDTH = 100
"""The most letters of a line."""

WHAT = {"roles": "Columns", "policies": "Policies", "background": "Other tables", "running": "LazyFrames"}
"""The parts of a setup whose options the help lists."""

EXAMPLE = """\
>>> import polars as pl, rankframe as rf
>>> df = pl.DataFrame({"qid": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "rel": [0, 1]})
>>> found = df.rank.on(query="qid", label="rel").evaluate("rr", "ndcg@10")
>>> found["rr"].to_list()
[0.5]"""

OF_EXPRESSIONS = """\
>>> import polars as pl, rankframe as rf
>>> df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0], "label": [0, 1]})
>>> df.group_by("query_id").agg(rf.expr.reciprocal_rank())["rr"].to_list()
[0.5]"""


class Help:
    """The ``__doc__`` of a class of rankers: of the class its own text, of a ranker the page of what it can do."""

    def __init__(self, text: str | None) -> None:
        self.text = text

    def __get__(self, ranker: Any, owner: type) -> str | None:
        return self.text if ranker is None else page(ranker, inspect.cleandoc(self.text or ""))


def page(ranker: Any, about: str) -> str:
    """The help of a ranker, whose class `about` tells about."""
    paragraph, *_ = about.split("\n\nExamples\n")
    methods = [(name, x) for kind in type(ranker).__mro__ for name, x in vars(kind).items() if not name.startswith("_")]
    verbs = {name: x for name, x in methods if isinstance(x, (Lifted, property)) and not _is_formula(x)}
    prefix = "df.rank" if len(verbs) > 1 else "rf.expr"
    example = EXAMPLE if len(verbs) > 1 else OF_EXPRESSIONS
    for polars, own in ranker._examples:
        example = example.replace(polars, own)
    width = max(map(len, verbs)) + 2
    families_of = [
        f"{family}\n{_listed(x.formula.__name__ for x in found)}"
        for (family, _), found in families(METRICS.values()).items()
    ]
    of_parts = {title: PARTS[part] for part, title in WHAT.items()}
    others = [name for name in OPTIONS if not any(name in names for names in PARTS.values())]
    options = [
        f"{title}\n{_listed(names)}" for title, names in {**of_parts, "Several of these at once": others}.items()
    ]
    parts = {
        "Verbs": "\n".join(f"{name:<{width}}{_first_line(x)}" for name, x in verbs.items()),
        "Metrics": "\n".join(
            [
                f'A method each, as {prefix}.ndcg(k=10); in texts, as "ndcg@10", a metric may have a shorter name.',
                "",
                *families_of,
            ]
        ),
        "Columns and policies": "\n".join(
            [
                f'{prefix}.on(...) gives the same ranker with other ones, as {prefix}.on(query="qid", ties="order"):',
                "",
                *options,
            ]
        ),
        "Examples": example,
    }
    sections = [f"{title}\n{'-' * len(title)}\n{text}" for title, text in parts.items()]
    more = (
        "The rows of a query are its ranking, by falling score; their labels tell which documents are relevant. Nothing is "
        f"computed before a method is called. Each method has a help of its own, as help({prefix}.ndcg)."
    )
    return "\n\n".join(filter(None, [paragraph, fill(more, WIDTH), *sections, ranker._own_help]))


def families(metrics: Iterable[Metric]) -> Mapping[tuple[str, str], list[Metric]]:
    """The metrics by family: the name and the description of each, from the first line of the module of its formulas."""
    found: dict[tuple[str, str], list[Metric]] = {}
    for metric in metrics:
        text = inspect.getdoc(sys.modules[metric.formula.__module__]) or ""
        family, _, about = text.partition("\n")[0].partition(": ")
        found.setdefault((family, about) if metric.own else ("Your own", ""), []).append(metric)
    return found


def _is_formula(method: object) -> bool:
    return isinstance(method, Lifted) and hasattr(method.function, "formula")


def _first_line(method: object) -> str:
    """What a method does, as the first line of its text says, without links."""
    text = (inspect.getdoc(method) or "").partition("\n")[0]
    return re.sub(r":\w+:`[~.\w]*?(\w+)`", r"\1", text).replace("``", "")


def _listed(names: Iterable[str]) -> str:
    return indent(fill(", ".join(names), WIDTH - 4, break_on_hyphens=False), " " * 4)
