"""The program ``rankframe``: ``--version`` and ``--help`` are answered without the package, whose import imports Polars."""

from __future__ import annotations

import sys

WIDTH = 80
"""The least width of a terminal in which the lines of the help are whole."""


def main() -> int:
    """Run the program, and give its exit code."""
    words, answer = sys.argv[1:], None
    if words == ["--version"]:
        from importlib.metadata import version

        answer = f"rankframe {version('rankframe')}\n"
    elif words in (["--help"], ["-h"], ["help"]):
        from importlib.util import find_spec
        from pathlib import Path
        from shutil import get_terminal_size

        package = find_spec("rankframe")  # imports nothing
        if package is not None and package.origin is not None and get_terminal_size().columns >= WIDTH:
            answer = (Path(package.origin).parent / "_command" / "help.txt").read_text(encoding="utf-8")
    if answer is None or sys.stdout is None:
        from rankframe._command import main as run

        return run()
    sys.stdout.write(answer)
    return 0
