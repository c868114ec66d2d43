"""Errors for options that a ranker or a method does not have, with the call to write instead."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from .._catalog.ambiguous_names import elsewhere
from .._catalog.call import SEVERAL, Call
from .._catalog.find_by_name import find, of_other_method
from .._catalog.fusions import fusion_of
from .._catalog.registry import AGREEMENTS, CATALOG_METRICS, METRICS
from .._catalog.requests import calls_of
from .._support.arguments import own_parameters, refuse_unfit, written
from .._table.roles import DISTANCES, USUAL_NAMES, refuse_tables
from .._table.setup import OPTIONS, Setup
from ..errors import InvalidOption, UnknownMetric, did_you_mean, nearest, shown, worded

OTHER_NAMES = {"cutoff": "k", "at": "k", "top_k": "k"}
"""Names that options of metrics have elsewhere."""

USUAL_OPTIONS = {
    "user": "query",
    **dict.fromkeys(("item", "passage", "document"), "doc"),
    **dict.fromkeys(("threshold", "relevance_threshold", "relevance_level", "min_relevance", "min_rel"), "relevant"),
}
"""Names that columns and policies have elsewhere, beside the usual names of columns."""

OTHER_FUNCTIONS = {
    **dict.fromkeys(("from_pandas", "from_polars", "from_arrow", "from_df", "from_dataframe"), "rf.rank(df)"),
    **dict.fromkeys(
        ("list_metrics", "available_metrics", "get_metric", "metrics"), "rf.METRICS, all metrics by their names"
    ),
    **dict.fromkeys(("read_trec", "load_run"), "rf.read_run(path)"),
    "load_qrels": "rf.read_qrels(path)",
    **dict.fromkeys(
        ("read_csv", "read_parquet", "read_json"), "rf.read_run(path), or rf.read_qrels(path) for judgments"
    ),
}
"""Functions of other packages, and what to write here."""

WITH_CUTOFF = re.compile(r"(.+?)(?:(?:_at)?_?(\d+)|_at_(k))?")
"""A name that ends in a cutoff, as ``ndcg_at_10``, ``ndcg10`` and ``ndcg_at_k`` do."""

METRICS_OF = ("metrics", "measures", "budgets")
"""Parameters that take metrics."""

TAKEN = {
    "agreement": AGREEMENTS,
    **dict.fromkeys(("catalog", "compare_catalog", "item_counts"), CATALOG_METRICS),
}
"""The metrics that a verb takes, where it takes other ones than those of a ranking."""


def options_of(function: Callable[..., object]) -> list[str]:
    """The options that a function names."""
    parameters = inspect.signature(function).parameters.values()
    return [x.name for x in parameters if x.kind is x.KEYWORD_ONLY]


def refuse_unknown(where: str, given: Mapping[str, object], known: Sequence[str]) -> None:
    """Refuse unknown options, and propose the likely one."""
    for name, value in given.items():
        if name not in known:
            raise InvalidOption(f"{where} has no option {name!r}{_meant(name, value, known)}")


def _meant(name: str, value: object, known: Sequence[str]) -> str:
    if name in ("descending", "reverse", "lower_is_better", "higher_is_better") and isinstance(value, bool):
        return f". Did you mean ascending={value if name in ('reverse', 'lower_is_better') else not value}?"
    usual = _usual(name, value)
    if usual == "run":
        return (
            f"; where a column names the run, it is part of the query: df.rank.on(query=[{value!r}, 'query_id']). Verbs for "
            f"several runs, such as compare, take run={value!r}"
        )
    if name in DISTANCES:
        return f"; where the lowest is the best, say df.rank.on(score={value!r}, ascending=True)"
    taking = [entry for entry in (METRICS["ndcg"], *METRICS.values()) if name in entry.parameters]
    entry = next((x for x in taking if name not in x.kinds or x.kinds[name].fits(value)), None)
    near = usual or (None if entry else nearest(name, known))
    entry = entry or next(iter(taking), None)
    if near is not None:
        return f". Did you mean {near}={value!r}?"
    if entry is not None:
        return f", which is one of metrics; say it there, as in df.rank.{entry.formula.__name__}({name}={value!r})"
    return f"; it has {', '.join(known)}"


def _down_to(name: str, cutoff: object) -> str:
    """The text of a metric with a cutoff; the name alone if that is no valid text."""
    text = f"{name}@{cutoff}"
    with suppress(UnknownMetric, InvalidOption):
        calls_of(text)
        return text
    return name


def _usual(name: str, value: object) -> str | None:
    """The option of `on`, or the role of a column, with this usual name; a column's name must be text."""
    option = USUAL_OPTIONS.get(name) or next(
        (role for role, names in USUAL_NAMES.items() if name.lower() in names), None
    )
    return option if option == "relevant" or isinstance(value, (str, list, tuple)) else None


