"""Names in other tools that name no single metric here, with the advice for each."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace

from .._table.trec_eval import SETS
from ..errors import Code, Text

UNCLEAR: Mapping[str, Mapping[str, str]] = {
    "accuracy": {"sentence-transformers": "hit_rate", "ir_measures": "pairwise_accuracy"},
    "arp": {"TF-Ranking": "average_relevance_position", "RecTools and RecBole": "mean_popularity"},
    "diversity": {"Evidently": "ild", "RePlay": "category_diversity", "TREC's diversity tasks": "alpha_ndcg"},
    "Novelty": {"Evidently": "novelty", "RePlay": "unseen"},
    "sDCG": {"cwl-eval": "sdcg", "TREC's session tracks": ""},
}
"""Ambiguous names, which are refused: the tools that use each, with our metric for it, if there is one.

A name with capitals is refused as it is written there: in small letters it is the name of one metric here.
"""

WITHOUT_CUTOFF = {"average_relevance_position"}
"""The metrics of `UNCLEAR` that take no cutoff, so that advice gives none."""

OF_ALL_QUERIES = {"coverage", "entropy", "gini", "hhi", "personalisation", "personalization", "simpson"}
"""Words in the names of recommenders' metrics over all queries at once."""


def elsewhere(name: str, text: str) -> Text | None:
    """Advice for a name from other tools that is no single metric here; None for any other name."""
    base, cutoff = without_digits(name)
    if meant := UNCLEAR.get(base) or UNCLEAR.get(base.lower()):
        tools = " and ".join(
            f"{metric or 'another gain, which is no metric here,'} in {tool}" for tool, metric in meant.items()
        )
        metrics = filter(None, meant.values())
        texts = [text.replace(name, f"{metric}@{cutoff}" if cutoff else metric, 1) for metric in metrics]
        texts = [re.sub(r"@.*|\(k=\w+\)", "", x) if {*WITHOUT_CUTOFF} & {*re.split(r"\W", x)} else x for x in texts]
        return f"{base!r} is {tools}; write {' or '.join(map(repr, texts))}"
    if name in SETS:
        return (
            f"{name!r} names many measures on trec_eval's command line, as rankframe trec_eval -m {name} prints them; here "
            "name each, as ",
            Code("evaluate('map', 'P_10', 'ndcg')", command="-m map,P_10,ndcg"),
        )
    if OF_ALL_QUERIES & set(re.split(r"[\W_]+", name.lower())):
        return (
            f"{name!r} is no metric here: a metric is a number of one query's ranking",
            Code("df.rank.items.catalog('coverage@10', 'gini@10', items=...)", phrase="; of all rankings there are {}"),
            "; for diversity by subtopics there is 'alpha_ndcg@10'",
        )
    return None


CALLS = {
    "evaluate": (
        "is a metric of one ranking",
        Code("df.rank.evaluate({!r})", command="rankframe evaluate RUN -m {}", phrase="; write {}"),
    ),
    "agreement": (
        "compares two columns of scores",
        Code("df.rank.agreement('other_score', {!r})", phrase="; write {}"),
    ),
    "catalog": (
        "is a metric of the whole table",
        Code(
            "df.rank.items.catalog({!r}, items=catalog)",
            command="rankframe catalog RUN -m {} --items catalog.csv",
            phrase="; write {}",
        ),
    ),
}
"""The methods that take metrics: the kind of their metrics, and a call with the place of a metric's text."""


def call_with(method: str, name: str, text: str) -> tuple[str, Code]:
    """Advice for a metric that another method takes."""
    kind, call = CALLS[method]
    call = replace(call, polars=call.polars.format(text), command=call.command.format(shlex.quote(text)))
    return f"{name} {kind}", call


def without_digits(name: str) -> tuple[str, str]:
    """A name without its trailing digits, and those digits."""
    base = name.rstrip("0123456789")
    return base.rstrip("_"), name[len(base) :]
