"""Measures that weigh a document by its rank, and most of them by its grade."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from polars_retrieval.errors import ParameterError
from polars_retrieval.measures.declaration import Gain, Share, alias, measure

if TYPE_CHECKING:
    import polars as pl

    from polars_retrieval.measures.ranked import Ranked

_UNBOUNDED = (0, float("inf"))


@measure(
    alias("ir_measures", "DCG@{k}"),
    alias("ir_measures", "DCG"),
    undefined_without="n_graded",
    reads=("grade",),
    bounds=_UNBOUNDED,
    has_bounds=True,
    source="Järvelin and Kekäläinen, Cumulated Gain-Based Evaluation of IR Techniques (2002)",
    translations={"dcg": "gain", "log2": "linear", "exp-log2": "exponential"},
)
def dcg(ranked: Ranked, k: int | None = None, gain: Gain = "linear") -> pl.Expr:
    """Sum of the gains of the first k documents, each discounted by its rank.

    ``sum of gain / log2(rank + 1)``, where gain is the grade, or 2^grade - 1 (``"exponential"``), and 0 for
    negative grades.
    """
    gains = ranked.of_grade(_GAINS[gain])
    return ranked.sum_graded(gains * ranked.at_rank(_discount), k, tied=gains * ranked.in_group(_discount, k))


@measure(
    alias("ir_measures", "nDCG@{k}"),
    alias("ir_measures", "nDCG"),
    alias("ir_measures", "NDCG@{k}"),
    alias("ir_measures", "NDCG"),
    alias("trec_eval", "ndcg_cut_{k}"),
    alias("trec_eval", "ndcg"),
    alias("torchmetrics", "RetrievalNormalizedDCG"),
    undefined_without="n_graded",
    reads=("grade",),
    source="Järvelin and Kekäläinen, Cumulated Gain-Based Evaluation of IR Techniques (2002)",
    translations={"dcg": "gain", "log2": "linear", "exp-log2": "exponential"},
)
def ndcg(ranked: Ranked, k: int | None = None, gain: Gain = "linear") -> pl.Expr:
    """DCG@k over that of the best order of all judged documents, retrieved or not.

    ``dcg@k / ideal dcg@k``, with gains as for ``dcg``.
    """
    return dcg.declaration.formula(ranked, k, gain) / ranked.ideal(_GAINS[gain], _discount, k)


_GAINS = {"linear": lambda grade: grade, "exponential": lambda grade: 2**grade - 1}


def _discount(rank: pl.Expr) -> pl.Expr:
    return 1 / (rank + 1).log(2)


@measure(
    alias("ir_measures", "RBP@{k}"),
    alias("ir_measures", "RBP"),
    reads_with={"residual": "judged"},
    has_bounds=True,
    translations={"p": "persistence"},
    source="Moffat and Zobel, Rank-Biased Precision for Measurement of Retrieval Effectiveness (2008)",
)
def rbp(ranked: Ranked, k: int | None = None, persistence: Share = 0.8, residual: bool = False) -> pl.Expr:
    """Relevance found by a user who goes on from each document to the next with probability ``persistence``.

    ``(1 - p) * sum over hits of p^(rank - 1)``. With ``residual``, what the documents that nobody judged, and those
    below the list, could add to it: ``1 - (1 - p) * sum over judged documents of p^(rank - 1)``.
    """
    weight = partial(_persistence, persistence)
    alone, tied = ranked.at_rank(weight), ranked.in_group(weight, k)
    if residual:
        return 1 - ranked.sum_judged(alone, k, tied=tied, of_all=1 - persistence ** ranked.n_within(k))
    return ranked.sum_hits(alone, k, tied=tied)


def _persistence(persistence: float, rank: pl.Expr) -> pl.Expr:
    return (1 - persistence) * persistence ** (rank - 1)


@measure(
    alias("ir_measures", "ERR@{k}"),
    alias("ir_measures", "ERR"),
    undefined_without="n_graded",
    reads=("grade",),
    needs_order_of="grade",
    source="Chapelle et al., Expected Reciprocal Rank for Graded Relevance (CIKM 2009)",
)
def err(ranked: Ranked, k: int | None = None, max_grade: float | None = None) -> pl.Expr:
    """One over the rank, as expected, of the document that satisfies a user who reads from the top.

    ``sum of P(satisfied at rank, and not before) / rank``; a document of grade g satisfies with probability
    (2^g - 1) / 2^max_grade. ``max_grade`` is that of the scale; if None, the largest in the data, or, in an
    expression, in the group.
    """
    largest = ranked.largest_grade
    if max_grade is not None and isinstance(largest, float) and largest > max_grade:
        msg = f"`max_grade` has to be the largest grade at least, which is {largest:g} in the data, got {max_grade}"
        raise ParameterError(msg)
    scale = 2.0 ** (largest if max_grade is None else max_grade)

    def satisfied(grade: pl.Expr) -> pl.Expr:
        return (2**grade - 1) / scale

    reached = ranked.product_above(lambda grade: 1 - satisfied(grade))
    # Whatever documents are tied here are of one grade, and each stands alone.
    return ranked.sum_graded(ranked.of_grade(satisfied) * reached * ranked.at_rank(lambda rank: 1 / rank), k)
