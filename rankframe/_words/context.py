"""The words of a ranking for its context: past interactions, and properties of documents."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
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
from .rows import Rows, zero_unless

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
    """The words of a ranking that read other tables, or columns other than score and label."""

    rank: pl.Expr
    rows: Rows
    setup: Setup

    @abstractmethod
    def _refuse_shared_ranks(self) -> None: ...

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
        example = Verbatim("train")
        history = needed(past, "the interactions of the past", interactions=example)
        return history.named(self.setup.roles.query, self.doc)

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
        n_users = self.history.counts[SIZE]
        return self.rows.gathered(n_users, self._past_item, b"popularity")

    @property
    def _past_item(self) -> pl.Expr:
        """The number of the document in the interactions; null for one that is in none."""
        return self._place_of_doc(self.history.place, b"past item")

    def _item(self, items: Items) -> pl.Expr:
        """The number of the document's row in the items; null for one that is not there."""
        place = partial(place_in, items.rows(self.doc)[self.doc])
        return self._place_of_doc(place, b"item")

    def _place_of_doc(self, place: Callable[[pl.Series], pl.Series], known_by: bytes) -> pl.Expr:
        """The number that `place` gives each document; null for one that it does not know."""
        places = pl.col(self.doc).map_batches(place, return_dtype=pl.UInt32)
        return self.rows.column(places, known_by)

    @property
    def in_items(self) -> pl.Expr:
        """Whether the document is one of the items."""
        items = self.setup.background.items
        if not isinstance(items, Items):
            raise LackingRole("a frame or a list of documents", items=Verbatim("catalog"))
        place = partial(place_in, items.ids(self.doc))
        return self._place_of_doc(place, b"listed item").is_not_null()

    @property
    def seen(self) -> pl.Expr:
        """1.0 for a document that the query's user had before, else 0.0."""
        has_seen = self._past_of_users.seen
        return self.rows.mapped(has_seen, user=self.user, item=self._past_item)

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
        levels = [*values]
        of_levels = [*values.values()]
        return self.popularity.replace_strict(
            levels, of_levels, default=None, return_dtype=pl.Float64
        )

    def _names(self, role: str) -> tuple[str, ...]:
        """The columns' names of a role."""
        names = self.setup.roles.of(role)
        example = {role: ROLES[role].example}
        return needed(names, ROLES[role].says, **example)

    def columns_of(self, role: str) -> list[pl.Expr]:
        """The columns of a role, each from the table, or from `items` if these have it."""
        return [self._column_named(name) for name in self._names(role)]

    def _column_named(self, name: str) -> pl.Expr:
        background = self.setup.background
        items = background.items
        if not background.has(name) or not isinstance(items, Items):
            return self.counted(self.rows.column(pl.col(name)))
        values = items.rows(self.doc)[name]
        key = f"items {name}".encode()
        return self.counted(self.rows.gathered(values, self._item(items), key))

    @property
    def score(self) -> pl.Expr:
        """The score of each document, the greatest being the best; null for a document that was not
        retrieved.
        """
        score = self.columns_of("score")[0].cast(pl.Float64)
        if self.setup.policies.ascending:
            score = -score
        return pl.when(self.rank.is_not_null()).then(score)

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
        weight = self.rows.mapped(stands_for, **columns)
        precision = self.rows.mapped(inferred_precision, **columns)
        return weight, precision

    @property
    def base_rank(self) -> pl.Expr:
        """The rank by another score; null without one. Documents with equal scores stand as the tie
        rule says.
        """
        base = self._checked_base()
        has_base = base.is_not_null()
        best_first = not self.setup.policies.ascending
        if self.setup.policies.tie_rule.shares:
            last_of_tied = base.rank("max", descending=best_first)
            return self.rows.along(last_of_tied.cast(pl.Float64))
        among_ties = self.rows.column(place_among_ties(self.setup))
        row = pl.int_range(pl.len())
        by_base = row.sort_by(base, among_ties, descending=[best_first, False], nulls_last=True)
        place = self.rows.along(by_base.arg_sort().cast(pl.Float64))
        return pl.when(has_base).then(place + 1)

    def _checked_base(self) -> pl.Expr:
        """The other score, as the policies read it; NaN is refused, and ties where these are."""
        policies = self.setup.policies
        base = self.columns_of("base")[0]
        is_nan = base.cast(pl.Float64).is_nan().fill_null(False)
        self.rows.refuse(is_nan, "the other score is NaN for a document", of_label=False)
        if policies.scores == "float32":
            base = base.cast(pl.Float32)
        if policies.tie_rule.refuses:
            tied = self.rows.along(base.is_duplicated()) & base.is_not_null()
            says = "documents of a query share another score, and the rule for ties forbids it"
            self.rows.refuse(tied, says, of_label=False)
        return base

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
        listed = self.listed(k)
        return self.rows.mapped(has_kind, kind=self.category, listed=listed)

    def new_categories(self, k: int | None) -> pl.Expr:
        """The number of the document's categories that no document above has, in the list down to
        `k`.
        """
        listed = self.listed(k)
        return self.rows.mapped(new_kinds, kind=self.category, listed=listed)

    def category_terms(self, weight: pl.Expr, k: int | None) -> pl.Expr:
        """The term of each rank in the sum of w log2 w over categories, for the weights w of their
        documents so far.
        """
        listed = self.listed(k)
        return self.rows.mapped(entropy_terms, kind=self.category, listed=listed, weight=weight)

    def calibration_error(self, weight: pl.Expr, k: int | None, alpha: float) -> pl.Expr:
        """The divergence of the list's categories from the user's own; the same for all documents
        of a query.
        """
        error = partial(calibration_error, profile=self.profile, alpha=alpha)
        columns = {
            "kind": self.category,
            "listed": self.listed(k),
            "user": self.user,
            "weight": weight,
        }
        return self.rows.mapped(error, **columns)

    def distances(self, k: int | None, distance: str) -> pl.Expr:
        """The sum of the distances of each document from those above it, by their features, for the
        list down to `k`.
        """
        listed = self.listed(k)
        sums = partial(sums_of_distances, distance=distance)
        distances = self.rows.mapped(sums, listed=listed, **self.features)
        says = "the features of a document are null, NaN, infinite, or lists of several lengths"
        self.rows.refuse(listed & distances.is_nan(), says, of_label=False)
        return distances

    def listed(self, k: int | None) -> pl.Expr:
        """Whether the document is in the list down to rank `k`."""
        if k is None:
            return self.rank.is_not_null()
        return (self.rank <= k).fill_null(False)

    def divergence(self, kind: pl.Expr, target: str | float) -> pl.Expr:
        """The divergence of the shares of kinds of documents down to each rank from a target."""
        self._refuse_shared_ranks()
        of_kinds = partial(divergence, target=target)
        return self.rows.mapped(of_kinds, kind=kind)

    def compared_shares(
        self, kind: pl.Expr, weight: pl.Expr, target: str | float, distance: str
    ) -> pl.Expr:
        """The distance of the kinds' shares of `weight` from a target; the same for all documents
        of a query.
        """
        compared = partial(compared_shares, target=target, distance=distance)
        return self.rows.mapped(compared, kind=kind, weight=weight)

    @property
    def cost(self) -> pl.Expr:
        """The cost of each document, such as the time to read it; null for one that was not
        retrieved and has none.
        """
        cost = self.columns_of("cost")[0].cast(pl.Float64)
        is_fit = ((cost > 0) & (cost <= GREATEST)).fill_null(False)
        says = (
            "a retrieved document has a cost that is null, NaN, not above 0 or beyond "
            f"{GREATEST:g}; give each its cost"
        )
        is_retrieved = self.rank.is_not_null()
        self.rows.refuse(is_retrieved & ~is_fit, says, of_label=False)
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
        wishes = (goal, rate)
        as_text = partial(foraged, goal=repr(goal), rate=repr(rate))
        function = partial(as_text, wishes=wishes, gain=gain, what=what)
        chance = self.rows.mapped(function, **state)
        return self.rows.largest(chance)  # the same in all rows

    @property
    def group(self) -> pl.Expr:
        """The group of each document, as text."""
        return self.columns_of("group")[0].cast(pl.String)

    @property
    def n_items(self) -> int:
        """The number of items of the catalog."""
        items = self.setup.background.items
        if items is None:
            says = "the items of the catalog, or their number"
            raise LackingRole(says, items=Verbatim("catalog"))
        return items if isinstance(items, int) else len(items.ids(self.doc))

    def weight_of_rank(self, weight: RankWeight) -> pl.Expr:
        """The weight of each rank: 1, 1 / log2(rank + 1), or p^(rank - 1) for a number p."""
        if weight == "log2":
            return 1 / (self.rank + 1).log(2)
        if isinstance(weight, str):
            return self.rank * 0 + 1.0
        p = pl.lit(float(weight))
        return p ** (self.rank - 1)

    @property
    def user(self) -> pl.Expr:
        """The number of the query's user in the interactions; null for one without any."""
        history = self._past_of_users
        number = pl.get_index_type()
        users = pl.struct(history.key).map_batches(history.user_of, return_dtype=number)
        return self.rows.column(users, b"user")

    @property
    def profile(self) -> pl.DataFrame:
        """A row per user and category: the share of the category in the items that the user had."""
        history = self._past_of_users
        items, names = self._items_with("category")
        categories = items.rows(self.doc).select(self.doc, *names)
        key = ("categories", names, items)
        return history.once(key, lambda: history.categories(categories))

    def _items_with(self, role: str) -> tuple[Items, tuple[str, ...]]:
        """The items, a frame that has the columns of a role, and the names of these."""
        names = self._names(role)
        background = self.setup.background
        items = background.items
        has_names = all(map(background.has, names))
        frame = items if isinstance(items, Items) and has_names else None
        says = f"{ROLES[role].says} in a frame of items"
        return needed(frame, says, items=Verbatim("catalog")), names

    @property
    def similar_by_users(self) -> pl.Expr:
        """The mean cosine, by common users, of each document and the documents that the user had;
        null for a user without any.
        """
        similar = self._past_of_users.co_occurring
        return self.rows.mapped(similar, user=self.user, item=self._past_item)

    @property
    def similar_by_features(self) -> pl.Expr:
        """The mean cosine of the features of each document and of the documents that the user had;
        null for a user without any.
        """
        history = self._past_of_users
        items, names = self._items_with("features")
        rows = items.rows(self.doc)
        docs = rows[self.doc]
        features = history.once(("features", names, items), lambda: unit_features(rows, names))
        key = ("profiles", names, items)
        profiles = history.once(key, lambda: history.features(docs, features))
        similar = partial(history.similar_features, features=features, profiles=profiles)
        return self.rows.mapped(similar, user=self.user, item=self._item(items))


