"""How much of each run is judged, and how many documents it holds."""

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
    def of(cls, values: pl.DataFrame, setup: Setup, runs: Runs, calls: Sequence[Call]) -> RunSizes:
        """The sizes from the values of runs with the columns of `size_calls` and `with_facts`."""
        documents = pl.col(HELD.text)
        has_any = documents > 0
        of_runs = values.group_by(RUN, maintain_order=True)
        mean = documents.filter(has_any).mean().fill_null(0.0)
        counts = of_runs.agg(mean, most=documents.max(), queries=pl.len())
        most: Any = counts["most"].max()
        queries: Any = counts["queries"].max()
        share = share_of(calls).text
        shares = {}
        if share in values.columns and values[IRRELEVANT].any():
            mean_share = pl.col(share).filter(has_any).mean().fill_null(0.0)
            shares = dict(of_runs.agg(mean_share).iter_rows())
        ranked = [call for call in calls if _ranks_documents(call)]
        is_cut = setup.policies.depth is not None
        return cls(
            runs=runs,
            k=cutoff_of(calls),
            documents=dict(counts.select(RUN, HELD.text).iter_rows()),
            most=int(most or 0),
            queries=queries or 0,
            shares=shares,
            cutoffs={call.text: call.arguments.get("k") for call in ranked},
            missed=not is_cut and bool(values[MISSED].any()),
        )

    @property
    def settings(self) -> dict[str, object]:
        """The figures as a result records them, with the metrics deeper than any query."""
        shares = {f"judged@{self.k}": self.shares} if self.shares else {}
        sizes = {**shares, DOCUMENTS: self.documents}
        return {"run_sizes": sizes, "deeper_than_runs": self.deeper}

    @property
    def deeper(self) -> dict[str, int]:
        """The metrics whose cutoff is beyond the documents of every query, with their most.

        None if no document was missed.
        """
        if not self.missed:
            return {}
        beyond = [text for text, k in self.cutoffs.items() if k is not None and k > self.most > 0]
        return dict.fromkeys(beyond, self.most)

    def warn(self) -> None:
        """Warn where a run is judged or goes twice as deep as another, or a metric as all."""
        if self.queries < FEWEST_QUERIES:
            return
        least, most = ends_of(self.shares)
        if most >= FAR_APART * least and differ_in_judgments(self.shares):
            self._warn_of_judgments()
        least, most = ends_of(self.documents)
        beyond = [text for text, k in self.cutoffs.items() if k is None or k > least]
        if least and most >= FAR_APART * least and beyond:
            self._warn_of_depths(beyond[0], least)
            return
        far = FAR_APART * self.most
        deepest = [text for text in self.deeper if (self.cutoffs[text] or 0) >= far]
        if deepest:
            self._warn_of_cutoff(deepest[0])

    def _warn_of_judgments(self) -> None:
        """Warn of runs that are judged unequally."""
        shares = in_words(self.shares, ".2f")
        says = f"judged@{self.k} is {shares}, and unjudged documents count as not relevant"
        pool = Advice("collection.pool", {"depth": self.k, **self._named})
        warn(f"{says}; judge those that ", pool, " lists", kind="runs judged unequally")

    def _warn_of_depths(self, metric: str, least: float) -> None:
        """Warn of runs of unequal depth."""
        documents = in_words(self.documents, ".4g")
        says = (
            f"runs hold {documents} documents per query, and {metric} counts what longer ones find"
        )
        advice = on(depth=max(int(least), 1))
        warn(f"{says} below; cut all alike, ", advice, kind="runs of unequal depth")

    def _warn_of_cutoff(self, metric: str) -> None:
        """Warn of a metric that is deeper than the runs."""
        says = f"{metric} of runs that hold {at_most(self.most)}"
        why = "documents below that rank were not retrieved, and count as missed"
        advice = f"compare a metric at {self.most:,} or less, or deeper runs"
        warn(f"{says}: {why}; {advice}", kind="metric deeper than the runs")

    @property
    def _named(self) -> dict[str, object]:
        """The options that name the runs in another call."""
        if self.runs.scores:
            return {"runs": [*self.runs.scores]}
        if self.runs.tables:
            return {"runs": ...}
        return {"run": self.runs.column}


def size_calls(setup: Setup, calls: Sequence[Call]) -> list[Call]:
    """What to evaluate with the metrics for `RunSizes`; nothing for values of rows."""
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
    given = [call.arguments.get("k") for call in calls if _ranks_documents(call)]
    cutoffs = {int(k) for k in given if k is not None}
    if len(cutoffs) == 1:
        return cutoffs.pop()
    return USUAL_CUTOFF


def _ranks_documents(call: Call) -> bool:
    """Whether a metric reads the ranks of documents."""
    return call.of_ranking and call.metric.over == "documents"


def with_facts(values: pl.DataFrame, frame: pl.DataFrame, setup: Setup, runs: Runs) -> pl.DataFrame:
    """The values of a part's runs, with what `RunSizes` asks of the part's rows."""
    labels = any(name.startswith(SHARE.name) for name in values.columns)
    irrelevant = labels and _lists_irrelevant(frame, setup)
    scores = runs.scores or (setup.roles.score,)
    missed = any(frame[score].has_nulls() for score in scores)
    return values.with_columns(pl.lit(irrelevant).alias(IRRELEVANT), pl.lit(missed).alias(MISSED))


def _lists_irrelevant(frame: pl.DataFrame, setup: Setup) -> bool:
    """Whether judgments hold documents that are not relevant.

    Without them the judged documents are the relevant ones.
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
    """The sentences of a result's settings on runs that are judged or cut unequally."""
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
    noun = "document" if documents == 1 else "documents"
    return f"{documents:,} {noun} per query at most"


def in_words(figures: OfRuns, digits: str) -> str:
    """The figure of each run with its name; of many runs, the least and the greatest."""
    texts = {run: f"{figure:{digits}} ({run})" for run, figure in figures.items()}
    if len(figures) > NAMED:
        low = min(figures, key=figures.__getitem__)
        high = max(figures, key=figures.__getitem__)
        return f"{texts[low]} to {texts[high]} of {len(figures):,} runs"
    *first, last = texts.values()
    return f"{', '.join(first)} and {last}" if first else last
