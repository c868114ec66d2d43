"""A ranker's setup: the roles of columns, the policies, the tool to reproduce, and how to run."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from types import EllipsisType, NoneType
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

from .._support.byte_sizes import bytes_of
from ..errors import Code, InvalidOption, on, option
from .background import NO_TABLES, Background
from .conventions import convention_of
from .name_presets import FLAT, LABELS_NAMED_AS_SCORES, roles_of, texts_of_presets, whole_name
from .policies import FACTS, Policies, read_fields
from .roles import ROLES
from .steps import renamed

if TYPE_CHECKING:
    from typing import Self

DEFAULT_DOC = "doc_id"


@dataclass(frozen=True)
class Roles:
    """The column of each role, as `ROLES` declares them."""

    query: tuple[str, ...] = ("query_id",)
    doc: str | EllipsisType | None = ...  # "doc_id" if the table has it
    score: str = "score"
    label: str = "label"
    subtopic: str | None = None
    weight: str | None = None
    propensity: str | None = None
    stratum: str | None = None
    inclusion: str | None = None
    subtopic_weight: str | None = None
    cost: str | None = None
    category: str | None = None
    group: str | None = None
    features: tuple[str, ...] | None = None
    base: str | None = None

    @cached_property
    def doc_name(self) -> str | None:
        """The document column's name; the default one may be missing from a table."""
        return DEFAULT_DOC if isinstance(self.doc, EllipsisType) else self.doc

    def doc_in(self, names: Container[str]) -> str | None:
        """The document column of a table: None if default and missing; a named one even if
        missing.
        """
        return None if self.doc is ... and DEFAULT_DOC not in names else self.doc_name

    def of(self, role: str) -> tuple[str, ...]:
        """The columns of a role."""
        named = self.doc_name if role == "doc" else getattr(self, role)
        return named if isinstance(named, tuple) else () if named is None else (named,)

    @cached_property
    def named(self) -> Sequence[tuple[str, str]]:
        """The columns that have a role, each with its role."""
        return [(name, role) for role in ROLES for name in self.of(role)]

    @property
    def names(self) -> set[str]:
        """All columns that have a role."""
        return {name for name, _ in self.named}

    @property
    def properties(self) -> dict[str, str]:
        """The columns of properties of documents, which `items` may hold, with their roles."""
        return {name: role for role, row in ROLES.items() if row.of_items for name in self.of(role)}

    @property
    def lists(self) -> set[str]:
        """The columns that may hold lists."""
        return {name for role, row in ROLES.items() if row.lists for name in self.of(role)}

    def __post_init__(self) -> None:
        for role, row in ROLES.items():
            given: Any = getattr(self, role)
            if given is not None and not (role == "doc" and given is ...):
                object.__setattr__(
                    self, role, _names(given, role) if row.several else _name(given, role)
                )
        identifying = [
            name for role, row in ROLES.items() if row.identifies for name in self.of(role)
        ]
        for name in identifying:
            if [*identifying, self.score, self.label].count(name) > 1:
                raise InvalidOption(
                    f"column {name!r} is named for two roles; each role needs a column of its own"
                )


def _names(given: object, role: str) -> tuple[str, ...]:
    """The names of several columns, or of one."""
    names = tuple(_name(x, role) for x in (given if isinstance(given, (list, tuple)) else [given]))
    if not names:
        example = ROLES[role].example or "query_id"
        raise InvalidOption(
            option(**{role: []}),
            " names no column; name at least one, as ",
            option(**{role: example}),
        )
    return names


def _name(given: object, role: str) -> str:
    """The name of a column, in which half of a character is spelled out, as in columns of pandas;
    refused if it is none.
    """
    if not isinstance(given, str):
        raise InvalidOption(
            option(**{role: given}), " is no column name; a column is named by its text"
        )
    if given == "*" or (given.startswith("^") and given.endswith("$")):
        says = f"{given!r} is a pattern of columns to Polars; rename the column"
        raise InvalidOption(says, renamed({given: "..."}))
    return given.encode(errors="backslashreplace").decode()


@dataclass(frozen=True)
class Running:
    """How a call on a LazyFrame runs; no value depends on it."""

    memory_limit: Annotated[int | None, "how many bytes a call may take"] = None
    grouped: Annotated[bool, "whether the rows of each query come in one run"] = False

    def __post_init__(self) -> None:
        if self.memory_limit is not None:
            object.__setattr__(self, "memory_limit", bytes_of(self.memory_limit, "memory_limit"))
        read_fields(self)


class MetricCall(Protocol):
    """The parts of a call that a convention reads."""

    @property
    def metric(self) -> Any: ...

    @property
    def given(self) -> frozenset[str]: ...

    def with_defaults(self, options: Mapping[str, object]) -> Self: ...


C = TypeVar("C", bound=MetricCall)


