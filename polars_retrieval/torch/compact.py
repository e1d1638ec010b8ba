"""A state that stays small: of each query its best k documents, and how many others there are.

Whatever has a cutoff k reads no more. Documents that are tied with the one at rank k are kept too, so that every rule
for ties gives what it would give for all documents.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
from torch import Tensor

from polars_retrieval.grouping import group_rows
from polars_retrieval.ranking.best import among_best, best_grades
from polars_retrieval.torch.batches import batches_frame
from polars_retrieval.torch.inputs import COLUMNS
from polars_retrieval.torch.memory import from_torch, to_torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_retrieval.grouping import Grouping
    from polars_retrieval.ranked_frame import Ranking

OTHERS: Final = ("other_indexes", "other_target", "other_count")
"""The states that count documents which are no longer kept: how many of a query have a target."""

_LEAST: Final = 2**16  # rows that are not worth looking through
_BY: Final = ["indexes", "target"]


def is_due(preds: Sequence[Tensor]) -> bool:
    """Tell whether twice as many rows are kept as after the last time, the first batch: so each costs little."""
    # Asked at every update; `len` of a tensor takes ten times as long as `numel`.
    return sum(map(Tensor.numel, preds)) > 2 * max(_LEAST, preds[0].numel())


@dataclass(frozen=True)
class Kept:
    """The rows of the best documents, and the numbers of the other ones."""

    rows: pl.DataFrame
    others: pl.DataFrame

    @classmethod
    def of(cls, rows: Sequence[Sequence[Tensor]], others: Sequence[Sequence[Tensor]]) -> Kept:
        """Take batches of preds, target and indexes, and those of the states of `OTHERS`."""
        preds, target, indexes = rows
        frame = batches_frame(preds, target, indexes)
        return cls(frame, _others(others, frame.schema))

    def reduced(self, k: int, *, graded: bool) -> Kept:
        """Keep the best k documents of each query, and those tied with the last of them, in the order they came.

        Of the others' grades the best k of each query are enough.
        """
        n = self.rows.height
        queries = group_rows(pl.concat([frame.select("indexes") for frame in (self.rows, self.others)]))
        number = queries.of_rows
        is_kept = among_best(number.head(n), self.rows["preds"], k, queries.n_numbers)
        dropped = self.rows.select(*_BY, count=pl.lit(1, pl.Int64)).filter(~is_kept)
        others = pl.concat([dropped, self.others])
        if graded:
            others = others.filter(pl.col("target") > 0).group_by(_BY).agg(pl.col("count").sum())
            others = best_grades(others, k, query="indexes", grade="target")
        else:
            others = _counted(others, pl.concat([number.head(n).filter(~is_kept), number.slice(n)]), queries)
        return Kept(self.rows.filter(is_kept), others)

    def tensors(self, like: Tensor) -> dict[str, list[Tensor]]:
        """Return the states, on the device of a tensor."""
        columns = {name: self.rows[name] for name in COLUMNS.values()}
        columns |= {name: self.others[name.removeprefix("other_")] for name in OTHERS}
        return {name: [to_torch(column).to(like.device)] for name, column in columns.items()}

    def counted_in(self, ranking: Ranking) -> Ranking:
        """Add the others, of targets 0 and 1, to the counts of the ranked lists of the kept rows."""
        relevant = pl.col("count").filter(pl.col("target") == 1).sum()
        sums = self.others.group_by("indexes").agg(relevant=relevant, all=pl.col("count").sum())
        of_queries = ranking.grouping.ids.join(sums, on="indexes", how="left", maintain_order="left").fill_null(0)
        counts = ranking.queries.with_columns(of_queries["relevant"], of_queries["all"])
        more = {
            "all": ("n_rows", "n_retrieved", "n_judged"),
            "relevant": ("n_relevant", "n_graded"),
        }
        others = pl.col("all") - pl.col("relevant")
        queries = counts.select(
            *(pl.col(name) + pl.col(what) for what, names in more.items() for name in names),
            *(pl.col(name) + others for name in ("n_nonrelevant", "n_judged_nonrelevant")),
            "missing",
        )
        return replace(ranking, queries=queries.cast(ranking.queries.schema).select(ranking.queries.columns))

    def with_grades(self, k: int) -> pl.DataFrame:
        """Return the kept rows and, as documents that were not retrieved, the others' best k grades."""
        repeated = self.others.select(pl.col(_BY).repeat_by(pl.col("count").clip(upper_bound=k)).explode())
        return pl.concat([self.rows, repeated.with_columns(preds=None)], how="diagonal_relaxed", rechunk=False)


def _counted(others: pl.DataFrame, number: pl.Series, queries: Grouping) -> pl.DataFrame:
    """Add up the counts of the two targets of each query, which has a number."""
    pair = 2 * number.to_numpy().astype(np.int64) + others["target"].to_numpy()
    counts = np.bincount(pair, others["count"].to_numpy()).astype(np.int64)
    found = np.flatnonzero(counts)
    columns = {"indexes": queries.ids["indexes"].gather(found // 2), "target": found % 2, "count": counts[found]}
    return pl.DataFrame(columns).cast(others.schema)


def _others(states: Sequence[Sequence[Tensor]], schema: pl.Schema) -> pl.DataFrame:
    """Lay the states of `OTHERS` side by side, in the types of the rows."""
    types = {name: schema[name] for name in _BY} | {"count": pl.Int64()}
    columns = [pl.concat(map(from_torch, batches)) if batches else pl.Series(dtype=pl.Int64) for batches in states]
    return pl.DataFrame(columns, schema=list(types)).cast(types)  # type: ignore[arg-type]
