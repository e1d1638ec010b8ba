"""Counts: how much there was to retrieve, and how much was retrieved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polars_retrieval.measures.declaration import alias, measure

if TYPE_CHECKING:
    import polars as pl

    from polars_retrieval.measures.ranked import Ranked

_UNBOUNDED = (0, float("inf"))


@measure(
    alias("ir_measures", "NumRet"),
    alias("trec_eval", "num_ret"),
    undefined_without=None,
    bounds=_UNBOUNDED,
    source="trec_eval",
)
def n_retrieved(ranked: Ranked) -> pl.Expr:
    """Documents that were retrieved, that is, have a score."""
    return ranked.n_retrieved


@measure(
    alias("ir_measures", "NumRel"),
    alias("trec_eval", "num_rel"),
    undefined_without=None,
    bounds=_UNBOUNDED,
    source="trec_eval",
)
def n_relevant(ranked: Ranked) -> pl.Expr:
    """Relevant documents that are known, retrieved or not."""
    return ranked.n_relevant


@measure(
    alias("ir_measures", "NumRelRet"),
    alias("trec_eval", "num_rel_ret"),
    undefined_without=None,
    bounds=_UNBOUNDED,
    source="trec_eval",
)
def n_relevant_retrieved(ranked: Ranked) -> pl.Expr:
    """Relevant documents that were retrieved."""
    return ranked.count_hits(None)


@measure(undefined_without=None, bounds=_UNBOUNDED, source="polars_retrieval")
def n_judged(ranked: Ranked) -> pl.Expr:
    """Documents that were judged, retrieved or not."""
    return ranked.n_judged
