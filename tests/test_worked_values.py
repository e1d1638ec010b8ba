"""The worked values that every surface has to give, with the expected numbers as arithmetic."""

from __future__ import annotations

from statistics import mean

import polars as pl
import pytest

import polars_retrieval as pr

EXACT = {"rel": 0, "abs": 1e-12}


def run(indexes, preds, target):
    return pl.DataFrame({"query_id": indexes, "score": preds, "relevance": target}, schema_overrides={"score": float})


def one_query(preds, target):
    return run([0] * len(preds), preds, target)


TWO_QUERIES = run([0, 0, 0, 0, 1, 1, 1], [0.4, 0.01, 0.5, 0.6, 0.2, 0.3, 0.5], [1, 0, 0, 1, 1, 0, 1])
ONE_QUERY = one_query([0.2, 0.3, 0.5], [1, 0, 1])
R_PRECISION = run([0, 0, 0, 1, 1, 1, 1], [0.2, 0.3, 0.5, 0.1, 0.3, 0.5, 0.2], [0, 0, 1, 0, 1, 0, 1])
NOT_RETRIEVED = pl.DataFrame(
    {
        "query_id": ["q"] * 7,
        "doc_id": ["d7", "d2", "d9", "d1", "d4", "d11", "d15"],
        "score": [5.0, 4.0, 3.0, 2.0, 1.0, None, None],
        "relevance": [0, 1, 0, 0, 1, 1, 1],
    }
)
TWELVE_RELEVANT = one_query([*range(10, 0, -1), *[None] * 9], [1, 0, 0, 1, 0, 0, 0, 0, 0, 1, *[1] * 9])
EQUAL_SCORES = one_query([1, 1, 1], [1, 0, 0])
NEGATIVE_SCORES = one_query([-0.1, -0.5, -0.9], [1, 0, 1])

VALUES = [
    ("precision", {"k": 1}, TWO_QUERIES, [1 / 1, 1 / 1]),
    ("precision", {"k": 2}, TWO_QUERIES, [1 / 2, 1 / 2]),
    ("precision", {"k": 3}, TWO_QUERIES, [2 / 3, 2 / 3]),
    ("precision", {"k": 4}, TWO_QUERIES, [2 / 4, 2 / 4]),
    ("recall", {"k": 1}, TWO_QUERIES, [1 / 2, 1 / 2]),
    ("recall", {"k": 2}, TWO_QUERIES, [1 / 2, 1 / 2]),
    ("recall", {"k": 3}, TWO_QUERIES, [2 / 2, 2 / 2]),
    ("recall", {"k": 4}, TWO_QUERIES, [2 / 2, 2 / 2]),
    ("precision", {"k": 1}, ONE_QUERY, [1 / 1]),
    ("precision", {"k": 2}, ONE_QUERY, [1 / 2]),
    ("recall", {"k": 1}, ONE_QUERY, [1 / 2]),
    ("recall", {"k": 2}, ONE_QUERY, [1 / 2]),
    ("r_precision", {}, R_PRECISION, [1 / 1, 1 / 2]),
    ("recall", {"k": 2}, R_PRECISION, [1 / 1, 1 / 2]),
    ("r_precision", {}, ONE_QUERY, [1 / 2]),
    ("precision", {"k": 5}, NOT_RETRIEVED, [2 / 5]),
    ("recall", {"k": 5}, NOT_RETRIEVED, [2 / 4]),
    ("precision", {"k": 10}, TWELVE_RELEVANT, [3 / 10]),
    ("recall", {"k": 10}, TWELVE_RELEVANT, [3 / 12]),
    ("precision", {"k": 1}, EQUAL_SCORES, [1 / 3]),
    ("reciprocal_rank", {}, EQUAL_SCORES, [11 / 18]),
    ("precision", {"k": 1}, NEGATIVE_SCORES, [1 / 1]),
    ("recall", {"k": 1}, NEGATIVE_SCORES, [1 / 2]),
    ("reciprocal_rank", {}, NEGATIVE_SCORES, [1 / 1]),
    ("average_precision", {}, NEGATIVE_SCORES, [(1 / 1 + 2 / 3) / 2]),
]


@pytest.mark.parametrize(("name", "parameters", "frame", "expected"), VALUES)
def test_by_query(values_by_query, name, parameters, frame, expected):
    assert values_by_query(frame, name, parameters) == pytest.approx(expected, **EXACT)


