"""Hits by sorting one packed integer per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from polars_retrieval.grouping import Grouping, run_starts
from polars_retrieval.ranking.keys import Key, make_key

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from polars_retrieval.ranking.rows import Rows

_BLOCK = 2**19  # keys that a thread sorts at a time: they fit its cache
_SAMPLE = 10_000  # keys that show, nearly always, that a run does not come ranked


@dataclass(frozen=True)
class _Sorted:
    """Keys in the order of query and rank, and which query each is of."""

    key: Key
    keys: pl.Series
    grouping: Grouping


def sort_hits(rows: Rows) -> tuple[pl.DataFrame, pl.Series]:
    """Return the hits with their tie groups, and how many documents each query retrieved."""
    ranked = _sort(rows)
    return _with_tie_groups(_hits(ranked), ranked), ranked.grouping.count_rows()


def _sort(rows: Rows) -> _Sorted:
    if rows.grouping.lengths is not None:
        key = make_key(rows.score, rows.max_level)
        if key.dtype != pl.UInt128:  # of which NumPy and Arrow know nothing
            return _Sorted(key, _sort_within(_pack(key, rows), rows.grouping), rows.grouping)
    key = make_key(rows.score, rows.max_level, max_query=rows.grouping.n_numbers)
    keys = _pack(key, rows)
    keys = keys if keys.is_sorted() else keys.sort()
    return _Sorted(key, keys, _grouping(key, keys, rows.grouping.ids))


def _pack(key: Key, rows: Rows) -> pl.Series:
    columns = [rows.score.alias("score"), rows.level.alias("level")]
    if "query" in key.expr.meta.root_names():
        columns.append(rows.grouping.of_rows.alias("query"))
    # The streaming engine works in pieces that fit the cache: here 2 to 4 times faster than the in-memory one.
    return pl.DataFrame(columns).lazy().select(key.expr).collect(engine="streaming").to_series().rechunk()


def _grouping(key: Key, keys: pl.Series, ids: pl.DataFrame) -> Grouping:
    """Group a column of keys that is sorted by query."""
    import numpy as np

    query = keys.to_frame("key").lazy().select(key.query).collect(engine="streaming").to_series().rechunk()
    starts = run_starts([query])
    lengths = np.zeros(ids.height, dtype=np.int64)
    lengths[query.gather(starts).to_numpy()] = np.diff(starts.to_numpy().astype(np.int64), append=len(keys))
    return Grouping(ids, lengths)


def _sort_within(keys: pl.Series, grouping: Grouping) -> pl.Series:
    """Sort the keys of each query, which stand together."""
    if _is_sorted_within(keys, grouping):
        return keys
    return _sort_matrix(keys, grouping.equal_length) if grouping.equal_length else _sort_lists(keys, grouping)


def _is_sorted_within(keys: pl.Series, grouping: Grouping) -> bool:
    """Tell whether the keys come ranked, that is, step down only where a query starts."""
    import numpy as np

    starts = np.unique(grouping.offsets[:-1])
    return all(_steps_down_only_at(starts, part) for part in (keys.head(_SAMPLE), keys))


def _steps_down_only_at(starts: NDArray[np.int64], keys: pl.Series) -> bool:
    after = starts[(starts > 0) & (starts < len(keys))]
    steps_down = keys[1:] < keys[:-1]
    return bool(steps_down.sum() == steps_down.gather(after - 1).sum())


def _sort_matrix(keys: pl.Series, length: int) -> pl.Series:
    """Sort equally long lists as rows of a matrix: NumPy does it with SIMD, and lets other threads run."""
    from concurrent.futures import ThreadPoolExecutor

    matrix = keys.to_numpy(writable=True).reshape(-1, length)
    step = max(1, _BLOCK // length)
    with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
        list(pool.map(lambda at: matrix[at : at + step].sort(axis=1), range(0, len(matrix), step)))
    return pl.Series("key", matrix.reshape(-1))


def _sort_lists(keys: pl.Series, grouping: Grouping) -> pl.Series:
    """Sort lists of any lengths, laid over the keys by their offsets without a copy."""
    import pyarrow as pa

    lists = pl.Series("key", pa.LargeListArray.from_arrays(pa.array(grouping.offsets), keys.to_arrow()))
    ranked = lists.to_frame().lazy().select(pl.col("key").list.sort()).collect(engine="streaming").to_series()
    return ranked.explode(empty_as_null=False).rechunk()


def _hits(ranked: _Sorted) -> pl.DataFrame:
    """Read the hits out of the sorted keys: `at` (where in the column), `key`, `query`, `level`, `place`."""
    key = ranked.key
    is_hit = (pl.col("key") & (2**key.level_bits - 1)) != key.max_level
    hits = ranked.keys.to_frame("key").lazy().with_row_index("at").filter(is_hit).collect(engine="streaming")
    query = ranked.grouping.of(hits["at"])
    start = pl.Series(ranked.grouping.offsets).gather(query)
    return hits.with_columns(query.alias("query"), level=key.level.cast(pl.UInt32)).with_columns(
        place=(pl.col("at").cast(pl.Int64) - start).cast(pl.UInt32)
    )


def _with_tie_groups(hits: pl.DataFrame, ranked: _Sorted) -> pl.DataFrame:
    """Add `above` and `tied`: the whole tie group where it holds more than hits of one level, else the hit itself."""
    hits = hits.with_columns(above="place", tied=pl.lit(1, dtype=pl.UInt32))
    uneven = _is_followed_by_other_level(hits, ranked)
    if uneven.any():
        hits = _with_uneven_groups(hits, uneven, ranked)
    return hits.select("query", "level", "place", "above", "tied")


def _is_followed_by_other_level(hits: pl.DataFrame, ranked: _Sorted) -> pl.Series:
    """Mark the hits whose next document has the same score and another level."""
    after = hits["at"] + 1
    same_query = after < pl.Series(ranked.grouping.offsets).gather(hits["query"] + 1)
    after = ranked.keys.gather(after.zip_with(same_query, hits["at"]))
    key, group_size = hits["key"], 2**ranked.key.level_bits
    return (key != after) & (key // group_size == after // group_size)


def _with_uneven_groups(hits: pl.DataFrame, uneven: pl.Series, ranked: _Sorted) -> pl.DataFrame:
    """Give the hits of uneven tie groups the group's start and size."""
    import numpy as np

    groups = _groups_of(hits.filter(uneven), ranked)
    number = pl.Series(np.searchsorted(groups["start"].to_numpy(), hits["at"].to_numpy(), side="right") - 1)
    inside = (number >= 0) & (hits["at"] < groups["end"].gather(number.clip(lower_bound=0)))
    rows, number = inside.arg_true(), number.filter(inside)
    start, end = groups["start"].gather(number), groups["end"].gather(number)
    query_start = pl.Series(ranked.grouping.offsets).gather(hits["query"].gather(rows))
    return hits.with_columns(
        hits["above"].scatter(rows, (start - query_start).cast(pl.UInt32)),
        hits["tied"].scatter(rows, (end - start).cast(pl.UInt32)),
    )


