"""The memory that a call may take: an option or variable, else a share of the machine's or the container's."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import polars as pl

from .._support.byte_sizes import bytes_of

VARIABLE = "RANKFRAME_MEMORY_LIMIT"

SHARE_OF_MEMORY = 1 / 6
"""The share of the machine's memory that a call may take by default."""

BYTES_IF_UNKNOWN = 24 * 10**9
"""The bytes of memory assumed for a machine that does not report them."""

OF_CONTAINERS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Files with a container's memory limit, for cgroups of version 2 and 1."""


def memory_limit(limit: int | None) -> int:
    """The bytes that a call may take: the option, else the environment variable, else a share of the machine's memory."""
    if limit is not None:
        return limit
    if given := os.environ.get(VARIABLE):
        return bytes_of(given, VARIABLE)
    return int(SHARE_OF_MEMORY * _memory())


def size_of(frame: pl.DataFrame) -> int:
    """The bytes of a frame, plus the 16 bytes of each text's view, which Polars' estimate leaves out."""
    texts = sum(dtype == pl.String for dtype in frame.dtypes)
    return int(frame.estimated_size()) + 16 * texts * frame.height


def _memory() -> float:
    """The memory of the machine, or of the container if that may take less."""
    found = [float(BYTES_IF_UNKNOWN)]
    with suppress(AttributeError, ValueError, OSError):  # Windows has no sysconf
        found = [float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))]
    for path in OF_CONTAINERS:
        with suppress(OSError, ValueError):  # "max" is no limit
            found.append(float(Path(path).read_text()))
    return min(found)
