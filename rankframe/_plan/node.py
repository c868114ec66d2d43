"""A verb over whole queries as a node of a lazy plan: in memory, spilled to disk, or in batches as
rows arrive.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import chain, islice
from pathlib import Path
from queue import Empty, Full, Queue
from typing import Any, Protocol, TypeAlias
from weakref import WeakSet

import polars as pl

from .._support.byte_sizes import bytes_of
from .._support.polars_versions import SOURCES_HOLD_THREADS, io_source
from .._support.progress import Progress
from .._support.threads import at_once, threads, use_polars
from .._table.setup import Setup
from ..errors import InvalidData, RankframeError, without_own_frames
from .rows_on_disk import Batch, Room, buckets_of, temporary_folder
from .unjudged import Unjudged, counting

VARIABLE = "RANKFRAME_MEMORY_LIMIT"

SHARE_OF_MEMORY = 1 / 6
"""The share of the machine's memory that a call may take by default."""

BYTES_IF_UNKNOWN = 24 * 10**9
"""The bytes of memory assumed for a machine that does not report them."""

OF_CONTAINERS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Files with a container's memory limit, for cgroups of version 2 and 1."""


def memory_limit(limit: int | None) -> int:
    """The bytes that a call may take: the option, else the environment variable, else a share of
    the machine's memory.
    """
    if limit is not None:
        return limit
    given = os.environ.get(VARIABLE)
    if given:
        return bytes_of(given, VARIABLE)
    return int(SHARE_OF_MEMORY * _memory())


def size_of(frame: pl.DataFrame) -> int:
    """The bytes of a frame, plus the 16 bytes of each text's view, which Polars' estimate leaves
    out.
    """
    n_texts = sum(dtype == pl.String for dtype in frame.dtypes)
    bytes_of_views = 16 * n_texts * frame.height
    return int(frame.estimated_size()) + bytes_of_views


def _memory() -> float:
    """The memory of the machine, or of the container if that may take less."""
    limits = [float(BYTES_IF_UNKNOWN)]
    with suppress(AttributeError, ValueError, OSError):  # Windows has no sysconf
        n_pages = os.sysconf("SC_PHYS_PAGES")
        limits = [float(os.sysconf("SC_PAGE_SIZE") * n_pages)]
    for path in OF_CONTAINERS:
        with suppress(OSError, ValueError):  # "max" is no limit
            limits.append(float(Path(path).read_text()))
    return min(limits)


Run: TypeAlias = Callable[[pl.DataFrame, Any, Sequence[str] | None], pl.DataFrame]
"""A verb over rows of whole queries; its last argument lists the columns to return, None for all.

The second argument is a fact of the whole table, if the rows are a part of it and the result
depends on it; else None.
"""

Give: TypeAlias = Callable[[pl.DataFrame], bool]
"""Passes a frame on, and returns True if no more are needed."""

Task: TypeAlias = Callable[[Give, "Sequence[str] | None", "pl.Expr | None"], None]
"""Passes on the rows of a node; it may leave out columns that are not named and rows that the
predicate leaves out."""

FactOf: TypeAlias = Callable[[pl.LazyFrame], object]
"""A fact of the whole table that each part needs, such as the largest label."""

Check: TypeAlias = Callable[[pl.LazyFrame], None]
"""Refuses a table of which all rows are known."""


class Watching(Protocol):
    """Looks at the rows of a table, part by part, and warns of it; `runs` are the columns that name
    the run of each row.
    """

    runs: Sequence[str]

    def see(self, rows: pl.DataFrame) -> None: ...
    def count(self, counted: Sequence[Unjudged]) -> None: ...
    def warn(self) -> None: ...


MEMORY_OF_RUN = 3
"""The bytes that a verb needs to run, as a multiple of those of its rows."""

LEAST_ROOM = 5_000_000
"""The fewest bytes worth a batch: smaller ones take longer for each row, and Python and Polars take
thirty times as many."""

RESULTS_HELD = 3
"""The number of results in memory: one is computed, one waits, and one is read."""

FIRST_WEIGHT = 4.0
"""The bytes to reserve for each byte of the first batch's rows, while the size of its result is not
known."""

SECONDS_OF_WAIT = 0.1
"""Seconds until a waiting thread checks whether its results are still needed."""

SECONDS_OF_LEAVING = 0.3
"""Seconds in which threads of Polars that read results notice that the interpreter ends."""


