"""Ranked-retrieval evaluation for Polars and torch.

Importing it registers the namespace ``.retrieval`` on DataFrame, LazyFrame and Expr.
"""

from polars_retrieval import errors, namespaces, plot, tables  # noqa: F401 (registers the namespaces)
from polars_retrieval.comparison.coverage import coverage
from polars_retrieval.comparison.differences import differences
from polars_retrieval.comparison.pairs import compare
from polars_retrieval.comparison.summaries import summarize
from polars_retrieval.frames import evaluate, judge, per_query, pr_curve, rank
from polars_retrieval.io import read_qrels, read_run, scan_qrels, scan_run, write_qrels, write_run
from polars_retrieval.measures import (
    Measure,
    auroc,
    average_precision,
    bpref,
    dcg,
    err,
    f_measure,
    fall_out,
    hit_rate,
    interpolated_precision,
    judged,
    metrics,
    n_judged,
    n_relevant,
    n_relevant_retrieved,
    n_retrieved,
    ndcg,
    parse,
    precision,
    r_precision,
    rbp,
    recall,
    recall_at_precision,
    reciprocal_rank,
)
from polars_retrieval.ranked_lists import RankedLists

__version__ = "0.1.0"

__all__ = [
    "Measure",
    "RankedLists",
    "auroc",
    "average_precision",
    "bpref",
    "compare",
    "coverage",
    "dcg",
    "differences",
    "err",
    "errors",
    "evaluate",
    "f_measure",
    "fall_out",
    "hit_rate",
    "interpolated_precision",
    "judge",
    "judged",
    "metrics",
    "n_judged",
    "n_relevant",
    "n_relevant_retrieved",
    "n_retrieved",
    "ndcg",
    "parse",
    "per_query",
    "plot",
    "pr_curve",
    "precision",
    "r_precision",
    "rank",
    "rbp",
    "read_qrels",
    "read_run",
    "recall",
    "recall_at_precision",
    "reciprocal_rank",
    "scan_qrels",
    "scan_run",
    "summarize",
    "tables",
    "write_qrels",
    "write_run",
]
