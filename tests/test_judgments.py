"""Runs held against judgments: every retrieved and every judged document, found as a plain join would find them."""

from __future__ import annotations

from math import log2

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import polars_retrieval as pr
from polars_retrieval import grouping, judgments
from polars_retrieval.errors import ColumnError, DataError, ParameterError, RetrievalWarning
from polars_retrieval.grouping import group_rows, number_keys

IDS = {"query_id": pl.Int64, "doc_id": pl.Int64}


def pairs(max_size):
    """Draw distinct pairs of a query and a document."""
    pair = st.tuples(st.integers(-2, 4), st.integers(0, 6))
    return st.lists(pair, unique=True, max_size=max_size)


def plain_join(run, qrels, on):
    return run.join(qrels, on=on, how="full", coalesce=True, nulls_equal=True, maintain_order="left_right")


@st.composite
def runs_and_qrels(draw):
    run, qrels = draw(pairs(12)), draw(pairs(12))
    return (
        pl.DataFrame(run, schema=IDS, orient="row").with_columns(score=pl.int_range(pl.len()).cast(pl.Float64)),
        pl.DataFrame(qrels, schema=IDS, orient="row").with_columns(relevance=pl.int_range(pl.len()) % 3),
    )


TYPES = [pl.Int64, pl.Int8, pl.String, pl.Categorical, pl.Enum([str(number) for number in range(-2, 7)])]


