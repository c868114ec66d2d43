"""The program ``rankframe``: ``--version`` and ``--help`` are answered without the package, whose
import imports Polars.
"""

from __future__ import annotations

import sys

WIDTH = 80
"""The least width of a terminal in which the lines of the help are whole."""


def stored(words: list[str]) -> str | None:
    """What these words print, if that is known without the package."""
    if words == ["--version"]:
        from importlib.metadata import version

        return f"rankframe {version('rankframe')}\n"
    if words in (["--help"], ["-h"], ["help"]):
        from importlib.util import find_spec
        from pathlib import Path
        from shutil import get_terminal_size

        package = find_spec("rankframe")  # imports nothing
        if (
            package is not None
            and package.origin is not None
            and get_terminal_size().columns >= WIDTH
        ):
            return (Path(package.origin).parent / "_command" / "help.txt").read_text(
                encoding="utf-8"
            )
    return None


def main() -> int:
    """Run the program, and give its exit code."""
    answer = stored(sys.argv[1:])
    if answer is None or sys.stdout is None:
        from rankframe._command import main as run

        return run()
    sys.stdout.write(answer)
    return 0
