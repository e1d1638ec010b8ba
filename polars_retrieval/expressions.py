"""Ranking and measures as expressions, for the caller's own `select`, `group_by().agg()` and `.over()`.

An expression cannot raise for what it finds in the data: a NaN score makes the result NaN, or the rank null, and so
do ties whose order matters to a measure that has no closed form for `ties="expected"`.
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
from polars_retrieval.ranking import best_first, in_order, rank_in_group, tie_bounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from polars_retrieval.measures.ranked import Function
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
        level = self.relevance.cast(pl.Float64).fill_null(float("-inf"))
        column, score, level, doc = (part.filter(self.retrieved) for part in (column, self.score, level, self.doc))
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

    @property
    def grade(self) -> pl.Expr:
        """The grade that gain is made of: 0 if it is negative or unknown."""
        return self.relevance.cast(pl.Float64).clip(lower_bound=0).fill_null(0.0)

    @property
    def nonrelevant(self) -> pl.Expr:
        """Whether each document was judged, and is neither relevant nor negative."""
        return ~self.relevant & (self.relevance.cast(pl.Float64) >= 0).fill_null(value=False)

    def hits_above(self, place: pl.Expr) -> pl.Expr:
        """Count the hits above each of some places in order, from 0 to the number of documents."""
        return self.count_above(self.relevant, place)

    def count_above(self, what: pl.Expr, place: pl.Expr) -> pl.Expr:
        """Count documents above each of some places in order."""
        return sum_down_to(self.in_order(what).cast(pl.Int64), place)

    def expected_hits(self) -> pl.Expr:
        """Count the hits down to each place in order; a tie group's hits spread evenly over its places."""
        above, end = self.tie_groups()
        return ((self.hits_above(end) - self.hits_above(above)) / (end - above)).cum_sum()

    @property
    def has_nan(self) -> pl.Expr:
        """Whether any score is NaN, so that nothing can be ranked."""
        return self.score.cast(pl.Float64).is_nan().any()

    def value(self, which: Measure, value: pl.Expr, ranked: GroupRanked) -> pl.Expr:
        """Give the group's value, or what the options say where it has none; NaN if it has none that is defined."""
        value = masked(value, which, ranked, self.options, missing=self.score.is_null().all())
        is_nan = self.has_nan
        if which.needs_order_of and ranked.has_ties:
            is_nan = is_nan | ranked.order_matters(which.needs_order_of)
        return pl.when(is_nan).then(float("nan")).otherwise(value)


def sum_down_to(values: pl.Expr, place: pl.Expr) -> pl.Expr:
    """Add up the values above each of some places in order, from 0 to the number of documents."""
    return pl.when(place > 0).then(values.cum_sum().gather(place - 1, null_on_oob=True)).otherwise(0)


