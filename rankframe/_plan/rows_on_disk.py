"""Spill rows beyond the memory limit to disk: buckets of whole queries, as Arrow IPC files."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeAlias

import polars as pl

from .._table.roles import carried
from ..errors import OutOfSpace, on

Room: TypeAlias = Callable[[], int]
"""The bytes that the next batch may have, estimated from the results so far."""

Batch: TypeAlias = Callable[[], pl.DataFrame]
"""Rows of whole queries, read when they are needed."""

BUCKETS = 32
"""The number of files that rows are split into at a time."""

BYTES_AT_ONCE = 10_000_000
"""The most bytes of files that are read together: some 400,000 rows, which are one part; larger
batches take longer and more memory."""

PREFIX = "rankframe-rows-"
MARKER = "made-by-rankframe"
MARK = "rows that exceed the memory limit of process {}, started {}\n"
"""The text of the marker, which the process keeps locked."""

SECONDS_OF_PAUSE, CHECKS_IN_A_ROW, MOST_CHECKS = 0.02, 25, 500
"""A folder counts as gone after 25 checks in a row without it, 0.02 seconds apart, of at most 500
checks."""

DISK_IS_FULL = (
    "no space left",
    "os error 28",
    "disk quota",
    "os error 122",
    "file too large",
    "os error 27",
)
"""Messages of the operating system for a file that cannot grow."""


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder of this process, removed at the end; folders of processes that were killed are
    removed before.
    """
    with ExitStack() as at_end:
        try:
            root = Path(tempfile.gettempdir())
            _remove_abandoned(root)
            folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
            at_end.push(partial(_remove_folder, folder))
            if hasattr(os, "geteuid"):  # Windows has no such locks, and renames no open file
                at_end.callback(os.close, _marked(folder))
        except OSError as error:
            raise _no_room(error) from error
        yield folder


def _marked(folder: Path) -> int:
    """Write the marker of this process, and return the open file, which is locked until it is
    closed.
    """
    unlocked = folder / f"not-{MARKER}"
    mark = MARK.format(os.getpid(), _started("self"))
    lock = os.open(unlocked, os.O_CREAT | os.O_RDWR, 0o600)
    os.write(lock, mark.encode())
    _lock(lock)
    unlocked.rename(folder / MARKER)  # after locking, so that no process finds it free
    return lock


def _no_room(error: Exception) -> OutOfSpace:
    folder = "" if tempfile.tempdir is None else f" {str(tempfile.tempdir)!r}"
    says = (
        f"the rows exceed the memory limit, and the temporary folder{folder} cannot hold them "
        f"({error}); name "
    )
    other = "another folder in the environment variable TMPDIR, or set a larger limit, as "
    return OutOfSpace(says, other, on(memory_limit="8GB"))


def _remove_folder(folder: Path, failed: type[BaseException] | None, *_: object) -> None:
    """Remove a folder; after an error, Polars' threads write for some more milliseconds and may
    create it again.
    """
    shutil.rmtree(folder, ignore_errors=True)
    n_gone = 0
    for _check in range(MOST_CHECKS if failed else 0):
        time.sleep(SECONDS_OF_PAUSE)
        n_gone = 0 if folder.exists() else n_gone + 1
        if n_gone == CHECKS_IN_A_ROW:
            break
        shutil.rmtree(folder, ignore_errors=True)


def buckets_of(
    rows: pl.LazyFrame, query: Sequence[str], room: Room, folder: Path
) -> Generator[Batch, None, None]:
    """Yield the rows in batches of whole queries that fit `room()`; a larger query is a batch of
    its own.

    A batch is read, and its files are removed, when it is called. Rows of a query stay in order.
    """
    taken: list[Path] = []
    size = 0
    for number, bucket in enumerate(_split(rows, query, room, folder, 0)):
        path = bucket.replace(folder / f"bucket {number}.ipc")  # a name that no later bucket has
        size += _size(path)
        if taken and size > min(room(), BYTES_AT_ONCE):
            yield partial(_read, taken)
            taken = []
            size = _size(path)
        taken.append(path)
    if taken:
        yield partial(_read, taken)


def _read(paths: list[Path]) -> pl.DataFrame:
    rows = pl.scan_ipc(paths).collect(engine="in-memory")
    _remove(paths)
    return rows