@dataclass(frozen=True)
class Setup:
    """The options of `on`, for all metrics of a table.

    Attributes
    ----------
    roles, policies, running, background
        The columns, the rules for counting, how to run, and the tables beside the ranker's own.
    convention
        A tool that has options and policies of its own for some metrics; `resolve` puts them in
        place.
    given
        The options among `RECORDED` that were named. No convention changes such a policy; such a
        label has to exist, while that of a preset may be missing from judgments; and scores named
        after ranks have the highest first again. A direction that was named is not suspected.
        `JOINED` is among them where a verb joined the judgments itself.
    flat
        Whether columns of metrics have names that SQL takes without quotes.
    labels_as_scores
        Whether judgments may hold the labels in a column with the name of the scores, as those of
        some presets do.
    """

    roles: Roles = Roles()
    policies: Policies = Policies()  # noqa: RUF009 - frozen
    running: Running = Running()
    background: Background = NO_TABLES
    convention: Annotated[
        str | None, "count as this tool does; policies that are given with it take precedence"
    ] = None
    given: frozenset[str] = frozenset()
    flat: bool = False
    labels_as_scores: bool = False

    def __post_init__(self) -> None:
        self._refuse_beside_clicks()
        self._refuse_other_ranks()
        if self.policies.unjudged == "bounds" and self.roles.weight is not None:
            says = ": no bounds are known for weighted documents; set another rule, as "
            raise InvalidOption(option(weight=self.roles.weight), says, on(unjudged="nonrelevant"))

    @property
    def takes_ranks(self) -> bool:
        """Whether a column of ranks was named, and its ranks count as they are given."""
        return (
            self.policies.ranks == "as_given" and self.policies.ascending and "rank" in self.given
        )

    def _refuse_other_ranks(self) -> None:
        """Refuse policies that number the documents anew beside ranks that count as given."""
        policies = self.policies
        clash: dict[str, object] = {}
        if policies.unjudged != Policies.unjudged:
            clash["unjudged"] = policies.unjudged
        if policies.tie_rule.averages:
            clash["ties"] = policies.ties
        if self.takes_ranks and clash:
            says = (
                " numbers the documents of a list anew, and ranks count as given; leave it out, "
                "or say "
            )
            raise InvalidOption(option(**clash), says, option(ranks="order"))

    def _refuse_beside_clicks(self) -> None:
        """Refuse options that do not go with clicks, and a way to weight clicks without their
        propensities.
        """
        name, policies = self.roles.propensity, self.policies
        if name is None:
            if policies.estimate != Policies.estimate:
                says = " is of clicks with propensities; name the column of these, as "
                raise InvalidOption(option(estimate=policies.estimate), says, on(propensity="p"))
            return
        given = {**self.values, "convention": self.convention}
        others = ("weight", "convention", "unjudged", "unretrieved", "no_relevant")
        clash = [x for x in others if given[x] not in (None, getattr(Policies, x, None))]
        clash += ["ties"] * policies.tie_rule.by_label + ["relevant"] * (
            not 0 < policies.relevant <= 1
        )
        if clash:
            says = ", under which labels are clicks; leave one of them out"
            raise InvalidOption(
                option(**{clash[0]: given[clash[0]]}),
                " does not go with ",
                option(propensity=name),
                says,
            )

    def on(self, *, like: object = None, **options: Any) -> Setup:
        """The setup changed by a user's options; ``None``, or ``...`` for `doc`, leaves an option
        unchanged.

        With another ranker, `like`, it is this one's setup that is changed.
        """
        if like is not None:
            return setup_of(like).on(**options)
        given = {
            name: x for name, x in options.items() if x is not (... if name == "doc" else None)
        }
        named = RECORDED.intersection(given)
        if "names" in given:
            given = _with_presets(given)
        if "rank" in given:
            if given.get("ascending") is False:
                raise InvalidOption(
                    option(rank=given["rank"]), ": of ranks, 1 is the best; leave ascending out"
                )
            if options.get("score") is not None:
                raise InvalidOption(
                    "rank and score both name the column to rank by; name one of them"
                )
            given |= {"score": given.pop("rank"), "ascending": True}
        elif "score" in given and "rank" in self.given:  # the direction was that of the ranks
            given = {"ascending": False, **given}
        ranks = options.get("ranks")
        as_given = (
            isinstance(ranks, str) and ranks == "as_given"
        )  # a frame or an expression has no truth value
        if as_given and "rank" not in (self.given | named):
            says = " is of a column of ranks; name it, as in "
            raise InvalidOption(option(ranks="as_given"), says, on(rank="rank", ranks="as_given"))
        setup, tool = self, whole_name(given.pop("convention", None))
        if tool is not None:
            setup = self.counted_as(tool)
            theirs, kept = (
                setup.values,
                self.given.intersection(PARTS["policies"]).difference(given),
            )
            if lost := {
                name: x for name, x in self.values.items() if name in kept and x != theirs[name]
            }:
                new, says = (
                    option(**{name: theirs[name] for name in lost}),
                    " as set before; to keep that, say ",
                )
                kept_too = on(convention=tool, **lost)
                raise InvalidOption(
                    f"{tool} counts by ", new, ", not by ", option(**lost), says, kept_too
                )
        setup = setup.changed(**given)
        before = self.given - {"rank"} if "score" in given or "ascending" in given else self.given
        return replace(setup, given=before | named)

    def counted_as(self, tool: str) -> Setup:
        """The setup with the choices of a tool; all that describes the data stays."""
        facts = {name: getattr(self.policies, name) for name in FACTS}
        policies = Policies(**facts, **convention_of(tool).policies)
        return replace(self, policies=policies, convention=tool, given=self.given & {"rank"})

    def changed(self, **values: Any) -> Setup:
        """The setup with other roles, policies or settings of `Running`."""
        parts: dict[str, Any] = {}
        for part, names in PARTS.items():
            now = getattr(self, part)
            own = {name: values.pop(name) for name in names if name in values}
            if any(getattr(now, name) is not value for name, value in own.items()):
                parts[part] = replace(now, **own)
        if not parts and not values:
            return self
        return replace(self, **parts, **values)

    def of_table(self, names: Container[str]) -> Setup:
        """The setup with the document column of a table, ``None`` if the table lacks the default
        one.
        """
        doc = self.roles.doc_in(names)
        if doc not in self._by_doc:
            self._by_doc[doc] = self.changed(doc=doc)
        return self._by_doc[doc]

    @cached_property
    def _by_doc(self) -> dict[str | None, Setup]:
        return {}  # each call on a table asks for it several times

    def resolve(self, call: C) -> tuple[Setup, C]:
        """The setup and the call with the convention's policies and options for the call's
        metric.
        """
        if self.convention is None:
            return self, call
        convention = convention_of(self.convention)
        name, text = call.metric.name, repr(str(call))
        if name.startswith("#"):  # a figure of the plan, which no tool has
            return replace(self, convention=None), call
        if (other := convention.otherwise.get(name)) is not None:
            says = f"{name} of {self.convention} is no option here: {other.says}"
            raise InvalidOption(f"{says}; conventions({text}) shows it")
        if name not in convention.metrics:
            known = ", ".join(convention.metrics)
            says = f"{self.convention} has no {name}; it has {known}"
            raise InvalidOption(f"{says}; evaluate {text} without the convention")
        settings, parameters = convention.metrics[name], call.metric.parameters
        options = {
            x: value for x, value in settings.items() if x in parameters and x not in call.given
        }
        policies = {
            x: value for x, value in settings.items() if x not in parameters and x not in self.given
        }
        return self.changed(**policies, convention=None), call.with_defaults(options)

    @property
    def values(self) -> dict[str, object]:
        """The values of all roles, policies, settings and tables by name."""
        return {
            name: getattr(getattr(self, part), name) for part, of in PARTS.items() for name in of
        }

    def followed(self, names: Container[str]) -> dict[str, object]:
        """All options by name; `doc` is None if the table lacks the default."""
        values = self.values
        tables = {
            name: x if isinstance(x := values[name], (int, NoneType)) else repr(x)
            for name in TABLES
        }
        return values | tables | {"doc": self.roles.doc_in(names), "convention": self.convention}


