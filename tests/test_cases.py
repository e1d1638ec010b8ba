"""Cases that went wrong elsewhere: what users of other tools reported, and the values that are right.

Each case that needs only the measures of frames is restated here with arithmetic. The collection beside the
checkout, where present, is read as well, so that a case added there is not forgotten.
"""

from __future__ import annotations

import json
from math import log2
from typing import NamedTuple

import polars as pl
import pytest

import polars_retrieval as pr
from polars_retrieval.errors import DataError, EmptyTargetError, ParameterError, RetrievalError

EXACT = {"rel": 0, "abs": 1e-12}
PRINTED = {"rel": 0, "abs": 5e-9}
"""The collection prints eight decimals."""

JUDGMENT_COLUMNS = ["query_id", "doc_id", "relevance"]
RUN_COLUMNS = ["query_id", "doc_id", "score"]


def table(queries, scores, relevance, docs=None):
    docs = docs or [f"d{row}" for row in range(len(scores))]
    columns = {"query_id": list(queries), "doc_id": docs, "score": list(scores), "relevance": list(relevance)}
    return pl.DataFrame(columns, schema_overrides={"score": pl.Float64})


def run_of(*rows):
    return pl.DataFrame(rows, schema=RUN_COLUMNS, orient="row", schema_overrides={"score": pl.Float64})


def qrels_of(*rows):
    return pl.DataFrame(rows, schema=JUDGMENT_COLUMNS, orient="row")


def measure(name, parameters=None):
    if not hasattr(pr, name):
        pytest.skip(f"`{name}` is no measure yet")
    return getattr(pr, name)(**parameters) if parameters else getattr(pr, name)


def by_query(run, name, parameters=None, **options):
    """Return the value of a measure by query, as a dict."""
    values = pr.per_query(run, measure(name, parameters), **options)
    return dict(zip(values["query_id"], values[:, -1], strict=True))


def mean(run, name, parameters=None, **options):
    return pr.evaluate(run, measure(name, parameters), **options).item()


class TestShortLists:
    """A query with fewer documents than k: divide by k, or by what there is."""

    run = table(["q1"] * 2 + ["q2"] * 4, [0.9, 0.8, 0.9, 0.8, 0.7, 0.6], [1, 1, 1, 0, 1, 0])

    def test_fixed_k(self):
        assert by_query(self.run, "precision", {"k": 3}) == pytest.approx({"q1": 2 / 3, "q2": 2 / 3}, **EXACT)

    def test_adaptive_k(self):
        parameters = {"k": 3, "adaptive_k": True}
        assert by_query(self.run, "precision", parameters) == pytest.approx({"q1": 2 / 2, "q2": 2 / 3}, **EXACT)
        assert mean(self.run, "precision", parameters) == pytest.approx((2 / 2 + 2 / 3) / 2, **EXACT)

    def test_curve(self):
        fixed, adaptive = (pr.pr_curve(self.run, adaptive_k=adaptive) for adaptive in (False, True))
        assert fixed["k"].to_list() == [1, 2, 3, 4]
        expected = [(1 + 1) / 2, (2 / 2 + 1 / 2) / 2, (2 / 3 + 2 / 3) / 2, (2 / 4 + 2 / 4) / 2]
        assert fixed["precision"].to_list() == pytest.approx(expected, **EXACT)
        expected = [(1 + 1) / 2, (2 / 2 + 1 / 2) / 2, (2 / 2 + 2 / 3) / 2, (2 / 2 + 2 / 4) / 2]
        assert adaptive["precision"].to_list() == pytest.approx(expected, **EXACT)
        expected = [(1 / 2 + 1 / 2) / 2, (1 + 1 / 2) / 2, 1, 1]
        assert fixed["recall"].to_list() == pytest.approx(expected, **EXACT)
        assert adaptive["recall"].to_list() == fixed["recall"].to_list()