def _split(
    rows: pl.LazyFrame, query: Sequence[str], room: Room, folder: Path, level: int
) -> Generator[Path, None, None]:
    """Yield files of whole queries, to be renamed before the next one; split a file of several
    queries beyond `room()` by further hash digits.
    """
    digits = (hash_of_query(rows, query) // BUCKETS**level % BUCKETS).alias(carried("bucket"))
    here = folder / str(level)
    target = pl.PartitionBy(here, key=digits, include_key=False, approximate_bytes_per_file=None)
    try:
        rows.sink_ipc(target, mkdir=True, engine="streaming")
    except (pl.exceptions.PolarsError, OSError) as error:
        if any(word in str(error).lower() for word in DISK_IS_FULL):
            raise _no_room(error) from error
        raise
    for path in sorted(here.rglob("*.ipc")):
        bucket = folder / f"level {level}.ipc"
        path.replace(bucket)  # so that the next level may have folders of its own
        if _size(bucket) > room() and _holds_several(bucket, query):
            yield from _split(pl.scan_ipc(bucket), query, room, folder, level + 1)
            _remove([bucket])
        else:
            yield bucket
    shutil.rmtree(here)


def hash_of_query(rows: pl.LazyFrame, query: Sequence[str]) -> pl.Expr:
    """A hash of the query's key; categories by their text, as their numbers differ from batch to
    batch.
    """
    schema = rows.collect_schema()
    key = []
    for number, name in enumerate(query):
        has_texts = schema[name] in (pl.Categorical, pl.Enum)
        value = pl.col(name).cast(pl.String) if has_texts else pl.col(name)
        key.append(value.alias(f"#{number}"))
    return pl.struct(key).hash(seed=0)


def _holds_several(path: Path, query: Sequence[str]) -> bool:
    """Whether a file holds several queries that digits of their hashes can tell apart."""
    rows = pl.scan_ipc(path)
    n_hashes = hash_of_query(rows, query).n_unique()
    several = rows.select(n_hashes > 1).collect(engine="streaming")
    return bool(several.item())


def _size(path: Path) -> int:
    return path.stat().st_size


def _remove(paths: list[Path]) -> None:
    for path in paths:
        with suppress(OSError):  # a file in use is removed with the folder
            path.unlink()


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
    """Remove the folders of processes that were killed.

    A folder that may be another's, or in use, stays: the folder and its marker must be this user's
    and no symlinks, the marker one that we wrote since this system started, its process gone, and
    its lock free, which also shows processes of other containers.
    """
    if not hasattr(os, "geteuid"):  # Windows has no such locks
        return
    for folder in root.glob(f"{PREFIX}*"):
        with suppress(OSError, ValueError), ExitStack() as at_end:
            marker = os.open(folder / MARKER, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
            at_end.callback(os.close, marker)
            if _is_abandoned(folder, marker):
                shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path, marker: int) -> bool:
    """Whether a folder with this open marker is this user's, and its process was killed."""
    user = os.geteuid()
    of_folder = folder.lstat()
    of_marker = os.fstat(marker)
    if of_folder.st_uid != user or not stat.S_ISDIR(of_folder.st_mode):
        return False
    if of_marker.st_uid != user or not stat.S_ISREG(of_marker.st_mode):
        return False
    text = os.read(marker, 1000).decode()
    mark = re.fullmatch(MARK.format(r"(\d+)", "(.*)"), text)
    return mark is not None and _is_gone(*mark.groups()) and _lock(marker)


def _is_gone(process: str, started: str) -> bool:
    """Whether a process ran since this system started, and does not run now.

    Where the system tells neither its start nor that of a process, `started` is empty, and the lock
    on the marker decides alone.
    """
    boot = started.partition(" ")[0]
    own_boot = _started("self").partition(" ")[0]
    return boot == own_boot and (not started or _started(process) != started)


def _started(process: str) -> str:
    """The boot of the system, and the clock tick at which a process started; empty if unknown, or
    if there is none.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        status = Path("/proc", process, "stat").read_text()
    except OSError:
        return ""
    after_name = status.rpartition(")")[2].split()
    return f"{boot} {after_name[19]}"
