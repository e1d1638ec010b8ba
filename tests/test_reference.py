"""The slow reference against the worked values of the definitions and arithmetic done by hand."""

from __future__ import annotations

from math import comb, log2

import pytest
from reference import (
    MEASURES,
    TIE_RULES,
    Document,
    Ranking,
    Row,
    aggregate,
    curve,
    evaluate,
    orders,
    per_query,
    pr_curve,
    recall_at_precision,
    tie_groups,
    value,
)

EXACT = {"rel": 0, "abs": 1e-12}


def documents(scores, relevance):
    return [Document(f"d{row}", *pair) for row, pair in enumerate(zip(scores, relevance, strict=True), start=1)]


def ranked(*relevance):
    """Documents with falling scores."""
    return documents([-float(row) for row in range(len(relevance))], relevance)


def rows(queries, scores, relevance):
    return [
        Row(query, f"d{row}", score, grade)
        for row, (query, score, grade) in enumerate(zip(queries, scores, relevance, strict=True))
    ]


class TestWorkedValues:
    def test_1_curve(self):
        run = rows([0, 0, 0, 0, 1, 1, 1], [0.4, 0.01, 0.5, 0.6, 0.2, 0.3, 0.5], [1, 0, 0, 1, 1, 0, 1])
        ks, precision, recall = zip(*pr_curve(run, max_k=4), strict=True)
        assert ks == (1, 2, 3, 4)
        assert precision == pytest.approx([(1 + 1) / 2, (1 / 2 + 1 / 2) / 2, 2 / 3, 1 / 2], **EXACT)
        assert recall == pytest.approx([(1 / 2 + 1 / 2) / 2, (1 / 2 + 1 / 2) / 2, 1, 1], **EXACT)

    def test_2_curve_of_one_query(self):
        precision, recall = curve(documents([0.2, 0.3, 0.5], [1, 0, 1]), 2)
        assert precision == [1, 1 / 2]
        assert recall == [1 / 2, 1 / 2]

    def test_3_r_precision_and_recall(self):
        run = rows([0, 0, 0, 1, 1, 1, 1], [0.2, 0.3, 0.5, 0.1, 0.3, 0.5, 0.2], [0, 0, 1, 0, 1, 0, 1])
        assert evaluate(run, "r_precision") == (1 / 1 + 1 / 2) / 2
        assert evaluate(run, "recall", parameters={"k": 2}) == (1 / 1 + 1 / 2) / 2

    def test_4_one_query(self):
        query = documents([0.2, 0.3, 0.5], [1, 0, 1])
        assert value("r_precision", query) == 1 / 2
        assert value("recall", query, k=2) == 1 / 2

    def test_5_relevant_documents_not_retrieved(self):
        query = [*ranked(0, 1, 0, 0, 1), Document("d11", None, 1), Document("d15", None, 1)]
        assert value("precision", query, k=5) == 2 / 5
        assert value("recall", query, k=5) == 2 / 4

    def test_6_twelve_relevant(self):
        query = ranked(1, 1, 1, *[0] * 7) + [Document(f"x{i}", None, 1) for i in range(9)]
        assert value("precision", query, k=10) == 3 / 10
        assert value("recall", query, k=10) == 3 / 12

    @pytest.mark.parametrize(
        ("ties", "precision"), [("expected", 1 / 3), ("stable", 1), ("pessimistic", 0), ("optimistic", 1)]
    )
    def test_7_equal_scores(self, ties, precision):
        query = documents([1, 1, 1], [1, 0, 0])
        assert value("precision", query, k=1, ties=ties) == pytest.approx(precision, **EXACT)

    def test_7_reciprocal_rank(self):
        query = documents([1, 1, 1], [1, 0, 0])
        assert value("reciprocal_rank", query) == pytest.approx(11 / 18, **EXACT)  # (1 + 1/2 + 1/3) / 3

    def test_8_negative_scores(self):
        query = documents([-0.1, -0.5, -0.9], [1, 0, 1])
        assert value("precision", query, k=1) == 1
        assert value("recall", query, k=1) == 1 / 2
        assert value("reciprocal_rank", query) == 1
        assert value("average_precision", query) == pytest.approx((1 / 1 + 2 / 3) / 2, **EXACT)


