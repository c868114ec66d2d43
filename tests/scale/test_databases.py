"""Statements in databases with a process of their own, or a library of their own, give the values of frames."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.sql import laws
from tests.sql.databases import ClickHouse, Database, MariaDB, Postgres, Spark
from tests.support.tables import BY_CHANCE

pytestmark = [
    BY_CHANCE,
    pytest.mark.scale,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:XDG_RUNTIME_DIR is not set"),  # of the package with PostgreSQL
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

SERVERS = [Postgres, ClickHouse, *([MariaDB] if shutil.which("mariadbd") else [])]
"""MariaDB runs where the system's packages have it."""


@pytest.fixture(scope="module", params=SERVERS)
def db(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    database: Database = request.param(tmp_path_factory.mktemp("db"))
    yield database
    database.close()


# the calls of some_metrics are among those of every_metric
OF_SERVERS = [laws.every_metric, *(law for law in laws.LAWS if law is not laws.some_metrics)]


@pytest.mark.parametrize("law", OF_SERVERS, ids=lambda law: law.__name__)
def test_a_statement_gives_what_a_frame_gives(law: Callable[[Database], None], db: Database) -> None:
    law(db)


def some_conventions_of_ranked_lists(db: Database) -> None:
    laws.conventions_of_ranked_lists(db, of=6)


# of each statement Spark plans anew, which takes longer than to run it
LONG = {law: [pytest.mark.nightly] for law in (laws.every_policy, laws.conventions_of_ranked_lists)}


@pytest.mark.parametrize(
    "law",
    [some_conventions_of_ranked_lists, *(pytest.param(law, marks=LONG.get(law, [])) for law in laws.LAWS)],
    ids=lambda law: law.__name__,
)
def test_a_statement_of_spark_gives_what_a_frame_gives(law: Callable[[Database], None], spark: Any) -> None:
    law(Spark(spark))
