"""The names of runs, which are those of their files."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from .._files.sources import COMPRESSED, spelled
from .._files.together import run_names


def names_of(paths: Sequence[str]) -> list[str]:
    """The runs' names: the files' without their last ending, or as much more as tells them apart."""
    return run_names(["stdin" if path == "-" else spelled(path) for path in paths])


def with_baseline(arguments: argparse.Namespace) -> argparse.Namespace:
    """The arguments, with a baseline that is given as a file replaced by its run's name."""
    baseline, files = getattr(arguments, "baseline", None), getattr(arguments, "files", ())
    if baseline is None or len(files) < 2:
        return arguments
    names = names_of(files)
    meant = [name for name, path in zip(names, map(Path, map(spelled, files)), strict=True) if baseline in forms(path)]
    return argparse.Namespace(
        **{**vars(arguments), "baseline": meant[0] if len(meant) == 1 and baseline not in names else baseline}
    )


def forms(path: Path) -> tuple[str, ...]:
    """The forms of a file's name: path and name, each also without the ending of a compression."""
    bare = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    return str(path), path.name, str(bare), bare.name
