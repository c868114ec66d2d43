"""The results of verbs that give several tables: each has sentences, grids, its main table as an Arrow stream, and ``to_*``.

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
from ._verbs.catalog import CatalogComparison, ItemCounts
from ._verbs.compare import Comparison
from ._verbs.compare_groups import GroupComparison
from ._verbs.fitted import FittedFusion
from ._verbs.gate import Verdict
from ._verbs.judge import Findings
from ._verbs.label_agreement import LabelAgreement
from ._verbs.overlap import Oracle, Overlap
from ._verbs.preference import Preference
from ._verbs.reliability import Reliability
from ._verbs.reproduces import Reproduction
from ._verbs.tool_comparison import Conventions
from ._verbs.tuning import TunedFusion

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