def _with_presets(given: Mapping[str, Any]) -> dict[str, Any]:
    """The given options, with those of the presets in `names` for what is not given."""
    others = {name: value for name, value in given.items() if name != "names"}
    texts = texts_of_presets(given["names"])
    columns = roles_of(texts)
    found: dict[str, Any] = {**columns, **others}
    if FLAT in texts:
        found["flat"] = True
    if not LABELS_NAMED_AS_SCORES.isdisjoint(texts):
        found["labels_as_scores"] = True
        if found.get("label") == found.get(
            "score", Roles.score
        ):  # judge gives the labels a name of their own
            found["label"] = columns.get("label", Roles.label)
    return found


OF_PARTS = {"roles": Roles, "policies": Policies, "running": Running, "background": Background}
PARTS = {part: tuple(field.name for field in fields(of)) for part, of in OF_PARTS.items()}

RECORDED = frozenset({"label", "rank", "ascending", *PARTS["policies"]}).difference(
    {*FACTS} - {"ascending"}
)
"""The options of which a setup records that they were named, and not only set by a preset or a
convention."""

JOINED = "qrels"
"""The option of verbs that takes the judgments of the table."""

TABLES = PARTS["background"]
"""The names of the options that take tables."""

OTHER_TABLES = (*TABLES, "qrels", "tables")
"""The options of verbs that are other tables."""

OPTIONS = (
    *ROLES,
    *TABLES,
    "rank",
    "names",
    *PARTS["policies"],
    "convention",
    *PARTS["running"],
    "like",
)
"""The names of all options that `on` takes."""


def setup_of(ranker: object) -> Setup:
    """The setup of a ranker."""
    setup = getattr(ranker, "_setup", None)
    if not isinstance(setup, Setup):
        example = Code("mine = df.rank.on(query='qid')", phrase="; give one, as {}")
        raise InvalidOption(option(like=ranker), " is no ranker", example)
    return setup


def refuse_bounds(setup: Setup) -> None:
    """Refuse a policy that gives each metric two columns."""
    if setup.policies.unjudged == "bounds":
        says = (
            " gives each metric two columns; evaluate them and sum up each, or set another rule: "
        )
        raise InvalidOption(option(unjudged="bounds"), says, on(unjudged="nonrelevant"))
