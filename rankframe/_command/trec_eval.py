"""``rankframe trec_eval``: trec_eval 10's command line and what it prints, to the byte."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import polars as pl

import rankframe as rf

from .._files.read import QRELS, RUN
from .._verbs.verbs import Missing
from ..errors import InvalidOption, UnknownMetric, did_you_mean
from .command import Answer, Command, Parser
from .options import at_least
from .reading import only_one_input, read_file, refuse_strangers, require_rows

__all__ = ["COMMAND"]

CUTOFFS = tuple(map(str, (5, 10, 15, 20, 30, 100, 200, 500, 1000)))
# In the order in which they are printed; with their parameters, where each makes a line of its own.
MEASURES: dict[str, tuple[str, ...]] = {
    "runid": (), "num_q": (), "num_ret": (), "num_rel": (), "num_rel_ret": (), "map": (), "gm_map": (), "Rprec": (),
    "bpref": (), "recip_rank": (), "iprec_at_recall": tuple(f"{tenth / 10:.2f}" for tenth in range(11)), "P": CUTOFFS,
    "relstring": (), "recall": CUTOFFS, "infAP": (), "gm_bpref": (),
    "Rprec_mult": tuple(f"{fifth / 5:.2f}" for fifth in range(1, 11)), "utility": (), "11pt_avg": (), "binG": (), "G": (),
    "dcg": (), "ideal_dcg": (), "ndcg": (), "ndcg_rel": (), "Rndcg": (), "ndcg_cut": CUTOFFS, "map_cut": CUTOFFS,
    "relative_P": CUTOFFS, "success": ("1", "5", "10"), "set_P": (), "set_relative_P": (), "set_recall": (), "set_map": (),
    "set_F": (), "num_nonrel_judged_ret": (), "yaap": (), "rbp": (), "rbp_resid": (), "unj": ("5", "10", "20"),
}  # fmt: skip
FRACTIONS = ("iprec_at_recall", "Rprec_mult")  # what their parameters are
COUNTS = ("num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret")
OF_THE_RUN = ("runid", "num_q")
SUMMARY_ONLY = (*OF_THE_RUN, "gm_map", "gm_bpref")
NICKNAMES = {
    "official": list(MEASURES)[:12],
    "set": ["runid", "num_q", *COUNTS[:3], "utility", "set_P", "set_recall", "set_relative_P", "set_map", "set_F"],
    "all_trec": [name for name in MEASURES if name not in ("dcg", "ideal_dcg", "yaap")],
}
EXAMPLES = (
    "rankframe trec_eval qrels.txt bm25.run",
    "rankframe trec_eval -q -c -m ndcg_cut.5,10 -m map -l 2 qrels.txt bm25.run",
    "zcat bm25.run.gz | rankframe trec_eval -m all_trec qrels.txt -",
)


class Line(NamedTuple):
    """A line of the output: the name it prints, its measure, and the texts whose mean its value is."""

    name: str
    measure: str
    texts: tuple[str, ...]


def options(parser: Parser) -> None:
    """The options of trec_eval."""
    parser.add_argument("qrels", metavar="QRELS", help="the judgments, as TREC text or in a format that evaluate reads")
    parser.add_argument("run", metavar="RUN", help="the run, likewise; - is standard input")
    parser.add_argument(
        "-m",
        "--measure",
        dest="measures",
        action="append",
        metavar="MEASURE",
        help="may be repeated; parameters stand after a dot, as in ndcg_cut.5,10; official (default), set and all_trec "
        "stand for several",
    )
    parser.add_argument("-q", "--query_eval_wanted", dest="queries", action="store_true", help="print each query too")
    parser.add_argument("-n", "--nosummary", dest="summary", action="store_false", help="print no summary")
    parser.add_argument(
        "-c",
        "--complete_rel_info_wanted",
        dest="complete",
        action="store_true",
        help="count judged queries that the run lacks as having retrieved nothing",
    )
    parser.add_argument(
        "-l", "--level_for_rel", dest="relevant", type=at_least(0), default=1, help="least relevant label"
    )
    parser.add_argument(
        "-J", "--Judged_docs_only", dest="judged", action="store_true", help="leave out documents that nobody judged"
    )
    parser.add_argument(
        "-M", "--Max_retrieved_per_topic", dest="depth", type=at_least(1), help="leave out what stands below"
    )
    parser.add_argument(
        "-N", "--Number_docs_in_coll", dest="size", type=at_least(0), default=0, help="documents there are"
    )


def trec_eval(arguments: argparse.Namespace) -> Answer:
    """What trec_eval prints for the judgments and the run."""
    only_one_input({"QRELS": [arguments.qrels], "RUN": [arguments.run]})
    (qrels, _), (run, _) = (
        read_file(path, layout, say, once=("query_id", "doc_id"), comments=False)
        for path, layout in ((arguments.qrels, QRELS), (arguments.run, RUN))
    )
    require_rows(run, arguments.run)
    ids = pl.col("query_id", "doc_id").cast(pl.String)
    run_id = str(run["run"][-1]) if "run" in run.columns else ""
    run, qrels = run.select(ids, "score"), qrels.select(ids, pl.col("label").cast(pl.Int64))
    refuse_strangers(run, qrels, arguments.run, arguments.qrels)
    kept: Missing = "keep" if arguments.complete else "drop"
    table = rf.rank(run).judge(qrels, judged_only=kept, run_only="drop").sort("query_id")
    ranker = rf.rank(table).on(
        convention="trec_eval",
        relevant=arguments.relevant,
        unjudged="drop" if arguments.judged else "nonrelevant",
        depth=arguments.depth,
        collection_size=arguments.size,
    )
    lines = list(lines_of(arguments.measures or ["official"], qrels["label"].unique().to_list()))
    texts = list(dict.fromkeys(text for line in lines for text in line.texts))
    values = ranker.evaluate(*(texts or ["num_ret"]))
    columns = dict(zip(texts, list(values.iter_columns())[1:], strict=False))
    printed: list[str] = []
    if arguments.queries:
        of_queries = [line for line in lines if line.measure not in SUMMARY_ONLY]
        for i, query in enumerate(values["query_id"]):
            of_query = {text: column[i] for text, column in columns.items()}
            printed += [said(line, query, value_of(line, of_query)) for line in of_queries]
    if arguments.summary:
        summary = {text: summed(text, column) for text, column in columns.items()}
        if arguments.complete and "num_rel" in summary:  # which trec_eval counts anew, whatever -l says
            summary["num_rel"] = float((qrels["label"] > 0).sum())
        of_the_run: dict[str, str | float] = {"runid": run_id, "num_q": len(values)}
        for line in lines:
            if line.measure != "relstring":
                value = of_the_run[line.measure] if line.measure in OF_THE_RUN else value_of(line, summary)
                printed.append(said(line, "all", value))
    return Answer("\n".join(printed))


def say(name: str, value: Any) -> str:
    """How an error of the reader proposes what there is no option for."""
    if name == "columns":
        return " and ".join(f"{new} instead of {old} in the file" for old, new in value.items())
    return f"a name that ends in .{value}"


def lines_of(asked: list[str], labels: list[int]) -> Iterator[Line]:
    """The lines for each query, in trec_eval's order, whatever order the measures were asked in."""
    wanted: dict[str, str] = {}
    for text in asked:
        name, _, parameters = text.partition(".")
        if name not in MEASURES and name not in NICKNAMES:
            raise UnknownMetric(f"unknown measure {name!r}.{did_you_mean(name, [*MEASURES, *NICKNAMES])}")
        if parameters and not all(map(is_number, re.split("[,=]", parameters.removeprefix("p=")))):
            raise InvalidOption(f"-m {text}: {parameters!r} is no list of numbers; write them as in ndcg_cut.5,10")
        if parameters and MEASURES.get(name) and not all(map(is_level, parameters.split(","))):
            raise InvalidOption(f"-m {text}: {name} takes ranks or shares; write them as in ndcg_cut.5,10")
        for each in NICKNAMES.get(name, [name]):
            wanted[each] = wanted.get(each) or parameters
    for name, each_on_a_line in MEASURES.items():
        if name not in wanted:
            continue
        parameters = wanted[name]
        if each_on_a_line:
            given = sorted(parameters.split(","), key=float) if parameters else each_on_a_line
            for parameter in given:
                shown = f"{float(parameter):.2f}" if name in FRACTIONS else parameter
                yield Line(f"{name}_{shown}", name, (f"{name}_{parameter}",))
        elif name in OF_THE_RUN:
            yield Line(name, name, ())
        elif not parameters:
            yield Line(name, name, (name,))
        elif name == "11pt_avg":
            levels = tuple(f"iprec_at_recall_{level}" for level in parameters.split(","))
            yield Line(f"{name}_{parameters}", name, levels)
        elif "=" in parameters and name not in ("rbp", "rbp_resid"):
            yield Line(f"{name}_{parameters}", name, (f"{name}(gain={gains(name, parameters, labels)})",))
        else:
            yield Line(f"{name}_{parameters}", name, (f"{name}.{parameters}",))


