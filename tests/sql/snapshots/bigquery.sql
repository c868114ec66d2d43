-- ndcg@10, ndcg(gain=exponential,ideal=retrieved)@10, precision@10, recall@10, map, rr, hit_rate@10,
-- err(max_label=4)@20, rbp, r_precision, judged@10
WITH
-- the run and its judgments, one under the other: a full join in which null ids are equal
rf_both AS (
  SELECT
    session_id AS query_1,
    doc_id AS doc,
    score + 0 AS score,
    CAST(NULL AS FLOAT64) AS grade,
    `day` AS by_1,
    1 AS run_rows,
    0 AS judged_rows
  FROM analytics.run
  UNION ALL
  SELECT
    session_id AS query_1,
    doc_id AS doc,
    NULL AS score,
    CAST(grade AS FLOAT64) AS grade,
    NULL AS by_1,
    0 AS run_rows,
    1 AS judged_rows
  FROM analytics.qrels
),
-- a row for each query and document
rf_joined AS (
  SELECT
    query_1,
    doc,
    MAX(score) AS score,
    MAX(grade) AS grade,
    MAX(by_1) AS by_1,
    SUM(run_rows) AS run_rows,
    SUM(judged_rows) AS judged_rows
  FROM rf_both
  GROUP BY
    query_1,
    doc
),
-- how many rows of the run, and labels, its query has
rf_counted AS (
  SELECT
    *,
    SUM(run_rows) OVER (PARTITION BY query_1) AS all_run_rows,
    COUNT(grade) OVER (PARTITION BY query_1) AS all_labels
  FROM rf_joined
),
-- the queries that count
rf_judged AS (
  SELECT
    *
  FROM rf_counted
  WHERE
    all_labels > 0
),
-- the score to rank by; null for a document that was not retrieved
rf_scored AS (
  SELECT
    rf_judged.*,
    score AS rank_score
  FROM rf_judged
),
-- the number of what is wrong with a row
rf_checked AS (
  SELECT
    rf_scored.*,
    CASE
      WHEN IS_NAN(CAST(score AS FLOAT64))
      THEN 3
      WHEN grade IS NOT NULL AND NOT ABS(grade) <= 1e+280
      THEN 4
      WHEN run_rows > 1 OR judged_rows > 1
      THEN 5
    END AS fault
  FROM rf_scored
),
-- the place of each document, those that were not retrieved last
rf_placed AS (
  SELECT
    rf_checked.*,
    CAST(ROW_NUMBER() OVER (
      PARTITION BY query_1
      ORDER BY CASE WHEN rank_score IS NULL THEN 1 ELSE 0 END, rank_score DESC, CASE WHEN doc IS NULL THEN 1 ELSE 0 END, doc DESC
    ) AS FLOAT64) AS first_place
  FROM rf_checked
),
-- rank from 1 on, the given label as grade, and the label that counts, 0 for a document that nobody judged
rf_ranked AS (
  SELECT
    query_1,
    doc,
    by_1,
    first_place AS place,
    CASE WHEN rank_score IS NOT NULL THEN first_place END AS doc_rank,
    rank_score AS score,
    grade,
    CASE WHEN grade > 0 THEN grade ELSE CAST(0 AS FLOAT64) END AS label,
    fault
  FROM rf_placed
),
-- what the formulas read on each row
rf_columns_1 AS (
  SELECT
    rf_ranked.*,
    CAST(ROW_NUMBER() OVER (PARTITION BY query_1 ORDER BY label DESC, place) AS FLOAT64) AS by1,
    (
      POWER(CAST(2 AS FLOAT64), CASE WHEN label > 900 THEN 900 ELSE label END)
    ) - 1 AS c2,
    CASE WHEN doc_rank IS NOT NULL THEN label ELSE 0 END AS c3,
    CAST(CASE WHEN label >= 1 THEN 1 ELSE 0 END AS FLOAT64) AS c4
  FROM rf_ranked
),
-- what the formulas read on each row, made of the columns above
rf_columns_2 AS (
  SELECT
    rf_columns_1.*,
    CAST(ROW_NUMBER() OVER (PARTITION BY query_1 ORDER BY c3 DESC, place) AS FLOAT64) AS by5,
    SUM(c4) OVER (PARTITION BY query_1) AS c6,
    SUM(CAST(CASE WHEN c4 > 0 THEN 1 ELSE 0 END AS FLOAT64)) OVER (
      PARTITION BY query_1
      ORDER BY place
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS c7,
    CASE
      WHEN MAX(CASE WHEN (
        1 - (
          c2 / 16
        )
      ) = 0 THEN 1 ELSE 0 END) OVER (
        PARTITION BY query_1
        ORDER BY place
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
      ) = 1
      THEN 0
      ELSE CASE
        WHEN (
          SUM(CASE WHEN (
            1 - (
              c2 / 16
            )
          ) < 0 THEN 1 ELSE 0 END) OVER (
            PARTITION BY query_1
            ORDER BY place
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
          ) * 0.5
        ) <> FLOOR(
          SUM(CASE WHEN (
            1 - (
              c2 / 16
            )
          ) < 0 THEN 1 ELSE 0 END) OVER (
            PARTITION BY query_1
            ORDER BY place
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
          ) * 0.5
        )
        THEN -EXP(
          CASE
            WHEN COALESCE(
              SUM(LN(CASE WHEN (
                1 - (
                  c2 / 16
                )
              ) <> 0 THEN ABS(1 - (
                c2 / 16
              )) END)) OVER (
                PARTITION BY query_1
                ORDER BY place
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
              ),
              0
            ) < -700
            THEN -700
            ELSE COALESCE(
              SUM(LN(CASE WHEN (
                1 - (
                  c2 / 16
                )
              ) <> 0 THEN ABS(1 - (
                c2 / 16
              )) END)) OVER (
                PARTITION BY query_1
                ORDER BY place
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
              ),
              0
            )
          END
        )
        ELSE EXP(
          CASE
            WHEN COALESCE(
              SUM(LN(CASE WHEN (
                1 - (
                  c2 / 16
                )
              ) <> 0 THEN ABS(1 - (
                c2 / 16
              )) END)) OVER (
                PARTITION BY query_1
                ORDER BY place
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
              ),
              0
            ) < -700
            THEN -700
            ELSE COALESCE(
              SUM(LN(CASE WHEN (
                1 - (
                  c2 / 16
                )
              ) <> 0 THEN ABS(1 - (
                c2 / 16
              )) END)) OVER (
                PARTITION BY query_1
                ORDER BY place
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
              ),
              0
            )
          END
        )
      END
    END AS c8,
    (
      POWER(CAST(2 AS FLOAT64), CASE WHEN c3 > 900 THEN 900 ELSE c3 END)
    ) - 1 AS c9
  FROM rf_columns_1
),
-- what the formulas read on each row, made of the columns above
rf_columns_3 AS (
  SELECT
    rf_columns_2.*,
    COALESCE(
      LAG(CAST(c8 AS FLOAT64), 1) OVER (PARTITION BY query_1 ORDER BY place),
      CAST(1 AS FLOAT64)
    ) AS c10
  FROM rf_columns_2
),
-- the sums of each query
rf_sums AS (
  SELECT
    query_1,
    MAX(fault) AS fault,
    MIN(by_1) AS by_1_of,
    CASE WHEN MIN(by_1) <> MAX(by_1) THEN 6 END AS by_1_fault,
    COALESCE(
      SUM(
        CASE
          WHEN doc_rank <= 10
          THEN label / (
            LN(doc_rank + 1) / 0.6931471805599453
          )
          ELSE 0
        END
      ),
      0
    ) AS s1,
    SUM(
      CASE WHEN by1 <= 10 THEN label / (
        LN(by1 + 1) / 0.6931471805599453
      ) ELSE 0 END
    ) AS s2,
    COALESCE(
      SUM(
        CASE
          WHEN doc_rank <= 10
          THEN c2 / (
            LN(doc_rank + 1) / 0.6931471805599453
          )
          ELSE 0
        END
      ),
      0
    ) AS s3,
    SUM(CASE WHEN by5 <= 10 THEN c9 / (
      LN(by5 + 1) / 0.6931471805599453
    ) ELSE 0 END) AS s4,
    SUM(CASE WHEN doc_rank <= 10 THEN c4 ELSE 0 END) AS s5,
    COALESCE(SUM(CASE WHEN doc_rank IS NOT NULL THEN (
      c4 * c7
    ) / doc_rank ELSE 0 END), 0) AS s6,
    COALESCE(
      SUM(
        CASE
          WHEN doc_rank IS NOT NULL
          THEN CASE WHEN c7 = 1 THEN c4 ELSE 0 END / doc_rank
          ELSE 0
        END
      ),
      0
    ) AS s7,
    SUM(CASE WHEN doc_rank <= 10 THEN CASE WHEN c7 = 1 THEN c4 ELSE 0 END ELSE 0 END) AS s8,
    COALESCE(
      SUM(
        CASE WHEN doc_rank <= 20 THEN (
          (
            c2 / 16
          ) * c10
        ) / doc_rank ELSE 0 END
      ),
      0
    ) AS s9,
    COALESCE(
      SUM(
        CASE
          WHEN doc_rank IS NOT NULL
          THEN c4 * (
            POWER(CAST(0.8 AS FLOAT64), doc_rank - 1)
          )
          ELSE 0
        END
      ),
      0
    ) AS s10,
    SUM(CASE WHEN doc_rank <= c6 THEN c4 ELSE 0 END) AS s11,
    SUM(
      CASE
        WHEN doc_rank <= 10
        THEN CAST(CASE
          WHEN COALESCE(
            CASE WHEN grade >= 0 THEN 1 WHEN NOT grade >= 0 THEN 0 END,
            CASE WHEN 1 = 0 THEN 1 ELSE 0 END
          ) = 1
          THEN 1
          ELSE 0
        END AS FLOAT64)
        ELSE 0
      END
    ) AS s12,
    SUM(CAST(CASE WHEN grade IS NOT NULL THEN 1 ELSE 0 END AS FLOAT64)) AS s13,
    SUM(CAST(CASE WHEN doc_rank IS NOT NULL THEN 1 ELSE 0 END AS FLOAT64)) AS s14,
    MAX(c6) AS s15,
    MAX(CASE WHEN label >= 900 THEN 1 END) AS f1,
    MAX(CASE WHEN label > 4 THEN 2 END) AS f2
  FROM rf_columns_3
  GROUP BY
    query_1
),
-- the metrics of each query
rf_per_query AS (
  SELECT
    query_1,
    by_1_of AS by_1,
    CASE WHEN s13 > 0 THEN COALESCE(s1 / NULLIF(s2, 0), 0) ELSE NULL END AS v1,
    CASE WHEN s13 > 0 THEN COALESCE(s3 / NULLIF(s4, 0), 0) ELSE NULL END AS v2,
    CASE WHEN s13 > 0 THEN s5 / 10 ELSE NULL END AS v3,
    CASE WHEN s13 > 0 THEN COALESCE(s5 / NULLIF(s15, 0), 0) ELSE NULL END AS v4,
    CASE WHEN s13 > 0 THEN COALESCE(s6 / NULLIF(s15, 0), 0) ELSE NULL END AS v5,
    CASE WHEN s13 > 0 THEN s7 ELSE NULL END AS v6,
    CASE WHEN s13 > 0 THEN s8 ELSE NULL END AS v7,
    CASE WHEN s13 > 0 THEN s9 ELSE NULL END AS v8,
    CASE
      WHEN s13 > 0
      THEN CASE
        WHEN (
          0.19999999999999996 * s10
        ) > 1
        THEN 1
        ELSE 0.19999999999999996 * s10
      END
      ELSE NULL
    END AS v9,
    CASE WHEN s13 > 0 THEN COALESCE(s11 / NULLIF(s15, 0), 0) ELSE NULL END AS v10,
    CASE
      WHEN s13 > 0
      THEN COALESCE(s12 / NULLIF(CASE WHEN 10 < s14 THEN 10 ELSE s14 END, 0), 0)
      ELSE NULL
    END AS v11
  FROM rf_sums
  WHERE
    CASE
      WHEN COALESCE(fault, by_1_fault, f1, f2) IS NULL
      THEN 1
      ELSE ERROR(
        CASE
          WHEN COALESCE(fault, by_1_fault, f1, f2) = 1
          THEN 'rankframe: a label of 900 or more is beyond 2^label; say what labels are worth, {label: gain}'
          WHEN COALESCE(fault, by_1_fault, f1, f2) = 2
          THEN 'rankframe: a label is above max_label=4; give the top of the label scale, as max_label=4, or the probability of each label, as gain={1: 0.5, 2: 1}'
          WHEN COALESCE(fault, by_1_fault, f1, f2) = 3
          THEN 'rankframe: column \'score\' holds NaN'
          WHEN COALESCE(fault, by_1_fault, f1, f2) = 4
          THEN 'rankframe: column \'grade\' holds NaN or an infinite label, or one beyond 1e+280'
          WHEN COALESCE(fault, by_1_fault, f1, f2) = 5
          THEN 'rankframe: a query holds the same \'doc_id\' twice'
          WHEN COALESCE(fault, by_1_fault, f1, f2) = 6
          THEN 'rankframe: a query is in two slices'
        END
      )
    END = 1
)
SELECT
  by_1 AS `day`,
  CAST(COUNT(*) AS INT64) AS queries,
  AVG(v1) AS ndcg_at_10,
  AVG(v2) AS ndcg_gain_exponential_ideal_retrieved_at_10,
  AVG(v3) AS precision_at_10,
  AVG(v4) AS recall_at_10,
  AVG(v5) AS map,
  AVG(v6) AS rr,
  AVG(v7) AS hit_rate_at_10,
  AVG(v8) AS err_max_label_4_at_20,
  AVG(v9) AS rbp,
  AVG(v10) AS r_precision,
  AVG(v11) AS judged_at_10
FROM rf_per_query
GROUP BY
  by_1