def refuse_misplaced(
    verb: Callable[..., object], setup: Setup, args: Sequence[object], options: Mapping[str, object]
) -> None:
    """Refuse tables among the metrics of a verb, and unknown and missing options."""
    parameters = own_parameters(verb)
    first = next((i for i, parameter in enumerate(parameters) if parameter.name in METRICS_OF), None)
    metrics = None if first is None else args[first:]
    refuse_tables(metrics or ())
    known = [parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_POSITIONAL]
    for name, value in options.items():
        kept = {other: x for other, x in options.items() if other in known}
        if name not in known and (advice := _instead(verb, setup, args, kept, known, metrics, name, value)):
            raise InvalidOption(f"{verb.__name__} has no option {name!r}; {advice}")
    refuse_unfit(f"df.rank.{verb.__name__}", verb, args, options)


def _instead(
    method: Callable[..., object],
    setup: Setup,
    args: Sequence[object],
    kept: Mapping[str, object],
    known: Sequence[str],
    metrics: Sequence[object] | None,
    name: str,
    value: object,
) -> str | None:
    """The advice for an option that belongs to another call; its code repeats the arguments and the options `kept`."""
    verb, among = method.__name__, TAKEN.get(method.__name__, METRICS)
    first, rest = [*map(written, args)], [f"{option}={written(x)}" for option, x in kept.items()]
    arguments = ", ".join([*first, *rest])
    policy = name if name in OPTIONS else _usual(name, value)
    if policy == "query" and verb in ("explain", "curve") and isinstance(value, (str, int)):
        return f"for one query, keep its rows, those with {value!r} in {setup.roles.query[-1]!r}, and say df.rank.{verb}({arguments})"
    if policy in OPTIONS:
        return f"columns and policies belong to `on`: df.rank.on({policy}={shown(value)}).{verb}({arguments})"
    if metrics is None:
        fusing = any(x.name == "method" for x in own_parameters(method)[:1])
        with suppress(InvalidOption):
            calls = [fusion_of(text) for text in args[:1] if fusing and isinstance(text, str)]
            if texts := _with_option(calls, name, value):
                return f"an option of a method stands in its text: df.rank.{verb}({', '.join([*texts, *first[1:], *rest])})"
        return None
    with suppress(UnknownMetric, InvalidOption):
        find(name, name, among)
        if verb == "gate":
            return f"budgets stand in a mapping: df.rank.gate({', '.join([f'{{{name!r}: {written(value)}}}', *rest])})"
        cutoffs = value if isinstance(value, (list, tuple)) and value else [value]
        each = [repr(_down_to(name, cutoff)) for cutoff in cutoffs]
        return f"metrics are given as texts: df.rank.{verb}({', '.join([*first, *each, *rest])})"
    if name in ("metric", "metrics"):
        given = value if isinstance(value, (list, tuple)) else [value]
        return f"metrics are given without a name, as in df.rank.{verb}({', '.join(map(shown, given))})"
    if name == "run":
        query = [str(value), *setup.roles.query]
        return f"where a column names the run, it is part of the query: df.rank.on(query={query}).{verb}({arguments})"
    if verb in ("evaluate", "mean") and name in ("ci", "weights"):
        return f"summarize takes it: df.rank.summarize({arguments}, {name}={shown(value)})"
    if name in ("group_by", "groupby", "slices") and "by" in known:
        return f"slices are named by `by`: df.rank.{verb}({arguments}, by={shown(value)})"
    if name == "by":
        return f"the means of each slice are made by mean: df.rank.mean({arguments}, by={shown(value)})"
    if name == "margin":
        each = [repr(metric) for given in args for metric in (given if isinstance(given, Mapping) else [given])]
        call = f"df.rank.noninferior({', '.join([*each, f'margin={shown(value)}', *rest])})"
        return f"one margin for all metrics is taken by noninferior: {call}"
    if name == "alpha":
        return f"p-values are those of any level; a table marks the ones below it: .to_latex(alpha={shown(value)})"
    if name == "runs":
        several = "compare_catalog" if among is CATALOG_METRICS else "compare"
        return f"{several} looks at several: df.rank.{several}({arguments}, runs={shown(value)})"
    calls = [call for metric in metrics if isinstance(metric, str) for call in calls_of(metric, among=among)]
    if texts := _with_option(calls, name, value):
        before = first[: len(args) - len(metrics)]
        return f"an option of a metric stands in its text: df.rank.{verb}({', '.join([*before, *texts, *rest])})"
    return None


