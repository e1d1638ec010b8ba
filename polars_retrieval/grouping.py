"""Which query each row belongs to."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

_SAMPLE = 100_000  # rows that show, nearly always, whether the rows of each query stand together


@dataclass(frozen=True)
class Grouping:
    """The queries of a frame, numbered 0, 1, …, and the number of each row's query.

    `ids` holds the query columns, one row a number. Where the rows of each query stand together, in the order of
    the numbers, `lengths` holds how many there are; else it is None, and a row's number is its value in `column` less
    `lowest`. The numbers of integer ids that stand apart count from the smallest id, so some may belong to no row.
    """

    ids: pl.DataFrame
    lengths: NDArray[np.int64] | None = None
    column: pl.Series | None = None
    lowest: int = 0

    def number(self, name: str) -> pl.Expr:
        """Return the number of the query, from a column of that name that holds the values of `column`."""
        return pl.col(name).cast(pl.Int64) - self.lowest if self.lowest else pl.col(name)

    @property
    def n_numbers(self) -> int:
        """How many numbers there are."""
        return self.ids.height

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where the rows of each query start, where they stand together; the last offset is the end."""
        import numpy as np

        return np.append(0, np.cumsum(self.count_rows().to_numpy(), dtype=np.int64))

    @cached_property
    def equal_length(self) -> int:
        """How many rows each query has, if they stand together and all have equally many; else 0."""
        if self.lengths is None or not len(self.lengths):
            return 0
        return int(self.lengths[0]) if (self.lengths == self.lengths[0]).all() else 0

    @cached_property
    def of_rows(self) -> pl.Series:
        """The number of each row's query."""
        import numpy as np

        if self.column is None:
            return pl.Series("query", np.repeat(np.arange(self.n_numbers, dtype=np.uint32), self.count_rows()))
        if self.column.dtype == pl.UInt32 and not self.lowest:
            return self.column
        number = self.number("query").cast(pl.UInt32)
        return pl.LazyFrame([self.column.alias("query")]).select(number).collect(engine="streaming").to_series()

    def of(self, rows: pl.Series) -> pl.Series:
        """Return the query numbers of some rows, given by where they stand."""
        import numpy as np

        if self.equal_length:
            return (rows // self.equal_length).cast(pl.UInt32)
        if self.column is not None:
            values = self.column.gather(rows).to_frame("query")
            return values.select(self.number("query").cast(pl.UInt32)).to_series()
        return pl.Series(np.searchsorted(self.offsets, rows.to_numpy(), side="right") - 1).cast(pl.UInt32)

    def part(self, first: int, end: int) -> Grouping:
        """Return some queries, renumbered from 0, of rows that stand together."""
        lengths = self.count_rows().to_numpy() if self.lengths is None else self.lengths
        return Grouping(self.ids.slice(first, end - first), lengths[first:end])

    def count_rows(self) -> pl.Series:
        """Count the rows of each query."""
        import numpy as np

        lengths = self.lengths
        if lengths is None:
            lengths = np.bincount(self.of_rows.to_numpy(), minlength=self.n_numbers)
        return pl.Series(lengths).cast(pl.UInt32)

    def numbers_in_order(self) -> pl.Series:
        """Return the numbers that have rows, in order of first appearance."""
        if self.lengths is None:
            return self.of_rows.unique(maintain_order=True)
        return pl.Series(self.lengths > 0).arg_true()

    def filter(self, mask: pl.Series) -> Grouping:
        """Keep the rows where ``mask`` is true, and every number."""
        kept = Grouping(self.ids, None, keep(self.of_rows, mask))
        if self.lengths is None and not kept.of_rows.is_sorted():
            return kept
        return Grouping(self.ids, kept.count_rows().cast(pl.Int64).to_numpy(), kept.column)


def cut(offsets: NDArray[np.int64], size: int) -> Iterator[tuple[int, int]]:
    """Cut queries into blocks of about ``size`` rows; give the first query of each and that after its last."""
    n_queries, n_rows = len(offsets) - 1, int(offsets[-1])
    firsts = offsets.searchsorted(range(0, max(1, n_rows), size)).tolist()
    return pairwise([*dict.fromkeys(firsts), n_queries])


def keep(values: pl.Series, mask: pl.Series) -> pl.Series:
    """Keep the values where ``mask`` is true; if these come first, as they are, without a copy."""
    n = int(mask.sum())
    return values.slice(0, n) if mask.slice(0, n).all() else values.filter(mask)


def pair_keys(numbers: NDArray[Any], docs: pl.Series) -> NDArray[np.uint64]:
    """Return a number for each pair of a query number and a document: equal pairs have equal ones, others nearly never.

    Comparing 64 bits is many times faster than comparing two columns, of which one may be strings.
    """
    import numpy as np

    keys = np.empty(len(docs), np.uint64)
    for start in range(0, len(docs), _BLOCK):
        block = slice(start, start + _BLOCK)
        np.multiply(numbers[block], np.uint64(_SPREAD), out=keys[block])
        keys[block] += docs.slice(start, _BLOCK).hash().to_numpy()
    return keys


_BLOCK = 2**18  # rows that are worked on at a time: what is made of them on the way fits the cache
_SPREAD = 0x9E3779B97F4A7C15  # odd, and its bits are mixed: 2^64 over the golden ratio


def group_rows(ids: pl.DataFrame) -> Grouping:
    """Give the queries of rows with these query columns their numbers."""
    if (grouped := _by_run(ids)) is not None:
        return grouped
    if ids.width == 1 and (by_value := _by_value(ids)) is not None:
        return by_value
    if (hashed := _by_hash(ids)) is not None:
        return hashed
    distinct = ids.unique(maintain_order=True)
    numbered = distinct.with_columns(pl.int_range(pl.len(), dtype=pl.UInt32).alias(_NUMBER))
    joined = ids.join(numbered, on=ids.columns, how="left", nulls_equal=True, maintain_order="left")
    return Grouping(distinct, None, joined[_NUMBER])


_NUMBER = "number of the query"  # a column beside the caller's own


def _by_hash(ids: pl.DataFrame) -> Grouping | None:
    """Give ids the numbers of their hashes, unless different ids have the same one."""
    if (numbered := number_keys(ids.hash_rows().to_numpy())) is None:
        return None
    numbers, heads = _in_order(*numbered)
    distinct, column = ids[heads], pl.Series(numbers)
    same = all(of_row.eq_missing(of_head.gather(column)).all() for of_row, of_head in zip(ids, distinct, strict=True))
    return Grouping(distinct, None, column) if same else None


def _in_order(numbers: NDArray[np.uint32], n: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Renumber in order of first appearance; return also the first row of each number."""
    import numpy as np

    first, is_head = np.empty(n, np.uint32), np.zeros(len(numbers), np.bool_)
    first[numbers[::-1]] = np.arange(len(numbers), dtype=np.uint32)[::-1]  # of several rows the last one written stays
    is_head[first] = True
    heads = np.flatnonzero(is_head)
    renumbered = np.empty(n, np.uint32)
    renumbered[numbers[heads]] = np.arange(n, dtype=np.uint32)
    return renumbered[numbers], heads


def number_keys(keys: NDArray[np.uint64]) -> tuple[NDArray[np.uint32], int] | None:
    """Give equal keys equal numbers, counted through; return these, and how many there are.

    Each key is written to the slot of a table that its first bits name, the last one stays, and has its number. The
    keys that are not found in their slots try again with other bits; None if some have not found any after a while.
    """
    import numpy as np

    bits = min(max(len(keys).bit_length(), 8), 22)
    numbers = np.empty(len(keys), np.uint32)
    rows, n = np.arange(len(keys), dtype=np.uint32), 0
    for _ in range(_TRIES):
        slots = (keys >> np.uint64(64 - bits)).astype(np.uint32)
        owners, used = np.zeros(2**bits, np.uint64), np.zeros(2**bits, np.bool_)
        owners[slots], used[slots] = keys, True
        numbers[rows] = (np.cumsum(used, dtype=np.uint32) + np.uint32(n) - np.uint32(1))[slots]
        n += int(np.count_nonzero(used))
        others = np.flatnonzero(owners[slots] != keys)
        if not len(others):
            return numbers, n
        rows, keys = rows[others], keys[others] * np.uint64(_SPREAD)
    return None


_TRIES = 8


def _by_run(ids: pl.DataFrame) -> Grouping | None:
    """Count the runs of equal ids through, unless an id comes in two of them."""
    import numpy as np

    if _runs(ids.head(_SAMPLE)) is None or (runs := _runs(ids)) is None:
        return None
    starts, heads = runs
    return Grouping(heads, np.diff(starts.to_numpy().astype(np.int64), append=ids.height))


def _runs(ids: pl.DataFrame) -> tuple[pl.Series, pl.DataFrame] | None:
    """Return where each run of equal ids starts, and its ids, or None if an id comes in two runs."""
    starts = run_starts(ids.get_columns())
    heads = ids[starts]
    first = heads.to_series()
    if heads.width == 1 and first.dtype.is_integer() and first.is_sorted():
        return starts, heads  # ascending, and each differs from the one before: no id twice
    return (starts, heads) if heads.n_unique() == heads.height else None


def run_starts(columns: Sequence[pl.Series]) -> pl.Series:
    """Return where each run of rows that are equal in all columns starts."""
    if not (n := len(columns[0])):
        return pl.Series(dtype=pl.UInt32)
    # Slices share memory, where a shifted column would be a copy; but of a column of several chunks those of the two
    # slices would not match, and Polars would copy both: here a block is copied at most.
    step = n if all(column.n_chunks() == 1 for column in columns) else _BLOCK
    blocks = (_changes([column.slice(start, step + 1).rechunk() for column in columns]) for start in range(0, n, step))
    return pl.concat([pl.Series([0], dtype=pl.UInt32), pl.concat(blocks).arg_true() + 1])


def _changes(columns: Sequence[pl.Series]) -> pl.Series:
    """Tell which rows, from the second on, differ from the one before in any column."""
    return reduce(operator.or_, (column[1:].ne_missing(column[:-1]) for column in columns))


def places_in_runs(starts: pl.Series, n_rows: int) -> tuple[pl.Series, pl.Series]:
    """Return each row's place in its run, from 0, and how many rows the run has."""
    import numpy as np

    first = starts.to_numpy().astype(np.int64)
    lengths = np.diff(first, append=n_rows)
    return pl.Series(np.arange(n_rows) - np.repeat(first, lengths)), pl.Series(np.repeat(lengths, lengths))


def _by_value(ids: pl.DataFrame) -> Grouping | None:
    """Take as number an integer id's distance from the smallest, where that wastes few numbers."""
    column = ids.to_series()
    if not column.dtype.is_integer() or not len(column):
        return None
    ends = pl.LazyFrame([column.alias("id")]).select(low=pl.col("id").min(), high=pl.col("id").max())
    low, high = ends.collect(engine="streaming").row(0)
    if high - low > 2 * len(column) or low < -(2**63) or high >= 2**63:
        return None
    values = (pl.int_range(high - low + 1, eager=True) + low).cast(column.dtype).alias(column.name)
    return Grouping(values.to_frame(), None, column, low)
