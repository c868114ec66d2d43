"""Write docs/metrics.md, docs/metrics/*.md and docs/names.md from the metrics: what each number is,
and what others call it."""

from __future__ import annotations

import ast
import inspect
import math
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path

import rankframe as rf
from rankframe._catalog.call import Call
from rankframe._catalog.names import IN_TOOLS, ROWS, UNCLEAR
from rankframe._catalog.registry import Metric
from rankframe._lift.display import families
from rankframe._lift.ranker import Ranker
from rankframe._support.docstrings import entries, sections
from rankframe._support.option_kinds import kind_of
from rankframe._table.conventions import CONVENTIONS
from rankframe._table.policies import Policies, declared

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
INDEX, NAMES = DOCS / "metrics.md", DOCS / "names.md"

HEAD = """\
# Metrics

<!-- Made by scripts/build_metrics_page.py. -->

Every metric by its text name. Each name links to the formula, method, range, options, names in
other tools and source.

```python
# a column each; options in brackets, the cutoff after @
df.rank.evaluate("ndcg@10", "map", "rr(relevant=2)")
# the same metrics as methods, with typed options
df.rank.metrics.rbp(p=0.95, k=20)
```

CONTENTS

Values that no ranking made, such as the faithfulness of an answer, are [asked for in the same
way](decisions.md#values-that-no-ranking-made): `rf.value("faithfulness", bounds=(0, 1))`, as text
`"value:faithfulness"`.

The formulas give the value for one query, with the default options:

| | |
|---|---|
| $i$, $k$, $n$ | a rank; the cutoff; the number of retrieved documents, which replaces $k$ if no cutoff is given |
| $r_i$, $h_i$, $R$ | 1 if the document at rank $i$ is relevant, else 0; $r_1 + \\cdots + r_i$; the number of relevant documents, retrieved or not |
| $l_i$, $g_i$, $u_i$ | the label of the document at rank $i$; its gain; 1 if it is unjudged, else 0 |
| $g^*_i$ | with a star: the same for the best possible ranking of all judged documents |
| $V_i$, $T$ | the probability that a reader sees rank $i$; the gain that the reader needs |
| $S$, $r_{s,i}$, $h_{s,i}$, $R_s$ | the number of subtopics; $r_i$, $h_i$ and $R$ for subtopic $s$ |
| $\\nu_i$ | the novelty of rank $i$, $\\sum_s r_{s,i} (1 - \\alpha)^{h_{s,i-1}}$ |
| $[x]$ | 1 if $x$ holds, else 0 |

Below each formula is the code that computes it: a function that takes the ranking `r` of a query
and returns a Polars expression. `r.total(x, k)` is the sum of `x` over the ranks down to `k`;
`r.relevant`, `r.hits` and `r.n_relevant` are $r_i$, $h_i$ and $R$; [Metrics of your
own](api/formulas.md) describes all of them.

```{toctree}
:hidden:

PAGES
```
"""

FAMILY_HEAD = """\
# FAMILY

<!-- Made by scripts/build_metrics_page.py. -->

ABOUT [Metrics](../metrics.md) explains the letters of the formulas.

```python
CALL
```
"""

NAMES_HEAD = """\
# Names

<!-- Made by scripts/build_metrics_page.py. -->

The names of each metric in other tools. `evaluate` and every other method accept these texts, in
upper or lower case; result columns have the name on the right.

```python
# columns ndcg@10, hit_rate@5, rr, map(relevant=2)
df.rank.evaluate("ndcg_cut_10", "Success@5", "mrr", "map-l2")
```

A name that only one tool has stands for the metric with the options of that tool; policies, such as
the rule for tied documents, are those of the table, and `on(convention="catboost")` sets them. The
names of columns that `on(names="flat")` writes are read, too: `rbp_p_0_95` is `rbp(p=0.95)`.
XGBoost's minus after a cutoff counts a query without a relevant document 0, which is the default;
under `on(convention="xgboost")` also say `no_relevant="zero"`.

A name that means different metrics in different tools, or whose number in a tool is another
one than the metric's, is an error, and the error names the metrics. It is an error in any case of
letters, or, if it has capitals in this table, as it is written here:

UNCLEAR
"""

