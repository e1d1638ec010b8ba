"""Every measure: its name, its parameters and its formula over a ranked list. None of them sorts."""

from polars_retrieval.measures.counts import n_judged, n_relevant, n_relevant_retrieved, n_retrieved
from polars_retrieval.measures.declaration import REGISTRY, SETS, Measure, all_reads, metrics, parse, parse_all
from polars_retrieval.measures.graded import dcg, err, ndcg, rbp
from polars_retrieval.measures.rank_aware import (
    auroc,
    average_precision,
    bpref,
    interpolated_precision,
    recall_at_precision,
    reciprocal_rank,
)
from polars_retrieval.measures.ranked import Ranked
from polars_retrieval.measures.set_based import (
    f_measure,
    fall_out,
    hit_rate,
    judged,
    precision,
    r_precision,
    recall,
)

__all__ = [
    "REGISTRY",
    "SETS",
    "Measure",
    "Ranked",
    "all_reads",
    "auroc",
    "average_precision",
    "bpref",
    "dcg",
    "err",
    "f_measure",
    "fall_out",
    "hit_rate",
    "interpolated_precision",
    "judged",
    "metrics",
    "n_judged",
    "n_relevant",
    "n_relevant_retrieved",
    "n_retrieved",
    "ndcg",
    "parse",
    "parse_all",
    "precision",
    "r_precision",
    "rbp",
    "recall",
    "recall_at_precision",
    "reciprocal_rank",
]
