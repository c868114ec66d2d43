"""Run the tests of another tool's metrics with rankframe in the place of the tool: python
scripts/peers_tests.py CHECKOUT.

CHECKOUT is a clone of ir_measures, rax, pyndeval, trec_eval, RecTools, LensKit or Microsoft's
recommenders, which this repository holds no part of. Of the tools only ir_measures, which
rankframe's extra `test` installs, RecTools and LensKit have to run, LensKit as the installed
version; rax also needs absl-py. Each value that a test compares is counted, and one that differs is
printed with its reason in `KNOWN`. Tests of RecTools and LensKit call the tool itself: each value
that a metric of the tool returns to them, a value for each user, is compared with rankframe's. The
exit code is 1 if a value differs without a reason, a reason stands for no value, or a test fails.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import io
import math
import os
import re
import sys
import unittest
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, redirect_stdout, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl

import rankframe as rf

KNOWN: Mapping[str, Mapping[str, str]] = {
    "ir_measures": {
        "Accuracy": "a query without a pair of a relevant and another document has no value, and 0 here",
        "Compat(p=0.8)": "the sum stops at the end of the longer list, and goes on here",
        "gains=": "a label that the mapping lacks gains itself, and is refused here",
        "NumQ": "the number of queries is no metric of a query here",
    },
    "rax": {},
    "pyndeval": {},
    "recommenders": {
        "diversity(item_cooccurrence_count)": "items are compared by the users that they share, which ild does not do",
        "serendipity(item_feature_vector)": "1 less the mean similarity to the user's items; ours takes the nearest one",
    },
    "trec_eval": {},
    "rectools": {
        "insufficient_handling=exclude": "a user with too short a list is left out, and is kept here",
        "share a rank": "two items of a user at one rank are refused here",
        "the run holds a document": "an item that is recommended twice is refused here",
        "the features of a document": "a user with an item without features has no value, and the item is refused here",
        "interactions have no row": "without a past interaction the popularity is 0, and is refused here",
        "map@3, an interaction twice": "an interaction that occurs twice counts twice, so that MAP goes above 1",
        "Intersection": "a reference without a row has no value, and 0 here",
    },
    "lenskit": {"an empty list": "it has no precision and no average precision, and 0 here"},
}
"""By tool: what the name of a value that differs begins with or contains, and the reason."""


class Seen(NamedTuple):
    """A value that a test compares."""

    name: str
    found: float
    wanted: float
    equal: bool


SEEN: list[Seen] = []
ASKED: list[str] = []
"""The metrics that the test asked for, the last one at the end."""


def see(found: Any, wanted: Any, tolerance: float = 1e-9) -> None:
    """Record a comparison of two numbers, or of all numbers in two arrays."""
    a, b = np.asarray(found, float), np.asarray(wanted, float)
    equal = a.shape == b.shape and bool(np.allclose(a, b, rtol=0, atol=tolerance, equal_nan=True))
    SEEN.append(Seen(ASKED[-1] if ASKED else "", float(a.mean()), float(b.mean()), equal))


def load(path: Path) -> ModuleType:
    """A Python file as a module of its folder."""
    spec = importlib.util.spec_from_file_location(f"peer_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stand_in(name: str, **attributes: Any) -> ModuleType:
    """A module of this name in the place of the tool's, and of those above it."""
    parts = name.split(".")
    for end in range(1, len(parts)):
        sys.modules.setdefault(".".join(parts[:end]), ModuleType(".".join(parts[:end])))
    module = sys.modules[name] = ModuleType(name)
    vars(module).update(attributes)
    if len(parts) > 1:
        setattr(sys.modules[".".join(parts[:-1])], parts[-1], module)
    return module


def run_unittest(suite: unittest.TestSuite) -> None:
    """Run tests, and stop at what is no difference of a value."""
    result = unittest.TextTestRunner(stream=sys.stderr, verbosity=0).run(suite)
    for case, text in (*result.errors, *result.failures):
        print(f"{case}: {text}")
    if result.errors or result.failures:
        raise SystemExit("tests did not run to their end")


# ir_measures: providers that evaluate with rankframe
# ------------------------------------------------------------


def ir_measures(checkout: Path) -> None:
    """The values of its ten files of tests; the others test how it reads and defines measures."""
    sys.path.insert(0, str(checkout))
    theirs = importlib.import_module("ir_measures")

    class Ours(theirs.providers.Evaluator):  # type: ignore[misc, name-defined]
        def __init__(self, provider: Any, measures: Iterable[Any], qrels: Any) -> None:
            self.rows = [*theirs.util.QrelsConverter(qrels).as_namedtuple_iter()]
            super().__init__([*measures], {row.query_id for row in self.rows})
            self.provider = provider

        def _iter_calc(self, run: Any) -> Iterator[Any]:
            rows = [*theirs.util.RunConverter(run).as_namedtuple_iter()]
            for measure in self.measures:
                ASKED.append(str(measure))
                for query, value in of_measure(
                    str(measure), self.provider.NAME, self.rows, rows
                ).items():
                    yield theirs.Metric(query, measure, value)

    for provider in theirs.providers.registry.values():
        if provider.NAME not in ("runtime", "fallback"):
            type(provider).is_available = lambda self: True
            type(provider)._evaluator = lambda self, measures, qrels: Ours(self, measures, qrels)
    names = (
        "accuracy",
        "aggregate",
        "compat",
        "cwl_eval",
        "gdeval",
        "judged",
        "providers",
        "pyndeval",
        "pytrec_eval",
        "ranx",
    )
    with ExitStack() as patches:
        case = unittest.TestCase
        patches.enter_context(mock.patch.object(case, "assertEqual", same(case.assertEqual)))
        patches.enter_context(
            mock.patch.object(case, "assertAlmostEqual", same(case.assertAlmostEqual))
        )
        patches.enter_context(
            mock.patch(
                "numpy.testing.assert_equal", lambda a, b: same(case.assertEqual)(None, a, b)
            )
        )
        run_unittest(
            unittest.defaultTestLoader.loadTestsFromNames([f"tests.test_{name}" for name in names])
        )