# ---------------------------------- functions of the rows of whole queries, in rank order

QUERY = "query"


def stands_for(rows: pl.DataFrame) -> pl.Series:
    """The number of documents of a row's stratum over that of the judged ones."""
    stratum = [QUERY, "kind"]
    n_judged = pl.col("judged").sum().over(stratum)
    share = pl.len().over(stratum) / n_judged
    return rows.select(share).to_series()


def inferred_precision(rows: pl.DataFrame) -> pl.Series:
    """The precision at each row's rank if it is relevant.

    Documents above it count the share of relevant ones of their stratum.
    """
    stratum = [QUERY, "kind"]
    epsilon = 0.00001
    has_stratum = pl.col("kind").is_not_null()
    judged = pl.col("judged").cast(pl.Float64).cum_sum().over(stratum)
    relevant = pl.col("relevant").cast(pl.Float64).cum_sum().over(stratum)
    place = pl.int_range(pl.len()).over(stratum) + 1
    expected = place * (relevant + epsilon) / (judged + 2 * epsilon)
    rows = rows.with_columns(expected=zero_unless(has_stratum, expected))
    before = pl.col("expected").shift(1, fill_value=0.0).over(stratum)
    added = pl.col("expected") - zero_unless(has_stratum, before)
    rows = rows.with_columns(added=added)
    above = pl.col("added").cum_sum().over(QUERY) - pl.col("added")
    return rows.select((1 + above) / pl.col("rank")).to_series()


