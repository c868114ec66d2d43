"""``rankframe trec_eval``: trec_eval 10's command line and output, to the byte."""

from __future__ import annotations

import math
import re
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import polars as pl

import rankframe as rf

from .._catalog.call import Call
from .._catalog.means import Mean
from .._catalog.registry import MeanOf
from .._files.read import QRELS, RUN
from .._statistics.preferences import in_order
from .._table.columns import TEXTS
from .._table.policies import Unjudged
from .._table.run_and_judgments import Unmatched
from .._table.setup import Setup
from .._table.trec_eval import (
    MEASURES,
    OF_GROUPS,
    OF_JUDGES,
    OF_PREFERENCES,
    OF_TEXT,
    OF_THE_RUN,
    PREFERENCES,
    SETS,
    Measure,
)
from ..errors import (
    Code,
    InvalidData,
    InvalidOption,
    MissingColumn,
    UnknownMetric,
    did_you_mean,
    with_code,
)
from .command import POSITIVE, command, whole_number
from .output import Answer
from .reading import of_file, read_file, refuse_two_inputs
from .verbs import trec_line


class Line(NamedTuple):
    """A line of the output: its name, its measure, and the metrics whose mean its value is."""

    name: str
    measure: str
    calls: tuple[Call, ...]

    @property
    def summary(self) -> MeanOf | None:
        """The kind of mean of its metric; None if it has no metric, or several."""
        return self.calls[0].metric.summary if len(self.calls) == 1 else None


GROUPS: Mapping[str, Sequence[str]] = {
    "qrels": (), "qrels_jg": ("iteration",),
    "prefs": ("judgment_group", "judgment_subgroup"), "qrels_prefs": ("iteration",),
}  # fmt: skip
"""The columns of judgments by which documents are judged in groups, by the value of -R."""

NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?")

MISSING = -1_000_000.0
"""The z-score of a measure that has no mean and deviation."""

Row: TypeAlias = dict[str, Any]
"""The values of a query, or of all queries, by the names that are printed."""


@command(
    options={
        "QRELS": {"dest": "qrels"},
        "RUN": {"dest": "files", "nargs": 1},
        "--measure": {"action": "append"},
        "--Rel_info_format": {"choices": tuple(GROUPS), "default": "qrels"},
        "--level_for_rel": {"type": whole_number, "default": 1},
        "--Max_retrieved_per_topic": {"type": POSITIVE},
        "--Number_docs_in_coll": {"type": whole_number, "default": 0},
    },
    formats=(),
    abbreviated=True,  # as trec_eval's are
)
def trec_eval(arguments: Namespace) -> Answer:
    """The options and output of trec_eval, for scripts that call it.

    Prints what trec_eval 10 prints, to the byte. A judged query that the run lacks is left out
    without -c, where trec_eval 10.0 stops with an error.

    QRELS  the judgments, as TREC text or in a format that evaluate reads
    RUN  the run, likewise; - is standard input
    -m, --measure MEASURE  a measure, with its parameters after a dot, as in ndcg_cut.5,10; may be
        repeated. official, set and all_trec each stand for several, and so do prefs and all_prefs
        with preferences, and qrels_jg with judgment groups; default: official
    -R, --Rel_info_format FORMAT  qrels, default; qrels_jg, where the second field of a line names
        who judged, and values are means over judges; or preferences: prefs, whose lines are query,
        judgment group, subgroup, document and level, or qrels_prefs, where qrels prefer documents
        with a higher label
    -Z, --Zscore FILE  print values in standard deviations from a mean; the lines of FILE are query,
        measure, mean, deviation
    -q, --query_eval_wanted  print each query too
    -n, --nosummary  print no summary
    -c, --complete_rel_info_wanted  count judged queries that the run lacks, with nothing retrieved
    -J, --Judged_docs_only  leave out retrieved documents that nobody judged
    -l, --level_for_rel LABEL  the least label that counts as relevant; default: 1
    -M, --Max_retrieved_per_topic DEPTH  count only this many documents of each ranking
    -N, --Number_docs_in_coll SIZE  the number of documents in the collection

    $ rankframe trec_eval qrels.txt bm25.run
    $ rankframe trec_eval -q -c -m ndcg_cut.5,10 -m map -l 2 qrels.txt bm25.run
    $ rankframe trec_eval -R prefs -m all_prefs prefs.txt bm25.run
    $ zcat bm25.run.gz | rankframe trec_eval -m all_trec qrels.txt -
    """
    refuse_two_inputs([arguments.qrels, *arguments.files])
    qrels, run, run_id = files_of(arguments)
    norms = None if arguments.Zscore is None else norms_of(arguments.Zscore)
    is_z = norms is not None
    if arguments.Rel_info_format in ("prefs", "qrels_prefs"):
        return of_preferences(arguments, qrels, run, run_id, norms)
    by_group = arguments.Rel_info_format == "qrels_jg"
    labels = qrels["label"].unique().to_list()
    lines = list(lines_of(arguments.measure or ["official"], labels, by_group=by_group))
    calls = list(dict.fromkeys(call for line in lines for call in line.calls))
    values = values_of(arguments, qrels, run, calls)
    rows = [row_of(lines, of_query) for of_query in values.iter_rows(named=True)]
    if norms is not None:
        rows = [z_scores(lines, row, norms) for row in rows]
    printed: list[str] = []
    if arguments.query_eval_wanted:
        of_queries = [line for line in lines if line.calls and line.summary != "geometric mean"]
        for row in rows:
            printed += [as_printed(line, row, z=is_z) for line in of_queries]
    if not arguments.nosummary:
        summary = z_summary(lines, rows) if is_z else row_of(lines, means_of(calls, values))
        if arguments.complete_rel_info_wanted:
            # trec_eval counts the relevant documents again, ignoring -l
            summary["num_rel"] = float((qrels["label"] > 0).sum())
        summary |= {"query_id": "all", "runid": run_id, "num_q": float(len(values))}
        of_all = [line for line in lines if line.measure not in OF_TEXT]
        printed += [as_printed(line, summary, z=is_z) for line in of_all]
    return "\n".join(printed) or None