class TestRelevantButNeverRetrieved:
    run = run_of(("q1", "a", 0.9), ("q1", "b", 0.8), ("q1", "c", 0.7))
    qrels = qrels_of(("q1", "a", 1), ("q1", "b", 0), ("q1", "c", 1), ("q1", "x", 1), ("q1", "y", 1))

    @pytest.mark.parametrize(
        ("name", "parameters", "expected"),
        [
            ("recall", {"k": 3}, 2 / 4),
            ("r_precision", {}, 2 / 4),
            ("precision", {"k": 3}, 2 / 3),
            ("f_measure", {"k": 3}, 2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4)),
            ("n_relevant", {}, 4),
            ("n_relevant_retrieved", {}, 2),
            ("n_retrieved", {}, 3),
            ("n_judged", {}, 5),
            ("average_precision", {}, (1 / 1 + 2 / 3) / 4),
            ("ndcg", {}, (1 + 1 / log2(4)) / sum(1 / log2(rank + 1) for rank in (1, 2, 3, 4))),
        ],
    )
    def test_denominators(self, name, parameters, expected):
        assert mean(self.run, name, parameters, qrels=self.qrels) == pytest.approx(expected, **EXACT)
        joined = pr.judge(self.run, self.qrels)
        assert mean(joined, name, parameters) == pytest.approx(expected, **EXACT)

    def test_curve(self):
        curve = pr.pr_curve(self.run, qrels=self.qrels)
        assert curve["recall"].to_list() == [1 / 4, 1 / 4, 2 / 4]
        assert curve["precision"].to_list() == pytest.approx([1 / 1, 1 / 2, 2 / 3], **EXACT)

    def test_expression_is_told_the_count(self):
        seen = self.run.join(self.qrels, on=["query_id", "doc_id"])
        recall = pl.col("relevance").retrieval.recall("score", k=3, n_relevant=4)
        assert seen.group_by("query_id").agg(recall)[:, -1].to_list() == [2 / 4]


class TestUnjudged:
    run = run_of(("q1", "u1", 0.9), ("q1", "a", 0.8), ("q1", "u2", 0.7), ("q1", "b", 0.6))
    qrels = qrels_of(("q1", "a", 2), ("q1", "b", 1), ("q1", "c", 1), ("q1", "d", 0), ("q1", "e", 3))

    @pytest.mark.parametrize(
        ("name", "parameters", "nonrelevant", "drop"),
        [
            ("r_precision", {}, 2 / 4, 2 / 4),
            ("precision", {"k": 2}, 1 / 2, 2 / 2),
            ("recall", {"k": 2}, 1 / 4, 2 / 4),
            ("hit_rate", {"k": 1}, 0, 1),
            ("n_retrieved", {}, 4, 2),
            ("reciprocal_rank", {}, 1 / 2, 1),
            ("average_precision", {}, (1 / 2 + 2 / 4) / 4, (1 / 1 + 2 / 2) / 4),
        ],
    )
    def test_keep_their_rank_or_leave(self, name, parameters, nonrelevant, drop):
        assert mean(self.run, name, parameters, qrels=self.qrels) == pytest.approx(nonrelevant, **EXACT)
        assert mean(self.run, name, parameters, qrels=self.qrels, unjudged="drop") == pytest.approx(drop, **EXACT)

    def test_a_query_of_unjudged_documents_is_not_missing(self):
        """It was retrieved, so it counts 0 even where missing queries are skipped."""
        run = table(["q1", "q1", "q2"], [2, 1, 1], [1, 0, None])
        options = {"unjudged": "drop", "missing_queries": "skip"}
        assert by_query(run, "recall", {"k": 1}, **options) == {"q1": 1, "q2": 0}
        assert mean(run, "recall", {"k": 1}, **options) == (1 + 0) / 2
        assert pr.pr_curve(run, **options)["recall"].to_list() == [(1 + 0) / 2, (1 + 0) / 2]
        assert mean(run, "n_retrieved", unjudged="drop", missing_queries="error") == (2 + 0) / 2

    def test_error(self):
        with pytest.raises(DataError, match="unjudged"):
            pr.evaluate(self.run, "recall@3", qrels=self.qrels, unjudged="error")

    def test_negative_judgments_stay_in_a_condensed_list(self):
        run = table(["Q1"] * 4, [4, 3, 2, 1], [-1, None, 0, 1], ["D1", "U1", "D4", "D2"])
        assert mean(run, "precision", {"k": 3}, unjudged="drop") == pytest.approx(1 / 3, **EXACT)
        assert mean(run, "precision", {"k": 2}, unjudged="drop") == 0
        assert mean(run, "precision", {"k": 2}, unjudged="drop", ignore_index=-1) == 1 / 2
        assert mean(run, "reciprocal_rank", unjudged="drop") == pytest.approx(1 / 3, **EXACT)


class TestTies:
    constant = table(["q"] * 4, [1, 1, 1, 1], [1, None, None, None], ["d1", "d2", "d3", "d4"])

    def test_constant_scorer(self):
        assert mean(self.constant, "precision", {"k": 1}) == 1 / 4
        assert mean(self.constant, "hit_rate", {"k": 2}) == pytest.approx(2 / 4, **EXACT)
        assert mean(self.constant, "precision", {"k": 1}, ties="doc_id") == 0
        assert mean(self.constant, "hit_rate", {"k": 1}, ties="doc_id") == 0
        assert mean(self.constant, "hit_rate", {"k": 4}, ties="doc_id") == 1
        assert mean(self.constant, "reciprocal_rank") == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4, **EXACT)

    @pytest.mark.parametrize(("other", "at_rank_1"), [("kiwi", 1), ("mango", 0)])
    def test_the_name_of_a_tied_document(self, other, at_rank_1):
        run = run_of(("7", "lime", 4.2), ("7", other, 4.2))
        qrels = qrels_of(("7", "kiwi", 0), ("7", "lime", 1), ("7", "mango", 0))
        assert mean(run, "precision", {"k": 1}, qrels=qrels, ties="doc_id") == at_rank_1
        assert mean(run, "precision", {"k": 1}, qrels=qrels, ties="stable") == 1
        assert mean(run, "precision", {"k": 1}, qrels=qrels) == 1 / 2

    def test_float64_scores_are_not_narrowed(self):
        run = table(["q"] * 2, [0.50000001, 0.50000002], [0, 1], ["b", "a"])
        for ties in ("expected", "doc_id", "stable", "pessimistic", "optimistic"):
            assert mean(run, "precision", {"k": 1}, ties=ties) == 1