Wish: TypeAlias = tuple[float, float, float] | None
"""The gain, or rate of gain, that a reader wants, with the intercept and the slope of the decision;
None for no wish."""


def foraging(gained: Any, spent: Any, goal: Wish, rate: Wish) -> Any:
    """The probability that a reader goes on after a gain at a cost.

    A reader does if the goal is not reached, and the rate is.
    """
    chance = 1.0
    if goal is not None:
        target, intercept, slope = goal
        odds = intercept * math.e ** ((target - gained) * slope)
        chance = 1 - 1 / (1 + odds)
    if rate is not None:
        least, intercept, slope = rate
        odds = intercept * math.e ** ((least - gained / spent) * slope)
        chance = chance / (1 + odds)
    return chance


NEGLIGIBLE = 1e-18


def foraged(
    rows: pl.DataFrame, wishes: tuple[Wish, Wish], gain: int, what: str, goal: str, rate: str
) -> pl.Series:
    """How a reader goes on below the list of each query.

    There are `ranks` ranks with a `gain` and the cost 1 each.

    The reader gets there with the probability `chance`, after what was `gained` and `spent`. The
    result is the sum of the probabilities to see these ranks, or what is left of them at the end.
    (`goal` and `rate` repeat `wishes` as text, which identifies the call.)
    """
    gained = rows["gained"].to_numpy().copy()
    spent = rows["spent"].to_numpy().copy()
    chance = rows["chance"].to_numpy().copy()
    ranks = rows["ranks"].to_numpy()
    last = int(ranks.max(initial=0))
    seen = np.zeros(len(rows))
    with np.errstate(over="ignore"):
        for rank in range(1, last + 1):
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
    is_first = pl.struct(QUERY, "kind").is_first_distinct()
    new = _kinds(rows).filter(is_first)
    n_new = pl.len().cast(pl.Float64)
    return _by_row(rows, new.group_by("#row").agg(value=n_new))


