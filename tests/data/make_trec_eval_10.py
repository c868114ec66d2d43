"""Remake trec_eval_10.json: what trec_eval 10.0 says of a small hostile table under its options.

    git clone https://github.com/usnistgov/trec_eval plain && cd plain && git checkout f425365
    sed -i 's/double sum, min, max;/double sum, min = INFINITY, max = -INFINITY;/' m_rbp.c
    cp -r . ../wide && sed -i 's/%6\\.4f/%.17g/' ../wide/meas_print_*.c
    make && make -C ../wide && cd ..
    python make_trec_eval_10.py wide/trec_eval plain/trec_eval

The first edit gives rbp the least and the largest gain to start from: as released, it reads two variables that were
never set, and what it prints of graded labels depends on what the stack held before. The second prints all digits.

Left out, since trec_eval has no answer to them: queries with judgments below 0 only (it goes on with the counts of the
query before, or stops), and, but for -c, queries without a run (it stops).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from tests.metrics.oracles.query import Row  # noqa: E402
from tests.support.tables import DOCS, INTEGER_LABELS, Table, random_table  # noqa: E402

SEED = 22
CUTS = "1,3,5,10,1000"
MEASURES = [
    "all_trec", "dcg", "ideal_dcg", "yaap",
    *(f"{name}.{CUTS}" for name in ("P", "recall", "relative_P", "success", "map_cut", "ndcg_cut", "unj")),
]  # fmt: skip
# Gains are equal or 1 apart: trec_eval sorts closer ones as equal.
PARAMETERS = [
    "iprec_at_recall.0.05,0.25,0.33,0.5", "11pt_avg.0.2,0.5,0.8", "Rprec_mult.0.1,0.25,0.5,3", "relstring.3",
    "set_F.0.5", "utility.1,2,-3,0.25", "rbp.1=3,2=9,4=6,p=0.7", "rbp_resid.p=0.5", "G.0=1,1=-2",
    *(f"{name}.0=1,1=3,2=-2,-1=2,-2=5" for name in ("ndcg", "ndcg_rel", "Rndcg")),
]  # fmt: skip
RUNS = [
    (MEASURES, []),
    (MEASURES, ["-l", "2"]),
    (MEASURES, ["-J"]),
    (MEASURES, ["-M", "5"]),
    (MEASURES, ["-N", "100"]),
    (MEASURES, ["-c"]),
    (MEASURES, ["-c", "-J", "-l", "2", "-M", "5"]),
    (PARAMETERS, ["-N", "100"]),
    (PARAMETERS, ["-c", "-N", "100"]),
    (["ideal_dcg.0=1,1=3,2=-2,-1=2,-2=5"], []),
    (["dcg.0=1,1=3,2=-2,-1=2,-2=5"], []),
]
PRINTED = ["all_trec", "dcg", "ideal_dcg", "yaap"]


def has_counts(rows: Sequence[Row]) -> bool:
    labels = [label for _, _, label in rows if label is not None]
    return not labels or max(labels) >= 0


def has_run(rows: Sequence[Row]) -> bool:
    return any(score is not None for _, score, _ in rows)


def trec_eval(program: str, table: Table, measures: Sequence[str], options: Sequence[str]) -> list[str]:
    rows = [(query, *row) for query, rows in table.items() if "-c" in options or has_run(rows) for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = Path(folder, "qrels"), Path(folder, "run")
        qrels.write_text("".join(f"{q} 0 {doc} {label}\n" for q, doc, _, label in rows if label is not None))
        run.write_text("".join(f"{q} Q0 {doc} 0 {score!r} tag\n" for q, doc, score, _ in rows if score is not None))
        asked = [text for measure in measures for text in ("-m", measure)]
        command = [program, "-q", *options, *asked, str(qrels), str(run)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def value(text: str) -> float | str:
    return text if text.startswith("'") or "nan" in text else float(text)


def columns(printed: Sequence[str]) -> dict[str, object]:
    """The names with one value per query, in the order printed; null if nothing was printed."""
    found = [[cell.strip() for cell in line.split("\t")] for line in printed if not line.startswith("runid")]
    queries = list(dict.fromkeys(query for _, query, _ in found))
    values: dict[str, list[float | str | None]] = {}
    for name, query, text in found:
        values.setdefault(name, [None] * len(queries))[queries.index(query)] = value(text)
    return {"queries": queries, "values": values}


def main(wide: str, plain: str) -> None:
    # Ids without spaces, which no run file can hold.
    docs = [doc for doc in DOCS if doc.strip()]
    table = random_table(SEED, queries=30, labels=[*INTEGER_LABELS, 12], docs=docs)
    table = {query: rows for query, rows in table.items() if has_counts(rows)}
    few = dict(
        [item for item in table.items() if has_run(item[1])][:4]
        + [item for item in table.items() if not has_run(item[1])][:2]
    )
    made = {
        "about": "Output of trec_eval 10.0, made by make_trec_eval_10.py, which says how.",
        "table": table,
        "runs": [
            {"measures": measures, "options": options} | columns(trec_eval(wide, table, measures, options))
            for measures, options in RUNS
        ],
        "printed": {"measures": PRINTED, "options": ["-c"], "lines": trec_eval(plain, few, PRINTED, ["-c"])},
    }
    lines = [f"{json.dumps(key)}: {json.dumps(item, ensure_ascii=True)}" for key, item in made.items()]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    (HERE / "trec_eval_10.json").write_text(text.replace('{"measures"', '\n{"measures"').replace('], "', '],\n"'))


if __name__ == "__main__":
    main(*sys.argv[1:])