class TestScores:
    def test_only_their_order_counts(self):
        run = table(["q"] * 4, [-0.1, -0.2, -0.3, -0.4], [1, 0, 1, 0])
        assert mean(run, "precision", {"k": 2}) == 1 / 2
        assert mean(run, "recall", {"k": 2}) == 1 / 2
        assert mean(run, "r_precision") == 1 / 2
        assert mean(run, "hit_rate", {"k": 1}) == 1
        curve = pr.pr_curve(run)
        assert curve["precision"].to_list() == pytest.approx([1, 1 / 2, 2 / 3, 2 / 4], **EXACT)
        assert curve["recall"].to_list() == [1 / 2, 1 / 2, 1, 1]

    def test_nan_is_refused(self):
        run = table(["q"] * 4, [float("nan"), 0.9, 0.8, 0.1], [0, 1, 1, 0])
        with pytest.raises(DataError, match=r"`score` has 1 NaN.*q"):
            pr.evaluate(run, "precision@2")

    def test_null_is_not_retrieved(self):
        run = table(["q1", "q1", "q1", "q2"], [0.2, None, 0.9, None], [0, 1, 1, 1])
        assert by_query(run, "precision", {"k": 1}) == {"q1": 1, "q2": 0}
        assert by_query(run, "recall", {"k": 1}) == {"q1": 1 / 2, "q2": 0}
        assert by_query(run, "r_precision") == {"q1": 1 / 2, "q2": 0}
        assert mean(run, "recall", {"k": 1}) == (1 / 2 + 0) / 2
        assert by_query(run, "n_retrieved") == {"q1": 2, "q2": 0}
        ranks = pr.rank(run)
        assert ranks["rank"].to_list() == [2, None, 1, None]


class TestMissingQueries:
    run = run_of(("q1", "a", 1.0))
    qrels = qrels_of(("q1", "a", 1), ("q2", "b", 1))

    def test_count_zero(self):
        assert by_query(self.run, "recall", {"k": 1}, qrels=self.qrels) == {"q1": 1, "q2": 0}
        assert mean(self.run, "recall", {"k": 1}, qrels=self.qrels) == 1 / 2

    def test_skip(self):
        assert mean(self.run, "recall", {"k": 1}, qrels=self.qrels, missing_queries="skip") == 1

    def test_error(self):
        with pytest.raises(DataError, match="q2"):
            pr.evaluate(self.run, "recall@1", qrels=self.qrels, missing_queries="error")

    def test_no_query_in_common(self):
        run, qrels = run_of(("t1", "a", 1.0)), qrels_of(("t1.1", "a", 1))
        with pytest.warns(pr.errors.RetrievalWarning, match="t1"):
            assert mean(run, "recall", {"k": 1}, qrels=qrels) == 0
        with pytest.warns(pr.errors.RetrievalWarning):
            assert mean(run, "recall", {"k": 1}, qrels=qrels, missing_queries="skip") is None


class TestEmptyInput:
    run = run_of(("q1", "a", 1.0)).clear()
    qrels = qrels_of(("q1", "a", 1))

    def test_nothing_at_all(self):
        values = pr.per_query(self.run, "recall@1", qrels=self.qrels.clear())
        assert values.shape == (0, 2)
        assert mean(self.run, "recall", {"k": 1}, qrels=self.qrels.clear()) is None

    def test_empty_run(self):
        assert by_query(self.run, "recall", {"k": 1}, qrels=self.qrels) == {"q1": 0}
        assert mean(self.run, "recall", {"k": 1}, qrels=self.qrels) == 0

    def test_curve_of_nothing(self):
        curve = pr.pr_curve(self.run.with_columns(relevance=1))
        assert curve.columns == ["k", "precision", "recall"]
        assert curve.height == 0