class TestEqualsAPlainJoin:
    @pytest.mark.parametrize("dtype", TYPES, ids=str)
    @given(data=runs_and_qrels())
    def test_of_ids_of_any_type(self, dtype, data):
        run, qrels = (
            frame.with_columns(pl.col(*IDS).cast(dtype if dtype.is_integer() else pl.String).cast(dtype))
            for frame in data
        )
        assert_frame_equal(pr.judge(run, qrels), plain_join(run, qrels, list(IDS)))

    @given(data=runs_and_qrels(), shared=st.booleans())
    def test_of_groups(self, data, shared):
        run, qrels = data
        groups = pl.DataFrame({"system": ["a", None, "b"]})
        run = groups.join(run, how="cross")
        every = groups.join(qrels, how="cross")
        found = pr.judge(run, every if shared else qrels, by="system")
        if not run.height and not shared:
            every = every.clear()
        joined = plain_join(run, every, ["system", *IDS])
        assert_frame_equal(found, joined, check_row_order=False)
        assert_frame_equal(found.head(run.height), joined.head(run.height))

    @given(data=runs_and_qrels())
    def test_where_keys_of_different_documents_are_equal(self, data):
        run, qrels = data
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(judgments, "pair_keys", lambda numbers, _: numbers.astype("uint64") * 0)
            patch.setattr("polars_retrieval.columns.pair_keys", lambda numbers, _: numbers.astype("uint64") * 0)
            found = pr.judge(run, qrels)
        assert_frame_equal(found, plain_join(run, qrels, list(IDS)))

    def test_in_several_blocks(self, monkeypatch):
        monkeypatch.setattr(judgments, "_BLOCK", 7)
        run = pl.DataFrame({"query_id": [n // 10 for n in range(100)], "doc_id": [n % 10 for n in range(100)]})
        run = run.with_columns(score=pl.lit(1.0))
        qrels = run.gather_every(3).select("query_id", "doc_id", relevance=pl.int_range(34))
        assert_frame_equal(pr.judge(run, qrels), plain_join(run, qrels, list(IDS)))


class TestUnjudgedQueries:
    run = pl.DataFrame({"query_id": ["q1", "q9", "q2"], "doc_id": ["d1", "d1", "d1"], "score": [1.0, 1.0, 1.0]})
    qrels = pl.DataFrame({"query_id": ["q1", "q2", "q3"], "doc_id": ["d1", "d2", "d1"], "relevance": [1, 1, 1]})

    def test_are_left_out_and_named(self):
        with pytest.warns(RetrievalWarning, match=r"(?s)1 queries of the run have no judgments.*'q9'; 3 judged"):
            values = pr.per_query(self.run, "recall", qrels=self.qrels)
        assert values.rows() == [("q1", 1 / 1), ("q2", 0 / 1), ("q3", 0 / 1)]

    def test_of_integer_ids_between_judged_ones_are_none(self):
        run = pl.DataFrame({"query_id": [1, 5], "doc_id": [1, 1], "score": [1.0, 1.0]})
        qrels = pl.DataFrame({"query_id": [5, 1], "doc_id": [1, 2], "relevance": [1, 1]})
        assert pr.per_query(run, "recall", qrels=qrels).rows() == [(1, 0 / 1), (5, 1 / 1)]

    def test_of_all_leave_nothing(self):
        with pytest.warns(RetrievalWarning, match="1 queries"):
            values = pr.per_query(self.run.filter(query_id="q9"), "recall", qrels=self.qrels.clear())
        assert values.height == 0


@pytest.mark.parametrize("first", ["d1", "d2"])
def test_a_document_twice_is_named_also_far_apart(first):
    documents = [f"d{number}" for number in range(1, 50)] + [first]
    run = pl.DataFrame({"query_id": ["q1"] * 50, "doc_id": documents, "score": [1.0] * 50, "relevance": [0] * 50})
    with pytest.raises(DataError, match=f"1 rows repeat one; the first is query_id 'q1', doc_id '{first}'"):
        pr.evaluate(run, "recall")


class TestQueriesAskedFor:
    run = pl.DataFrame({"query_id": ["q1", "q2", "q2"], "doc_id": ["d1", "d1", "d2"], "score": [1.0, 2.0, 1.0]})
    qrels = pl.DataFrame({"query_id": ["q1", "q2", "q3"], "doc_id": ["d1", "d2", "d1"], "relevance": [1, 1, 1]})

    @pytest.mark.parametrize(
        "asked",
        [["q2", "q3"], ("q3", "q2"), pl.Series(["q2", "q3"]), pl.DataFrame({"query_id": ["q3", "q2", "q2"]})],
        ids=lambda asked: type(asked).__name__,
    )
    def test_are_those_that_count(self, asked):
        assert pr.evaluate(self.run, "precision@1", qrels=self.qrels, queries=asked).item() == (0 + 0) / 2
        assert pr.evaluate(self.run, "recall", qrels=self.qrels, queries=asked).item() == (1 + 0) / 2
        lazy = pr.per_query(self.run.lazy(), "recall", qrels=self.qrels.lazy(), queries=asked)
        assert lazy.collect().rows() == [("q2", 1 / 1), ("q3", 0 / 1)]
        assert pr.RankedLists(self.run, qrels=self.qrels, queries=asked).pr_curve(max_k=2)["recall"].to_list() == [
            (0 + 0) / 2,
            (1 + 0) / 2,
        ]

    def test_without_judgments(self):
        run = self.run.with_columns(relevance=pl.Series([1, 0, 1]))
        assert pr.rank(run, queries=["q2"])["hits"].to_list() == [0, 1]
        assert pr.judge(self.run, self.qrels, queries=["q3"]).rows() == [("q3", "d1", None, 1)]

    @pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt64])
    def test_of_other_integer_types(self, dtype):
        run = pl.DataFrame({"query_id": [1, 2], "score": [1.0, 1.0], "relevance": [1, 0]})
        asked = pl.Series([2], dtype=dtype)
        assert pr.per_query(run, "precision@1", queries=asked).rows() == [(2, 0 / 1)]
        assert pr.per_query(run.cast({"query_id": dtype}), "precision@1", queries=[1]).rows() == [(1, 1 / 1)]

    def test_of_several_columns(self):
        run = pl.DataFrame({"user": [1, 1], "day": [1, 2], "score": [1.0, 1.0], "relevance": [1, 0]})
        asked = pl.DataFrame({"day": [2], "user": [1], "other": ["x"]})
        values = pr.per_query(run, "precision@1", query=["user", "day"], queries=asked)
        assert values.rows() == [(1, 2, 0 / 1)]
        with pytest.raises(ColumnError, match="`queries` has to be a frame with the columns `user`, `day`"):
            pr.evaluate(run, "recall", query=["user", "day"], queries=[1])

    def test_that_are_nowhere_are_named(self):
        with pytest.raises(
            DataError, match=r"(?s)asks for 3 queries, of which 2 are neither in the run nor judged.*'q8'"
        ):
            pr.evaluate(self.run, "recall", qrels=self.qrels, queries=["q3", "q8", "q9"])
        run = self.run.with_columns(relevance=1)
        with pytest.raises(DataError, match="of which 1 are not in the run; the first is query_id 'q3'"):
            pr.evaluate(run, "recall", queries=["q3", "q1"])
        with pytest.raises(DataError, match="of which 1 are not in the run; the first is query_id 300"):
            pr.evaluate(run.with_columns(query_id=pl.Series([1, 2, 2], dtype=pl.Int8)), "recall", queries=[1, 300])

    @pytest.mark.parametrize("asked", ["q1", 3, b"q1"])
    def test_are_a_list(self, asked):
        with pytest.raises(ColumnError, match="`queries` has to be a list or a Series of query ids"):
            pr.evaluate(self.run, "recall", qrels=self.qrels, queries=asked)

    def test_of_another_kind_are_refused(self):
        with pytest.raises(ColumnError, match="`query_id` is of type String in the run and Int64 in `queries`"):
            pr.evaluate(self.run, "recall", qrels=self.qrels, queries=[1])

    def test_may_be_none_at_all(self):
        values = pr.evaluate(self.run, "recall", qrels=self.qrels, queries=[])
        assert values.item() is None


class TestDuplicates:
    run = pl.DataFrame(
        {
            "query_id": ["q", "q", "q", "q", "p"],
            "doc_id": ["d4", "d9", "d4", "d2", "d4"],
            "score": [0.6, 0.8, 0.9, 0.7, 0.1],
        }
    )
    qrels = pl.DataFrame({"query_id": ["q", "q", "p"], "doc_id": ["d4", "d5", "d4"], "relevance": [1, 1, 1]})

    def test_raise_unless_told_otherwise(self):
        with pytest.raises(DataError, match="1 rows repeat one; the first is query_id 'q', doc_id 'd4'"):
            pr.evaluate(self.run, "recall", qrels=self.qrels)
        with pytest.raises(
            ParameterError, match=r"(?s)`duplicates` received a wrong value `bset`.*did you mean `best`"
        ):
            pr.evaluate(self.run, "recall", qrels=self.qrels, duplicates="bset")

    def test_best_keeps_the_highest_score(self):
        options = {"qrels": self.qrels, "duplicates": "best"}
        values = pr.per_query(self.run, ["recall", "reciprocal_rank", "n_retrieved"], **options)
        assert values.rows() == [("q", 1 / 2, 1 / 1, 3), ("p", 1 / 1, 1 / 1, 1)]
        assert pr.judge(self.run, self.qrels, duplicates="best").height == 4 + 1
        assert pr.rank(self.run.with_columns(relevance=1), duplicates="best")["rank"].to_list() == [2, 1, 3, 1]

    def test_best_keeps_the_first_of_equal_scores_and_any_score_before_none(self):
        run = pl.DataFrame(
            {
                "query_id": [1] * 5,
                "doc_id": ["a", "a", "b", "b", None],
                "score": [None, 0.5, 0.7, 0.7, 0.1],
                "relevance": [0, 1, 1, 0, 0],
            }
        )
        ranked = pr.rank(run, duplicates="best")
        assert ranked.select("doc_id", "score", "relevance").rows() == [("a", 0.5, 1), ("b", 0.7, 1), (None, 0.1, 0)]

    def test_best_keeps_the_highest_grade_of_judgments(self):
        qrels = pl.concat(
            [
                self.qrels,
                self.qrels.with_columns(pl.col("relevance") * 2),
                self.qrels.with_columns(pl.col("relevance") * 0),
            ]
        )
        judged = pr.judge(self.run, qrels, duplicates="best")
        assert judged["relevance"].drop_nulls().to_list() == [2, 2, 2]

    def test_best_needs_documents(self):
        with pytest.raises(ColumnError, match="no column `doc_id` for `doc`"):
            pr.evaluate(self.run.drop("doc_id").with_columns(relevance=1), "recall", duplicates="best")


class TestCountsInsteadOfJudgments:
    run = pl.DataFrame(
        {
            "query_id": [1, 1, 2, 2, 3],
            "score": [2.0, 1.0, 2.0, 1.0, 1.0],
            "relevance": [1, 0, 1, 1, 0],
            "total": [4, 4, 2, 2, 0],
        }
    )

    def test_divide_recall(self):
        values = pr.per_query(self.run, ["recall@1", "r_precision", "n_relevant", "ndcg@2"], n_relevant="total")
        assert values["recall@1"].to_list() == [1 / 4, 1 / 2, 0]
        assert values["r_precision"].to_list() == [1 / 4, 2 / 2, 0]
        assert values["n_relevant"].to_list() == [4, 2, 0]
        discounts = [1 / log2(1 + 1), 1 / log2(2 + 1)]
        assert values["ndcg@2"].to_list() == pytest.approx([discounts[0] / sum(discounts), 1, 0])
        curve = pr.pr_curve(self.run.lazy(), n_relevant="total", max_k=1).collect()
        assert curve["recall"].to_list() == pytest.approx([(1 / 4 + 1 / 2 + 0) / 3])
        assert pr.RankedLists(self.run, n_relevant="total").evaluate("recall").item() == (1 / 4 + 2 / 2 + 0) / 3

    def test_agree_with_expressions(self):
        measures = ["recall@1", "r_precision", "average_precision", "precision@2", "reciprocal_rank"]
        frame = pr.per_query(self.run, measures, n_relevant="total").drop("query_id")
        expressions = self.run.group_by("query_id", maintain_order=True).agg(
            pl.col("relevance").retrieval.recall("score", k=1, n_relevant="total"),
            pl.col("relevance").retrieval.r_precision("score", n_relevant="total"),
            pl.col("relevance").retrieval.average_precision("score", n_relevant="total"),
            pl.col("relevance").retrieval.precision("score", k=2, n_relevant="total"),
            pl.col("relevance").retrieval.reciprocal_rank("score", n_relevant="total"),
        )
        assert_frame_equal(frame, expressions.drop("query_id"))

    @pytest.mark.parametrize(
        ("counts", "message"),
        [
            ([4, 3, 2, 2, 0], "not the same in all rows of a query; the first is query_id 1, with 4"),
            ([1, 1, 1, 1, 0], "below the number of relevant documents among the rows; the first is query_id 2, with 1"),
            ([4, None, 2, 2, 0], "has 1 nulls, the first in row 1"),
            ([-1, -1, 2, 2, 0], "below the number of relevant documents.*query_id 1, with -1"),
        ],
    )
    def test_have_to_fit(self, counts, message):
        with pytest.raises(DataError, match=message):
            pr.evaluate(self.run.with_columns(total=pl.Series(counts)), "recall", n_relevant="total")

    def test_are_integers_in_a_column_of_the_run(self):
        with pytest.raises(ColumnError, match="given for `n_relevant`, is of type Float64; it has to be an integer"):
            pr.evaluate(self.run.cast({"total": pl.Float64}), "recall", n_relevant="total")
        with pytest.raises(ColumnError, match=r"(?s)no column `totl` for `n_relevant`.*did you mean `total`"):
            pr.evaluate(self.run, "recall", n_relevant="totl")
        with pytest.raises(ColumnError, match="`n_relevant` has to be a column name, got 3"):
            pr.evaluate(self.run, "recall", n_relevant=3)

    def test_and_judgments_exclude_each_other(self):
        run = self.run.drop("relevance").with_columns(doc_id=pl.int_range(pl.len()))
        qrels = run.select("query_id", "doc_id", relevance=1)
        with pytest.raises(ParameterError, match="`n_relevant='total'` and `qrels` both say"):
            pr.evaluate(run, "recall", qrels=qrels, n_relevant="total")

    def test_say_nothing_of_grades(self):
        run = self.run.with_columns(relevance=pl.Series([2, 0, 1, 1, 0]))
        assert pr.evaluate(run, "recall@1", n_relevant="total").item() == (1 / 4 + 1 / 2 + 0) / 3
        with pytest.raises(ParameterError, match="how many relevant documents there are, but not of which grades"):
            pr.evaluate(run, "ndcg", n_relevant="total")
        none_lack = run.with_columns(total=pl.Series([1, 1, 2, 2, 0]))
        assert pr.evaluate(none_lack, "ndcg@1", n_relevant="total").item() == (1 + 1 + 0) / 3


class TestShuffledIds:
    """Ids that are no small integers, their rows anywhere: numbered by their hashes."""

    @given(
        ids=st.lists(st.sampled_from(["a", "b", "c", "dd", None]), min_size=1, max_size=30),
        by=st.lists(st.sampled_from([1, 2, None]), min_size=30, max_size=30),
        constant=st.booleans(),
    )
    def test_are_numbered_as_they_come(self, ids, by, constant):
        frame = pl.DataFrame({"by": by[: len(ids)], "id": ids}, schema={"by": pl.Int64, "id": pl.String})
        expected = frame.unique(maintain_order=True)
        hashes = (lambda _: pl.repeat(7, len(ids), dtype=pl.UInt64, eager=True)) if constant else pl.DataFrame.hash_rows
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pl.DataFrame, "hash_rows", hashes)
            found = group_rows(frame)
        assert_frame_equal(found.ids, expected)
        assert_frame_equal(found.ids[found.of_rows], frame)

    @given(keys=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=400), copies=st.integers(1, 3))
    def test_equal_keys_have_equal_numbers(self, keys, copies):
        array = np.array(keys * copies, np.uint64)
        numbers, n = number_keys(array)
        assert n == len(set(keys))
        assert sorted(set(numbers)) == list(range(n))
        assert len(set(zip(array, numbers, strict=True))) == n

    def test_that_never_find_a_slot_are_joined(self, monkeypatch):
        monkeypatch.setattr(grouping, "_TRIES", 1)
        frame = pl.DataFrame({"id": [f"q{n * 7919 % 5000}" for n in range(20_000)]})
        assert number_keys(frame.hash_rows().to_numpy()) is None
        found = group_rows(frame)
        assert_frame_equal(found.ids[found.of_rows], frame)


