"""A page for the review of a release, and its verdict: python examples/report.py table.parquet
report.html old new.

The table has a row per query and document, with labels and a column of scores for each of the two
rankers. The page holds the verdict, every number with its interval, the worst queries and the
settings; the comparison is also printed as Markdown, to be put under a pull request. The exit code
is 1 unless nDCG@10 and MAP keep within their budgets. Without arguments it reports on the package's
example table.
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

import rankframe as rf

BUDGETS = {"ndcg@10": 0.01, "map": 0.01}


def main(df: pl.DataFrame, to: Path, old: str, new: str, by: str | None = None) -> int:
    """Write the page, print the comparison, and say as an exit code whether the new ranker may be
    released."""
    runs = [old, new]
    verdict = df.rank.gate(BUDGETS, runs=runs, baseline=old)
    page = df.rank.report(
        to, *BUDGETS, runs=runs, baseline=old, by=by, title=f"From {old} to {new}", gate=verdict
    )
    print(df.rank.compare(*BUDGETS, runs=runs, baseline=old).to_markdown())
    print(f"\n{'Released' if verdict else 'Held back'}; the page: {page}")
    return 0 if verdict else 1


if __name__ == "__main__":
    if len(sys.argv) == 5:
        sys.exit(main(pl.read_parquet(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]))
    main(rf.load_example(), Path("report.html"), "score", "score_forest", by="digit")
