"""Hits by sorting one packed integer per row."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from polars_retrieval.grouping import Grouping, run_starts
from polars_retrieval.ranking.keys import Key, make_key

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from polars_retrieval.ranking.rows import Rows

_BLOCK = 2**20  # rows that are ranked at a time: they fit the cache, and their memory is used again and again
_FEW_THREADS = 4  # up to which NumPy, on one, sorts integers faster than Polars on all
_SAMPLE = 10_000  # keys that show, nearly always, that a run does not come ranked


@dataclass(frozen=True)
class _Sorted:
    """Keys in the order of query and rank, and which query each is of."""

    key: Key
    keys: pl.Series
    grouping: Grouping


def sort_hits(rows: Rows) -> tuple[pl.DataFrame, pl.Series]:
    """Return the hits with their tie groups, and how many documents each query retrieved."""
    if rows.grouping.lengths is None:
        ranked = _sort_all(rows)
        return _hits(ranked), ranked.grouping.count_rows()
    # Where the rows of a query stand together, a few queries at a time are ranked, on as many threads as Polars has.
    blocks = list(rows.blocks(_BLOCK))
    with ThreadPoolExecutor(min(len(blocks), pl.thread_pool_size()) or 1) as pool:
        found = pool.map(lambda block: _hits(_sort_within(block)), (block for _, block in blocks))
    hits = [
        hits.with_columns(pl.col("query") + pl.lit(first, dtype=pl.UInt32))
        for (first, _), hits in zip(blocks, found, strict=True)
    ]
    return pl.concat(hits or [_hits(_sort_all(rows))]), rows.grouping.count_rows()


def _sort_all(rows: Rows) -> _Sorted:
    """Sort keys that begin with the query."""
    key = make_key(rows.score, rows.max_level, rows.grouping)
    keys = _sorted_keys(key, rows)
    return _Sorted(key, keys, _grouping(key, keys, rows.grouping.ids))


def _sorted_keys(key: Key, rows: Rows) -> pl.Series:
    if key.dtype == pl.UInt128:  # of which NumPy knows nothing
        keys = _pack(key, rows)
        return keys if keys.is_sorted() else keys.sort()
    array = _pack_blocks(key, rows)
    keys = pl.Series("key", array)
    if keys.is_sorted():
        return keys
    if pl.thread_pool_size() > _FEW_THREADS:
        return keys.sort()
    array.sort()
    return pl.Series("key", array)


def _sort_within(rows: Rows) -> _Sorted:
    """Sort keys without the query, for each query on its own."""
    key = make_key(rows.score, rows.max_level)
    if key.dtype == pl.UInt128:  # of which NumPy and Arrow know nothing
        return _sort_all(rows)
    keys = _pack(key, rows)
    if not _is_sorted_within(keys, rows.grouping):
        length = rows.grouping.equal_length
        keys = _sort_matrix(keys, length) if length else _sort_lists(keys, rows.grouping)
    return _Sorted(key, keys, rows.grouping)


def _pack(key: Key, rows: Rows) -> pl.Series:
    # The streaming engine works in pieces that fit the cache: here 2 to 4 times faster than the in-memory one.
    return _unpacked(key, rows).lazy().select(key.expr).collect(engine="streaming").to_series().rechunk()


def _pack_blocks(key: Key, rows: Rows) -> NDArray[np.unsignedinteger]:
    """Pack many rows block by block into one array, so that no copy of them is joined."""
    import numpy as np

    unpacked, keys = _unpacked(key, rows), np.empty(len(rows.score), f"u{key.width // 8}")

    def pack(at: int) -> None:
        keys[at : at + _BLOCK] = unpacked.slice(at, _BLOCK).select(key.expr).to_series().to_numpy()

    with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
        list(pool.map(pack, range(0, len(keys), _BLOCK)))
    return keys


def _unpacked(key: Key, rows: Rows) -> pl.DataFrame:
    """Return the columns that the key is made of."""
    columns = [rows.score.alias("score"), rows.level.alias("level")]
    if "query" in key.expr.meta.root_names():
        columns.append((rows.grouping.of_rows if rows.grouping.column is None else rows.grouping.column).alias("query"))
    return pl.DataFrame(columns)


def _grouping(key: Key, keys: pl.Series, ids: pl.DataFrame) -> Grouping:
    """Group a column of keys that is sorted by query."""
    import numpy as np

    starts, queries = [], []
    for at in range(0, len(keys), _BLOCK):
        block = keys.slice(at, _BLOCK).to_frame("key").select(key.query).to_series()
        heads = run_starts([block])
        starts.append((heads + at).to_numpy())
        queries.append(block.gather(heads).to_numpy())
    # A query that goes on in the next block starts there once more: its parts add up.
    lengths = np.zeros(ids.height, dtype=np.int64)
    if starts:
        np.add.at(lengths, np.concatenate(queries), np.diff(np.concatenate(starts).astype(np.int64), append=len(keys)))
    return Grouping(ids, lengths)


def _is_sorted_within(keys: pl.Series, grouping: Grouping) -> bool:
    """Tell whether the keys come ranked, that is, step down only where a query starts."""
    starts = grouping.offsets[:-1][grouping.count_rows().to_numpy() > 0]
    return all(_steps_down_only_at(starts, part) for part in (keys.head(_SAMPLE), keys))


def _steps_down_only_at(starts: NDArray[np.int64], keys: pl.Series) -> bool:
    after = starts[(starts > 0) & (starts < len(keys))]
    steps_down = keys[1:] < keys[:-1]
    return bool(steps_down.sum() == steps_down.gather(after - 1).sum())


def _sort_matrix(keys: pl.Series, length: int) -> pl.Series:
    """Sort equally long lists as the rows of a matrix: NumPy does it with SIMD, and lets other threads run."""
    matrix = keys.to_numpy(writable=True).reshape(-1, length)
    matrix.sort(axis=1)
    return pl.Series("key", matrix.reshape(-1))


def _sort_lists(keys: pl.Series, grouping: Grouping) -> pl.Series:
    """Sort lists of any lengths, laid over the keys by their offsets without a copy."""
    import pyarrow as pa

    lists = pl.Series("key", pa.LargeListArray.from_arrays(pa.array(grouping.offsets), keys.to_arrow()))
    ranked = lists.to_frame().lazy().select(pl.col("key").list.sort()).collect(engine="streaming").to_series()
    return ranked.explode(empty_as_null=False).rechunk()


def _hits(ranked: _Sorted) -> pl.DataFrame:
    """Read the hits out of the sorted keys, with their tie groups."""
    key = ranked.key
    is_hit = (pl.col("key") & (2**key.level_bits - 1)) != key.max_level
    hits = ranked.keys.to_frame("key").lazy().with_row_index("at").filter(is_hit).collect(engine="streaming")
    query = ranked.grouping.of(hits["at"])
    start = pl.Series(ranked.grouping.offsets).gather(query)
    hits = hits.with_columns(query.alias("query"), level=key.level.cast(pl.UInt32)).with_columns(
        place=(pl.col("at").cast(pl.Int64) - start).cast(pl.UInt32)
    )
    return _with_tie_groups(hits, ranked)


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
    after = after.zip_with(same_query, hits["at"])
    keys = pl.DataFrame({"key": hits["key"], "next": ranked.keys.gather(after)})
    group_size = 2**ranked.key.level_bits
    same_group = pl.col("key") // group_size == pl.col("next") // group_size
    return keys.select((pl.col("key") != pl.col("next")) & same_group).to_series()


def _with_uneven_groups(hits: pl.DataFrame, uneven: pl.Series, ranked: _Sorted) -> pl.DataFrame:
    """Give the hits of uneven tie groups the group's start and size."""
    import numpy as np

    groups = _groups_of(hits, uneven.arg_true(), ranked)
    number = pl.Series(np.searchsorted(groups["start"].to_numpy(), hits["at"].to_numpy(), side="right") - 1)
    inside = (number >= 0) & (hits["at"] < groups["end"].gather(number.clip(lower_bound=0)))
    rows, number = inside.arg_true(), number.filter(inside)
    start, end = groups["start"].gather(number), groups["end"].gather(number)
    query_start = pl.Series(ranked.grouping.offsets).gather(hits["query"].gather(rows))
    return hits.with_columns(
        hits["above"].scatter(rows, (start - query_start).cast(pl.UInt32)),
        hits["tied"].scatter(rows, (end - start).cast(pl.UInt32)),
    )


