"""Remake trec_eval_files.json: what trec_eval 10.0 prints with judgment groups, z-scores, comments and odd parameters.

    git clone https://github.com/usnistgov/trec_eval && git -C trec_eval checkout f425365 && make -C trec_eval
    python make_trec_eval_files.py trec_eval/trec_eval

The z-scores have a line for a query, and for a measure, after all others: without it trec_eval reads beyond their end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
GROUPS = "# who judged\n1 u a 1\n1 u b 0\n1 u c 2\n1 v a 0\n1 v b 1\n2 u a 1\n2 u d -1\n3 w a 1\n10 u x 1\n10 v y 3\n10 w z 0\n"
QRELS = "1 0 a 1\n# 1 0 b 3\n1 0 b 0\n1 0 c 2\n2 0 a 1\n2 0 e 1\n3 0 #a 1\n10 0 y 3\n10 0 z 0\n"
PREFS = "# query group subgroup document level\n1 u s a 2\n1 u s b 1\n1 v s c 1\n1 v s a 0\n"
RUN = """\
# query Q0 document rank score tag
1 Q0 a 1 3 t
1 Q0 b 2 2 t words after the tag
1 Q0 c 3 1 t
1 Q0 e 3 1.5 t
2 Q0 d 1 2 t
  # another comment
2 Q0 e 2 2 t
10 Q0 z 1 1 t
10 Q0 y 2 3 t
10 Q0 p 2 2 t # tag
"""
Z_SCORES = """\
1 map 0.5 0.25
1 num_ret 3 2
1 num_rel 2 0
1 gm_map -0.5 0.5
2 gm_map -1 2
3 gm_map -3 1
10 gm_map 0.5 .5
1 P_5 0.1 0.3
10 P_5 0.2 0
3 map 0 0.5
3 num_rel_ret 0 0
10 num_rel_ret 1 1
1 map_avgjg 0.25 0.125
1 prefs_simp 0.4 0.2
1 prefs_num_prefs_poss 3 2
1 zz 1 1
10 zz 1 1
2 zz 1 1
3 zz 1 1
9 zz 1 1
"""
FILES = {"groups": GROUPS, "qrels": QRELS, "prefs": PREFS, "run": RUN, "z": Z_SCORES}
CALLS = [
    "-q -c -R qrels_jg -m qrels_jg groups run",
    "-q -c -R qrels_jg -m map_avgjg -m P_avgjg.2,1,3.7 -l2 groups run",
    "-q -c -R qrels_jg -J -M2 -m qrels_jg groups run",
    "-c -n -q -R qrels_jg -m Rprec_mult_avgjg..5,1. groups run",
    "-q -c -R qrels_jg -m qrels_jg -Z z groups run",
    "-q -c -m all_trec -Z z qrels run",
    "-q -c -R qrels_prefs -m all_prefs -Z z qrels run",
    "-q -c -R prefs -m all_prefs prefs run",
    "-c -m num_rel -m gm_map -m runid -Z z -l2 qrels run",
    "-q -c -m iprec_at_recall..25,.10 -m 11pt_avg..25,.5 -m ndcg_cut.2,23.4 -m P.3,1.9 -m official qrels run",
]


def main(program: str) -> None:
    program = os.path.abspath(program)
    made = []
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            Path(folder, name).write_text(text)
        for call in CALLS:
            command = [program, *call.split()]
            printed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
            made.append({"options": call.split(), "printed": printed})
    about = "Output of trec_eval 10.0, made by make_trec_eval_files.py, which says how."
    text = json.dumps({"about": about, "files": FILES, "calls": made}).replace('{"options"', '\n{"options"')
    (HERE / "trec_eval_files.json").write_text(text + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
