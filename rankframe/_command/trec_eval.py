"""``rankframe trec_eval``: trec_eval 10's command line and output, to the byte."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import polars as pl

import rankframe as rf

from .._catalog.call import Call
from .._catalog.means import Mean
from .._catalog.registry import MeanOf
from .._files.read import QRELS, RUN
from .._statistics.preferences import in_order
from .._table.columns import TEXTS
from .._table.run_and_judgments import Unmatched
from .._table.setup import Setup
from .._table.trec_eval import MEASURES, OF_PREFERENCES, OF_TEXT, OF_THE_RUN, PREFERENCES, SETS
from ..errors import Code, InvalidData, InvalidOption, MissingColumn, UnknownMetric, did_you_mean, with_code
from .command import POSITIVE, Outcome, command, whole_number
from .reading import of_file, read_file, refuse_two_inputs
from .verbs import trec_line


class Line(NamedTuple):
    """A line of the output: the name it prints, its measure, and the metrics whose mean its value is."""

    name: str
    measure: str
    calls: tuple[Call, ...]

    @property
    def summary(self) -> MeanOf | None:
        """The kind of mean of its metric; None if it has no metric, or several."""
        return self.calls[0].metric.summary if len(self.calls) == 1 else None


GROUPS: Mapping[str, Sequence[str]] = {
    "qrels": (), "prefs": ("judgment_group", "judgment_subgroup"), "qrels_prefs": ("iteration",),
}  # fmt: skip
"""The columns of judgments by which preferences are grouped, by the value of -R."""

NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?")


@command(
    options={
        "QRELS": {"dest": "qrels"},
        "RUN": {"dest": "files", "nargs": 1},
        "--measure": {"action": "append"},
        "--Rel_info_format": {"choices": ("qrels", "prefs", "qrels_prefs"), "default": "qrels"},
        "--level_for_rel": {"type": whole_number, "default": 1},
        "--Max_retrieved_per_topic": {"type": POSITIVE},
        "--Number_docs_in_coll": {"type": whole_number, "default": 0},
    },
    formats=(),
    abbreviated=True,  # as trec_eval's are
)
def trec_eval(arguments: Namespace) -> Outcome:
    """The options and output of trec_eval, for scripts that call it.

    Prints what trec_eval 10 prints, to the byte. A judged query that the run lacks is left out without -c, where trec_eval
    10.0 stops with an error.

    QRELS  the judgments, as TREC text or in a format that evaluate reads
    RUN  the run, likewise; - is standard input
    -m, --measure MEASURE  a measure, with its parameters after a dot, as in ndcg_cut.5,10; may be repeated. official, set
        and all_trec each stand for several, and so do prefs and all_prefs with preferences; default: official
    -R, --Rel_info_format FORMAT  qrels, default; or preferences: prefs, whose lines are query, judgment group, subgroup,
        document and level, or qrels_prefs, where qrels prefer documents with a higher label
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
    groups, own = GROUPS[arguments.Rel_info_format], "prefs" if arguments.Rel_info_format == "prefs" else None
    files = (arguments.qrels, QRELS, groups, own), (arguments.files[0], RUN, (), None)
    try:
        (qrels, _), (run, _) = (
            read_file(path, layout, {"once": ("query_id", *key, "doc_id")}, comments=False, format=kind)
            for path, layout, key, kind in files
        )
    except MissingColumn as error:  # trec_eval has no options for columns
        raise MissingColumn(with_code(error.parts, lambda _: Code(""))) from None
    if not qrels["label"].is_finite().all():
        raise InvalidData(*TEXTS["label not finite"](Setup()), kind="label not finite")
    ids = pl.col("query_id", "doc_id").cast(pl.String)
    run_id = str(run["run"][-1]) if "run" in run.columns else ""
    if groups:
        return of_preferences(arguments, qrels.with_columns(ids), run.select(ids, "score"), groups, run_id)
    run, qrels = run.select(ids, "score"), qrels.select(ids, pl.col("label").cast(pl.Int64))
    kept: Unmatched = "keep" if arguments.complete_rel_info_wanted else "drop"
    with of_file(arguments.files[0]):
        table = rf.rank(run).judge(qrels, judged_only=kept, run_only="drop").sort("query_id")
    ranker = rf.rank(table).on(convention="trec_eval", unjudged="drop" if arguments.Judged_docs_only else "nonrelevant")
    ranker = ranker.on(relevant=arguments.level_for_rel, collection_size=arguments.Number_docs_in_coll)
    ranker = ranker.on(depth=arguments.Max_retrieved_per_topic)
    lines = list(lines_of(arguments.measure or ["official"], qrels["label"].unique().to_list()))
    calls = list(dict.fromkeys(call for line in lines for call in line.calls))
    values = ranker.evaluate(*([call.text for call in calls] or ["num_ret"]))
    printed: list[str] = []
    if arguments.query_eval_wanted:
        of_queries = [line for line in lines if line.calls and line.summary != "geometric mean"]
        for of_query in values.iter_rows(named=True):
            printed += [as_printed(line, of_query["query_id"], value_of(line, of_query)) for line in of_queries]
    if not arguments.nosummary:
        numbers = [call for call in calls if call.metric.dtype == pl.Float64]
        summed = {call.text: Mean.of(call).over_run(pl.col(call.text)) for call in numbers}
        summary = values.select(**summed).row(0, named=True) if numbers else {}
        if arguments.complete_rel_info_wanted:  # trec_eval counts the relevant documents again, ignoring -l
            summary["num_relevant"] = float((qrels["label"] > 0).sum())
        of_the_run: dict[str, str | float] = {"runid": run_id, "num_q": len(values)}
        for line in lines:
            if line.measure not in OF_TEXT:
                value = of_the_run[line.measure] if line.measure in OF_THE_RUN else value_of(line, summary)
                printed.append(as_printed(line, "all", value))
    return Outcome("\n".join(printed) or None)


