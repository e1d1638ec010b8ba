"""Ranked lists in, measures out: per query, and aggregated over queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_retrieval.columns import Columns, describe
from polars_retrieval.errors import EmptyTargetError, ParameterError
from polars_retrieval.formulas import FrameRanked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_retrieval.measures import Measure, Ranked
    from polars_retrieval.options import Aggregation, Options
    from polars_retrieval.ranked_frame import Ranking

MISSING = pl.col("missing")


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
    if options.empty_target_action == "error":
        check_defined(ranking, measures, columns)
    check_ties(ranking, measures, columns)
    ranked = FrameRanked(ranking)
    values = {str(m): masked(m.value(ranked), m, ranked, options, missing=MISSING) for m in measures}
    return ranked.values(values)


def check_defined(ranking: Ranking, measures: Sequence[Measure], columns: Columns) -> None:
    """Raise if a measure is undefined for a query."""
    for measure in measures:
        undefined = ranking.queries.select((pl.col("n_rows") > 0) & measure.undefined(FrameRanked(ranking))).to_series()
        if undefined.any():
            first = describe(ranking.grouping.ids.filter(undefined).row(0, named=True), columns.ids)
            why = str(measure.declaration.undefined_without).removeprefix("n_")
            msg = (
                f'`empty_target_action="error"`, and {undefined.sum()} queries have no {why} document, which '
                f"leaves `{measure}` undefined; the first is {first}"
            )
            raise EmptyTargetError(msg)


def check_ties(ranking: Ranking, measures: Sequence[Measure], columns: Columns) -> None:
    """Raise if a measure has no closed form for tied documents and there are some whose order matters to it."""
    asked = [measure for measure in measures if measure.declaration.needs_order_of]
    if not asked or not ranking.has_ties:
        return
    matters = (
        ranking.hits.filter(pl.col("tied") > 1)
        .group_by("query", "start", maintain_order=True)
        .agg(**_mixed(ranking.levels))
        .collect()
    )
    for measure in asked:
        if (concerned := matters.filter(pl.col(str(measure.declaration.needs_order_of)))).height:
            first = describe(ranking.grouping.ids[concerned["query"]].row(0, named=True), columns.ids)
            msg = (
                f'`{measure}` has no exact value for `ties="expected"` where documents of equal score differ in '
                f"relevance, as in {concerned['query'].n_unique()} queries, the first {first}"
                "\n\nHint: choose `ties` from `doc_id`, `stable`, `pessimistic`, `optimistic`."
            )
            raise ParameterError(msg)


def _mixed(levels: pl.DataFrame) -> dict[str, pl.Expr]:
    """Tell of a tie group in what its documents differ; those that are no hits are of level 0."""

    def of(what: pl.Expr) -> pl.Expr:
        return pl.lit(levels.select(what).to_series()).gather(pl.col("level"))

    others = pl.len() < pl.col("tied").first()
    relevant, nonrelevant, grade = of(pl.col("relevant")), of(pl.col("nonrelevant")), of(pl.col("grade"))
    return {
        "relevant": relevant.any() & (others | ~relevant.all()),
        "judged": relevant.any() & (nonrelevant.any() | (others & levels["nonrelevant"][0])),
        "grade": (grade.min() < grade.max()) | (others & (grade.max() > 0)),
    }


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