def same(compare: Callable[..., None]) -> Callable[..., None]:
    """An assertion that records numbers, measured values and dictionaries of numbers, and makes
    other comparisons itself."""

    def check(
        self: Any, a: Any, b: Any, places: Any = None, msg: Any = None, delta: float | None = None
    ) -> None:
        places = places if isinstance(places, int) else None  # of assertEqual it is the message
        tolerance = delta if delta is not None else 1e-9 if places is None else 0.5 * 10.0**-places
        if isinstance(a, float) and isinstance(b, (int, float)):  # whole numbers are lengths
            see(a, b, tolerance)
        elif isinstance(a, Mapping):
            for measure in b:
                ASKED.append(str(measure))
                see(a.get(measure, math.nan), b[measure], tolerance)
        elif isinstance(a, (set, list)) and any(hasattr(x, "measure") for x in (*a, *b)):
            found, wanted = (
                {(x.query_id, str(x.measure)): x.value for x in some} for some in (a, b)
            )
            for key in {**wanted, **found}:
                ASKED.append(key[1])
                see(found.get(key, math.nan), wanted.get(key, math.nan), tolerance)
        elif hasattr(a, "measure"):
            see(a.value, b.value, tolerance)
        elif isinstance(a, int) and a != b:  # numbers of results
            see(a, b)
        elif delta is None:
            compare(self, a, b)

    return check


def of_measure(
    text: str, provider: str, qrels: Sequence[Any], run: Sequence[Any]
) -> dict[str, float]:
    """The value of each query by rankframe; NaN where it refuses the measure."""
    schema = {"query_id": pl.String, "doc_id": pl.String}
    subtopic = provider == "pyndeval"
    judged = pl.DataFrame(
        [(x.query_id, x.doc_id, x.relevance, x.iteration) for x in qrels],
        {**schema, "label": pl.Int64, "subtopic": pl.String},
        orient="row",
    )
    found = pl.DataFrame(
        [(x.query_id, x.doc_id, x.score) for x in run],
        {**schema, "score": pl.Float64},
        orient="row",
    )
    known = dict.fromkeys(x.query_id for x in qrels)
    found = found.filter(pl.col("query_id").is_in([*known]))
    options: dict[str, Any] = {"subtopic": "subtopic"} if subtopic else {}
    if provider in ("ranx", "judged"):
        options["ties"] = "order"
    if "judged_only=True" in text:
        text, options["unjudged"] = (
            text.replace("judged_only=True", "").replace("(,", "(").replace(",)", ")"),
            "drop",
        )
        text = text.replace("()", "")
    if (
        provider == "gdeval"
    ):  # its ERR is of labels up to 4, its nDCG of exponential gains, and it prints five decimals
        text = text.replace("ERR@", "ERR(max_label=4)@").replace("nDCG@", "nDCG(dcg='exp-log2')@")
    text = text.replace("Accuracy", "pairwise_accuracy")
    table = judged if subtopic else judged.drop("subtopic")
    try:
        joined = (
            found.rank.judge(table, judged_only="keep", run_only="drop")
            if len(found) and len(table)
            else None
        )
        if joined is None:
            return {}
        values = dict(joined.rank.on(**options).evaluate(text).iter_rows())
    except rf.RankframeError:
        return dict.fromkeys(known, math.nan)
    return {
        query: round(value, 5) if provider == "gdeval" else value
        for query, value in values.items()
        if query in {x.query_id for x in run} and value is not None
    }


# rax: metrics of arrays, in the place of JAX's
# ------------------------------------------------------------------


RAX = {
    "mrr_metric": "rr", "recall_metric": "recall", "precision_metric": "precision(divisor='min(k,n)')", "ap_metric": "map",
    "dcg_metric": "dcg(gain=exponential)", "ndcg_metric": "ndcg(gain=exponential)", "opa_metric": "ordered_pair_accuracy(no_pairs=zero)",
}  # fmt: skip


def rax(checkout: Path) -> None:
    """Its test of metrics, less that of a private function; an array's last axis holds the items of
    a list."""
    jnp = stand_in("jax.numpy", **vars(np))
    stand_in(
        "jax",
        numpy=jnp,
        vmap=lambda f, **_: lambda *given: np.array([f(*row) for row in zip(*given, strict=True)]),
    )
    stand_in("rax._src.metrics", **{name: functools.partial(of_arrays, name) for name in RAX})
    module = load(checkout / "rax" / "_src" / "metrics_test.py")
    with mock.patch("numpy.testing.assert_allclose", lambda a, b, rtol=1e-7: see(b, a, rtol)):
        run_unittest(unittest.defaultTestLoader.loadTestsFromTestCase(module.MetricsTest))


