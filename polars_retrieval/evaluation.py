"""Ranked lists in, measures out: per query, and aggregated over queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from polars_retrieval.columns import Columns, Judged, describe, keep_rows, read_rows
from polars_retrieval.errors import DataError, EmptyTargetError
from polars_retrieval.measures import Measure, Ranked
from polars_retrieval.ranking import Rows, rank_hits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polars_retrieval.grouping import Grouping
    from polars_retrieval.options import Aggregation, Options

HITS = ("above", "tied", "hits_above", "tied_hits")
COUNTS = ("n_retrieved", "n_relevant", "n_judged")
MISSING = pl.col("missing")


@dataclass(frozen=True)
class Ranking:
    """The hits of ranked lists and the counts of each query, from which every measure follows.

    `hits` has the columns of `polars_retrieval.ranking.hits`; `queries` has one row for each number of `grouping`.
    """

    hits: pl.LazyFrame
    queries: pl.DataFrame
    grouping: Grouping

    def hits_with_counts(self) -> pl.LazyFrame:
        """Return the hits, each with the counts of its query."""
        counts = (pl.lit(self.queries[name]).gather(pl.col("query")).alias(name) for name in COUNTS)
        return self.hits.with_columns(counts)

    def numbers(self) -> pl.Series:
        """Return the numbers of the queries that have rows."""
        return (self.queries["n_rows"] > 0).arg_true()


def rank(frame: pl.DataFrame, columns: Columns, options: Options) -> Ranking:
    """Rank the documents of every query of a frame, and count."""
    judged = read_rows(keep_rows(frame, columns, options), columns, options)
    relevant = is_relevant(judged.relevance, options.min_relevance)
    retrieved = is_retrieved(judged, options)
    hits, n_retrieved = rank_hits(_retrieved(judged, relevant, retrieved), options.ties)
    query_of_hit = hits.select("query").collect().to_series()
    n_rows = n_retrieved if retrieved.all() else judged.grouping.count_rows()
    queries = pl.DataFrame(
        {
            "n_rows": n_rows,
            "n_retrieved": n_retrieved,
            "n_relevant": _count(query_of_hit, len(n_rows)) + _count_where(judged, relevant & ~retrieved),
            "n_judged": n_rows - _count_where(judged, judged.relevance.is_null()),
            "missing": n_rows == _count_where(judged, judged.score.is_null()),
        }
    )
    return _checked(Ranking(hits, queries, judged.grouping), columns, options)


def is_relevant(relevance: pl.Series, min_relevance: float) -> pl.Series:
    """Tell which documents are relevant; an unjudged one is not."""
    if relevance.dtype == pl.Boolean and 0 < min_relevance <= 1:
        return relevance.fill_null(value=False)
    if relevance.dtype in (pl.Boolean, pl.Null):
        relevance = relevance.cast(pl.UInt8)
    return (relevance >= min_relevance).fill_null(value=False)


def is_retrieved(judged: Judged, options: Options) -> pl.Series:
    """Tell which documents stand in the ranked list: those with a score, but for unjudged ones to be dropped."""
    if options.unjudged == "drop":
        return judged.score.is_not_null() & judged.relevance.is_not_null()
    return judged.score.is_not_null()


def _retrieved(judged: Judged, relevant: pl.Series, retrieved: pl.Series) -> Rows:
    if retrieved.all():
        return Rows(judged.grouping, judged.score, relevant, doc=judged.doc)
    doc = None if judged.doc is None else judged.doc.filter(retrieved)
    return Rows(judged.grouping.filter(retrieved), judged.score.filter(retrieved), relevant.filter(retrieved), doc=doc)


def _count(numbers: pl.Series, n: int) -> pl.Series:
    """Count how often each number below n occurs."""
    import numpy as np

    return pl.Series(np.bincount(numbers.to_numpy(), minlength=n)).cast(pl.UInt32)


def _count_where(judged: Judged, mask: pl.Series) -> pl.Series:
    """Count, for each query, the rows where a mask is true."""
    if not mask.any():
        return pl.zeros(judged.grouping.n_numbers, dtype=pl.UInt32, eager=True)
    return _count(judged.grouping.of(mask.arg_true()), judged.grouping.n_numbers)


def _checked(ranking: Ranking, columns: Columns, options: Options) -> Ranking:
    """Raise where the options make a missing query an error."""
    missing = (ranking.queries["n_rows"] > 0) & ranking.queries["missing"]
    if options.missing_queries == "error" and missing.any():
        first = describe(ranking.grouping.ids.filter(missing).row(0, named=True), columns.ids)
        msg = f'`missing_queries="error"`, and {missing.sum()} queries have no retrieved document, the first {first}'
        raise DataError(msg)
    return ranking


def read_columns(total: Callable[[pl.Expr], pl.Expr] = pl.Expr.sum) -> Ranked:
    """Bind formulas to the columns of a ranking."""
    # As floats: unsigned integers would wrap around below 0.
    return Ranked(**{name: pl.col(name).cast(pl.Float64) for name in (*HITS, *COUNTS)}, sum=total)


@dataclass
class _Formulas:
    """Formulas bound to the columns of a ranking; equal sums over the hits are taken once."""

    sums: dict[bytes, pl.Expr] = field(default_factory=dict)

    @property
    def ranked(self) -> Ranked:
        return read_columns(self._sum)

    def _sum(self, per_hit: pl.Expr) -> pl.Expr:
        key = per_hit.meta.serialize()
        self.sums.setdefault(key, per_hit.alias(f"sum {len(self.sums)}"))
        return pl.col(self.sums[key].meta.output_name())


def masked(value: pl.Expr, measure: Measure, ranked: Ranked, options: Options, *, missing: pl.Expr) -> pl.Expr:
    """Give a query's value, or what the options say where it has none: 0, 1, or null for left out.

    ``missing`` tells whether the run lacks the query.
    """
    undefined = {"neg": 0.0, "pos": 1.0, "skip": None, "error": None}[options.empty_target_action]
    value = pl.when(measure.undefined(ranked)).then(pl.lit(undefined, dtype=pl.Float64)).otherwise(value)
    if options.missing_queries == "skip":
        value = pl.when(~missing).then(value)
    return value.cast(pl.Float64)


def measure_queries(ranking: Ranking, measures: Sequence[Measure], columns: Columns, options: Options) -> pl.DataFrame:
    """Return the value of each measure for each query number; null where it is left out."""
    formulas = _Formulas()
    ranked = formulas.ranked
    values = {str(m): masked(m.value(ranked), m, ranked, options, missing=MISSING) for m in measures}
    if options.empty_target_action == "error":
        check_defined(ranking, measures, columns)
    queries = ranking.queries.with_columns(_sums(ranking, list(formulas.sums.values())))
    return queries.lazy().select(**values).collect()


def _sums(ranking: Ranking, per_hit: list[pl.Expr]) -> list[pl.Series]:
    """Add up values of the hits, for each query number."""
    import numpy as np

    terms = ranking.hits_with_counts().select("query", *per_hit).collect()
    numbers, n = terms["query"].to_numpy(), ranking.queries.height
    # Numbers are their own places in an array: cheaper than to group, and queries without a hit have their 0.
    return [pl.Series(t.name, np.bincount(numbers, weights=t.to_numpy(), minlength=n)) for t in terms.drop("query")]


def check_defined(ranking: Ranking, measures: Sequence[Measure], columns: Columns) -> None:
    """Raise if a measure is undefined for a query."""
    for measure in measures:
        undefined = ranking.queries.select((pl.col("n_rows") > 0) & measure.undefined(read_columns())).to_series()
        if undefined.any():
            first = describe(ranking.grouping.ids.filter(undefined).row(0, named=True), columns.ids)
            why = str(measure.declaration.undefined_without).removeprefix("n_")
            msg = (
                f'`empty_target_action="error"`, and {undefined.sum()} queries have no {why} document, which '
                f"leaves `{measure}` undefined; the first is {first}"
            )
            raise EmptyTargetError(msg)


def per_query(ranking: Ranking, measures: Sequence[Measure], columns: Columns, options: Options) -> pl.DataFrame:
    """Return one row a query, in order of first appearance."""
    values = measure_queries(ranking, measures, columns, options)
    if ranking.grouping.lengths is None:
        numbers = ranking.grouping.of_rows.unique(maintain_order=True)
    else:
        numbers = ranking.numbers()
    return pl.concat([ranking.grouping.ids, values], how="horizontal")[numbers]


def aggregate(values: pl.DataFrame, by: Sequence[str], names: Sequence[str], aggregation: Aggregation) -> pl.DataFrame:
    """Aggregate per-query values to one row, or to one a group."""
    expr = aggregated(pl.col(names), aggregation)
    if by:
        return values.group_by(by, maintain_order=True).agg(expr)
    return values.select(expr)


def aggregated(value: pl.Expr, aggregation: Aggregation) -> pl.Expr:
    """Aggregate an expression; the median of an even number is the lower of the two in the middle, as in torch."""
    if callable(aggregation):
        return aggregation(value)
    if aggregation == "median":
        return value.quantile(0.5, interpolation="lower")
    return {"mean": value.mean, "min": value.min, "max": value.max}[aggregation]()


def evaluate(
    ranking: Ranking, measures: Sequence[Measure], columns: Columns, options: Options, aggregation: Aggregation
) -> pl.DataFrame:
    """Return one row (per group): each measure aggregated over queries."""
    values = present(ranking, measure_queries(ranking, measures, columns, options), columns.by)
    return aggregate(values, columns.by, [str(m) for m in measures], aggregation)


def present(ranking: Ranking, values: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Put the group columns beside the values, and leave out numbers that no row has."""
    if by:
        values = pl.concat([ranking.grouping.ids.select(by), values], how="horizontal")
    present = ranking.queries["n_rows"] > 0
    return values if present.all() else values.filter(present)
