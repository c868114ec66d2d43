"""The values of ir_measures and the tools behind it: (query, metric, options, value)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.metrics.oracles.query import is_judged, prepare, ranked
from tests.support.tables import Table
from tests.support.trec_eval_and_scipy import Value

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # their docstrings hold escapes that Python does not know
    import ir_measures as irm
    from cwl.ruler import cwl_ruler
    from cwl.ruler.ranking import Ranking

REPORTS = {
    "EU": "expected_utility",
    "ETU": "expected_total_utility",
    "EC": "expected_cost",
    "ETC": "expected_total_cost",
    "ED": "expected_items",
}
# The label with gain 1, and the calls in the tests of C/W/L metrics: (metric, options, their class, arguments).
TOP = 4
READERS = [
    *(("graded_precision", {"k": k}, cwl_ruler.PrecisionCWLMetric, [k]) for k in (1, 3, 10, 100)),
    *(("cwl_rbp", {"p": p}, cwl_ruler.RBPCWLMetric, [p]) for p in (0.5, 0.8, 0.99)),
    *(("sdcg", {"k": k}, cwl_ruler.NDCGCWLMetric, [k]) for k in (1, 3, 10, 100)),
    *(
        ("bpm", {"k": k, "target": t}, cwl_ruler.BPMCWLMetric, [t, k])
        for k, t in ((1, 1), (5, 1), (10, 0.5), (10, 2.25), (100, 3))
    ),
    *(("insq", {"target": t}, cwl_ruler.INSQCWLMetric, [t]) for t in (0.5, 1, 2.5, 10)),
    *(("inst", {"target": t}, cwl_ruler.INSTCWLMetric, [t]) for t in (0.5, 1, 2.5, 10)),
    *(("nerr8", {"k": k}, cwl_ruler.NERReq8CWLMetric, [k]) for k in (1, 3, 10, 100)),
    *(("nerr9", {"k": k}, cwl_ruler.NERReq9CWLMetric, [k]) for k in (1, 3, 10, 100)),
    *(("nerr10", {"p": p}, cwl_ruler.NERReq10CWLMetric, [p]) for p in (0.5, 0.9, 0.99)),
    *(("nerr11", {"target": t}, cwl_ruler.NERReq11CWLMetric, [t]) for t in (0.5, 1, 2.5)),
]


def cwl_eval(table: Table, *, ties: str = "doc_desc", depth: int = 1000) -> Iterator[Value]:
    """Every report and residual of cwl-eval, which is told the gains in rank order."""
    for query, rows in table.items():
        worth = [row[2] / TOP if is_judged(row) else math.nan for row in ranked(rows, ties)]
        for name, options, metric, arguments in READERS:
            if name == "graded_precision" and options["k"] > depth:
                continue  # adds up vectors of two lengths
            reader = metric(*arguments)
            reader.residuals = True
            reader.measure(Ranking(query, np.array(worth), np.ones(len(worth)), max_n=depth))
            for report, attribute in REPORTS.items():
                for residual, prefix in ((False, ""), (True, "residual_")):
                    asked = {**options, "report": report, "residual": residual, "max_label": TOP, "depth": depth}
                    yield query, name, asked, float(getattr(reader, prefix + attribute))


def measures() -> list[tuple[Any, str, dict[str, Any]]]:
    """ir_measures' calls of cwl-eval, Clarke's code and its own, and the metrics that they mean."""
    graded = {"max_label": TOP}
    return [
        (irm.SDCG(max_rel=TOP) @ 10, "sdcg", {"k": 10, **graded}),
        (irm.BPM(T=2.0, max_rel=TOP) @ 5, "bpm", {"k": 5, "target": 2.0, **graded}),
        (irm.INST(max_rel=TOP), "inst", graded),
        (irm.INST(T=2.5, max_rel=TOP), "inst", {"target": 2.5, **graded}),
        (irm.INSQ(T=2.0, max_rel=TOP), "insq", {"target": 2.0, **graded}),
        (irm.NERR8(max_rel=TOP) @ 5, "nerr8", {"k": 5, **graded}),
        (irm.NERR9(max_rel=TOP) @ 5, "nerr9", {"k": 5, **graded}),
        (irm.NERR10(max_rel=TOP), "nerr10", graded),
        (irm.NERR10(p=0.5, max_rel=TOP), "nerr10", {"p": 0.5, **graded}),
        (irm.NERR11(max_rel=TOP), "nerr11", graded),
        (irm.Compat, "compatibility", {"k": "longest", "by_score": True}),
        (irm.Compat(p=0.8), "compatibility", {"k": "longest", "by_score": True, "p": 0.8}),
        (irm.Compat(normalize=False), "compatibility", {"k": "longest", "by_score": True, "normalize": False}),
        (irm.Judged, "judged", {}),
        (irm.Judged @ 3, "judged", {"k": 3}),
        (irm.infAP, "inferred_ap", {}),
        (irm.NumRet, "num_retrieved", {}),
        (irm.NumRel, "num_relevant", {}),
        (irm.SetRelP, "relative_precision", {}),
        (irm.SetAP, "set_average_precision", {}),
        (irm.SetF, "f_beta", {}),
        (irm.SetF(beta=2.0), "f_beta", {"beta": 2**0.5}),  # it hands on beta, where trec_eval takes its square
    ]


def ir_measures(table: Table) -> Iterator[Value]:
    """ir_measures' values for queries that retrieve something and have a judgment that is not negative.

    Its parts break ties in three ways, so scores must not tie. Documents of negative label are left out of what
    Judged and the compatibility are told of: there they would be judged, and only trec_eval knows them as pooled.
    """
    run = {q: {str(doc): score for doc, score, _ in rows if score is not None} for q, rows in table.items()}
    run = {q: docs for q, docs in run.items() if docs and any(map(is_judged, table[q]))}
    pooled = {q: {str(row[0]): int(row[2]) for row in table[q] if row[2] is not None} for q in run}
    known = {q: {doc: label for doc, label in labels.items() if label >= 0} for q, labels in pooled.items()}
    asked = {measure: (name, options) for measure, name, options in measures()}
    for qrels, wanted in (
        (pooled, [m for m, (name, _) in asked.items() if name == "inferred_ap"]),
        (known, [m for m, (name, _) in asked.items() if name != "inferred_ap"]),
    ):
        for found in irm.iter_calc(wanted, qrels, run):
            yield found.query_id, *asked[found.measure], float(found.value)


def accuracy(table: Table) -> Iterator[Value]:
    """ir_measures' Accuracy, where it does not divide by zero: it needs a document that is not relevant."""
    for query, rows in table.items():
        retrieved = [row for row in rows if row[1] is not None]
        qrels = {query: {str(row[0]): int(row[2]) for row in rows if row[2] is not None}}
        run = {query: {str(row[0]): row[1] for row in ranked(rows, "order")}}
        for k in (None, 1, 3, 10):
            shown = prepare(rows, ties="order").ranking[:k]
            if not qrels[query] or not retrieved or all(is_judged(row) and row[2] >= 1 for row in shown):
                continue
            measure = irm.Accuracy if k is None else irm.Accuracy @ k
            for found in irm.iter_calc([measure], qrels, run):
                yield query, "pairwise_accuracy", {"k": k}, float(found.value)