def of_arrays(
    name: str,
    scores: Any,
    labels: Any,
    *,
    where: Any = None,
    segments: Any = None,
    weights: Any = None,
    topn: int | None = None,
    reduce_fn: Callable[..., Any] | None = np.mean,
) -> Any:
    """A metric of rax: the mean over lists with a valid item; an item with a score of minus
    infinity was not retrieved."""
    ASKED.append(name)
    scores, labels = (
        np.atleast_2d(np.asarray(scores, float)),
        np.atleast_2d(np.asarray(labels, float)),
    )
    columns = {
        "list": np.repeat(np.arange(len(scores)), scores.shape[1]), "segment": segments, "valid": where, "w": weights,
        "score": scores, "label": labels,
    }  # fmt: skip
    table = pl.DataFrame({column: np.ravel(x) for column, x in columns.items() if x is not None})
    if where is not None:
        table = table.filter(pl.col("valid").cast(pl.Boolean))
    table = table.with_columns(score=pl.when(pl.col("score").is_finite()).then("score"))
    query = ["list"] if segments is None else ["list", "segment"]
    ranker = table.rank.on(
        query=query, ties="order", **({} if weights is None else {"weight": "w"})
    )
    values = ranker.evaluate(RAX[name] + (f"@{topn}" if topn else ""))[:, -1].to_numpy()
    return reduce_fn(values) if reduce_fn and len(values) else values if len(values) else 0.0


# pyndeval -----------------------------------------------------------------------------------------
# ----------------


class SubtopicQrel(NamedTuple):
    """A judgment of pyndeval."""

    query_id: str
    subtopic_id: str
    doc_id: str
    relevance: int


class ScoredDoc(NamedTuple):
    """A retrieved document of pyndeval."""

    query_id: str
    doc_id: str
    score: float


def pyndeval(checkout: Path) -> None:
    """Its only test: all measures of one query, by their names."""

    class Values(dict[str, float]):
        def __missing__(self, name: str) -> float:
            ASKED.append(name)
            return float(judged.rank.on(subtopic="subtopic_id").evaluate(name)[:, -1].item())

    judged = pl.DataFrame()

    def ndeval(qrels: Sequence[SubtopicQrel], run: Sequence[ScoredDoc]) -> dict[str, Values]:
        nonlocal judged
        labels = pl.DataFrame(qrels).rename({"relevance": "label"})
        judged = pl.DataFrame(run).rank.judge(labels)
        return {"0": Values()}

    stand_in("pyndeval", SubtopicQrel=SubtopicQrel, ScoredDoc=ScoredDoc, ndeval=ndeval)
    case = unittest.TestCase
    with mock.patch.object(case, "assertAlmostEqual", same(case.assertAlmostEqual)):
        run_unittest(
            unittest.defaultTestLoader.loadTestsFromModule(
                load(checkout / "tests" / "test_pyndeval.py")
            )
        )


# Microsoft's recommenders
# -----------------------------------------------------------------------------------------


class Checked(float):
    """A value that records what a test finds it equal to."""

    name: str

    def __eq__(self, other: object) -> bool:
        ASKED.append(self.name)
        wanted = getattr(other, "expected", other)
        see(
            float(self), wanted, max(1e-9, getattr(other, "rel", None) or 0) * max(1.0, abs(wanted))
        )
        return True

    __hash__ = float.__hash__


def checked(name: str, value: Any) -> Checked:
    """A value under the name of what was asked; NaN for none."""
    found = Checked(math.nan if value is None else value)
    found.name = name
    return found


USER, ITEM, RATING, PREDICTION = "userID", "itemID", "rating", "prediction"
TOOL = "microsoft_recommenders"
ACCURACY = {
    "precision_at_k": "precision", "recall_at_k": "recall", "map_at_k": "map", "map": "map(divisor=R)", "ndcg_at_k": "ndcg",
    "r_precision_at_k": "r_precision",
}  # fmt: skip
WHOLE = {"catalog_coverage": "coverage", "distributional_coverage": "entropy", "novelty": "novelty"}
RATINGS = (
    "rmse",
    "mae",
    "rsquared",
    "exp_var",
    "logloss",
    "get_top_k_items",
    "_check_column_dtypes",
)
"""Functions of ratings and of frames, which are no metric of a ranking."""


