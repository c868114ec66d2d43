"""Text to calls: our own canonical text, and the spellings of ranx, ir_measures, trec_eval,
CatBoost and others.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Annotated, Any, TypeAlias

from .._support.methods import called_by_users
from .._support.option_kinds import ReadInside
from .._support.option_values import is_number
from .._table.conventions import Settings
from .._table.trec_eval import DEFAULTS, MEASURES, OF_TEXT, SETS
from ..errors import InvalidOption, UnknownMetric, on, shown
from .call import Call, call_of
from .flat_names import flat_name, texts_behind
from .registry import COMPARED, METRICS, Metric, find
from .values import VALUE, call_of_value, column_in

Options: TypeAlias = list[tuple[str, object]]

OTHER_OPTIONS = {
    "rel": "relevant", "gains": "gain", "cutoff": "k", "T": "target", "max_rel": "max_label", "top": "k", "top_k": "k",
    "K": "k", "n": "k", "min_rel_score": "relevant", "patience": "p",
}  # fmt: skip
"""Names of options in ir_measures, CatBoost, torchmetrics, recpack, LensKit and Evidently, and
ours."""

OTHER_VALUES: Mapping[tuple[str, str], tuple[str, str] | None] = {
    ("dcg", "log2"): None,  # this discount is our default; another parameter sets the gain
    ("dcg", "exp-log2"): ("gain", "exponential"),
    ("min_rel", "0"): None,
    ("relative", "False"): None,
    ("relative", "True"): ("divisor", "min(k,R)"),
    ("adaptive_k", "False"): ("divisor", "k"),
    ("adaptive_k", "True"): ("divisor", "min(k,n)"),
    ("type", "Base"): ("gain", "linear"),
    ("type", "Exp"): ("gain", "exponential"),
    ("type", "Classic"): None,
    ("denominator", "LogPosition"): ("discount", "log2"),
    ("denominator", "Position"): ("discount", "rank"),
}
"""Values of options in ir_measures, torchmetrics and CatBoost, with our option and value; None for
a default."""

WITH_CUTOFF = re.compile(r".*@(?=[^@]*$)|[^(]*_(?=[\d.]+$)", re.DOTALL)
"""The part of a text before its cutoff, as in ndcg@10 or trec_eval's P_5."""

MOST_CUTOFFS = 1_000
"""The most cutoffs of a metric in a text."""

MOST = 100_000
"""The most letters of a text."""

NUMBER = re.compile(r"@?-?[\d.]+(=-?[\d.]+)?")
"""A further cutoff or parameter after a comma, optionally with a budget."""

_TEXT = re.compile(
    r"\s*(?P<name>[^\s(@.]+?)\s*(?:\((?P<inside>.*)\))?(?:\.(?P<dotted>[^@]*?))?(?:@(?:\w+=)?(?P<at>[^@]*?))?(?P<minus>-?)"
    r"(?:-l(?P<level>[\d.]+))?\s*",
    re.DOTALL,
)
_CATBOOST = re.compile(r"\s*(?P<name>\w+:)(?!type=Ranking)(?P<inside>[^()@]*)")
_NUMBERED = re.compile(r"(?P<name>.+?)(?:_at)?_(?P<number>\d+(?:\.\d+)?)", re.DOTALL)


@called_by_users
def parse(text: Annotated[str, ReadInside], among: Mapping[str, Metric] = METRICS) -> list[Call]:
    """The calls that a text names: one, or several where trec_eval's ``ndcg_cut.5,10`` names
    several cutoffs.

    ``evaluate`` and the other verbs also take texts that name several metrics, as
    ``ndcg@5,10,map``.

    Parameters
    ----------
    text
        A metric as in ``ndcg@10``, ``err(max_label=4)@20``, or in the spelling of ranx
        (``ndcg_burges@10``, ``rbp.95``, ``map@100-l2``), ir_measures (``nDCG(dcg='exp-log2')@10``,
        ``AP(rel=2)@5``), trec_eval (``P_5``, ``ndcg_cut.5,10``, ``recip_rank``,
        ``iprec_at_recall_0.30``), CatBoost (``NDCG:top=10;type=Exp``), XGBoost (``pre@5``,
        ``ndcg@5-``), Spark (``precisionAt(5)``) or mteb (``ndcg_at_10``); or a column's name as
        ``on(names="flat")`` writes it (``rbp_p_0_95``); or a column with a value per query, as
        ``value:faithfulness`` (see :func:`value`); or trec_eval's sets ``official``, ``set`` and
        ``all_trec``, as its ``-m`` takes them, without what is no number of a query (``runid``,
        ``relstring``).

    Returns
    -------
    Calls, whose ``text`` is the canonical text.

    Raises
    ------
    UnknownMetric
        If no metric has the name.
    InvalidOption
        If an option is unknown or out of its range.

    Examples
    --------
    >>> import rankframe as rf
    >>> [call.text for call in rf.parse("ndcg_cut.5,10")]
    ['ndcg@5', 'ndcg@10']
    """
    return calls_in(text, among)


