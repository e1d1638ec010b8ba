"""Intervals for means over queries: queries are drawn again, or the mean is taken to be normal.

All samples of a call that have equally many queries stand side by side in one matrix, so that drawing again is one
product of matrices for all of them. A sample's interval does not depend on the others.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from polars_retrieval.errors import ParameterError
from polars_retrieval.options import check_choice, check_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Method = Literal["bootstrap", "t"]

N_RESAMPLES = 10_000
_CELLS = 2**24  # of the largest matrices: 128 MiB each
_DRAWN_CELLS = 2**21  # of the matrices that are drawn: 16 MiB each, a multiple of the caches


@dataclass(frozen=True, kw_only=True)
class Resampling:
    """How sure an interval is to be, and how it is found; see `polars_retrieval.summarize`."""

    level: float = 0.95
    method: Method = "bootstrap"
    n_resamples: int = N_RESAMPLES
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("method", self.method, Method)
        check_level("level", self.level)
        check_whole("n_resamples", self.n_resamples, least=1)
        check_whole("seed", self.seed, least=0)


def check_level(argument: str, given: object) -> None:
    """Raise unless ``given`` is a share strictly between 0 and 1."""
    check_number(argument, given)
    if not isinstance(given, (int, float)) or not 0 < given < 1:
        msg = f"`{argument}` has to be a number between 0 and 1, such as 0.95, got {given!r}"
        raise ParameterError(msg)


def check_whole(argument: str, given: object, *, least: int) -> None:
    """Raise unless ``given`` is an integer of at least ``least``. A bool is no integer."""
    if isinstance(given, bool) or not isinstance(given, int) or given < least:
        msg = f"`{argument}` has to be an integer of at least {least}, got {given!r}"
        raise ParameterError(msg)


def stats_module(name: str) -> Any:
    """Import a module of the packages that intervals and tests need."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        msg = f"intervals, tests and corrections need {error.name}\n\nHint: pip install 'polars-retrieval[stats]'."
        raise ModuleNotFoundError(msg, name=error.name) from error