def of_preferences(
    arguments: Namespace, judged: pl.DataFrame, run: pl.DataFrame, groups: Sequence[str], run_id: str
) -> Outcome:
    """What trec_eval prints of preferences, for each query and for all."""
    wanted: set[str] = set()
    for text in arguments.measure or ["official"]:
        if text not in (*PREFERENCES, *OF_PREFERENCES, *OF_THE_RUN):
            near = did_you_mean(text, PREFERENCES)
            raise UnknownMetric(f"-m {text} is no measure of preferences.{near} -m prefs has six of them")
        wanted.update(OF_PREFERENCES.get(text, (text,)))
    if not arguments.complete_rel_info_wanted:
        judged = judged.join(run, on="query_id", how="semi")
    if judged.is_empty():
        raise InvalidData("no query of the run is judged")
    table = judged.join(run, on=["query_id", "doc_id"], how="full", coalesce=True).join(
        judged, on="query_id", how="semi"
    )
    ranker = rf.rank(table).on(ties="doc_asc", depth=arguments.Max_retrieved_per_topic)
    with of_file(arguments.qrels):
        found = ranker.preferences.evaluate(*PREFERENCES, **dict(zip(("group", "subgroup"), groups, strict=False)))
    n, counts = found.height, PREFERENCES[:3]
    rows = found.sort("query_id").to_dicts()
    of_all = {name: in_order(row[name] for row in rows) / (1 if name in counts else n) for name in PREFERENCES}
    rows = rows if arguments.query_eval_wanted else []
    rows += [] if arguments.nosummary else [{"query_id": "all", "runid": run_id, "num_q": n, **of_all}]
    names = [name for name in (*OF_THE_RUN, *PREFERENCES) if name in wanted]
    each = ((name, row) for row in rows for name in names if name in row)
    printed = [trec_line(name, row["query_id"], row[name], whole=name in counts) for name, row in each]
    return Outcome("\n".join(printed) or None)


def lines_of(measures: list[str], labels: list[int]) -> Iterator[Line]:
    """The lines in trec_eval's order, whatever the order of the options."""
    wanted: dict[str, str] = {}
    for text in measures:
        name, _, parameters = text.partition(".")
        if name in PREFERENCES or name in OF_PREFERENCES:
            raise InvalidOption(f"-m {name} takes preferences; say -R prefs, or -R qrels_prefs")
        if name not in MEASURES and name not in SETS:
            raise UnknownMetric(f"unknown measure {text!r}.{did_you_mean(name, [*MEASURES, *SETS])}")
        if parameters and not all(map(NUMBER.fullmatch, re.split("[,=]", parameters.removeprefix("p=")))):
            raise InvalidOption(f"-m {text}: {parameters!r} is no list of numbers; write them as in ndcg_cut.5,10")
        ranked = parameters and name in MEASURES and MEASURES[name].defaults
        if ranked and not all(re.fullmatch(r"\d+\.?\d*|\.\d+", level) for level in parameters.split(",")):
            raise InvalidOption(f"-m {text}: {name} takes ranks or shares; write them as in ndcg_cut.5,10")
        for each in SETS.get(name, (name,)):
            wanted[each] = wanted.get(each) or parameters
    for name, measure in MEASURES.items():
        if name not in wanted:
            continue
        parameters = wanted[name]
        if measure.defaults:
            given = sorted(parameters.split(","), key=float) if parameters else map(measure.shown, measure.defaults)
            for parameter in given:
                shown = measure.shown(float(parameter)) if measure.parameter == "share" else parameter
                yield line(f"{name}_{shown}", name, f"{name}_{parameter}")
        elif name in OF_THE_RUN:
            yield line(name, name)
        elif not parameters:
            yield line(name, name, name)
        else:
            texts = [f"{name}.{parameters}"]
            if name == "11pt_avg":
                texts = [f"iprec_at_recall_{level}" for level in parameters.split(",")]
            elif "=" in parameters and name not in ("rbp", "rbp_resid"):
                texts = [f"{name}(gain={gains(name, parameters, labels)})"]
            yield line(f"{name}_{parameters}", name, *texts)


def line(name: str, measure: str, *texts: str) -> Line:
    """A line whose value is the mean of these metrics."""
    return Line(name, measure, tuple(call for text in texts for call in rf.parse(text)))


def gains(name: str, parameters: str, labels: list[int]) -> str:
    """The gains of all labels as text; labels without a gain in the parameters, as in ndcg.1=3,2=9, are their own gain."""
    of_label = {float(label): float(label) for label in labels if label >= 0}
    for pair in parameters.split(","):
        label, _, gain = pair.partition("=")
        if not gain:
            raise InvalidOption(f"{pair!r} names no gain; write a label and its gain, as in {name}.1=3,2=9")
        if float(label) < 0:
            raise InvalidOption(f"{name}.{parameters}: a document of label {label} is not judged, and has no gain here")
        of_label[float(label)] = float(gain)
    return "{" + ",".join(f"{label:g}:{gain!r}" for label, gain in of_label.items()) + "}"


def value_of(line: Line, values: Mapping[str, float]) -> float | str:
    """The value of a line: that of its metric, or the mean of its metrics."""
    found = [values[call.text] for call in line.calls]
    return found[0] if len(found) == 1 else sum(found) / len(found)


def as_printed(line: Line, query: str, value: float | str) -> str:
    """A line as trec_eval prints it."""
    shown = f"'{value}'" if line.measure in OF_TEXT else value
    return trec_line(line.name, query, shown, whole=line.summary == "sum")
