"""Text to calls: our own canonical text, and the spellings of ranx, ir_measures and trec_eval."""

from __future__ import annotations

import ast
import math
import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any

from .._support.methods import called_by_users
from .._support.option_kinds import ReadInside
from .._support.option_values import is_number
from .._table.trec_eval import DEFAULTS
from ..errors import Code, InvalidOption, RankframeError, UnknownMetric, on, shown
from .call import Call, call_of
from .find_by_name import find
from .flat_names import flat_name, unflattened
from .registry import METRICS, Metric

OTHER_OPTIONS = {"rel": "relevant", "gains": "gain", "cutoff": "k", "T": "target", "max_rel": "max_label"}
"""ir_measures' names of options, and ours."""

WITH_CUTOFF = re.compile(r".*@(?=[^@]*$)|[^(]*_(?=[\d.]+$)", re.DOTALL)
"""The part of a text before its cutoff, as in ndcg@10 or trec_eval's P_5."""

MOST = 100_000

LONGEST = 500
"""The longest text, in letters, that is searched for several metrics or a flat name."""

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
        (``P_5``, ``ndcg_cut.5,10``, ``recip_rank``, ``iprec_at_recall_0.30``).

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
        unpack = "; unpack a list, as evaluate(*metrics)" if isinstance(text, (list, tuple)) else ""
        raise InvalidOption(
            f"{shown(text)} is no metric; write text, as 'ndcg@10', or an expression, as rf.expr.ndcg(k=10){unpack}"
        )
    if len(text) > MOST:
        raise InvalidOption(f"{shown(text)} is too long: the text of a metric has at most {MOST:,} letters")
    try:
        return _read(text, among)
    except RankframeError:
        several = _several(text, among)
        meant = None if several else _of_flat(text, among)
        if meant is not None:
            raise UnknownMetric(f"unknown metric {shown(text)}. Did you mean {meant!r}?") from None
        if not several:
            raise
    each = Code(
        ", ".join(map(repr, several)),
        command=" ".join(f"-m {shlex.quote(one)}" for one in several),
        phrase="write one text for each: {}",
    )
    raise InvalidOption(f"{text!r} names several metrics; ", each)


def _several(text: str, among: Mapping[str, Metric]) -> list[str]:
    """Split a text at commas or blanks into metric texts; none unless each part can be parsed."""
    if len(text) > LONGEST:
        return []
    try:
        texts = texts_of(re.sub(r"[,;\s]+(?![^({]*[)}])", ",", text.strip()))
        return texts if len(texts) > 1 and all(_read(one, among) for one in texts) else []
    except RankframeError:
        return []


def _of_flat(name: str, among: Mapping[str, Metric]) -> str | None:
    """The text with this flat name, if any."""
    if len(name) > LONGEST or re.fullmatch(r"[a-z_][a-z0-9_]*", name) is None:
        return None
    for text in unflattened(name, among):
        with suppress(RankframeError):
            (call,) = _read(text, among)
            if flat_name(call.text) == name:
                return call.text
    return None


def texts_of(text: str) -> list[str]:
    """The texts of single metrics in a request: ``ndcg@5,10`` and ``ndcg@5,ndcg@10`` name two.

    Commas in brackets belong to the metric, and so do the numbers of trec_eval's ``ndcg_cut.5,10``.
    """
    parts, depth, quote = [""], 0, ""
    for character in text:
        if quote or (depth and character in "'\""):  # an option may be a text with brackets
            quote = character if not quote else "" if character == quote else quote
        else:
            depth += (character in "({[") - (character in ")}]")
        if character == "," and not depth:
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