class TestQueriesWithoutRelevant:
    run = table(["q1", "q1", "q2", "q2"], [0.9, 0.5, 0.9, 0.5], [1, 0, 0, 0])

    @pytest.mark.parametrize(("action", "empty"), [("neg", 0), ("pos", 1)])
    def test_count(self, action, empty):
        for name, parameters in (("recall", {"k": 1}), ("precision", {"k": 1}), ("r_precision", {})):
            expected = {"q1": 1, "q2": empty}
            assert by_query(self.run, name, parameters, empty_target_action=action) == expected
            assert mean(self.run, name, parameters, empty_target_action=action) == (1 + empty) / 2
        curve = pr.pr_curve(self.run, empty_target_action=action)
        assert curve["precision"].to_list() == [(1 + empty) / 2, (1 / 2 + empty) / 2]
        assert curve["recall"].to_list() == [(1 + empty) / 2, (1 + empty) / 2]

    def test_skip(self):
        expected = {"q1": 1, "q2": None}
        assert by_query(self.run, "precision", {"k": 1}, empty_target_action="skip") == expected
        assert mean(self.run, "precision", {"k": 1}, empty_target_action="skip") == 1
        curve = pr.pr_curve(self.run, empty_target_action="skip")
        assert curve["precision"].to_list() == [1, 1 / 2]
        assert curve["recall"].to_list() == [1, 1]

    def test_all_skipped(self):
        empty = self.run.filter(pl.col("query_id") == "q2")
        assert mean(empty, "recall", {"k": 1}, empty_target_action="skip") is None
        curve = pr.pr_curve(empty, empty_target_action="skip")
        assert curve["recall"].to_list() == [None, None]

    def test_error(self):
        for function in (pr.evaluate, pr.per_query):
            with pytest.raises(EmptyTargetError, match="q2"):
                function(self.run, "recall@1", empty_target_action="error")
        with pytest.raises(EmptyTargetError, match="q2"):
            pr.pr_curve(self.run, empty_target_action="error")

    def test_counts_count(self):
        assert by_query(self.run, "n_relevant", empty_target_action="pos") == {"q1": 1, "q2": 0}
        assert by_query(self.run, "n_retrieved", empty_target_action="skip") == {"q1": 2, "q2": 2}


class TestDuplicates:
    run = run_of(("q", "pg4", 0.9), ("q", "pg9", 0.8), ("q", "pg4", 0.7), ("q", "pg2", 0.6))
    qrels = qrels_of(("q", "pg4", 1), ("q", "pg5", 1))

    def test_in_the_run(self):
        with pytest.raises(DataError, match=r"(?s)pg4.*\bq\b|\bq\b.*pg4"):
            pr.evaluate(self.run, "recall@3", qrels=self.qrels)

    def test_in_the_judgments(self):
        with pytest.raises(DataError, match="pg5"):
            pr.evaluate(self.run.unique("doc_id"), "recall@3", qrels=pl.concat([self.qrels, self.qrels.tail(1)]))

    def test_in_one_table(self):
        padded = table(["q0", "q0", "q1", "q0"], [0.9, 0.8, 0.7, 0.9], [0, 1, 1, 0], ["a", "b", "c", "a"])
        with pytest.raises(DataError, match=r"(?s)\ba\b.*q0|q0.*\ba\b"):
            pr.evaluate(padded, "precision@2")
        assert by_query(padded.head(3), "precision", {"k": 2}) == {"q0": 1 / 2, "q1": 1 / 2}

    def test_unknown_without_a_document_column(self):
        padded = table(["q0"] * 3, [0.9, 0.8, 0.9], [0, 1, 0], ["a", "b", "a"]).drop("doc_id")
        assert mean(padded, "precision", {"k": 2}) == 0

    def test_the_same_document_in_two_queries_is_fine(self):
        run = table(["q0", "q1"], [0.9, 0.8], [0, 1], ["a", "a"])
        assert mean(run, "precision", {"k": 1}) == 1 / 2


class TestGrades:
    run = run_of(("q", "a", 0.9), ("q", "b", 0.8), ("q", "c", 0.7), ("q", "d", 0.6))
    qrels = qrels_of(("q", "a", 1), ("q", "b", 2), ("q", "c", 0), ("q", "d", 3), ("q", "e", 1))

    @pytest.mark.parametrize(
        ("name", "parameters", "level_1", "level_2"),
        [
            ("precision", {"k": 2}, 2 / 2, 1 / 2),
            ("recall", {"k": 2}, 2 / 4, 1 / 2),
            ("r_precision", {}, 3 / 4, 1 / 2),
            ("n_relevant", {}, 4, 2),
            ("reciprocal_rank", {}, 1, 1 / 2),
            ("average_precision", {}, (1 / 1 + 2 / 2 + 3 / 4) / 4, (1 / 2 + 2 / 4) / 2),
        ],
    )
    def test_min_relevance(self, name, parameters, level_1, level_2):
        assert mean(self.run, name, parameters, qrels=self.qrels) == pytest.approx(level_1, **EXACT)
        options = {"qrels": self.qrels, "min_relevance": 2}
        assert mean(self.run, name, parameters, **options) == pytest.approx(level_2, **EXACT)

    def test_grades_may_be_real(self):
        run = table(["q1"] * 3, [0.93, 0.61, 0.27], [0.0, 0.35, 1.8], ["o", "m", "n"])
        assert mean(run, "precision", {"k": 2}) == 0
        assert mean(run, "precision", {"k": 3}) == pytest.approx(1 / 3, **EXACT)
        assert mean(run, "precision", {"k": 2}, min_relevance=0.35) == 1 / 2
        assert mean(run, "recall", {"k": 2}, min_relevance=0.3) == 1 / 2

    def test_ignore_index_comes_first(self):
        run = table(["q", "q", "q", "r"], [0.9, 0.8, 0.7, 0.5], [-100, 0, 1, -100])
        assert by_query(run, "precision", {"k": 2}, ignore_index=-100) == {"q": 1 / 2}
        assert by_query(run, "precision", {"k": 2}) == {"q": 0, "r": 0}


