"""Remake trec_eval_prefs.json: what trec_eval 10.0 prints of preferences, for small hostile files under its options.

    git clone https://github.com/usnistgov/trec_eval && git -C trec_eval checkout f425365 && make -C trec_eval
    python make_trec_eval_prefs.py trec_eval/trec_eval

Left out, since trec_eval has no answer to them: groups that contradict themselves (it stops), levels below 0 (its
prefs_avgjg_Rnonrel reads beyond the end of a group), and, but for -c, queries without a run (it stops).
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
DOCS = [*"aBz", "a1", "10", "9", "é", "雪", "~x", "Aa"]
OPTIONS = [[], ["-c"], ["-M", "3"]]


def files(kind: str, r: random.Random) -> tuple[str, str]:
    """Judgments with several groups and subgroups that agree within a group, and a run with ties."""
    judged, run = [], []
    for query in ("q1", "2", "q10"):
        run += [(query, doc, r.choice([1.5, 1.5, 0.0, -2.25, r.random()])) for doc in r.sample(DOCS, r.randint(2, 9))]
        for group in r.sample(["u", "U", "v1"], r.randint(1, 3)):
            levels = {doc: r.choice([0, 0, 1, 2, 2.5, 7]) for doc in DOCS}
            for subgroup in "123"[: r.choice([1, 2, 3]) if kind == "prefs" else 1]:
                docs = r.sample(DOCS, r.randint(1, 7))
                judged += [[query, group, subgroup, doc, f"{levels[doc]:g}"] for doc in docs]
    r.shuffle(judged)
    r.shuffle(run)
    if kind == "qrels_prefs":
        judged = [[query, group, doc, level] for query, group, _, doc, level in judged]
    judgments = "".join(" ".join(row) + "\n" for row in judged)
    return judgments, "".join(f"{query} Q0 {doc} 0 {score!r} tag\n" for query, doc, score in run)


def main(program: str) -> None:
    made = []
    for seed in range(12):
        kind = ("prefs", "qrels_prefs")[seed % 2]
        judgments, run = files(kind, random.Random(seed))
        if seed > 9:  # one query has no run
            run = "".join(line for line in run.splitlines(keepends=True) if not line.startswith("2 "))
        with tempfile.TemporaryDirectory() as folder:
            paths = [str(Path(folder, name)) for name in ("judgments", "run")]
            for path, text in zip(paths, (judgments, run), strict=True):
                Path(path).write_text(text, encoding="utf-8")
            options = OPTIONS[1] if seed > 9 else OPTIONS[seed // 2 % 3]
            command = [program, "-q", "-m", "all_prefs", "-R", kind, *options, *paths]
            printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        made.append({"options": ["-R", kind, *options], "judgments": judgments, "run": run, "printed": printed})
    about = "Output of trec_eval 10.0, made by make_trec_eval_prefs.py, which says how."
    text = json.dumps({"about": about, "files": made}).replace('{"options"', '\n{"options"')
    (HERE / "trec_eval_prefs.json").write_text(text + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
