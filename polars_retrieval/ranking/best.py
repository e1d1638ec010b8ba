"""The best documents of each query, told from the others without ranking any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_retrieval.ranking.keys import Extremes, Key
from polars_retrieval.ranking.scores import comparable

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ONE_LEVEL = np.zeros(1, np.uint8)  # of all rows: relevance has no part in the order


def among_best(query: pl.Series, score: pl.Series, k: int, n_queries: int) -> pl.Series:
    """Tell which rows are among the best k of their query, or tied with the last of these.

    Queries are numbers from 0, below ``n_queries``, in any order. NaN counts as the highest score.
    """
    numbers, scores = query.to_numpy(), comparable(score)
    key, values = _layout(scores.fill_nan(np.inf) if scores.dtype.is_float() else scores, n_queries)
    keys = key.pack(values, _ONE_LEVEL, numbers)
    ends = np.cumsum(np.bincount(numbers, minlength=n_queries))
    last = np.minimum(np.append(0, ends[:-1]) + k, ends) - 1  # of a query without rows, that of another; nobody asks
    return pl.Series(keys <= np.sort(keys)[last][numbers])


def _layout(scores: pl.Series, n_queries: int) -> tuple[Key, NDArray[Any]]:
    """Lay out a key of query and score; where it is too long, of the score's place among the distinct ones."""
    values = scores.to_numpy()
    key = Key.of(values.dtype, Extremes.of(values), 0, n_queries)
    if key.bits <= 64:  # noqa: PLR2004
        return key, values
    _, places = np.unique(values, return_inverse=True)  # a third of the time that Polars takes to rank them
    return _layout(pl.Series(places), n_queries)


def best_grades(counted: pl.DataFrame, k: int, *, query: str, grade: str) -> pl.DataFrame:
    """Keep the highest grades of each query, down to the one that its k-th best document has.

    A row is a grade of a query, and `count` says how many documents have it.
    """
    ranked = counted.sort(query, grade, descending=[False, True])
    before = pl.col("count").cum_sum() - pl.col("count")
    # A window for each query takes ten times as long.
    is_first = pl.col(query).ne_missing(pl.col(query).shift(1))
    return ranked.filter(before - pl.when(is_first).then(before).forward_fill() < k)
