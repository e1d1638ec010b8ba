"""The precision-recall curve over k, aggregated over queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_retrieval.evaluation import (
    MISSING,
    aggregate,
    aggregated,
    check_defined,
    masked,
    measure_queries,
    present,
)
from polars_retrieval.formulas import FrameRanked
from polars_retrieval.grouping import Grouping, group_rows
from polars_retrieval.measures import precision, recall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_retrieval.columns import Columns
    from polars_retrieval.measures import Measure
    from polars_retrieval.options import Aggregation, Options
    from polars_retrieval.ranked_frame import Ranking, Rankings

_CELLS = 2**23  # values of queries x measures that are held at a time


def curve(rankings: Rankings, max_k: int | None, aggregation: Aggregation, *, adaptive_k: bool) -> pl.DataFrame:
    """Return precision and recall at k = 1 … max_k, aggregated over queries, or over those of each group."""
    ranking = rankings.of([precision, recall])
    if rankings.options.empty_target_action == "error":
        check_defined(ranking, [precision, recall], rankings.columns)
    longest = ranking.queries["n_retrieved"].max()
    ks = range(1, 1 + (max_k or int(longest or 0)))  # type: ignore[arg-type]
    if aggregation == "mean":
        return _mean_curve(ranking, ks, rankings.columns, rankings.options, adaptive_k=adaptive_k)
    return _curve_of_measures(rankings, ks, aggregation, adaptive_k=adaptive_k)


def _curve_of_measures(rankings: Rankings, ks: range, aggregation: Aggregation, *, adaptive_k: bool) -> pl.DataFrame:
    """Aggregate a matrix of queries x ks, a block of ks at a time."""
    ranking, by = rankings.of([precision, recall]), rankings.columns.by
    precisions = [precision(k=k, adaptive_k=adaptive_k) for k in ks]
    recalls = [recall(k=k) for k in ks]
    step = max(1, _CELLS // (2 * max(1, ranking.queries.height)))
    blocks = []
    for start in range(0, max(1, len(ks)), step):
        measures = [*precisions[start : start + step], *recalls[start : start + step]]
        values = present(ranking, measure_queries(rankings, measures), by)
        blocks.append(aggregate(values, by, [aggregated(pl.col(str(m)), aggregation) for m in measures]))
    wide = pl.concat([blocks[0].select(by), *(b.drop(by) for b in blocks)], how="horizontal")
    return wide.select(
        *by,
        k=pl.lit(list(ks), dtype=pl.List(pl.Int64)),
        precision=_listed(precisions),
        recall=_listed(recalls),
    ).explode("k", "precision", "recall", empty_as_null=False)


def _listed(measures: Sequence[Measure]) -> pl.Expr:
    if not measures:
        return pl.lit([], dtype=pl.List(pl.Float64))
    return pl.concat_list([str(measure) for measure in measures])


def _mean_curve(ranking: Ranking, ks: range, columns: Columns, options: Options, *, adaptive_k: bool) -> pl.DataFrame:
    """Average over queries by adding up what each hit brings from its rank on: no matrix of queries x ks."""
    groups = _groups(ranking, columns.by)
    queries = ranking.queries.with_columns(
        groups.of_rows.alias("group"),
        without_hits=masked(pl.lit(0.0), precision, FrameRanked(ranking), options, missing=MISSING),
    )
    hits = ranking.relevant_hits().with_columns(group=pl.lit(groups.of_rows).gather(pl.col("query")))
    steps = _steps(hits, len(ks))
    if adaptive_k:
        steps = pl.concat([steps, _list_ends(hits)], how="diagonal")
    totals = queries.filter(pl.col("n_rows") > 0).group_by("group", maintain_order=True)
    sums = totals.agg(pl.col("without_hits").sum(), n=pl.col("without_hits").count())
    if not columns.by and not len(sums):
        sums = pl.DataFrame({"group": [0], "without_hits": [0.0], "n": [0]}, schema=sums.schema)
    table = _running_sums(sums, steps, ks)
    k = pl.col("k")
    at_k = {
        "precision": (pl.col("hits") - pl.col("ended")) / k + pl.col("ended_share"),
        "recall": pl.col("recalled"),
    }
    means = {
        name: (pl.col("without_hits") + value) / pl.when(pl.col("n") > 0).then("n") for name, value in at_k.items()
    }
    values = table.select(k, **means)
    return (
        pl.concat([groups.ids.select(columns.by)[table["group"]], values], how="horizontal") if columns.by else values
    )


def _groups(ranking: Ranking, by: Sequence[str]) -> Grouping:
    """Tell which group each query is in."""
    if by:
        return group_rows(ranking.grouping.ids.select(by))
    numbers = pl.zeros(ranking.grouping.n_numbers, dtype=pl.UInt32, eager=True)
    return Grouping(pl.DataFrame({"": [0]}), None, numbers)


def _steps(hits: pl.LazyFrame, max_k: int) -> pl.DataFrame:
    """Sum up, by group and rank k, the hits at that rank and what they add to recall.

    A hit in a tie group counts in equal parts at each of the group's ranks.
    """
    above, tied = pl.col("above").cast(pl.Int64), pl.col("tied").cast(pl.Int64)
    return (
        hits.filter(above < max_k)
        .group_by("group", "above", "tied")
        .agg(hits=pl.len(), recalled=(1 / pl.col("n_relevant")).sum())
        .with_columns(k=pl.int_ranges(above + 1, pl.min_horizontal(above + tied, max_k) + 1))
        .explode("k")
        .group_by("group", "k")
        .agg((pl.col("hits") / tied).sum(), (pl.col("recalled") / tied).sum())
        .collect()
    )


def _list_ends(hits: pl.LazyFrame) -> pl.DataFrame:
    """Sum up, by group and k, the hits of lists that are shorter than k, whose precision no longer changes."""
    by_length = hits.group_by("group", k=pl.col("n_retrieved").cast(pl.Int64) + 1)
    return by_length.agg(ended=pl.len().cast(pl.Float64), ended_share=(1 / pl.col("n_retrieved")).sum()).collect()


def _running_sums(groups: pl.DataFrame, steps: pl.DataFrame, ks: range) -> pl.DataFrame:
    """Add up the steps along k, for every group."""
    added = ["hits", "recalled", "ended", "ended_share"]
    zeros = pl.DataFrame(schema={"group": pl.UInt32, "k": pl.Int64, **dict.fromkeys(added, pl.Float64)})
    steps = pl.concat([zeros, steps], how="diagonal").group_by("group", "k").agg(pl.col(added).sum())
    every_k = pl.DataFrame({"k": pl.Series(ks, dtype=pl.Int64)})
    table = groups.join(every_k, how="cross", maintain_order="left_right")
    table = table.join(steps, on=["group", "k"], how="left", maintain_order="left")
    return table.with_columns(pl.col(added).fill_null(0.0).cum_sum().over("group"))
