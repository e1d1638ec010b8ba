"""Ranked once, measured as often as one likes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polars_retrieval import curve, evaluation
from polars_retrieval.columns import Columns, check_free
from polars_retrieval.inputs import Input
from polars_retrieval.measures import Measure, all_reads, parse_all
from polars_retrieval.options import Options, check_aggregation, check_bool, check_cutoff
from polars_retrieval.ranked_frame import Ranking, rank_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from polars_retrieval.frames import Metrics, Names
    from polars_retrieval.names import EmptyTargetAction, MissingQueries, Ties, Unjudged
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
        ties: Ties = "expected",
        unjudged: Unjudged = "nonrelevant",
        missing_queries: MissingQueries = "zero",
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        min_relevance: float = 1,
    ) -> None:
        self._columns = Columns.of(query, doc, score, relevance, by)
        self._options = Options(
            ties=ties,
            unjudged=unjudged,
            missing_queries=missing_queries,
            empty_target_action=empty_target_action,
            ignore_index=ignore_index,
            min_relevance=min_relevance,
        )
        given = Input.of(run, qrels, self._columns, needs_doc=ties == "doc_id")
        self._frame = given.collect()
        self._ranking = rank_frame(self._frame, self._columns, self._options)

    def evaluate(self, metrics: Metrics, *, aggregation: Aggregation = "mean") -> pl.DataFrame:
        """Measure how well the system ranks; see `polars_retrieval.evaluate`."""
        measures = parse_all(metrics)
        check_free(map(str, measures), self._columns.by)
        check_aggregation(aggregation)
        return evaluation.evaluate(self._ranking_for(measures), measures, self._columns, self._options, aggregation)

    def per_query(self, metrics: Metrics) -> pl.DataFrame:
        """Measure how well the system ranks, query by query; see `polars_retrieval.per_query`."""
        measures = parse_all(metrics)
        check_free(map(str, measures), self._columns.ids)
        return evaluation.per_query(self._ranking_for(measures), measures, self._columns, self._options)

    def pr_curve(
        self, *, max_k: int | None = None, adaptive_k: bool = False, aggregation: Aggregation = "mean"
    ) -> pl.DataFrame:
        """Trace precision and recall for every cutoff; see `polars_retrieval.pr_curve`."""
        check_cutoff("max_k", max_k)
        check_bool("adaptive_k", adaptive_k)
        check_aggregation(aggregation)
        check_free(("k", "precision", "recall"), self._columns.by)
        return curve.curve(self._ranking, max_k, self._columns, self._options, aggregation, adaptive_k=adaptive_k)

    def _ranking_for(self, measures: Sequence[Measure]) -> Ranking:
        """Return the ranking; made anew if the measures want to know more of the documents than those before."""
        reads = all_reads(measures)
        if not reads <= self._ranking.reads:
            self._ranking = rank_frame(self._frame, self._columns, self._options, reads | self._ranking.reads)
        return self._ranking
