"""Formulas of measures bound to ranked lists in frames, and their values for every query."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from polars_retrieval.measures import Ranked
from polars_retrieval.ranked_frame import COUNTS, GRADED, Ranking

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from polars_retrieval.measures.ranked import Function


@dataclass
class _Terms:
    """Expressions by the name of the column that will hold them; equal ones have one name."""

    kind: str
    columns: dict[str, pl.Expr] = field(default_factory=dict)
    names: dict[object, str] = field(default_factory=dict)

    def name(self, key: object, make: Callable[[], pl.Expr]) -> str:
        if key not in self.names:
            self.names[key] = f"{self.kind} {len(self.names)}"
            self.columns[self.names[key]] = make().alias(self.names[key])
        return self.names[key]

    def add(self, expr: pl.Expr) -> pl.Expr:
        return pl.col(self.name(expr.meta.serialize(), lambda: expr))


class FrameRanked(Ranked):
    """Every query's ranked list: formulas that read it are collected, and computed together by `values`.

    Values of a document are columns of the hits, and those of a query columns of the queries. What sums up hits is
    put down, and a column of its name returned.
    """

    # As floats: unsigned integers would wrap around below 0.
    n_retrieved, n_relevant, n_nonrelevant, n_judged, n_judged_nonrelevant, n_graded = (
        pl.col(name).cast(pl.Float64) for name in COUNTS
    )
    above, tied = pl.col("above").cast(pl.Float64), pl.col("tied").cast(pl.Float64)

    def __init__(self, ranking: Ranking) -> None:
        self._ranking = ranking
        self._levels = ranking.levels
        self.has_ties = ranking.has_ties
        if not ranking.has_ties:
            self.tied = pl.lit(1.0)
        largest = ranking.levels["grade"].max()
        self.largest_grade = float(largest) if isinstance(largest, float) else 0.0
        self._of_hits, self._of_ideal = _Terms("value"), _Terms("value")
        self._sums, self._maxima, self._ideal_sums = _Terms("sum"), _Terms("maximum"), _Terms("ideal")
        self._places: dict[str, _Places] = {}
        self._tables: dict[object, tuple[pl.Series, pl.Series]] = {}

    # --- of a document ---

    @property
    def hits_above(self) -> pl.Expr:
        """Hits ranked above the document's tie group."""
        return self._count(pl.col("relevant"), "first", "start")

    @property
    def tied_hits(self) -> pl.Expr:
        """Hits in the document's tie group."""
        return self._count(pl.col("relevant"), "start", "end") if self.has_ties else pl.lit(1.0)

    @property
    def nonrelevant_above(self) -> pl.Expr:
        """Documents ranked above its tie group that were judged, and are neither relevant nor negative."""
        nonrelevant = pl.col("nonrelevant")
        counted = self._count(nonrelevant, "first", "start")
        if not self._levels["nonrelevant"][0]:
            return counted
        return self.above - self._count(~nonrelevant, "first", "start")

    def _count(self, what: pl.Expr, start: str, end: str) -> pl.Expr:
        """Count hits of some levels from one row of the hits to another."""
        counted = self._levels.select(what).to_series()
        if counted[1:].all():
            count = pl.col(end).cast(pl.Float64) - pl.col(start)
        else:
            before = pl.lit(counted).gather(pl.col("level")).cast(pl.UInt32).cum_sum()
            count = _down_to(before, end).cast(pl.Float64) - _down_to(before, start)
        return self._of_hits.add(count)

    def of_grade(self, function: Function) -> pl.Expr:
        """Give a function of the document's grade."""
        values = self._levels.select(function(pl.col("grade")).cast(pl.Float64)).to_series()
        return pl.lit(values[1]) if len(values) == 2 else pl.lit(values).gather(pl.col("level"))  # noqa: PLR2004

    def expected(self, function: Function, k: int | None) -> pl.Expr:
        """Give the expected value of a function of the document's rank that is 0 beyond k."""
        key = (function(pl.col("rank")).meta.serialize(), k)
        return pl.col(self._of_hits.name(key, lambda: self._expected(*self._table(function, k))))

    def _expected(self, at_rank: pl.Series, down_to: pl.Series) -> pl.Expr:
        above, end = pl.col("above"), pl.col("above") + pl.col("tied")
        alone = pl.lit(at_rank).gather(above)
        in_group = (pl.lit(down_to).gather(end) - pl.lit(down_to).gather(above)) / self.tied
        return self.if_tied(in_group, alone)

    def _table(self, function: Function, k: int | None) -> tuple[pl.Series, pl.Series]:
        """Return a function's values at the ranks from 1, as far as any list goes, and its sums down to those from 0."""
        longest = self._ranking.queries.select(pl.max_horizontal("n_retrieved", "n_graded").max()).item() or 0
        rank = pl.int_range(1, longest + 1).alias("rank")
        at_rank = pl.select(rank).select(function(pl.col("rank")).cast(pl.Float64)).to_series()
        if k is not None:
            at_rank = pl.concat([at_rank.head(k), pl.zeros(max(0, longest - k), dtype=pl.Float64, eager=True)])
        return at_rank, pl.concat([pl.Series([0.0]), at_rank.cum_sum()])

    def product_above(self, factor: pl.Expr) -> pl.Expr:
        """Multiply a value of the graded documents that are ranked above the document."""
        # As whole numbers, the sums of the logarithms over all queries lose nothing in the difference within one.
        n = self._ranking.queries["n_graded"].max()
        scale = 2.0**62 / (1075 * max(1, n if isinstance(n, int) else 0))  # no float is below 2^-1075
        log = (factor.log(2).clip(lower_bound=-1075) * scale).round().cast(pl.Int64)
        log = pl.when(pl.col("level") > 0).then(log)  # one for every hit, also if it is a constant
        above = log.cum_sum() - log
        return 2 ** ((above - above.gather(pl.col("first"))) / scale)

    # --- of a query ---

    def sum_hits(self, value: pl.Expr) -> pl.Expr:
        """Add up a value of the query's hits."""
        return self._sums.add(self._where(pl.col("relevant"), value))

    def max_hits(self, value: pl.Expr) -> pl.Expr:
        """Give the largest value of the query's hits, 0 if it has none."""
        return self._maxima.add(self._where(pl.col("relevant"), value))

    def sum_graded(self, value: pl.Expr) -> pl.Expr:
        """Add up a value of the query's retrieved documents that have a grade above 0."""
        return self._sums.add(self._where(GRADED, value))

    def sum_judged(self, value: pl.Expr, of_all: pl.Expr) -> pl.Expr:
        """Add up a value of the query's retrieved documents that were judged."""
        judged = self._levels["judged"]
        return of_all if judged[0] else self._sums.add(self._where(pl.col("judged"), value))

    def ideal(self, gain: Function, discount: Function, k: int | None) -> pl.Expr:
        """Add up gain times discount with the query's documents in their best order."""
        down_to = self._table(discount, k)[1]
        above, end = pl.col("above"), pl.col("above") + pl.col("tied")
        gains = self.of_grade(gain) * (pl.lit(down_to).gather(end) - pl.lit(down_to).gather(above))
        return self._ideal_sums.add(gains)

    def sum_places(self, n: pl.Expr, term: Callable[..., pl.Expr], *values: pl.Expr) -> pl.Expr:
        """Add up, for a query, ``term(place, *values)`` for places 1 to n."""
        name = f"places {len(self._places)}"
        names = [f"value {i}" for i in range(len(values))]
        self._places[name] = _Places(
            n, dict(zip(names, values, strict=True)), term(pl.col("place"), *map(pl.col, names))
        )
        return pl.col(name)

    def _where(self, what: pl.Expr, value: pl.Expr) -> pl.Expr:
        """Put 0 for the hits of other levels."""
        counted = self._levels.select(what).to_series()
        if counted[1:].all():
            return value
        return pl.when(pl.lit(counted).gather(pl.col("level"))).then(value).otherwise(0.0)

    def values(self, exprs: Mapping[str, pl.Expr]) -> pl.DataFrame:
        """Compute values for each query number."""
        queries = self._ranking.queries.with_columns(
            *self._reduced(self._ranking.hits, {**self._sums.columns, **self._maxima.columns}, self._of_hits.columns),
            *self._reduced(self._ideal(), self._ideal_sums.columns, {}),
        )
        sums = [places.sum(queries).alias(name) for name, places in self._places.items()]
        return queries.with_columns(sums).lazy().select(**exprs).collect()

    def _ideal(self) -> pl.LazyFrame:
        return pl.LazyFrame() if self._ranking.ideal is None else self._ranking.ideal.lazy()

    def _reduced(
        self, hits: pl.LazyFrame, terms: Mapping[str, pl.Expr], values: Mapping[str, pl.Expr]
    ) -> list[pl.Series]:
        """Add up values of hits, or find the largest, for each query number."""
        if not terms:
            return []
        rows = self._ranking.with_counts(hits).with_columns(**values).select("query", **terms).collect()
        numbers, n = rows["query"].to_numpy(), self._ranking.queries.height
        reduced = []
        for name in terms:
            reduce = _largest if name in self._maxima.columns else _sum
            reduced.append(pl.Series(name, reduce(numbers, rows[name].cast(pl.Float64).to_numpy(), n)))
        return reduced


