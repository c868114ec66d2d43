"""Rows on disk are in a folder that no other process removes, and that removes no folder of others."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import rankframe as rf
from rankframe._plan import rows_on_disk
from rankframe._plan.rows_on_disk import MARK, MARKER, PREFIX
from tests.support.each import each
from tests.support.tables import frame, random_table

N = 3
LAZY = frame(random_table(5, queries=N)).lazy().rank.on(memory_limit=1).evaluate("map")

posix = pytest.mark.skipif(sys.platform == "win32", reason="owners and locks of POSIX")


def marked(folder: Path, started: str | None = None) -> Path:
    """The marker of a folder whose process is gone, though another one has its number now."""
    folder.mkdir()
    boot, _, ticks = rows_on_disk._started("self").partition(" ")
    started = f"{boot} {int(ticks) - 1}" if started is None else started
    (folder / MARKER).write_text(MARK.format(os.getpid(), started))
    (folder / "final.csv").write_text("my only copy")
    return folder / MARKER


@posix
def test_a_folder_whose_process_is_gone_is_removed_with_its_files(temporary: Path) -> None:
    marked(temporary / f"{PREFIX}gone")
    assert LAZY.collect().height == N
    assert not list(temporary.iterdir())


def of_another_name(marker: Path) -> None:
    marker.parent.rename(marker.parent.with_name("rankframe-results"))


def of_another_format(marker: Path) -> None:
    marker.write_text("locked by 12\n")


def of_another_encoding(marker: Path) -> None:
    marker.write_bytes(b"\xff\xfe")


def behind_a_link(marker: Path) -> None:
    marker.symlink_to(marker.rename(marker.with_name("elsewhere")))


def a_pipe(marker: Path) -> None:
    marker.unlink()
    os.mkfifo(marker)


def a_link_to_a_folder(marker: Path) -> None:
    folder = marker.parent
    folder.symlink_to(folder.rename(folder.with_name("elsewhere")))


def of_a_living_process(marker: Path) -> None:
    marker.write_text(MARK.format(os.getpid(), rows_on_disk._started("self")))


def of_another_system(marker: Path) -> None:
    marker.write_text(MARK.format(os.getpid(), "another 1"))


@posix
@each(
    "change",
    [Path.unlink, of_another_name, of_another_format, of_another_encoding, behind_a_link, a_pipe, a_link_to_a_folder,
     of_a_living_process, of_another_system],
)  # fmt: skip
def test_a_folder_that_may_be_anothers_stays_however_old_it_is(
    change: Callable[[Path], object], temporary: Path
) -> None:
    change(marked(temporary / f"{PREFIX}decoy"))
    for path in temporary.iterdir():
        os.utime(path, (0, 0))
    before = sorted(temporary.rglob("*"))
    assert LAZY.collect().height == N
    assert sorted(temporary.rglob("*")) == before
    for path in temporary.iterdir():
        path.unlink() if path.is_symlink() else shutil.rmtree(path)


@posix
@each("foreign", ["folder", "marker"])
def test_a_folder_of_another_user_stays(foreign: str, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = marked(temporary / f"{PREFIX}decoy")
    if os.geteuid() == 0:
        os.chown(marker if foreign == "marker" else marker.parent, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert LAZY.collect().height == N
    assert marker.exists()
    shutil.rmtree(marker.parent)


@posix
@each("started", [None, ""])
def test_a_folder_whose_lock_a_process_of_another_container_holds_stays(
    started: str | None, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = marked(temporary / f"{PREFIX}locked", started)
    if started == "":  # a system that does not tell when a process started
        monkeypatch.setattr(rows_on_disk, "_started", lambda process: "")
    file = os.open(marker, os.O_RDWR)
    assert rows_on_disk._lock(file)
    assert LAZY.collect().height == N
    assert marker.exists()
    os.close(file)
    assert LAZY.collect().height == N
    assert not marker.exists()


def refuse_as_windows_does(*paths: Path) -> None:
    raise PermissionError(13, "The process cannot access the file because it is being used by another process")


def test_a_system_without_locks_removes_nothing_but_its_own(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = marked(temporary / f"{PREFIX}decoy")
    monkeypatch.delattr(os, "geteuid", raising=False)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setattr(Path, "rename", refuse_as_windows_does)
    assert LAZY.collect().height == N
    assert [*temporary.iterdir()] == [marker.parent]
    shutil.rmtree(marker.parent)


@posix
def test_nobody_else_may_read_the_rows_or_the_marker() -> None:
    umask = os.umask(0)
    try:
        with rows_on_disk.temporary_folder() as folder:
            modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / MARKER)]
            assert re.fullmatch(MARK.format(os.getpid(), r"\S+ \d+"), (folder / MARKER).read_text())
    finally:
        os.umask(umask)
    assert modes == [0o700, 0o600]


def test_the_start_of_a_process_is_known_while_it_runs() -> None:
    assert rows_on_disk._started("self") == rows_on_disk._started(str(os.getpid()))
    assert rows_on_disk._started("0") == ""


def test_a_folder_that_threads_of_polars_make_again_after_an_error_is_removed_again(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []

    def sleep(_: float) -> None:
        if len(made) < 2:
            made[0].mkdir()
            made.append(made[0])

    monkeypatch.setattr(rows_on_disk, "time", SimpleNamespace(sleep=sleep))

    def spill() -> None:
        with rows_on_disk.temporary_folder() as folder:
            made.append(folder)
            raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        spill()
    assert len(made) == 2


@each("usable", [True, False])
def test_a_temporary_folder_that_is_not_there_is_an_error_that_says_what_to_do(
    usable: bool, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unusable() -> str:
        raise FileNotFoundError("No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr(tempfile, "tempdir", str(temporary / "gone") if usable else None)
    if not usable:
        monkeypatch.setattr(tempfile, "gettempdir", unusable)
    said = f"folder '{temporary / 'gone'}' cannot hold them" if usable else "folder cannot hold them"
    with pytest.raises(rf.OutOfSpace, match=f"{re.escape(said)} .*TMPDIR.*memory_limit='8GB'"):
        LAZY.collect()


@each("name", ["#bucket", "#0"])
@each("role", ["query", "doc", "label"])
def test_a_column_may_have_any_name(role: str, name: str) -> None:
    df = frame(random_table(6, queries=5))
    own = {"query": "query_id", "doc": "doc_id", "label": "label"}[role]
    hostile = df.rename({own: name})
    found = hostile.lazy().rank.on(memory_limit=1, **{role: name}).evaluate("map").collect()
    assert sorted(found["map"]) == pytest.approx(sorted(df.rank.evaluate("map")["map"]), rel=1e-12)
    assert found.columns[0] == (name if role == "query" else "query_id")
    assert found.schema["map"] == pl.Float64
