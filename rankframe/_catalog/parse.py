"""Text to calls: our own canonical text, and the spellings of other tools."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Annotated, Any, NamedTuple, TypeAlias

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
    "rel": "relevant", "gains": "gain", "cutoff": "k", "T": "target", "max_rel": "max_label",
    "top": "k", "top_k": "k", "K": "k", "n": "k", "min_rel_score": "relevant", "patience": "p",
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
    r"\s*(?P<name>[^\s(@.]+?)\s*(?:\((?P<inside>.*)\))?(?:\.(?P<dotted>[^@]*?))?"
    r"(?:@(?:\w+=)?(?P<at>[^@]*?))?(?P<minus>-?)"
    r"(?:-l(?P<level>[\d.]+))?\s*",
    re.DOTALL,
)
_CATBOOST = re.compile(r"\s*(?P<name>\w+:)(?!type=Ranking)(?P<inside>[^()@]*)")
_NUMBERED = re.compile(r"(?P<name>.+?)(?:_at)?_(?P<number>\d+(?:\.\d+)?)", re.DOTALL)


class Parts(NamedTuple):
    """The parts of the text of one metric, as ``rbp.95`` or ``ndcg(gain=linear)@10-l2``.

    Attributes
    ----------
    name, inside
        The name, and the options in brackets.
    dotted, at, level
        What stands after a dot, after ``@``, and after ranx's ``-l``; None where the text has none.
    """

    name: str
    inside: str = ""
    dotted: str | None = None
    at: str | None = None
    level: str | None = None

    @property
    def is_bare(self) -> bool:
        """Whether it has no options and no cutoff."""
        return not self.inside and self.at is None and self.dotted is None


@called_by_users
def parse(text: Annotated[str, ReadInside], among: Mapping[str, Metric] = METRICS) -> list[Call]:
    """The calls that a text names: one, or several as in trec_eval's ``ndcg_cut.5,10``.

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
    of_queries = among is METRICS or among is COMPARED
    name = text.strip()
    if of_queries and name in SETS and name not in METRICS:
        return [call for one in texts_of_set(name) for call in calls_in(one)]
    if len(text) > MOST:
        raise InvalidOption(
            f"{shown(text)} is too long: the text of a metric has at most {MOST:,} letters"
        )
    named_column = column_in(text) if of_queries else None
    if named_column is not None:
        column, options = named_column
        return [call_of_value(column, dict(_inside(options, VALUE, text)))]
    parts = _parts_of(text)
    if parts.at is None and parts.inside.strip().isdecimal():  # as precisionAt(5)
        parts = parts._replace(at=parts.inside, inside="")
    try:
        entry, implied = find(parts.name, text, among)
    except UnknownMetric:
        calls = _calls_by_other_forms(parts, text, among)
        if not calls:
            raise
        return calls
    if parts.name in DEFAULTS and parts.is_bare:
        return [call_of(entry, (at,), implied) for at in DEFAULTS[parts.name]]
    if parts.dotted is None:
        return [_call(entry, implied, [], parts, text)]
    each = _dotted(parts.name, entry, parts.dotted, text)
    return [_call(entry, implied, [*options.items()], parts, text) for options in each]


def _parts_of(text: str) -> Parts:
    """The parts of the text of one metric."""
    catboost = _CATBOOST.fullmatch(text)
    if catboost is not None:  # as NDCG:top=10;type=Exp
        options = catboost["inside"].split(";")
        # hints say when to compute it
        inside = ",".join(x for x in options if not x.startswith("hints="))
        return Parts(catboost["name"], inside)
    match = _TEXT.fullmatch(text)
    if match is None:
        raise UnknownMetric(
            f"{shown(text)} is no metric; write a name, options and a cutoff, as in "
            "'rbp(p=0.95)@10'"
        )
    name = match["name"] + match["minus"]  # XGBoost's minus belongs to its name
    return Parts(name, match["inside"] or "", match["dotted"], match["at"], match["level"])


def _calls_by_other_forms(parts: Parts, text: str, among: Mapping[str, Metric]) -> list[Call]:
    """The calls of a name that ends with a cutoff, or of a column's flat name; empty if neither."""
    name = parts.name
    if parts.dotted is not None:
        name = f"{name}.{parts.dotted}"
    # P_5, ndcg_at_10, iprec_at_recall_0.30 (whose point was read as a dot)
    numbered = _NUMBERED.fullmatch(name)
    if parts.at is None and numbered is not None:
        with suppress(UnknownMetric):
            entry, implied = find(numbered["name"], text, among)
            return [_call(entry, implied, [], parts._replace(at=numbered["number"]), text)]
    if parts.is_bare and parts.level is None:
        for candidate in texts_behind(name, among):
            with suppress(InvalidOption):
                calls = calls_in(candidate, among)
                if [flat_name(call.text) for call in calls] == [name]:
                    return calls
    return []


def texts_of_set(name: str) -> Iterator[str]:
    """The texts of the numbers in a set of trec_eval's measures, with its default parameters."""
    for measure_name in SETS[name]:
        measure = MEASURES[measure_name]
        if not measure.metric or measure_name in OF_TEXT:
            continue
        if not measure.defaults:
            yield measure_name
        for parameter in measure.defaults:
            yield f"{measure_name}_{measure.shown(parameter)}"