def _groups_of(hits: pl.DataFrame, ranked: _Sorted) -> pl.DataFrame:
    """Return where the tie groups of some hits start and end in the column of keys."""
    at, size = hits["at"].cast(pl.Int64), 2**ranked.key.level_bits
    first_key = hits["key"] // size * size
    offsets = pl.Series(ranked.grouping.offsets)
    start = _bisect(lambda place: ranked.keys.gather(place) >= first_key, offsets.gather(hits["query"]), at)
    last_key = first_key + (size - 1)
    end = _bisect(lambda place: ranked.keys.gather(place) > last_key, at, offsets.gather(hits["query"] + 1))
    return pl.DataFrame({"start": start, "end": end}).unique("start").sort("start")


def _bisect(found: Callable[[pl.Series], pl.Series], low: pl.Series, high: pl.Series) -> pl.Series:
    """Return the first place from low up where something is found, or high, which need not be a place; elementwise."""
    while (open_ := low < high).any():
        middle = (low + high) // 2
        # A search that has ended looks at a place it knows, and is not moved by what it sees there.
        here = found(middle.zip_with(open_, low - (low > 0).cast(pl.Int64)))
        high = middle.zip_with(open_ & here, high)
        low = (middle + 1).zip_with(open_ & ~here, low)
    return low
