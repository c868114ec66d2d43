"""Rankers in IPython, as a notebook shows them: displays, tracebacks, help and completion."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from tests.support.each import each

pytestmark = pytest.mark.tools

SETUP = """
import polars as pl, rankframe as rf
df = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.5, 1.0], "label": [0, 1]})
lf, pdf = df.lazy(), df.to_pandas()
"""


MISTAKES = [
    "df.rank.evaluate('ndgc@10')",
    "lf.rank.on(label='rel').ndcg()",
    "pl.concat([lf, lf]).rank.ndcg().collect()",
    "pdf.rank.on(ties='sometimes')",
    "rf.expr.ndcg(gain='exp')",
]
SHOWN = {
    "df.rank": ".rank of a DataFrame: 2 rows, 4 columns",
    "pdf.rank": ".rank of a pandas DataFrame: 2 rows, 4 columns",
    "df.rank.on(relevant=2).reciprocal_rank": "df.rank.on(relevant=2).reciprocal_rank(k=None)",
    "pdf.rank.evaluate": "df.rank.evaluate(*metrics, runs=None, run=None)",
    "help(lf.rank.reciprocal_rank)": "-> polars.lazyframe.frame.LazyFrame",
    "pdf.rank.reciprocal_rank?": "-> pandas.DataFrame",
    "df.rank.check()": "Nothing found",
    "pdf.rank.check()": "Nothing found",
    "df.rank.check().rows.head(1)": "shape: (0, 6)",
    "df.rank.evaluate?": "-> polars.dataframe.frame.DataFrame",
}


@pytest.fixture(scope="module")
def printed() -> dict[str, str]:
    """What IPython prints of each cell."""
    code = f"""
import json
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
shell = InteractiveShell.instance(colors="nocolor")
shell.run_cell({SETUP!r})
printed = {{}}
for cell in {[*MISTAKES, *SHOWN]!r}:
    with capture_output() as found:
        shell.run_cell(cell)
    printed[cell] = found.stdout
print(json.dumps(printed))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


@each("cell", MISTAKES)
def test_a_mistake_shows_the_cell_and_one_line_of_the_package(cell: str, printed: dict[str, str]) -> None:
    files = re.findall(r"(?m)^(?:File (.*?)[:,]|Cell In)", printed[cell])
    assert len(re.findall(r"(?m)^Cell In", printed[cell])) == 1, printed[cell]
    assert len([file for file in files if re.search(r"rankframe[/\\]_?\w+", file)]) == 1, printed[cell]


@each("cell", [cell for cell in SHOWN if cell.endswith("?")])
def test_help_shows_one_signature(cell: str, printed: dict[str, str]) -> None:
    assert len(re.findall(r"(?mi)^(call )?signature:", printed[cell])) == 1


@each("cell", SHOWN)
def test_a_cell_shows(cell: str, printed: dict[str, str]) -> None:
    assert SHOWN[cell] in printed[cell]


@each(
    ("code", "some", "none"),
    [
        ("rf.", {"rank", "expr", "read_run", "io"}, {"sys", "Any", "suppress", "TYPE_CHECKING", "import_module", "annotations"}),
        ("df.rank.", {"evaluate", "ndcg", "on"}, {"_frame", "_run"}),
        ("pdf.rank.", {"evaluate", "ndcg", "on"}, {"_frame", "_method"}),
        ("df.rank.on(relevant=2).", {"evaluate", "ndcg"}, set()),
        ("df.rank.ndcg(k=10).", {"with_columns", "item"}, {"collect"}),
        ("lf.rank.evaluate('rr').", {"with_columns", "collect"}, {"item"}),
        ("pdf.rank.ndcg(k=10).", {"iloc", "merge"}, {"with_columns"}),
    ],
)  # fmt: skip
def test_completion_offers(code: str, some: set[str], none: set[str]) -> None:
    ask = f"{SETUP}import jedi\nprint(*(x.name for x in jedi.Interpreter({code!r}, [globals()]).complete()))"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    offered = set(done.stdout.split())
    assert some <= offered
    assert not none & offered
