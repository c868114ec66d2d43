"""The fixture of tests of several commands."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rankframe._command import main


@pytest.fixture
def out(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command and gives what it printed."""

    def run(command: str, *more: str, code: int = 0) -> str:
        assert main([*command.split(), *more]) == code
        return capsys.readouterr().out

    return run