@pytest.mark.parametrize("k", [-1, 0, 1.5, True, "3"])
class TestCutoffs:
    """Refused when the measure is built, not when it is used."""

    @pytest.mark.parametrize("name", ["precision", "recall", "f_measure", "hit_rate"])
    def test_of_a_measure(self, name, k):
        with pytest.raises(ParameterError, match=r"`?k`?"):
            getattr(pr, name)(k=k)
        with pytest.raises(ParameterError, match=r"`?k`?"):
            getattr(pr, name) @ k

    def test_of_the_curve(self, k):
        with pytest.raises(ParameterError, match="max_k"):
            pr.pr_curve(table(["q"], [1], [1]), max_k=k)


class TestQueryIds:
    scores, relevance = [0.25, 0.75, 0.45, 0.95, 0.15, 0.35], [0, 1, 0, 1, 1, 0]

    @pytest.mark.parametrize(
        "ids", [(-7, 123456789, 4611686018427400249), (-(2**63), 0, 2**63 - 1), ("A", "B", "C"), (0, 1, 2)]
    )
    def test_huge_and_sparse(self, ids):
        a, b, c = ids
        run = table([a, a, b, b, c, c], self.scores, self.relevance)
        assert by_query(run, "recall", {"k": 1}) == {a: 1, b: 1, c: 0}
        assert mean(run, "recall", {"k": 1}) == pytest.approx(2 / 3, **EXACT)

    @pytest.mark.parametrize("queries", [pl.Int64, pl.UInt64, pl.Int8])
    def test_widths_of_integers_match(self, queries):
        run = run_of((1, 10, 0.5), (1, 11, 0.9), (2, 20, 0.3)).cast({"query_id": pl.Int32, "doc_id": pl.Int32})
        qrels = qrels_of((1, 10, 1), (1, 11, 0), (2, 20, 1)).cast({"query_id": queries, "doc_id": queries})
        assert by_query(run, "precision", {"k": 1}, qrels=qrels) == {1: 0, 2: 1}

    @pytest.mark.parametrize("queries", [pl.Categorical(), pl.Enum(["1", "2"])])
    def test_kinds_of_text_match(self, queries):
        run = run_of(("1", "10", 0.5), ("1", "11", 0.9), ("2", "20", 0.3))
        qrels = qrels_of(("1", "10", 1), ("1", "11", 0), ("2", "20", 1)).cast({"query_id": queries})
        assert by_query(run, "precision", {"k": 1}, qrels=qrels) == {"1": 0, "2": 1}

    def test_integers_do_not_match_text(self):
        run = run_of((1, "10", 0.5)).cast({"query_id": pl.Int32})
        with pytest.raises(RetrievalError, match=r"(?s)query_id.*Int32.*String|query_id.*String.*Int32"):
            pr.evaluate(run, "recall@1", qrels=qrels_of(("1", "10", 1)))


def test_many_queries():
    n = 50_000
    hits = [1 if place == query % 5 else 0 for query in range(n) for place in range(5)]
    ids = [query for query in range(n) for _ in range(5)]
    run = table(ids, [0.9, 0.8, 0.7, 0.6, 0.5] * n, hits, ["d0", "d1", "d2", "d3", "d4"] * n)
    values = pr.evaluate(run, [pr.precision @ 1, pr.r_precision, pr.hit_rate @ 3]).row(0)
    assert values == pytest.approx((1 / 5, 1 / 5, 3 / 5), **EXACT)
    curve = pr.pr_curve(run)
    assert curve["recall"].to_list() == pytest.approx([1 / 5, 2 / 5, 3 / 5, 4 / 5, 5 / 5], **EXACT)
    assert curve["precision"].to_list() == pytest.approx([1 / 5] * 5, **EXACT)


