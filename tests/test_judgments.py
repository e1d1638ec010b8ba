"""Runs held against judgments: every retrieved and every judged document, found as a plain join would find them."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import polars_retrieval as pr
from polars_retrieval import judgments
from polars_retrieval.errors import DataError, RetrievalWarning

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
        with pytest.warns(RetrievalWarning, match="1 queries of the run have no judgments.*'q9'; 3 judged"):
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
