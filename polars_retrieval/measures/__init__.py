"""Every measure: its name, its parameters and its formula over a ranked list. None of them sorts."""

from polars_retrieval.measures.counts import n_judged, n_relevant, n_relevant_retrieved, n_retrieved
from polars_retrieval.measures.declaration import REGISTRY, Measure, metrics, parse, parse_all
from polars_retrieval.measures.ranked import Ranked
from polars_retrieval.measures.set_based import f_measure, hit_rate, precision, r_precision, recall

__all__ = [
    "REGISTRY",
    "Measure",
    "Ranked",
    "f_measure",
    "hit_rate",
    "metrics",
    "n_judged",
    "n_relevant",
    "n_relevant_retrieved",
    "n_retrieved",
    "parse",
    "parse_all",
    "precision",
    "r_precision",
    "recall",
]