def files_of(arguments: Namespace) -> tuple[pl.DataFrame, pl.DataFrame, str]:
    """The judgments, the run, and the name in the run's last line."""
    kind = arguments.Rel_info_format
    key = ("query_id", *GROUPS[kind], "doc_id")
    of_prefs = "prefs" if kind == "prefs" else None
    try:
        qrels = read_file(arguments.qrels, QRELS, {"once": key}, format=of_prefs).table
        of_run = {"once": ("query_id", "doc_id")}
        run = read_file(arguments.files[0], RUN, of_run, format=None).table
    except MissingColumn as error:  # trec_eval has no options for columns
        raise MissingColumn(with_code(error.parts, lambda _: Code(""))) from None
    if not qrels["label"].is_finite().all():
        raise InvalidData(*TEXTS["label not finite"](Setup()), kind="label not finite")
    run_id = str(run["run"][-1]) if "run" in run.columns else ""
    names = pl.col("query_id", "doc_id").cast(pl.String)
    return qrels.with_columns(names), run.select(names, "score"), run_id


def values_of(
    arguments: Namespace, qrels: pl.DataFrame, run: pl.DataFrame, calls: Sequence[Call]
) -> pl.DataFrame:
    """The values of each query; with judgment groups, their means over the groups."""
    groups = GROUPS[arguments.Rel_info_format]
    key = ["query_id", *groups]
    if groups:
        run = run.join(qrels.select(key).unique(), on="query_id", how="left")
    labels = qrels.select(*key, "doc_id", pl.col("label").cast(pl.Int64))
    unmatched: Unmatched = "keep" if arguments.complete_rel_info_wanted else "drop"
    with of_file(arguments.files[0]):
        judged = rf.rank(run).on(query=key).judge(labels, judged_only=unmatched, run_only="drop")
    unjudged: Unjudged = "drop" if arguments.Judged_docs_only else "nonrelevant"
    ranker = rf.rank(judged.sort(key)).on(
        query=key,
        convention="trec_eval",
        unjudged=unjudged,
        relevant=arguments.level_for_rel,
        collection_size=arguments.Number_docs_in_coll,
        depth=arguments.Max_retrieved_per_topic,
    )
    texts = [call.text for call in calls] or ["num_ret"]
    values = ranker.evaluate(*texts)
    if not groups:
        return values
    return values.group_by("query_id", maintain_order=True).agg(pl.exclude(key).mean())


def means_of(calls: Sequence[Call], values: pl.DataFrame) -> Mapping[str, float]:
    """The metrics of the whole run."""
    means = {}
    for call in calls:
        if call.metric.dtype == pl.Float64:
            means[call.text] = Mean.of(call).over_run(pl.col(call.text))
    return values.select(**means).to_dicts()[0]


def row_of(lines: Sequence[Line], values: Mapping[str, Any]) -> Row:
    """The values of the lines of metrics, by the names that are printed.

    Those that `values` lacks are left out.
    """
    row = {"query_id": values.get("query_id")}
    for line in lines:
        if line.calls and all(call.text in values for call in line.calls):
            row[line.name] = value_of(line, values)
    return row


# z-scores


def norms_of(path: str) -> Mapping[tuple[str, str], tuple[float, float]]:
    """The mean and the standard deviation of each query and measure in a file."""
    norms = {}
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        fields = line.split()
        if len(fields) != 4 or not all(map(NUMBER.fullmatch, fields[2:])):
            what = "is no query, measure, mean and standard deviation"
            raise InvalidData(f"{path}, line {number}: {line[:200]!r} {what}")
        query, measure, mean, deviation = fields
        norms[query, measure] = float(mean), float(deviation)
    return norms