@dataclass(frozen=True)
class Samples:
    """Columns of values with a row for each query, and the samples made of them.

    A sample is the column `plus`, or, with `minus`, what is left of it less that column. As many samples share a
    column, what is linear in the values is found for the columns, and only then for the samples.
    """

    values: Floats
    plus: NDArray[np.intp]
    minus: NDArray[np.intp] | None = None

    @property
    def n_queries(self) -> int:
        """How many queries there are."""
        return len(self.values)

    def of(self, rows: Floats) -> Floats:
        """Return the rows of the samples, given rows of the columns."""
        return rows[:, self.plus] if self.minus is None else rows[:, self.plus] - rows[:, self.minus]

    def blocks(self, n_resamples: int) -> Iterator[tuple[slice, Samples]]:
        """Part into so many samples that all resamples of their means, and all their values, fit in memory."""
        size = max(1, _CELLS // max(n_resamples, self.n_queries))
        for start in range(0, len(self.plus), size):
            part = slice(start, start + size)
            yield part, self._part(part)

    def _part(self, part: slice) -> Samples:
        """Keep some samples, and the columns that they need."""
        import numpy as np

        plus = self.plus[part]
        minus = plus if self.minus is None else self.minus[part]
        needed, place = np.unique(np.stack([plus, minus]), return_inverse=True)
        place = place.reshape(2, -1)
        return Samples(self.values[:, needed], place[0], None if self.minus is None else place[1])


def drawn_counts(n_queries: int, n_resamples: int, seed: int) -> Iterator[Floats]:
    """Draw as many queries as there are, with replacement: rows that count how often each was drawn.

    Some rows at a time, in one array that the next ones overwrite.
    """
    import numpy as np

    generator = np.random.default_rng(seed)
    counts = None
    for n_rows in row_counts(n_queries, n_resamples):
        counts = np.empty((n_rows, n_queries)) if counts is None else counts[:n_rows]
        for row in counts:  # one by one: what is drawn for one, and its counts, stay in the cache
            row[:] = np.bincount(generator.integers(n_queries, size=n_queries), minlength=n_queries)
        yield counts


def row_counts(n_queries: int, n_resamples: int) -> Iterator[int]:
    """Part the rows of a matrix that has a column for each query, so that each part stays small."""
    size = max(1, _DRAWN_CELLS // max(n_queries, 1))
    for start in range(0, n_resamples, size):
        yield min(size, n_resamples - start)


def intervals(samples: Samples, resampling: Resampling) -> tuple[Floats, Floats]:
    """Return the lower and the upper end of the interval of each sample's mean; NaN where there is but one query."""
    import numpy as np

    if samples.n_queries < 2:  # noqa: PLR2004 (one value says nothing of how much others vary)
        none = np.full(len(samples.plus), np.nan)
        return none, none
    means = samples.values.mean(axis=0)
    mean, centred = samples.of(means[None])[0], samples.values - means
    if resampling.method == "t":
        half = t_quantile(samples.n_queries, resampling.level) * standard_errors(samples)
        return mean - half, mean + half
    low, high = _percentiles(samples, centred, resampling)
    # Of equal values every mean is the same, but sums of them may differ in the last digit.
    return mean + np.minimum(low, 0), mean + np.maximum(high, 0)


def _percentiles(samples: Samples, centred: Floats, resampling: Resampling) -> Floats:
    """Return two percentiles of the means of drawn queries.

    Those at (1 - level) / 2 are too close together where there are few queries: drawn means vary by (n - 1) / n of
    what they should, and the error of the variance itself is left out. So the tails are what makes the interval of a
    normal mean that of Student's t (Hesterberg, What teachers should know about the bootstrap, 2015).
    """
    import numpy as np

    n = samples.n_queries
    counts = drawn_counts(n, resampling.n_resamples, resampling.seed)
    drawn = np.concatenate([rows @ centred for rows in counts]) / n
    tail = stats_module("scipy.special").ndtr(-np.sqrt(n / (n - 1)) * t_quantile(n, resampling.level))
    return np.quantile(samples.of(drawn), [tail, 1 - tail], axis=0, overwrite_input=True)


def t_quantile(n_queries: int, level: float) -> float:
    """Return how many standard errors the interval reaches to each side."""
    return float(stats_module("scipy.special").stdtrit(n_queries - 1, (1 + level) / 2))


def standard_errors(samples: Samples) -> Floats:
    """Return the standard error of each sample's mean."""
    import numpy as np

    return samples.of(samples.values).std(axis=0, ddof=1) / np.sqrt(samples.n_queries)


def summaries(values: pl.DataFrame, by: Sequence[str], resampling: Resampling) -> pl.DataFrame:
    """Summarise each measure of each group over its queries, leaving out nulls.

    The measures are the columns that `by` does not name. Rows are in order of the groups' first appearance.
    """
    import numpy as np

    measures = [name for name in values.columns if name not in by]
    lists = _defined_values(values, by, measures)
    n_groups, n_measures = lists.height, len(measures)
    cells = pl.concat([lists[name].alias("values") for name in measures])
    in_order = cells.gather(np.arange(n_groups * n_measures).reshape(n_measures, n_groups).T.ravel())
    groups = [lists[name].gather(np.repeat(np.arange(n_groups), n_measures)) for name in by]
    names = pl.Series("measure", measures * n_groups, dtype=pl.String)
    return pl.DataFrame([*groups, names, *_statistics(in_order, resampling)])


def _defined_values(values: pl.DataFrame, by: Sequence[str], measures: Sequence[str]) -> pl.DataFrame:
    """Return a row for each group: the list of each measure's values."""
    defined = pl.col(measures).drop_nulls()
    if by:
        return values.group_by(by, maintain_order=True).agg(defined)
    return values.select(defined.implode())


def _statistics(lists: pl.Series, resampling: Resampling) -> list[pl.Series]:
    """Return mean, standard deviation, number and interval of each list of values."""
    import numpy as np

    lengths = lists.list.len().to_numpy()
    columns = {name: np.full(len(lists), np.nan) for name in ("mean", "std", "low", "high")}
    for n in np.unique(lengths[lengths > 0]):
        (places,) = np.nonzero(lengths == n)
        matrix = lists.gather(places).explode().to_numpy().reshape(-1, n).T
        for part, samples in Samples(matrix, np.arange(len(places))).blocks(resampling.n_resamples):
            at = places[part]
            columns["mean"][at] = samples.values.mean(axis=0)
            columns["low"][at], columns["high"][at] = intervals(samples, resampling)
            if n > 1:
                columns["std"][at] = samples.values.std(axis=0, ddof=1)
    frame = pl.DataFrame(columns).fill_nan(None).with_columns(n_queries=pl.Series(lengths).cast(pl.Int64))
    return frame.select("mean", "std", "n_queries", "low", "high").get_columns()


def interval_columns(values: pl.DataFrame, by: Sequence[str], resampling: Resampling) -> pl.DataFrame:
    """Return a row for each group: its columns, and the ends of the interval of each measure's mean.

    They are named `recall@10_ci_low` and `recall@10_ci_high`.
    """
    import numpy as np

    measures = [name for name in values.columns if name not in by]
    ends = summaries(values, by, resampling)
    rows = np.arange(ends.height).reshape(-1, len(measures))  # a row for each group
    columns = [
        ends[end].gather(rows[:, place]).alias(f"{name}_ci_{end}")
        for place, name in enumerate(measures)
        for end in ("low", "high")
    ]
    return pl.DataFrame([*(ends[name].gather(rows[:, 0]) for name in by), *columns])