def _read(text: str, among: Mapping[str, Metric]) -> list[Call]:
    match = _TEXT.fullmatch(text)
    if match is None:
        joined = re.sub(r"[\s-]+", "_", text.strip())
        meant = f". Did you mean {joined!r}?" if joined != text and _is_metric(joined, among) else ""
        raise UnknownMetric(
            f"{shown(text)} is no metric; write a name, options and a cutoff, as in 'rbp(p=0.95)@10'{meant}"
        )
    name, at = match["name"], match["at"]
    if at is not None and (behind := re.fullmatch(r"(.*?)\s*(\(.*\))", at)):
        raise InvalidOption(
            f"in {shown(text)} options stand before the cutoff: write {f'{name}{behind[2]}@{behind[1]}'!r}"
        )
    try:
        entry, implied = find(name, text, among)
    except UnknownMetric:
        # trec_eval: P_5, iprec_at_recall_0.30 (whose point was read as a dot)
        name, _, number = name.rpartition("_")
        at_rank = number if match["dotted"] is None else f"{number}.{match['dotted']}"
        if at is not None or re.fullmatch(r"\d+(\.\d+)?", at_rank) is None:
            raise
        with suppress(UnknownMetric):
            entry, implied = find(name, text, among)
            return [_call(entry, implied, at_rank, match["level"], match["inside"], text)]
        raise
    if name.lower() == "set_f" and match["dotted"] is not None:
        squares = [_number(part, text) for part in match["dotted"].split(",")]
        return [_call(entry, implied, at, match["level"], match["inside"], text, beta=_root(x, text)) for x in squares]
    if match["dotted"] is not None:
        return [
            _call(entry, implied, at, match["level"], match["inside"], text, **d)
            for d in _dotted(entry, match["dotted"], text)
        ]
    if name in DEFAULTS and at is None and match["inside"] is None:
        return [call_of(entry, (at,), implied) for at in DEFAULTS[name]]
    return [_call(entry, implied, at, match["level"], match["inside"], text)]


def _call(
    entry: Metric,
    implied: Mapping[str, object],
    at: str | None,
    level: str | None,
    inside: str | None,
    text: str,
    **dotted: object,
) -> Call:
    given = [*implied.items(), *dotted.items(), *_inside(inside or "", text)]
    if level is not None:
        given.append(("min_label" if "min_label" in entry.parameters else "relevant", _number(level, text)))
    options: dict[str, Any] = {}
    for name, value in given:
        if name in options:
            raise InvalidOption(f"{shown(text)} says {name} twice; give each option once")
        options[name] = value
    if at is not None:
        if entry.first is None:
            raise InvalidOption(f"{entry.name} takes no cutoff, but {shown(text)} gives one; write {entry.name!r}")
        if entry.first in options:
            raise InvalidOption(f"{shown(text)} says {entry.first} twice")
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
            if any(other == "gains" for other, _ in given):
                raise InvalidOption(
                    f"{shown(text)} says the gain twice; give the mapping alone, with the gains it is to have"
                )
            name, value = "gain", "exponential"
        if name == "judged_only":
            raise InvalidOption(f"{shown(text)}: judged_only is a policy of the table; say ", on(unjudged="drop"))
        if name == "min_rel":
            if value != 0:
                raise InvalidOption(
                    f"{shown(text)}: labels count from 0 up; for min_rel={value!r} give the gains, {{label: gain}}"
                )
            continue
        if name == "relative":
            if not value:
                continue
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


def _dotted(entry: Metric, dotted: str, text: str) -> list[dict[str, object]]:
    """The options after the dot: ranx's ``.95``, trec_eval's ``.5,10`` and ``.p=.8``."""
    parts = dotted.split(",")
    if entry.dot is None:
        if entry.first is None:
            raise InvalidOption(f"{entry.name} takes no parameter, but {shown(text)} gives one; write {entry.name!r}")
        return [{entry.first: _number(part, text)} for part in parts]
    if "," in entry.dot:  # several options, in this order
        names = entry.dot.split(",")
        if len(parts) != len(names):
            raise InvalidOption(
                f"{shown(text)} gives {len(parts)} numbers; {entry.name} takes {len(names)}: {', '.join(names)}"
            )
        return [{name: _number(part, text) for name, part in zip(names, parts, strict=True)}]
    digits = [part.removeprefix(f"{entry.dot}=") for part in parts]
    return [{entry.dot: _number(f".{d}" if d.isdigit() else d, text)} for d in digits]


def _root(square: float, text: str) -> float:
    """trec_eval's parameter of ``set_F`` is the square of beta."""
    if not (is_number(square) and square >= 0):
        raise InvalidOption(f"{shown(text)}: the number after set_F. is beta squared, 0 or more")
    return math.sqrt(square)


def _is_metric(text: str, among: Mapping[str, Metric]) -> bool:
    with suppress(RankframeError):
        return bool(calls_in(text, among))
    return False


def _number(digits: str, text: str) -> int | float:
    if not digits.strip():
        raise InvalidOption(f"{shown(text)} has no number after '@'; write a rank or a level, as in 'ndcg@10'")
    try:
        return int(digits) if re.fullmatch(r"[+-]?\d+", digits.strip()) else float(digits)
    except ValueError:
        raise InvalidOption(
            f"{shown(digits)} in {shown(text)} is no number; write a rank or a level, as in 'ndcg@10'"
        ) from None
