"""Statements in DuckDB and SQLite, which run in the process, give the values of frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.sql import laws
from tests.sql.databases import Database, DuckDB, SQLite
from tests.support.tables import BY_CHANCE
from tests.support.two_runs import two_runs

pytestmark = BY_CHANCE


@pytest.fixture(scope="module", params=[DuckDB, SQLite])
def db(request: pytest.FixtureRequest) -> Iterator[Database]:
    database: Database = request.param()
    yield database
    database.close()


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
def test_a_statement_gives_what_a_frame_gives(law: Callable[[Database], None], db: Database) -> None:
    law(db)


@pytest.mark.nightly
def test_a_statement_gives_every_metric(db: Database) -> None:
    laws.every_metric(db)
    laws.every_policy(db, of=12)


def test_decimals_rank_by_all_their_digits() -> None:
    """Two scores that are equal as floats: b has the greater one."""
    db = DuckDB()
    rows = "('q', 'b', 0.10000000000000000002, 1), ('q', 'c', 0.10000000000000000001, 0)"
    db.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {rows}) AS v(query_id, doc_id, score, label)")
    assert db.run(rf.sql("rr", dialect="duckdb", table="t"))[0]["rr"] == 1


def test_scores_that_are_text_are_refused_and_not_sorted_as_text() -> None:
    db = DuckDB()
    db.load("t", pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": ["9", "10"], "label": [0, 1]}))
    with pytest.raises(Exception, match=r"No function matches.*VARCHAR"):
        db.run(rf.sql("rr", dialect="duckdb", table="t"))


def test_decisions_on_the_values_that_a_statement_gives_are_those_of_the_frame() -> None:
    df, db = two_runs(), DuckDB()
    db.load("two", df)
    statement = rf.sql("ndcg@5", "rr", dialect="duckdb", table="two", runs=["old", "new"])
    values = pl.DataFrame(db.run(statement)).join(df.select("query_id", "market").unique(), on="query_id")
    ndcg, rr = rf.value("ndcg_at_5", bounds=(0, 1)), rf.value("rr", bounds=(0, 1))
    shared: dict[str, Any] = {"by": "market", "baseline": "old", "progress": False}
    found = values.rank.compare(ndcg, rr, run="run", **shared).table
    assert_same_figures(found, df.rank.compare("ndcg@5", "rr", runs=["old", "new"], **shared).table)
    found = values.rank.gate({ndcg: 0.2, rr: 0.1}, run="run", **shared)
    verdict = df.rank.gate({"ndcg@5": 0.2, "rr": 0.1}, runs=["old", "new"], **shared)
    assert bool(found) == bool(verdict)
    assert_same_figures(found.table, verdict.table)


def assert_same_figures(found: pl.DataFrame, wanted: pl.DataFrame) -> None:
    """Equal but for the names of metrics, in any order."""
    key = ["market", "difference"]
    assert_frame_equal(*(x.drop("metric").sort(key) for x in (found, wanted)), rel_tol=1e-9)
