"""Write docs/traps.md from tests/traps/traps.py: habits that give a plausible wrong number, and
what to write instead."""

from __future__ import annotations

import sys
import textwrap
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.traps.traps import EXAMPLE, TRAPS, Trap, asked  # noqa: E402 - found by the line above

PAGE = ROOT / "docs" / "traps.md"

HEAD = """\
# Traps

<!-- Made by scripts/build_traps_page.py. -->

A join, a fill, a threshold or a filter can turn a good table into one that gives a plausible wrong
number. Each trap here has the habit, the number that it gives, what rankframe says, and the call to
write instead. The warnings are `RankframeWarning`; to let a job fail on them, write:

```python
import warnings
import rankframe as rf

warnings.simplefilter("error", rf.errors.RankframeWarning)
```

Many traps start from a run and its judgments:

```python
import numpy as np
import polars as pl
import rankframe as rf

EXAMPLE```
"""

WIDTH = 80
"""The most letters of a line of a message."""

REFUSED = "no number: the call is refused"


def page() -> str:
    """The text of the page."""
    parts = [HEAD.replace("EXAMPLE", EXAMPLE)]
    for group, traps in groupby(TRAPS, key=lambda trap: trap.group):
        parts.append(f"## {group}\n")
        parts.extend(map(section, traps))
    return "\n".join(parts)


def section(trap: Trap) -> str:
    """The section of a trap."""
    wrong = block(trap.table.removeprefix(EXAMPLE), trap.wrong, trap.gives or REFUSED)
    right = block("", trap.right, trap.right_gives)
    return f"### {trap.title}\n\n{trap.why}\n\n{wrong}\n{words_of(trap)}Write:\n\n{right}"


def words_of(trap: Trap) -> str:
    """What rankframe says of a trap."""
    _, said = asked(trap, trap.wrong)
    if not said:
        return "rankframe says nothing. "
    text = textwrap.fill(next(text for text in said if trap.says in text), WIDTH)
    return f"rankframe says:\n\n```text\n{text}\n```\n\n"


def block(table: str, code: str, value: str) -> str:
    """A block of code with the value that it gives."""
    return f"```python\n{table}{code}\n# {value}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
