"""Means by the labels of people and of a model, per run and slice; at once, or part by part: a part
gives the values of its queries.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from ... import stats
from ..._catalog.call import Call
from ..._plan.per_query import measure
from ..._statistics.estimators import ESTIMATORS
from ..._statistics.sample import Known, Sample
from ..._support.floats import np
from ..._table.setup import Setup
from ...errors import InvalidOption, option
from ..sample.judged import KINDS, PEOPLE, Control, Help, by_people
from ..sample.resampling import limits
from ..sample.slices import in_slices
from .summary import FIGURES, Summary, weigher

ESTIMATOR = ESTIMATORS[KINDS["model_labels"]]
"""The estimator of means by the labels of people and of a model."""

OF_MODEL = "#model "
"""The prefix of a metric's column by the model's labels."""

OF_QUERY = ("people", "known", "by_model", "weight")
"""What a part has of a query and a metric, with a model as judge: whether people judged the query;
the value by their labels, or else the model's; the value by the model's; and the weight."""


class JudgedSummary(Summary):
    """A summary of few queries that people judged and many that a model judged; `model_labels` is
    the column of the model's labels.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        options = {"interval": (self.resampling.interval, "auto"), "cluster": (self.cluster, None)}
        ESTIMATOR.refuse_others(Help(self.model_labels).given, options)

    @property
    def figures(self) -> Mapping[str, pl.DataType]:
        """The columns of the summary without the slices."""
        own = {
            name: dtype
            for name, dtype in super().figures.items()
            if name not in ("metric", "n_queries")
        }
        return {
            "metric": FIGURES["metric"],
            "n_queries": FIGURES["n_queries"],
            **ESTIMATOR.columns,
            **own,
        }

    def _of_run(self, frame: pl.DataFrame, run: str, setup: Setup) -> pl.DataFrame:
        if any(
            call.labels and call.metric.from_clicks != "same"
            for call in weigher(self.weights, frame.schema)
        ):
            says = " reads labels, which people and the model give differently; name a column or "
            raise InvalidOption(option(weights=self.weights), says, option(weights="num_ret"))
        rows = by_people(frame, setup, str(self.model_labels), self.calls)
        by_model = measure(rows, setup.changed(label=str(self.model_labels)), *self.calls)
        own = [by_model[call.text].alias(OF_MODEL + call.text) for call in self.calls]
        people = rows.group_by(setup.roles.query, maintain_order=True).agg(pl.col(PEOPLE).first())[
            PEOPLE
        ]
        return super()._of_run(rows, run, setup).hstack([people, *own])

    def _of_queries(self, per_query: pl.DataFrame) -> pl.DataFrame:
        found = self.merge(self._part(per_query))
        if found.is_empty() and not self.slices:  # as of any summary, a row of no query
            nothing = pl.DataFrame(
                {"metric": [call.text for call in self.calls], "n_queries": 0, "n_judged": 0}
            )
            found = pl.concat([found, nothing], how="diagonal_relaxed").cast(found.schema)
        return found

    def _part(self, per_query: pl.DataFrame) -> pl.DataFrame:
        columns = ((PEOPLE, call.text, OF_MODEL + call.text, "#weight") for call in self.calls)
        named = (
            (pl.lit(of[1]).alias("metric"), *map(pl.Expr.alias, map(pl.col, of), OF_QUERY))
            for of in columns
        )
        return pl.concat([per_query.select(*self.slices, *of_call) for of_call in named])

    def _merged(self, parts: pl.DataFrame) -> pl.DataFrame:
        """The figures of parts, merged: one row per slice and metric."""
        groups, rows = in_slices(parts, ["metric", *self.slices]), []
        for call in self.calls:
            of_call = (
                (where, part) for (text, *where), part in groups.items() if text == call.text
            )
            rows += [
                (*where, call.text, *self._figures(call, where, part)) for where, part in of_call
            ]
        slices = {name: parts.schema[at] for at, name in self.slices.items()}
        numbers = pl.col(name for name, dtype in self.figures.items() if dtype == pl.Float64)
        return pl.DataFrame(rows, {**slices, **self.figures}, orient="row").with_columns(
            numbers.fill_nan(None)
        )

    def _figures(self, call: Call, where: Sequence[object], part: pl.DataFrame) -> list[Any]:
        """The figures of a metric on the queries of a slice, the same for any order of these."""
        numbers = (
            part.select(OF_QUERY).sort(OF_QUERY).cast(pl.Float64).fill_null(math.nan).to_numpy()
        )
        people, known, by_model, weights = numbers.T
        control = Control(
            "model_labels", str(self.model_labels), people > 0, by_model[None, :, None]
        )
        named = "".join(
            f" of {name} {x}" for name, x in zip(self.slices.values(), where, strict=True)
        )
        values, other = known[:, None], by_model[:, None]
        control.refuse_unfit(call.text, named, values, other, weights)
        sample = Sample(values, weights, limits(values, [call]), known=Known(other, people > 0))
        estimate = ESTIMATOR(sample, self.resampling.ci)
        least, greatest = (
            x if end is None else end
            for end, x in zip(call.bounds, (-math.inf, math.inf), strict=True)
        )
        ends = {"mean": estimate.value, "ci_low": estimate.low, "ci_high": estimate.high}
        (std,) = stats.spreads(known[people > 0, None], weights[people > 0])
        more = {
            name: pl.Series(estimate.more[name]).cast(dtype).item()
            for name, dtype in ESTIMATOR.columns.items()
        }
        figures = {
            "n_queries": len(known),
            "std": std,
            "total": None,
            "interval": ESTIMATOR.name,
            **more,
        }
        figures |= {name: float(np.clip(end, least, greatest).item()) for name, end in ends.items()}
        return [figures[name] for name in [*self.figures][1:]]
