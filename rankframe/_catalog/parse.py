"""Text to calls: our own canonical text, and the spellings of ranx, ir_measures and trec_eval."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any

from .._support.methods import called_by_users
from .._support.option_kinds import ReadInside
from .._support.option_values import is_number
from .._table.trec_eval import DEFAULTS
from ..errors import InvalidOption, UnknownMetric, on, shown
from .call import Call, call_of
from .registry import METRICS, Metric, find
from .values import call_of_value, column_in

OTHER_OPTIONS = {"rel": "relevant", "gains": "gain", "cutoff": "k", "T": "target", "max_rel": "max_label"}
"""ir_measures' names of options, and ours."""

WITH_CUTOFF = re.compile(r".*@(?=[^@]*$)|[^(]*_(?=[\d.]+$)", re.DOTALL)
"""The part of a text before its cutoff, as in ndcg@10 or trec_eval's P_5."""

MOST = 100_000
"""The most letters of a text."""

NUMBER = re.compile(r"@?-?[\d.]+(=-?[\d.]+)?")
"""A further cutoff or parameter after a comma, optionally with a budget."""

_TEXT = re.compile(
    r"\s*(?P<name>[^\s(@.]+?)\s*(?:\((?P<inside>.*)\))?(?:\.(?P<dotted>[^@]*?))?(?:@(?P<at>[^@]*?))?(?:-l(?P<level>[\d.]+))?\s*",
    re.DOTALL,
)


@called_by_users
def parse(text: Annotated[str, ReadInside], among: Mapping[str, Metric] = METRICS) -> list[Call]:
    """The calls that a text names: one, or several where trec_eval's ``ndcg_cut.5,10`` names several cutoffs.

    ``evaluate`` and the other verbs also take texts that name several metrics, as ``ndcg@5,10,map``.

    Parameters
    ----------
    text
        A metric as in ``ndcg@10``, ``err(max_label=4)@20``, or in the spelling of ranx (``ndcg_burges@10``,
        ``rbp.95``, ``map@100-l2``), ir_measures (``nDCG(dcg='exp-log2')@10``, ``AP(rel=2)@5``) or trec_eval
        (``P_5``, ``ndcg_cut.5,10``, ``recip_rank``, ``iprec_at_recall_0.30``); or a column with a value per query, as
        ``value:faithfulness`` (see :func:`value`).

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
    if len(text) > MOST:
        raise InvalidOption(f"{shown(text)} is too long: the text of a metric has at most {MOST:,} letters")
    if among is METRICS and (found := column_in(text)) is not None:
        return [call_of_value(found[0], dict(_inside(found[1], text)))]
    match = _TEXT.fullmatch(text)
    if match is None:
        raise UnknownMetric(f"{shown(text)} is no metric; write a name, options and a cutoff, as in 'rbp(p=0.95)@10'")
    name, inside, dotted, at, level = match.groups()
    try:
        entry, implied = find(name, text, among)
    except UnknownMetric:
        # trec_eval: P_5, iprec_at_recall_0.30 (whose point was read as a dot)
        before, _, number = name.rpartition("_")
        number += "" if dotted is None else f".{dotted}"
        with suppress(UnknownMetric):
            if at is None and re.fullmatch(r"\d+(\.\d+)?", number):
                entry, implied = find(before, text, among)
                return [_call(entry, [*implied.items()], number, level, inside, text)]
        raise
    if name in DEFAULTS and (at, inside, dotted) == (None, None, None):
        return [call_of(entry, (at,), implied) for at in DEFAULTS[name]]
    each: list[dict[str, object]] = [{}] if dotted is None else _dotted(name, entry, dotted, text)
    return [_call(entry, [*implied.items(), *options.items()], at, level, inside, text) for options in each]


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
    entry: Metric, given: list[tuple[str, object]], at: str | None, level: str | None, inside: str | None, text: str
) -> Call:
    given += _inside(inside or "", text)
    if level is not None:
        given.append(("min_label" if "min_label" in entry.parameters else "relevant", _number(level, text)))
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
    relevant = options.pop("relevant", None)
    if relevant is not None and entry.name == "num_retrieved":
        entry = METRICS["hits"]  # ir_measures' NumRet(rel=1)
    return call_of(entry, (), options, relevant)


def _inside(inside: str, text: str) -> list[tuple[str, object]]:
    """The options between the parentheses, with other tools' options translated."""
    given = literals(inside, text, "'err(max_label=4)@20'")
    options = []
    for name, value in given:
        if name == "dcg" and value == "log2":
            continue  # this discount is our default; another parameter sets the gain
        if name == "dcg" and value == "exp-log2":
            name, value = "gain", "exponential"
        if name == "judged_only":
            raise InvalidOption(f"{shown(text)}: judged_only is a policy of the table; say ", on(unjudged="drop"))
        if (name, value) in (("min_rel", 0), ("relative", False)):
            continue  # the default of ir_measures, and of rankframe
        if (name, value) == ("relative", True):
            name, value = "divisor", "min(k,R)"
        options.append((OTHER_OPTIONS.get(name, name), value))
    return options


def literals(inside: str, text: str, example: str) -> list[tuple[str, object]]:
    """The options and values between the parentheses of a text."""
    try:
        node = ast.parse(f"f({inside})", mode="eval").body
        if not isinstance(node, ast.Call) or node.args:
            raise ValueError
        return [(str(word.arg), _literal(word.value)) for word in node.keywords]
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):  # as of {[1]: 2}, of a thousand brackets
        raise InvalidOption(f"cannot read the options of {shown(text)}; write name=value, as in {example}") from None


def _literal(node: ast.expr) -> object:
    """A literal, or a bare word, such as ``min_max`` or ``min-max``, as the text that it is."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and isinstance(node.right, ast.Name):
        return f"{_literal(node.left)}-{node.right.id}"
    return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)


def _dotted(name: str, entry: Metric, dotted: str, text: str) -> list[dict[str, object]]:
    """The options after the dot: ranx's ``.95``, trec_eval's ``.5,10`` and ``.p=.8``."""
    parts = dotted.split(",")
    if name.lower() == "set_f":  # trec_eval's parameter is the square of beta
        squares = [_number(part, text) for part in parts]
        if not all(is_number(x) and x >= 0 for x in squares):
            raise InvalidOption(f"{shown(text)}: the number after set_F. is beta squared, 0 or more")
        return [{"beta": math.sqrt(x)} for x in squares]
    if entry.dot is None:
        if entry.first is None:
            raise InvalidOption(f"{entry.name} takes no parameter, but {shown(text)} gives one")
        return [{entry.first: _number(part, text)} for part in parts]
    if "," in entry.dot:  # several options, in this order
        names = entry.dot.split(",")
        if len(parts) != len(names):
            raise InvalidOption(f"{shown(text)} gives {len(parts)} numbers; {entry.name} takes {', '.join(names)}")
        return [{name: _number(part, text) for name, part in zip(names, parts, strict=True)}]
    digits = [part.removeprefix(f"{entry.dot}=") for part in parts]
    return [{entry.dot: _number(f".{d}" if d.isdigit() else d, text)} for d in digits]


def _number(digits: str, text: str) -> int | float:
    try:
        return int(digits) if re.fullmatch(r"[+-]?\d+", digits.strip()) else float(digits)
    except ValueError:
        raise InvalidOption(f"{shown(digits)} in {shown(text)} is no number") from None
