"""Compared runs as grids: a row per pair of runs, a row per run, and the ranking."""

from __future__ import annotations

from collections import defaultdict
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
    """The figures of a comparison: a row for each pair of runs."""
    by_chance = gives_chances(settings)
    is_corrected = correction_of(settings, len(rows)) is not None
    body = []
    for row in rows[:most]:
        counts = "-".join(f"{row[name]:,}" for name in ("wins", "ties", "losses"))
        cells = named(row, *settings["by"], "metric", "run", "baseline")
        cells += numbers(row, "baseline_mean", "mean")
        cells.append(estimated(row, "difference"))
        if by_chance:
            cells.append(Cell(chances_in(row), row["p_better"]))
        else:
            cells.append(Cell(p_cell(row, is_corrected), row["p_adjusted"]))
        cells.append(Cell(counts, row["wins"]))
        body.append(tuple(cells))
    tested = "p (adjusted)" if is_corrected else "p"
    if by_chance:
        tested = "better / equal / worse"
    difference = "difference"
    if settings["ci"] is not None:
        difference += f" [{percent(settings)} interval]"
    figures = ("baseline mean", "mean", difference, tested, "wins-ties-losses")
    names = (*settings["by"], "metric", "run", "baseline")
    return Grid(names, figures, body, (_how_compared(rows, settings), *notes))


def _how_compared(rows: Sequence[Record], settings: Mapping[str, Any]) -> str:
    """The note on the test, the queries, the difference and the intervals of a comparison."""
    what = "Probabilities" if gives_chances(settings) else "p"
    over = f"{queries_of(rows)}{in_clusters(rows)}"
    tested = f"{what} by {test_of(rows, settings)}, over {over}."
    difference = "mean less baseline mean"
    if "model_labels" in settings:
        difference = "the model's labels weigh as its variance asks"
    kinds = intervals_of(row["interval"] for row in rows)
    end = uncorrected(settings, len(rows))
    return f"{tested} Difference: {difference}. Interval: {kinds}.{end}"


def gives_chances(settings: Mapping[str, Any]) -> bool:
    """Whether a comparison has probabilities in place of p-values."""
    return not ESTIMATORS[settings["test"]].gives_p


def in_clusters(rows: Sequence[Record]) -> str:
    """In how many clusters the queries of some rows are; empty without clusters."""
    numbers = sorted({row["n_clusters"] for row in rows if "n_clusters" in row})
    if not numbers:
        return ""
    ends = dict.fromkeys((numbers[0], numbers[-1]))
    return f" in {' to '.join(f'{n:,}' for n in ends)} clusters"


def pairs_shown(
    rows: Sequence[Record],
    settings: Mapping[str, Any],
    how: Format,
    most: int | None,
    notes: Sequence[str] = (),
) -> tuple[list[str], Grid]:
    """A row per pair of runs.

    In a terminal letters replace names that make it too wide, with a line for each letter.
    """
    grid = of_pairs(rows, settings, most, notes)
    wide = width(grid) if how == "text" else 0
    if wide <= WIDTH:
        return [], grid
    letter = {run: letters(i) for i, run in enumerate(settings["runs"])}
    renamed = []
    for row in rows:
        names = {name: letter[row[name]] for name in ("run", "baseline")}
        renamed.append({**row, **names})
    short = of_pairs(renamed, settings, most, notes)
    if width(short) >= wide:
        return [], grid
    return ["", *(f"{letter[run]} = {run}" for run in letter)], short


@dataclass(frozen=True)
class MeansOfRuns:
    """The mean of each run, and the runs that it is better than, by slice and metric."""

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
        beaten: defaultdict[tuple[object, ...], list[str]] = defaultdict(list)
        for row in rows:
            at = (tuple(row[name] for name in by), row["metric"])
            run = row["run"]
            baseline = row["baseline"]
            means[(*at, run)] = row["mean"]
            if row["baseline_mean"] is not None:
                means.setdefault((*at, baseline), row["baseline_mean"])
            p = row["p_adjusted"]
            difference = row["difference"]
            if p is not None and p < alpha and difference:
                is_better = (difference > 0) == higher_is_better(row["metric"])
                winner, loser = (run, baseline) if is_better else (baseline, run)
                beaten[(*at, winner)].append(loser)
        return cls(rows, settings, alpha, by, means, beaten)

    @property
    def slices(self) -> list[tuple[object, ...]]:
        """The slices, in the order of the table."""
        slices = (tuple(row[name] for name in self.by) for row in self.rows)
        return list(dict.fromkeys(slices))

    def by_run(self, digits: int) -> Grid:
        """A row per slice and run: its mean of each metric, the best bold.

        Letters name the runs that it is better than.
        """
        runs = list(self.settings["runs"])
        metrics = list(self.settings["metrics"])
        letter = {run: letters(i) for i, run in enumerate(runs)}
        rows = []
        for part in self.slices:
            columns = [self._column(part, metric, letter, digits) for metric in metrics]
            for run in runs:
                names = [*map(name_of, part), letter[run], run]
                rows.append((*map(Cell, names), *(column[run] for column in columns)))
        better = "Letters name the runs that a run is significantly better than"
        notes = (
            f"{better}: {self._tested}.",
            f"Bold: the best of its column. Means over {queries_of(self.rows)}.",
        )
        return Grid((*self.by, "", "run"), tuple(metrics), rows, notes)

    def _column(
        self, part: tuple[object, ...], metric: str, letter: Mapping[str, str], digits: int
    ) -> dict[str, Cell]:
        """The cell of each run in the column of a metric."""
        texts = {run: number(self.of_run.get((part, metric, run)), digits) for run in letter}
        best = [texts[run] for run in self._in_order(part, metric)[:1]]
        cells = {}
        for run, text in texts.items():
            marks = [letter[other] for other in self.beaten.get((part, metric, run), ())]
            marks.sort(key=lambda mark: (len(mark), mark))
            cells[run] = Cell(text, best=text in best, marks=tuple(marks))
        return cells

    def ranking(self) -> Grid:
        """The runs of each slice by their mean of the first metric.

        Each has the number of runs that it is better than.
        """
        metrics = list(self.settings["metrics"])
        rows = []
        for part in self.slices:
            ranked = self._in_order(part, metrics[0])
            unranked = [run for run in self.settings["runs"] if run not in ranked]
            for run in (*ranked, *unranked):
                texts = [*map(name_of, part), run]
                for metric in metrics:
                    at = (part, metric, run)
                    texts.append(number(self.of_run.get(at), 3))
                    texts.append(f"{len(self.beaten.get(at, ())):,}")
                rows.append(tuple(map(Cell, texts)))
        beats = "the number of runs that a run is significantly better than"
        note = f"beats: {beats}, {self._tested}. Means over {queries_of(self.rows)}."
        figures = tuple(name for metric in metrics for name in (metric, "beats"))
        return Grid((*self.by, "run"), figures, rows, (note,))

    def _in_order(self, part: tuple[object, ...], metric: str) -> list[str]:
        """The runs with a mean of the metric, the best first."""
        means = {}
        for run in self.settings["runs"]:
            mean = self.of_run.get((part, metric, run))
            if mean is not None:
                means[run] = mean
        return sorted(means, key=means.__getitem__, reverse=higher_is_better(metric))

    @property
    def _tested(self) -> str:
        return f"p < {self.alpha:g} by {test_of(self.rows, self.settings)}"
