"""Compared runs as grids: a row per pair of runs; a row per run, with letters for the runs that it
is better than; the ranking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._statistics.estimators import ESTIMATORS
from .grid import (
    Cell,
    Grid,
    Record,
    estimated,
    higher_is_better,
    intervals_of,
    letters,
    name_of,
    named,
    number,
    numbers,
    p_cell,
    percent,
    queries_of,
)
from .markup import WIDTH, width
from .result import MOST_ROWS, Format
from .sentences import chances_in, correction_of, test_of, uncorrected


def of_pairs(
    rows: Sequence[Record],
    settings: Mapping[str, Any],
    most: int | None = MOST_ROWS,
    notes: Sequence[str] = (),
) -> Grid:
    """The figures of a comparison: means, difference, interval, p, and on how many queries a run is
    better.
    """
    names, chances = (*settings["by"], "metric", "run", "baseline"), gives_chances(settings)
    corrected = correction_of(settings, len(rows)) is not None
    tested = "better / equal / worse" if chances else "p (adjusted)" if corrected else "p"
    difference = (
        "difference" if settings["ci"] is None else f"difference [{percent(settings)} interval]"
    )
    figures = ("baseline mean", "mean", difference, tested, "wins-ties-losses")
    body = [
        (
            *named(row, *names),
            *numbers(row, "baseline_mean", "mean"),
            estimated(row, "difference"),
            Cell(chances_in(row), row["p_better"])
            if chances
            else Cell(p_cell(row, corrected), row["p_adjusted"]),
            Cell("-".join(f"{row[name]:,}" for name in ("wins", "ties", "losses")), row["wins"]),
        )
        for row in rows[:most]
    ]
    kinds = intervals_of(row["interval"] for row in rows)
    between = (
        "the model's labels weigh as its variance asks"
        if "model_labels" in settings
        else "mean less baseline mean"
    )
    tested = (
        f"{'Probabilities' if chances else 'p'} by {test_of(rows, settings)}, over "
        f"{queries_of(rows)}{in_clusters(rows)}. Difference: {between}. Interval: {kinds}."
    )
    tested += uncorrected(settings, len(rows))
    return Grid(names, figures, body, (tested, *notes))


def gives_chances(settings: Mapping[str, Any]) -> bool:
    """Whether a comparison has probabilities in place of p-values."""
    return not ESTIMATORS[settings["test"]].gives_p


def in_clusters(rows: Sequence[Record]) -> str:
    """In how many clusters the queries of some rows are; empty without clusters."""
    numbers = sorted({row["n_clusters"] for row in rows if "n_clusters" in row})
    return (
        f" in {' to '.join(f'{n:,}' for n in dict.fromkeys((numbers[0], numbers[-1])))} clusters"
        if numbers
        else ""
    )


def pairs_shown(
    rows: Sequence[Record],
    settings: Mapping[str, Any],
    how: Format,
    most: int | None,
    notes: Sequence[str] = (),
) -> tuple[list[str], Grid]:
    """A row per pair of runs; in a terminal letters replace names that make it too wide, with a
    line for each letter.
    """
    grid = of_pairs(rows, settings, most, notes)
    if how == "text" and (wide := width(grid)) > WIDTH:
        letter = {run: letters(i) for i, run in enumerate(settings["runs"])}
        renamed = [{**row, **{x: letter[row[x]] for x in ("run", "baseline")}} for row in rows]
        short = of_pairs(renamed, settings, most, notes)
        if width(short) < wide:
            return ["", *(f"{letter[run]} = {run}" for run in letter)], short
    return [], grid


@dataclass(frozen=True)
class MeansOfRuns:
    """The mean of each run by slice and metric, and the runs that it is significantly better
    than.
    """

    rows: Sequence[Record]
    settings: Mapping[str, Any]
    alpha: float
    by: Sequence[str]
    of_run: Mapping[tuple[object, ...], float | None]
    beaten: Mapping[tuple[object, ...], Sequence[str]]

    @classmethod
    def of(cls, rows: Sequence[Record], settings: Mapping[str, Any], alpha: float) -> MeansOfRuns:
        """The means in the table of a comparison."""
        by = settings["by"]
        means: dict[tuple[object, ...], float | None] = {}
        beaten: dict[tuple[object, ...], list[str]] = {}
        for row in rows:
            at = (tuple(row[name] for name in by), row["metric"])
            run, base, difference = row["run"], row["baseline"], row["difference"]
            means[(*at, run)] = row["mean"]
            if row["baseline_mean"] is not None:
                means.setdefault((*at, base), row["baseline_mean"])
            if row["p_adjusted"] is not None and row["p_adjusted"] < alpha and difference:
                better = (difference > 0) == higher_is_better(row["metric"])
                beaten.setdefault((*at, run if better else base), []).append(
                    base if better else run
                )
        return cls(rows, settings, alpha, by, means, beaten)

    @property
    def slices(self) -> list[tuple[object, ...]]:
        """The slices, in the order of the table."""
        return list(dict.fromkeys(tuple(row[name] for name in self.by) for row in self.rows))

    def by_run(self, digits: int) -> Grid:
        """A row per slice and run: its mean of each metric with the letters of the runs that it is
        better than, the best bold.
        """
        runs, metrics = list(self.settings["runs"]), list(self.settings["metrics"])
        letter = {run: letters(i) for i, run in enumerate(runs)}
        rows = []
        for part in self.slices:
            cells = {}
            for metric in metrics:
                shown = {run: number(self.of_run.get((part, metric, run)), digits) for run in runs}
                best = [shown[run] for run in self._in_order(part, metric)[:1]]
                for run in runs:
                    marks = [letter[other] for other in self.beaten.get((part, metric, run), ())]
                    marks.sort(key=lambda mark: (len(mark), mark))
                    cells[run, metric] = Cell(
                        shown[run], best=shown[run] in best, marks=tuple(marks)
                    )
            for run in runs:
                head = (*(Cell(name_of(value)) for value in part), Cell(letter[run]), Cell(run))
                rows.append((*head, *(cells[run, metric] for metric in metrics)))
        notes = (
            f"Letters name the runs that a run is significantly better than: {self._tested}.",
            f"Bold: the best of its column. Means over {queries_of(self.rows)}.",
        )
        return Grid((*self.by, "", "run"), tuple(metrics), rows, notes)

    def ranking(self) -> Grid:
        """The runs of each slice by their mean of the first metric, each with the number of runs
        that it is better than.
        """
        metrics = list(self.settings["metrics"])
        rows = []
        for part in self.slices:
            ranked = self._in_order(part, metrics[0])
            for run in [*ranked, *(run for run in self.settings["runs"] if run not in ranked)]:
                figures = [
                    text
                    for at in ((part, metric, run) for metric in metrics)
                    for text in (
                        number(self.of_run.get(at), 3),
                        f"{len(self.beaten.get(at, ())):,}",
                    )
                ]
                rows.append(tuple(map(Cell, (*map(name_of, part), run, *figures))))
        notes = (
            f"beats: the number of runs that a run is significantly better than, {self._tested}. "
            f"Means over {queries_of(self.rows)}.",
        )
        return Grid(
            (*self.by, "run"),
            tuple(name for metric in metrics for name in (metric, "beats")),
            rows,
            notes,
        )

    def _in_order(self, part: tuple[object, ...], metric: str) -> list[str]:
        """The runs with a mean of the metric, the best first."""
        means = {run: self.of_run.get((part, metric, run)) for run in self.settings["runs"]}
        there = {run: mean for run, mean in means.items() if mean is not None}
        return sorted(there, key=there.__getitem__, reverse=higher_is_better(metric))

    @property
    def _tested(self) -> str:
        return f"p < {self.alpha:g} by {test_of(self.rows, self.settings)}"
