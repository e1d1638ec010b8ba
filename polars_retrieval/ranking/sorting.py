"""Hits by sorting one packed integer per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_retrieval.grouping import Grouping, cut
from polars_retrieval.ranking.keys import Extremes, Key
from polars_retrieval.ranking.rows import Rows
from polars_retrieval.ranking.scores import dense
from polars_retrieval.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from polars_retrieval.ranking.keys import Integers

_BLOCK = 2**18  # rows that are worked on at a time: they fit the cache, and their memory is used again and again
_MANY_THREADS = 5  # from which Polars, on all, sorts integers faster than NumPy on two
_SAMPLE = 10_000  # keys that show, nearly always, that a run does not come ranked
_SWAPS = 4  # rounds of swaps by which tied documents of a ranked run are put in order


@dataclass(frozen=True)
class _Sorted:
    """Keys in the order of query and rank, where each query's start, and the number of the first query."""

    key: Key
    keys: Integers
    offsets: NDArray[np.int64]
    first_query: int = 0


def sort_hits(rows: Rows) -> tuple[pl.DataFrame, pl.Series]:
    """Return the hits with their tie groups, and how many documents each query retrieved."""
    if rows.grouping.lengths is None:
        key = Key.of(rows.score.head(0).to_numpy().dtype, _extremes(rows), rows.max_level, rows.grouping.n_numbers)
        if key.bits <= 64:  # noqa: PLR2004
            return _sort_all(rows, key)
        rows = _together(rows)
    n_retrieved = rows.grouping.count_rows()
    blocks = rows.blocks(_BLOCK)
    found = in_threads(lambda block: _hits(_sort_within(*block)), blocks)
    return _frame(found), n_retrieved


def _sort_all(rows: Rows, key: Key) -> tuple[pl.DataFrame, pl.Series]:
    """Sort keys that begin with the query."""
    keys = _sorted_rows(rows, key)
    n_retrieved = _count_queries(key, keys, rows.grouping.n_numbers)
    offsets = np.append(0, np.cumsum(n_retrieved))
    blocks = [
        _Sorted(key, keys[offsets[first] : offsets[end]], offsets[first : end + 1] - offsets[first], first)
        for first, end in cut(offsets, _BLOCK)
    ]
    return _frame(in_threads(_hits, blocks)), pl.Series(n_retrieved).cast(pl.UInt32)


def _together(rows: Rows) -> Rows:
    """Put the rows of each query together, in the order they come."""
    n = len(rows.score)
    row_bits = n.bit_length()
    places = rows.grouping.of_rows.to_numpy().astype(np.uint64) << np.uint64(row_bits)
    places |= np.arange(n, dtype=np.uint64)
    order = pl.Series(_sorted(places) & np.uint64(2**row_bits - 1))
    grouping = Grouping(rows.grouping.ids, rows.grouping.count_rows().cast(pl.Int64).to_numpy())
    return Rows(grouping, rows.score.gather(order), rows.level.gather(order), rows.max_level)


def _score(rows: Rows) -> NDArray[Any]:
    return rows.score.to_numpy()


def _levels(rows: Rows) -> NDArray[Any]:
    return (rows.level.cast(pl.UInt8) if rows.level.dtype == pl.Boolean else rows.level).to_numpy()


def _extremes(rows: Rows) -> Extremes:
    scores = rows.score
    return Extremes.of_all(
        in_threads(lambda at: Extremes.of(scores.slice(at, _BLOCK).to_numpy()), range(0, len(scores), _BLOCK))
    )


