"""trec_eval 10's measures once more: plain Python over one query's rows, by its names, parameters and options.

Slow and simple on purpose, like the oracles it builds on, whose rows it takes. `evaluate` answers for a table what
`trec_eval -q` prints of it, in the same order; `lines` writes that down as it prints it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.metrics.oracles import binary, order
from tests.metrics.oracles.order import eleven_point_average, interpolated_precision
from tests.metrics.oracles.query import Query, Row, is_judged, ranked, ratio

Levels = Mapping[int, float]
Value = float | str

SMALLEST = 0.00001  # the geometric means' least value, and infAP's epsilon
BOGUS = ("ceci_nest_pas_un_docno", 1.0, None)


@dataclass(frozen=True)
class Options:
    """The command line: -l, -J, -M, -N and -c."""

    level: int = 1
    judged_only: bool = False
    depth: int | None = None
    collection: int = 0
    complete: bool = False


@dataclass(frozen=True)
class TrecQuery(Query):
    collection: int = 0

    def top(self, k: int | None) -> list[Row]:
        return self.ranking[:k]


def trec_query(rows: Sequence[Row], options: Options = Options()) -> TrecQuery:
    """Rank, then cut (-M), then leave out unjudged documents (-J); documents that were cut still count as judged."""
    rows = [(doc, score, None if label is None else int(label)) for doc, score, label in rows]
    ranking = ranked(rows, "trec_eval")[: options.depth]
    rest = [row for row in rows if row not in ranking]
    if options.judged_only:
        ranking = [row for row in ranking if is_judged(row)]
    return TrecQuery(ranking, rest, options.level, 0, collection=options.collection)


# Counts and sets --------------------------------------------------------------------------------------------


def num_nonrel_judged_ret(q: TrecQuery) -> float:
    return sum(q.is_nonrelevant(row) for row in q.ranking)


def relative_p(q: TrecQuery, k: int) -> float:
    return ratio(q.hits(k), min(k, q.R))


def set_relative_p(q: TrecQuery) -> float:
    return ratio(q.hits(None), min(q.n, q.R))


def set_map(q: TrecQuery) -> float:
    return ratio(q.hits(None) ** 2, q.n * q.R)


def set_f(q: TrecQuery, x: float = 1.0, *_: float) -> float:
    """The parameter is beta squared; further ones are ignored."""
    p, r = ratio(q.hits(None), q.n), ratio(q.hits(None), q.R)
    return ratio((x + 1) * p * r, x * p + r)


def utility(q: TrecQuery, a: float = 1.0, b: float = -1.0, c: float = 0.0, d: float = 0.0) -> float:
    hits = q.hits(None)
    return a * hits + b * (q.n - hits) + c * (q.R - hits) + d * (q.collection + hits - q.n - q.R)


def unj(q: TrecQuery, k: int) -> float:
    return sum(not is_judged(row) for row in q.top(k)) / k


def relstring(q: TrecQuery, length: float = 10.0, *_: float) -> str:
    def letter(label: float | None) -> str:
        if label is None:
            return "-"
        return "." if label < 0 else ">" if label > 9 else str(int(label))

    return "".join(letter(label) for _, _, label in q.top(max(0, int(length))))


# Binary rankings --------------------------------------------------------------------------------------------


def rprec_mult(q: TrecQuery, x: float) -> float:
    k = int(x * q.R + 0.9)
    return ratio(q.hits(k), k)


def average_iprec(q: TrecQuery, *recalls: float) -> float:
    if not recalls:
        return eleven_point_average(q)
    return sum(interpolated_precision(q, recall) for recall in recalls) / len(recalls)


def gm_map(q: TrecQuery) -> float:
    return math.log(max(order.average_precision(q), SMALLEST))


def gm_bpref(q: TrecQuery) -> float:
    return math.log(max(order.bpref(q), SMALLEST))


def yaap(q: TrecQuery) -> float:
    """Robertson 2012: the log odds of average precision, smoothed."""
    found = sum(q.precision(rank) for rank in q.relevant_ranks)
    return math.log((1 + found) / (1 + q.R - found))


def inf_ap(q: TrecQuery) -> float:
    """Yilmaz and Aslam 2006: precision above a document is that of judged documents times the share of pooled ones."""
    total = 0.0
    for rank in q.relevant_ranks:
        above = q.ranking[: rank - 1]
        relevant = sum(q.is_relevant(row) for row in above)
        nonrelevant = sum(q.is_nonrelevant(row) for row in above)
        pooled = sum(label is not None for _, _, label in above)
        precision = (relevant + SMALLEST) / (relevant + nonrelevant + 2 * SMALLEST)
        total += 1 / rank + (rank - 1) / rank * ratio(pooled, rank - 1) * precision
    return ratio(total, q.R)


def bin_g(q: TrecQuery) -> float:
    return ratio(sum(1 / math.log2(2 + rank - found) for found, rank in enumerate(q.relevant_ranks, 1)), q.R)


# Graded gain: a label's gain is itself, or what the parameters say, also of unjudged documents --------------


def gain_of(row: Row, gains: Levels) -> float:
    """-1 stands for documents out of the pool, -2 for those in it that nobody judged."""
    if row[2] is None:
        return gains.get(-1, 0.0)
    return gains.get(-2, 0.0) if row[2] < 0 else gains.get(int(row[2]), row[2])


def ideal_gains(q: TrecQuery, gains: Levels) -> list[float]:
    """Gains above 0 of the judged documents, best first; -l plays no part."""
    return sorted((gain for row in q.rows if is_judged(row) and (gain := gain_of(row, gains)) > 0), reverse=True)


def discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def dcg(q: TrecQuery, gains: Levels, k: int | None = None) -> float:
    return discounted([gain_of(row, gains) for row in q.top(k)])


def ideal_dcg(q: TrecQuery, gains: Levels, k: int | None = None) -> float:
    return discounted(ideal_gains(q, gains)[:k])


def ndcg(q: TrecQuery, gains: Levels) -> float:
    return ratio(dcg(q, gains), ideal_dcg(q, gains))


def ndcg_cut(q: TrecQuery, k: int) -> float:
    return ratio(dcg(q, {}, k), ideal_dcg(q, {}, k))


def ndcg_at(q: TrecQuery, gains: Levels, k: int) -> float:
    return ratio(dcg(q, gains, k), ideal_dcg(q, gains, k))


def ndcg_rel(q: TrecQuery, gains: Levels) -> float:
    """Mean of nDCG at the documents with gain; those that were not retrieved count as at the end."""
    m = len(ideal_gains(q, gains))
    ranks = [rank for rank, row in enumerate(q.ranking, 1) if gain_of(row, gains) > 0]
    total = sum(ndcg_at(q, gains, rank) for rank in ranks) + (m - len(ranks)) * ndcg(q, gains)
    return max(0.0, ratio(total, m))


def rndcg(q: TrecQuery, gains: Levels) -> float:
    """Mean of nDCG where the ideal gain falls, and at the end of a ranking that goes on for longer than one more."""
    ideal = ideal_gains(q, gains)
    if not q.R:
        return 0.0
    falls = [rank for rank, gain in enumerate(ideal, 1) if rank == len(ideal) or gain > ideal[rank]]
    if q.n > len(ideal) + 1:
        falls.append(q.n)
    return ratio(sum(ndcg_at(q, gains, rank) for rank in falls), len(falls))


def g(q: TrecQuery, gains: Levels) -> float:
    """Gain discounted by how much more could have been gained so far; every rank costs 1 at least."""
    ideal = ideal_gains(q, gains)
    total = cost = found = 0.0
    for rank, row in enumerate(q.ranking):
        gain = gain_of(row, gains)
        cost += max(1.0, ideal[rank] if rank < len(ideal) else 0.0)
        found += gain
        total += gain / math.log2(2 + cost - found) if gain else 0.0
    return ratio(total, sum(ideal))


def rbp(q: TrecQuery, gains: Levels, p: float = 0.9) -> float:
    """Moffat and Zobel 2008. Gains not all in [0, 1] are scaled to it, by the labels up to the query's own largest."""
    largest = max((int(row[2]) for row in q.rows if is_judged(row)), default=-1)
    scale = {**{level: float(level) for level in range(largest + 1)}, **gains}
    low, high = min(scale.values(), default=0.0), max(scale.values(), default=0.0)
    if low < 0 or high > 1:
        scale = {level: (gain - low) / (high - low) for level, gain in scale.items()}
    return (1 - p) * sum(gain_of(row, scale) * p**i for i, row in enumerate(q.ranking))


