"""Ranked once, measured as often as one likes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polars_retrieval import curve, evaluation
from polars_retrieval.columns import Columns, check_free
from polars_retrieval.inputs import Input
from polars_retrieval.measures import parse_all
from polars_retrieval.options import Options, check_aggregation, check_bool, check_cutoff, check_interval
from polars_retrieval.ranked_frame import Rankings

if TYPE_CHECKING:
    import polars as pl

    from polars_retrieval.frames import Metrics, Names
    from polars_retrieval.names import Duplicates, EmptyTargetAction, MissingQueries, Ties, Unjudged
    from polars_retrieval.options import Aggregation


class RankedLists:
    """The ranked lists of a run: ranking is the expensive step, and is done once, here.

    `evaluate`, `per_query` and `pr_curve` then cost little, whatever the measures and cutoffs.

    Parameters
    ----------
    run
        As for `polars_retrieval.evaluate`, whose other options are the same, too. A LazyFrame is collected.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_retrieval as pr
    >>> run = pl.DataFrame(
    ...     {"query_id": ["q1", "q1", "q2"], "score": [0.9, 0.8, 0.4], "relevance": [True, False, True]}
    ... )
    >>> lists = pr.RankedLists(run)
    >>> lists.evaluate("precision@1").item()
    1.0
    >>> lists.pr_curve(max_k=2)["precision"].to_list()
    [1.0, 0.5]
    """

    def __init__(
        self,
        run: Any,
        *,
        qrels: Any = None,
        by: Names | None = None,
        query: Names = "query_id",
        doc: str = "doc_id",
        score: str = "score",
        relevance: str = "relevance",
        queries: Any = None,
        duplicates: Duplicates = "error",
        n_relevant: str | None = None,
        ties: Ties = "expected",
        unjudged: Unjudged = "nonrelevant",
        missing_queries: MissingQueries = "zero",
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        min_relevance: float = 1,
    ) -> None:
        columns = Columns.of(query, doc, score, relevance, by, n_relevant)
        options = Options(
            ties=ties,
            unjudged=unjudged,
            missing_queries=missing_queries,
            empty_target_action=empty_target_action,
            ignore_index=ignore_index,
            min_relevance=min_relevance,
        )
        given = Input.of(run, qrels, columns, needs_doc=ties == "doc_id", queries=queries, duplicates=duplicates)
        self._rankings = Rankings(given.rows(options), columns, options)
        if missing_queries == "error":  # as all that is wrong with the run is said here
            self._rankings.of([])

    def evaluate(
        self,
        metrics: Metrics,
        *,
        aggregation: Aggregation = "mean",
        bounds: bool = False,
        interval: float | None = None,
        n_queries: bool = False,
    ) -> pl.DataFrame:
        """Measure how well the system ranks; see `polars_retrieval.evaluate`."""
        measures = parse_all(metrics)
        check_aggregation(aggregation)
        check_bool("bounds", bounds)
        check_interval(interval, aggregation)
        check_bool("n_queries", n_queries)
        names = evaluation.result_names(measures, bounds=bounds, interval=interval, n_queries=n_queries)
        check_free(names, self._rankings.columns.by)
        return evaluation.evaluate(
            self._rankings, measures, aggregation, bounds=bounds, interval=interval, n_queries=n_queries
        )

    def per_query(self, metrics: Metrics, *, bounds: bool = False) -> pl.DataFrame:
        """Measure how well the system ranks, query by query; see `polars_retrieval.per_query`."""
        measures = parse_all(metrics)
        check_bool("bounds", bounds)
        check_free(evaluation.result_names(measures, bounds=bounds), self._rankings.columns.ids)
        return evaluation.per_query(self._rankings, measures, bounds=bounds)

    def pr_curve(
        self, *, max_k: int | None = None, adaptive_k: bool = False, aggregation: Aggregation = "mean"
    ) -> pl.DataFrame:
        """Trace precision and recall for every cutoff; see `polars_retrieval.pr_curve`."""
        check_cutoff("max_k", max_k)
        check_bool("adaptive_k", adaptive_k)
        check_aggregation(aggregation)
        check_free(("k", "precision", "recall"), self._rankings.columns.by)
        return curve.curve(self._rankings, max_k, aggregation, adaptive_k=adaptive_k)