def entropy_terms(rows: pl.DataFrame) -> pl.Series:
    """The term of each row in the sum of w log2 w over the kinds.

    The weight w is that of all rows of a kind down to the row.

    A row's `weight` is divided evenly among its kinds.
    """
    # a window that stands in an expression more than once would be computed as often
    so_far = pl.col("weight").cum_sum().over(QUERY, "kind")
    kinds = _divided(_kinds(rows)).with_columns(so_far=so_far)
    kinds = kinds.with_columns(before=pl.col("so_far") - pl.col("weight"))
    term = _w_log_w(pl.col("so_far")) - _w_log_w(pl.col("before"))
    terms = kinds.select("#row", value=term)
    return _by_row(rows, terms.group_by("#row").agg(pl.col("value").sum()))


def has_kind(rows: pl.DataFrame) -> pl.Series:
    """1.0 for each row that has a kind, else 0.0."""
    kinds = _kinds(rows).select("#row", value=pl.lit(1.0)).unique()
    return _by_row(rows, kinds)


def _w_log_w(weight: pl.Expr) -> pl.Expr:
    return zero_unless(weight > 0, weight * weight.log(2))


def _kinds(rows: pl.DataFrame) -> pl.DataFrame:
    """A row for each kind of each listed row."""
    listed = rows.with_row_index("#row").filter("listed")  # of long rankings few rows count
    kind = pl.col("kind")
    if not isinstance(listed.schema["kind"], (pl.List, pl.Array)):
        one = pl.lit(1.0).alias("#size")
        return listed.filter(kind.is_not_null()).with_columns(one)
    lists = listed.with_columns(in_lists(listed["kind"]).alias("kind"))
    sizes = kind.list.len().cast(pl.Float64).alias("#size")
    with_kinds = lists.with_columns(sizes).filter(pl.col("#size") > 0)
    return exploded(with_kinds, "kind")


def _divided(kinds: pl.DataFrame) -> pl.DataFrame:
    """The weight of each row divided evenly among its kinds."""
    return kinds.with_columns(pl.col("weight") / pl.col("#size"))


def _by_row(rows: pl.DataFrame, given: pl.DataFrame) -> pl.Series:
    """The values by row number, 0.0 for other rows."""
    values = np.zeros(rows.height)
    values[given["#row"].to_numpy()] = given["value"].to_numpy()
    return pl.Series(values)


