"""Ranking and measures as expressions, for the caller's own `select`, `group_by().agg()` and `.over()`.

A NaN score cannot raise from within an expression: it makes the result NaN, or the rank null.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_retrieval import measures
from polars_retrieval.errors import ParameterError
from polars_retrieval.evaluation import masked
from polars_retrieval.measures import Measure, Ranked
from polars_retrieval.options import Options, check_bool, check_cutoff, check_row_ties
from polars_retrieval.ranking import in_order, rank_in_group, tie_bounds

if TYPE_CHECKING:
    from polars_retrieval.names import Ties

    IntoExpr = pl.Expr | str
    Count = pl.Expr | str | int


def _as_expr(value: IntoExpr) -> pl.Expr:
    return pl.col(value) if isinstance(value, str) else value


def _options(**given: Any) -> Options:
    options = Options(**given)
    for argument in ("empty_target_action", "unjudged", "missing_queries"):
        if getattr(options, argument) == "error":
            msg = f'`{argument}="error"` is not for expressions, which cannot raise; the functions on frames take it'
            raise ParameterError(msg)
    return options


@dataclass(frozen=True)
class Group:
    """The rows of one query, as expressions within a group, and how they are ranked."""

    score: pl.Expr
    relevance: pl.Expr
    doc: pl.Expr
    options: Options

    @classmethod
    def of(cls, score: IntoExpr, relevance: IntoExpr, doc: IntoExpr | None, options: Options) -> Group:
        """Take the rows of a group, but those to be ignored."""
        if options.ties == "doc_id" and doc is None:
            msg = '`ties="doc_id"` needs `doc`, the column of the documents\' ids'
            raise ParameterError(msg)
        group = cls(_as_expr(score), _as_expr(relevance), _as_expr(score if doc is None else doc), options)
        if options.ignore_index is None:
            return group
        kept = group.relevance.cast(pl.Float64).ne_missing(options.ignore_index)
        return cls(group.score.filter(kept), group.relevance.filter(kept), group.doc.filter(kept), options)

    @property
    def retrieved(self) -> pl.Expr:
        """Whether each document stands in the ranked list."""
        if self.options.unjudged == "drop":
            return self.score.is_not_null() & self.relevance.is_not_null()
        return self.score.is_not_null()

    @property
    def relevant(self) -> pl.Expr:
        """Whether each document is relevant."""
        return (self.relevance.cast(pl.Float64) >= self.options.min_relevance).fill_null(value=False)

    def in_order(self, column: pl.Expr) -> pl.Expr:
        """Sort a column of the retrieved documents by rank."""
        column, score, level, doc = (
            part.filter(self.retrieved) for part in (column, self.score, self.relevant, self.doc)
        )
        return in_order(column, score, level, doc, self.options.ties)

    def tie_groups(self) -> tuple[pl.Expr, pl.Expr]:
        """Give, for each place in order, how many documents stand above its tie group, and down to its end."""
        if self.options.ties == "expected":
            return tie_bounds(self.in_order(self.score))
        place = pl.int_range(self.retrieved.sum())
        return place, place + 1

    def ranks(self) -> pl.Expr:
        """Give each row's rank, from 1; null where it has none."""
        rank = rank_in_group(self.score, self.relevant, self.doc, self.options.ties)
        return pl.when(~self.has_nan).then(rank)

    def ranked(self, n_relevant: Count | None) -> Ranked:
        """Bind formulas to the group."""
        hit, (above, end) = self.in_order(self.relevant), self.tie_groups()
        place = hit.arg_true()
        return Ranked(
            n_retrieved=self.retrieved.sum().cast(pl.Float64),
            n_relevant=(self.relevant.sum() if n_relevant is None else _once(n_relevant)).cast(pl.Float64),
            n_judged=self.relevance.is_not_null().sum().cast(pl.Float64),
            above=above.gather(place).cast(pl.Float64),
            tied=(end - above).gather(place).cast(pl.Float64),
            hits_above=self.hits_above(above).gather(place).cast(pl.Float64),
            tied_hits=(self.hits_above(end) - self.hits_above(above)).gather(place).cast(pl.Float64),
            sum=pl.Expr.sum,
        )

    def hits_above(self, place: pl.Expr) -> pl.Expr:
        """Count the hits above each of some places in order, from 0 to the number of documents."""
        down_to = self.in_order(self.relevant).cast(pl.Int64).cum_sum()
        return pl.when(place > 0).then(down_to.gather(place - 1, null_on_oob=True)).otherwise(0)

    def expected_hits(self) -> pl.Expr:
        """Count the hits down to each place in order; a tie group's hits spread evenly over its places."""
        above, end = self.tie_groups()
        return ((self.hits_above(end) - self.hits_above(above)) / (end - above)).cum_sum()

    @property
    def has_nan(self) -> pl.Expr:
        """Whether any score is NaN, so that nothing can be ranked."""
        return self.score.cast(pl.Float64).is_nan().any()

    def value(self, which: Measure, value: pl.Expr, ranked: Ranked) -> pl.Expr:
        """Give the group's value, or what the options say where it has none; NaN if it has a NaN score."""
        value = masked(value, which, ranked, self.options, missing=self.score.is_null().all())
        return pl.when(self.has_nan).then(float("nan")).otherwise(value)