def texts_of(text: str) -> list[str]:
    """The texts of single metrics in a request: ``ndcg@5,10`` and ``ndcg@5,ndcg@10`` name two.

    Commas in brackets belong to the metric, and so do the numbers of trec_eval's ``ndcg_cut.5,10``.
    """
    parts = _between_commas(text)
    if len(parts) == 1:
        return parts
    texts: list[str] = []
    for part in map(str.strip, parts):
        if not part:
            raise InvalidOption(f"{shown(text)} has a comma without a metric; write 'ndcg@10,map'")
        if not texts or NUMBER.fullmatch(part) is None:
            texts.append(part)
        elif before := WITH_CUTOFF.match(texts[-1]):
            texts.append(before[0] + part.removeprefix("@"))
        else:
            texts[-1] += f",{part}"
    return texts


def _between_commas(text: str) -> list[str]:
    """The parts of a text between commas that are in no brackets and no quotes."""
    parts = [""]
    depth = 0
    quote = ""
    for character in text:
        is_quote = character in "'\""
        if quote:
            if character == quote:
                quote = ""
        # an option may be a text with brackets, and a column one with commas
        elif is_quote and (depth or parts[-1].rstrip().endswith(":")):
            quote = character
        elif character in "({[":
            depth += 1
        elif character in ")}]":
            depth -= 1
        if character == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += character
    return parts


WHOLE_LISTS = ("all", "full", "inf", "max", "none")
"""The words that people try as the cutoff of a whole list."""


def _call(entry: Metric, implied: Settings, given: Options, parts: Parts, text: str) -> Call:
    usual = dict(implied)
    k = usual.pop("k", None)  # the tool's cutoff, for a text without one
    every = [*usual.items(), *given, *_inside(parts.inside, entry, text)]
    if parts.level is not None:
        level = "min_label" if "min_label" in entry.parameters else "relevant"
        every.append((level, _number(parts.level, text)))
    options: dict[str, Any] = {}
    for name, value in every:
        if name in options:
            raise InvalidOption(f"{shown(text)} gives {name} twice")
        options[name] = value
    if parts.at is not None:
        if entry.first is None:
            raise InvalidOption(f"{entry.name} takes no cutoff, but {shown(text)} gives one")
        if entry.first in options:
            raise InvalidOption(f"{shown(text)} gives {entry.first} twice")
        if parts.at.strip().lower() in WHOLE_LISTS:
            without = text.replace(f"@{parts.at}", "")
            says = f"a metric without a cutoff reads the whole list; write {without!r}"
            raise InvalidOption(f"{parts.at!r} in {shown(text)} is no number, and {says}")
        options[entry.first] = _number(parts.at, text)
    if k is not None:
        options.setdefault("k", k)
    relevant = options.pop("relevant", None)
    if relevant is not None and entry.name == "num_retrieved":
        entry = METRICS["hits"]  # ir_measures' NumRet(rel=1)
    return call_of(entry, (), options, relevant)


def _inside(inside: str, entry: Metric, text: str) -> Options:
    """The options between the parentheses, with other tools' options translated."""
    options: Options = []
    of_set_f = text.lstrip().lower().startswith("setf")
    for given_name, given in literals(inside, text, "'err(max_label=4)@20'"):
        if given_name == "judged_only":
            raise InvalidOption(
                f"{shown(text)}: judged_only is a policy of the table; say ", on(unjudged="drop")
            )
        name = given_name
        value = given
        if name not in entry.parameters:
            ours = OTHER_VALUES.get((name, str(value)), (name, value))
            if ours is None:
                continue
            name, value = ours
        if name == "border" and is_number(value):  # in CatBoost, a label above it is relevant
            name = "relevant"
            value = math.nextafter(value, math.inf)
        if name == "beta" and of_set_f and is_number(value) and value >= 0:
            value = math.sqrt(value)  # ir_measures' SetF takes the square of beta
        if given_name == "min_rel_score" and entry.name == "ndcg":
            options.append(("gain", "binary"))  # Evidently's gains are then 0 and 1
        if name not in entry.parameters:
            name = OTHER_OPTIONS.get(name, name)
        options.append((name, value))
    return options


def literals(inside: str, text: str, example: str) -> Options:
    """The options and values between the parentheses of a text."""
    try:
        node = ast.parse(f"f({inside})", mode="eval").body
        if not isinstance(node, ast.Call) or node.args:
            raise ValueError
        return [(str(word.arg), _literal(word.value)) for word in node.keywords]
    # as of {[1]: 2}, of a thousand brackets
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise InvalidOption(
            f"cannot read the options of {shown(text)}; write name=value, as in {example}"
        ) from None


def _literal(node: ast.expr) -> object:
    """A literal, or a bare word, such as ``min_max`` or ``min-max``, as the text that it is."""
    if isinstance(node, ast.Name):
        return node.id
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return ast.literal_eval(node)
    word = node.right
    return (
        f"{_literal(node.left)}-{word.id}" if isinstance(word, ast.Name) else ast.literal_eval(node)
    )


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
        numbers = [_number(part, text) for part in parts]
        return [dict(zip(names, numbers, strict=True))]
    options: list[dict[str, object]] = []
    for part in parts:
        digits = part.removeprefix(f"{entry.dot}=")
        if digits.isdigit():
            digits = f".{digits}"
        options.append({entry.dot: _number(digits, text)})
    return options


def _number(digits: str, text: str) -> int | float:
    is_whole = re.fullmatch(r"[+-]?\d+", digits.strip())
    try:
        return int(digits) if is_whole else float(digits)
    except ValueError:
        raise InvalidOption(f"{shown(digits)} in {shown(text)} is no number") from None
