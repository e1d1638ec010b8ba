"""One value for each number, of rows that stand together by number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_retrieval.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


_WORTH_THREADS = 2**16  # rows


@dataclass(frozen=True)
class Runs:
    """Where the rows of each number start; a number below n that no row has is reduced to 0."""

    starts: NDArray[np.intp]
    numbers: NDArray[np.intp]
    n_rows: int
    n: int

    @classmethod
    def of(cls, numbers: NDArray[Any], n: int) -> Runs:
        """Find the runs of rows of one number."""
        starts = _starts(numbers[1:] != numbers[:-1], len(numbers))
        return cls(starts, numbers[starts].astype(np.intp), len(numbers), n)

    @classmethod
    def of_parts(cls, numbers: NDArray[Any], parts: NDArray[Any], n: int, n_parts: int) -> Runs:
        """Find the runs of rows of one number and part; they are numbered by part first."""
        changes = (numbers[1:] != numbers[:-1]) | (parts[1:] != parts[:-1])
        starts = _starts(changes, len(numbers))
        return cls(starts, parts[starts].astype(np.intp) * n + numbers[starts], len(numbers), n * n_parts)

    def sum(self, values: pl.Series | None) -> Floats:
        """Add up values, or count rows."""
        if values is None:
            return self._spread(np.diff(self.starts, append=self.n_rows))
        return self._reduced(np.add.reduceat, values)

    def largest(self, values: pl.Series) -> Floats:
        """Find the largest value."""
        return self._reduced(np.maximum.reduceat, values)

    def first(self, values: pl.Series) -> Floats:
        """Take the first value."""
        return self._spread(_floats(values)[self.starts])

    def _reduced(self, reduce: Callable[..., Any], values: pl.Series) -> Floats:
        return self._spread(reduce(_floats(values), self.starts) if self.n_rows else np.empty(0))

    def _spread(self, values: NDArray[Any]) -> Floats:
        spread = np.zeros(self.n)
        spread[self.numbers] = values
        return spread


def _starts(changes: NDArray[np.bool_], n_rows: int) -> NDArray[np.intp]:
    return np.concatenate([np.arange(min(1, n_rows)), np.flatnonzero(changes) + 1])


@dataclass(frozen=True)
class Parts:
    """The number and the part, up to a few, that each row belongs to."""

    cells: NDArray[np.intp]
    n: int
    n_parts: int

    @classmethod
    def of(cls, numbers: NDArray[Any], parts: NDArray[np.intp], n: int, n_parts: int) -> Parts:
        """Take the numbers, below n, and parts of rows."""
        return cls(parts * n + numbers, n, n_parts)

    def sum(self, values: pl.Series | None) -> Floats:
        """Add up values, or count rows, for each part and number: a matrix."""
        weights = None if values is None else _floats(values)
        sums = np.bincount(self.cells, weights=weights, minlength=self.n * self.n_parts)
        return sums.astype(np.float64, copy=False).reshape(self.n_parts, self.n)


def _floats(values: pl.Series) -> Floats:
    return values.cast(pl.Float64).to_numpy()


def side_by_side(tasks: Sequence[Callable[[], list[pl.Series]]], n_rows: int) -> list[pl.Series]:
    """Compute columns of so many rows, side by side if they are many."""
    apply = map if n_rows < _WORTH_THREADS else in_threads
    return [column for columns in apply(lambda task: task(), tasks) for column in columns]
