"""The fixtures of tests of several commands."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import pytest

import rankframe._command as command
from rankframe._command import main


@pytest.fixture(scope="session", autouse=True)
def _parsers_made_once() -> Iterator[None]:
    """Make the parser of a command once: that takes a quarter of the time of most commands here."""
    make = cache(lambda words, width: command_parser(words))

    def parser(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
        found: argparse.ArgumentParser = make(None if words is None else tuple(words[:1]), os.environ.get("COLUMNS"))
        return found

    command_parser = command.parser
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(command, "parser", parser)
        yield


@pytest.fixture
def out(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command and gives what it printed."""

    def run(command: str, *more: str, code: int = 0) -> str:
        assert main([*command.split(), *more]) == code
        return capsys.readouterr().out

    return run
