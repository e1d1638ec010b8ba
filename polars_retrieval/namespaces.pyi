# Written by docs/make_stubs.py: do not edit.
# Its docstrings, wrapped for another place, are for editors: the methods of the measures stand in no source.
# ruff: noqa: E501, PYI021

from typing import Any

import polars as pl
from typing_extensions import Unpack

from polars_retrieval.comparison.pairs import CompareOptions
from polars_retrieval.comparison.summaries import SummarizeOptions
from polars_retrieval.expressions import Count, IntoExpr
from polars_retrieval.frames import (
    CurveOptions,
    EvaluateOptions,
    JudgeOptions,
    Metrics,
    PerQueryOptions,
    RankOptions,
)
from polars_retrieval.measures.declaration import Denominator, Gain, Part, Share
from polars_retrieval.names import EmptyTargetAction, MissingQueries, Ties, Unjudged

class DataFrameRetrieval:
    def __init__(self, frame: pl.DataFrame) -> None: ...
    def evaluate(self, metrics: Metrics, **options: Unpack[EvaluateOptions]) -> pl.DataFrame:
        """Measure how well the system ranks; see `polars_retrieval.evaluate`."""

    def per_query(self, metrics: Metrics, **options: Unpack[PerQueryOptions]) -> pl.DataFrame:
        """Measure how well the system ranks, query by query; see `polars_retrieval.per_query`."""

    def pr_curve(self, **options: Unpack[CurveOptions]) -> pl.DataFrame:
        """Trace precision and recall for every cutoff; see `polars_retrieval.pr_curve`."""

    def rank(self, **options: Unpack[RankOptions]) -> pl.DataFrame:
        """Rank the documents within each query; see `polars_retrieval.rank`."""

    def judge(self, qrels: Any, **options: Unpack[JudgeOptions]) -> pl.DataFrame:
        """Join the run with its judgments; see `polars_retrieval.judge`."""

    def summarize(self, **options: Unpack[SummarizeOptions]) -> pl.DataFrame:
        """Say how sure one can be of each measure's mean; see `polars_retrieval.summarize`."""

    def compare(self, metrics: Metrics | None = None, **options: Unpack[CompareOptions]) -> pl.DataFrame:
        """Say which system is better, and by how much; see `polars_retrieval.compare`."""

class LazyFrameRetrieval:
    def __init__(self, frame: pl.LazyFrame) -> None: ...
    def evaluate(self, metrics: Metrics, **options: Unpack[EvaluateOptions]) -> pl.LazyFrame:
        """Measure how well the system ranks; see `polars_retrieval.evaluate`."""

    def per_query(self, metrics: Metrics, **options: Unpack[PerQueryOptions]) -> pl.LazyFrame:
        """Measure how well the system ranks, query by query; see `polars_retrieval.per_query`."""

    def pr_curve(self, **options: Unpack[CurveOptions]) -> pl.LazyFrame:
        """Trace precision and recall for every cutoff; see `polars_retrieval.pr_curve`."""

    def rank(self, **options: Unpack[RankOptions]) -> pl.LazyFrame:
        """Rank the documents within each query; see `polars_retrieval.rank`."""

    def judge(self, qrels: Any, **options: Unpack[JudgeOptions]) -> pl.LazyFrame:
        """Join the run with its judgments; see `polars_retrieval.judge`."""

    def summarize(self, **options: Unpack[SummarizeOptions]) -> pl.LazyFrame:
        """Say how sure one can be of each measure's mean; see `polars_retrieval.summarize`."""

    def compare(self, metrics: Metrics | None = None, **options: Unpack[CompareOptions]) -> pl.LazyFrame:
        """Say which system is better, and by how much; see `polars_retrieval.compare`."""