def rbp_resid(q: TrecQuery, gains: Levels, p: float = 0.9) -> float:
    """The most that unjudged documents could add; the tail below the ranking counts only if there is one."""
    unjudged = [i for i, row in enumerate(q.ranking) if not is_judged(row)]
    return p**q.n + (1 - p) * sum(p**i for i in unjudged) if unjudged else 0.0


# Names, parameters, and the summary over the queries --------------------------------------------------------

CUTOFFS = "5,10,15,20,30,100,200,500,1000"
RECALLS = "0.0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0"
MULTIPLES = "0.2,0.4,0.6,0.8,1.0,1.2,1.4,1.6,1.8,2.0"


@dataclass(frozen=True)
class Measure:
    """The calculation of a measure, its parameters, and its summary."""

    of: Callable[..., Value]
    # "ranks" and "shares" make one value each; "numbers" and "gains" are all for one value.
    parameters: str = ""
    default: str = ""
    # The summary `all`; "geometric" prints nothing else, "text" everything but the summary.
    summary: str = "mean"


# In the order in which trec_eval prints them; num_q and runid are of the whole run.
MEASURES: dict[str, Measure] = {
    "num_ret": Measure(lambda q: q.n, summary="sum"),
    "num_rel": Measure(lambda q: q.R, summary="sum"),
    "num_rel_ret": Measure(lambda q: q.hits(None), summary="sum"),
    "map": Measure(order.average_precision),
    "gm_map": Measure(gm_map, summary="geometric"),
    "Rprec": Measure(binary.r_precision),
    "bpref": Measure(order.bpref),
    "recip_rank": Measure(order.reciprocal_rank),
    "iprec_at_recall": Measure(interpolated_precision, "shares", RECALLS),
    "P": Measure(binary.precision, "ranks", CUTOFFS),
    "relstring": Measure(relstring, "numbers", summary="text"),
    "recall": Measure(binary.recall, "ranks", CUTOFFS),
    "infAP": Measure(inf_ap),
    "gm_bpref": Measure(gm_bpref, summary="geometric"),
    "Rprec_mult": Measure(rprec_mult, "shares", MULTIPLES),
    "utility": Measure(utility, "numbers"),
    "11pt_avg": Measure(average_iprec, "numbers"),
    "binG": Measure(bin_g),
    "G": Measure(g, "gains"),
    "dcg": Measure(dcg, "gains"),
    "ideal_dcg": Measure(ideal_dcg, "gains"),
    "ndcg": Measure(ndcg, "gains"),
    "ndcg_rel": Measure(ndcg_rel, "gains"),
    "Rndcg": Measure(rndcg, "gains"),
    "ndcg_cut": Measure(ndcg_cut, "ranks", CUTOFFS),
    "map_cut": Measure(order.average_precision, "ranks", CUTOFFS),
    "relative_P": Measure(relative_p, "ranks", CUTOFFS),
    "success": Measure(binary.hit_rate, "ranks", "1,5,10"),
    "set_P": Measure(binary.precision),
    "set_relative_P": Measure(set_relative_p),
    "set_recall": Measure(binary.recall),
    "set_map": Measure(set_map),
    "set_F": Measure(set_f, "numbers"),
    "num_nonrel_judged_ret": Measure(num_nonrel_judged_ret, summary="sum"),
    "yaap": Measure(yaap),
    "rbp": Measure(rbp, "gains"),
    "rbp_resid": Measure(rbp_resid, "gains"),
    "unj": Measure(unj, "ranks", "5,10,20"),
}
COUNTS = {"num_q", *(name for name, measure in MEASURES.items() if measure.summary == "sum")}
NICKNAMES = {
    "all_trec": {"runid", "num_q", *MEASURES} - {"dcg", "ideal_dcg", "yaap"},
    "official": {
        "runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank",
        "iprec_at_recall", "P",
    },
    "set": {
        "runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "utility", "set_P", "set_recall", "set_relative_P",
        "set_map", "set_F",
    },
}  # fmt: skip