SPELLINGS = {
    "ranx": (
        "hits@10 hit_rate@10 precision@10 recall@100 f1@10 r-precision bpref rbp.95 mrr map "
        "map@100-l2 dcg@10 dcg_burges@10 "
        "ndcg@10 ndcg@10-l2 ndcg_burges@10"
    ),
    "trec_eval and pytrec_eval": (
        "map map_cut_10 gm_map Rprec bpref recip_rank iprec_at_recall_0.30 11pt_avg P_5 "
        "recall_100 success_1 ndcg ndcg_cut_10 "
        "ndcg_cut.5,10 ndcg_rel Rndcg set_P set_recall set_F.0.25 set_map set_relative_P "
        "infAP num_ret num_rel num_rel_ret "
        "relative_P.5 rbp.p=.8 utility.1,-1,0,0"
    ),
    "ir_measures": (
        "AP AP(rel=2)@5 RR RR(rel=2) P@5 R@100 Success@1 Rprec Bpref infAP Judged@10 nDCG@10 "
        "nDCG(dcg='exp-log2')@10 ERR@20 "
        "RBP(p=0.9) IPrec@0.3 SetP SetR SetAP SetRelP NumRet NumRel NumRet(rel=1) "
        "Compat(p=0.95) alpha_nDCG@20 ERR_IA@20 "
        "StRecall@10 P_IA@5"
    ),
    "scikit-learn": "ndcg_score dcg_score average_precision_score roc_auc_score",
    "torchmetrics": (
        "retrieval_normalized_dcg retrieval_average_precision retrieval_reciprocal_rank "
        "retrieval_precision retrieval_recall "
        "retrieval_hit_rate retrieval_r_precision retrieval_fall_out retrieval_auroc"
    ),
    "Ragas": "context_precision",
    "RecTools": "AvgRecPopularity@10 MeanInvUserFreq@10 Serendipity@10 IntraListDiversity@10 "
    "CoveredUsers@10",
    "RePlay": "Surprisal(divisor=k)@10 Unexpectedness(divisor=k)@10 CategoricalDiversity@10",
    "RecBole": "AveragePopularity@10 TailPercentage@10",
    "Microsoft's Recommenders": "distributional_coverage user_serendipity",
    "Elliot": "EFD@10 EPC@10 APLT@10 SEntropy@10 PopRSP@10 PopREO@10",
    "Evidently": "NoveltyMetric@10 DiversityMetric@10 SerendipityMetric@10 PersonalizationMetric@10",
    "LensKit": "ListGini@10 ExposureGini(weight=rbp,p=0.85)@10 MeanPopRank@10 "
    "least_item_promoted(first_rank=0)@10",
    "Raj and Ekstrand": "logDP(group=F) logEUR(group=F) logRUR(group=F)",
}
"""Texts of each tool; what they mean here, the page says."""

POLICIES_HEAD = """\
## Policies

The policies of `on`. Each is also an option of the command line. [What the numbers
mean](semantics.md) explains them. `ascending`, `unjudged_labels` and `collection_size` describe the
data, and no tool's convention changes them.
"""

IN_CALLS = {
    "base": '"other_score"',
    "category": '"genre"',
    "features": '["x", "y"]',
    "group": '"provider"',
    "cost": '"seconds"',
    "subtopic": '"subtopic"',
    "interactions": "train",
    "items": "catalog",
    "stratum": '"stratum"',
    "inclusion": '"inclusion"',
}
"""What `on` is given in the call at the top of a page: columns and frames."""
WITHOUT_DEFAULT = {"group": "F", "recall": "0.5", "multiple": "2"}
"""Values of options that have no default, for the same calls."""

COUNTING = """\
## How each tool counts

`on(convention="lightgbm")` sets a whole row of this table. Settings of a single metric are its
defaults: your own options replace them. Each metric's section in [Metrics](metrics.md) lists the
tools that have the metric.
"""


