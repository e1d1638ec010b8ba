"""Grades of every kind, and what the measures that read them refuse."""

from __future__ import annotations

import polars as pl
import pytest
import reference
from reference import Row

import polars_retrieval as pr
from polars_retrieval.errors import ParameterError

CLOSE = {"rel": 1e-9, "abs": 1e-12}


def run_of_grades(grades, dtype):
    """Give three queries whose documents, without ties, have the grades in several orders; some are not retrieved."""
    orders = [grades, grades[::-1], grades[1::2] + grades[::2]]
    rows = [
        Row(query, str(place), None if place % 7 == 6 else -float(place), grade)
        for query, order in enumerate(orders)
        for place, grade in enumerate(order)
    ]
    schema = {"query_id": pl.Int64, "doc_id": pl.String, "score": pl.Float64, "relevance": dtype}
    return rows, pl.DataFrame(rows, schema=schema, orient="row")


@pytest.mark.parametrize(
    ("grades", "dtype"),
    [
        ([0, 1, 2, 3, 4, None, 2, 0, 1], pl.Int8),
        (list(range(-3, 40)), pl.Int64),
        ([0, 1, 5, 1000, 7, 300, None], pl.Int32),
        ([place / 8 for place in range(40)], pl.Float64),
        ([0.1, 0.35, None, 0.35, 0.9, 0.0], pl.Float32),
        ([5, 5, 5, 5], pl.UInt8),
        ([0, None, -1, -1, 0], pl.Int16),
    ],
)
@pytest.mark.parametrize("min_relevance", [1, 0.5, 0, 3])
def test_the_reference_gives_the_same(grades, dtype, min_relevance):
    asked = ["dcg", "ndcg@5", "err(max_grade=1000)", "bpref", "judged@5", "recall@5", "rbp(residual=True)"]
    if max(grade or 0 for grade in grades) < 50:
        asked.append("ndcg(gain=exponential)")
    rows, frame = run_of_grades(grades, dtype)
    rows = [row._replace(relevance=grade) for row, grade in zip(rows, frame["relevance"], strict=True)]
    values = pr.per_query(frame, asked, min_relevance=min_relevance)
    for name in asked:
        measure = pr.parse(name)
        expected = reference.per_query(
            rows, measure.declaration.name, min_relevance=min_relevance, parameters=measure.parameters
        )
        assert values[name].to_list() == pytest.approx(list(expected.values()), **CLOSE), name


class TestExpectedReciprocalRank:
    run = pl.DataFrame({"query_id": ["a", "a", "b"], "score": [2, 1, 1], "relevance": [1, 3, 2]})

    def test_the_largest_grade_is_that_of_all_queries(self):
        first, second = 1 / 8, 7 / 8
        expected = [first + (1 - first) * second / 2, 3 / 8]
        assert pr.per_query(self.run, "err")["err"].to_list() == pytest.approx(expected, **CLOSE)

    def test_max_grade_is_that_of_the_scale(self):
        first, second = 1 / 16, 7 / 16
        expected = [first + (1 - first) * second / 2, 3 / 16]
        values = pr.per_query(self.run, pr.err(max_grade=4)).to_series(-1)
        assert values.to_list() == pytest.approx(expected, **CLOSE)

    def test_max_grade_below_the_data(self):
        with pytest.raises(ParameterError, match=r"`max_grade` .*3 in the data, got 2"):
            pr.evaluate(self.run, pr.err(max_grade=2))


class TestTies:
    run = pl.DataFrame(
        {"query_id": ["a", "a", "b", "b", "b"], "score": [2, 1, 1, 1, 0], "relevance": [1, 0, 2, 0, None]}
    )

    @pytest.mark.parametrize(
        "measure", ["err", "bpref", "interpolated_precision", "interpolated_precision(recall=0.25)"]
    )
    def test_no_closed_form_for_these(self, measure):
        with pytest.raises(
            ParameterError, match=r"1 queries, the first query_id 'b'(?s:.*)choose `ties` from `doc_id`"
        ):
            pr.evaluate(self.run, measure)
        grouped = self.run.group_by("query_id", maintain_order=True)
        parsed = pr.parse(measure)
        method = getattr(pl.col("relevance").retrieval, parsed.declaration.name)
        values = grouped.agg(method("score", **parsed.parameters))
        assert values.to_series(-1).is_nan().to_list() == [False, True]
        assert pr.evaluate(self.run, measure, ties="stable").item() > 0

    @pytest.mark.parametrize(
        ("relevance", "refused"),
        [
            ([1, None], {"err", "interpolated_precision"}),  # who is not judged does not matter to bpref
            ([0, None], set()),
            ([1, 2], {"err"}),
            ([2, 2], set()),
            ([0, 1], {"err", "bpref", "interpolated_precision"}),
        ],
    )
    def test_refused_only_where_the_order_matters(self, relevance, refused):
        run = pl.DataFrame({"query_id": 0, "score": [1, 1, 0], "relevance": [*relevance, 1]}, strict=False)
        for measure in ("err", "bpref", "interpolated_precision"):
            if measure in refused:
                with pytest.raises(ParameterError, match="`ties`"):
                    pr.evaluate(run, measure)
            else:
                assert 0 <= pr.evaluate(run, measure).item() <= 1

    def test_asking_for_others_beside_changes_nothing(self):
        """Unjudged documents are told from others for `judged`, but `err` takes both for grade 0."""
        run = pl.DataFrame({"query_id": 0, "score": [2, 1, 1], "relevance": [1, 0, None]}, strict=False)
        together = pr.evaluate(run, ["err", "judged@2"])
        assert together["err"].item() == pr.evaluate(run, "err").item() == pytest.approx(1 / 2)
        assert together["judged@2"].item() == pytest.approx((1 + 1 / 2) / 2)


def test_ranked_lists_learn_what_later_measures_read():
    rows, frame = run_of_grades([0, 1, 2, None, 3, 1], pl.Int64)
    assert len(rows) == frame.height
    lists = pr.RankedLists(frame)
    for measure in ("recall@2", "ndcg@2", "judged@2", "bpref", "recall@2"):
        assert lists.evaluate(measure).item() == pr.evaluate(frame, measure).item()