Calls = list[tuple[str, Measure, Callable[[TrecQuery], Value]]]


def calls(asked: Iterable[str]) -> Calls:
    """(printed name, measure, its value of a query) of measures asked for as after -m."""
    parameters: dict[str, str] = {}
    for text in asked:
        name, _, given = text.partition(".")
        for each in NICKNAMES.get(name, {name}):
            parameters[each] = parameters.get(each) or (given if each == name else "")
    return [call for name, measure in MEASURES.items() if name in parameters for call in one(name, measure, parameters)]


def one(name: str, measure: Measure, parameters: Mapping[str, str]) -> Calls:
    given = parameters[name]
    text = given or measure.default
    values = text.split(",") if text else []
    full = f"{name}_{given}" if given else name
    of = measure.of
    if measure.parameters == "ranks":
        return [(f"{name}_{k}", measure, lambda q, k=k: of(q, k)) for k in sorted(int(float(v)) for v in values)]
    if measure.parameters == "shares":
        return [(f"{name}_{x:.2f}", measure, lambda q, x=x: of(q, x)) for x in sorted(map(float, values))]
    if measure.parameters == "gains":
        pairs = [value.split("=") for value in values]
        named = {key: float(value) for key, value in pairs if not is_integer(key)}
        gains = {int(key): float(value) for key, value in pairs if is_integer(key)}
        return [(full, measure, lambda q: of(q, gains, **named))]
    return [(full, measure, lambda q: of(q, *map(float, values)))]