class GroupRanked(Ranked):
    """The ranked list of a group; values of a document are columns of the retrieved ones, in order."""

    def __init__(self, group: Group, n_relevant: Count | None) -> None:
        self._group = group
        self._place, self._end = group.tie_groups()
        self._hit = group.in_order(group.relevant)
        known = group.retrieved | group.relevance.is_not_null()
        self.n_retrieved = _count(group.retrieved)
        self.n_relevant = _count(group.relevant) if n_relevant is None else _once(n_relevant).cast(pl.Float64)
        self.n_nonrelevant = _count(known & ~group.relevant)
        self.n_judged = _count(group.relevance.is_not_null())
        self.n_judged_nonrelevant = _count(group.nonrelevant)
        self.n_graded = _count(group.grade > 0)
        self.largest_grade = group.grade.max().fill_null(0.0)
        self.has_ties = group.options.ties == "expected"
        self.above, self.tied = self._place.cast(pl.Float64), (self._end - self._place).cast(pl.Float64)

    @property
    def hits_above(self) -> pl.Expr:
        """Hits ranked above the document's tie group."""
        return self._group.hits_above(self._place).cast(pl.Float64)

    @property
    def tied_hits(self) -> pl.Expr:
        """Hits in the document's tie group."""
        return self._in_group(self._group.relevant)

    def hits_within(self, k: int | None) -> pl.Expr:
        """Hits of the document's query among the first k."""
        # By place: all of a tie group stand below the same documents, but k may cut it.
        return _count(self._hit if k is None else self._hit.head(k))

    @property
    def nonrelevant_above(self) -> pl.Expr:
        """Documents ranked above its tie group that were judged, and are neither relevant nor negative."""
        return self._group.count_above(self._group.nonrelevant, self._place).cast(pl.Float64)

    def _in_group(self, what: pl.Expr) -> pl.Expr:
        return (self._group.count_above(what, self._end) - self._group.count_above(what, self._place)).cast(pl.Float64)

    def _cut(self, alone: pl.Expr | float, k: int | None, tied: pl.Expr | None) -> pl.Expr:
        """Give a document's value, 0 beyond k."""
        alone = alone if isinstance(alone, pl.Expr) else pl.lit(alone)
        within = alone if k is None else pl.when(self.above < k).then(alone).otherwise(0.0)
        if not self.has_ties:
            return within
        return pl.when(self.tied > 1).then(alone * self.within(k) if tied is None else tied).otherwise(within)

    def sum_hits(self, alone: pl.Expr | float, k: int | None = None, *, tied: pl.Expr | None = None) -> pl.Expr:
        """Add up a value of the group's hits."""
        return self._of_all(self._cut(alone, k, tied)).filter(self._hit).sum()

    def sum_tied_hits(self, value: pl.Expr) -> pl.Expr:
        """Add up a value of the hits in tie groups only."""
        return value.filter(self._hit & (self.tied > 1)).sum()

    def max_hits(self, alone: pl.Expr, *, tied: pl.Expr | None = None) -> pl.Expr:
        """Give the largest value of the group's hits, 0 if it has none."""
        return self._cut(alone, None, tied).filter(self._hit).max().fill_null(0.0)

    def max_hits_from(self, value: pl.Expr, step: pl.Expr, n_steps: int) -> list[pl.Expr]:
        """Give the largest value of the hits at each step or later."""
        return [value.filter(self._hit & (step >= first)).max().fill_null(0.0) for first in range(n_steps)]

    def first_hit(self, value: pl.Expr) -> pl.Expr:
        """Give a value of the first hit, or of its tie group, 0 if there is none."""
        return value.filter(self._hit).first().fill_null(0.0)

    def sum_graded(self, alone: pl.Expr, k: int | None = None, *, tied: pl.Expr | None = None) -> pl.Expr:
        """Add up a value of the group's retrieved documents that have a grade above 0."""
        return self._of_all(self._cut(alone, k, tied)).filter(self._group.in_order(self._group.grade) > 0).sum()

    def sum_judged(
        self,
        alone: pl.Expr | float,
        k: int | None = None,
        *,
        tied: pl.Expr | None = None,
        of_all: pl.Expr,  # noqa: ARG002 (this asks each document)
    ) -> pl.Expr:
        """Add up a value of the group's retrieved documents that were judged."""
        judged = self._group.in_order(self._group.relevance).is_not_null()
        return self._of_all(self._cut(alone, k, tied)).filter(judged).sum()

    def _of_all(self, value: pl.Expr) -> pl.Expr:
        """Give a value for every document, also if it is a constant."""
        return pl.when(self.above.is_not_null()).then(value)

    def ideal(self, gain: Function, discount: Function, k: int | None) -> pl.Expr:
        """Add up gain times discount with the group's documents in their best order."""
        grade = best_first(self._group.grade)
        rank = pl.int_range(1, grade.len() + 1)
        gains = gain(grade) * discount(rank)
        return (gains if k is None else gains.filter(rank <= k)).sum()

    def of_grade(self, function: Function) -> pl.Expr:
        """Give a function of the document's grade."""
        return function(self._group.in_order(self._group.grade))

    def at_rank(self, function: Function) -> pl.Expr:
        """Give a function of the rank of a document that stands alone."""
        return function(self._ranks())

    def in_group(self, function: Function, k: int | None) -> pl.Expr:
        """Give the mean, over the ranks of the document's tie group, of a function of rank that is 0 beyond k."""
        rank = self._ranks()
        values = function(rank) if k is None else pl.when(rank <= k).then(function(rank)).otherwise(0.0)
        return (sum_down_to(values, self._end) - sum_down_to(values, self._place)) / self.tied

    def _ranks(self) -> pl.Expr:
        return pl.int_range(1, self.n_retrieved.cast(pl.Int64) + 1)

    def product_above(self, factor: Function) -> pl.Expr:
        """Multiply a function of the grades of the documents ranked above the document."""
        return self.of_grade(factor).cum_prod().shift(1, fill_value=1.0)

    def sum_places(self, n: pl.Expr, term: Callable[..., pl.Expr], *values: pl.Expr) -> pl.Expr:
        """Add up ``term(place, *values)`` for places 1 to n."""
        # Within the list, an expression that is long already has a short name.
        n_there, *values_there = (pl.element().get(i) for i in range(1 + len(values)))
        places = pl.int_range(1, n_there.cast(pl.Int64) + 1).cast(pl.Float64)
        numbers = pl.concat_list([number.cast(pl.Float64) for number in (n, *values)])
        return numbers.list.eval(term(places, *values_there).sum()).list.first()

    def order_matters(self, to: str) -> pl.Expr:
        """Tell whether tied documents differ in what a measure needs the order of."""
        group = self._group
        relevant = self._in_group(group.relevant)
        if to == "judged":
            return ((relevant > 0) & (self._in_group(group.nonrelevant) > 0)).any()
        if to == "relevant":
            return ((relevant > 0) & (relevant < self.tied)).any()
        grade, place = group.in_order(group.grade), pl.int_range(self.n_retrieved.cast(pl.Int64))
        return ((place > self._place) & (grade != grade.shift(1))).any()


def _count(what: pl.Expr) -> pl.Expr:
    return what.sum().cast(pl.Float64)


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
    ranked = GroupRanked(group, n_relevant)
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
    ranked = GroupRanked(group, n_relevant)
    n_retrieved = group.retrieved.sum().cast(pl.Int64)
    k = pl.int_range(1, (n_retrieved if max_k is None else max_k) + 1)
    last = k.clip(upper_bound=n_retrieved)
    hits = group.expected_hits().gather(last - 1, null_on_oob=True).fill_null(0.0)
    depth = last.clip(lower_bound=1) if adaptive_k else k
    precision = group.value(measures.precision, hits / depth, ranked)
    recall = group.value(measures.recall, hits / ranked.n_relevant, ranked)
    return pl.struct(k=k.implode(), precision=precision.implode(), recall=recall.implode()).alias("pr_curve")