def _sorted_rows(rows: Rows, key: Key) -> Integers:
    """Pack rows into one array, and sort it."""
    scores, queries = rows.score, _queries(rows.grouping)

    def pack(at: int) -> Integers:
        block = Rows(rows.grouping, scores.slice(at, _BLOCK), rows.level.slice(at, _BLOCK))
        return key.pack(_score(block), _levels(block), queries(at))

    keys, blocks = np.empty(len(scores), key.dtype), range(0, len(scores), _BLOCK)
    if pl.thread_pool_size() >= _MANY_THREADS or not len(keys):
        return _sorted(np.concatenate(in_threads(pack, blocks) or [keys]))
    # NumPy sorts on one thread: two of them sort the queries below and above the one in the middle.
    # A block may be a copy, and a view of a part would keep all of it.
    middle = int(np.median(np.concatenate([queries(at)[:: _BLOCK // 32].copy() for at in blocks])))
    n_low = np.array(in_threads(lambda at: np.count_nonzero(queries(at) < middle), blocks))
    n_high = np.minimum(_BLOCK, len(keys) - np.array(blocks)) - n_low
    low, high = keys[: n_low.sum()], keys[n_low.sum() :]
    low_ends, high_ends = np.cumsum(n_low), np.cumsum(n_high)

    def put(number: int) -> None:
        block = pl.Series(pack(blocks[number]))
        is_low = block < key.dtype(middle << key.query_shift)
        low[low_ends[number] - n_low[number] : low_ends[number]] = block.filter(is_low).to_numpy()
        high[high_ends[number] - n_high[number] : high_ends[number]] = block.filter(~is_low).to_numpy()

    in_threads(put, range(len(blocks)))
    in_threads(lambda half: half.sort(), (low, high))
    return keys


def _queries(grouping: Grouping) -> Callable[[int], NDArray[Any]]:
    """Give a function that reads the query numbers of a block of rows."""
    numbers = grouping.of_rows if grouping.column is None else grouping.column
    lowest = 0 if grouping.column is None else grouping.lowest

    def block(at: int) -> NDArray[Any]:
        of_rows = numbers.slice(at, _BLOCK).to_numpy()
        return of_rows.astype(np.int64, copy=False) - lowest if lowest else of_rows

    return block


def _sorted(keys: Integers) -> Integers:
    """Sort keys, in their memory."""
    if pl.thread_pool_size() >= _MANY_THREADS:
        return pl.Series(keys).sort().to_numpy()
    keys.sort()
    return keys


def _count_queries(key: Key, keys: Integers, n: int) -> NDArray[np.int64]:
    """Count the rows of each query, of keys that are sorted."""

    def heads(at: int) -> tuple[NDArray[np.int64], Integers]:
        queries = key.queries(keys[at : at + _BLOCK])
        starts = np.flatnonzero(queries[1:] != queries[:-1]) + 1
        starts = np.append(0, starts)
        return starts + at, queries[starts]

    found = in_threads(heads, range(0, len(keys), _BLOCK))
    if not found:
        return np.zeros(n, dtype=np.int64)
    starts, queries = (np.concatenate(parts) for parts in zip(*found, strict=True))
    # A query that goes on in the next block starts there once more: its parts add up.
    lengths = np.diff(starts, append=len(keys))
    return np.bincount(queries.astype(np.intp), weights=lengths, minlength=n).astype(np.int64)


def _sort_within(first_query: int, rows: Rows) -> _Sorted:
    """Sort keys without the query, for each query on its own."""
    scores = _score(rows)
    key = Key.of(scores.dtype, Extremes.of(scores), rows.max_level)
    if key.bits > 64:  # noqa: PLR2004
        scores = _score(Rows(rows.grouping, dense(rows.score), rows.level))
        key = Key.of(scores.dtype, Extremes.of(scores), rows.max_level)
    keys, grouping = key.pack(scores, _levels(rows)), rows.grouping
    if not _is_ranked(keys, grouping.offsets):
        length = grouping.equal_length
        keys = _sort_matrix(keys, length) if length else _sort_lists(keys, grouping.offsets)
    return _Sorted(key, keys, grouping.offsets, first_query)


def _is_ranked(keys: Integers, offsets: NDArray[np.int64]) -> bool:
    """Tell whether the keys come ranked; tied documents that are not in the order of their levels are swapped."""
    n_starts = len(offsets)
    if len(_steps_down(keys[:_SAMPLE], offsets)) > min(n_starts, _SAMPLE) // 2:
        return False
    for _ in range(_SWAPS):
        down = _steps_down(keys, offsets)
        if not len(down):
            return True
        if len(down) > len(keys) // 100:
            return False
        # Of pairs that overlap, swap the first.
        down = down[np.append(True, down[1:] - down[:-1] > 1)]
        keys[down], keys[down + 1] = keys[down + 1], keys[down]
    return False


def _steps_down(keys: Integers, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places whose next key, of the same query, is lower."""
    down = keys[1:] < keys[:-1]
    starts = offsets[(offsets > 0) & (offsets < len(keys))]
    down[starts - 1] = False
    return np.flatnonzero(down)


def _sort_matrix(keys: Integers, length: int) -> Integers:
    """Sort equally long lists as the rows of a matrix: NumPy does it with SIMD, and lets other threads run."""
    keys.reshape(-1, length).sort(axis=1)
    return keys


def _sort_lists(keys: Integers, offsets: NDArray[np.int64]) -> Integers:
    """Sort lists of any lengths, laid over the keys by their offsets without a copy."""
    import pyarrow as pa

    lists = pl.Series("key", pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(keys)))
    ranked = lists.to_frame().lazy().select(pl.col("key").list.sort()).collect(engine="streaming").to_series()
    return ranked.explode(empty_as_null=False).rechunk().to_numpy(writable=True)


_Hits = dict[str, "NDArray[Any]"]


def _frame(blocks: list[_Hits]) -> pl.DataFrame:
    """Join the hits of several blocks."""
    joined = {name: _joined(blocks, name) for name in ("query", "level", "place")}
    if any("tied" in block for block in blocks):
        alone = [
            {"above": block["place"], "tied": np.ones(len(block["place"]), np.uint32), **block} for block in blocks
        ]
        return pl.DataFrame({**joined, "above": _joined(alone, "above"), "tied": _joined(alone, "tied")})
    return pl.DataFrame(joined).with_columns(above="place", tied=pl.lit(1, dtype=pl.UInt32))


def _alone(place: NDArray[np.uint32]) -> _Hits:
    """Let each hit stand as a tie group of its own."""
    return {"above": place.copy(), "tied": np.ones(len(place), np.uint32)}


def _joined(blocks: list[_Hits], name: str) -> NDArray[np.uint32]:
    return np.concatenate([block[name] for block in blocks] or [np.empty(0, np.uint32)])


def _hits(ranked: _Sorted) -> _Hits:
    """Read the hits out of the sorted keys, with `above` and `tied` if there is a tie group whose order matters."""
    at = np.flatnonzero(ranked.key.is_hit(ranked.keys))
    keys, query = ranked.keys[at], _query_of(at, ranked)
    place = (at - ranked.offsets[query]).astype(np.uint32)
    hits = {
        "query": (query + ranked.first_query).astype(np.uint32),
        "level": ranked.key.levels(keys),
        "place": place,
    }
    return hits | _tie_groups(at, keys, query, place, ranked)


def _query_of(at: NDArray[np.intp], ranked: _Sorted) -> NDArray[np.intp]:
    """Return the query, within the block, of some places."""
    n, rows = len(ranked.offsets) - 1, len(ranked.keys)
    if n and rows and rows % n == 0 and (np.diff(ranked.offsets) == rows // n).all():
        return at // (rows // n)
    return np.searchsorted(ranked.offsets, at, side="right") - 1


def _tie_groups(
    at: NDArray[np.intp], keys: Integers, query: NDArray[np.intp], place: NDArray[np.uint32], ranked: _Sorted
) -> _Hits:
    """Return `above` and `tied`: of the tie group where it holds more than hits of one level, else of the hit."""
    groups = ranked.key.tie_groups(keys)
    after = np.minimum(at + 1, len(ranked.keys) - 1)
    next_keys = ranked.keys[after]
    differs = np.flatnonzero((next_keys != keys) & (ranked.key.tie_groups(next_keys) == groups))
    # Without the query in the key, the next one may be of the next query.
    uneven = differs[after[differs] < ranked.offsets[query[differs] + 1]]
    if not len(uneven):
        return {}
    # A group begins with its hits, so it starts where they do.
    is_first = np.append(True, (groups[1:] != groups[:-1]) | (query[1:] != query[:-1]))
    group, first_hits = np.cumsum(is_first) - 1, np.flatnonzero(is_first)
    concerned = np.unique(group[uneven])
    start = at[first_hits[concerned]]
    end = _end_of_group(ranked, start, ranked.offsets[query[first_hits[concerned]] + 1])
    number = np.searchsorted(concerned, group)
    inside = np.flatnonzero(concerned[np.minimum(number, len(concerned) - 1)] == group)
    number = number[inside]
    hits = _alone(place)
    hits["above"][inside] = start[number] - ranked.offsets[query[inside]]
    hits["tied"][inside] = (end - start)[number]
    return hits


def _end_of_group(ranked: _Sorted, start: NDArray[np.intp], end_of_query: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the tie groups that start at some places end.

    Steps of 1, 2, 4, … find a place beyond, since most groups are small; then the last step is halved.
    """
    group = ranked.key.tie_groups(ranked.keys[start])

    def is_inside(place: NDArray[np.int64]) -> NDArray[np.bool_]:
        keys = ranked.keys[np.minimum(place, len(ranked.keys) - 1)]
        inside: NDArray[np.bool_] = (place < end_of_query) & (ranked.key.tie_groups(keys) == group)
        return inside

    step, inside, beyond = 1, start, start + 1
    while (goes_on := is_inside(beyond)).any():
        inside = np.where(goes_on, beyond, inside)
        beyond, step = np.where(goes_on, beyond + step, beyond), 2 * step
    while (inside + 1 < beyond).any():
        middle = (inside + beyond) // 2
        found = is_inside(middle)
        inside, beyond = np.where(found, middle, inside), np.where(found, beyond, middle)
    return beyond