class TestAggregation:
    run = table(["q0"] * 3 + ["q1"] * 3 + ["q2"] * 2, [3, 2, 1, 3, 2, 1, 2, 1], [1, 1, 0, 0, 1, 1, 0, 1])
    """precision@2 is 1, 1/2, 1/2; recall@2 1, 1/2, 1."""

    @pytest.mark.parametrize(
        ("aggregation", "precision", "recall"),
        [
            ("mean", (1 + 1 / 2 + 1 / 2) / 3, (1 + 1 / 2 + 1) / 3),
            ("median", 1 / 2, 1),
            ("min", 1 / 2, 1 / 2),
            ("max", 1, 1),
            (lambda value: value.sum(), 1 + 1 / 2 + 1 / 2, 1 + 1 / 2 + 1),
        ],
    )
    def test_of_a_function_or_name(self, aggregation, precision, recall):
        values = pr.evaluate(self.run, ["precision@2", "recall@2"], aggregation=aggregation).row(0)
        assert values == pytest.approx((precision, recall), **EXACT)
        curve = pr.pr_curve(self.run, aggregation=aggregation).row(1)
        assert curve == pytest.approx((2, precision, recall), **EXACT)

    def test_median_of_two_is_the_lower(self):
        run = self.run.filter(pl.col("query_id") != "q2")
        assert mean(run, "precision", {"k": 2}, aggregation="median") == 1 / 2
        curve = pr.pr_curve(run, aggregation="median")
        assert curve["recall"].to_list() == [0, 1 / 2, 1]


def test_curve_axes():
    run = table(["q"] * 6, [1.0, 0.9, 0.8, 0.7, 0.6, 0.5], [1, 1, 0, 1, 0, 0])
    curve = pr.pr_curve(run)
    assert curve["k"].to_list() == [1, 2, 3, 4, 5, 6]
    assert curve["precision"].to_list() == pytest.approx([1, 2 / 2, 2 / 3, 3 / 4, 3 / 5, 3 / 6], **EXACT)
    assert curve["recall"].to_list() == pytest.approx([1 / 3, 2 / 3, 2 / 3, 1, 1, 1], **EXACT)


# --- the collection beside the checkout -----------------------------------------------------------


class Reading(NamedTuple):
    """Where a case says what it expects, and how to ask us for it."""

    path: tuple[object, ...]
    name: str
    parameters: dict[str, object] = {}  # noqa: RUF012
    options: dict[str, object] = {}  # noqa: RUF012
    query: object = None
    run: str = "run"


def _by_query(path, *queries, name, parameters=None):
    return [Reading((path, query), name, parameters or {}, query=query) for query in queries]