def main() -> None:
    """Write the pages."""
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def names_page() -> str:
    """The page of names: each tool's texts, every metric's names, and what the tools have."""
    rows: list[tuple[str, ...]] = [
        (
            f"`{name}`",
            ", ".join(
                f"{linked(metric) if metric else 'no metric of ours'} in {tool}"
                for tool, metric in meant.items()
            ),
        )
        for name, meant in UNCLEAR.items()
    ]
    parts = [NAMES_HEAD.replace("UNCLEAR\n", table(("name", "means"), rows))]
    for tool in dict.fromkeys((*SPELLINGS, *IN_TOOLS)):
        texts = [
            *SPELLINGS.get(tool, "").split(),
            *(at_10(name, ours) for of, name, ours, _ in ROWS if of == tool),
        ]
        rows = [(f"`{text}`", ", ".join(map(link, meant(text)))) for text in texts]
        parts.append(f"## {tool}\n\n{table((tool, 'here'), rows)}")
    metrics = [*rf.METRICS.values(), *rf.AGREEMENTS.values(), *rf.CATALOG_METRICS.values()]
    rows = [
        (linked(metric.name), ", ".join(f"`{name}`" for name in called))
        for metric in metrics
        if (called := names(metric))
    ]
    parts.append(
        f"## Every metric that has other names\n\n{table(('metric', 'also read as'), rows)}"
    )
    parts += [POLICIES_HEAD, policies(), COUNTING]
    rows = []
    for tool, convention in CONVENTIONS.items():
        besides = [
            f"{linked(name)}{said(settings)}"
            for name, settings in convention.metrics.items()
            if settings
        ]
        others = [
            f"its {linked(name)}: {other.says}" for name, other in convention.otherwise.items()
        ]
        apart = "; ".join([convention.note, *others]) if others else convention.note
        rows.append(
            (f"`{tool}`", said(convention.policies).strip(" ()"), ", ".join(besides), apart)
        )
    parts.append(
        table(("tool", "all metrics", "single metrics", "differences that no setting covers"), rows)
    )
    return "\n".join(parts)


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table in Markdown."""
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [head, ("---",) * len(head), *rows])


def at_10(name: str, metric: str) -> str:
    """A tool's name with the cutoff 10, in the tool's spelling, if the metric takes one."""
    if {**rf.METRICS, **rf.CATALOG_METRICS}[metric].first != "k":
        return name
    return (
        f"{name}top=10"
        if name.endswith(":")
        else f"{name[:-1]}@10-"
        if name.endswith("-")
        else f"{name}@10"
    )


def policies() -> str:
    """The policies, by their declarations."""
    rows = []
    for name, option in declared(Policies).items():
        kind = kind_of(option.values)
        values = ", ".join(f"`{word}`" for word in option.words) or (
            "a pair of labels" if kind is None else str(kind)
        )
        rows.append(
            (
                f"`{name}`",
                option.says,
                values,
                "" if option.default is None else f"`{option.default}`",
            )
        )
    return table(("policy", "decides", "values", "default"), rows)


def linked(name: str) -> str:
    """A metric's name, with a link to its section, if it is one of a query's ranking."""
    return f"`{name}`" if name in rf.CATALOG_METRICS else f"[`{name}`]({place(name)})"


def link(call: Call) -> str:
    """A canonical text, with a link to its metric's section, if it is one of a query's ranking."""
    of_lists = call.metric.name in rf.CATALOG_METRICS
    return f"`{call.text}`" if of_lists else f"[`{call.text}`]({place(call.metric.name)})"


def meant(text: str) -> list[Call]:
    """The metrics that a text names, of a query's ranking or of the whole table."""
    try:
        return rf.parse(text)
    except rf.UnknownMetric:
        return rf.parse(text, rf.CATALOG_METRICS)


def pages() -> dict[Path, str]:
    """The text of every page: the index of the metrics, a page for each family, and the names."""
    found = families([*rf.METRICS.values(), *rf.AGREEMENTS.values()])
    rows = [
        (f"[{title}](metrics/{file(of[0])})", " ".join(map(linked, names_of(of))))
        for (title, _), of in found.items()
    ]
    index = HEAD.replace("CONTENTS\n", table(("family", "metrics"), rows))
    written = {
        INDEX: index.replace("PAGES", "\n".join(f"metrics/{file(of[0])}" for of in found.values()))
    }
    for (title, about), metrics in found.items():
        head = FAMILY_HEAD.replace("FAMILY", title).replace("ABOUT", about[0].upper() + about[1:])
        parts = [head.replace("CALL", call(metrics)), *map(section, metrics)]
        written[DOCS / "metrics" / file(metrics[0])] = "\n".join(parts)
    return {**written, NAMES: names_page()}


def file(metric: Metric) -> str:
    """The page of a metric: its family is a module."""
    return f"{metric.formula.__module__.rpartition('.')[2]}.md"


def place(name: str) -> str:
    """The link to a metric's section."""
    return f"metrics/{file({**rf.METRICS, **rf.AGREEMENTS}[name])}#{name}"


def names_of(metrics: list[Metric]) -> list[str]:
    """The text names of metrics."""
    return [metric.name for metric in metrics]


def call(metrics: list[Metric]) -> str:
    """A call of three of these metrics, those that people type first, with the tables and columns
    that they need."""
    first = sorted(metrics, key=lambda metric: not hasattr(Ranker, metric.formula.__name__))[:3]
    texts = []
    for metric in first:
        given = [
            f"{name}={WITHOUT_DEFAULT[name]}"
            for name, x in metric.parameters.items()
            if x.default is x.empty and name != "k"
        ]
        given += (
            ["max_label=4"] if "max_label" in metric.parameters else []
        )  # else that of the table, with a warning
        options = f"({','.join(given)})" if given else ""
        texts.append(f'"{metric.name}{options}{"@10" if "k" in metric.parameters else ""}"')
    if metrics[0].name in rf.AGREEMENTS:
        return written_call("df.rank.agreement", ['"other_score"', *texts])
    needs = {name for metric in first for name in metric.needs if name in IN_CALLS}
    needs |= {"subtopic" for metric in first if metric.over == "subtopics"}
    on = f".on({', '.join(f'{name}={IN_CALLS[name]}' for name in sorted(needs))})" if needs else ""
    return written_call(f"df.rank{on}.evaluate", texts)


