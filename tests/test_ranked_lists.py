"""Ranking once gives what ranking each time gives."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_retrieval as pr

RUN = pl.DataFrame(
    {
        "system": ["a", "a", "a", "b", "b", "a"],
        "query_id": [2, 2, 1, 1, 2, 1],
        "doc_id": ["x", "y", "x", "y", "z", "z"],
        "score": [0.5, 0.5, None, -1.0, 0.0, 3.0],
        "relevance": [1, 0, 1, 0, 2, None],
    }
)
METRICS = ["precision@1", pr.recall, "n_judged"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"by": "system"},
        {"ties": "doc_id", "unjudged": "drop"},
        {"empty_target_action": "skip", "min_relevance": 2, "ignore_index": 0},
    ],
    ids=str,
)
def test_equals_the_functions(options):
    lists = pr.RankedLists(RUN, **options)
    assert_frame_equal(lists.per_query(METRICS), pr.per_query(RUN, METRICS, **options))
    for aggregation in ("mean", "max", lambda value: value.sum()):
        expected = pr.evaluate(RUN, METRICS, aggregation=aggregation, **options)
        assert_frame_equal(lists.evaluate(METRICS, aggregation=aggregation), expected)
        curve = pr.pr_curve(RUN, max_k=3, adaptive_k=True, aggregation=aggregation, **options)
        assert_frame_equal(lists.pr_curve(max_k=3, adaptive_k=True, aggregation=aggregation), curve)


def test_takes_judgments_and_lazy_frames():
    qrels = RUN.drop_nulls("relevance").unique(["query_id", "doc_id"]).select("query_id", "doc_id", "relevance")
    run = RUN.drop("relevance").drop_nulls()
    lists = pr.RankedLists(run.lazy(), qrels=qrels, by="system")
    assert_frame_equal(lists.evaluate(METRICS), pr.evaluate(run, METRICS, qrels=qrels, by="system"))


def test_arguments_are_checked():
    lists = pr.RankedLists(RUN, by="system")
    with pytest.raises(pr.errors.ParameterError, match="`max_k`"):
        lists.pr_curve(max_k=0)
    with pytest.raises(pr.errors.ParameterError, match="`aggregation`"):
        lists.evaluate("recall", aggregation="average")
    with pytest.raises(pr.errors.MetricError, match="recal"):
        lists.per_query("recal")