@dataclass(frozen=True)
class _Places:
    """Terms of places 1 to n of a query, and the values of the query that they read."""

    n: pl.Expr
    values: Mapping[str, pl.Expr]
    term: pl.Expr

    def sum(self, queries: pl.DataFrame) -> pl.Series:
        """Add up the terms of each query."""
        places = pl.int_ranges(1, self.n.cast(pl.Int64) + 1).alias("place")
        one_a_row = queries.lazy().select(places, **self.values).with_row_index("query")
        one_a_row = one_a_row.explode("place", empty_as_null=False).with_columns(pl.col("place").cast(pl.Float64))
        terms = one_a_row.select("query", term=self.term).collect()
        return pl.Series(_sum(terms["query"].to_numpy(), terms["term"].to_numpy(), queries.height))


def _down_to(running_sum: pl.Expr, row: str) -> pl.Expr:
    """Give the sum of the rows before that in a column."""
    last = pl.max_horizontal(pl.col(row), 1) - 1
    return pl.when(pl.col(row) > 0).then(running_sum.gather(last)).otherwise(0)


def _sum(numbers: NDArray[np.uint32], values: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Add up values by number; those that do not occur have 0."""
    import numpy as np

    # Numbers are their own places in an array: cheaper than to group.
    return np.bincount(numbers, weights=values, minlength=n).astype(np.float64, copy=False)


def _largest(numbers: NDArray[np.uint32], values: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Find the largest of the values of each number, which stand together; those that do not occur have 0."""
    import numpy as np

    largest = np.zeros(n)
    starts = np.flatnonzero(np.diff(numbers, prepend=np.uint32(2**32 - 1)))
    if len(starts):
        largest[numbers[starts]] = np.maximum.reduceat(values, starts)
    return largest