def written_call(method: str, arguments: list[str]) -> str:
    """A call in lines of at most 80 letters."""
    in_one_line = f"{method}({', '.join(arguments)})"
    if len(in_one_line) <= 80:
        return in_one_line
    lines = "".join(f"    {argument},\n" for argument in arguments)
    return f"{method}(\n{lines})"


def section(metric: Metric) -> str:
    """One metric."""
    what, parts = sections(metric.doc)
    needs = [name for name in metric.needs if name in IN_CALLS]  # every table has scores
    what = re.sub(r"^\.\. math:: (.*(?:\n +.*)*)", in_dollars, what, flags=re.MULTILINE)
    rows = [
        ("Method", method(metric)),
        ("In plots", metric.display or metric.name),
        ("Range", bounds(metric)),
        ("Options", options(metric) or "none"),
        *([("Needs", ", ".join(f"`on({name}=...)`" for name in needs))] if needs else []),
        ("Also called", ", ".join(f"`{name}`" for name in names(metric)) or "nothing else"),
        ("Conventions", ", ".join(tools(metric)) or "none"),
        ("Source", " ".join(parts.get("References", "").split())),
    ]
    table = "\n".join(f"| {name} | {text} |" for name, text in rows)
    returns = " ".join(parts.get("Returns", "").split())
    about = parts.get("Parameters", "")
    listed = "".join(
        f"- `{names.replace(', ', '`, `')}`: {' '.join(text.split())}\n"
        for names, text in entries(about)
    )
    rest = f"{returns}\n\n| | |\n|---|---|\n{table}\n" + (f"\n{listed}" if listed else "")
    what, rest = (
        re.sub(r":func:`[\w.]*?(\w+)`", r"`\1`", text.replace("``", "`")) for text in (what, rest)
    )
    return f"## {metric.name}\n\n{what}\n\n```python\n{formula(metric)}\n```\n\n{rest}"


def in_dollars(found: re.Match[str]) -> str:
    """A formula of a docstring, which may take several lines, as MyST writes it."""
    return f"$$\n{' '.join(found[1].split())}\n$$"


def method(metric: Metric) -> str:
    """How the metric is called without text: only the metrics that people type are methods of
    `df.rank` itself."""
    name = metric.formula.__name__
    if metric.name in rf.AGREEMENTS and rf.AGREEMENTS[metric.name] is metric:
        return "none; `df.rank.agreement` takes its text"
    return f"`df.rank.{name}`" if hasattr(Ranker, name) else f"`df.rank.metrics.{name}`"


def formula(metric: Metric) -> str:
    """The function as it stands in its module, without its decorators and its docstring."""
    source = textwrap.dedent(inspect.getsource(metric.formula))
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    doc, lines = function.body[0], source.splitlines()
    return "\n".join([*lines[function.lineno - 1 : doc.lineno - 1], *lines[doc.end_lineno :]])


def bounds(metric: Metric) -> str:
    """The range in words."""
    low, high = metric.bounds
    if low is None:
        return "any number" if high is None else f"up to {high:g}"
    return f"from {low:g} on" if high is None else f"{low:g} to {high:g}"


def options(metric: Metric) -> str:
    """The options as they stand in a call, with their defaults."""
    return ", ".join(
        f"`{name}`" if parameter.default is parameter.empty else f"`{name}={parameter.default}`"
        for name, parameter in metric.parameters.items()
    ).replace("|", "\\|")


def names(metric: Metric) -> list[str]:
    """The other names, those that imply options with them."""
    implied = [
        f"{name} ({', '.join(f'{k}={v}' for k, v in given.items())})" if given else name
        for name, given in metric.spellings.items()
    ]
    return list(metric.aliases) + implied


def tools(metric: Metric) -> list[str]:
    """The tools whose convention has the metric, with what they have otherwise."""
    return [
        tool + said(convention.metrics[metric.name])
        for tool, convention in CONVENTIONS.items()
        if metric.name in convention.metrics
    ]


def said(settings: Mapping[str, object]) -> str:
    """Settings in brackets; a threshold that means "above 0", or above a half, as that."""
    above = {5e-324: "above 0", math.nextafter(0.5, 1): "above 0.5"}
    given = [f"{name}={above.get(value, value)}" for name, value in settings.items()]
    return f" ({', '.join(given)})" if given else ""


if __name__ == "__main__":
    main()
