"""How much of each run is judged, and how many documents it holds: what a comparison of unequal
runs says of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import polars as pl

from ..._catalog.call import Call
from ..._catalog.registry import Metric
from ..._table.runs import RUN, Runs
from ..._table.setup import Setup
from ...errors import Advice, on, warn
from ...metrics.judgments import documents_held, judged_share

OfRuns: TypeAlias = Mapping[str, float]
"""A mean over the queries of each run, by its name."""

USUAL_CUTOFF = 10
"""The number of ranks whose judgments are counted if no metric names a cutoff."""

JUDGED_APART = 0.1
"""The difference of two shares of judged documents from which on a comparison says them."""

DEPTHS_APART = 1.2
"""The ratio of two numbers of documents per query from which on a comparison says them."""

FAR_APART = 2.0
"""The ratio from which on a comparison warns."""

FEWEST_QUERIES = 10
"""The fewest queries of which a comparison warns: fewer are an example."""

NAMED = 4
"""The most runs whose figures a sentence names; of more it says the least and the greatest."""

DOCUMENTS = "documents per query"
"""The name of this figure in the settings of a result; that of the other is that of a metric, as
``judged@10``."""


IRRELEVANT, MISSED = "#judged irrelevant", "#not retrieved"
"""The columns that say whether the rows of a part list irrelevant documents, and documents that
were not retrieved."""

# figures of the plan, which no tool has: they read no labels, so that no policy makes them null
SHARE = Metric("#judged", judged_share, labels=False, from_clicks="same")
HELD = Call(Metric("#documents", documents_held, labels=False, from_clicks="same"))


@dataclass(frozen=True)
class RunSizes:
    """How much of each run is judged, and how many documents it holds.

    Attributes
    ----------
    runs
        The runs, named in the table.
    k
        The number of ranks whose judgments are counted.
    documents
        The mean number of documents per query, of the queries that have any.
    most
        The largest number of documents of any query of a run.
    queries
        The number of queries of the run that has the most.
    shares
        The share of the first `k` documents that are judged, over the queries that have documents;
        empty if labels do not count, or if judgments list relevant documents only, of which a
        better run has more.
    cutoffs
        The cutoff of each metric by its text; ``None`` for a metric that reads whole rankings.
    missed
        Whether documents were not retrieved that a longer run might hold.
    """

    runs: Runs
    k: int
    documents: OfRuns
    most: int
    queries: int
    shares: OfRuns = field(default_factory=dict)
    cutoffs: Mapping[str, int | None] = field(default_factory=dict)
    missed: bool = False

    @classmethod
    def of(cls, found: pl.DataFrame, setup: Setup, runs: Runs, calls: Sequence[Call]) -> RunSizes:
        """Those of runs whose values `found` has the columns of `size_calls`, and the facts of
        their rows.
        """
        documents = pl.col(HELD.text)
        with_any = documents.filter(documents > 0)
        of_runs = found.group_by(RUN, maintain_order=True)
        counted = of_runs.agg(
            with_any.mean().fill_null(0.0), most=documents.max(), queries=pl.len()
        )
        most: Any = counted["most"].max()
        queries: Any = counted["queries"].max()
        share, shares = share_of(calls).text, {}
        if share in found.columns and found[IRRELEVANT].any():
            of_share = of_runs.agg(pl.col(share).filter(documents > 0).mean().fill_null(0.0))
            shares = dict(of_share.iter_rows())
        cut = setup.policies.depth is not None  # as the user wants it
        return cls(
            runs,
            cutoff_of(calls),
            dict(counted.select(RUN, HELD.text).iter_rows()),
            int(most or 0),
            queries or 0,
            shares,
            {call.text: call.arguments.get("k") for call in calls if _ranks_documents(call)},
            not cut and bool(found[MISSED].any()),
        )

    @property
    def settings(self) -> dict[str, object]:
        """The figures as a result records them, with the metrics that ask for more documents than
        any query has.
        """
        shares = {f"judged@{self.k}": self.shares} if self.shares else {}
        return {"run_sizes": {**shares, DOCUMENTS: self.documents}, "deeper_than_runs": self.deeper}

    @property
    def deeper(self) -> dict[str, int]:
        """The metrics whose cutoff is beyond the documents of every query, though some were missed;
        with their most.
        """
        beyond = [text for text, k in self.cutoffs.items() if k is not None and k > self.most > 0]
        return dict.fromkeys(beyond, self.most) if self.missed else {}

    def warn(self) -> None:
        """Warn where one run is judged, or goes, twice as deep as another, and of metrics twice as
        deep as the runs.
        """
        if self.queries < FEWEST_QUERIES:
            return
        least, most = ends_of(self.shares)
        if most >= FAR_APART * least and differ_in_judgments(self.shares):
            warn(
                f"judged@{self.k} is {in_words(self.shares, '.2f')}, and unjudged documents "
                "count as not relevant; judge those "
                "that ",
                Advice("collection.pool", {"depth": self.k, **self._named}),
                " lists",
                kind="runs judged unequally",
            )
        least, most = ends_of(self.documents)
        beyond = [text for text, k in self.cutoffs.items() if k is None or k > least]
        if least and most >= FAR_APART * least and beyond:
            warn(
                f"runs hold {in_words(self.documents, '.4g')} documents per query, and "
                f"{beyond[0]} counts what longer "
                "ones find below; cut all alike, ",
                on(depth=max(int(least), 1)),
                kind="runs of unequal depth",
            )
        elif far := [
            text for text in self.deeper if (self.cutoffs[text] or 0) >= FAR_APART * self.most
        ]:
            warn(
                f"{far[0]} of runs that hold {at_most(self.most)}: documents below that rank "
                "were not retrieved, and count "
                f"as missed; compare a metric at {self.most:,} or less, or deeper runs",
                kind="metric deeper than the runs",
            )

    @property
    def _named(self) -> dict[str, object]:
        """The options that name the runs in another call."""
        if self.runs.scores:
            return {"runs": [*self.runs.scores]}
        return {"runs": ...} if self.runs.tables else {"run": self.runs.column}


def size_calls(setup: Setup, calls: Sequence[Call]) -> list[Call]:
    """What to evaluate together with the metrics, so that `RunSizes.of` knows the runs; nothing for
    values of rows.
    """
    ranked = [call for call in calls if _ranks_documents(call)]
    if not ranked or setup.policies.unjudged == "drop":  # then runs hold judged documents only
        return []
    if not any(call.labels for call in ranked):
        return [HELD]
    return [HELD, share_of(calls)]


def share_of(calls: Sequence[Call]) -> Call:
    """The share of judged documents down to the cutoff of the metrics."""
    return Call(SHARE, (("k", cutoff_of(calls)),))


def cutoff_of(calls: Sequence[Call]) -> int:
    """The cutoff that the metrics share, or the usual one."""
    cutoffs = {
        int(k)
        for call in calls
        if _ranks_documents(call) and (k := call.arguments.get("k")) is not None
    }
    return cutoffs.pop() if len(cutoffs) == 1 else USUAL_CUTOFF


def _ranks_documents(call: Call) -> bool:
    return call.of_ranking and call.metric.over == "documents"


def with_facts(found: pl.DataFrame, frame: pl.DataFrame, setup: Setup, runs: Runs) -> pl.DataFrame:
    """The values of a part's runs with the columns of `size_calls`, and what `RunSizes` asks of its
    rows.
    """
    labels = any(name.startswith(SHARE.name) for name in found.columns)
    irrelevant = labels and _lists_irrelevant(frame, setup)
    missed = any(frame[score].has_nulls() for score in runs.scores or (setup.roles.score,))
    return found.with_columns(pl.lit(irrelevant).alias(IRRELEVANT), pl.lit(missed).alias(MISSED))


def _lists_irrelevant(frame: pl.DataFrame, setup: Setup) -> bool:
    """Whether judgments hold documents that are not relevant; without them the judged documents are
    the relevant ones.
    """
    label = pl.col(setup.roles.label).cast(pl.Float64)
    irrelevant = (label >= 0) & (label < setup.policies.relevant)
    return bool(frame.select(irrelevant.any()).item())


def ends_of(figures: OfRuns) -> tuple[float, float]:
    """The least and the greatest figure of the runs; zeros for none."""
    return min(figures.values(), default=0.0), max(figures.values(), default=0.0)


def differ_in_judgments(figures: OfRuns) -> bool:
    """Whether the shares of judged documents differ by more than a tenth."""
    least, most = ends_of(figures)
    return most - least > JUDGED_APART


def differ_in_depth(figures: OfRuns) -> bool:
    """Whether the numbers of documents per query differ by more than a fifth."""
    least, most = ends_of(figures)
    return most > DEPTHS_APART * least


def unequal(settings: Mapping[str, Any]) -> list[str]:
    """The sentences of a result's settings on runs that are judged or cut unequally; none if they
    are alike.
    """
    parts = []
    for name, figures in settings.get("run_sizes", {}).items():
        if name == DOCUMENTS and differ_in_depth(figures):
            parts.append(f"{name}: {in_words(figures, '.4g')}")
        if name != DOCUMENTS and differ_in_judgments(figures):
            parts.append(f"{name}: {in_words(figures, '.2f')}")
    sentences = [f"The runs differ in {'; '.join(parts)}."] if parts else []
    deeper: Mapping[str, int] = settings.get("deeper_than_runs", {})
    if deeper:
        most = next(iter(deeper.values()))
        sentences.append(f"{', '.join(deeper)} of runs that hold {at_most(most)}.")
    return sentences


def at_most(documents: int) -> str:
    """A number of documents that no query exceeds."""
    return f"{documents:,} document{'' if documents == 1 else 's'} per query at most"


def in_words(figures: OfRuns, digits: str) -> str:
    """The figure of each run with its name; of many runs, the least and the greatest."""
    if len(figures) > NAMED:
        low, high = (pick(figures, key=figures.__getitem__) for pick in (min, max))
        return (
            f"{figures[low]:{digits}} ({low}) to {figures[high]:{digits}} ({high}) of "
            f"{len(figures):,} runs"
        )
    *first, last = (f"{figure:{digits}} ({run})" for run, figure in figures.items())
    return f"{', '.join(first)} and {last}" if first else last