DOC_ID = {"ties": "doc_id"}
LEVEL_2 = {"min_relevance": 2}
READINGS = {
    "pk-short-list": [
        *_by_query("precision@3 (fixed k)", "q1", "q2", name="precision", parameters={"k": 3}),
        Reading(("precision@3 (fixed k)", "mean"), "precision", {"k": 3}),
        Reading(("precision@3 (adaptive_k)", "q1"), "precision", {"k": 3, "adaptive_k": True}, query="q1"),
        Reading(("precision@3 (adaptive_k)", "mean"), "precision", {"k": 3, "adaptive_k": True}),
    ],
    "recall-counts-unretrieved": [
        Reading(("recall@3",), "recall", {"k": 3}),
        Reading(("average_precision",), "average_precision"),
        Reading(("r_precision",), "r_precision"),
        Reading(("precision@3",), "precision", {"k": 3}),
        Reading(("ndcg",), "ndcg"),
    ],
    "ap-at-k-denominator": [
        Reading(("AP@3 / R (trec_eval map_cut_3, ranx map@3)",), "average_precision", {"k": 3}),
        Reading(("AP@3 / min(R,k)",), "average_precision", {"k": 3, "denominator": "min"}),
        Reading(("AP@3 / hits in top k (torchmetrics)",), "average_precision", {"k": 3, "denominator": "hits"}),
        Reading(("AP (no cut, all agree)",), "average_precision"),
    ],
    "ndcg-short-list": [
        Reading(("ndcg@5",), "ndcg", {"k": 5}),
        Reading(("recall@5",), "recall", {"k": 5}),
        Reading(("precision@5",), "precision", {"k": 5}),
        Reading(("precision@5 (adaptive)",), "precision", {"k": 5, "adaptive_k": True}),
    ],
    "unjudged-docs-in-run": [
        Reading((name,), name) for name in ("r_precision", "ndcg", "average_precision", "reciprocal_rank")
    ],
    "constant-scorer": [
        Reading(("doc id descending", "mrr"), "reciprocal_rank", {}, DOC_ID),
        Reading(("doc id descending", "ndcg@10"), "ndcg", {"k": 10}, DOC_ID),
        Reading(("doc id descending", "precision@1"), "precision", {"k": 1}, DOC_ID),
        Reading(("doc id descending", "hit_rate@1"), "hit_rate", {"k": 1}, DOC_ID),
        Reading(("expected over orders", "mrr"), "reciprocal_rank"),
        Reading(("expected over orders", "ndcg"), "ndcg"),
        Reading(("expected over orders", "precision@1"), "precision", {"k": 1}),
    ],
    "tie-docno-rename": [
        Reading(("trec rule (doc id descending)", "run a: ndcg"), "ndcg", {}, DOC_ID),
        Reading(("trec rule (doc id descending)", "run a: rr"), "reciprocal_rank", {}, DOC_ID),
        Reading(("trec rule (doc id descending)", "run b: ndcg"), "ndcg", {}, DOC_ID, run="run_b"),
        Reading(("trec rule (doc id descending)", "run b: rr"), "reciprocal_rank", {}, DOC_ID, run="run_b"),
        Reading(("input/rank order", "run a: ndcg"), "ndcg", {}, {"ties": "stable"}),
        Reading(("input/rank order", "run b: ndcg"), "ndcg", {}, {"ties": "stable"}, run="run_b"),
        Reading(("expected over orders", "ndcg (both)"), "ndcg"),
        Reading(("expected over orders", "ndcg (both)"), "ndcg", run="run_b"),
        Reading(("expected over orders", "rr (both)"), "reciprocal_rank"),
    ],
    "tie-ndcg-average": [
        Reading(("tie-averaged ndcg",), "ndcg"),
        Reading(("tie-averaged ndcg@2",), "ndcg", {"k": 2}),
        Reading(("doc id descending ndcg",), "ndcg", {}, DOC_ID),
        Reading(("row order ndcg",), "ndcg", {}, {"ties": "stable"}),
    ],
    "float32-makes-ties": [Reading(("float64 ranking: rr",), "reciprocal_rank")],
    "scores-not-positive": [
        Reading(("precision@2",), "precision", {"k": 2}),
        Reading(("recall@2",), "recall", {"k": 2}),
        Reading(("ap",), "average_precision"),
        Reading(("rr",), "reciprocal_rank"),
        Reading(("r_precision",), "r_precision"),
        Reading(("hit_rate@1",), "hit_rate", {"k": 1}),
        Reading(("fall_out@2",), "fall_out", {"k": 2}),
        Reading(("ndcg",), "ndcg"),
        *[Reading(("pr_curve precision", k - 1), "precision", {"k": k}) for k in (1, 2, 3, 4)],
        *[Reading(("pr_curve recall", k - 1), "recall", {"k": k}) for k in (1, 2, 3, 4)],
    ],
    "null-scores": [
        Reading((label, query), name, parameters, query=None if query == "mean" else query)
        for label, name, parameters in (
            ("precision@1", "precision", {"k": 1}),
            ("recall@1", "recall", {"k": 1}),
            ("rr", "reciprocal_rank", {}),
            ("ap", "average_precision", {}),
            ("r_precision", "r_precision", {}),
        )
        for query in ("q1", "q2", "mean")
    ],
    "query-missing-from-run": [
        Reading(("all judged queries (complete)", "q2"), "average_precision", query="q2"),
        Reading(("all judged queries (complete)", "mean"), "average_precision"),
        Reading(("intersection only", "mean"), "average_precision", {}, {"missing_queries": "skip"}),
    ],
    "query-without-relevant": [
        Reading((action, label), name, parameters, {"empty_target_action": action})
        for label, name, parameters in (
            ("mrr", "reciprocal_rank", {}),
            ("recall@1", "recall", {"k": 1}),
            ("precision@1", "precision", {"k": 1}),
            ("r_precision", "r_precision", {}),
        )
        for action in ("neg", "pos", "skip")
    ],
    "ddp-padding-duplicates": [
        *_by_query("rr", "q0", "q1", name="reciprocal_rank"),
        *_by_query("precision@2", "q0", "q1", name="precision", parameters={"k": 2}),
    ],
    "relevance-threshold": [
        Reading((f"level {level}", label), name, parameters, {"min_relevance": level})
        for label, name, parameters in (
            ("ap", "average_precision", {}),
            ("rr", "reciprocal_rank", {}),
            ("precision@2", "precision", {"k": 2}),
            ("recall@2", "recall", {"k": 2}),
            ("r_precision", "r_precision", {}),
        )
        for level in (1, 2)
    ]
    + [
        Reading(("ndcg (any level, linear gain)",), "ndcg"),
        Reading(("ndcg (any level, linear gain)",), "ndcg", {}, LEVEL_2),
    ],
    "judged-only": [
        Reading(("normal", "rr"), "reciprocal_rank"),
        Reading(("judged only, negative labels kept", "rr"), "reciprocal_rank", {}, {"unjudged": "drop"}),
        Reading(
            ("judged only, negative labels removed (trec_eval -J)", "rr"),
            "reciprocal_rank",
            {},
            {"unjudged": "drop", "ignore_index": -1},
        ),
        Reading(("judged@4",), "judged", {"k": 4}),
    ],
    "float-relevance": [
        Reading(("ndcg linear gain",), "ndcg"),
        Reading(("ndcg exponential gain (2^rel-1)",), "ndcg", {"gain": "exponential"}),
        Reading(("binary at >= 1.0: ap",), "average_precision", {}, {"min_relevance": 1.0}),
        Reading(("binary at > 0: ap",), "average_precision", {}, {"min_relevance": 1e-9}),
    ],
    "two-dim-input": [
        Reading(("per row", 0), "ndcg", query="q0"),
        Reading(("per row", 1), "ndcg", query="q1"),
        Reading(("mean",), "ndcg"),
    ],
    "huge-sparse-query-ids": [
        Reading(("map",), "average_precision"),
        Reading(("mrr",), "reciprocal_rank"),
        Reading(("recall@1",), "recall", {"k": 1}),
    ],
    "state-memory-and-reset": [
        Reading(("after epoch 1: mrr",), "reciprocal_rank", query="e1"),
        Reading(("after reset and epoch 2: mrr",), "reciprocal_rank", query="e2"),
        Reading(("without reset (both): mrr",), "reciprocal_rank"),
    ],
    "id-dtype-mismatch": [
        Reading(("Int32 vs Int64 / UInt64", "mrr", "1"), "reciprocal_rank", query="1"),
        Reading(("Int32 vs Int64 / UInt64", "mrr", "mean"), "reciprocal_rank"),
    ],
    "ddp-rank-without-data": [
        Reading(("recall@2",), "recall", {"k": 2}),
        Reading(("mrr",), "reciprocal_rank"),
        Reading(("precision@2",), "precision", {"k": 2}),
        *[Reading(("curve", name, k - 1), name, {"k": k}) for name in ("precision", "recall") for k in (1, 2, 3)],
    ],
    "custom-aggregation": [
        *[Reading(("per query (q0,q1,q2)", i), "ndcg", query=f"q{i}") for i in range(3)],
        *[Reading((name,), "ndcg", {}, {"aggregation": name}) for name in ("mean", "median", "min", "max")],
    ],
    "prcurve-axes": [Reading((name, k - 1), name, {"k": k}) for name in ("precision", "recall") for k in range(1, 7)],
    "trec-file-whitespace": [
        Reading(("rr",), "reciprocal_rank"),
        Reading(("ap",), "average_precision"),
        Reading(("precision@1",), "precision", {"k": 1}),
    ],
    "compressed-files-and-reuse": [
        Reading(("rr@10",), "reciprocal_rank", {"k": 10}),
        Reading(("ndcg@10",), "ndcg", {"k": 10}),
        Reading(("recall@1000",), "recall", {"k": 1000}),
    ],
}

