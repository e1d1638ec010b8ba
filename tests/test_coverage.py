"""What judgments cover of the systems' rankings, and what changes without a system's own share in them."""

from __future__ import annotations

import warnings

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import polars_retrieval as pr
from polars_retrieval.comparison.coverage import coverage
from polars_retrieval.errors import ColumnError, MetricError, ParameterError, RetrievalWarning

SCHEMA = {"run_id": pl.String, "query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
QRELS = pl.DataFrame(
    [("q1", "a", 1), ("q1", "b", 1), ("q1", "n", 0), ("q1", "z", 1), ("q2", "c", 2)],
    schema=["query_id", "doc_id", "relevance"],
    orient="row",
)


def runs_of(rankings):
    """Return runs from the documents of each system and query, best first."""
    rows = [(s, q, d, -r) for (s, q), documents in rankings.items() for r, d in enumerate(documents, 1)]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


# Unjudged: u, v, w. Within the first two, y alone has b and x alone has c; both have a.
RUNS = runs_of({("x", "q1"): "anb", ("x", "q2"): "cu", ("y", "q1"): "bav", ("y", "q2"): "wuc"})


def row(table, system, measure):
    (found,) = table.filter(pl.col("run_id") == system, pl.col("measure") == measure).to_dicts()
    return found


def test_one_row_for_each_system_and_measure():
    table = coverage(RUNS, QRELS, k=2)
    names = ["precision@2", "recall@2", "ndcg@2", "average_precision@2", "rbp"]
    assert table.select("run_id", "measure").rows() == [(system, name) for system in "xy" for name in names]
    assert dict(table.schema) == {
        "run_id": pl.String,
        "measure": pl.String,
        "value": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "judged": pl.Float64,
        "n_relevant_retrieved": pl.UInt32,
        "n_unique_relevant": pl.UInt32,
        "value_without": pl.Float64,
        "change": pl.Float64,
    }


def test_worked_values():
    table = coverage(RUNS, QRELS, k=2)
    assert row(table, "x", "precision@2") == {
        "run_id": "x",
        "measure": "precision@2",
        "value": (1 / 2 + 1 / 2) / 2,
        "low": (1 / 2 + 1 / 2) / 2,
        "high": (1 / 2 + 2 / 2) / 2,
        "judged": (2 / 2 + 1 / 2) / 2,
        "n_relevant_retrieved": 2,
        "n_unique_relevant": 1,
        "value_without": (1 / 2 + 0) / 2,
        "change": (1 / 2 + 0) / 2 - (1 / 2 + 1 / 2) / 2,
    }
    recall = row(table, "y", "recall@2")
    assert (recall["low"], recall["high"]) == (None, None)
    assert recall["value"] == pytest.approx((2 / 3 + 0) / 2)
    assert recall["value_without"] == pytest.approx((1 / 2 + 0) / 2)
    assert (recall["n_relevant_retrieved"], recall["n_unique_relevant"]) == (2, 1)


@pytest.mark.parametrize(("depth", "x", "y"), [(1, 2, 1), (2, 1, 1), (3, 0, 0), (100, 0, 0)])
def test_depth_of_the_pool(depth, x, y):
    table = coverage(RUNS, QRELS, metrics="precision@2", depth=depth)
    assert table["n_unique_relevant"].to_list() == [x, y]
    assert (table["change"] == 0).to_list() == [x == 0, y == 0]


def test_bounds_are_those_of_evaluate():
    measures = ["precision@2", "hit_rate@1", "dcg@2", "rbp(persistence=0.5)"]
    table = coverage(RUNS, QRELS, metrics=measures)
    expected = pr.evaluate(RUNS, measures, qrels=QRELS, by="run_id", bounds=True)
    for system, values in expected.rows_by_key("run_id", named=True, unique=True).items():
        for name in measures:
            shown = row(table, system, name)
            assert [shown["value"], shown["low"], shown["high"]] == [
                values[name + end] for end in ("", "_low", "_high")
            ]


def leave_out(runs, qrels, system, depth):
    """Take the documents that only one system has within the depth out of the judgments, one by one."""
    top = {}
    for one, query, doc, rank in (
        runs.with_columns(rank=pl.col("score").rank("min", descending=True).over("run_id", "query_id"))
        .select("run_id", "query_id", "doc_id", "rank")
        .rows()
    ):
        if rank <= depth:
            top.setdefault((query, doc), set()).add(one)
    kept = [r for r in qrels.rows() if r[2] < 1 or top.get(r[:2]) != {system}]
    return pl.DataFrame(kept, schema=qrels.schema, orient="row"), qrels.height - len(kept)


documents = st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 3)), unique_by=lambda x: x[0])


@pytest.mark.filterwarnings("ignore:no query is in two groups")  # some of the systems drawn have none in common
@given(st.lists(documents, min_size=6, max_size=6), st.integers(1, 4))
def test_equals_evaluation_by_judgments_without_them(lists, depth):
    rows = [("xyz"[i % 3], f"q{i // 3}", d, s) for i, ranking in enumerate(lists) for d, s in ranking]
    runs = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    qrels = pl.DataFrame(
        # One that nobody retrieves keeps each query judged.
        {"query_id": ["q0"] * 4 + ["q1"] * 3, "doc_id": [*"abcZ", *"deZ"], "relevance": [1, 2, 0, 1, 1, 0, 1]}
    )
    if runs["run_id"].n_unique() < 2:
        return
    measures = ["precision@2", "recall@3", "ndcg@3", "average_precision"]
    table = coverage(runs, qrels, k=3, depth=depth, metrics=measures, ties="stable" if depth < 3 else "expected")
    for system in runs["run_id"].unique(maintain_order=True):
        ties = "stable" if depth < 3 else "expected"
        less, n_unique = leave_out(_ranked(runs) if ties == "stable" else runs, qrels, system, depth)
        own = runs.filter(pl.col("run_id") == system)
        expected = pr.evaluate(own, measures, qrels=less, ties=ties).row(0)
        shown = [row(table, system, name) for name in measures]
        assert [r["value_without"] for r in shown] == pytest.approx(list(expected), abs=1e-12)
        assert {r["n_unique_relevant"] for r in shown} == {n_unique}


