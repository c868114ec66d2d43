"""``rankframe sql``: the metrics as one SELECT."""

from __future__ import annotations

from argparse import Namespace

import rankframe as rf

from . import reading
from .command import COLUMN_OPTIONS, DEFAULT_METRICS, POLICIES, TABLES_OF_ITEMS, Outcome, command, keywords
from .output import refuse, writable

UNSET = {"default": None}
NAMES = {"--names": {"dest": "column_names", "action": "append"}, "--run": UNSET, "--baseline": UNSET}


@command(options=NAMES, metrics=DEFAULT_METRICS, verb=rf.sql, formats=())
def sql(arguments: Namespace) -> Outcome:
    """Write metrics as one SELECT for a warehouse.

    --run COLUMN  the column that names the run of each row; judgments without it hold for each run
    --baseline RUN  with --partial, the run that the others are compared with
    --rows  a row per document, with the metrics of its query
    --partial  the sums of each metric that merge over days and slices
    --checks  a statement that lists what is wrong in the table
    --names NAME  text for the metrics' texts as names of columns, in quotes, or another tool's names of columns; may be repeated
    -o, --output FILE  the file to write; default: standard output

    No database is asked: the text is for you to run, or to keep as a model of dbt.

    $ rankframe sql -m ndcg@10 -m map --dialect bigquery --table analytics.judged --query session_id
    $ rankframe sql -m ndcg@10 --dialect snowflake --table "{{ ref('run') }}" --judgments "{{ ref('qrels') }}" --by market -o m.sql
    $ rankframe sql --checks --dialect postgres --table judged
    """
    target = None if arguments.output is None else writable(arguments.output)
    refuse((arguments.checks and arguments.metrics is not None, "--checks has no metrics. Leave -m out"))
    metrics = [] if arguments.checks else reading.metrics_of(arguments)
    of_sql = [name for name in (*keywords(rf.sql), "run") if name != "names"]
    given = {name: getattr(arguments, name) for name in (*COLUMN_OPTIONS, *POLICIES, *TABLES_OF_ITEMS, *of_sql)}
    del given["rank"]  # it has become the score, in ascending order
    given["query"] = None if given["query"] is None else given["query"].split(",")
    given = {name: x for name, x in given.items() if x is not None}
    text = rf.sql(*metrics, **given, names=arguments.column_names)
    if target is None:
        return Outcome(text)
    target.write_text(text, encoding="utf-8")
    return Outcome(None)