def _with_option(calls: Sequence[Call], name: str, value: object) -> list[str]:
    """The quoted texts of calls with an option that was given beside them; none if no call has it."""
    option = OTHER_NAMES.get(name, name)
    if not any(option in call.metric.parameters for call in calls):
        return []
    values = value if isinstance(value, SEVERAL) else [value]
    return [
        repr(text)
        for call in calls
        for text in dict.fromkeys(
            (call.with_defaults({option: one}) if option in call.metric.parameters else call).text for one in values
        )
    ]


def advice_for_name(name: str, methods: Sequence[str]) -> str:
    """The method to write instead of an unknown name: the metric with this name in other tools, or the nearest name."""
    if (advice := elsewhere(name, name)) is not None:
        return f"; {worded(advice)}"
    if name in OTHER_FUNCTIONS:
        return f"; write {OTHER_FUNCTIONS[name]}"
    if name in ("average", "avg") and "mean" in methods:
        return "; means over the queries are made by mean: df.rank.mean('ndcg@10')"
    if name in ("groupby", "group_by", "describe") and "summarize" in methods:
        return "; a row per query needs no groups; means of slices are made by summarize: df.rank.summarize('ndcg@10', by='market')"
    base, number, any_cutoff = WITH_CUTOFF.fullmatch(name).groups()  # type: ignore[union-attr] # matches every name
    cutoff = number or (any_cutoff and "10")
    try:
        metric, _ = find(base, base, METRICS)
    except UnknownMetric:
        said = of_other_method(base, base)
        return did_you_mean(name, methods).replace(" Did", ". Did") if said is None else f"; {worded(said)}"
    method = metric.formula.__name__
    if cutoff is not None and metric.first is not None:
        text = f"{metric.name}@{cutoff}"
        place = "" if method in methods else "metrics."
        return f"; write df.rank.{place}{method}({metric.first}={cutoff}), or df.rank.evaluate({text!r})"
    return f"; the method is {method}, and {name!r} is a text: evaluate({name!r})"


def advice_for_function(name: str, methods: Sequence[str], functions: Sequence[str]) -> str:
    """What to write instead of an unknown function of the package: a method of tables, or the nearest function."""
    if name in methods:
        formula = any(entry.formula.__name__ == name for entry in METRICS.values())
        return (
            f"; it is a method of tables: df.rank.{name}(...)" + f", or rf.expr.{name}(...) as an expression" * formula
        )
    if name in OTHER_FUNCTIONS:
        return f"; write {OTHER_FUNCTIONS[name]}"
    near = did_you_mean(name, functions).replace(" Did", ". Did")
    return near or advice_for_name(name, methods)
