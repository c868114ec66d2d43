"""The part of a report on a fusion: the fused run beside the runs, the gain of an oracle, and the overlap of the runs."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from .._fusion.fitted import text_of
from .._fusion.oracle import Oracle, oracle
from .._fusion.overlap import Overlap, overlap
from .._table.setup import Setup
from .._table.table import in_memory
from .._text.fusion_displays import oracle_lines, overlap_lines
from .._text.result_table import intervals_of
from .._text.sentences import IN_HTML
from ..errors import InvalidOption, option
from . import fusion_figures
from .report_parts import Contents, Part, picture
from .report_tables import Cell, Table, counted, estimate

RANKS = 10
"""The number of ranks whose documents are compared and whose contributions are drawn."""


@dataclass(frozen=True)
class OfFusion:
    """The section: its sentences, its tables and its plots."""

    method: str
    lines: tuple[str, ...]
    part: Part


def fusion(frame: pl.DataFrame, setup: Setup, contents: Contents) -> OfFusion | None:
    """The section on `contents.fusion`, or ``None``."""
    if contents.fusion is None:
        return None
    if not contents.runs.columns:
        raise InvalidOption(
            option(fusion=text_of(contents.fusion)), " fuses runs; name them, as ", option(runs=["bm25", "dense"])
        )
    runs = contents.runs
    table, metrics, n = in_memory(frame, setup), contents.metrics, contents.resamples
    scores, run = runs.scores or None, runs.column
    best = oracle(table, *metrics, runs=scores, run=run, fusion=contents.fusion, resamples=n, seed=contents.seed)
    common = overlap(table, runs=scores, run=run, k=RANKS)
    tables = (_of_oracle(best), _of_pairs(common), _of_runs(common))
    drawn = (
        picture(fusion_figures.contributions, frame, setup, runs, contents.fusion, RANKS),
        picture(fusion_figures.overlap, frame, setup, runs, RANKS),
    )
    return OfFusion(
        text_of(contents.fusion),
        (*oracle_lines(best, IN_HTML), *overlap_lines(common, IN_HTML)),
        Part("", tables, drawn),
    )


def _of_oracle(found: Oracle[pl.DataFrame]) -> Table:
    """Each run and the fusion beside the oracle."""
    rows = [
        (
            Cell(row["metric"]),
            Cell(row["run"]),
            *(Cell() if row[name] is None else Cell(f"{row[name]:.3f}", row[name]) for name in ("mean", "oracle")),
            estimate({**row, "difference": row["gain"]}, "difference"),
            counted(row["better"]),
            counted(row["n_queries"]),
        )
        for row in found.table.to_dicts()
    ]
    note = (
        "Oracle: the mean of each query's best run, which only the labels tell. Gain: the oracle less the run, with its "
        f"95% interval ({intervals_of(found.table['interval'])}). Better on: on how many queries the oracle is better."
    )
    return Table(("metric", "run", "mean", "oracle", "gain", "better on", "queries"), tuple(rows), 5, (note,))


def _of_pairs(found: Overlap[pl.DataFrame]) -> Table:
    """The overlap of every two runs."""
    figures = ("overlap", "jaccard", "rbo")
    rows = [
        (
            Cell(f"{row['run']} and {row['other']}"),
            *(Cell() if row[name] is None else Cell(f"{row[name]:.3f}", row[name]) for name in figures),
            counted(row["n_queries"]),
        )
        for row in found.table.to_dicts()
    ]
    note = (
        f"Overlap: documents in the top {RANKS} of both, over {RANKS}. Jaccard: over those in the top {RANKS} of either. "
        "RBO: rank-biased overlap of the whole rankings."
    )
    return Table(("runs", *figures, "queries"), tuple(rows), 4, (note,))


def _of_runs(found: Overlap[pl.DataFrame]) -> Table:
    """The documents that each run finds alone."""
    heads = {
        "retrieved": "documents",
        "only": "of this run only",
        "relevant": "relevant",
        "only_relevant": "relevant, of this run only",
    }
    rows = [(Cell(row["run"]), *(counted(row[name]) for name in heads)) for row in found.runs.to_dicts()]
    return Table(("run", *heads.values()), tuple(rows), 4, (f"Documents in the top {RANKS}, over all queries.",))
