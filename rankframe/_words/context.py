"""The words of a ranking for its context: past interactions, and properties of documents."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import polars as pl

from .._support.floats import np
from .._support.option_values import Range
from .._support.polars_versions import exploded
from .._table.background import (
    SIZE,
    USER,
    History,
    Items,
    features_of,
    in_lists,
    place_in,
    unit_features,
    units,
)
from .._table.policies import GREATEST
from .._table.roles import ROLES
from .._table.setup import Setup
from ..errors import InvalidOption, Verbatim, on
from .rank_key import place_among_ties
from .rows import Rows

T = TypeVar("T")

Persistence: TypeAlias = Annotated[float, Range(above=0, below=1)]
RankWeight: TypeAlias = Literal["equal", "log2"] | Persistence


class LackingRole(InvalidOption):
    """Raised by a formula that needs a role that no option of `on` names."""

    def __init__(self, what: str, **advice: object) -> None:
        super().__init__(f"it needs {what}; say ", on(**advice))


def needed(x: T | None, what: str, **advice: object) -> T:
    """`x`, which an option of `on` gives; refused if none does."""
    if x is None or x == ():
        raise LackingRole(what, **advice)
    return x


class Context(ABC):
    """The words of a ranking that read other tables, or columns other than the score and the
    label.
    """

    rank: pl.Expr
    rows: Rows
    setup: Setup

    @abstractmethod
    def _need_one_a_rank(self) -> None: ...

    @abstractmethod
    def counted(self, x: pl.Expr) -> pl.Expr:
        """`x`, null for documents that a policy leaves out."""

    @property
    def doc(self) -> str:
        """The column of the document."""
        return self._names("doc")[0]

    @property
    def history(self) -> History:
        """The interactions of the past."""
        past = self.setup.background.interactions
        given = needed(past, "the interactions of the past", interactions=Verbatim("train"))
        return given.named(self.setup.roles.query, self.doc)

    @property
    def _past_of_users(self) -> History:
        """The interactions of the past; refused if they are counts of items, without users."""
        history = self.history
        history.need_users("the items of each user")
        return history

    @property
    def popularity(self) -> pl.Expr:
        """The number of users who had the document before; null for one that is in no
        interaction.
        """
        return self.rows.gathered(self.history.counts[SIZE], self._past_item, b"popularity")

    @property
    def _past_item(self) -> pl.Expr:
        """The number of the document in the interactions; null for one that is in none."""
        found = pl.col(self.doc).map_batches(self.history.place, return_dtype=pl.UInt32)
        return self.rows.column(found, b"past item")

    def _item(self, items: Items) -> pl.Expr:
        """The number of the document's row in the items; null for one that is not there."""
        place = partial(place_in, items.rows(self.doc)[self.doc])
        return self.rows.column(
            pl.col(self.doc).map_batches(place, return_dtype=pl.UInt32), b"item"
        )

    @property
    def in_items(self) -> pl.Expr:
        """Whether the document is one of the items."""
        items = self.setup.background.items
        if not isinstance(items, Items):
            raise LackingRole("a frame or a list of documents", items=Verbatim("catalog"))
        place = partial(place_in, items.ids(self.doc))
        found = pl.col(self.doc).map_batches(place, return_dtype=pl.UInt32)
        return self.rows.column(found, b"listed item").is_not_null()

    @property
    def seen(self) -> pl.Expr:
        """1.0 for a document that the query's user had before, else 0.0."""
        return self.rows.mapped(self._past_of_users.seen, user=self.user, item=self._past_item)

    @property
    def n_users(self) -> float:
        """The number of users in the interactions."""
        return self.history.n_users

    @property
    def n_interactions(self) -> float:
        """The number of interactions."""
        return self.history.n_rows

    def of_popularity(self, values: Mapping[float, float]) -> pl.Expr:
        """The value for the popularity of each document; null for one that is in no interaction."""
        return self.popularity.replace_strict(
            [*values], [*values.values()], default=None, return_dtype=pl.Float64
        )

    def _names(self, role: str) -> tuple[str, ...]:
        """The columns' names of a role."""
        return needed(self.setup.roles.of(role), ROLES[role].says, **{role: ROLES[role].example})

    def columns_of(self, role: str) -> list[pl.Expr]:
        """The columns of a role, each from the table, or from `items` if these have it."""
        return [self._found(name) for name in self._names(role)]

    def _found(self, name: str) -> pl.Expr:
        items = self.setup.background.items
        if not self.setup.background.has(name) or not isinstance(items, Items):
            return self.counted(self.rows.column(pl.col(name)))
        known = items.rows(self.doc)[name]
        return self.counted(self.rows.gathered(known, self._item(items), f"items {name}".encode()))

    @property
    def score(self) -> pl.Expr:
        """The score of each document, the greatest being the best; null for a document that was not
        retrieved.
        """
        score = self.columns_of("score")[0].cast(pl.Float64)
        return pl.when(self.rank.is_not_null()).then(
            -score if self.setup.policies.ascending else score
        )

    @property
    def inclusion(self) -> pl.Expr:
        """The probability with which the document was drawn for judging."""
        return self.columns_of("inclusion")[0].cast(pl.Float64)

    def of_strata(self, judged: pl.Expr, relevant: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
        """How many documents of its stratum each judged one stands for; and the inferred precision
        down to its rank.
        """
        columns = {
            "kind": self.columns_of("stratum")[0],
            "judged": judged,
            "relevant": relevant,
            "rank": self.rank,
        }
        return self.rows.mapped(stands_for, **columns), self.rows.mapped(
            inferred_precision, **columns
        )

    @property
    def base_rank(self) -> pl.Expr:
        """The rank by another score; null without one. Documents with equal scores stand as the tie
        rule says.
        """
        policies, base = self.setup.policies, self.columns_of("base")[0]
        rule, falls = policies.tie_rule, not policies.ascending
        is_nan = base.cast(pl.Float64).is_nan().fill_null(False)
        self.rows.refuse(is_nan, "the other score is NaN for a document", of_label=False)
        if policies.scores == "float32":
            base = base.cast(pl.Float32)
        if rule.refuses:
            tied = self.rows.along(base.is_duplicated()) & base.is_not_null()
            self.rows.refuse(
                tied,
                "documents of a query share another score and ties='error' forbids it",
                of_label=False,
            )
        if rule.shares:
            return self.rows.along(base.rank("max", descending=falls).cast(pl.Float64))
        among_ties = self.rows.column(place_among_ties(self.setup))
        best_first = pl.int_range(pl.len()).sort_by(
            base, among_ties, descending=[falls, False], nulls_last=True
        )
        place = self.rows.along(best_first.arg_sort().cast(pl.Float64))
        return pl.when(base.is_not_null()).then(place + 1)

    @property
    def features(self) -> dict[str, pl.Expr]:
        """The columns of numbers of each document; a single one may hold lists of them."""
        return {f"feature {i}": x for i, x in enumerate(self.columns_of("features"))}

    @property
    def category(self) -> pl.Expr:
        """The category of each document, or a list of them."""
        return self.columns_of("category")[0]

    def has_category(self, k: int | None) -> pl.Expr:
        """1.0 for a document with a category in the list down to `k`, else 0.0."""
        return self.rows.mapped(has_kind, kind=self.category, listed=self.listed(k))

    def new_categories(self, k: int | None) -> pl.Expr:
        """The number of the document's categories that no document above has, in the list down to
        `k`.
        """
        return self.rows.mapped(new_kinds, kind=self.category, listed=self.listed(k))

    def category_terms(self, weight: pl.Expr, k: int | None) -> pl.Expr:
        """The term of each rank in the sum of w log2 w over categories, for the weights w of their
        documents so far.
        """
        return self.rows.mapped(
            entropy_terms, kind=self.category, listed=self.listed(k), weight=weight
        )

    def calibration_error(self, weight: pl.Expr, k: int | None, alpha: float) -> pl.Expr:
        """The divergence of the list's categories from the user's own; the same for all documents
        of a query.
        """
        error = partial(calibration_error, profile=self.profile, alpha=alpha)
        return self.rows.mapped(
            error, kind=self.category, listed=self.listed(k), user=self.user, weight=weight
        )

    def distances(self, k: int | None, distance: str) -> pl.Expr:
        """The sum of the distances of each document from those above it, by their features, for the
        list down to `k`.
        """
        listed = self.listed(k)
        found = self.rows.mapped(
            partial(sums_of_distances, distance=distance), listed=listed, **self.features
        )
        says = "the features of a document are null, NaN, infinite, or lists of several lengths"
        self.rows.refuse(listed & found.is_nan(), says, of_label=False)
        return found

    def listed(self, k: int | None) -> pl.Expr:
        """Whether the document is in the list down to rank `k`."""
        return self.rank.is_not_null() if k is None else (self.rank <= k).fill_null(False)

    def divergence(self, kind: pl.Expr, target: str | float) -> pl.Expr:
        """The divergence of the shares of kinds of documents down to each rank from a target."""
        self._need_one_a_rank()
        return self.rows.mapped(partial(divergence, target=target), kind=kind)

    def compared_shares(
        self, kind: pl.Expr, weight: pl.Expr, target: str | float, distance: str
    ) -> pl.Expr:
        """The distance of the kinds' shares of `weight` from a target; the same for all documents
        of a query.
        """
        return self.rows.mapped(
            partial(compared_shares, target=target, distance=distance), kind=kind, weight=weight
        )

    @property
    def cost(self) -> pl.Expr:
        """The cost of each document, such as the time to read it; null for one that was not
        retrieved and has none.
        """
        cost = self.columns_of("cost")[0].cast(pl.Float64)
        fit = ((cost > 0) & (cost <= GREATEST)).fill_null(False)
        says = (
            "a retrieved document has a cost that is null, NaN, not above 0 or beyond "
            f"{GREATEST:g}; give each its cost"
        )
        self.rows.refuse(self.rank.is_not_null() & ~fit, says, of_label=False)
        return cost

    def below_list(
        self,
        goal: Wish,
        rate: Wish,
        gain: int,
        what: Literal["seen", "left"],
        state: Mapping[str, pl.Expr],
    ) -> pl.Expr:
        """The sum of the probabilities to see the ranks below the list, or that to go on from the
        last, see `foraged`.
        """
        options: dict[str, float | str] = {
            "gain": gain,
            "what": what,
            "goal": repr(goal),
            "rate": repr(rate),
        }
        function = partial(foraged, wishes=(goal, rate), **options)  # type: ignore[arg-type]
        return self.rows.largest(self.rows.mapped(function, **state))  # the same in all rows

    @property
    def group(self) -> pl.Expr:
        """The group of each document, as text."""
        return self.columns_of("group")[0].cast(pl.String)

    @property
    def n_items(self) -> int:
        """The number of items of the catalog."""
        items = self.setup.background.items
        if items is None:
            raise LackingRole(
                "the items of the catalog, or their number", items=Verbatim("catalog")
            )
        return items if isinstance(items, int) else len(items.ids(self.doc))

    def weight_of_rank(self, weight: RankWeight) -> pl.Expr:
        """The weight of each rank: 1, 1 / log2(rank + 1), or p^(rank - 1) for a number p."""
        if weight == "log2":
            return 1 / (self.rank + 1).log(2)
        return (
            self.rank * 0 + 1.0
            if isinstance(weight, str)
            else pl.lit(float(weight)) ** (self.rank - 1)
        )

    @property
    def user(self) -> pl.Expr:
        """The number of the query's user in the interactions; null for one without any."""
        history = self._past_of_users
        found = pl.struct(history.key).map_batches(
            history.user_of, return_dtype=pl.get_index_type()
        )
        return self.rows.column(found, b"user")

    @property
    def profile(self) -> pl.DataFrame:
        """A row per user and category: the share of the category in the items that the user had."""
        history, items, names = self._past_of_users, *self._items_with("category")
        known = items.rows(self.doc).select(self.doc, *names)
        return history.once(("categories", names, items), lambda: history.categories(known))

    def _items_with(self, role: str) -> tuple[Items, tuple[str, ...]]:
        """The items, a frame that has the columns of a role, and the names of these."""
        items, names = self.setup.background.items, self._names(role)
        frame = (
            items
            if isinstance(items, Items) and all(map(self.setup.background.has, names))
            else None
        )
        return needed(
            frame, f"{ROLES[role].says} in a frame of items", items=Verbatim("catalog")
        ), names

    @property
    def similar_by_users(self) -> pl.Expr:
        """The mean cosine, by common users, of each document and the documents that the user had;
        null for a user without any.
        """
        return self.rows.mapped(
            self._past_of_users.co_occurring, user=self.user, item=self._past_item
        )

    @property
    def similar_by_features(self) -> pl.Expr:
        """The mean cosine of the features of each document and of the documents that the user had;
        null for a user without any.
        """
        history, items, names = self._past_of_users, *self._items_with("features")
        rows = items.rows(self.doc)
        features = history.once(("features", names, items), lambda: unit_features(rows, names))
        profiles = history.once(
            ("profiles", names, items), lambda: history.features(rows[self.doc], features)
        )
        similar = partial(history.similar_features, features=features, profiles=profiles)
        return self.rows.mapped(similar, user=self.user, item=self._item(items))


# --------------------------------------------------------------- functions of the rows of whole
# queries, in rank order

QUERY = "query"


def stands_for(rows: pl.DataFrame) -> pl.Series:
    """The number of documents of a row's stratum over that of the judged ones."""
    stratum = [QUERY, "kind"]
    return rows.select(pl.len().over(stratum) / pl.col("judged").sum().over(stratum)).to_series()


def inferred_precision(rows: pl.DataFrame) -> pl.Series:
    """The precision at each row's rank if it is relevant: documents above it count the share of
    relevant ones of their stratum.
    """
    stratum, epsilon = [QUERY, "kind"], 0.00001
    there = pl.col("kind").is_not_null()
    judged, relevant = (
        pl.col(name).cast(pl.Float64).cum_sum().over(stratum) for name in ("judged", "relevant")
    )
    expected = (
        (pl.int_range(pl.len()).over(stratum) + 1) * (relevant + epsilon) / (judged + 2 * epsilon)
    )
    rows = rows.with_columns(expected=pl.when(there).then(expected).otherwise(0.0))
    added = pl.col("expected") - pl.when(there).then(
        pl.col("expected").shift(1, fill_value=0.0).over(stratum)
    ).otherwise(0.0)
    rows = rows.with_columns(added=added)
    above = pl.col("added").cum_sum().over(QUERY) - pl.col("added")
    return rows.select((1 + above) / pl.col("rank")).to_series()


Wish: TypeAlias = tuple[float, float, float] | None
"""The gain, or rate of gain, that a reader wants, with the intercept and the slope of the decision;
None for no wish."""


def foraging(gained: Any, spent: Any, goal: Wish, rate: Wish) -> Any:
    """The probability that a reader goes on after a gain at a cost: if the goal is not reached, and
    the rate is.
    """
    chance = 1.0
    if goal is not None:
        target, intercept, slope = goal
        chance = 1 - 1 / (1 + intercept * math.e ** ((target - gained) * slope))
    if rate is not None:
        least, intercept, slope = rate
        chance = chance / (1 + intercept * math.e ** ((least - gained / spent) * slope))
    return chance


NEGLIGIBLE = 1e-18


def foraged(
    rows: pl.DataFrame, wishes: tuple[Wish, Wish], gain: int, what: str, goal: str, rate: str
) -> pl.Series:
    """How a reader goes on below the list of each query, through `ranks` ranks of a `gain` and the
    cost 1 each.

    The reader gets there with the probability `chance`, after what was `gained` and `spent`. The
    result is the sum of the probabilities to see these ranks, or what is left of them at the end.
    (`goal` and `rate` repeat `wishes` as text, which identifies the call.)
    """
    gained, spent, chance, ranks = (
        rows[name].to_numpy().copy() for name in ("gained", "spent", "chance", "ranks")
    )
    seen = np.zeros(len(rows))
    with np.errstate(over="ignore"):
        for rank in range(1, int(ranks.max(initial=0)) + 1):
            here = ranks >= rank
            if not (chance[here] > NEGLIGIBLE).any():
                break
            seen[here] += chance[here]
            gained[here] += gain
            spent[here] += 1
            chance[here] *= foraging(gained[here], spent[here], *wishes)
    return pl.Series(seen if what == "seen" else chance)


def new_kinds(rows: pl.DataFrame) -> pl.Series:
    """The number of the kinds of each row that no row above it has; of rows that are `listed`."""
    new = _kinds(rows).filter(pl.struct(QUERY, "kind").is_first_distinct())
    return _by_row(rows, new.group_by("#row").agg(pl.len().cast(pl.Float64).alias("value")))


def entropy_terms(rows: pl.DataFrame) -> pl.Series:
    """The term of each row in the sum of w log2 w over the kinds, for w the weight of all rows of a
    kind down to the row.

    A row's `weight` is divided evenly among its kinds.
    """
    # a window that stands in an expression more than once would be computed as often
    kinds = _divided(_kinds(rows)).with_columns(
        so_far=pl.col("weight").cum_sum().over(QUERY, "kind")
    )
    kinds = kinds.with_columns(before=pl.col("so_far") - pl.col("weight"))
    terms = kinds.select("#row", value=_w_log_w(pl.col("so_far")) - _w_log_w(pl.col("before")))
    return _by_row(rows, terms.group_by("#row").agg(pl.col("value").sum()))


def has_kind(rows: pl.DataFrame) -> pl.Series:
    """1.0 for each row that has a kind, else 0.0."""
    kinds = _kinds(rows).select("#row", value=pl.lit(1.0)).unique()
    return _by_row(rows, kinds)


def _w_log_w(weight: pl.Expr) -> pl.Expr:
    return pl.when(weight > 0).then(weight * weight.log(2)).otherwise(0.0)


def _kinds(rows: pl.DataFrame) -> pl.DataFrame:
    """A row for each kind of each listed row."""
    listed = rows.with_row_index("#row").filter("listed")  # of long rankings few rows count
    if not isinstance(listed.schema["kind"], (pl.List, pl.Array)):
        return listed.filter(pl.col("kind").is_not_null()).with_columns(pl.lit(1.0).alias("#size"))
    lists = listed.with_columns(in_lists(listed["kind"]).alias("kind"))
    sizes = pl.col("kind").list.len().cast(pl.Float64).alias("#size")
    return exploded(lists.with_columns(sizes).filter(pl.col("#size") > 0), "kind")


def _divided(kinds: pl.DataFrame) -> pl.DataFrame:
    """The weight of each row divided evenly among its kinds."""
    return kinds.with_columns(pl.col("weight") / pl.col("#size"))


def _by_row(rows: pl.DataFrame, found: pl.DataFrame) -> pl.Series:
    """The values by row number, 0.0 for other rows."""
    values = np.zeros(rows.height)
    values[found["#row"].to_numpy()] = found["value"].to_numpy()
    return pl.Series(values)


def sums_of_distances(rows: pl.DataFrame, distance: str) -> pl.Series:
    """The sum of the distances of each listed row from all rows above it; NaN without features, 0.0
    for other rows.
    """
    listed = rows.with_row_index("#row").filter("listed")
    features = features_of(listed, [name for name in rows.columns if name.startswith("feature ")])
    if features is None:
        return _by_row(rows, listed.select("#row", value=pl.lit(math.nan)))
    names, above = features.columns, pl.col("#above").cast(pl.Float64)
    fit = pl.all_horizontal(pl.col(names).is_finite().fill_null(False))
    every = features.with_columns(listed[QUERY], listed["#row"], fit.alias("#fit"))
    every = every.with_columns(pl.int_range(pl.len()).over(QUERY).alias("#above"))
    if distance == "cosine":
        every = every.with_columns(units(names))
        sums = (
            pl.col(name) * (pl.col(name).cum_sum().over(QUERY) - pl.col(name)) for name in names
        )
        value = above - pl.sum_horizontal(*sums)
    elif distance == "hamming":
        value = pl.sum_horizontal(
            *(above - pl.int_range(pl.len()).over(QUERY, name) for name in names)
        )
    else:
        value = pl.lit(_pairwise(every, names))
    return _by_row(
        rows, every.select("#row", value=pl.when("#fit").then(value).otherwise(math.nan))
    )


def _pairwise(every: pl.DataFrame, names: list[str]) -> pl.Series:
    """The sums of Euclidean distances, by the pairs of each number of ranks apart."""
    x, query = every.select(names).to_numpy(), every[QUERY].to_numpy()
    value = np.zeros(len(query))
    for step in range(1, int(every["#above"].to_numpy().max(initial=0)) + 1):
        same = query[step:] == query[:-step]
        value[step:] += np.where(same, np.sqrt(((x[step:] - x[:-step]) ** 2).sum(axis=1)), 0.0)
    return pl.Series(value)


def divergence(rows: pl.DataFrame, target: float | str) -> pl.Series:
    """The Kullback-Leibler divergence, in nats, of the shares of kinds down to each row from their
    target.

    Rows without a kind do not count. The target is the share of ``"true"``, or that of the kinds
    among all `documents` of the query, or `equal` shares.
    """
    known = pl.col("kind").is_not_null()
    # a window that stands in an expression more than once would be computed as often
    rows = rows.with_columns(before=pl.int_range(pl.len()).over(QUERY, "kind").cast(pl.Float64))
    of_documents = known.sum().over(QUERY, "kind") / known.sum().over(QUERY)
    share = _wanted(target, of_documents, pl.col("kind").drop_nulls().n_unique().over(QUERY))
    before, after = pl.col("before"), pl.col("before") + 1
    grown = after * after.log() - pl.when(before > 0).then(before * before.log()).otherwise(0.0)
    value = pl.when(known).then(grown - share.log()).otherwise(0.0)
    terms = rows.with_columns(value=value, known=known.cast(pl.Float64))
    terms = terms.select(pl.col("known", "value").cum_sum().over(QUERY))
    so_far = pl.col("known")
    value = pl.col("value") / so_far - so_far.log()
    return terms.select(
        pl.when(so_far > 0).then(value.clip(lower_bound=0.0)).otherwise(0.0)
    ).to_series()


def _wanted(target: float | str, of_documents: pl.Expr, n_kinds: pl.Expr) -> pl.Expr:
    """The target share of each row's kind."""
    if isinstance(target, str):
        return of_documents if target == "documents" else 1 / n_kinds
    return pl.when(pl.col("kind") == "true").then(float(target)).otherwise(1 - float(target))


def compared_shares(rows: pl.DataFrame, target: float | str, distance: str) -> pl.Series:
    """The distance of the kinds' shares of `weight` from their target, see `divergence`; null where
    no kind has a weight.

    The distance is `abs`, half the sum of the absolute differences; `jsd` gives 1 minus the
    Jensen-Shannon divergence in bits.
    """
    known = rows.filter(pl.col("kind").is_not_null())
    kinds = known.group_by(QUERY, "kind", maintain_order=True).agg(
        pl.col("weight").sum(), n=pl.len()
    )
    if not isinstance(target, str):
        other = pl.when(pl.col("kind") == "true").then(pl.lit("false")).otherwise(pl.lit("true"))
        lacking = kinds.with_columns(
            other.alias("kind"), weight=pl.lit(0.0), n=pl.lit(0, dtype=kinds.schema["n"])
        )
        kinds = pl.concat(
            [kinds, lacking.join(kinds, on=[QUERY, "kind"], how="anti", maintain_order="left")]
        )
    weight, total = pl.col("weight"), pl.col("weight").sum().over(QUERY)
    wanted = _wanted(target, pl.col("n") / pl.col("n").sum().over(QUERY), pl.len().over(QUERY))
    terms = kinds.filter(total > 0).with_columns(p=weight / total, q=wanted)
    p, q = pl.col("p"), pl.col("q")
    value = (p - q).abs().sum() / 2
    if distance == "jsd":
        middle = (p + q) / 2
        parts = [pl.when(x > 0).then(x * (x / middle).log(2)).otherwise(0.0) for x in (p, q)]
        value = 1 - ((parts[0] + parts[1]).sum() / 2).clip(0.0, 1.0)
    found = terms.group_by(QUERY).agg(value=value)
    return rows.select(QUERY).join(found, on=QUERY, how="left", maintain_order="left")["value"]


def calibration_error(rows: pl.DataFrame, profile: pl.DataFrame, alpha: float) -> pl.Series:
    """The KL divergence, in nats, of the shares of kinds in each query's rows from those of its
    user, on every row.

    A row's `weight` is divided evenly among its kinds; a small share `alpha` of the user's own
    makes each share positive. Null for a query without a kind, or of a user without one.
    """
    kinds = _divided(_kinds(rows)).filter(pl.col("weight") > 0)
    found = kinds.group_by(QUERY, "kind", maintain_order=True).agg(pl.col("weight").sum())
    found = found.with_columns(q=pl.col("weight") / pl.col("weight").sum().over(QUERY)).select(
        QUERY, "kind", "q"
    )
    there = found.select(QUERY).unique()
    users = rows.select(QUERY, pl.col("user").cast(pl.get_index_type())).unique(maintain_order=True)
    users = users.join(there, on=QUERY, how="semi", maintain_order="left")
    wanted = users.join(profile, left_on="user", right_on=USER, maintain_order="left_right")
    found, wanted = (x.with_columns(pl.col("kind").cast(pl.String)) for x in (found, wanted))
    p, q = pl.col("share"), (1 - alpha) * pl.col("q").fill_null(0.0) + alpha * pl.col("share")
    shares = wanted.join(found, on=[QUERY, "kind"], how="left", maintain_order="left")
    errors = shares.group_by(QUERY).agg(value=(p * (p / q).log()).sum())
    return rows.select(QUERY).join(errors, on=QUERY, how="left", maintain_order="left")["value"]