def z_score(value: float, norm: tuple[float, float] | None) -> float:
    """How many standard deviations a value is above the mean."""
    mean, deviation = (math.nan, 0.0) if norm is None else norm
    if deviation:
        return (value - mean) / deviation
    return 0.0 if value == mean else MISSING


def z_scores(
    lines: Sequence[Line], row: Row, norms: Mapping[tuple[str, str], tuple[float, float]]
) -> Row:
    """The values of a query as z-scores; those of geometric means are logarithms."""
    scores = dict(row)
    for line in lines:
        name = line.name
        if name in row and line.measure not in OF_TEXT:
            value = math.log(row[name]) if line.summary == "geometric mean" else row[name]
            scores[name] = z_score(value, norms.get((row["query_id"], name)))
    return scores


def z_summary(lines: Sequence[Line], rows: Sequence[Row]) -> Row:
    """The z-scores of all queries."""
    summary: Row = {}
    for line in lines:
        if line.calls and line.measure not in OF_TEXT:
            total = in_order(row[line.name] for row in rows)
            value = total if line.summary == "sum" else total / len(rows)
            if line.summary == "geometric mean":
                value = math.exp(value)
            summary[line.name] = value
    return summary


# preferences


def of_preferences(
    arguments: Namespace,
    judged: pl.DataFrame,
    run: pl.DataFrame,
    run_id: str,
    norms: Mapping[tuple[str, str], tuple[float, float]] | None,
) -> Answer:
    """What trec_eval prints of preferences, for each query and for all."""
    wanted: set[str] = set()
    for text in arguments.measure or ["official"]:
        if text not in (*PREFERENCES, *OF_PREFERENCES, *OF_THE_RUN):
            unknown = f"-m {text} is no measure of preferences.{did_you_mean(text, PREFERENCES)}"
            raise UnknownMetric(f"{unknown} -m prefs has six of them")
        wanted.update(OF_PREFERENCES.get(text, (text,)))
    rows = preferences_of(arguments, judged, run)
    if norms is not None:
        for row in rows:
            for name in PREFERENCES:
                row[name] = z_score(row[name], norms.get((row["query_id"], name)))
    counts = PREFERENCES[:3]
    summary: Row = {"query_id": "all", "runid": run_id, "num_q": float(len(rows))}
    for name in PREFERENCES:
        total = in_order(row[name] for row in rows)
        summary[name] = total if name in counts else total / len(rows)
    if not arguments.query_eval_wanted:
        rows = []
    if not arguments.nosummary:
        rows.append(summary)
    names = [name for name in (*OF_THE_RUN, *PREFERENCES) if name in wanted]
    whole = {*counts, "num_q"}
    is_z = norms is not None
    printed = []
    for row in rows:
        there = [name for name in names if name in row]
        printed += [printed_line(name, row, whole=name in whole, z=is_z) for name in there]
    return "\n".join(printed) or None


def preferences_of(arguments: Namespace, judged: pl.DataFrame, run: pl.DataFrame) -> list[Row]:
    """The measures of preferences of each query."""
    if not arguments.complete_rel_info_wanted:
        judged = judged.join(run, on="query_id", how="semi")
    if judged.is_empty():
        raise InvalidData("no query of the run is judged")
    table = judged.join(run, on=["query_id", "doc_id"], how="full", coalesce=True)
    table = table.join(judged, on="query_id", how="semi")
    ranker = rf.rank(table).on(ties="doc_asc", depth=arguments.Max_retrieved_per_topic)
    roles = zip(("group", "subgroup"), GROUPS[arguments.Rel_info_format], strict=False)
    with of_file(arguments.qrels):
        values = ranker.preferences.evaluate(*PREFERENCES, **dict(roles))
    return values.sort("query_id").to_dicts()


# measures


def lines_of(measures: list[str], labels: list[int], *, by_group: bool = False) -> Iterator[Line]:
    """The lines in trec_eval's order, whatever the order of the options."""
    wanted: dict[str, str] = {}
    sets = {**SETS, **OF_GROUPS}
    for text in measures:
        name, _, parameters = text.partition(".")
        refuse_other_format(name, by_group=by_group)
        refuse_parameters(OF_JUDGES.get(name, name), parameters, text)
        for each in sets.get(name, (name,)):
            wanted[each] = wanted.get(each) or parameters
    names = {measure: name for name, measure in OF_JUDGES.items()} if by_group else {}
    for measure in MEASURES.values():
        name = names.get(measure.name, measure.name)
        if name in wanted:
            for line in lines_of_measure(measure, wanted[name], labels):
                further = line.name.removeprefix(measure.name)
                yield line._replace(name=f"{name}{further}", measure=name)


