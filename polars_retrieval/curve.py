"""The precision-recall curve over k, aggregated over queries."""

from __future__ import annotations

from dataclasses import dataclass
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

    import numpy as np
    from numpy.typing import NDArray

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
    import numpy as np

    groups = _groups(ranking, columns.by)
    sums = _of_groups(ranking, groups, options)
    within = ranking.relevant_hits().filter(pl.col("above") < len(ks))
    hits = within.select("query", "above", "tied", "n_relevant", "n_retrieved").collect()
    at = _AtRanks(groups.n_numbers, len(ks), groups.of_rows.gather(hits["query"]).to_numpy())
    found = at.spread(hits["above"], hits["tied"])
    recalled = at.spread(hits["above"], hits["tied"], 1 / hits["n_relevant"])
    precise = np.cumsum(found, axis=1)
    if adaptive_k:  # a list that is shorter than k keeps its precision
        length = hits["n_retrieved"]
        share = np.cumsum(at.add(length, 1 / length), axis=1)
        precise = precise - np.cumsum(at.add(length), axis=1) + share * np.array(ks)
    values = {"precision": precise / np.array(ks), "recall": np.cumsum(recalled, axis=1)}
    numbers = sums["group"].to_numpy()
    curves = pl.DataFrame(
        {
            "k": pl.Series(np.tile(np.array(ks, dtype=np.int64), len(numbers))),
            **{name: matrix[numbers].reshape(-1) for name, matrix in values.items()},
            "without_hits": sums["without_hits"].to_numpy().repeat(len(ks)),
            "n": sums["n"].to_numpy().repeat(len(ks)),
        }
    )
    n = pl.when(pl.col("n") > 0).then("n")
    curves = curves.select("k", *((pl.col(name) + pl.col("without_hits")) / n for name in values))
    if not columns.by:
        return curves
    ids = groups.ids.select(columns.by)[numbers.repeat(len(ks))]
    return pl.concat([ids, curves], how="horizontal")


def _of_groups(ranking: Ranking, groups: Grouping, options: Options) -> pl.DataFrame:
    """Return, for each group in order of appearance, how many queries count, and the sum of those without a hit."""
    without_hits = masked(pl.lit(0.0), precision, FrameRanked(ranking), options, missing=MISSING)
    queries = ranking.queries.with_columns(groups.of_rows.alias("group"), without_hits=without_hits)
    totals = queries.filter(pl.col("n_rows") > 0).group_by("group", maintain_order=True)
    sums = totals.agg(pl.col("without_hits").sum(), n=pl.col("without_hits").count())
    if len(sums) or groups.ids.columns != [_ALL]:
        return sums
    return pl.DataFrame({"group": [0], "without_hits": [0.0], "n": [0]}, schema=sums.schema)


_ALL = ""  # the column of the one group that there is without `by`


def _groups(ranking: Ranking, by: Sequence[str]) -> Grouping:
    """Tell which group each query is in."""
    if by:
        return group_rows(ranking.grouping.ids.select(by))
    numbers = pl.zeros(ranking.grouping.n_numbers, dtype=pl.UInt32, eager=True)
    return Grouping(pl.DataFrame({_ALL: [0]}), None, numbers)


@dataclass(frozen=True)
class _AtRanks:
    """Sums over hits, for each group and rank."""

    n_groups: int
    max_k: int
    groups: NDArray[np.uint32]

    def add(self, above: pl.Series, values: pl.Series | None = None) -> NDArray[np.float64]:
        """Add up values of hits, or count them, at the rank that has so many documents above; not beyond max_k."""
        import numpy as np

        width = self.max_k + 1
        place = self.groups.astype(np.intp) * width + np.minimum(above.to_numpy(), self.max_k)
        weights = None if values is None else values.to_numpy()
        sums = np.bincount(place, weights=weights, minlength=self.n_groups * width)
        return sums.reshape(self.n_groups, width)[:, :-1].astype(np.float64)

    def spread(self, above: pl.Series, tied: pl.Series, values: pl.Series | None = None) -> NDArray[np.float64]:
        """Add up values of hits at their rank; a hit in a tie group counts in equal parts at each of its ranks."""
        import numpy as np

        if not (tied > 1).any():
            return self.add(above, values)
        each = 1 / tied if values is None else values / tied
        is_tied = (tied > 1).cast(pl.Float64)
        alone = self.add(above, each * (1 - is_tied))
        starts, ends = self.add(above, each * is_tied), self.add(above + tied, each * is_tied)
        return alone + np.cumsum(starts - ends, axis=1).clip(min=0)