class ExprRetrieval:
    def __init__(self, expr: pl.Expr) -> None: ...
    def rank(self, *, ties: Ties = "stable", doc: IntoExpr | None = None, relevance: IntoExpr | None = None) -> pl.Expr:
        """Rank scores within the group, from 1; null where the score is null.

        Takes `ties` (``"stable"`` by default), `doc` for ``ties="doc_id"`` and `relevance` for ``"pessimistic"`` and
        ``"optimistic"``.
        """

    def cumulative_hits(
        self,
        score: IntoExpr,
        *,
        ties: Ties = "stable",
        doc: IntoExpr | None = None,
        min_relevance: float = 1,
    ) -> pl.Expr:
        """Count, for each row, the relevant documents at its rank and above.

        Takes `ties` (``"stable"`` by default), `doc` and `min_relevance`.
        """

    def pr_curve(
        self,
        score: IntoExpr,
        *,
        max_k: int | None = None,
        adaptive_k: bool = False,
        n_relevant: Count | None = None,
        doc: IntoExpr | None = None,
        ties: Ties = "expected",
        unjudged: Unjudged = "nonrelevant",
        missing_queries: MissingQueries = "zero",
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        min_relevance: float = 1,
    ) -> pl.Expr:
        """Trace the group's precision and recall: a struct of the lists `k`, `precision` and `recall`.

        Takes `max_k`, `adaptive_k` and what the measures take beside their own parameters.
        """

    def n_retrieved(
        self,
        score: IntoExpr,
        *,
        n_relevant: Count | None = None,
        doc: IntoExpr | None = None,
        ties: Ties = "expected",
        unjudged: Unjudged = "nonrelevant",
        missing_queries: MissingQueries = "zero",
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        min_relevance: float = 1,
    ) -> pl.Expr:
        """Documents that were retrieved, that is, have a score."""

    def n_relevant(
        self,
        score: IntoExpr,
        *,
        n_relevant: Count | None = None,
        doc: IntoExpr | None = None,
        ties: Ties = "expected",
        unjudged: Unjudged = "nonrelevant",
        missing_queries: MissingQueries = "zero",
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        min_relevance: float = 1,
    ) -> pl.Expr:
        """Relevant documents that are known, retrieved or not."""

    def n_relevant_retrieved(
        self,
        score: IntoExpr,
        *,
        n_relevant: Count | None = None,
        doc: IntoExpr | None = None,
        ties: Ties = "expected",
        unjudged: Unjudged = "nonrelevant",
        missing_queries: MissingQueries = "zero",
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        min_relevance: float = 1,
    ) -> pl.Expr:
        """Relevant documents that were retrieved."""

    def n_judged(
        self,
        score: IntoExpr,
        *,
        n_relevant: Count | None = None,
        doc: IntoExpr | None = None,
        ties: Ties = "expected",
        unjudged: Unjudged = "nonrelevant",
        missing_queries: MissingQueries = "zero",
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        min_relevance: float = 1,
    ) -> pl.Expr:
        """Documents that were judged, retrieved or not."""

    def dcg(
        self,
        score: IntoExpr,
        *,
        k: int | None = None,
        gain: Gain = "linear",
        n_relevant: Count | None = None,
        doc: IntoExpr | None = None,
        ties: Ties = "expected",
        unjudged: Unjudged = "nonrelevant",
        missing_queries: MissingQueries = "zero",
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        min_relevance: float = 1,
    ) -> pl.Expr:
        """Sum of the gains of the first k documents, each discounted by its rank.

        ``sum of gain / log2(rank + 1)``, where gain is the grade, or 2^grade - 1 (``"exponential"``), and 0 for
        negative grades.
        """

    def ndcg(
        self,
        score: IntoExpr,
        *,
        k: int | None = None,
        gain: Gain = "linear",
        n_relevant: Count | None = None,
        doc: IntoExpr | None = None,
        ties: Ties = "expected",
        unjudged: Unjudged = "nonrelevant",
        missing_queries: MissingQueries = "zero",
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        min_relevance: float = 1,
    ) -> pl.Expr:
        """DCG@k over that of the best order of all judged documents, retrieved or not.

        ``dcg@k / ideal dcg@k``, with gains as for ``dcg``.
        """

    def rbp(
        self,
        score: IntoExpr,
        *,
        k: int | None = None,
        persistence: Share = 0.8,
        residual: bool = False,
        n_relevant: Count | None = None,
        doc: IntoExpr | None = None,
        ties: Ties = "expected",
        unjudged: Unjudged = "nonrelevant",
        missing_queries: MissingQueries = "zero",
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        min_relevance: float = 1,
    ) -> pl.Expr:
        """Relevance found by a user who goes on from each document to the next with probability ``persistence``.

        ``(1 - p) * sum over hits of p^(rank - 1)``. With ``residual``, what the documents that nobody judged, and those
        below the list, could add to it: ``1 - (1 - p) * sum over judged documents of p^(rank - 1)``.
        """

    def err(
        self,
        score: IntoExpr,
        *,
        k: int | None = None,
        max_grade: float | None = None,
        n_relevant: Count | None = None,
        doc: IntoExpr | None = None,
        ties: Ties = "expected",
        unjudged: Unjudged = "nonrelevant",
        missing_queries: MissingQueries = "zero",
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        min_relevance: float = 1,
    ) -> pl.Expr:
        """One over the rank, as expected, of the document that satisfies a user who reads from the top.

        ``sum of P(satisfied at rank, and not before) / rank``; a document of grade g satisfies with probability
        (2^g - 1) / 2^max_grade. ``max_grade`` is that of the scale; if None, the largest in the data, or, in an
        expression, in the group.
        """

    def reciprocal_rank(
        self,
        score: IntoExpr,
        *,
        k: int | None = None,
        n_relevant: Count | None = None,
        doc: IntoExpr | None = None,
        ties: Ties = "expected",
        unjudged: Unjudged = "nonrelevant",
        missing_queries: MissingQueries = "zero",
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        min_relevance: float = 1,
    ) -> pl.Expr:
        """One over the rank of the first relevant document; 0 if none is among the first k.

        ``1 / rank``.
        """

    def average_precision(
        self,
        score: IntoExpr,
        *,
        k: int | None = None,
        denominator: Denominator = "relevant",
        n_relevant: Count | None = None,
        doc: IntoExpr | None = None,
        ties: Ties = "expected",
        unjudged: Unjudged = "nonrelevant",
        missing_queries: MissingQueries = "zero",
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        min_relevance: float = 1,
    ) -> pl.Expr:
        """Mean, over the relevant documents, of precision at the rank of each; 0 for those not among the first k.

        ``(sum over hits within k of hits-so-far / rank) / n_relevant``. With ``denominator="min"``,
        ``min(k, n_relevant)`` divides; with ``"hits"``, hits@k, as in torchmetrics.
        """

    def auroc(
        self,
        score: IntoExpr,
        *,
        k: int | None = None,
        max_fpr: Part | None = None,
        n_relevant: Count | None = None,
        doc: IntoExpr | None = None,
        ties: Ties = "expected",
        unjudged: Unjudged = "nonrelevant",
        missing_queries: MissingQueries = "zero",
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        min_relevance: float = 1,
    ) -> pl.Expr:
        """Share of the pairs of a relevant and another document, among the first k, that are ranked the right way round.

        ``pairs in the right order / (hits@k * other documents among the first k)``; tied pairs count half. 0 where there is
        no pair. With ``max_fpr`` m, only the first share m of the other documents count: the area A under the ROC curve up
        to that false positive rate, as ``(1 + (A - m^2 / 2) / (m - m^2 / 2)) / 2`` (McClish 1989), which is 1/2 for a list
        in random order. Through tied documents that m cuts scikit-learn and torchmetrics draw a straight line; this is the
        mean over their orders.
        """

    def bpref(
        self,
        score: IntoExpr,
        *,
        n_relevant: Count | None = None,
        doc: IntoExpr | None = None,
        ties: Ties = "expected",
        unjudged: Unjudged = "nonrelevant",
        missing_queries: MissingQueries = "zero",
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        min_relevance: float = 1,
    ) -> pl.Expr:
        """How rarely documents judged non-relevant stand above relevant ones; unjudged documents do not matter.

        ``sum over hits of 1 - min(judged non-relevant above, R) / min(R, N), divided by R``, where R and N count the
        judged documents that are relevant and that are not; as trec_eval, which takes a negative grade as unjudged.
        """

    def interpolated_precision(
        self,
        score: IntoExpr,
        *,
        recall: Share | None = None,
        n_relevant: Count | None = None,
        doc: IntoExpr | None = None,
        ties: Ties = "expected",
        unjudged: Unjudged = "nonrelevant",
        missing_queries: MissingQueries = "zero",
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        min_relevance: float = 1,
    ) -> pl.Expr:
        """Largest precision at a level of recall or beyond it; without a level, the mean over 0, 0.1, …, 1.

        ``max over k with hits@k >= recall * n_relevant of hits@k / k``. Levels are exact decimal fractions.
        """

    def recall_at_precision(
        self,
        score: IntoExpr,
        *,
        k: int | None = None,
        min_precision: Share = 0.5,
        n_relevant: Count | None = None,
        doc: IntoExpr | None = None,
        ties: Ties = "expected",
        unjudged: Unjudged = "nonrelevant",
        missing_queries: MissingQueries = "zero",
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        min_relevance: float = 1,
    ) -> pl.Expr:
        """Largest recall at a cutoff, up to k, where precision is at least ``min_precision``; 0 if there is none.

        ``max over k with hits@k / k >= min_precision of hits@k / n_relevant``. Of tied documents, hits@k is its expected
        value. torchmetrics' class of this name reads it from the mean curve over queries instead.
        """

    def precision(
        self,
        score: IntoExpr,
        *,
        k: int | None = None,
        adaptive_k: bool = False,
        n_relevant: Count | None = None,
        doc: IntoExpr | None = None,
        ties: Ties = "expected",
        unjudged: Unjudged = "nonrelevant",
        missing_queries: MissingQueries = "zero",
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        min_relevance: float = 1,
    ) -> pl.Expr:
        """Share of the first k documents that are relevant.

        ``hits@k / k``; with ``adaptive_k``, or without k, the length of a list shorter than k divides. trec_eval's
        ``P_k`` and torchmetrics' default divide by k.
        """

    def recall(
        self,
        score: IntoExpr,
        *,
        k: int | None = None,
        capped: bool = False,
        n_relevant: Count | None = None,
        doc: IntoExpr | None = None,
        ties: Ties = "expected",
        unjudged: Unjudged = "nonrelevant",
        missing_queries: MissingQueries = "zero",
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        min_relevance: float = 1,
    ) -> pl.Expr:
        """Share of the known relevant documents that are among the first k.

        ``hits@k / n_relevant``; documents that were never retrieved count in n_relevant. With ``capped``,
        ``min(k, n_relevant)`` divides, so that the best possible list scores 1.
        """

    def r_precision(
        self,
        score: IntoExpr,
        *,
        n_relevant: Count | None = None,
        doc: IntoExpr | None = None,
        ties: Ties = "expected",
        unjudged: Unjudged = "nonrelevant",
        missing_queries: MissingQueries = "zero",
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        min_relevance: float = 1,
    ) -> pl.Expr:
        """Precision at k = the number of known relevant documents, where precision equals recall.

        ``hits@n_relevant / n_relevant``.
        """

    def f_measure(
        self,
        score: IntoExpr,
        *,
        k: int | None = None,
        beta: float = 1,
        adaptive_k: bool = False,
        n_relevant: Count | None = None,
        doc: IntoExpr | None = None,
        ties: Ties = "expected",
        unjudged: Unjudged = "nonrelevant",
        missing_queries: MissingQueries = "zero",
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        min_relevance: float = 1,
    ) -> pl.Expr:
        """Harmonic mean of precision@k and recall@k; ``beta`` weights recall.

        ``(1 + beta²) P R / (beta² P + R)``, and 0 when both are 0. Of tied documents P and R are expected values.
        """

    def hit_rate(
        self,
        score: IntoExpr,
        *,
        k: int | None = None,
        n_relevant: Count | None = None,
        doc: IntoExpr | None = None,
        ties: Ties = "expected",
        unjudged: Unjudged = "nonrelevant",
        missing_queries: MissingQueries = "zero",
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        min_relevance: float = 1,
    ) -> pl.Expr:
        """Whether any relevant document is among the first k.

        ``1 if hits@k > 0 else 0``; of tied documents, the probability of that over all their orders.
        """

    def fall_out(
        self,
        score: IntoExpr,
        *,
        k: int | None = None,
        n_relevant: Count | None = None,
        doc: IntoExpr | None = None,
        ties: Ties = "expected",
        unjudged: Unjudged = "nonrelevant",
        missing_queries: MissingQueries = "zero",
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        min_relevance: float = 1,
    ) -> pl.Expr:
        """Share of the known non-relevant documents that are among the first k: lower is better.

        ``(min(k, n_retrieved) - hits@k) / n_nonrelevant``; non-relevant are those judged so, and those retrieved without
        a judgment.
        """

    def judged(
        self,
        score: IntoExpr,
        *,
        k: int | None = None,
        n_relevant: Count | None = None,
        doc: IntoExpr | None = None,
        ties: Ties = "expected",
        unjudged: Unjudged = "nonrelevant",
        missing_queries: MissingQueries = "zero",
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        min_relevance: float = 1,
    ) -> pl.Expr:
        """Share of the first k documents that somebody judged: how far to trust the other measures.

        ``judged documents among the first k / min(k, n_retrieved)``.
        """