def is_integer(text: str) -> bool:
    return text.lstrip("+-").isdigit()


def evaluate(
    table: Mapping[str, Sequence[Row]],
    asked: Iterable[str],
    options: Options = Options(),
) -> dict[str, dict[str, Value]]:
    """{query: {printed name: value}}, and the summary under "all" (which no query may be called)."""
    asked = list(asked)
    expanded = {name for text in asked for name in NICKNAMES.get(text, {text})}
    wanted = calls(asked)
    judged = [q for q, rows in sorted(table.items()) if any(label is not None for _, _, label in rows)]
    retrieved = {q for q, rows in table.items() if any(score is not None for _, score, _ in rows)}
    values: dict[str, dict[str, Value]] = {}
    for query in judged:
        if query in retrieved:
            q = trec_query(table[query], options)
        elif options.complete:
            q = trec_query([*table[query], BOGUS], options)
        else:
            continue
        values[query] = {name: of(q) for name, _, of in wanted}
        if query not in retrieved:
            forgotten = {
                name for name in values[query] if name in ("num_ret", "utility", "rbp_resid") or name[:3] == "unj"
            }
            values[query] |= dict.fromkeys(forgotten, 0.0)
            values[query] |= {"relstring": ""} if "relstring" in values[query] else {}
    total: dict[str, Value] = {"num_q": len(values)} if "num_q" in expanded else {}
    for name, measure, _ in wanted:
        column = [found[name] for found in values.values()]
        if measure.summary != "text":
            total[name] = sum(column) if measure.summary == "sum" else sum(column) / len(column)
        if measure.summary == "geometric":
            total[name] = math.exp(total[name])
            for found in values.values():
                del found[name]
    if options.complete and "num_rel" in total:
        # The summary of -c counts labels above 0, whatever -l says.
        total["num_rel"] = sum(trec_query(table[q], replace(options, level=1)).R for q in judged)
    return {**values, "all": total}


def lines(values: Mapping[str, Mapping[str, Any]], runid: str | None = None) -> list[str]:
    """The lines of `trec_eval -q`."""
    printed = []
    for query, found in values.items():
        if query == "all" and runid is not None:
            printed.append(f"{'runid':<22}\tall\t{runid}")
        for name, value in found.items():
            text = f"'{value}'" if isinstance(value, str) else f"{value:.0f}" if name in COUNTS else f"{value:6.4f}"
            printed.append(f"{name:<22}\t{query}\t{text}")
    return printed