def refuse_other_format(name: str, *, by_group: bool) -> None:
    """Refuse a measure of judgments in another format, and one that there is not."""
    if name in PREFERENCES or name in OF_PREFERENCES:
        raise InvalidOption(f"-m {name} takes preferences; say -R prefs, or -R qrels_prefs")
    of_judges = name in OF_JUDGES or name in OF_GROUPS
    if of_judges and not by_group:
        raise InvalidOption(f"-m {name} takes judgment groups; say -R qrels_jg")
    known = (*OF_JUDGES, *OF_THE_RUN, *OF_GROUPS) if by_group else (*MEASURES, *SETS)
    if name not in known:
        advice = " -m qrels_jg has all measures of judgment groups" if by_group else ""
        raise UnknownMetric(f"unknown measure {name!r}.{did_you_mean(name, known)}{advice}")


def refuse_parameters(name: str, parameters: str, text: str) -> None:
    """Refuse parameters that are no numbers."""
    if not parameters:
        return
    numbers = re.split("[,=]", parameters.removeprefix("p="))
    example = "write them as in ndcg_cut.5,10"
    if not all(map(NUMBER.fullmatch, numbers)):
        raise InvalidOption(f"-m {text}: {parameters!r} is no list of numbers; {example}")
    if name in MEASURES and MEASURES[name].defaults:
        levels = parameters.split(",")
        if not all(re.fullmatch(r"\d+\.?\d*|\.\d+", level) for level in levels):
            raise InvalidOption(f"-m {text}: {name} takes ranks or shares; {example}")


def lines_of_measure(measure: Measure, parameters: str, labels: list[int]) -> Iterator[Line]:
    """The lines of a measure; trec_eval reads a rank up to its dot."""
    name = measure.name
    if measure.defaults:
        given: Sequence[float] = measure.defaults
        if parameters:
            given = sorted(map(float, parameters.split(",")))
        if measure.parameter == "rank":
            given = [int(rank) for rank in given]
        if len({*given}) < len(given):
            raise InvalidOption(f"-m {name}.{parameters} has a cutoff twice; write it once")
        for parameter in given:
            yield line(f"{name}_{measure.shown(parameter)}", name, f"{name}_{parameter}")
    elif name in OF_THE_RUN:
        yield line(name, name)
    elif not parameters:
        yield line(name, name, name)
    else:
        texts = [f"{name}.{parameters}"]
        if name == "11pt_avg":
            texts = [f"iprec_at_recall_{float(level)}" for level in parameters.split(",")]
        elif "=" in parameters and name not in ("rbp", "rbp_resid"):
            texts = [f"{name}(gain={gains(name, parameters, labels)})"]
        yield line(f"{name}_{parameters}", name, *texts)


def line(name: str, measure: str, *texts: str) -> Line:
    """A line whose value is the mean of these metrics."""
    calls = tuple(call for text in texts for call in rf.parse(text))
    return Line(name, measure, calls)


def gains(name: str, parameters: str, labels: list[int]) -> str:
    """The gains of all labels as text.

    Labels without a gain in the parameters, as in ndcg.1=3,2=9, are their own gain.
    """
    of_label = {float(label): float(label) for label in labels if label >= 0}
    for pair in parameters.split(","):
        label, _, gain = pair.partition("=")
        if not gain:
            as_in = f"write a label and its gain, as in {name}.1=3,2=9"
            raise InvalidOption(f"{pair!r} names no gain; {as_in}")
        if float(label) < 0:
            unjudged = f"a document of label {label} is not judged, and has no gain here"
            raise InvalidOption(f"{name}.{parameters}: {unjudged}")
        of_label[float(label)] = float(gain)
    pairs = [f"{label:g}:{gain!r}" for label, gain in of_label.items()]
    return "{" + ",".join(pairs) + "}"


def value_of(line: Line, values: Mapping[str, float]) -> float | str:
    """The value of a line: that of its metric, or the mean of its metrics."""
    numbers = [values[call.text] for call in line.calls]
    return numbers[0] if len(numbers) == 1 else sum(numbers) / len(numbers)


def as_printed(line: Line, row: Row, *, z: bool) -> str:
    """A line as trec_eval prints it."""
    is_whole = line.summary == "sum" or line.name == "num_q"
    return printed_line(line.name, row, whole=is_whole, z=z)


def printed_line(name: str, row: Row, *, whole: bool, z: bool) -> str:
    """A value with its name; that of a z-score begins with Z."""
    value = row[name]
    query = row["query_id"]
    if isinstance(value, str):
        shown = value if name == "runid" else f"'{value}'"
        return trec_line(name, query, shown, whole=False)
    if value is not None:
        value = float(value)
    text = trec_line(name, query, value, whole=whole and not z)
    return f"Z{text}" if z else text
