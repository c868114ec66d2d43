"""Functions of the rows of whole queries in rank order, for metrics of what lists of items hold."""

from __future__ import annotations

import polars as pl

from .._table.profiles import USER, features_of, in_lists, units

QUERY = "query"


def new_kinds(rows: pl.DataFrame) -> pl.Series:
    """The number of the kinds of each row that no row above it has; of rows that are `listed`."""
    new = _kinds(rows).filter(pl.struct(QUERY, "kind").is_first_distinct())
    return _by_row(rows, new.group_by("#row").agg(pl.len().cast(pl.Float64).alias("value")))


def entropy_terms(rows: pl.DataFrame) -> pl.Series:
    """The term of each row in the sum of w log2 w over the kinds, for w the weight of all rows of a kind down to the row.

    A row's `weight` is divided evenly among its kinds.
    """
    # a window that stands in an expression more than once would be computed as often
    kinds = _divided(_kinds(rows)).with_columns(so_far=pl.col("weight").cum_sum().over(QUERY, "kind"))
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
    return lists.with_columns(sizes).filter(pl.col("#size") > 0).explode("kind")


def _divided(kinds: pl.DataFrame) -> pl.DataFrame:
    """The weight of each row divided evenly among its kinds."""
    return kinds.with_columns(pl.col("weight") / pl.col("#size"))


def _by_row(rows: pl.DataFrame, found: pl.DataFrame) -> pl.Series:
    """The values by row number, 0.0 for other rows."""
    import numpy as np

    values = np.zeros(rows.height)
    values[found["#row"].to_numpy()] = found["value"].to_numpy()
    return pl.Series(values)


def sums_of_distances(rows: pl.DataFrame, distance: str) -> pl.Series:
    """The sum of the distances of each listed row from all rows above it; NaN without features, 0.0 for other rows."""
    every, rows = rows, rows.filter("listed")
    found = _sums_of_distances(rows, distance).alias("value")
    numbers = every.with_row_index("#row").filter("listed").select("#row", found)
    return _by_row(every, numbers)


def _sums_of_distances(rows: pl.DataFrame, distance: str) -> pl.Series:
    features = features_of(rows, [name for name in rows.columns if name.startswith("feature ")])
    if features is None:
        return pl.Series([float("nan")] * rows.height, dtype=pl.Float64)
    names = features.columns
    missing = pl.any_horizontal(~pl.col(name).is_finite().fill_null(False) for name in names)
    every = features.with_columns(missing.alias("missing"), rows[QUERY], rows["listed"])
    above = (pl.int_range(pl.len()).over(QUERY)).cast(pl.Float64)
    if distance == "cosine":
        every = every.with_columns(units(names))
        sums = (pl.col(name) * (pl.col(name).cum_sum().over(QUERY) - pl.col(name)) for name in names)
        value = above - pl.sum_horizontal(*sums)
    elif distance == "hamming":
        value = pl.sum_horizontal(*(above - pl.int_range(pl.len()).over(QUERY, name) for name in names))
    else:
        return _pairwise(every, names)
    return every.select(pl.when("missing").then(float("nan")).otherwise(value)).to_series()


def _pairwise(every: pl.DataFrame, names: list[str]) -> pl.Series:
    """The sums of Euclidean distances, by the pairs of each number of ranks apart."""
    import numpy as np

    x, query = every.select(names).to_numpy(), every[QUERY].to_numpy()
    place = every.select(pl.int_range(pl.len()).over(QUERY)).to_series().to_numpy()
    most = int(place[every["listed"].to_numpy()].max(initial=0))
    value = np.zeros(len(query))
    for apart in range(1, most + 1):
        same = query[apart:] == query[:-apart]
        value[apart:] += np.where(same, np.sqrt(((x[apart:] - x[:-apart]) ** 2).sum(axis=1)), 0.0)
    value[every["missing"].to_numpy()] = np.nan
    return pl.Series(value)


