"""The policies that metrics follow: a field for each, with values, default and description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, get_args, get_type_hints

from .._support.option_kinds import check, kind_of
from .._support.option_values import Range
from ..errors import Code, InvalidOption, on, option
from .ties import TIE_RULES, TieRule, Ties

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

GREATEST = 1e280
"""The greatest label, gain or weight: sums over any table of these, times ranks, stay below the
largest float."""

Unjudged: TypeAlias = Literal["nonrelevant", "drop", "bounds"]
ScoresAs: TypeAlias = Literal["as_given", "float32"]
Unretrieved: TypeAlias = Literal["missed", "drop"]
NoRelevant: TypeAlias = Literal["zero", "null", "one"]
NothingRetrieved: TypeAlias = Literal["count", "null"]
Ranks: TypeAlias = Literal["order", "as_given"]
Estimate: TypeAlias = Literal["ips", "snips", "clipped"]
Label: TypeAlias = Annotated[float, Range(least=0, most=GREATEST)]
Count: TypeAlias = Annotated[int, Range(least=0)]
Cutoff: TypeAlias = Annotated[int, Range(least=1)]
Propensity: TypeAlias = Annotated[float, Range(above=0, most=1)]
Ends: TypeAlias = Annotated[
    tuple[int, int], kind_of(Sequence[Annotated[int, Range(least=0, most=GREATEST)]])
]


@dataclass(frozen=True)
class Option:
    """An option that users give.

    Attributes
    ----------
    values
        An annotation of allowed values.
    kinds
        Allowed types or words, without ``None``.
    default
        The value if it is not given.
    says
        A one-line description.
    """

    values: object
    kinds: tuple[object, ...]
    default: object
    says: str

    @property
    def words(self) -> tuple[str, ...]:
        """The allowed words, if any."""
        return tuple(kind for kind in self.kinds if isinstance(kind, str))


@lru_cache
def declared(of: type[DataclassInstance]) -> Mapping[str, Option]:
    """The fields with a description, by name."""
    values = get_type_hints(of, include_extras=True)
    plain = get_type_hints(of)
    options = {}
    for field in fields(of):
        name = field.name
        metadata = getattr(values[name], "__metadata__", ())
        texts = [x for x in metadata if isinstance(x, str)]
        if texts:
            kinds = get_args(plain[name]) or (plain[name],)
            without_none = tuple(kind for kind in kinds if kind is not NoneType)
            options[name] = Option(values[name], without_none, field.default, texts[0])
    return options


def read_fields(of: DataclassInstance) -> None:
    """Refuse values that a field does not allow; store others as Python's types."""
    for name, field in declared(of.__class__).items():
        if kind_of(field.values) is not None:
            object.__setattr__(of, name, check(name, getattr(of, name), field.values))


FACTS = ("ascending", "unjudged_labels", "collection_size")
"""The policies that describe the data: a tool's convention keeps them. The others are choices,
which it makes anew."""