def source(
    rows: pl.LazyFrame,
    setup: Setup,
    run: Run,
    name: str,
    *,
    reads: Collection[str],
    carries: bool = False,
    whole: FactOf | None = None,
    check: Check | None = None,
    watch: Callable[[], Watching] | None = None,
) -> pl.LazyFrame:
    """A source node that runs the verb `run`, called `name`, over the rows when the plan runs.

    The columns that it `reads` are collected; if the result `carries` the rows' columns along, also
    those of them that the plan selects. Rows that exceed the memory limit are spilled to disk and
    come back in buckets of whole queries; `run` then also takes the fact that `whole` computes from
    all rows. `check` may refuse the rows before that, and `watch` makes what looks at all rows and
    warns when all are read.
    """
    schema = rows.collect_schema()
    result = run(schema.to_frame(), None, None).schema  # refuses wrong columns at the call
    query = {*setup.roles.query}

    def work(give: Give, names: Sequence[str] | None, predicate: pl.Expr | None) -> None:
        tested = [] if predicate is None else predicate.meta.root_names()
        computed = names if names is None else [*dict.fromkeys([*names, *tested])]
        needed = {*reads}
        if carries:
            needed.update(schema if computed is None else computed)
        wanted = rows.select(name for name in schema if name in needed)
        is_alone = whole is None and check is None
        if predicate is not None and is_alone and {*tested} <= query:
            wanted = wanted.filter(predicate)
        watching = None if watch is None else watch()
        with Progress(f"rankframe.{name}") as progress:
            _run(wanted, setup, run, computed, whole, check, watching, give, progress)
        if watching is not None:
            watching.warn()

    return node(work, rows, result, name)


def node(work: Task, rows: pl.LazyFrame, schema: Mapping[str, Any], name: str) -> pl.LazyFrame:
    """A source node, called `name`, that yields the frames of `work` when the plan runs; errors are
    those of `work`.

    `rows` are the caller's table, for the advice of errors.
    """

    def read(
        names: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _batch: int | None
    ) -> Generator[pl.DataFrame, None, None]:
        left = n_rows
        try:
            use_polars()
            with _results_of(lambda give: work(give, names, predicate)) as results:
                for result in results:
                    part = _selected(result, names, predicate)
                    if left is not None:
                        part = part.head(left)
                        left -= part.height
                    yield part
                    if left == 0:
                        return
        except RankframeError as error:
            raise without_own_frames(error) from error.__cause__

    return io_source(read, schema, f"rankframe.{name}")


def _selected(
    result: pl.DataFrame, names: list[str] | None, predicate: pl.Expr | None
) -> pl.DataFrame:
    """The rows and columns of a result that the plan asks for."""
    rows = result if predicate is None else result.filter(predicate)
    if names is None:
        return rows
    # a selection of no columns has no rows
    return rows.select(names) if names else pl.DataFrame(height=rows.height)


