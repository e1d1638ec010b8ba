"""Ranked lists in, measures out: per query, and aggregated over queries."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import polars as pl

from polars_retrieval.columns import Columns, describe
from polars_retrieval.errors import EmptyTargetError, ParameterError
from polars_retrieval.formulas import FrameRanked
from polars_retrieval.intervals import Resampling, interval_columns
from polars_retrieval.measures import REGISTRY
from polars_retrieval.names import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars_retrieval.measures import Measure, Ranked
    from polars_retrieval.options import Aggregation, Options
    from polars_retrieval.ranked_frame import Ranking, Rankings, Shape

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


def measure_queries(rankings: Rankings, measures: Sequence[Measure], *, bounds: bool = False) -> pl.DataFrame:
    """Return the value of each measure for each query number; null where it is left out."""
    ranking = rankings.of(measures)
    if rankings.options.empty_target_action == "error":
        check_defined(ranking, measures, rankings.columns)
    check_ties(ranking, measures, rankings.columns)
    values = _values(rankings, {str(measure): measure for measure in measures})
    return _with_bounds(values, rankings, measures) if bounds else values


def _values(rankings: Rankings, measures: Mapping[str, Measure]) -> pl.DataFrame:
    ranking = rankings.of(measures.values())
    is_small = ranking.shape.longest <= _SHORT and ranking.levels.height <= _SHORT
    formulas = _formulas if is_small else _formulas.__wrapped__
    ranked, exprs = formulas(ranking.shape, tuple(measures.items()), rankings.options)
    return ranked.values(ranking, exprs)


_SHORT = 2**10  # ranks and levels: formulas hold a value for each, and are kept


@lru_cache(maxsize=64)
def _formulas(
    shape: Shape, measures: tuple[tuple[str, Measure], ...], options: Options
) -> tuple[FrameRanked, dict[str, pl.Expr]]:
    """Make the formulas of measures, by the names of their columns."""
    ranked = FrameRanked(shape)
    return ranked, {
        name: masked(measure.value(ranked), measure, ranked, options, missing=MISSING) for name, measure in measures
    }


def _with_bounds(values: pl.DataFrame, rankings: Rankings, measures: Sequence[Measure]) -> pl.DataFrame:
    """Add the values if no unjudged document were relevant, and if all were."""
    highest = {str(measure): measure for measure in measures}
    # What stands below the list may be relevant, too, where a measure tells how much that could add.
    residuals = {f"{m} residual": m(residual=True) for m in measures if "residual" in m.declaration.parameters}
    ceiling = _values(rankings.with_unjudged_relevant(), {**highest, **residuals})
    exprs = []
    for name in highest:
        high = pl.col(f"{name}_high")
        if f"{name} residual" in residuals:
            high = high + pl.col(f"{name} residual_high")
        # The value itself is one that they may give; and it is null where the query is left out.
        high = pl.when(pl.col(name).is_not_null()).then(pl.max_horizontal(name, high))
        exprs += [pl.col(name), pl.col(name).alias(f"{name}_low"), high.alias(f"{name}_high")]
    return pl.concat([values, ceiling.select(pl.all().name.suffix("_high"))], how="horizontal").select(exprs)


def result_names(
    measures: Sequence[Measure], *, bounds: bool = False, interval: float | None = None, n_queries: bool = False
) -> list[str]:
    """Return the names of the columns that evaluation gives for some measures."""
    if bounds and (without := [measure for measure in measures if not measure.declaration.has_bounds]):
        known = quoted(name for name, measure in REGISTRY.items() if measure.declaration.has_bounds)
        msg = (
            f"`bounds=True` asks for the limits that unjudged documents set to {quoted(without)}, which has none that "
            f"are known; {known} have"
        )
        raise ParameterError(msg)
    suffixes = {
        "": True,
        "_low": bounds,
        "_high": bounds,
        "_ci_low": interval is not None,
        "_ci_high": interval is not None,
        "_n": n_queries,
    }
    return [f"{measure}{suffix}" for measure in measures for suffix, asked in suffixes.items() if asked]


def check_defined(ranking: Ranking, measures: Sequence[Measure], columns: Columns) -> None:
    """Raise if a measure is undefined for a query."""
    for measure in measures:
        undefined = ranking.queries.select(
            (pl.col("n_rows") > 0) & measure.undefined(FrameRanked(ranking.shape))
        ).to_series()
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
    asked = [measure for measure in measures if measure.needs_order_of]
    if not asked or not ranking.has_ties:
        return
    matters = (
        ranking.hits.filter(pl.col("tied") > 1)
        .group_by("query", "start", maintain_order=True)
        .agg(**_mixed(ranking.levels))
        .collect()
    )
    for measure in asked:
        if (concerned := matters.filter(pl.col(str(measure.needs_order_of)))).height:
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


def per_query(rankings: Rankings, measures: Sequence[Measure], *, bounds: bool = False) -> pl.DataFrame:
    """Return one row a query, in order of first appearance."""
    values = measure_queries(rankings, measures, bounds=bounds)
    grouping = rankings.of(measures).grouping
    return pl.concat([grouping.ids, values], how="horizontal")[grouping.numbers_in_order()]


def aggregate(values: pl.DataFrame, by: Sequence[str], exprs: Sequence[pl.Expr]) -> pl.DataFrame:
    """Aggregate per-query values to one row, or to one a group."""
    return values.group_by(by, maintain_order=True).agg(exprs) if by else values.select(exprs)


def aggregated(value: pl.Expr, aggregation: Aggregation) -> pl.Expr:
    """Aggregate an expression; the median of an even number is the lower of the two in the middle, as in torch."""
    if callable(aggregation):
        return aggregation(value)
    if aggregation == "median":
        return value.quantile(0.5, interpolation="lower")
    return {"mean": value.mean, "min": value.min, "max": value.max}[aggregation]()


def evaluate(
    rankings: Rankings,
    measures: Sequence[Measure],
    aggregation: Aggregation,
    *,
    bounds: bool = False,
    interval: float | None = None,
    n_queries: bool = False,
) -> pl.DataFrame:
    """Return one row (per group): each measure aggregated over queries, how sure that is, and over how many it is."""
    by = rankings.columns.by
    values = measure_queries(rankings, measures, bounds=bounds)
    exprs = [aggregated(pl.col(name), aggregation) for name in values.columns]
    if n_queries:
        exprs += [pl.col(str(measure)).count().alias(f"{measure}_n") for measure in measures]
    of_queries = present(rankings.of(measures), values, by)
    aggregates = aggregate(of_queries, by, exprs)
    if interval is not None:
        of_measures = of_queries.select(*by, *map(str, measures))
        ends = interval_columns(of_measures, by, Resampling(level=interval)).drop(by)
        aggregates = pl.concat([aggregates, ends], how="horizontal")
    names = result_names(measures, bounds=bounds, interval=interval, n_queries=n_queries)
    return aggregates.select(*by, *names)


def present(ranking: Ranking, values: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Put the group columns beside the values, and leave out numbers that no row has."""
    if by:
        values = pl.concat([ranking.grouping.ids.select(by), values], how="horizontal")
    n_rows = ranking.queries["n_rows"]
    return values if n_rows.min() else values.filter(n_rows > 0)