def calls_in(text: str, among: Mapping[str, Metric] = METRICS) -> list[Call]:
    """The calls that a text names; see :func:`parse`."""
    if not isinstance(text, str):
        raise InvalidOption(f"{shown(text)} is no metric; write text, as 'ndcg@10', or a function")
    if (
        (among is METRICS or among is COMPARED)
        and (name := text.strip()) in SETS
        and name not in METRICS
    ):
        return [call for one in texts_of_set(name) for call in calls_in(one)]
    if len(text) > MOST:
        raise InvalidOption(
            f"{shown(text)} is too long: the text of a metric has at most {MOST:,} letters"
        )
    if (among is METRICS or among is COMPARED) and (found := column_in(text)) is not None:
        return [call_of_value(found[0], dict(_inside(found[1], VALUE, text)))]
    parts: dict[str, str | None] = dict.fromkeys(("dotted", "at", "level"))
    if catboost := _CATBOOST.fullmatch(text):  # as NDCG:top=10;type=Exp
        name, options = catboost["name"], catboost["inside"].split(";")
        inside = ",".join(x for x in options if not x.startswith("hints="))  # of when to compute it
    elif match := _TEXT.fullmatch(text):
        parts = match.groupdict()
        name, inside = (
            match["name"] + match["minus"],
            parts["inside"] or "",
        )  # XGBoost's minus belongs to its name
    else:
        raise UnknownMetric(
            f"{shown(text)} is no metric; write a name, options and a cutoff, as in "
            "'rbp(p=0.95)@10'"
        )
    dotted, at, level = parts["dotted"], parts["at"], parts["level"]
    if at is None and inside.strip().isdecimal():
        inside, at = "", inside  # as precisionAt(5)
    try:
        entry, implied = find(name, text, among)
    except UnknownMetric:
        # P_5, ndcg_at_10, iprec_at_recall_0.30 (whose point was read as a dot)
        numbered = _NUMBERED.fullmatch(name if dotted is None else f"{name}.{dotted}")
        with suppress(UnknownMetric):
            if at is None and numbered:
                entry, implied = find(numbered["name"], text, among)
                return [_call(entry, implied, [], numbered["number"], level, inside, text)]
        for read in (
            texts_behind(name, among)
            if (dotted, at, level, inside) == (None, None, None, "")
            else ()
        ):
            with suppress(InvalidOption):
                calls = calls_in(read, among)
                if [flat_name(call.text) for call in calls] == [name]:
                    return calls
        raise
    if name in DEFAULTS and (at, inside, dotted) == (None, "", None):
        return [call_of(entry, (at,), implied) for at in DEFAULTS[name]]
    each: list[dict[str, object]] = [{}] if dotted is None else _dotted(name, entry, dotted, text)
    return [_call(entry, implied, [*options.items()], at, level, inside, text) for options in each]


def texts_of_set(name: str) -> Iterator[str]:
    """The texts of the numbers that a set of trec_eval's measures stands for, each with trec_eval's
    default parameters.
    """
    for measure in map(MEASURES.__getitem__, SETS[name]):
        if not measure.metric or measure.name in OF_TEXT:
            continue
        if measure.defaults:
            yield from (
                f"{measure.name}_{measure.shown(parameter)}" for parameter in measure.defaults
            )
        else:
            yield measure.name


def texts_of(text: str) -> list[str]:
    """The texts of single metrics in a request: ``ndcg@5,10`` and ``ndcg@5,ndcg@10`` name two.

    Commas in brackets belong to the metric, and so do the numbers of trec_eval's ``ndcg_cut.5,10``.
    """
    parts, depth, quote = [""], 0, ""
    for character in text:
        # an option may be a text with brackets, and a column one with commas
        if quote or (character in "'\"" and (depth or parts[-1].rstrip()[-1:] == ":")):
            quote = character if not quote else "" if character == quote else quote
        else:
            depth += (character in "({[") - (character in ")}]")
        if character == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += character
    texts: list[str] = []
    for part in map(str.strip, parts) if len(parts) > 1 else parts:
        if not part and len(parts) > 1:
            raise InvalidOption(f"{shown(text)} has a comma without a metric; write 'ndcg@10,map'")
        if not texts or NUMBER.fullmatch(part) is None:
            texts.append(part)
        elif before := WITH_CUTOFF.match(texts[-1]):
            texts.append(before[0] + part.removeprefix("@"))
        else:
            texts[-1] += f",{part}"
    return texts