ELSEWHERE = {
    "nan-scores": "TestScores.test_nan_is_refused",
    "no-query-overlap": "TestMissingQueries.test_no_query_in_common",
    "empty-inputs": "TestEmptyInput",
    "duplicate-docs-in-run": "TestDuplicates",
    "topk-validation": "TestCutoffs",
    "many-queries-speed": "test_many_queries",
    "paired-significance": "about comparing systems, which takes values that are there already",
}
"""Cases without a value to look up, and where they are tested."""


@pytest.fixture(scope="session")
def cases(shared):
    lines = (shared / "cases" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    return {case["id"]: case for case in map(json.loads, lines)}


def test_no_case_is_forgotten(cases):
    assert set(cases) == set(READINGS) | set(ELSEWHERE)


def columns_of(case):
    queries = case["input"].get("query_id_int64", case["input"]["query"])
    return table(queries, case["input"]["score"], case["input"]["relevance"], case["input"]["doc"])


@pytest.mark.shared
@pytest.mark.parametrize(
    ("case_id", "reading"),
    [
        pytest.param(case, reading, id=f"{case}-{'-'.join(map(str, reading.path))}-{number}")
        for case, readings in READINGS.items()
        for number, reading in enumerate(readings)
    ],
)
def test_collected(cases, case_id, reading):
    case = cases[case_id]
    expected = case["expected"]
    for key in reading.path:
        expected = expected[key]
    run, options = columns_of(case), dict(reading.options)
    if "qrels" in case["input"]:
        run = run_of(*case["input"][reading.run])
        options["qrels"] = qrels_of(*case["input"]["qrels"])
    if reading.query is None:
        value = mean(run, reading.name, reading.parameters, **options)
    else:
        value = by_query(run, reading.name, reading.parameters, **options)[reading.query]
    assert value == pytest.approx(expected, **PRINTED)
