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
    ks = range(1, 1 + (max_k or longest(ranking)))
    if aggregation == "mean":
        return _mean_curve(ranking, ks, rankings.columns, rankings.options, adaptive_k=adaptive_k)
    return _curve_of_measures(rankings, ks, aggregation, adaptive_k=adaptive_k)


def longest(ranking: Ranking) -> int:
    """Return the length of the longest list."""
    return int(ranking.queries["n_retrieved"].max() or 0)  # type: ignore[arg-type]


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
    hits = ranking.relevant_hits().select("query", "above", "tied").collect()
    at = _AtRanks(groups.n_numbers, len(ks), groups.of_rows.to_numpy() if columns.by else None)
    n_relevant = ranking.queries["n_relevant"].to_numpy()
    precise = np.cumsum(at.spread(hits), axis=1)
    recalled = np.cumsum(at.spread(hits, 1 / n_relevant.clip(min=1)), axis=1)
    if adaptive_k:  # a list that is shorter than k keeps its precision
        query, n_retrieved = hits["query"].to_numpy(), ranking.queries["n_retrieved"].to_numpy()
        ended = np.cumsum(at.add(query, n_retrieved[query]), axis=1)
        share = np.cumsum(at.add(query, n_retrieved[query], 1 / n_retrieved[query]), axis=1)
        precise = precise - ended + share * np.array(ks)
    values = {"precision": precise / np.array(ks), "recall": recalled}
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
    without_hits = masked(pl.lit(0.0), precision, FrameRanked(ranking.shape), options, missing=MISSING)
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
    """Sums over hits, for each group and rank; `groups` holds the group of each query, or None if there is one only."""

    n_groups: int
    max_k: int
    groups: NDArray[np.uint32] | None

    def spread(self, hits: pl.DataFrame, values: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Count hits at their rank, or add up a value of their query.

        A hit in a tie group counts in equal parts at each of its ranks.
        """
        import numpy as np

        is_tied = hits["tied"] > 1
        if not is_tied.any():
            return self._alone(hits, values)
        alone, in_group = self._alone(hits.filter(~is_tied), values), hits.filter(is_tied)
        shares = 1 / in_group["tied"].to_numpy()
        if values is not None:
            shares = shares * values[in_group["query"].to_numpy()]
        query, above, tied = (in_group[name].to_numpy() for name in in_group.columns)
        steps = self.add(query, above, shares) - self.add(query, above + tied, shares)
        return alone + np.cumsum(steps, axis=1).clip(min=0)

    def _alone(self, hits: pl.DataFrame, values: NDArray[np.float64] | None) -> NDArray[np.float64]:
        query = hits["query"].to_numpy()
        return self.add(query, hits["above"].to_numpy(), None if values is None else values[query])

    def add(
        self, query: NDArray[np.uint32], above: NDArray[np.uint32], values: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Add up values of hits, or count them, at the rank that has so many documents above; not beyond max_k."""
        import numpy as np

        width = self.max_k + 1
        place = np.minimum(above, self.max_k, dtype=np.intp, casting="unsafe")
        if self.groups is not None:
            place += self.groups[query].astype(np.intp) * width
        sums = np.bincount(place, weights=values, minlength=self.n_groups * width)
        return sums.reshape(self.n_groups, width)[:, :-1].astype(np.float64)