def _by_query(rows: pl.DataFrame, values: pl.DataFrame) -> pl.Series:
    """The value of each query on its rows; null for a query without one."""
    joined = rows.select(QUERY).join(values, on=QUERY, how="left", maintain_order="left")
    return joined["value"]


def sums_of_distances(rows: pl.DataFrame, distance: str) -> pl.Series:
    """The sum of the distances of each listed row from all rows above it.

    It is NaN without features, and 0.0 for other rows.
    """
    listed = rows.with_row_index("#row").filter("listed")
    columns = [name for name in rows.columns if name.startswith("feature ")]
    features = features_of(listed, columns)
    if features is None:
        return _by_row(rows, listed.select("#row", value=pl.lit(math.nan)))
    names = features.columns
    is_fit = pl.all_horizontal(pl.col(names).is_finite().fill_null(False))
    every = features.with_columns(listed[QUERY], listed["#row"], is_fit.alias("#fit"))
    every = every.with_columns(pl.int_range(pl.len()).over(QUERY).alias("#above"))
    if distance == "cosine":
        every = every.with_columns(units(names))
        value = _cosines(names)
    elif distance == "hamming":
        value = pl.sum_horizontal(*(_differing(name) for name in names))
    else:
        value = pl.lit(_pairwise(every, names))
    value = pl.when("#fit").then(value).otherwise(math.nan)
    return _by_row(rows, every.select("#row", value=value))


N_ABOVE = pl.col("#above").cast(pl.Float64)
"""The number of listed rows above a row."""


def _cosines(names: list[str]) -> pl.Expr:
    """The sum of 1 less the cosine of each row, of length 1, and those above it."""
    products = []
    for name in names:
        x = pl.col(name)
        products.append(x * (x.cum_sum().over(QUERY) - x))
    return N_ABOVE - pl.sum_horizontal(*products)


def _differing(name: str) -> pl.Expr:
    """The number of rows above with another value of a feature."""
    n_same = pl.int_range(pl.len()).over(QUERY, name)
    return N_ABOVE - n_same


def _pairwise(every: pl.DataFrame, names: list[str]) -> pl.Series:
    """The sums of Euclidean distances, by the pairs of each number of ranks apart."""
    x = every.select(names).to_numpy()
    query = every[QUERY].to_numpy()
    value = np.zeros(len(query))
    farthest = int(every["#above"].to_numpy().max(initial=0))
    for step in range(1, farthest + 1):
        same = query[step:] == query[:-step]
        squares = (x[step:] - x[:-step]) ** 2
        distance = np.sqrt(squares.sum(axis=1))
        value[step:] += np.where(same, distance, 0.0)
    return pl.Series(value)


def divergence(rows: pl.DataFrame, target: float | str) -> pl.Series:
    """The divergence of the shares of kinds down to each row from their target.

    It is that of Kullback and Leibler, in nats.

    Rows without a kind do not count. The target is the share of ``"true"``, or that of the kinds
    among all `documents` of the query, or `equal` shares.
    """
    known = pl.col("kind").is_not_null()
    # a window that stands in an expression more than once would be computed as often
    n_before = pl.int_range(pl.len()).over(QUERY, "kind")
    rows = rows.with_columns(before=n_before.cast(pl.Float64))
    of_documents = known.sum().over(QUERY, "kind") / known.sum().over(QUERY)
    n_kinds = pl.col("kind").drop_nulls().n_unique().over(QUERY)
    share = _wanted(target, of_documents, n_kinds)
    before = pl.col("before")
    after = before + 1
    # the sum of n log n over the kinds grows by this at a row
    old = zero_unless(before > 0, before * before.log())
    grown = after * after.log() - old
    value = zero_unless(known, grown - share.log())
    terms = rows.with_columns(value=value, known=known.cast(pl.Float64))
    terms = terms.select(pl.col("known", "value").cum_sum().over(QUERY))
    so_far = pl.col("known")
    value = pl.col("value") / so_far - so_far.log()
    value = zero_unless(so_far > 0, value.clip(lower_bound=0.0))
    return terms.select(value).to_series()