class TestSegments:
    """Groups of queries, where judgments do not say which query is in which."""

    run = pl.DataFrame({"part": ["x", "y"], "query_id": ["q1", "q2"], "doc_id": ["d1", "d1"], "score": [1.0, 1.0]})
    qrels = pl.DataFrame({"query_id": ["q1", "q2"], "doc_id": ["d1", "d1"], "relevance": [1, 1]})

    def test_are_told_from_systems(self):
        with pytest.warns(RetrievalWarning, match="no query is in two groups of `part`"):
            values = pr.evaluate(self.run, "recall", qrels=self.qrels, by="part")
        assert values.rows() == [("x", (1 + 0) / 2), ("y", (0 + 1) / 2)]

    def test_are_right_with_the_column_or_without_missing_queries(self):
        expected = [("x", 1 / 1), ("y", 1 / 1)]
        qrels = self.qrels.with_columns(part=pl.Series(["x", "y"]))
        assert pr.evaluate(self.run, "recall", qrels=qrels, by="part").rows() == expected
        skipping = pr.evaluate(self.run, "recall", qrels=self.qrels, by="part", missing_queries="skip")
        assert skipping.rows() == expected

    def test_systems_have_queries_in_common(self):
        run = pl.concat([self.run, self.run.with_columns(part=pl.lit("y")).head(1)])
        assert pr.evaluate(run, "recall", qrels=self.qrels, by="part").rows() == [("x", 1 / 2), ("y", 2 / 2)]