FIVE = ranked(0, 1, 1, 0, 1)
"""Hits at ranks 2, 3 and 5 of five."""
GRADED = [*ranked(1, None, 3, 0), Document("never", None, 2), Document("nobody", None, None)]


@pytest.mark.parametrize(
    ("name", "parameters", "query", "expected"),
    [
        ("n_retrieved", {}, GRADED, 4),
        ("n_relevant", {}, GRADED, 3),
        ("n_relevant_retrieved", {}, GRADED, 2),
        ("n_judged", {}, GRADED, 4),
        ("precision", {}, FIVE, 3 / 5),
        ("precision", {"k": 3}, FIVE, 2 / 3),
        ("precision", {"k": 10}, FIVE, 3 / 10),
        ("precision", {"k": 10, "adaptive_k": True}, FIVE, 3 / 5),
        ("precision", {}, [Document("a", None, 1)], 0),
        ("recall", {"k": 3}, FIVE, 2 / 3),
        ("recall", {"k": 1}, ranked(1, 1, 1), 1 / 3),
        ("recall", {"k": 1, "capped": True}, ranked(1, 1, 1), 1 / 1),
        ("recall", {"capped": True}, ranked(1, 1, 1), 1),
        ("recall", {}, GRADED, 2 / 3),
        ("r_precision", {}, FIVE, 2 / 3),
        ("f_measure", {"k": 2}, FIVE, 2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3)),
        ("f_measure", {"k": 2, "beta": 2.0}, FIVE, 5 * (1 / 2) * (1 / 3) / (4 * (1 / 2) + 1 / 3)),
        ("f_measure", {"k": 1}, FIVE, 0),
        ("hit_rate", {"k": 1}, FIVE, 0),
        ("hit_rate", {"k": 2}, FIVE, 1),
        ("fall_out", {"k": 4}, FIVE, 2 / 2),
        ("fall_out", {"k": 3}, FIVE, 1 / 2),
        ("fall_out", {"k": 2}, GRADED, 1 / 2),
        ("reciprocal_rank", {}, FIVE, 1 / 2),
        ("reciprocal_rank", {"k": 1}, FIVE, 0),
        ("average_precision", {}, FIVE, (1 / 2 + 2 / 3 + 3 / 5) / 3),
        ("average_precision", {"k": 3}, FIVE, (1 / 2 + 2 / 3) / 3),
        ("average_precision", {"k": 2, "denominator": "min"}, FIVE, (1 / 2) / 2),
        ("average_precision", {"k": 3, "denominator": "hits"}, FIVE, (1 / 2 + 2 / 3) / 2),
        ("dcg", {}, GRADED, 1 / log2(2) + 3 / log2(4)),
        ("dcg", {"gain": "exponential"}, GRADED, 1 / log2(2) + (2**3 - 1) / log2(4)),
        ("dcg", {}, ranked(-2, 1), 1 / log2(3)),
        ("dcg", {}, ranked(0.5, True), 0.5 + 1 / log2(3)),
        ("ndcg", {}, GRADED, (1 + 3 / log2(4)) / (3 + 2 / log2(3) + 1 / log2(4))),
        ("ndcg", {"k": 2}, GRADED, 1 / (3 + 2 / log2(3))),
        ("auroc", {}, FIVE, (1 + 1 + 0) / (3 * 2)),
        ("auroc", {}, documents([1.0, 1.0], [1, 0]), 1 / 2),
        ("auroc", {}, ranked(1, 1), 0),
        ("rbp", {"persistence": 0.5}, FIVE, 0.5 * (0.5**1 + 0.5**2 + 0.5**4)),
        ("err", {}, ranked(1, 2), (1 / 4) / 1 + (3 / 4) * (3 / 4) / 2),
        ("err", {"max_grade": 3}, ranked(1, 2), (1 / 8) / 1 + (7 / 8) * (3 / 8) / 2),
        ("bpref", {}, FIVE, ((1 - 1 / 2) + (1 - 1 / 2) + (1 - 2 / 2)) / 3),
        ("bpref", {}, ranked(1, None, 1), 1),
        ("bpref", {}, ranked(-1, 0, 1), 1 - 1 / 1),
        ("bpref", {}, ranked(-1, 1, 0), 1),
        ("bpref", {}, ranked(0, 0, 0, 1), 1 - 1 / 1),
        ("judged", {"k": 3}, GRADED, 2 / 3),
        ("judged", {"k": 10}, GRADED, 3 / 4),
        ("interpolated_precision", {"recall": 0.0}, FIVE, 2 / 3),
        ("interpolated_precision", {"recall": 0.7}, FIVE, 3 / 5),
        ("interpolated_precision", {"recall": 1.0}, FIVE, 3 / 5),
        ("interpolated_precision", {"recall": 1.0}, GRADED, 0),
        ("interpolated_precision", {"recall": 0.1}, ranked(0, *[1] * 10), 10 / 11),
    ],
)
def test_by_hand(name, parameters, query, expected):
    assert value(name, query, **parameters) == pytest.approx(expected, **EXACT)


