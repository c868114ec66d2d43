"""The ten metrics that are measured: as rankframe spells them, and in SQL by window functions."""

from __future__ import annotations

__all__ = [
    "ERR",
    "EXPONENTIAL",
    "LINEAR",
    "NDCG_BY_AGGREGATES",
    "NDCG_BY_WINDOWS",
    "RBP",
    "TEN",
    "TEN_BY_WINDOWS",
]

LINEAR, EXPONENTIAL, RBP, ERR = (
    "ndcg@10",
    "ndcg(gain=exponential)@10",
    "rbp(p=0.95)",
    "err(max_label=4)",
)
COUNTED = ("map", "rr", "precision@10", "recall@100", "hit_rate@10", "r_precision")
TEN = (LINEAR, EXPONENTIAL, *COUNTED, RBP, ERR)

TEN_BY_WINDOWS = """
WITH ranked AS (
    SELECT query_id, label, row_number() OVER (PARTITION BY query_id ORDER BY score DESC, doc_id DESC) AS r FROM judged
), relevant AS (
    SELECT *, 2.0 ** label - 1 AS gain,
        row_number() OVER in_order AS hits,
        row_number() OVER (PARTITION BY query_id ORDER BY label DESC) AS best,
        count(*) OVER (PARTITION BY query_id) AS total,
        coalesce(exp(sum(ln(1 - (2.0 ** label - 1) / 16)) OVER
            (PARTITION BY query_id ORDER BY r ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)), 1) AS goes_on
    FROM ranked WHERE label > 0 WINDOW in_order AS (PARTITION BY query_id ORDER BY r)
), found AS (
    SELECT query_id,
        sum(label / log2(r + 1)) FILTER (r <= 10) / sum(label / log2(best + 1)) FILTER (best <= 10) AS "ndcg@10",
        sum(gain / log2(r + 1)) FILTER (r <= 10) / sum(gain / log2(best + 1)) FILTER (best <= 10) AS "ndcg(gain=exponential)@10",
        sum(hits / r) / any_value(total) AS map,
        1 / min(r) AS rr,
        count(*) FILTER (r <= 10) / 10 AS "precision@10",
        count(*) FILTER (r <= 100) / any_value(total) AS "recall@100",
        (min(r) <= 10)::INT AS "hit_rate@10",
        count(*) FILTER (r <= total) / any_value(total) AS r_precision,
        sum(0.05 * pow(0.95::DOUBLE, r - 1)) AS "rbp(p=0.95)",
        sum(gain / 16 * goes_on / r) AS "err(max_label=4)"
    FROM relevant GROUP BY query_id
)
SELECT query_id, coalesce(COLUMNS(* EXCLUDE query_id), 0)::DOUBLE
FROM (SELECT DISTINCT query_id FROM judged) LEFT JOIN found USING (query_id)
"""
"""All ten of a table `judged`, in DuckDB's SQL: rows that are not relevant are dropped once they
are ranked."""

NDCG_BY_WINDOWS = """
SELECT query_id, coalesce(
    sum(label / log2(place + 1)) FILTER (place <= 10) / nullif(sum(label / log2(best + 1)) FILTER (best <= 10), 0), 0
) AS "ndcg@10"
FROM (
    SELECT query_id, label,
        row_number() OVER (PARTITION BY query_id ORDER BY score DESC, doc_id DESC) AS place,
        row_number() OVER (PARTITION BY query_id ORDER BY label DESC) AS best
    FROM judged)
GROUP BY query_id
"""

NDCG_BY_AGGREGATES = """
SELECT query_id, coalesce(
    list_sum(list_transform(top, lambda x, i: x / log2(i + 1)))
    / nullif(list_sum(list_transform(best, lambda x, i: x / log2(i + 1))), 0), 0
) AS "ndcg@10"
FROM (
    SELECT query_id, max_by(label, (score, doc_id), 10) AS top, max(label, 10) AS best FROM judged GROUP BY query_id)
"""
"""The same by aggregates that keep the ten greatest, with no sort of all rows."""
