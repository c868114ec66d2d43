"""Judgments without a column of labels: every row counts 1, unless another column may hold the labels."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import polars as pl

from ..errors import InvalidOption, option
from .roles import USUAL_NAMES, carried, require
from .setup import Roles, Setup
from .steps import ones


def all_ones(qrels: pl.LazyFrame, setup: Setup, lacking: Sequence[str]) -> pl.LazyFrame | None:
    """The judgments with the label 1 in every row; ``None`` if they have labels, or lack other columns too.

    `lacking` are the roles without a column. A label column that was named, not by a preset, has to exist.
    """
    roles, schema = setup.roles, qrels.collect_schema()
    if roles.label in schema or (roles.label != Roles.label and "label" in setup.given):
        return None
    others = [*roles.query, str(roles.doc_name), *([] if roles.subtopic is None else [roles.subtopic])]
    for name in _may_be_labels(schema, others):
        if [*lacking] != ["label"]:
            return None
        require(schema, roles.label, "label", "qrels", meant=name)
    least = setup.policies.relevant
    if least > 1:
        raise InvalidOption(
            f"the judgments have no column {roles.label!r}, so each counts 1, and ",
            option(relevant=least),
            " is above that; give them a label",
            replace(ones(roles.label, least), phrase=", as with {}"),
        )
    return qrels.with_columns(pl.lit(1, pl.Int64).alias(roles.label))


def _may_be_labels(schema: pl.Schema, others: Collection[str]) -> list[str]:
    """The columns of judgments, except `others`, that may hold labels: any with numbers, or with a usual name."""
    elsewhere = {name for role in ("query", "doc", "subtopic", "run") for name in USUAL_NAMES[role]}
    beside = [
        name
        for name in schema
        if name not in others and not name.startswith(carried("")) and name.lower() not in elsewhere
    ]
    usual = [name for name in beside if name.lower() in USUAL_NAMES["label"]]
    return usual + [name for name in beside if schema[name].is_numeric() or schema[name] == pl.Boolean]