def _wanted(target: float | str, of_documents: pl.Expr, n_kinds: pl.Expr) -> pl.Expr:
    """The target share of each row's kind."""
    if target == "documents":
        return of_documents
    if isinstance(target, str):
        return 1 / n_kinds
    of_others = 1 - float(target)
    return pl.when(pl.col("kind") == "true").then(float(target)).otherwise(of_others)


def compared_shares(rows: pl.DataFrame, target: float | str, distance: str) -> pl.Series:
    """The distance of the kinds' shares of `weight` from their target, see `divergence`.

    It is null where no kind has a weight.

    The distance is `abs`, half the sum of the absolute differences; `jsd` gives 1 minus the
    Jensen-Shannon divergence in bits.
    """
    kind = pl.col("kind")
    known = rows.filter(kind.is_not_null())
    by_kind = known.group_by(QUERY, "kind", maintain_order=True)
    kinds = by_kind.agg(pl.col("weight").sum(), n=pl.len())
    if not isinstance(target, str):
        kinds = _with_both_kinds(kinds)
    total = pl.col("weight").sum().over(QUERY)
    of_documents = pl.col("n") / pl.col("n").sum().over(QUERY)
    wanted = _wanted(target, of_documents, pl.len().over(QUERY))
    terms = kinds.filter(total > 0).with_columns(p=pl.col("weight") / total, q=wanted)
    p = pl.col("p")
    q = pl.col("q")
    value = (p - q).abs().sum() / 2
    if distance == "jsd":
        middle = (p + q) / 2
        divergences = _divergence_term(p, middle) + _divergence_term(q, middle)
        value = 1 - (divergences.sum() / 2).clip(0.0, 1.0)
    return _by_query(rows, terms.group_by(QUERY).agg(value=value))


def _with_both_kinds(kinds: pl.DataFrame) -> pl.DataFrame:
    """The kinds of each query, with a weight of 0 for the one of "true" and "false" it lacks."""
    other = pl.when(pl.col("kind") == "true").then(pl.lit("false")).otherwise(pl.lit("true"))
    nothing = pl.lit(0, dtype=kinds.schema["n"])
    others = kinds.with_columns(other.alias("kind"), weight=pl.lit(0.0), n=nothing)
    lacking = others.join(kinds, on=[QUERY, "kind"], how="anti", maintain_order="left")
    return pl.concat([kinds, lacking])


def _divergence_term(x: pl.Expr, y: pl.Expr) -> pl.Expr:
    """The value x log2(x / y), 0 for x = 0: a term of a Kullback-Leibler divergence."""
    return zero_unless(x > 0, x * (x / y).log(2))


def calibration_error(rows: pl.DataFrame, profile: pl.DataFrame, alpha: float) -> pl.Series:
    """The divergence of the shares of kinds in each query's rows from those of its user.

    It is that of Kullback and Leibler, in nats, on every row.

    A row's `weight` is divided evenly among its kinds; a small share `alpha` of the user's own
    makes each share positive. Null for a query without a kind, or of a user without one.
    """
    weighted = _divided(_kinds(rows)).filter(pl.col("weight") > 0)
    by_kind = weighted.group_by(QUERY, "kind", maintain_order=True)
    kinds = by_kind.agg(pl.col("weight").sum())
    share = pl.col("weight") / pl.col("weight").sum().over(QUERY)
    kinds = kinds.select(QUERY, pl.col("kind").cast(pl.String), q=share)
    user = pl.col("user").cast(pl.get_index_type())
    users = rows.select(QUERY, user).unique(maintain_order=True)
    with_kinds = kinds.select(QUERY).unique()
    users = users.join(with_kinds, on=QUERY, how="semi", maintain_order="left")
    wanted = users.join(profile, left_on="user", right_on=USER, maintain_order="left_right")
    wanted = wanted.with_columns(pl.col("kind").cast(pl.String))
    shares = wanted.join(kinds, on=[QUERY, "kind"], how="left", maintain_order="left")
    p = pl.col("share")
    q = (1 - alpha) * pl.col("q").fill_null(0.0) + alpha * p
    errors = shares.group_by(QUERY).agg(value=(p * (p / q).log()).sum())
    return _by_query(rows, errors)
