"""Ranked-retrieval evaluation for Polars and torch.

Importing it registers the namespace ``.retrieval`` on DataFrame, LazyFrame and Expr.
"""

from polars_retrieval import errors, namespaces, plot  # noqa: F401 (registers the namespaces)
from polars_retrieval.frames import evaluate, judge, per_query, pr_curve, rank
from polars_retrieval.measures import (
    Measure,
    f_measure,
    hit_rate,
    metrics,
    n_judged,
    n_relevant,
    n_relevant_retrieved,
    n_retrieved,
    parse,
    precision,
    r_precision,
    recall,
)
from polars_retrieval.ranked_lists import RankedLists

__version__ = "0.1.0"

__all__ = [
    "Measure",
    "RankedLists",
    "errors",
    "evaluate",
    "f_measure",
    "hit_rate",
    "judge",
    "metrics",
    "n_judged",
    "n_relevant",
    "n_relevant_retrieved",
    "n_retrieved",
    "parse",
    "per_query",
    "plot",
    "pr_curve",
    "precision",
    "r_precision",
    "rank",
    "recall",
]
