"""Which rows are among the best k of their query, beside what the definition says."""

import math
from collections import defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_retrieval.ranking.best import among_best, best_grades

SCORES = {
    pl.Float16: st.floats(width=16),
    pl.Float32: st.floats(width=32),
    pl.Float64: st.floats(),
    pl.Int8: st.integers(-(2**7), 2**7 - 1),
    pl.Int64: st.integers(-(2**63), 2**63 - 1),
    pl.UInt64: st.integers(0, 2**64 - 1),
}
TIED = st.sampled_from([-1, 0, 1, 2])


def by_definition(queries, scores, k):
    """Look at each query's scores from the highest: a row is kept down to the one at place k."""
    ranked = defaultdict(list)
    for query, score in zip(queries, scores, strict=True):
        ranked[query].append(score)
    last = {query: sorted(several, reverse=True)[:k][-1] for query, several in ranked.items()}
    return [score >= last[query] for query, score in zip(queries, scores, strict=True)]


def kept(queries, scores, k, dtype, n_queries=4):
    return among_best(pl.Series(queries, dtype=pl.UInt32), pl.Series(scores, dtype=dtype), k, n_queries).to_list()


@pytest.mark.parametrize("dtype", SCORES, ids=str)
@given(data=st.data(), k=st.integers(1, 4))
def test_as_the_definition_says(dtype, data, k):
    tied = st.sampled_from([0, 1, 2]) if dtype.is_unsigned_integer() else TIED
    rows = data.draw(st.lists(st.tuples(st.integers(0, 3), SCORES[dtype] | tied), min_size=1, max_size=20))
    queries, scores = map(list, zip(*rows, strict=True))
    highest = [math.inf if math.isnan(score) else score for score in scores]
    assert kept(queries, scores, k, dtype) == by_definition(queries, highest, k)


def test_worked_example():
    queries, scores = [0, 1, 0, 0, 1, 0, 0], [0.5, 0.1, 0.9, 0.5, 0.2, 0.4, 0.5]
    # Of query 0 the scores 0.9 and 0.5 are the best two, and 0.5 comes three times; query 1 has two documents.
    assert kept(queries, scores, 2, pl.Float32) == [True, True, True, True, True, False, True]


def test_zeros_of_either_sign_are_tied():
    assert kept([0, 0, 0], [-0.0, 0.0, -1.0], 1, pl.Float32) == [True, True, False]


def test_every_nan_is_kept():
    scores = [math.nan, 1.0, math.nan, math.inf, -math.inf]
    assert kept([0] * 5, scores, 1, pl.Float64) == [True, False, True, True, False]


def test_doubles_that_differ_in_the_last_bit_and_do_not_fit_a_key():
    step = np.finfo(np.float64).eps
    scores = [1.0, 1.0 + step, 1.0 - step, -1e300, 1e-300]
    assert kept([0] * 5, scores, 1, pl.Float64, n_queries=2**20) == [False, True, False, False, False]


def test_numbers_without_rows_are_passed_over():
    assert kept([3, 1, 3], [0.5, 0.5, 0.75], 1, pl.Float32) == [False, True, True]


@given(st.dictionaries(st.tuples(st.integers(0, 3), st.integers(1, 4)), st.integers(1, 5)), st.integers(1, 6))
def test_best_grades_hold_the_best_k_documents(counts, k):
    rows = [(*key, count) for key, count in counts.items()]
    frame = pl.DataFrame(rows, schema={"q": pl.Int64, "grade": pl.Int64, "count": pl.Int64}, orient="row")
    higher = {key: sum(n for (q, grade), n in counts.items() if q == key[0] and grade > key[1]) for key in counts}
    expected = {row for row in rows if higher[row[:2]] < k}
    assert set(best_grades(frame, k, query="q", grade="grade").rows()) == expected
