"""A column of a result is declared once: its type, its head, and how a cell is shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import rankframe as rf
from rankframe._results.columns import COLUMNS, grid, schema, table_in
from rankframe._results.grid import Cell, Record
from tests.results.test_results import DF, RESULTS

VERBS = Path(rf.__file__).parent / "_verbs"
TYPED = re.compile(r'(?m)^[A-Z_]+(?:: .*)? = \{\s*"\w+": pl\.\w+')
"""A table of columns with their types."""


def half(row: Record, name: str) -> Cell:
    """A cell of one grid alone."""
    return Cell("half")


def test_verbs_name_columns_and_declare_no_types_of_them() -> None:
    modules = [path for path in VERBS.rglob("*.py") if path.parent.name != "decide"]
    assert [path.stem for path in modules if TYPED.search(path.read_text("utf-8"))] == []
    assert len(modules) > 30


def test_a_column_has_its_one_type_in_the_tables_of_all_results() -> None:
    seen: set[str] = set()
    for verb, call in RESULTS.items():
        if verb in ("compare", "gate", "fit"):  # what a method of fusion learned has types of its own
            continue
        for table in call(DF.rank).tables.values():
            declared = {name: dtype for name, dtype in table.schema.items() if name in COLUMNS and name != "label"}
            assert declared == schema(" ".join(declared)), verb
            seen |= declared.keys()
    assert {"mean", "n_queries", "p_adjusted", "overlap", "gain"} <= seen


def test_a_grid_shows_each_column_by_its_declaration_and_one_in_its_own_way() -> None:
    columns = schema("metric mean difference ci_low ci_high p_value n_queries")
    table = table_in([("rr", 0.5, float("nan"), None, None, 0.012345, 1200)], columns)
    assert table["difference"].to_list() == [None]
    result: Any = type("Result", (), {"settings": {"ci": 0.9}})()
    rows = [table.to_dicts()[0] | {"difference": 0.25, "ci_low": 0.1, "ci_high": 0.4}]
    shown = grid(result, rows, ("metric",), "mean difference p_value n_queries", ("a note",), None)
    assert shown.head == ("metric", "mean", "difference [90% interval]", "p", "queries")
    assert [cell.line for cell in shown.rows[0]] == ["rr", "0.500", "+0.250 [0.100, 0.400]", "0.012", "1,200"]
    own = grid(result, rows, (), "mean", (), None, heads={"mean": "average"}, cells={"mean": half})
    assert (own.head, own.rows[0][0].text) == (("average",), "half")