@pytest.mark.parametrize(("name", "parameters", "frame", "expected"), VALUES)
@pytest.mark.parametrize("lazy", [False, True])
def test_mean(name, parameters, frame, expected, lazy):
    if not hasattr(pr, name):
        pytest.skip(f"`{name}` is no measure yet")
    measure = getattr(pr, name)(**parameters) if parameters else getattr(pr, name)
    result = (frame.lazy() if lazy else frame).retrieval.evaluate(measure).lazy().collect()
    assert result.columns == [str(measure)]
    assert result.item() == pytest.approx(mean(expected), **EXACT)


@pytest.mark.parametrize("ties", ["stable", "pessimistic", "optimistic"])
def test_equal_scores_by_rule(values_by_query, ties):
    expected = {"stable": 1, "pessimistic": 0, "optimistic": 1}[ties]
    assert values_by_query(EQUAL_SCORES, "precision", {"k": 1}, ties=ties) == [expected]


@pytest.mark.parametrize(
    ("frame", "max_k", "precision", "recall"),
    [
        (TWO_QUERIES, 4, [1, 1 / 2, 2 / 3, 2 / 4], [1 / 2, 1 / 2, 1, 1]),
        (ONE_QUERY, 2, [1, 1 / 2], [1 / 2, 1 / 2]),
    ],
)
class TestCurve:
    def check(self, curve, max_k, precision, recall):
        assert curve.columns == ["k", "precision", "recall"]
        assert curve["k"].to_list() == list(range(1, max_k + 1))
        assert curve["precision"].to_list() == pytest.approx(precision, **EXACT)
        assert curve["recall"].to_list() == pytest.approx(recall, **EXACT)

    def test_function(self, frame, max_k, precision, recall):
        self.check(pr.pr_curve(frame, max_k=max_k), max_k, precision, recall)

    def test_method(self, frame, max_k, precision, recall):
        self.check(frame.retrieval.pr_curve(max_k=max_k), max_k, precision, recall)

    @pytest.mark.parametrize("engine", ["in-memory", "streaming"])
    def test_lazy(self, frame, max_k, precision, recall, engine):
        curve = pr.pr_curve(frame.lazy(), max_k=max_k)
        assert isinstance(curve, pl.LazyFrame)
        self.check(curve.collect(engine=engine), max_k, precision, recall)

    def test_group_by(self, frame, max_k, precision, recall):
        curve = pl.col("relevance").retrieval.pr_curve("score", max_k=max_k).alias("curve")
        by_query = frame.group_by("query_id").agg(curve).unnest("curve").explode("k", "precision", "recall")
        means = by_query.group_by("k").agg(pl.mean("precision", "recall")).sort("k")
        self.check(means, max_k, precision, recall)


JUDGMENTS = NOT_RETRIEVED.select("query_id", "doc_id", "relevance").filter(pl.col("relevance") > 0)


def test_run_and_judgments_apart():
    retrieved = NOT_RETRIEVED.filter(pl.col("score").is_not_null()).drop("relevance")
    result = pr.evaluate(retrieved, ["precision@5", "recall@5"], qrels=JUDGMENTS)
    assert result.row(0) == pytest.approx((2 / 5, 2 / 4), **EXACT)


def test_a_share_of_ten_is_the_number_that_it_looks_like():
    run = pl.DataFrame(
        {
            "query_id": [hits for hits in range(11) for _ in range(10)],
            "score": [float(-rank) for _ in range(11) for rank in range(10)],
            "relevance": [rank < hits for hits in range(11) for rank in range(10)],
        }
    )
    exact = [hits / 10 for hits in range(11)]
    assert pr.per_query(run, "precision@10")["precision@10"].to_list() == exact
    assert (
        run.group_by("query_id", maintain_order=True)
        .agg(pl.col("relevance").retrieval.precision("score", k=10))["precision@10"]
        .to_list()
        == exact
    )


def test_a_cutoff_among_tied_hits_counts_as_many_as_it_holds():
    # Of the first four a hit has both others below it, of which one counts, and another hit has none.
    frame = one_query([9.0, 8.0, 7.0, 5.0, 5.0, 5.0], [1, 0, 0, 1, 1, 1])
    by_chance = 0.5**2 / 2
    expected = (1 + (1 / 4 - by_chance) / (0.5 - by_chance)) / 2
    auroc = pl.col("relevance").retrieval.auroc("score", k=4, max_fpr=0.5)
    assert pr.per_query(frame, pr.auroc(k=4, max_fpr=0.5)).item(0, -1) == pytest.approx(expected)
    assert frame.group_by("query_id").agg(auroc).item(0, -1) == pytest.approx(expected)