def measure(
    relevance: pl.Expr,
    score: IntoExpr,
    which: Measure,
    *,
    n_relevant: Count | None = None,
    doc: IntoExpr | None = None,
    **options: Any,
) -> pl.Expr:
    """Give a measure of each group's ranked list."""
    group = Group.of(score, relevance, doc, _options(**options))
    ranked = group.ranked(n_relevant)
    return group.value(which, which.value(ranked), ranked).alias(str(which))


def _once(count: Count) -> pl.Expr:
    """Take a count that is given as a number, or in every row of a group."""
    return pl.lit(count) if isinstance(count, int) else _as_expr(count).first()


def rank(
    score: pl.Expr, *, ties: Ties = "stable", doc: IntoExpr | None = None, relevance: IntoExpr | None = None
) -> pl.Expr:
    """Give each row's rank within its group, from 1; null where the score is null."""
    check_row_ties(ties)
    if ties in ("pessimistic", "optimistic") and relevance is None:
        msg = f'`ties="{ties}"` needs `relevance`, the column of the documents\' grades'
        raise ParameterError(msg)
    return Group.of(score, score if relevance is None else relevance, doc, Options(ties=ties)).ranks().alias("rank")


def cumulative_hits(
    relevance: pl.Expr,
    score: IntoExpr,
    *,
    ties: Ties = "stable",
    doc: IntoExpr | None = None,
    min_relevance: float = 1,
) -> pl.Expr:
    """Give, for each row, the relevant documents at its rank and above; null where the score is null."""
    check_row_ties(ties)
    group = Group.of(score, relevance, doc, Options(ties=ties, min_relevance=min_relevance))
    rank = group.ranks()
    return pl.when(rank.is_not_null()).then(group.hits_above(rank).cast(pl.UInt32)).alias("hits")


def pr_curve(
    relevance: pl.Expr,
    score: IntoExpr,
    *,
    max_k: int | None = None,
    adaptive_k: bool = False,
    n_relevant: Count | None = None,
    doc: IntoExpr | None = None,
    **options: Any,
) -> pl.Expr:
    """Give each group's curve as a struct of three lists: `k`, `precision` and `recall`."""
    check_cutoff("max_k", max_k)
    check_bool("adaptive_k", adaptive_k)
    group = Group.of(score, relevance, doc, _options(**options))
    ranked = group.ranked(n_relevant)
    n_retrieved = group.retrieved.sum().cast(pl.Int64)
    k = pl.int_range(1, (n_retrieved if max_k is None else max_k) + 1)
    last = k.clip(upper_bound=n_retrieved)
    hits = group.expected_hits().gather(last - 1, null_on_oob=True).fill_null(0.0)
    depth = last.clip(lower_bound=1) if adaptive_k else k
    precision = group.value(measures.precision, hits / depth, ranked)
    recall = group.value(measures.recall, hits / ranked.n_relevant, ranked)
    return pl.struct(k=k.implode(), precision=precision.implode(), recall=recall.implode()).alias("pr_curve")
