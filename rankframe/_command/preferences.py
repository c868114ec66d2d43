"""The commands of preferences: interleaved runs, clicks on them, and compared pairs."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from .._lift.ranker import ClickVerbs, PreferenceVerbs
from . import reading
from .command import command


@command(files="+", verb=lambda: ClickVerbs.interleave)
def interleave(arguments: Namespace) -> Any:
    """Mix two runs into one list per query, for users to compare.

    $ rankframe interleave old.run new.run -o lists.csv
    $ rankframe interleave table.parquet --runs bm25,ltr --method balanced --k 20 --seed 7 \
        -o lists.parquet
    """
    return reading.answered(arguments, "interleaving", labels=False)


@command(files=1, verb=lambda: ClickVerbs.preference)
def preference(arguments: Namespace) -> Any:
    """Which of two interleaved runs users prefer, by their clicks.

    $ rankframe preference impressions.csv --query impression --label clicked --user user_id
    $ rankframe preference impressions.parquet --method balanced --baseline old --by market \
        --format json
    """
    return reading.answered(arguments, "resampling")


@command(files=1, verb=lambda: PreferenceVerbs.bradley_terry)
def strengths(arguments: Namespace) -> Any:
    """Win rates and strengths of what was compared two at a time.

    $ rankframe strengths pairs.csv
    $ rankframe strengths battles.csv --first model_a --second model_b --pooled --format csv
    """
    return reading.answered(arguments, "comparing")
