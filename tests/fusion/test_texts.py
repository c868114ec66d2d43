"""The texts that name a method of fusion: ours, and those of other tools."""

from __future__ import annotations

import pytest

import rankframe as rf
from rankframe._catalog.fusions import NORMALIZATIONS, fusion_of
from tests.support.each import each

SPELLINGS = {
    # ranx: its methods, its normalisations
    **{name: f"comb_{name}" for name in ("min", "max", "med", "sum", "anz", "mnz", "gmnz")},
    "rrf(k=10)": "rrf(k=10)",
    "isr": "isr",
    "log_isr": "log_isr",
    "logn_isr(sigma=0.1)": "logn_isr(sigma=0.1)",
    "gmnz(gamma=0.5)": "comb_gmnz(gamma=0.5)",
    "rbc(phi=0.9)": "rbc(phi=0.9)",
    "bordafuse": "borda",
    "w_bordafuse(weights=[1,2])": "borda(weights=[1,2])",
    "condorcet": "condorcet",
    "w_condorcet(weights=[1,2])": "condorcet(weights=[1,2])",
    "wsum(weights=[1,2],norm=min-max)": "wsum(weights=[1,2],normalize=min_max)",
    "wmnz(weights=[1,2],norm='min-max-inverted')": "wmnz(weights=[1,2],normalize=min_max_inverted)",
    "mixed(weights=[1,2],norm=zmuv)": "mixed(weights=[1,2],normalize=zmuv)",
    **{f"sum(norm={name})": f"comb_sum(normalize={name})" for name in ("max", "sum", "rank")},
    # trectools
    "combos": "comb_sum",
    **{f"combos(strategy={name})": f"comb_{name}" for name in ("sum", "max", "min", "anz", "mnz", "med")},
    "reciprocal_rank_fusion(k=10)": "rrf(k=10)",
    "rank_biased_precision_fusion(p=0.9)": "rbc(phi=0.9)",
    "rbp(p=0.9)": "rbc(phi=0.9)",
    # papers
    "CombMNZ": "comb_mnz",
    "RRF": "rrf",
}


@each(("text", "canonical"), SPELLINGS.items())
def test_other_tools_spellings_are_read(text: str, canonical: str) -> None:
    assert fusion_of(text).text == canonical


@each("name", rf.FUSIONS)
def test_a_text_with_every_option_reads_back_to_itself(name: str) -> None:
    needed = {"weights": [0.7, 0.3]} if "weights" in rf.FUSIONS[name].parameters else {}
    options = {**needed, **({"normalize": "zmuv", "missing": "min"} if rf.FUSIONS[name].of == "scores" else {})}
    text = fusion_of(name, **options, **{rf.FUSIONS[name].depth[0]: 20}).text
    assert fusion_of(text).text == text
    assert all(option in text for option in options)


@each("name", ["min_max", "min-max", "min-max-inverted", "minmax", "z_score", "zmuv", "dist_based_score"])
def test_normalisations_have_other_names(name: str) -> None:
    assert dict(fusion_of("comb_sum", normalize=name).options)["normalize"] in NORMALIZATIONS


@each(
    ("text", "message"),
    [
        ("comb_mzn", "Did you mean 'comb_mnz' or 'comb_min'?"),
        ("sum(norm=max,normalize=sum)", "has no option 'norm'. Did you mean 'normalize'"),
        ("rrf(norm=max)", "unexpected keyword argument 'norm'"),
        ("rrf(p=0.5)", "unexpected keyword argument 'p'"),
        ("combos(strategy=avg)", "unknown fusion method 'avg'"),
        ("comb_sum(normalize=borda)", "write 'min_max', "),
        ("langchain(normalize=max)", "unexpected keyword argument 'normalize'"),
        ("rrf(k=60", "is no method of fusion|cannot read"),
        ("rrf(60)", "write name=value"),
        ("comb_sum(normalize=2-1)", "write 'min_max', |cannot read"),
    ],
)
def test_a_text_that_names_no_method_is_refused_with_advice(text: str, message: str) -> None:
    with pytest.raises(rf.errors.InvalidOption, match=message.replace("?", r"\?")):
        fusion_of(text)


@each("name", rf.FUSIONS)
def test_a_method_that_takes_no_normalised_scores_says_so(name: str) -> None:
    if rf.FUSIONS[name].of != "scores":
        with pytest.raises(rf.errors.InvalidOption, match=r"has no effect$"):
            fusion_of(name, normalize="min_max")


# The numbers at the ends of an option's range, and those just beyond.
ENDS = {
    "rrf(k={})": ([0], [-1e-9]),
    "rbc(phi={})": ([1e-9, 0.999], [0, 1]),
    "logn_isr(sigma={})": ([0, 1], [-1e-9, 1.001]),
    "elasticsearch_rrf(rank_constant={})": ([1], [0]),
    "elasticsearch_rrf(rank_window_size={})": ([1], [0]),
    "elasticsearch_linear(rank_window_size={})": ([1], [0]),
    "opensearch_rrf(rank_constant={})": ([1, 10_000], [0, 10_001]),
    "qdrant_rrf(k={})": ([1], [0]),
    "langchain(c={})": ([0], [-1]),
    "slidefuse(w={})": ([0], [-1]),
    "probfuse(x={})": ([1], [0]),
    "comb_sum(depth={})": ([1], [0]),
}


@each("text", ENDS)
def test_an_option_takes_the_numbers_of_its_range_and_no_others(text: str) -> None:
    taken, refused = ENDS[text]
    among = {**rf.FUSIONS, **rf.fusion.TRAINED_FUSIONS}
    for x in taken:
        fusion_of(text.format(x), among)
    for x in refused:
        with pytest.raises(rf.errors.InvalidOption, match=r"whole number|number"):
            fusion_of(text.format(x), among)


DEFAULTS = {
    "rrf": {"k": 60}, "logn_isr": {"sigma": 0.01}, "rbc": {"phi": 0.8}, "comb_gmnz": {"gamma": 1}, "langchain": {"c": 60},
    "elasticsearch_rrf": {"rank_constant": 60, "rank_window_size": 10}, "elasticsearch_linear": {"rank_window_size": 10},
    "opensearch_rrf": {"rank_constant": 60}, "qdrant_rrf": {"k": 2},
}  # fmt: skip


def test_numbers_that_are_left_out_are_those_of_the_papers_and_engines() -> None:
    numbers = {
        name: {option: x.default for option, x in method.parameters.items() if isinstance(x.default, (int, float))}
        for name, method in rf.FUSIONS.items()
    }
    assert {name: of for name, of in numbers.items() if of} == DEFAULTS
