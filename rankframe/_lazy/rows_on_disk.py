"""Spill rows beyond the memory limit to disk: buckets of whole queries, as Arrow IPC files."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

import polars as pl

from ..errors import OutOfSpace, on

__all__ = ["Room", "buckets_of", "hash_of_query", "temporary_folder"]

Room: TypeAlias = Callable[[], int]
"""The bytes that the next batch may have, estimated from the results so far."""

BUCKETS = 32
"""The number of files that rows are split into at a time."""

BYTES_AT_ONCE = 250_000_000
"""The most bytes of files that are read together; larger batches take longer to rank and more memory."""

PREFIX = "rankframe-"
LOCK = "in-use"

SECONDS_OF_PAUSE, CHECKS_IN_A_ROW, MOST_CHECKS = 0.02, 25, 500
"""A folder counts as gone after 25 checks in a row without it, 0.02 seconds apart, of at most 500 checks."""

SECONDS_UNTIL_ABANDONED = 3600
"""Seconds after which a folder without a lock counts as abandoned."""

DISK_IS_FULL = ("no space left", "os error 28", "disk quota", "os error 122", "file too large", "os error 27")
"""Messages of the operating system for a file that cannot grow."""


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder of this process, removed at the end, together with folders of processes that were killed."""
    root = Path(tempfile.gettempdir())
    _remove_abandoned(root)
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=root, ignore_cleanup_errors=True) as name:
        unlocked = Path(name, f"not-{LOCK}")
        lock = os.open(unlocked, os.O_CREAT | os.O_RDWR)
        try:
            _lock(lock)
            unlocked.rename(Path(name, LOCK))  # after locking, so that no process finds it free
            yield Path(name)
        except BaseException:
            _remove_for_good(Path(name))
            raise
        finally:
            os.close(lock)


def _remove_for_good(folder: Path) -> None:
    """Remove a folder that Polars' threads may create again: after an error they write for some more milliseconds."""
    gone = 0
    for _ in range(MOST_CHECKS):
        shutil.rmtree(folder, ignore_errors=True)
        gone = 0 if folder.exists() else gone + 1
        if gone == CHECKS_IN_A_ROW:
            break
        time.sleep(SECONDS_OF_PAUSE)


def buckets_of(
    rows: pl.LazyFrame, query: Sequence[str], room: Room, folder: Path
) -> Generator[pl.LazyFrame, None, None]:
    """Yield the rows in buckets of whole queries that fit `room()`; a larger query is a bucket of its own.

    A bucket stays on disk until the next one is read. Rows of a query stay in order.
    """
    taken: list[Path] = []
    for path in _split(rows, query, room, folder, 0):
        if taken and sum(map(_size, taken)) + _size(path) > min(room(), BYTES_AT_ONCE):
            yield pl.scan_ipc(taken)
            _remove(taken)
        taken.append(path)
    if taken:
        yield pl.scan_ipc(taken)
        _remove(taken)


def _split(
    rows: pl.LazyFrame, query: Sequence[str], room: Room, folder: Path, level: int
) -> Generator[Path, None, None]:
    """Yield files of whole queries; split a file of several queries beyond `room()` by further hash digits."""
    digits = (hash_of_query(rows, query) // BUCKETS**level % BUCKETS).alias("#bucket")
    here = folder / str(level)
    target = pl.PartitionBy(here, key=digits, include_key=False, approximate_bytes_per_file=None)
    try:
        rows.sink_ipc(target, mkdir=True, engine="streaming")
    except (pl.exceptions.PolarsError, OSError) as error:
        if any(word in str(error).lower() for word in DISK_IS_FULL):
            raise OutOfSpace(
                f"the rows exceed the memory limit, and the temporary folder {str(folder.parent)!r} has no room for them "
                f"({error}); name a folder with more room in the environment variable TMPDIR, or set a larger limit, as ",
                on(memory_limit="8GB"),
            ) from error
        raise
    for path in sorted(here.rglob("*.ipc")):
        bucket = folder / f"{level}.ipc"
        path.replace(bucket)  # so that the next level may have folders of its own
        if _size(bucket) > room() and _holds_several(bucket, query):
            yield from _split(pl.scan_ipc(bucket), query, room, folder, level + 1)
            _remove([bucket])
        else:
            yield bucket.replace(folder / f"{level}-{path.parent.name}-{path.name}")
    shutil.rmtree(here)


def hash_of_query(rows: pl.LazyFrame, query: Sequence[str]) -> pl.Expr:
    """A hash of the query's key; categories by their text, as their numbers differ from batch to batch."""
    schema = rows.collect_schema()
    texts = (pl.Categorical, pl.Enum)
    key = [pl.col(name).cast(pl.String) if schema[name] in texts else pl.col(name) for name in query]
    return pl.struct(x.alias(f"#{i}") for i, x in enumerate(key)).hash(seed=0)


def _holds_several(path: Path, query: Sequence[str]) -> bool:
    """Whether a file holds several queries that digits of their hashes can tell apart."""
    rows = pl.scan_ipc(path)
    return bool(rows.select(hash_of_query(rows, query).n_unique() > 1).collect(engine="streaming").item())


def _size(path: Path) -> int:
    return path.stat().st_size


def _remove(paths: list[Path]) -> None:
    for path in paths:
        with suppress(OSError):  # a file in use is removed with the folder
            path.unlink()
    paths.clear()


def _lock(file: int) -> bool:
    """Lock a file and return whether that worked; False without `fcntl`."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_abandoned(root: Path) -> None:
    """Remove the folders of processes that were killed: their lock is free, or they are old and have no lock."""
    for folder in root.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if not Path(folder, LOCK).exists():
                if time.time() - folder.stat().st_mtime > SECONDS_UNTIL_ABANDONED:
                    shutil.rmtree(folder, ignore_errors=True)
                continue
            file = os.open(Path(folder, LOCK), os.O_RDWR)
            try:
                if _lock(file):
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(file)
