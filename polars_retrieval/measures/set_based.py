"""Measures of the first k documents as a set: their order does not count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polars_retrieval.measures.chance import log_chance_of_none
from polars_retrieval.measures.declaration import alias, measure
from polars_retrieval.measures.ranked import least, ratio, where

if TYPE_CHECKING:
    import polars as pl

    from polars_retrieval.measures.ranked import Ranked


@measure(
    alias("ir_measures", "P@{k}"),
    alias("ir_measures", "SetP"),
    alias("trec_eval", "P_{k}"),
    alias("trec_eval", "set_P"),
    alias("torchmetrics", "RetrievalPrecision"),
    alias("other", "precision_{k}"),
    has_bounds=True,
    source="Van Rijsbergen, Information Retrieval (1979), chapter 7",
)
def precision(ranked: Ranked, k: int | None = None, adaptive_k: bool = False) -> pl.Expr:
    """Share of the first k documents that are relevant.

    ``hits@k / k``; with ``adaptive_k``, or without k, the length of a list shorter than k divides. trec_eval's
    ``P_k`` and torchmetrics' default divide by k.
    """
    return ranked.count_hits(k) / ranked.depth(k, adaptive_k=adaptive_k)


@measure(
    alias("ir_measures", "R@{k}"),
    alias("ir_measures", "SetR"),
    alias("trec_eval", "recall_{k}"),
    alias("trec_eval", "relative_P_{k}", capped=True),
    alias("trec_eval", "set_recall"),
    alias("torchmetrics", "RetrievalRecall"),
    source="Van Rijsbergen, Information Retrieval (1979), chapter 7",
)
def recall(ranked: Ranked, k: int | None = None, capped: bool = False) -> pl.Expr:
    """Share of the known relevant documents that are among the first k.

    ``hits@k / n_relevant``; documents that were never retrieved count in n_relevant. With ``capped``,
    ``min(k, n_relevant)`` divides, so that the best possible list scores 1.
    """
    most = ranked.n_relevant if k is None or not capped else least(ranked.n_relevant, k)
    return ranked.count_hits(k) / most


@measure(
    alias("ir_measures", "Rprec"),
    alias("ir_measures", "RPrec"),
    alias("trec_eval", "Rprec"),
    alias("torchmetrics", "RetrievalRPrecision"),
    source="Buckley and Voorhees, Retrieval System Evaluation, in TREC (2005), chapter 3",
)
def r_precision(ranked: Ranked) -> pl.Expr:
    """Precision at k = the number of known relevant documents, where precision equals recall.

    ``hits@n_relevant / n_relevant``.
    """
    return ranked.count_hits(ranked.n_relevant) / ranked.n_relevant


@measure(
    alias("ir_measures", "F@{k}"),
    alias("ir_measures", "SetF"),
    alias("trec_eval", "set_F"),
    source="Van Rijsbergen, Information Retrieval (1979), chapter 7",
)
def f_measure(ranked: Ranked, k: int | None = None, beta: float = 1, adaptive_k: bool = False) -> pl.Expr:
    """Harmonic mean of precision@k and recall@k; ``beta`` weights recall.

    ``(1 + beta²) P R / (beta² P + R)``, and 0 when both are 0. Of tied documents P and R are expected values.
    """
    # With P = hits / depth and R = hits / n_relevant, the hits cancel once; so nothing divides by 0.
    hits, depth = ranked.count_hits(k), ranked.depth(k, adaptive_k=adaptive_k)
    return (1 + beta**2) * hits / (beta**2 * ranked.n_relevant + depth)


@measure(
    alias("ir_measures", "Success@{k}"),
    alias("trec_eval", "success_{k}"),
    alias("torchmetrics", "RetrievalHitRate"),
    has_bounds=True,
    source="TREC web tracks' success@k; hit rate in recommendation",
)
def hit_rate(ranked: Ranked, k: int | None = None) -> pl.Expr:
    """Whether any relevant document is among the first k.

    ``1 if hits@k > 0 else 0``; of tied documents, the probability of that over all their orders.
    """
    if k is None or not ranked.has_ties:
        return where(ranked.count_hits(k) > 0, 1.0, 0.0)
    # Only the first tie group with a hit decides; of its documents, `seen` are among the first k.
    above, tied, hits = map(ranked.first_hit, (ranked.above, ranked.tied, ranked.tied_hits))
    seen = (k - above).clip(0.0, tied)
    found = 1 - log_chance_of_none(tied, hits, seen).exp()
    return where(hits == 0, 0.0, where(seen + hits <= tied, found, 1.0))


@measure(
    alias("torchmetrics", "RetrievalFallOut"),
    alias("other", "fallout_{k}"),
    undefined_without="n_nonrelevant",
    higher_is_better=False,
    source="Van Rijsbergen, Information Retrieval (1979), chapter 7",
)
def fall_out(ranked: Ranked, k: int | None = None) -> pl.Expr:
    """Share of the known non-relevant documents that are among the first k: lower is better.

    ``(min(k, n_retrieved) - hits@k) / n_nonrelevant``; non-relevant are those judged so, and those retrieved without
    a judgment.
    """
    return (ranked.n_within(k) - ranked.count_hits(k)) / ranked.n_nonrelevant


@measure(
    alias("ir_measures", "Judged@{k}"),
    undefined_without=None,
    reads=("judged",),
    source="MacAvaney et al., Streamlining Evaluation with ir-measures (ECIR 2022)",
)
def judged(ranked: Ranked, k: int | None = None) -> pl.Expr:
    """Share of the first k documents that somebody judged: how far to trust the other measures.

    ``judged documents among the first k / min(k, n_retrieved)``.
    """
    n_within = ranked.n_within(k)
    return ratio(ranked.sum_judged(1.0, k, of_all=n_within), n_within)