def divergence(rows: pl.DataFrame, target: float | str) -> pl.Series:
    """The Kullback-Leibler divergence, in nats, of the shares of kinds down to each row from their target.

    Rows without a kind do not count. The target is the share of ``"true"``, or that of the kinds among all `documents` of
    the query, or `equal` shares.
    """
    known = pl.col("kind").is_not_null()
    # a window that stands in an expression more than once would be computed as often
    rows = rows.with_columns(before=pl.int_range(pl.len()).over(QUERY, "kind").cast(pl.Float64))
    if target == "documents":
        share = known.sum().over(QUERY, "kind") / known.sum().over(QUERY)
    elif target == "equal":
        share = 1 / pl.col("kind").drop_nulls().n_unique().over(QUERY)
    else:
        share = pl.when(pl.col("kind") == "true").then(float(target)).otherwise(1 - float(target))
    before, after = pl.col("before"), pl.col("before") + 1
    grown = after * after.log() - pl.when(before > 0).then(before * before.log()).otherwise(0.0)
    terms = rows.with_columns(
        value=pl.when(known).then(grown - share.log()).otherwise(0.0), known=known.cast(pl.Float64)
    )
    terms = terms.select(pl.col("known", "value").cum_sum().over(QUERY))
    so_far = pl.col("known")
    value = pl.col("value") / so_far - so_far.log()
    return terms.select(pl.when(so_far > 0).then(value.clip(lower_bound=0.0)).otherwise(0.0)).to_series()


def compared_shares(rows: pl.DataFrame, target: float | str, distance: str) -> pl.Series:
    """The distance of the kinds' shares of `weight` from their target, see `divergence`; null where no kind has a weight.

    The distance is `abs`, half the sum of the absolute differences; `jsd` gives 1 minus the Jensen-Shannon divergence in bits.
    """
    known = rows.filter(pl.col("kind").is_not_null())
    kinds = known.group_by(QUERY, "kind", maintain_order=True).agg(pl.col("weight").sum(), n=pl.len())
    if not isinstance(target, str):
        other = pl.when(pl.col("kind") == "true").then(pl.lit("false")).otherwise(pl.lit("true"))
        lacking = kinds.with_columns(other.alias("kind"), weight=pl.lit(0.0), n=pl.lit(0, dtype=kinds.schema["n"]))
        kinds = pl.concat([kinds, lacking.join(kinds, on=[QUERY, "kind"], how="anti", maintain_order="left")])
    weight, total = pl.col("weight"), pl.col("weight").sum().over(QUERY)
    if target == "documents":
        wanted = pl.col("n") / pl.col("n").sum().over(QUERY)
    elif target == "equal":
        wanted = 1 / pl.len().over(QUERY)
    else:
        wanted = pl.when(pl.col("kind") == "true").then(float(target)).otherwise(1 - float(target))
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
    """The KL divergence, in nats, of the shares of kinds in each query's rows from those of its user, on every row.

    A row's `weight` is divided evenly among its kinds; a small share `alpha` of the user's own makes each share positive.
    Null for a query without a kind, or of a user without one.
    """
    kinds = _divided(_kinds(rows)).filter(pl.col("weight") > 0)
    found = kinds.group_by(QUERY, "kind", maintain_order=True).agg(pl.col("weight").sum())
    found = found.with_columns(q=pl.col("weight") / pl.col("weight").sum().over(QUERY)).select(QUERY, "kind", "q")
    there = found.select(QUERY).unique()
    users = rows.select(QUERY, pl.col("user").cast(pl.get_index_type())).unique(maintain_order=True)
    users = users.join(there, on=QUERY, how="semi", maintain_order="left")
    wanted = users.join(profile, left_on="user", right_on=USER, maintain_order="left_right")
    found, wanted = (x.with_columns(pl.col("kind").cast(pl.String)) for x in (found, wanted))
    p, q = pl.col("share"), (1 - alpha) * pl.col("q").fill_null(0.0) + alpha * pl.col("share")
    shares = wanted.join(found, on=[QUERY, "kind"], how="left", maintain_order="left")
    errors = shares.group_by(QUERY).agg(value=(p * (p / q).log()).sum())
    return rows.select(QUERY).join(errors, on=QUERY, how="left", maintain_order="left")["value"]