def _groups_of(hits: pl.DataFrame, uneven: pl.Series, ranked: _Sorted) -> pl.DataFrame:
    """Return where the tie groups of some hits start and end in the column of keys."""
    import numpy as np

    # A group begins with its hits, so it starts where they do.
    first_hits = run_starts([hits.select(ranked.key.tie_group).to_series(), hits["query"]])
    group = np.searchsorted(first_hits.to_numpy(), uneven.to_numpy(), side="right") - 1
    start = hits["at"].gather(first_hits.gather(group)).cast(pl.Int64)
    hits = hits[uneven]
    size = 2**ranked.key.level_bits
    last_key = hits.select(pl.col("key") // size * size + (size - 1)).to_series()
    end_of_query = pl.Series(ranked.grouping.offsets).gather(hits["query"] + 1)
    end = _first_above(last_key, ranked.keys, hits["at"].cast(pl.Int64) + 1, end_of_query)
    return pl.DataFrame({"start": start, "end": end}).unique("start").sort("start")


def _first_above(limit: pl.Series, keys: pl.Series, low: pl.Series, high: pl.Series) -> pl.Series:
    """Return the first place from low up whose key is above a limit, or high if there is none; elementwise.

    Steps of 1, 2, 4, … find a place beyond, since most groups are small; then the last step is halved.
    """

    def is_beyond(place: pl.Series) -> pl.Series:
        inside = place < high
        return ~inside | (keys.gather(place.zip_with(inside, low - 1)) > limit)

    step, beyond = 1, low
    while not (found := is_beyond(beyond)).all():
        low = low.zip_with(found, beyond + 1)
        beyond, step = beyond.zip_with(found, beyond + step), 2 * step
    while (open_ := low < beyond).any():
        middle = (low + beyond) // 2
        found = is_beyond(middle)
        beyond, low = middle.zip_with(open_ & found, beyond), (middle + 1).zip_with(open_ & ~found, low)
    return low.zip_with(low < high, high)
