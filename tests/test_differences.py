"""Where two systems differ: the values of each query, and where its relevant documents stand."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import polars_retrieval as pr
from polars_retrieval.comparison.differences import differences
from polars_retrieval.errors import ColumnError, DataError, MetricError, ParameterError


def run(rankings):
    """Return a run from the documents of each query, best first; the score is minus the rank."""
    rows = [(q, d, float(-rank)) for q, documents in rankings.items() for rank, d in enumerate(documents, 1)]
    return pl.DataFrame(rows, schema={"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}, orient="row")


OLD = run({"q1": "abc", "q2": "abc", "q3": "abc", "q4": "abc"})
NEW = run({"q1": "cba", "q2": "xyc", "q3": "abc", "q4": "cab"})
QRELS = pl.DataFrame(
    [("q1", "c", 1), ("q1", "m", 1), ("q2", "a", 2), ("q2", "x", 0), ("q3", "b", 1), ("q4", "c", 1), ("q5", "a", 1)],
    schema=["query_id", "doc_id", "relevance"],
    orient="row",
)
PAIR = {"old": OLD, "new": NEW}


def relevant_of(rows, query):
    return rows.row(by_predicate=pl.col("query_id") == query, named=True)["relevant"]


def test_from_the_largest_gain_to_the_largest_loss():
    rows = differences(PAIR, "reciprocal_rank", qrels=QRELS)
    assert rows.columns == [
        "query_id",
        "measure",
        "baseline",
        "system",
        "value_baseline",
        "value_system",
        "difference",
        "relevant",
    ]
    assert rows["query_id"].to_list() == ["q1", "q4", "q3", "q5", "q2"]
    assert rows["value_baseline"].to_list() == pytest.approx([1 / 3, 1 / 3, 1 / 2, 0, 1])
    assert rows["value_system"].to_list() == pytest.approx([1, 1, 1 / 2, 0, 0])
    assert rows["difference"].to_list() == pytest.approx([1 - 1 / 3, 1 - 1 / 3, 0, 0, 0 - 1])
    assert rows.select("measure", "baseline", "system").unique().rows() == [("reciprocal_rank", "old", "new")]


def test_ranks_of_the_relevant_documents_in_both():
    rows = differences(PAIR, "recall", qrels=QRELS)
    assert relevant_of(rows, "q1") == [
        {"doc_id": "c", "rank_baseline": 3, "rank_system": 1},
        {"doc_id": "m", "rank_baseline": None, "rank_system": None},
    ]
    assert relevant_of(rows, "q2") == [{"doc_id": "a", "rank_baseline": 1, "rank_system": None}]
    assert relevant_of(rows, "q5") == [{"doc_id": "a", "rank_baseline": None, "rank_system": None}]
    rank = pl.UInt32
    struct = pl.Struct({"doc_id": pl.String, "rank_baseline": rank, "rank_system": rank})
    assert rows.schema["relevant"] == pl.List(struct)


def test_a_query_without_relevant_documents_has_an_empty_list():
    qrels = QRELS.with_columns(pl.when(pl.col("query_id") != "q3").then("relevance").otherwise(0).alias("relevance"))
    assert relevant_of(differences(PAIR, "recall", qrels=qrels), "q3") == []


def test_min_relevance_and_other_options_are_those_of_per_query():
    options = {"min_relevance": 2, "empty_target_action": "skip", "qrels": QRELS}
    rows = differences(PAIR, "recall@1", **options)
    assert rows["query_id"].to_list()[0] == "q2"
    assert rows["difference"].to_list() == [-1, None, None, None, None]
    assert relevant_of(rows, "q1") == []


def test_one_frame_with_a_column_of_systems():
    stacked = pl.concat([OLD.with_columns(name=pl.lit("old")), NEW.with_columns(name=pl.lit("new"))])
    assert_frame_equal(
        differences(stacked, "recall@1", by="name", qrels=QRELS), differences(PAIR, "recall@1", qrels=QRELS)
    )
    lazy = {name: one.lazy() for name, one in PAIR.items()}
    assert_frame_equal(differences(lazy, "recall@1", qrels=QRELS.lazy()), differences(PAIR, "recall@1", qrels=QRELS))


def test_the_dictionary_names_the_systems_whatever_the_runs_call_themselves():
    tagged = {name: one.with_columns(run_id=pl.lit("tag")) for name, one in PAIR.items()}
    assert_frame_equal(differences(tagged, "recall@1", qrels=QRELS), differences(PAIR, "recall@1", qrels=QRELS))


def test_either_system_may_be_the_baseline():
    turned = differences(PAIR, "recall@1", qrels=QRELS, baseline="new")
    assert_frame_equal(turned, differences(PAIR, "recall@1", qrels=QRELS, system="old"))
    straight = differences(PAIR, "recall@1", qrels=QRELS)
    by_query = straight.sort("query_id")["difference"] + turned.sort("query_id")["difference"]
    assert by_query.to_list() == [0] * 5


def test_two_of_several_systems():
    three = {**PAIR, "worst": run({"q1": "x"})}
    assert_frame_equal(
        differences(three, "recall@1", qrels=QRELS, baseline="old", system="new"),
        differences(PAIR, "recall@1", qrels=QRELS),
    )
    with pytest.raises(ParameterError, match=r"3 systems, so `baseline` and `system` have to be named: .*`worst`"):
        differences(three, "recall@1", qrels=QRELS, baseline="old")


@pytest.mark.parametrize(("ties", "ranks"), [("expected", [1, 1]), ("stable", [1, 2]), ("doc_id", [1, 2])])
def test_ranks_of_tied_documents(ties, ranks):
    tied = pl.DataFrame({"query_id": ["q1"] * 3, "doc_id": ["c", "b", "a"], "score": [0.0, -0.0, -1.0]})
    qrels = pl.DataFrame({"query_id": ["q1"] * 2, "doc_id": ["c", "b"], "relevance": [1, 1]})
    rows = differences({"one": tied, "two": tied}, "recall@1", qrels=qrels, ties=ties)
    assert [document["rank_system"] for document in rows["relevant"][0]] == ranks


def test_without_ids_of_documents_the_ranks_stand_alone():
    old = pl.DataFrame({"query_id": ["q1"] * 3, "score": [3, 2, 1], "relevance": [0, 1, 1]})
    new = pl.DataFrame({"query_id": ["q1"] * 3, "score": [3, None, 1], "relevance": [1, 1, 0]})
    rows = differences({"old": old, "new": new}, "recall@1")
    assert rows.select("ranks_baseline", "ranks_system").row(0) == ([2, 3], [1])
    assert "relevant" not in rows.columns


def test_a_query_that_one_system_lacks_stays_without_a_difference():
    old = OLD.join(QRELS, on=["query_id", "doc_id"], how="left")
    new = NEW.join(QRELS, on=["query_id", "doc_id"], how="left").filter(pl.col("query_id") != "q1")
    rows = differences({"old": old, "new": new}, "recall@1")
    assert rows["query_id"].to_list() == ["q4", "q3", "q2", "q1"]
    assert rows.select("value_baseline", "value_system", "difference").row(3) == (0, None, None)
    assert [d["rank_system"] for d in relevant_of(rows, "q1")] == [None]


def test_several_query_columns_and_other_names():
    names = {"query_id": "topic", "doc_id": "item", "score": "s", "relevance": "grade"}
    renamed = {name: one.rename(names, strict=False).with_columns(day=1) for name, one in PAIR.items()}
    qrels = QRELS.rename(names, strict=False).with_columns(day=1)
    options = {"query": ["topic", "day"], "doc": "item", "score": "s", "relevance": "grade"}
    rows = differences(renamed, pr.recall @ 1, qrels=qrels, **options)
    plain = differences(PAIR, "recall@1", qrels=QRELS)
    assert rows["topic"].to_list() == plain["query_id"].to_list()
    assert rows["difference"].to_list() == plain["difference"].to_list()
    assert rows["relevant"].list.len().to_list() == plain["relevant"].list.len().to_list()


@pytest.mark.filterwarnings("ignore:no query is in two groups")  # some of the systems drawn have none in common
@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 3)), unique_by=lambda x: x[0]),
        min_size=4,
        max_size=4,
    )
)
def test_values_and_ranks_are_those_of_per_query_and_rank(lists):
    frames = [
        pl.DataFrame(
            [(f"q{i % 2}", d, s) for i in pair for d, s in lists[i]],
            schema={"query_id": pl.String, "doc_id": pl.String, "score": pl.Int64},
            orient="row",
        )
        for pair in ((0, 1), (2, 3))
    ]
    if any(frame.is_empty() for frame in frames):
        return
    qrels = pl.DataFrame({"query_id": ["q0", "q0", "q1"], "doc_id": ["a", "b", "c"], "relevance": [1, 1, 1]})
    rows = differences(dict(zip("ab", frames, strict=True)), "ndcg@3", qrels=qrels, ties="doc_id")
    for frame, role in zip(frames, ("baseline", "system"), strict=True):
        values = rows.select("query_id", pl.col(f"value_{role}").alias("ndcg@3"))
        alone = pr.per_query(frame, "ndcg@3", qrels=qrels, ties="doc_id")
        assert_frame_equal(values, alone, check_row_order=False)
        ranked = pr.rank(frame, qrels=qrels, ties="doc_id").filter(pl.col("relevance") == 1)
        places = rows.explode("relevant").unnest("relevant").select("query_id", "doc_id", rank=f"rank_{role}")
        assert_frame_equal(places, ranked.select("query_id", "doc_id", "rank"), check_row_order=False)


class TestErrors:
    def test_system_that_is_not_there(self):
        with pytest.raises(
            ParameterError, match=r"`baseline` has to be one of .*`old`, `new`, got 'odl'(?s:.*)`old`\?"
        ):
            differences(PAIR, "recall@1", qrels=QRELS, baseline="odl")

    def test_twice_the_same(self):
        with pytest.raises(ParameterError, match="two systems, got 'old' for both"):
            differences(PAIR, "recall@1", qrels=QRELS, baseline="old", system="old")

    def test_one_system(self):
        with pytest.raises(ParameterError, match=r"two systems are needed .* holds `old`"):
            differences({"old": OLD}, "recall@1", qrels=QRELS)

    def test_several_measures(self):
        with pytest.raises(ParameterError, match="`metric` has to be one measure, got `recall@1`, `recall@2`"):
            differences(PAIR, ["recall@1", "recall@2"], qrels=QRELS)
        with pytest.raises(MetricError, match="recal"):
            differences(PAIR, "recal@1", qrels=QRELS)

    def test_no_query_in_common(self):
        judged = {name: one.with_columns(relevance=1) for name, one in PAIR.items()}
        judged["new"] = judged["new"].with_columns(pl.col("query_id").str.to_uppercase())
        with pytest.raises(DataError, match="no query in common: 4 and 4"):
            differences(judged, "recall@1")

    def test_columns(self):
        with pytest.raises(ColumnError, match=r"of `runs`: .* no column `nam` for `by`(?s:.*)did you mean `name`"):
            differences(OLD.with_columns(name=pl.lit("old")), "recall", by="nam", qrels=QRELS)
        with pytest.raises(ColumnError, match=r"of `runs\['new'\]`: .* no column `score`"):
            differences({"old": OLD, "new": NEW.drop("score")}, "recall", qrels=QRELS)
        with pytest.raises(ColumnError, match="`new` has no column `doc_id`"):
            differences({"old": OLD, "new": NEW.drop("doc_id")}, "recall")
        with pytest.raises(
            ColumnError, match="`query_id` is of type String in the run of `old` and Int64 in that of `new`"
        ):
            differences(
                {"old": OLD, "new": NEW.with_columns(query_id=pl.lit(1, dtype=pl.Int64))}, "recall", qrels=QRELS
            )
        with pytest.raises(ColumnError, match=r"`by` has to be .* got \['run_id'\]"):
            differences(PAIR, "recall", by=["run_id"], qrels=QRELS)
        with pytest.raises(ColumnError, match="the result has a column `system`"):
            differences({n: one.rename({"query_id": "system"}) for n, one in PAIR.items()}, "recall", query="system")

    @pytest.mark.parametrize(("runs", "message"), [({}, "empty dictionary"), ({1: OLD}, "names of systems, got 1")])
    def test_dictionary(self, runs, message):
        with pytest.raises(ParameterError, match=message):
            differences(runs, "recall", qrels=QRELS)
