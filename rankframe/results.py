"""The results of verbs that give several tables: each has sentences, grids, its main table as an
Arrow stream, and ``to_*``.

>>> import polars as pl, rankframe as rf
>>> df = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": list("abab"), "label": [1, 0, 1, 0]})
>>> df = df.with_columns(old=pl.Series([2, 1, 2, 1]), new=pl.Series([2, 1, 1, 2]))
>>> found = df.rank.compare("rr", runs=["old", "new"])
>>> found.sentences()[0].partition(":")[0]
'No significant difference of `new` from `old` on rr'
>>> pl.DataFrame(found).columns[:3]
['metric', 'baseline', 'run']
"""

from __future__ import annotations

from ._results.grid import Cell, Grid
from ._results.result import Format, Result, render
from ._table.check import PROBLEMS
from ._verbs.audit.overlap import Oracle, Overlap
from ._verbs.audit.reproduces import Reproduction
from ._verbs.audit.tool_comparison import Conventions
from ._verbs.collections.label_agreement import LabelAgreement
from ._verbs.collections.preference import Preference
from ._verbs.collections.reliability import Reliability
from ._verbs.decide.compare import Comparison
from ._verbs.decide.gate import Verdict
from ._verbs.fuse.fitted import FittedFusion
from ._verbs.fuse.tuning import TunedFusion
from ._verbs.groups.compare_groups import GroupComparison
from ._verbs.items.catalog import CatalogComparison, ItemCounts
from ._verbs.measure.judge import Findings

__all__ = [
    "PROBLEMS",
    "CatalogComparison",
    "Cell",
    "Comparison",
    "Conventions",
    "Findings",
    "FittedFusion",
    "Format",
    "Grid",
    "GroupComparison",
    "ItemCounts",
    "LabelAgreement",
    "Oracle",
    "Overlap",
    "Preference",
    "Reliability",
    "Reproduction",
    "Result",
    "TunedFusion",
    "Verdict",
    "render",
]  # fmt: skip
