"""The scorer of scikit-learn, in cross-validation and searches, against the mean of a plain loop over queries."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.tree import DecisionTreeRegressor

import rankframe as rf
from tests.support.each import each

DRAW = np.random.default_rng(5)
QUERY = pd.Series(np.repeat(np.arange(30), 8), index=DRAW.permutation(240))
X = pd.DataFrame(DRAW.normal(size=(240, 3)), columns=[*"abc"], index=QUERY.index)
Y = (X["a"] + DRAW.normal(size=240) > 0.5).astype(int)
FOLDS = GroupKFold(3)


def by_hand(model: Any, method: str, k: int = 5) -> list[float]:
    """The mean nDCG of each fold's queries, with relevance 0 and 1."""
    means = []
    for train, test in FOLDS.split(X, Y, QUERY):
        scores = getattr(model.fit(X.iloc[train], Y.iloc[train]), method)(X.iloc[test])
        scores = scores[:, 1] if scores.ndim == 2 else scores
        values = []
        for query in np.unique(QUERY.iloc[test]):
            rows = (QUERY.iloc[test] == query).to_numpy()
            labels = Y.iloc[test].to_numpy()[rows][np.argsort(-scores[rows], kind="stable")]
            dcg = sum(x / math.log2(i + 2) for i, x in enumerate(labels[:k]))
            best = sum(1 / math.log2(i + 2) for i in range(min(k, int(labels.sum()))))
            values.append(dcg / best if best else 0.0)
        means.append(float(np.mean(values)))
    return means


@each(
    ("model", "method"),
    [
        (LinearRegression(), "predict"),
        (LogisticRegression(), "decision_function"),
        (Ridge(alpha=3.0), "predict"),
    ],
)
def test_cross_validation_gives_the_mean_over_the_queries_of_each_fold(model: Any, method: str) -> None:
    scorer = rf.sklearn_scorer("ndcg@5", group=QUERY)
    found = cross_val_score(model, X, Y, groups=QUERY, cv=FOLDS, scoring=scorer)
    assert found.tolist() == pytest.approx(by_hand(model, method), abs=1e-12)


def test_groups_are_a_column_or_a_function_of_the_rows_or_passed_by_scikit_learn() -> None:
    expected = cross_val_score(
        LinearRegression(), X, Y, groups=QUERY, cv=FOLDS, scoring=rf.sklearn_scorer("rr", group=QUERY)
    ).tolist()
    seen = X.assign(query=QUERY)
    calls = {
        "column": (seen, rf.sklearn_scorer("rr", group="query")),
        "column of Polars": (pl.from_pandas(seen.reset_index(drop=True)), rf.sklearn_scorer("rr", group="query")),
        "function": (seen.to_numpy(), rf.sklearn_scorer("rr", group=lambda rows: rows[:, 3])),
    }
    model = DecisionTreeRegressor(max_depth=2, random_state=0)
    found = {
        name: cross_val_score(model, rows, Y.to_numpy(), groups=QUERY, cv=FOLDS, scoring=scorer).tolist()
        for name, (rows, scorer) in calls.items()
    }
    assert found["column"] == found["column of Polars"] == found["function"]
    with sklearn.config_context(enable_metadata_routing=True):
        routed = cross_val_score(
            LinearRegression(), X, Y, params={"groups": QUERY}, cv=FOLDS, scoring=rf.sklearn_scorer("rr")
        )
    assert routed.tolist() == expected


def test_a_search_takes_several_scorers_and_chooses_the_best_model_by_one() -> None:
    scoring = {name: rf.sklearn_scorer(name, group=QUERY) for name in ("ndcg@5", "mean_rank")}
    grid = {"max_depth": [1, 4]}
    search = GridSearchCV(DecisionTreeRegressor(random_state=0), grid, scoring=scoring, refit="ndcg@5", cv=FOLDS)
    search.fit(X, Y, groups=QUERY)
    means = search.cv_results_["mean_test_ndcg@5"]
    assert search.best_params_ == {"max_depth": grid["max_depth"][int(np.argmax(means))]}
    assert (search.cv_results_["mean_test_mean_rank"] < 0).all()  # lower is better, so the greatest is the best


def test_a_scorer_goes_to_other_processes() -> None:
    scorer = pickle.loads(pickle.dumps(rf.sklearn_scorer("ndcg@5", group=QUERY, relevant=1)))
    model = LinearRegression().fit(X, Y)
    assert scorer(model, X, Y) == rf.sklearn_scorer("ndcg@5", group=QUERY)(model, X, Y)
    assert repr(scorer) == "sklearn_scorer('ndcg@5')"


@each(
    ("scorer", "rows", "says"),
    [
        (rf.sklearn_scorer("rr"), X, "the rows have no groups; write sklearn_scorer"),
        (rf.sklearn_scorer("rr", group="z"), X, "X has no column 'z'"),
        (rf.sklearn_scorer("rr", group=QUERY), X.to_numpy(), "X has no index"),
        (rf.sklearn_scorer("rr", group=[1, 2]), X, "has no index to find the rows of a fold by"),
        (rf.sklearn_scorer("rr", group=lambda rows: [1]), X, "1 groups for 240 rows"),
    ],
    ids=["none", "column", "array", "list", "short"],
)
def test_rows_without_groups_are_refused(scorer: Any, rows: Any, says: str) -> None:
    model = LinearRegression().fit(rows, Y)
    with pytest.raises(rf.InvalidData, match=says):
        scorer(model, rows, Y)


def test_several_classes_and_several_metrics_are_refused() -> None:
    classes = pd.Series(np.arange(240) % 3, index=X.index)
    model = LogisticRegression().fit(X, classes)
    with pytest.raises(rf.InvalidData, match="LogisticRegression tells 3 classes apart"):
        rf.sklearn_scorer("rr", group=QUERY)(model, X, Y)
    with pytest.raises(rf.InvalidOption, match="a scorer gives one number"):
        rf.sklearn_scorer("ndcg@5,10")
    with pytest.raises(rf.UnknownMetric):
        rf.sklearn_scorer("ndgc")


def test_probabilities_rank_where_an_estimator_has_no_decision_function() -> None:
    from sklearn.naive_bayes import GaussianNB

    found = cross_validate(
        GaussianNB(), X, Y, groups=QUERY, cv=FOLDS, scoring=rf.sklearn_scorer("ndcg@5", group=QUERY)
    )["test_score"]
    assert found.tolist() == pytest.approx(by_hand(GaussianNB(), "predict_proba"), abs=1e-12)