def gdeval(table: Table) -> Iterator[Value]:
    """TREC's Perl script, to five decimals, by number of query; its top label is 4."""
    numbers = {str(i): q for i, q in enumerate(table)}
    qrels = {
        n: {str(i): int(row[2]) for i, row in enumerate(table[q]) if row[2] is not None} for n, q in numbers.items()
    }
    run = {n: {str(i): row[1] for i, row in enumerate(table[q]) if row[1] is not None} for n, q in numbers.items()}
    run = {n: docs for n, docs in run.items() if docs}
    asked = {
        **{irm.ERR @ k: ("err", {"k": k, "max_label": 4}) for k in (1, 3, 10)},
        **{irm.nDCG(dcg="exp-log2") @ k: ("ndcg", {"k": k, "gain": "exponential"}) for k in (1, 3, 10)},
    }
    for found in irm.gdeval.iter_calc(list(asked), qrels, run):
        yield numbers[found.query_id], *asked[found.measure], found.value


# Diversity --------------------------------------------------------------------------------------------------------

NDEVAL = {
    "alpha-DCG": "alpha_dcg", "alpha-nDCG": "alpha_ndcg", "ERR-IA": "err_ia", "nERR-IA": "nerr_ia",
    "P-IA": "precision_ia", "strec": "subtopic_recall", "NRBP": "nrbp", "nNRBP": "nnrbp", "MAP-IA": "average_precision_ia",
}  # fmt: skip
NDEVAL_CUTOFFS = (1, 2, 5, 10, 20)


def ndeval(table: Table, *, relevant: int = 1, alpha: float = 0.5, beta: float = 0.5) -> Iterator[Value]:
    """The C code of TREC's ndeval, but for what it leaves undivided (rank 1) or divides by zero."""
    import pyndeval

    asked = [
        f"{name}@{k}" if name not in ("NRBP", "nNRBP", "MAP-IA") else name for name in NDEVAL for k in NDEVAL_CUTOFFS
    ]
    qrels = [
        (q, str(subtopic), row[0], label)
        for q, rows in table.items()
        for row in rows
        for subtopic, label in row[2].items()
    ]
    run = [(q, row[0], row[1]) for q, rows in table.items() for row in rows if row[1] is not None]
    evaluator = pyndeval.RelevanceEvaluator(qrels, dict.fromkeys(asked), relevant, alpha, beta)
    for query, values in evaluator.evaluate(run).items():
        any_relevant = any(label >= relevant for row in table[query] for label in row[2].values())
        for measure, value in values.items():
            name, _, k = measure.partition("@")
            if k == "1" and name in ("alpha-DCG", "ERR-IA"):
                continue
            if name == "nNRBP" and not any_relevant:
                assert math.isnan(value)
                continue
            options = {"k": int(k)} if k else {}
            if name in ("alpha-DCG", "alpha-nDCG", "ERR-IA", "nERR-IA", "NRBP", "nNRBP"):
                options["alpha"] = alpha
            if "NRBP" in name:
                options["beta"] = beta
            yield query, NDEVAL[name], options, value