def _ranked(runs):
    """Return the runs with scores that have no ties, in the same order."""
    return pr.rank(runs.with_columns(relevance=0), by="run_id").with_columns(score=-pl.col("rank").cast(pl.Float64))


def test_documents_tied_at_the_edge_of_the_pool_are_in_it():
    tied = pl.DataFrame(
        [("x", "q1", d, 1.0) for d in "ab"] + [("y", "q1", "a", 2.0), ("y", "q1", "b", 1.0)],
        schema=SCHEMA,
        orient="row",
    )
    table = coverage(tied, QRELS.filter(pl.col("query_id") == "q1"), k=1, metrics="precision@1")
    assert table["n_relevant_retrieved"].to_list() == [2, 1]
    assert table["n_unique_relevant"].to_list() == [1, 0]


def test_a_query_whose_only_relevant_document_is_left_out_stays():
    runs = runs_of({("x", "q2"): "c", ("y", "q2"): "w", ("x", "q1"): "a", ("y", "q1"): "a"})
    qrels = QRELS.filter(pl.col("doc_id").is_in(["a", "c"]))
    table = coverage(runs, qrels, k=1, metrics="recall@1")
    assert table["value"].to_list() == [(1 + 1) / 2, (1 + 0) / 2]
    assert table["value_without"].to_list() == [(1 + 0) / 2, (1 + 0) / 2]
    skip = coverage(runs, qrels, k=1, metrics="recall@1", empty_target_action="skip")
    assert skip["value_without"].to_list() == [1 / 1, (1 + 0) / 2]
    with_error = coverage(runs, qrels, k=1, metrics="recall@1", empty_target_action="error")
    assert_frame_equal(with_error, table)


def test_one_system_has_no_others():
    own = RUNS.filter(pl.col("run_id") == "x")
    alone = coverage(own.drop("run_id"), QRELS, by=None, k=2, metrics="precision@2")
    named = coverage(own, QRELS, k=2, metrics="precision@2")
    assert_frame_equal(named.drop("run_id"), alone)
    unknown = alone.select("n_unique_relevant", "value_without", "change").row(0)
    assert unknown == (None, None, None)
    assert alone.select("value", "judged", "n_relevant_retrieved").row(0) == (1 / 2, 3 / 4, 2)


def test_any_form_of_runs():
    expected = coverage(RUNS, QRELS, k=2)
    parts = {s: RUNS.filter(pl.col("run_id") == s).drop("run_id") for s in "xy"}
    assert_frame_equal(coverage(parts, QRELS, k=2), expected)
    assert_frame_equal(coverage(RUNS.lazy(), QRELS.lazy(), k=2), expected)
    assert_frame_equal(coverage(RUNS.to_arrow(), QRELS.to_pandas(), k=2), expected)
    renamed = coverage(RUNS.rename({"run_id": "s", "doc_id": "d"}), QRELS.rename({"doc_id": "d"}), by="s", doc="d", k=2)
    assert_frame_equal(renamed.rename({"s": "run_id"}), expected)


def test_judged_is_of_the_list_as_retrieved():
    dropped = coverage(RUNS, QRELS, k=2, metrics="precision@2", unjudged="drop")
    plain = coverage(RUNS, QRELS, k=2, metrics="precision@2")
    columns = ["run_id", "judged", "n_relevant_retrieved", "n_unique_relevant"]
    assert_frame_equal(dropped.select(columns), plain.select(columns))
    assert dropped["value"].to_list() == [(1 / 2 + 1 / 2) / 2, (2 / 2 + 1 / 2) / 2]


def test_system_that_retrieves_no_document_of_a_judged_query():
    table = coverage(RUNS.filter((pl.col("run_id") == "x") | (pl.col("query_id") == "q1")), QRELS, k=2)
    assert row(table, "y", "precision@2")["value"] == (2 / 2 + 0) / 2


def test_queries_that_nobody_judged_are_left_out_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = coverage(RUNS, QRELS.filter(pl.col("query_id") == "q1"), k=2)
    assert {w.category for w in caught} == {RetrievalWarning}
    assert row(table, "x", "precision@2")["value_without"] == 1 / 2


class TestErrors:
    @pytest.mark.parametrize("argument", ["k", "depth"])
    @pytest.mark.parametrize("value", [0, -1, 1.5, True])
    def test_cutoffs(self, argument, value):
        with pytest.raises(ParameterError, match=f"`{argument}` has to be a positive integer"):
            coverage(RUNS, QRELS, **{argument: value})

    def test_k_is_needed(self):
        with pytest.raises(ParameterError, match="`k` has to be a positive integer, got None"):
            coverage(RUNS, QRELS, k=None)

    def test_columns_and_measures(self):
        with pytest.raises(ColumnError, match="no column `run` for `by`"):
            coverage(RUNS, QRELS, by="run")
        with pytest.raises(ColumnError, match="the result has a column `value`"):
            coverage(RUNS.rename({"run_id": "value"}), QRELS, by="value")
        with pytest.raises(MetricError, match="precison"):
            coverage(RUNS, QRELS, metrics="precison@3")
        with pytest.raises(ParameterError, match="`by=None` is for the run of one system"):
            coverage({"x": RUNS}, QRELS, by=None)