@dataclass(frozen=True)
class Policies:
    """The rules for counting. Methods, the command line, checks and lists read these fields."""

    relevant: Annotated[Label, "the least label that counts as relevant"] = 1
    ascending: Annotated[
        bool, "whether the lowest score is the best, as of distances and ranks"
    ] = False
    ties: Annotated[Ties, "the order of documents with equal scores"] = "doc_desc"
    unjudged: Annotated[Unjudged, "how retrieved documents without a judgment count"] = (
        "nonrelevant"
    )
    unjudged_labels: Annotated[
        Ends | None, "the least and the greatest label of unjudged documents, for bounds"
    ] = None
    unretrieved: Annotated[Unretrieved, "how judged documents that were not retrieved count"] = (
        "missed"
    )
    no_relevant: Annotated[NoRelevant, "the value of a query without relevant documents"] = "zero"
    nothing_retrieved: Annotated[
        NothingRetrieved, "the value of a query with nothing retrieved"
    ] = "count"
    depth: Annotated[Cutoff | None, "how many documents of each ranking count as retrieved"] = None
    collection_size: Annotated[Count | None, "the number of documents in the collection"] = None
    scores: Annotated[ScoresAs, "the precision in which scores are compared"] = "as_given"
    ranks: Annotated[
        Ranks, "whether a column of ranks gives their order or the ranks themselves"
    ] = "order"
    estimate: Annotated[Estimate, "how clicks with propensities are weighted"] = "ips"
    clip: Annotated[Propensity, "the least propensity that counts if the estimate is clipped"] = 0.1

    @property  # not cached, as a rule with a function of its own cannot be pickled
    def tie_rule(self) -> TieRule:
        """The row of the tie rule."""
        return TIE_RULES[self.ties]

    @cached_property
    def drops_first(self) -> bool:
        """Whether unjudged documents are dropped before ranking."""
        return self.unjudged == "drop" and self.depth is None

    @cached_property
    def drops_after_cut(self) -> bool:
        """Whether unjudged documents are dropped after the cut at `depth`, as in trec_eval."""
        return self.unjudged == "drop" and self.depth is not None

    @cached_property
    def orders_by_label(self) -> bool:
        """Whether ranks depend on labels."""
        return self.tie_rule.by_label or self.unjudged == "drop"

    def __post_init__(self) -> None:
        read_fields(self)
        labels = self.unjudged_labels
        if labels is not None and not (len(labels) == 2 and labels[0] <= labels[1]):
            says = ": write the least and the greatest label of unjudged documents, as "
            raise InvalidOption(option(unjudged_labels=labels), says, Code("(0, 3)", command="0,3"))
        if self.unjudged == "bounds" and (self.tie_rule.by_label or self.tie_rule.averages):
            raise InvalidOption(
                option(ties=self.ties),
                " goes by labels, which ",
                option(unjudged="bounds"),
                " leaves open; set another rule, as in ",
                on(ties="doc_desc"),
            )
        if self.unjudged == "bounds" and self.tie_rule.shares:
            says = (
                " gives tied documents one rank, for which no bounds are known; set another "
                "rule, as in "
            )
            raise InvalidOption(option(ties=self.ties), says, on(ties="doc_desc"))
        if self.depth is not None and self.tie_rule.averages:
            says = "depth cuts off some orders of tied documents; with "
            raise InvalidOption(says, option(ties=self.ties), " say a cutoff: ndcg@10")


IN_WORDS: Mapping[str, Mapping[object, str]] = {
    "relevant": {...: "the least relevant label is {}"},
    "ties": {name: rule.says for name, rule in TIE_RULES.items()},
    "unjudged": {
        "nonrelevant": "unjudged documents are not relevant",
        "drop": "unjudged documents are left out of the ranking",
        "bounds": "unjudged documents may turn out to have any label",
    },
    "unjudged_labels": {
        None: "the labels of unjudged documents are not limited",
        ...: "unjudged documents have labels {}",
    },
    "unretrieved": {
        "missed": "relevant documents that were not retrieved count as missed",
        "drop": "ideals and numbers of relevant documents are made of retrieved documents only",
    },
    "no_relevant": {
        "zero": "a query without a relevant document counts 0",
        "null": "a query without a relevant document is left out",
        "one": "a query without a relevant document counts 1",
    },
    "nothing_retrieved": {
        "count": "a query with nothing retrieved counts with nothing found",
        "null": "a query with nothing retrieved is left out",
    },
    "depth": {None: "all of a ranking counts", ...: "the first {} documents of a ranking count"},
    "collection_size": {
        None: "the size of the collection is unknown to it",
        ...: "the collection has {} documents",
    },
    "ascending": {False: "the highest score is the best", True: "the lowest score is the best"},
    "scores": {
        "as_given": "scores are compared with all their digits",
        "float32": "scores are compared as 32-bit floats",
    },
    "ranks": {
        "order": "ranks are counted along the list, without gaps",
        "as_given": "ranks of a column of ranks count as they are given",
    },
    "estimate": {
        "ips": "a click counts 1 over its propensity",
        "snips": "a click counts 1 over its propensity, as a share of the sum over all clicks",
        "clipped": "a click counts 1 over its propensity, cut off at 1 over the least that counts",
    },
    "clip": {...: "the least propensity that counts in a clipped estimate is {}"},
}
"""The effect of each value of a policy, as a clause; ``...`` means any other value, which replaces
{}."""