def is_number(text: str) -> bool:
    """Whether a text says a number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def is_level(text: str) -> bool:
    """Whether a text says a number of 0 or more, in digits."""
    return re.fullmatch(r"\d+\.?\d*|\.\d+", text) is not None


def gains(name: str, parameters: str, labels: list[int]) -> str:
    """The gains of all labels as text, where some are named, as in ndcg.1=3,2=9."""
    of_label = {float(label): float(label) for label in labels if label >= 0}
    for pair in parameters.split(","):
        label, _, gain = pair.partition("=")
        if not gain:
            raise InvalidOption(
                f"{name}.{parameters}: {pair!r} names no gain; write a label and its gain, as in {name}.1=3,2=9"
            )
        if float(label) < 0:
            raise InvalidOption(f"{name}.{parameters}: a document of label {label} is not judged, and has no gain here")
        of_label[float(label)] = float(gain)
    return "{" + ",".join(f"{label:g}:{gain!r}" for label, gain in of_label.items()) + "}"


def value_of(line: Line, values: Mapping[str, float | str]) -> float | str:
    """The value of a line: that of its text, or the mean where it has several."""
    of_line = [values[text] for text in line.texts]
    return of_line[0] if len(of_line) == 1 else sum(of_line) / len(of_line)  # type: ignore[arg-type]


def summed(text: str, column: pl.Series) -> float | str:
    """The value of all queries: the sum of a count, the geometric mean of what is meant for one, else the mean."""
    if column.dtype == pl.String:
        return ""
    if text in COUNTS:
        return float(column.sum())
    if text.startswith("gm_"):
        return math.exp(column.log().mean())  # type: ignore[arg-type]
    return column.mean()  # type: ignore[return-value]


def said(line: Line, query: str, value: float | str) -> str:
    """The line as trec_eval prints it."""
    if line.measure == "relstring":
        shown = f"'{value}'"
    elif isinstance(value, float) and line.measure not in COUNTS:
        shown = f"{value:6.4f}"
    else:
        shown = str(value if isinstance(value, str) else int(value))
    return f"{line.name:<22}\t{query}\t{shown}"


COMMAND = Command(
    "trec_eval",
    "[options] QRELS RUN",
    "trec_eval's options and output, for scripts that call it",
    EXAMPLES,
    options,
    trec_eval,
    "Prints what trec_eval 10 prints, to the byte. A judged query that the run lacks is left out without -c, where\n"
    "trec_eval 10.0 stops with an error.",
    abbreviated=True,  # as trec_eval's are
)