def test_every_measure_is_done_by_hand():
    marks = [mark for mark in test_by_hand.pytestmark if mark.name == "parametrize"]
    assert {case[0] for mark in marks for case in mark.args[1]} == set(MEASURES)


class TestTies:
    """Three documents tied behind one: relevance 0 | 1 1 0."""

    query = documents([2, 1, 1, 1], [0, 1, 1, 0])

    def test_groups(self):
        scores = [0.0, -0.0, float("inf"), -float("inf"), None]
        groups = tie_groups(documents(scores, [0] * 5))
        assert [[d.doc for d in group] for group in groups] == [["d3"], ["d1", "d2"], ["d4"]]

    def test_all_orders(self):
        assert len(list(orders(self.query, "expected"))) == 3 * 2 * 1
        assert [len(list(orders(self.query, ties))) for ties in TIE_RULES[1:]] == [1] * 4

    @pytest.mark.parametrize(
        ("ties", "order"),
        [
            ("stable", ["d1", "d2", "d3", "d4"]),
            ("doc_id", ["d1", "d4", "d3", "d2"]),
            ("pessimistic", ["d1", "d4", "d2", "d3"]),
            ("optimistic", ["d1", "d2", "d3", "d4"]),
        ],
    )
    def test_one_order(self, ties, order):
        assert [document.doc for document in next(orders(self.query, ties))] == order

    def test_document_ids_compare_as_bytes(self):
        tied = [Document(doc, 1.0, 0) for doc in ("10", "9", "a", "B", "é", "\uffff", "\U0001f600")]
        [order] = orders(tied, "doc_id")
        assert [d.doc for d in order] == ["\U0001f600", "\uffff", "é", "a", "B", "9", "10"]

    def test_expected_hits(self):
        """Each of the two is second with probability 1/3, and among the first three with 2/3."""
        assert value("precision", self.query, k=2) == pytest.approx((2 * 1 / 3) / 2, **EXACT)
        assert value("recall", self.query, k=3) == pytest.approx((2 * 2 / 3) / 2, **EXACT)

    def test_f_is_the_harmonic_mean_of_expectations(self):
        precision, recall = (2 * 1 / 3) / 2, (2 * 1 / 3) / 2
        expected = 2 * precision * recall / (precision + recall)
        assert value("f_measure", self.query, k=2) == pytest.approx(expected, **EXACT)

    def test_first_hit(self):
        """It stands at place j of the group with probability C(tied - j, r - 1) / C(tied, r)."""
        probability = [comb(3 - place, 1) / comb(3, 2) for place in (1, 2, 3)]
        assert probability == [2 / 3, 1 / 3, 0]
        expected = probability[0] / 2 + probability[1] / 3
        assert value("reciprocal_rank", self.query) == pytest.approx(expected, **EXACT)
        assert value("hit_rate", self.query, k=2) == pytest.approx(probability[0], **EXACT)

    def test_average_precision(self):
        """Given that a hit stands at place j, 1 + (j - 1)(r - 1)/(tied - 1) hits are expected so far."""
        expected = sum((1 + (place - 1) * (2 - 1) / (3 - 1)) / (1 + place) for place in (1, 2, 3)) / 3
        assert value("average_precision", self.query) == pytest.approx(expected, **EXACT)

    def test_discount(self):
        expected = 2 * (1 / log2(3) + 1 / log2(4) + 1 / log2(5)) / 3
        assert value("dcg", self.query) == pytest.approx(expected, **EXACT)