def recommenders(checkout: Path) -> None:
    """Its test of metrics in Python, less those of ratings, of frames and of errors."""
    functions: dict[str, Any] = {name: accuracy(name, text) for name, text in ACCURACY.items()}
    functions |= {name: whole(name, text) for name, text in WHOLE.items()}
    functions |= {"auc": of_pairs, "historical_item_novelty": item_novelty}
    for name, user, item in (
        ("diversity", "user_diversity", ""),
        ("serendipity", "user_serendipity", "user_item_serendipity"),
    ):
        functions |= {
            name: of_lists(name, "mean"),
            user: of_lists(name, "user"),
            **({item: of_lists(name, "item")} if item else {}),
        }

    def other(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def refuse(*_: object, **__: object) -> Any:
            raise NotImplementedError(name)

        return RuntimeError if name.endswith("Error") else refuse

    stand_in("recommenders.evaluation.python_evaluation", __getattr__=other, **functions)
    columns = {"USER": USER, "ITEM": ITEM, "RATING": RATING, "PREDICTION": PREDICTION}
    stand_in(
        "recommenders.utils.constants", **{f"DEFAULT_{name}_COL": x for name, x in columns.items()}
    )
    folder = checkout / "tests" / "unit" / "recommenders" / "evaluation"
    with (
        mock.patch("pytest.fixture", lambda function: function),
        mock.patch("pandas.testing.assert_frame_equal", frames),
    ):
        fixtures, tests = (
            vars(load(folder / "conftest.py")),
            vars(load(folder / "test_python_evaluation.py")),
        )

    def given(function: Callable[..., Any]) -> Any:
        return function(
            **{
                name: given({**fixtures, **tests}[name])
                for name in inspect.signature(function).parameters
            }
        )

    for name, test in tests.items():
        if name.startswith("test_") and name != "test_python_errors":
            with suppress(NotImplementedError):
                given(test)


def frames(wanted: pd.DataFrame, found: pd.DataFrame, atol: float = 1e-5, **_: object) -> None:
    """Record the values of a frame, in the last column, as one comparison."""
    ASKED.append(found.columns[-1] if not found.attrs else found.attrs["name"])
    see(found[found.columns[-1]].to_numpy(), wanted[wanted.columns[-1]].to_numpy(), atol)


def accuracy(name: str, text: str) -> Callable[..., Checked]:
    """A metric of the first k items; one that is recommended twice counts once, which the tool
    leaves undefined."""

    def value(
        rating_true: pd.DataFrame, rating_pred: pd.DataFrame, k: int = 10, **given: Any
    ) -> Checked:
        prediction = given.get("col_prediction", PREDICTION)
        run = pl.DataFrame({USER: rating_pred[USER].to_numpy(), ITEM: rating_pred[ITEM].to_numpy()})
        run = run.with_columns(score=pl.Series(rating_pred[prediction].to_numpy()).cast(pl.Float64))
        run = run.unique([USER, ITEM], keep="first", maintain_order=True)
        graded = "score_type" in given
        labels = rating_true[RATING].to_numpy() if graded else np.ones(len(rating_true))
        wanted = pl.DataFrame(
            {
                USER: rating_true[USER].to_numpy(),
                ITEM: rating_true[ITEM].to_numpy(),
                "label": labels,
            }
        )
        mine = run.rank.on(query=USER, doc=ITEM)
        judged = mine.judge(wanted).rank.on(like=mine)
        asked = f"{text}(gain=linear)" if graded else text
        ranker = judged if name == "r_precision_at_k" else judged.on(convention=TOOL)
        with suppress(rf.RankframeError):
            return checked(f"{name}(k={k})", ranker.mean(f"{asked}@{k}").item())
        return checked(f"{name}(k={k})", None)

    return value


def of_pairs(rating_true: pd.DataFrame, rating_pred: pd.DataFrame, **given: Any) -> Checked:
    """AUC of all pairs of user and item that were rated and predicted, as one list."""
    prediction = given.get("col_prediction", PREDICTION)
    pairs = rating_true[[USER, ITEM, RATING]].merge(
        rating_pred[[USER, ITEM, prediction]], on=[USER, ITEM], suffixes=("", "_p")
    )
    score = pairs[f"{prediction}_p" if prediction == RATING else prediction].to_numpy()
    table = pl.DataFrame({"query_id": 1, "score": score, "label": pairs[RATING].to_numpy()})
    return checked("auc", table.rank.evaluate("auc")["auc"].item())


def recommended(
    train_df: pd.DataFrame,
    reco_df: pd.DataFrame,
    features: pd.DataFrame | None = None,
    label: Any = None,
) -> Any:
    """A ranker of recommendations in the order of the frame, with past interactions and
    features."""
    run = pl.DataFrame(
        {"query_id": reco_df["UserId"].to_numpy(), "doc_id": reco_df["ItemId"].to_numpy()}
    )
    run = run.with_columns(score=-pl.int_range(pl.len()).cast(pl.Float64))
    run = run.with_columns(label=pl.Series(reco_df[label].to_numpy()) if label else pl.lit(1))
    past = pl.DataFrame(
        {"query_id": train_df["UserId"].to_numpy(), "doc_id": train_df["ItemId"].to_numpy()}
    )
    options: dict[str, Any] = {"interactions": past}
    if features is not None:
        vectors = np.stack(features["features"].to_list())
        names = [f"f{at}" for at in range(vectors.shape[1])]
        items = pl.DataFrame(
            {"doc_id": features["ItemId"].to_numpy(), **dict(zip(names, vectors.T, strict=True))}
        )
        options |= {"items": items, "features": names}
    return run.rank.on(**options)


def whole(name: str, text: str) -> Callable[..., Checked]:
    """A number of all lists, as the comparison of tools gives it."""

    def value(train_df: pd.DataFrame, reco_df: pd.DataFrame, **_: Any) -> Checked:
        past = pl.DataFrame({"doc_id": train_df["ItemId"].unique()})
        ranker = recommended(train_df, reco_df).on(items=past if text == "coverage" else None)
        return checked(name, ranker.conventions(text).table.filter(tool=TOOL)["value"].item())

    return value


def item_novelty(train_df: pd.DataFrame, reco_df: pd.DataFrame, **_: Any) -> pd.DataFrame:
    """The surprise of each item of the past, as that of a list of this item."""
    items = pd.DataFrame(
        {
            "UserId": sorted(train_df["ItemId"].unique()),
            "ItemId": sorted(train_df["ItemId"].unique()),
        }
    )
    values = (
        recommended(train_df, items).on(convention=TOOL).evaluate("novelty")["novelty"].to_numpy()
    )
    return pd.DataFrame({"ItemId": items["ItemId"], "item_novelty": values})


def of_lists(name: str, of: str) -> Callable[..., Any]:
    """Diversity or serendipity of each item, of each user, or their mean; by shared users or by
    features."""

    def value(
        train_df: pd.DataFrame,
        reco_df: pd.DataFrame,
        item_feature_df: Any,
        item_sim_measure: str,
        **given: Any,
    ) -> Any:
        by_features = item_sim_measure == "item_feature_vector"
        ranker = recommended(train_df, reco_df, item_feature_df, given.get("col_relevance"))
        serendipity = (
            f"serendipity(against={'features' if by_features else 'co_occurrence'},relevance=True)"
        )
        text = "ild(distance=cosine)" if name == "diversity" else serendipity
        asked = f"{name}({item_sim_measure})"
        lacks = name == "diversity" and not by_features
        if of == "mean":
            return checked(asked, math.nan if lacks else ranker.mean(text).item())
        if of == "user":
            users = ranker.evaluate(text if not lacks else "num_retrieved")
            values = np.full(len(users), math.nan) if lacks else users[:, -1].to_numpy()
            frame = pd.DataFrame({"UserId": users["query_id"].to_numpy(), asked: values})
        else:
            each = ranker.explain(
                "serendipity(against=co_occurrence)"
            )  # of features there is no sum
            value = (
                pl.lit(math.nan)
                if by_features
                else pl.col(each.columns[-1]) * pl.len().over("query_id")
            )
            frame = each.select("query_id", "doc_id", value=value).to_pandas()
        frame.attrs["name"] = asked
        return frame

    return value


# --------------------------------------------------------------------------------------------------
# ---- trec_eval


def trec_eval(checkout: Path) -> None:
    """The commands of its `make quicktest`, each output as one comparison of the numbers of its
    lines."""
    from rankframe._command import main as command_line

    _, _, rest = (checkout / "Makefile").read_text().partition("\nquicktest:")
    commands = re.findall(
        r"^\t\./trec_eval (.*) \| diff - (.*)$", rest.partition("\n\n")[0], re.MULTILINE
    )
    os.chdir(checkout)
    for command, expected in commands:
        with redirect_stdout(io.StringIO()) as output:
            command_line(["trec_eval", *command.split()])
        found, wanted = output.getvalue(), Path(expected).read_text()
        lines = found.count("\n"), wanted.count("\n")
        SEEN.append(Seen(command, *map(float, lines), equal=found == wanted))


# Shadows: the tool answers its tests, and rankframe the same calls
# ------------------------------------------------


class NotCompared(Exception):
    """A call that rankframe has no answer to, with the reason."""


LEFT_OUT: Counter[str] = Counter()
"""How many calls were not compared, by reason."""


UNDER_WAY: list[str] = []
"""The shadowed calls that have not ended; a call that the tool makes within one of them is not
compared."""

Values = Mapping[Any, float]
"""A value for each user that has one."""


def shadow(kind: type, method: str, compare: Callable[[Mapping[str, Any], Any], None]) -> None:
    """Let the tool answer each call of a metric's method, and compare its arguments and its
    result."""
    theirs = getattr(kind, method)
    signature = inspect.signature(theirs)

    @functools.wraps(theirs)
    def call(*args: Any, **kwargs: Any) -> Any:
        UNDER_WAY.append(method)
        try:
            result = theirs(*args, **kwargs)
        finally:
            UNDER_WAY.pop()
        if not UNDER_WAY:
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            try:
                compare(given.arguments, result)
            except NotCompared as reason:
                LEFT_OUT[str(reason)] += 1
        return result

    setattr(kind, method, call)


def no_answer(reason: str) -> Callable[[Mapping[str, Any], Any], None]:
    """A comparison that is none, and says why."""

    def compare(given: Mapping[str, Any], result: Any) -> None:
        raise NotCompared(reason)

    return compare


def see_users(name: str, found: Values, wanted: Values) -> None:
    """Record a comparison of each user that has a value in one of the two; of no user, that there
    is none in either."""
    users = {**wanted, **found}
    if REFUSED in name and not users:
        raise NotCompared(f"no value there, {REFUSED}{name.partition(REFUSED)[2]}")
    ASKED.append(name)
    for user in users:
        see(found.get(user, math.nan), wanted.get(user, math.nan))
    if not users:
        see(len(found), len(wanted))


REFUSED = "refused here: "


def refusal(error: rf.RankframeError) -> str:
    """What an error says, without its advice and its rows."""
    return REFUSED + re.split(r"[;(]", str(error))[0].strip()


def known_values(users: Iterable[Any], values: Iterable[float | None]) -> Values:
    """The values that are not null or NaN, by user."""
    pairs = zip(users, values, strict=True)
    return {
        user: float(value) for user, value in pairs if value is not None and not math.isnan(value)
    }


def run_pytest(files: Sequence[Path], *plugins: str) -> None:
    """Run the tool's own tests, which call the shadowed metrics."""
    import pytest

    sys.dont_write_bytecode = True
    options = ["-q", "--no-header", "-c", os.devnull, "-p", "no:cacheprovider", "-p", "no:randomly"]
    for plugin in plugins:
        options += ["-p", plugin]
    if pytest.main([*options, f"--rootdir={files[0].parent}", *map(str, files)]):
        raise SystemExit("tests did not run to their end")


# RecTools: the values of its metrics for each user
# -----------------------------------------------------------------


RECTOOLS = {
    "Precision": "precision", "Recall": "recall", "HitRate": "hit_rate", "F1Beta": "f_beta", "MAP": "map", "NDCG": "ndcg",
    "MRR": "rr", "PartialAUC": "PartialAUC", "PAP": "PAP", "MCC": "mcc", "MeanInvUserFreq": "novelty",
    "AvgRecPopularity": "mean_popularity", "Serendipity": "serendipity", "IntraListDiversity": "ild",
}  # fmt: skip
RECTOOLS_FLAGS = {
    "r_precision": "divisor='min(k,R)'", "divide_by_k": "divisor=k", "divide_by_achievable": "ideal=judged",
    "normalize": "normalize=True",
}  # fmt: skip
"""The options that attributes of its metrics ask for, where they are true."""

OF_RECTOOLS = {"names": "rectools", "rank": "rank"}


def rectools(checkout: Path) -> None:
    """Its tests of metrics; `calc_metrics` is compared as a call of each of its metrics."""
    sys.path.insert(0, str(checkout))
    theirs = importlib.import_module("rectools.metrics")
    for name in (*RECTOOLS, "Accuracy", "Intersection"):
        shadow(getattr(theirs, name), "calc_per_user", of_each_user)
    for name, text in (
        ("CatalogCoverage", "aggregate_diversity"),
        ("CoveredUsers", "user_coverage"),
    ):
        shadow(getattr(theirs, name), "calc", functools.partial(of_all_users, text))
    shadow(
        theirs.CoveredUsers,
        "calc_per_user",
        no_answer("the coverage of one user, of which ours is the mean"),
    )
    for name in ("SufficientReco", "UnrepeatedReco"):
        shadow(
            getattr(theirs, name),
            "calc_per_user",
            no_answer("a count of rows that a table lacks or repeats"),
        )
    for name in ("Accuracy", "MCC", "Precision", "Recall", "F1Beta", "HitRate"):
        shadow(
            getattr(theirs, name),
            "calc_from_confusion_df",
            no_answer("counts that the tool has made"),
        )
    for name in ("MAP", "PartialAUC", "PAP"):
        shadow(
            getattr(theirs, name), "calc_from_fitted", no_answer("counts that the tool has made")
        )
    theirs.calc_metrics = each_of(theirs.calc_metrics)
    run_pytest(sorted((checkout / "tests" / "metrics").glob("test_*.py")))


def each_of(calc_metrics: Callable[..., Any]) -> Callable[..., Any]:
    """RecTools' function of many metrics, with a call of each of them after it."""
    signature = inspect.signature(calc_metrics)

    def call(*args: Any, **kwargs: Any) -> Any:
        UNDER_WAY.append("calc_metrics")
        try:
            result = calc_metrics(*args, **kwargs)
        finally:
            UNDER_WAY.pop()
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        references = given.arguments["ref_reco"] or {"": None}
        for metric in given.arguments["metrics"].values():
            for reference in (
                references.values() if type(metric).__name__ == "Intersection" else [None]
            ):
                call_alone(metric, {**given.arguments, "ref_reco": reference})
        return result

    return call


def call_alone(metric: Any, given: Mapping[str, Any]) -> None:
    """Call one metric with those of the arguments that it takes."""
    method = getattr(metric, "calc_per_user", None) or getattr(metric, "calc", None)
    if method is None:
        return
    names = [name for name in inspect.signature(method).parameters if name in given]
    if names == ["reco", "interactions"] and type(metric).__name__ == "CoveredUsers":
        method = metric.calc
    method(**{name: given[name] for name in names})


def of_each_user(given: Mapping[str, Any], result: pd.Series) -> None:
    """Compare a metric of RecTools for each user."""
    metric = given["self"]
    text = rectools_text(metric)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = rectools_values(metric, text, given)
    except rf.RankframeError as error:
        text, found = f"{text}, {refusal(error)}", {}
    interactions = given.get("interactions")
    if interactions is not None and interactions.duplicated().any():
        text += ", an interaction twice"
    see_users(text, found, known_values(result.index, result))


def rectools_text(metric: Any) -> str:
    """The metric's text in rankframe, and `insufficient_handling` where it is not the default."""
    name = type(metric).__name__
    options = [option for flag, option in RECTOOLS_FLAGS.items() if getattr(metric, flag, False)]
    if name == "F1Beta":
        options.append(f"beta={metric.beta}")
    text = RECTOOLS.get(name, name) + (f"({','.join(options)})" if options else "") + f"@{metric.k}"
    handling = str(getattr(metric, "insufficient_handling", "ignore")).rpartition(".")[2].lower()
    return text if handling == "ignore" else f"{text}, insufficient_handling={handling}"


def rectools_values(metric: Any, text: str, given: Mapping[str, Any]) -> Values:
    """The values of users by rankframe, with RecTools' convention."""
    name, text = type(metric).__name__, text.partition(", ")[0]
    run = polars_frame(given["reco"], "rank")
    if name == "Intersection":
        reference = polars_frame(given["ref_reco"], "rank")
        shown = run.filter(pl.col("rank") <= metric.k).drop("rank")
        return by_user(
            judged_by(reference, shown, convention="rectools"), f"recall@{metric.ref_k or metric.k}"
        )
    if name in ("MeanInvUserFreq", "AvgRecPopularity"):
        past = polars_frame(given["prev_interactions"])
        past = past.group_by("item_id").len("n") if name == "AvgRecPopularity" else past.unique()
        return by_user(run.rank.on(**OF_RECTOOLS, convention="rectools", interactions=past), text)
    if name == "IntraListDiversity":
        features = pl.from_pandas(metric.distance_calculator.features_df.reset_index())
        run = run.rank.on(**OF_RECTOOLS, items=features, features=features.columns[1:])
        return by_user(run.on(convention="rectools"), text)
    interactions = polars_frame(interactions_of(metric, given)).unique(maintain_order=True)
    if name == "Accuracy":
        return accuracies(
            judged_by(run, interactions, ranks="as_given"), metric.k, len(given["catalog"])
        )
    if name == "Serendipity":
        judged = run.rank.on(**OF_RECTOOLS).judge(interactions, run_only="keep")
        past = polars_frame(given["prev_interactions"])
        rules = {"convention": "rectools", "interactions": past, "items": list(given["catalog"])}
        return by_user(judged.rank.on(**OF_RECTOOLS, **rules), text)
    judged = judged_by(run, interactions, convention="rectools")
    if name == "MCC":
        judged = judged.on(collection_size=len(given["catalog"]))
    return by_user(judged, text)


def polars_frame(frame: pd.DataFrame, *more: str) -> pl.DataFrame:
    """The columns of users and items, and more, of a frame of RecTools."""
    return pl.DataFrame({name: frame[name].to_numpy() for name in ("user_id", "item_id", *more)})


def interactions_of(metric: Any, given: Mapping[str, Any]) -> pd.DataFrame:
    """The interactions; a debiased metric has the tool draw those that count."""
    config = getattr(metric, "debias_config", None)
    if config is None:
        return given["interactions"]
    return importlib.import_module("rectools.metrics").debias_interactions(
        given["interactions"], config=config
    )


def judged_by(run: pl.DataFrame, interactions: pl.DataFrame, **rules: Any) -> Any:
    """Recommendations judged by interactions, with the rules of `on`."""
    return run.rank.on(**OF_RECTOOLS).judge(interactions).rank.on(**OF_RECTOOLS, **rules)


def by_user(ranker: Any, text: str) -> Values:
    """The values of a metric by user."""
    values = ranker.evaluate(text)
    return known_values(values[:, 0].to_list(), values[:, -1].to_list())


def accuracies(judged: Any, k: int, n_items: int) -> Values:
    """The accuracy of a list of k items, as docs/migrating.md gives it."""
    counts = judged.evaluate(f"hits@{k}", "num_relevant")
    values = 1 - (k + pl.col("num_relevant") - 2 * pl.col(f"hits@{k}")) / n_items
    counts = counts.filter(pl.col("num_relevant") > 0).select(pl.first(), value=values)
    return known_values(*counts.get_columns())


def of_all_users(text: str, given: Mapping[str, Any], result: float) -> None:
    """Compare a number of all users' lists."""
    metric, run = given["self"], polars_frame(given["reco"], "rank")
    text = f"{text}@{metric.k}"
    ranker = run.rank.on(**OF_RECTOOLS, convention="rectools")
    try:
        if "interactions" in given:
            ranker = judged_by(
                run, polars_frame(given["interactions"]).unique(), convention="rectools"
            )
        value = ranker.items.catalog(text)["value"].item()
    except rf.RankframeError as error:
        text, value = f"{text}, {refusal(error)}", math.nan
    ASKED.append(text)
    see(value / len(given["catalog"]) if getattr(metric, "normalize", False) else value, result)


# LensKit: the value of each list
# ---------------------------------------------------------------------------------


LENSKIT = (
    "Hit",
    "RecipRank",
    "Precision",
    "Recall",
    "AveragePrecision",
    "DCG",
    "NDCG",
    "RBP",
    "MeanPopRank",
)


def lenskit(checkout: Path) -> None:
    """Its tests of ranking metrics, those of the installed version; lists that are drawn are the
    same in each run."""
    from hypothesis import settings

    theirs = importlib.import_module("lenskit.metrics.ranking")
    for name in LENSKIT:
        shadow(getattr(theirs, name), "measure_list", of_list)
    first = theirs.MeanPopRank.__init__

    @functools.wraps(first)
    def with_data(self: Any, data: Any, **options: Any) -> None:
        self.data = data
        first(self, data, **options)

    theirs.MeanPopRank.__init__ = with_data
    settings.register_profile(
        "same", derandomize=True, deadline=None, max_examples=25, database=None
    )
    settings.load_profile("same")
    sys.path.insert(0, str(checkout))
    os.chdir(checkout)
    run_pytest(sorted((checkout / "tests" / "eval").glob("test_rank_*.py")), "conftest")


def of_list(given: Mapping[str, Any], result: float) -> None:
    """Compare a metric of LensKit for one list, that of user 1; user 2, who is judged, makes a
    table of it."""
    metric, recs, test = given["self"], given["recs"], given["test"]
    text = lenskit_text(metric)
    gain = getattr(metric, "gain", None)
    labels = test.field(gain) if gain else np.ones(len(test))
    run, wanted = (
        list_of(recs, rank=np.arange(1.0, len(recs) + 1)),
        list_of(test, rating=np.asarray(labels, float)),
    )
    names = {"names": "lenskit", "rank": "rank"}
    marks = {"an empty list": not len(recs), "no gain above 0": gain and not (labels > 0).any()}
    text += "".join(f", {mark}" for mark, holds in marks.items() if holds)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if type(metric).__name__ == "MeanPopRank":
                ranker = run.rank.on(
                    **names, convention="lenskit", interactions=interactions_in(metric.data)
                )
            else:
                ranker = run.rank.on(**names).judge(wanted).rank.on(**names, convention="lenskit")
            found = by_user(ranker, text.partition(", ")[0])
    except rf.RankframeError as error:
        text, found = f"{text}, {refusal(error)}", {}
    see_users(
        text,
        {user: value for user, value in found.items() if user == 1},
        known_values([1], [result]),
    )


def list_of(items: Any, **values: Any) -> pl.DataFrame:
    """The items of user 1 with a column of values, and one item of user 2 with the value 1."""
    ((name, column),) = values.items()
    ids = [*map(str, items.ids()), "another"]
    return pl.DataFrame({"user_id": [1] * len(items) + [2], "item_id": ids, name: [*column, 1.0]})


def lenskit_text(metric: Any) -> str:
    """The metric's text in rankframe."""
    name = type(metric).__name__
    options = ["gain=linear"] if getattr(metric, "gain", None) else []
    if name == "RBP":
        if (
            metric.normalize
            or metric.weight_field
            or type(metric.weight).__name__ != "GeometricRankWeight"
        ):
            raise NotCompared("RBP of other weights, or divided by the best that a list can have")
        options = [f"p={metric.patience}"]
    return (
        name
        + (f"({','.join(options)})" if options else "")
        + (f"@{metric.n}" if metric.n is not None else "")
    )


def interactions_in(data: Any) -> pl.DataFrame:
    """The interactions of a dataset of LensKit."""
    table = data.interaction_table(format="pandas", original_ids=True)
    past = pl.DataFrame({name: table[name].to_numpy() for name in ("user_id", "item_id")})
    return past.with_columns(pl.col("item_id").cast(pl.String))


TOOLS: Mapping[str, tuple[str, Callable[[Path], None]]] = {
    "ir_measures": ("ir_measures/measures", ir_measures),
    "rax": ("rax/_src/metrics_test.py", rax),
    "pyndeval": ("tests/test_pyndeval.py", pyndeval),
    "recommenders": ("tests/unit/recommenders/evaluation", recommenders),
    "trec_eval": ("trec_eval.c", trec_eval),
    "rectools": ("rectools/metrics", rectools),
    "lenskit": ("src/lenskit/metrics", lenskit),
}
"""Each tool, by what its checkout has and those of the others lack."""


def main() -> int:
    """Run the tests of the tool in the given folder."""
    checkout = Path(sys.argv[1]).resolve()
    tool, run = next((name, run) for name, (has, run) in TOOLS.items() if (checkout / has).exists())
    run(checkout)
    apart = [seen for seen in SEEN if not seen.equal]
    print(f"{tool}: {len(SEEN)} values, {len(SEEN) - len(apart)} equal")
    used, unexplained = set(), 0
    lines = Counter(
        (seen.name, f"{seen.found:.6g} here, {seen.wanted:.6g} there") for seen in apart
    )
    for (name, values), n in lines.items():
        key = next((key for key in KNOWN[tool] if key in name), None)
        used.add(key)
        unexplained += key is None
        print(f"  {n} x {name}: {values}: {'NOT EXPLAINED' if key is None else KNOWN[tool][key]}")
    for key, reason in KNOWN[tool].items():
        print(f"  {sum(key in seen.name for seen in apart)} in all: {reason}")
    for reason, n in LEFT_OUT.items():
        print(f"  {n} calls not compared: {reason}")
    stale = set(KNOWN[tool]) - used
    print("".join(f"  no value differs for this reason: {key}\n" for key in sorted(stale)), end="")
    return int(bool(unexplained or stale))


if __name__ == "__main__":
    sys.exit(main())
