"""What unjudged documents could change, and over how many queries a mean is."""

from __future__ import annotations

import itertools

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from strategies import cutoffs, runs

import polars_retrieval as pr
from polars_retrieval.errors import ColumnError, ParameterError
from polars_retrieval.measures import REGISTRY

BOUNDED = [name for name, measure in REGISTRY.items() if measure.declaration.has_bounds]
EXACT = {"rel": 0, "abs": 1e-12}

RUN = pl.DataFrame(
    {
        "query_id": ["q1"] * 4 + ["q2"] * 2,
        "score": [4.0, 3.0, 2.0, 1.0, 2.0, 1.0],
        "relevance": [1, None, 0, None, None, 0],
    }
)


def test_what_has_bounds():
    assert set(BOUNDED) == {"precision", "hit_rate", "dcg", "rbp"}


@pytest.mark.parametrize(
    ("measure", "low", "high"),
    [
        ("precision@2", [1 / 2, 0], [2 / 2, 1 / 2]),
        ("precision", [1 / 4, 0], [3 / 4, 1 / 2]),
        ("hit_rate@1", [1, 0], [1, 1]),
        ("rbp(persistence=0.5)", [1 / 2, 0], [1 / 2 + 1 / 4 + 1 / 16 + 1 / 16, 1 / 2 + 1 / 4]),
    ],
)
def test_by_query(measure, low, high):
    values = pr.per_query(RUN, measure, bounds=True)
    assert values.columns == ["query_id", measure, f"{measure}_low", f"{measure}_high"]
    assert values[measure].to_list() == values[f"{measure}_low"].to_list() == pytest.approx(low, **EXACT)
    assert values[f"{measure}_high"].to_list() == pytest.approx(high, **EXACT)
    means = pr.evaluate(RUN, measure, bounds=True).row(0)
    assert means == pytest.approx((sum(low) / 2, sum(low) / 2, sum(high) / 2), **EXACT)


def judged_in_every_way(frame):
    """Give the run with every choice of its unjudged documents that are relevant, at the highest grade."""
    unjudged = frame.select((pl.col("score").is_not_null() & pl.col("relevance").is_null()).arg_true()).to_series()
    grade = max(1, frame["relevance"].max() or 0)
    for chosen in itertools.product([0, grade], repeat=len(unjudged)):
        yield frame.with_columns(frame["relevance"].cast(pl.Float64).scatter(unjudged, [float(c) for c in chosen]))


@given(runs(most_queries=2, grade_types=(pl.Int64, pl.Float64)), cutoffs(), st.sampled_from(["expected", "stable"]))
def test_every_judgment_lies_between_the_bounds(run, k, ties):
    frame = run.frame()
    asked = [REGISTRY[name](k=k) for name in BOUNDED]
    bounds = pr.per_query(frame, asked, ties=ties, bounds=True)
    ways = [pr.per_query(way, asked, ties=ties) for way in judged_in_every_way(frame)]
    for name in map(str, asked):
        lowest, highest = bounds[f"{name}_low"], bounds[f"{name}_high"]
        assert all(((way[name] >= lowest - 1e-9) & (way[name] <= highest + 1e-9)).all() for way in ways), name
        assert (lowest <= bounds[name]).all()
        if not name.startswith("rbp"):  # its upper bound counts documents below the list as well
            reached = pl.DataFrame([way[name] for way in ways], schema=[str(i) for i in range(len(ways))])
            assert reached.max_horizontal().to_list() == pytest.approx(highest.to_list(), abs=1e-9), name


def test_left_out_queries_have_no_bounds():
    values = pr.per_query(RUN, "precision@1", bounds=True, empty_target_action="skip")
    assert values.row(1) == ("q2", None, None, None)


@pytest.mark.parametrize("name", sorted(set(REGISTRY) - set(BOUNDED)))
def test_others_have_none(name):
    with pytest.raises(ParameterError, match=f"`{name}`.*`precision`"):
        pr.evaluate(RUN, name, bounds=True)


def test_boolean_grades():
    boolean = RUN.with_columns(pl.col("relevance").cast(pl.Boolean))
    assert_frame_equal(pr.per_query(boolean, "dcg", bounds=True), pr.per_query(RUN, "dcg", bounds=True))


def test_nothing_judged():
    run = RUN.with_columns(relevance=None)
    assert pr.evaluate(run, "precision@1", bounds=True).row(0) == (0, 0, 1)


class TestNumberOfQueries:
    run = pl.DataFrame(
        {"query_id": ["a", "a", "b", "c"], "score": [2, 1, 1, 1], "relevance": [1, 0, 0, 1]}
    )  # b has no relevant document, c no other

    def test_measures_differ(self):
        result = pr.evaluate(self.run, ["recall", "fall_out", "n_judged"], n_queries=True, empty_target_action="skip")
        assert result.select("recall_n", "fall_out_n", "n_judged_n").row(0) == (2, 2, 3)
        assert result.columns == ["recall", "recall_n", "fall_out", "fall_out_n", "n_judged", "n_judged_n"]
        assert result.schema["recall_n"] == pl.UInt32

    def test_by_group_and_lazily(self):
        options = {"by": "query_id", "n_queries": True, "empty_target_action": "skip"}
        eager = pr.evaluate(self.run, "recall", **options)
        assert eager.rows() == [("a", 1.0, 1), ("b", None, 0), ("c", 1.0, 1)]
        lazy = pr.evaluate(self.run.lazy(), "recall", **options)
        assert lazy.collect_schema() == eager.schema
        assert_frame_equal(lazy.collect(), eager)

    def test_beside_bounds(self):
        names = pr.evaluate(self.run, "precision@1", bounds=True, n_queries=True).columns
        assert names == ["precision@1", "precision@1_low", "precision@1_high", "precision@1_n"]

    def test_of_ranked_lists(self):
        lists = pr.RankedLists(self.run)
        options = {"bounds": True, "n_queries": True}
        assert_frame_equal(lists.evaluate("rbp", **options), pr.evaluate(self.run, "rbp", **options))
        assert_frame_equal(lists.per_query("rbp", bounds=True), pr.per_query(self.run, "rbp", bounds=True))


@pytest.mark.parametrize("argument", ["bounds", "n_queries"])
def test_has_to_be_a_boolean(argument):
    with pytest.raises(ParameterError, match=f"`{argument}` has to be a boolean, got 1"):
        pr.evaluate(RUN, "precision", **{argument: 1})


def test_a_group_column_of_that_name():
    run = RUN.with_columns(pl.lit("x").alias("precision_n"))
    with pytest.raises(ColumnError, match="`precision_n`"):
        pr.evaluate(run, "precision", by="precision_n", n_queries=True)
