"""Ten metrics on a pandas frame, against the same call on the Polars frame of the same rows.

Prints, for each dtype of the ids, the medians of interleaved rounds and their ratio: figures of one
run on one machine, so only the ratio means something elsewhere.

    python benchmarks/pandas_cost.py [--rows 1000000] [--rounds 9]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pandas as pd
import polars as pl
from shapes import Shape
from timing import interleaved
from tools import TEN

import rankframe as rf


def frames(rows: int) -> Iterator[tuple[str, pd.DataFrame, pl.DataFrame]]:
    """The name of a dtype, a pandas frame whose ids have it, and the Polars frame of the same
    rows."""
    integers, texts = (Shape(rows // 100, 100, text=text).table().frame for text in (False, True))
    ids = ["query_id", "doc_id"]
    arrow = pd.DataFrame(
        {x.name: pd.Series(x.to_arrow(), dtype=pd.ArrowDtype(x.to_arrow().type)) for x in texts}
    )
    numbers = pd.DataFrame({x.name: x.to_numpy(writable=True) for x in integers})
    objects = numbers.assign(
        **{name: pd.Series(texts[name].to_list(), dtype=object) for name in ids}
    )
    shared = objects.assign(**{name: _one_object_per_text(objects[name]) for name in ids})
    yield "int64", numbers, integers
    yield "Int64, Float64", numbers.convert_dtypes(), integers
    yield "object (each row its own text)", objects, texts
    yield "object (equal texts shared)", shared, texts
    for dtype in ("str", "string[pyarrow]", "string[python]", "category"):
        if (
            dtype != "str" or pd.Series(["a"], dtype="str").dtype != object
        ):  # pandas 2 has no such dtype
            yield dtype, objects.astype(dict.fromkeys(ids, dtype)), texts
    yield "Arrow-backed", arrow, texts


def _one_object_per_text(texts: pd.Series[str]) -> pd.Series[str]:
    codes, uniques = pd.factorize(texts)
    return pd.Series(uniques.to_numpy(dtype=object)[codes], dtype=object)


def main() -> None:
    """Print one line per dtype."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    print(
        f"{options.rows:,} rows, {options.rounds} rounds, pandas {pd.__version__}, Polars "
        f"{pl.__version__}"
    )
    print(f"{'ids':32}{'Polars':>10}{'pandas':>10}{'ratio':>7}")
    for name, pandas, polars in frames(options.rows):
        of = {"polars": rf.rank(polars), "pandas": rf.rank(pandas)}
        found = interleaved(
            options.rounds,
            {n: lambda ranker=ranker: ranker.evaluate(*TEN) for n, ranker in of.items()},
        )
        t = {name: seconds.median for name, seconds in found.items()}
        print(
            f"{name:32}{t['polars'] * 1e3:7.0f} ms{t['pandas'] * 1e3:7.0f} "
            f"ms{t['pandas'] / t['polars']:7.2f}"
        )


if __name__ == "__main__":
    main()
