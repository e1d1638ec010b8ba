"""Small runs drawn by Hypothesis: ties, nulls, empty and one-document queries, in any order of rows.

A query has at most `MOST_DOCUMENTS` documents, so that the reference can enumerate every order of the ties.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl
from hypothesis import strategies as st
from reference import Row

MOST_DOCUMENTS = 6
"""6! = 720 orders at most."""

DOCUMENT_IDS = ("9", "10", "a", "b", "B", "ab", "é", "日本", "\uffff", "\U0001f600")
"""Bytes, UTF-16 units, letters without case and numbers would each put these in another order."""

SCORES = {
    pl.Float64: (-2.5, -1.0, -0.0, 0.0, 0.5, 0.5 + 2**-40, 3.0, math.inf, -math.inf),
    pl.Float32: (-2.5, -1.0, -0.0, 0.0, 0.5, 3.0, math.inf, -math.inf),
    pl.Int64: (-(2**53) - 1, -(2**53), -1, 0, 1, 2**53, 2**53 + 1),
    pl.Int8: (-128, -1, 0, 1, 127),
    pl.UInt64: (0, 1, 2**53, 2**53 + 1, 2**64 - 1),
}
"""Few values, so that ties are common, among them neighbours that a narrower type would take for equal."""

FINITE_SCORES = (-2.5, -1.0, -0.0, 0.0, 0.5, 0.75, 3.0)
"""Sums and products with small powers of two are exact."""

GRADES = {
    pl.Boolean: (False, True),
    pl.Int64: (0, 0, 1, 1, 2, 3, -1),
    pl.UInt8: (0, 1, 2),
    pl.Float64: (0.0, 0.35, 1.0, 1.8, 3.0, -0.5),
}

QUERY_IDS = {
    pl.Int64: (0, 1, 2, 7, -7, 2**62 + 12345, -(2**63), 2**63 - 1),
    pl.UInt32: (0, 1, 5, 2**32 - 1),
    pl.String: ("", "1", "q1", "q10", "é", "\U0001f600"),
}


@dataclass(frozen=True)
class Run:
    """Rows of several queries, and the types of their columns."""

    rows: list[Row]
    query_type: type[pl.DataType] = pl.Int64
    score_type: type[pl.DataType] = pl.Float64
    grade_type: type[pl.DataType] = pl.Int64

    def frame(self) -> pl.DataFrame:
        schema = {
            "query_id": self.query_type,
            "doc_id": pl.String,
            "score": self.score_type,
            "relevance": self.grade_type,
        }
        return pl.DataFrame(self.rows, schema=schema, orient="row")

    def with_rows(self, rows: list[Row]) -> Run:
        return Run(rows, self.query_type, self.score_type, self.grade_type)


@st.composite
def documents_of(draw, scores, grades):
    """Draw the (doc, score, relevance) of one query; now and then none is retrieved, or none relevant."""
    doc_ids = draw(st.lists(st.sampled_from(DOCUMENT_IDS), min_size=1, max_size=MOST_DOCUMENTS, unique=True))
    few_scores = draw(st.lists(st.sampled_from(scores), min_size=1, max_size=4, unique_by=repr))
    if draw(st.integers(0, 5)) == 0:
        grades = [grade for grade in grades if grade <= 0]
    score = st.sampled_from([*few_scores * 3, None]) if draw(st.integers(0, 9)) else st.none()
    grade = st.sampled_from([*grades * 2, None])
    return [(doc, draw(score), draw(grade)) for doc in doc_ids]


@st.composite
def runs(
    draw,
    *,
    score_types=tuple(SCORES),
    scores=None,
    grade_types=tuple(GRADES),
    most_queries=4,
    null_queries=True,
):
    """Draw a run. With ``null_queries=False`` each query has a judged document."""
    query_type = draw(st.sampled_from(list(QUERY_IDS)))
    score_type = draw(st.sampled_from(score_types))
    grade_type = draw(st.sampled_from(grade_types))
    grades = GRADES[grade_type]
    query_ids = draw(st.lists(st.sampled_from(QUERY_IDS[query_type]), min_size=1, max_size=most_queries, unique=True))
    rows = []
    for query in query_ids:
        documents = draw(documents_of(scores or SCORES[score_type], grades))
        if not null_queries and all(grade is None for *_, grade in documents):
            doc, score, _ = documents[0]
            documents[0] = (doc, score, draw(st.sampled_from(grades)))
        rows += [Row(query, *document) for document in documents]
    if draw(st.booleans()):
        rows = draw(st.permutations(rows))
    return Run(list(rows), query_type, score_type, grade_type)


def min_relevances():
    return st.sampled_from([1, 1, 2, 0.5, 0])


def cutoffs():
    """Give cutoffs inside, at the end of and beyond the longest list."""
    return st.integers(1, MOST_DOCUMENTS + 2)
