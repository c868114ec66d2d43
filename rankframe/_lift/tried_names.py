"""Names that people try on a ranker and that it does not have, and the calls to write instead."""

from __future__ import annotations

COMPARED = "compare('ndcg@10', runs=['old', 'new'])"
MEANS = "summarize('ndcg@10')"
PAGE = "report('report.html', 'ndcg@10')"

TRIED_NAMES = {
    "ab_test": "compare_groups(rf.value('orders'), by='variant')",
    "agree": "agreement('other_score', 'kendall_tau')",
    "bootstrap": "summarize('ndcg@10', interval='percentile')",
    "ci": MEANS,
    "confidence_interval": MEANS,
    "cross_validate": "tune('wsum', metric='ndcg@10', runs=['bm25', 'dense'])",
    "describe": MEANS,
    "group_by": "mean('ndcg@10', by='market')",
    "groupby": "mean('ndcg@10', by='market')",
    "hist": "plot.distribution('ndcg@10', runs=['old', 'new'])",
    "histogram": "plot.distribution('ndcg@10', runs=['old', 'new'])",
    "html": PAGE,
    "join": "judge(qrels)",
    "kappa": "collection.label_agreement('label', 'other_label')",
    "leaderboard": "compare('ndcg@10', runs=['a', 'b', 'c']).ranks",
    "merge": "judge(qrels)",
    "permutation_test": COMPARED,
    "power_analysis": "power('ndcg@10', runs=['old', 'new'], difference=0.02)",
    "quantile": "evaluate('ndcg@10').quantile(0.05)",
    "rename": "on(query='session', doc='item', score='prediction')",
    "sample_size": "power('ndcg@10', runs=['old', 'new'], difference=0.02)",
    "save": PAGE,
    "score": "evaluate('ndcg@10')",
    "significance": COMPARED,
    "stats": MEANS,
    "test": COMPARED,
    "to_html": PAGE,
    "to_latex": f"{COMPARED}.to_latex()",
    "ttest": "compare('ndcg@10', runs=['old', 'new'], test='t')",
    "validate": "check()",
    "wilcoxon": COMPARED,
    "worst": "evaluate('ndcg@10').sort('ndcg@10')",
}
"""The call on a ranker, by the name that people try."""