def _run(
    rows: pl.LazyFrame,
    setup: Setup,
    run: Run,
    names: Sequence[str] | None,
    whole: FactOf | None,
    check: Check | None,
    watching: Watching | None,
    give: Give,
    progress: Progress,
) -> None:
    """Pass on the results of a verb: of the table, or of batches of whole queries, as many at once
    as there are threads.
    """
    limit = max(memory_limit(setup.running.memory_limit) // MEMORY_OF_RUN, 1)
    table = None if setup.running.grouped else _collected(rows, limit)
    if check is not None:
        check(rows if table is None else table.lazy())
    fact = None if whole is None or table is not None else whole(rows)
    weight = FIRST_WEIGHT
    n_done = 0
    lock = threading.Lock()

    def room() -> int:
        return max(int(limit / weight / threads()), LEAST_ROOM)

    def run_batch(batch: Batch) -> tuple[pl.DataFrame, float]:
        """The result of a batch, and the bytes that it takes for each byte of its rows."""
        nonlocal n_done
        of_batch = batch()
        with counting(() if watching is None else watching.runs) as counts:
            result = run(of_batch, fact, names)
        with lock:
            n_done += of_batch.height
            if watching is not None:
                watching.see(of_batch)
                watching.count(counts)
        # results may be as large as rows
        size = max(size_of(of_batch), 1)
        return result, 1 + RESULTS_HELD / MEMORY_OF_RUN * size_of(result) / size

    with _batches(rows, setup, table, room) as batches:
        while several := list(islice(batches, threads())):
            results = at_once([partial(run_batch, batch) for batch in several])
            weight = max(weight for _, weight in results)
            progress(n_done)
            if any(give(result) for result, _ in results):
                return


@contextmanager
def _batches(
    rows: pl.LazyFrame, setup: Setup, table: pl.DataFrame | None, room: Room
) -> Iterator[Iterator[Batch]]:
    """The batches: the whole table, if it is in memory; as it comes query by query; or from
    disk.
    """
    query = list(setup.roles.query)
    if table is not None:
        yield iter([lambda: table])
    elif setup.running.grouped:
        with closing(_query_by_query(rows, query, room)) as batches:
            yield batches
    else:
        with (
            temporary_folder() as folder,
            closing(buckets_of(rows, query, room, folder)) as buckets,
        ):
            yield buckets


def _collected(rows: pl.LazyFrame, limit: int) -> pl.DataFrame | None:
    """The rows, unless they take more than `limit` bytes."""
    batches = [rows.collect_schema().to_frame()]
    size = 0

    def take(batch: pl.DataFrame) -> bool:
        nonlocal size
        size += size_of(batch)
        batches.append(batch)
        return size > limit  # True ends the collection

    rows.sink_batches(take, engine="streaming")
    return None if size > limit else pl.concat(batches)


def _query_by_query(
    rows: pl.LazyFrame, query: list[str], room: Room
) -> Generator[Batch, None, None]:
    """Yield batches of whole queries of a grouped table; refuse a query that comes back later."""
    rest = rows.collect_schema().to_frame()
    starts: list[pl.DataFrame] = []
    with _Aside(lambda give: _in_batches(rows, room, give)) as arriving:
        for batch in chain(arriving, [None]):
            is_end = batch is None
            together = rest if batch is None else pl.concat([rest, batch])
            run = together.select(pl.struct(query).rle_id()).to_series()
            # the last query may go on in the next batch
            n = together.height if is_end else int((run < run[-1]).sum())
            rest = together[n:]
            if n:
                is_start = (run[:n].diff() != 0).fill_null(True)
                starts.append(together[:n].filter(is_start).select(query))
                _refuse_back(pl.concat(starts) if is_end else starts[-1], query)
                yield partial(together.slice, 0, n)


def _refuse_back(runs: pl.DataFrame, query: list[str]) -> None:
    """Refuse a query that has several runs of rows."""
    is_again = pl.struct(query).is_duplicated()
    for row in runs.filter(is_again).head(1).rows(named=True):
        key = ", ".join(f"{name} {value!r}" for name, value in row.items())
        raise InvalidData(
            f"the rows of {key} come back after those of another query, and grouped=True says that "
            f"each query is one run of rows; sort the table by {query}, or leave grouped=True out"
        )


def _in_batches(rows: pl.LazyFrame, room: Room, give: Give) -> None:
    """Pass the rows on in order, in batches of about `room()` bytes."""
    batches: list[pl.DataFrame] = []

    def take(batch: pl.DataFrame) -> bool:
        batches.append(batch)
        if sum(map(size_of, batches)) < room():
            return False
        together = pl.concat(batches)
        batches.clear()
        return give(together)

    rows.sink_batches(take, engine="streaming")
    if batches:
        give(pl.concat(batches))


@contextmanager
def _results_of(work: Callable[[Give], None]) -> Iterator[Iterable[pl.DataFrame]]:
    """The frames that `work` gives, as they come; all at once where its thread would wait for
    threads of Polars.
    """
    if SOURCES_HOLD_THREADS:
        results: list[pl.DataFrame] = []

        def keep(frame: pl.DataFrame) -> bool:
            results.append(frame)
            return False

        work(keep)
        yield results
    else:
        with _Aside(work) as arriving:
            yield arriving


class _Aside:
    """`work` in a thread of its own; iterate over the frames that it gives, inside a `with` block
    that stops it.

    A plan calls a source in a Polars thread, which must not wait for the others.
    """

    def __init__(self, work: Callable[[Give], None]) -> None:
        self.results: Queue[pl.DataFrame | BaseException | None] = Queue(1)
        self.closed = threading.Event()
        self.thread = threading.Thread(target=self._go, args=(work,), name="rankframe", daemon=True)
        _asides.add(self)
        self.thread.start()

    def _go(self, work: Callable[[Give], None]) -> None:
        try:
            work(self._put)
            self._put(None)
        except BaseException as error:  # raised where the results are read
            self._put(error)

    def _put(self, result: pl.DataFrame | BaseException | None) -> bool:
        while not self.closed.is_set():
            with suppress(Full):
                self.results.put(result, timeout=SECONDS_OF_WAIT)
                return False
        return True

    def __iter__(self) -> Iterator[pl.DataFrame]:
        while not self.closed.is_set():
            try:
                result = self.results.get(timeout=SECONDS_OF_WAIT)
            except Empty:
                continue
            if result is None:
                return
            if isinstance(result, BaseException):
                raise result
            yield result
        raise RuntimeError("the interpreter ends before the plan")

    def __enter__(self) -> _Aside:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.closed.set()
        # Python may drop a generator in any thread, also in one that the work needs.
        if kind is not GeneratorExit:
            self.thread.join()


_asides: WeakSet[_Aside] = WeakSet()
"""The work whose thread runs, or whose results are read."""


def _end() -> None:
    """Stop all work before the interpreter ends: a thread that calls Python from Polars after that
    aborts the process.
    """
    left = [aside for aside in _asides if aside.thread.is_alive() or not aside.closed.is_set()]
    for aside in left:
        aside.closed.set()
    for aside in left:
        aside.thread.join()
    if left:
        time.sleep(SECONDS_OF_LEAVING)


atexit.register(_end)