class TestQueries:
    run = (
        Row("a", "x", 2.0, 1),
        Row("b", "x", 1.0, 0),
        Row("a", "y", 1.0, None),
        Row("a", "z", 0.5, 2),
        Row("c", "x", None, 1),
    )
    """a: ranks 1 and 3 relevant, rank 2 unjudged. b: nothing relevant. c: nothing retrieved."""

    def precision_at_2(self, **options):
        return per_query(self.run, "precision", parameters={"k": 2}, **options)

    def test_in_order_of_first_appearance(self):
        assert list(self.precision_at_2().items()) == [("a", 1 / 2), ("b", 0), ("c", 0)]

    @pytest.mark.parametrize(("action", "value"), [("neg", 0.0), ("pos", 1.0), ("skip", None)])
    def test_empty_target_action(self, action, value):
        assert self.precision_at_2(empty_target_action=action) == {"a": 1 / 2, "b": value, "c": 0}

    def test_empty_target_error(self):
        with pytest.raises(ValueError, match="without a relevant document"):
            self.precision_at_2(empty_target_action="error")

    def test_fall_out_wants_documents_that_are_not_relevant(self):
        values = per_query(self.run, "fall_out", empty_target_action="pos")
        assert values == {"a": 1 / 1, "b": 1 / 1, "c": 1}

    def test_missing_queries(self):
        assert self.precision_at_2(missing_queries="skip") == {"a": 1 / 2, "b": 0, "c": None}
        with pytest.raises(ValueError, match="'c'} were not retrieved"):
            self.precision_at_2(missing_queries="error")

    def test_unjudged(self):
        assert self.precision_at_2(unjudged="drop")["a"] == 2 / 2
        with pytest.raises(ValueError, match="'a' has an unjudged document"):
            self.precision_at_2(unjudged="error")

    def test_ignore_index(self):
        assert self.precision_at_2(ignore_index=1) == {"a": 1 / 2, "b": 0}
        assert per_query(self.run, "n_retrieved", ignore_index=1) == {"a": 2, "b": 1}

    def test_min_relevance(self):
        assert self.precision_at_2(min_relevance=2)["a"] == 0
        assert per_query(self.run, "n_relevant", min_relevance=2) == {"a": 1, "b": 0, "c": 0}

    def test_largest_grade_of_the_run(self):
        run = [Row("a", "x", 1.0, 1), Row("b", "x", 1.0, 2)]
        assert per_query(run, "err") == {"a": (2**1 - 1) / 2**2, "b": (2**2 - 1) / 2**2}

    def test_curve_pads(self):
        assert pr_curve(self.run, missing_queries="skip", empty_target_action="skip", max_k=4) == [
            (1, 1, 1 / 2),
            (2, 1 / 2, 1 / 2),
            (3, 2 / 3, 1),
            (4, 2 / 4, 1),
        ]
        assert len(pr_curve(self.run)) == 3  # the longest list
        assert pr_curve(self.run[:1], max_k=2, adaptive_k=True)[1] == (2, 1, 1)


@pytest.mark.parametrize(("aggregation", "expected"), [("mean", 10 / 4), ("median", 2), ("min", 1), ("max", 4)])
def test_aggregate(aggregation, expected):
    assert aggregate([4, 2, None, 1, 3], aggregation) == expected
    assert aggregate([None], aggregation) is None


def test_recall_at_precision():
    precision, recall = [1, 1 / 2, 2 / 3, 1 / 2], [1 / 2, 1 / 2, 1, 1]
    assert recall_at_precision(precision, recall, 0.6) == (1, 3)
    assert recall_at_precision(precision, recall, 0.5) == (1, 4)
    assert recall_at_precision(precision, recall, 0.9) == (1 / 2, 1)
    assert recall_at_precision([0.0, 0.0], [0.0, 0.0], 0.5) == (0, 2)


def test_a_ranking_counts():
    ranking = Ranking((2, None, 0, 1), (3, None), min_relevance=2)
    assert (ranking.n_retrieved, ranking.n_relevant, ranking.n_nonrelevant) == (4, 2, 3)
    assert [ranking.hits(k) for k in (1, 2, None)] == [1, 1, 1]