def _call(
    entry: Metric,
    implied: Settings,
    given: Options,
    at: str | None,
    level: str | None,
    inside: str,
    text: str,
) -> Call:
    usual = dict(implied)
    k = usual.pop("k", None)  # the tool's cutoff, for a text without one
    given = [*usual.items(), *given, *_inside(inside, entry, text)]
    if level is not None:
        given.append(
            ("min_label" if "min_label" in entry.parameters else "relevant", _number(level, text))
        )
    options: dict[str, Any] = {}
    for name, value in given:
        if name in options:
            raise InvalidOption(f"{shown(text)} gives {name} twice")
        options[name] = value
    if at is not None:
        if entry.first is None:
            raise InvalidOption(f"{entry.name} takes no cutoff, but {shown(text)} gives one")
        if entry.first in options:
            raise InvalidOption(f"{shown(text)} gives {entry.first} twice")
        options[entry.first] = _number(at, text)
    if k is not None:
        options.setdefault("k", k)
    relevant = options.pop("relevant", None)
    if relevant is not None and entry.name == "num_retrieved":
        entry = METRICS["hits"]  # ir_measures' NumRet(rel=1)
    return call_of(entry, (), options, relevant)


def _inside(inside: str, entry: Metric, text: str) -> Options:
    """The options between the parentheses, with other tools' options translated."""
    options: Options = []
    for name, value in literals(inside, text, "'err(max_label=4)@20'"):
        if name == "judged_only":
            raise InvalidOption(
                f"{shown(text)}: judged_only is a policy of the table; say ", on(unjudged="drop")
            )
        ours = (
            (name, value)
            if name in entry.parameters
            else OTHER_VALUES.get((name, str(value)), (name, value))
        )
        if ours == ("border", value) and is_number(
            value
        ):  # in CatBoost, a label above it is relevant
            ours = ("relevant", math.nextafter(value, math.inf))
        if (
            name == "beta"
            and text.lstrip().lower().startswith("setf")
            and is_number(value)
            and value >= 0
        ):
            ours = (name, math.sqrt(value))  # ir_measures' SetF takes the square of beta
        if name == "min_rel_score" and entry.name == "ndcg":  # Evidently's gains are then 0 and 1
            options.append(("gain", "binary"))
        if ours is not None:
            options.append(
                (
                    ours[0] if ours[0] in entry.parameters else OTHER_OPTIONS.get(ours[0], ours[0]),
                    ours[1],
                )
            )
    return options


def literals(inside: str, text: str, example: str) -> Options:
    """The options and values between the parentheses of a text."""
    try:
        node = ast.parse(f"f({inside})", mode="eval").body
        if not isinstance(node, ast.Call) or node.args:
            raise ValueError
        return [(str(word.arg), _literal(word.value)) for word in node.keywords]
    except (
        SyntaxError,
        ValueError,
        TypeError,
        RecursionError,
        MemoryError,
    ):  # as of {[1]: 2}, of a thousand brackets
        raise InvalidOption(
            f"cannot read the options of {shown(text)}; write name=value, as in {example}"
        ) from None


def _literal(node: ast.expr) -> object:
    """A literal, or a bare word, such as ``min_max`` or ``min-max``, as the text that it is."""
    if (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Sub)
        and isinstance(node.right, ast.Name)
    ):
        return f"{_literal(node.left)}-{node.right.id}"
    return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)


def _dotted(name: str, entry: Metric, dotted: str, text: str) -> list[dict[str, object]]:
    """The options after the dot: ranx's ``.95``, trec_eval's ``.5,10`` and ``.p=.8``."""
    parts = dotted.split(",")
    if len(parts) > MOST_CUTOFFS:
        raise InvalidOption(
            f"{shown(text)} has {len(parts):,} numbers after the point; at most "
            f"{MOST_CUTOFFS:,} are read"
        )
    if name.lower() == "set_f":  # trec_eval's parameter is the square of beta
        squares = [_number(part, text) for part in parts]
        if not all(is_number(x) and x >= 0 for x in squares):
            raise InvalidOption(
                f"{shown(text)}: the number after set_F. is beta squared, 0 or more"
            )
        return [{"beta": math.sqrt(x)} for x in squares]
    if entry.dot is None:
        if entry.first is None:
            raise InvalidOption(f"{entry.name} takes no parameter, but {shown(text)} gives one")
        return [{entry.first: _number(part, text)} for part in parts]
    if "," in entry.dot:  # several options, in this order
        names = entry.dot.split(",")
        if len(parts) != len(names):
            raise InvalidOption(
                f"{shown(text)} gives {len(parts)} numbers; {entry.name} takes {', '.join(names)}"
            )
        return [{name: _number(part, text) for name, part in zip(names, parts, strict=True)}]
    digits = [part.removeprefix(f"{entry.dot}=") for part in parts]
    return [{entry.dot: _number(f".{d}" if d.isdigit() else d, text)} for d in digits]


def _number(digits: str, text: str) -> int | float:
    try:
        return int(digits) if re.fullmatch(r"[+-]?\d+", digits.strip()) else float(digits)
    except ValueError:
        raise InvalidOption(f"{shown(digits)} in {shown(text)} is no number") from None
