"""Run plain Python of the tests without coverage, which measures only the package."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def untraced(function: F) -> F:
    """The function without coverage's tracer, under which loops of plain Python take three times as long."""

    @wraps(function)
    def run(*args: Any, **options: Any) -> Any:
        tracer = sys.gettrace()
        if not type(tracer).__module__.startswith("coverage"):  # none, or a debugger's
            return function(*args, **options)
        sys.settrace(None)
        try:
            return function(*args, **options)
        finally:
            sys.settrace(tracer)

    return run  # type: ignore[return-value]
