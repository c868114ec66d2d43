"""The Python that Spark's workers run on one machine, which may be another than the driver's."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import RankframeError


def refuse_workers_without_rankframe(session: Any) -> None:
    """Refuse a local session whose workers run a Python without rankframe.

    Spark starts the first ``python3`` on the path unless ``PYSPARK_PYTHON`` names another. Its own
    error would come from the workers, after a job has begun. Workers on other machines are not
    asked, nor those of a Connect session, which does not tell its Python.
    """
    context = getattr(session, "_sc", None)
    if context is None or not str(context.master).startswith("local"):
        return
    if not has_rankframe(context.pythonExec):
        raise RankframeError(
            f"Spark's workers run {context.pythonExec!r}, which has no rankframe; set "
            f"os.environ['PYSPARK_PYTHON'] = {sys.executable!r} before the session starts"
        )


@cache
def has_rankframe(python: str) -> bool:
    """Whether a Python has rankframe; true if it cannot be found, which Spark itself tells."""
    found = shutil.which(python)
    if found is None or Path(found).samefile(sys.executable):
        return True
    looks = "import importlib.util as u, sys; sys.exit(u.find_spec('rankframe') is None)"
    done = subprocess.run([found, "-c", looks], check=False, capture_output=True)  # noqa: S603 - Spark runs the same
    return done.returncode == 0
