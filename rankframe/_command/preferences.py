"""The commands of preferences: interleaved runs, clicks on them, and what people compared two at a time."""

from __future__ import annotations

from argparse import Namespace

from .._lift.ranker import ClickVerbs, PreferenceVerbs
from . import reading
from .command import Outcome, command
from .output import OutputTable


@command(files="+", verb=lambda: ClickVerbs.interleave)
def interleave(arguments: Namespace) -> Outcome:
    """Mix two runs into one list per query, for users to compare.

    $ rankframe interleave old.run new.run -o lists.csv
    $ rankframe interleave table.parquet --runs bm25,ltr --method balanced --k 20 --seed 7 -o lists.parquet
    """
    return Outcome(OutputTable(reading.answered(arguments, "interleaving", labels=False)))


@command(files=1, verb=lambda: ClickVerbs.preference)
def preference(arguments: Namespace) -> Outcome:
    """Which of two interleaved runs users prefer, by their clicks.

    $ rankframe preference impressions.csv --query impression --label clicked --user user_id
    $ rankframe preference impressions.parquet --method balanced --baseline old --by market --format json
    """
    found = reading.answered(arguments, "resampling")
    return Outcome(OutputTable(found.table, result=found))


@command(files=1, verb=lambda: PreferenceVerbs.bradley_terry)
def strengths(arguments: Namespace) -> Outcome:
    """Win rates and strengths of what was compared two at a time.

    $ rankframe strengths pairs.csv
    $ rankframe strengths battles.csv --first model_a --second model_b --pooled --format csv
    """
    return Outcome(OutputTable(reading.answered(arguments, "comparing")))
