"""Formulas of measures bound to ranked lists in frames, and their values for every query."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING

import polars as pl

from polars_retrieval.measures import Ranked
from polars_retrieval.ranked_frame import COUNTS, GRADED, RELEVANT, Ranking, Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from polars_retrieval.measures.ranked import Function
    from polars_retrieval.reductions import Floats, Runs

_JUDGED, _NONRELEVANT = pl.col("judged"), pl.col("nonrelevant")


@dataclass
class _Terms:
    """Expressions by the name of the column that will hold them; equal ones have one name."""

    kind: str
    columns: dict[str, pl.Expr] = field(default_factory=dict)
    _names: dict[object, str] = field(default_factory=dict)

    def add(self, expr: pl.Expr, key: object = None) -> str:
        """Return the name of the column."""
        key = expr.meta.serialize() if key is None else key
        if key not in self._names:
            self._names[key] = f"{self.kind} {len(self._names)}"
            self.columns[self._names[key]] = expr.alias(self._names[key])
        return self._names[key]


class FrameRanked(Ranked):
    """Every query's ranked list: formulas that read it are collected, and computed together by `values`.

    Values of a document are columns of the hits, and those of a query columns of the queries. What sums up hits is
    put down, and the column that will hold the sums returned. Hits that stand alone, which are nearly all, are summed
    up once for all cutoffs; only those in tie groups need every formula for itself.

    Once formulas have read it, it can give their `values` for any ranked lists of its shape.
    """

    # As floats: unsigned integers would wrap around below 0.
    n_retrieved, n_relevant, n_nonrelevant, n_judged, n_judged_nonrelevant, n_graded = (
        pl.col(name).cast(pl.Float64) for name in COUNTS
    )
    above, tied = pl.col("above").cast(pl.Float64), pl.col("tied").cast(pl.Float64)

    def __init__(self, shape: Shape) -> None:
        self._shape, self._levels = shape, shape.levels
        self.has_ties, self._longest = shape.has_ties, shape.longest
        largest = self._levels["grade"].max()
        self.largest_grade = float(largest) if isinstance(largest, float) else 0.0
        self._values, self._ideal = _Terms("value"), _Terms("ideal")
        self._alone, self._tied = _Terms("alone"), _Terms("tied")
        self._maxima, self._tied_maxima = _Terms("maximum"), _Terms("tied maximum")
        self._stepped, self._first = _Terms("stepped"), _Terms("first")
        self._counted: set[str] = set()
        self._cutoffs: dict[str, set[int | None]] = {}
        self._n_steps: dict[tuple[str, str], int] = {}
        self._places: dict[str, _Places] = {}

    # --- of a document ---

    @property
    def hits_above(self) -> pl.Expr:
        """Hits ranked above the document's tie group."""
        return self._count(RELEVANT, "first", "start")

    @property
    def tied_hits(self) -> pl.Expr:
        """Hits in the document's tie group."""
        return self._count(RELEVANT, "start", "end") if self.has_ties else pl.lit(1.0)

    def hits_within(self, k: int | None) -> pl.Expr:
        """Hits of the document's query among the first k."""
        counted = self._levels.select(RELEVANT).to_series()
        is_hit = pl.col("above").is_not_null() if k is None else pl.col("above") < k
        if not counted[1:].all():
            is_hit = is_hit & pl.lit(counted).gather(pl.col("level"))
        return pl.col(self._values.add(is_hit.sum().over("query").cast(pl.Float64)))

    @property
    def nonrelevant_above(self) -> pl.Expr:
        """Documents ranked above its tie group that were judged, and are neither relevant nor negative."""
        if self._levels["nonrelevant"][0]:
            return self.above - self._count(~_NONRELEVANT, "first", "start")
        return self._count(_NONRELEVANT, "first", "start")

    def _count(self, what: pl.Expr, start: str, end: str) -> pl.Expr:
        """Count hits of some levels from one row of the hits to another."""
        counted = self._levels.select(what).to_series()
        if counted[1:].all():
            count = pl.col(end).cast(pl.Float64) - pl.col(start)
        else:
            before = pl.lit(counted).gather(pl.col("level")).cast(pl.UInt32).cum_sum()
            count = _down_to(before, end).cast(pl.Float64) - _down_to(before, start)
        return pl.col(self._values.add(count))

    def of_grade(self, function: Function) -> pl.Expr:
        """Give a function of the document's grade."""
        values = self._levels.select(function(pl.col("grade")).cast(pl.Float64)).to_series()
        return pl.lit(values[1]) if len(values) == 2 else pl.lit(values).gather(pl.col("level"))  # noqa: PLR2004

    def at_rank(self, function: Function) -> pl.Expr:
        """Give a function of the rank of a document that stands alone."""
        at_rank = pl.lit(self._at_ranks(function)).gather(pl.col("above"))
        return pl.col(self._values.add(at_rank, key=_key(function)))

    def in_group(self, function: Function, k: int | None) -> pl.Expr:
        """Give the mean, over the ranks of the document's tie group, of a function of rank that is 0 beyond k."""
        if not self.has_ties:
            return pl.lit(0.0)
        sums = _between(self._down_to_ranks(function, k), pl.col("above"), pl.col("above") + pl.col("tied"))
        return pl.col(self._values.add(sums / self.tied, key=(_key(function), k)))

    def _at_ranks(self, function: Function) -> pl.Series:
        """Return a function's values at the ranks from 1."""
        ranks = pl.DataFrame({"rank": pl.int_range(1, self._longest + 1, eager=True)})
        return ranks.select(function(pl.col("rank")).cast(pl.Float64)).to_series()

    def _down_to_ranks(self, function: Function, k: int | None) -> pl.Series:
        """Return the sums of a function, 0 beyond k, down to the ranks from 0."""
        values = self._at_ranks(function)
        if k is not None:
            values = pl.concat([values.head(k), pl.zeros(max(0, len(values) - k), dtype=pl.Float64, eager=True)])
        return pl.concat([pl.Series([0.0]), values.cum_sum()])

    def product_above(self, factor: Function) -> pl.Expr:
        """Multiply a function of the grades of the documents ranked above the document."""
        if len(self._levels) == 2:  # noqa: PLR2004 (level 0 and one above: the hits above are all alike)
            value = self._levels.select(factor(pl.col("grade"))).item(1, 0)
            powers = pl.select(pl.lit(value).pow(pl.int_range(self._longest + 1))).to_series()
            n_above = pl.int_range(pl.len(), dtype=pl.UInt32) - pl.col("first")
            return pl.col(self._values.add(pl.lit(powers).gather(n_above)))
        # As whole numbers, the sums of the logarithms over all queries lose nothing in the difference within one.
        scale = 2.0**62 / (1075 * max(1, self._longest))  # no float is below 2^-1075
        log = self.of_grade(lambda grade: (factor(grade).log(2).clip(lower_bound=-1075) * scale).round())
        log = pl.when(pl.col("level") > 0).then(log).cast(pl.Int64)  # one for every hit, also if it is a constant
        above = log.cum_sum() - log
        return pl.col(self._values.add(2 ** ((above - above.gather(pl.col("first"))) / scale)))

    # --- of a query ---

    def sum_hits(self, alone: pl.Expr | float, k: int | None = None, *, tied: pl.Expr | None = None) -> pl.Expr:
        """Add up a value of the query's hits."""
        return self._sum(RELEVANT, alone, k, tied)

    def sum_graded(self, alone: pl.Expr, k: int | None = None, *, tied: pl.Expr | None = None) -> pl.Expr:
        """Add up a value of the query's retrieved documents that have a grade above 0."""
        return self._sum(GRADED, alone, k, tied)

    def sum_judged(
        self, alone: pl.Expr | float, k: int | None = None, *, tied: pl.Expr | None = None, of_all: pl.Expr
    ) -> pl.Expr:
        """Add up a value of the query's retrieved documents that were judged."""
        return of_all if self._levels["judged"][0] else self._sum(_JUDGED, alone, k, tied)

    def _sum(self, what: pl.Expr, alone: pl.Expr | float, k: int | None, tied: pl.Expr | None) -> pl.Expr:
        alone = alone if isinstance(alone, pl.Expr) else pl.lit(alone)
        name = self._alone.add(self._where(what, alone))
        cutoff = None if k is None or k >= self._longest else k
        self._cutoffs.setdefault(name, set()).add(cutoff)
        if self._alone.columns[name].meta.eq(_ONE.alias(name)):
            self._counted.add(name)
        total = pl.col(f"{name} within {cutoff}")
        if not self.has_ties:
            return total
        tied = alone * self.within(k) if tied is None else tied
        return total + pl.col(self._tied.add(self._where(what, tied)))

    def sum_tied_hits(self, value: pl.Expr) -> pl.Expr:
        """Add up a value of the hits in tie groups only."""
        return pl.col(self._tied.add(self._where(RELEVANT, value)))

    def max_hits(self, alone: pl.Expr, *, tied: pl.Expr | None = None) -> pl.Expr:
        """Give the largest value of the query's hits, 0 if it has none."""
        largest = pl.col(self._maxima.add(self._where(RELEVANT, alone)))
        if not self.has_ties:
            return largest
        tied = alone if tied is None else tied
        return pl.max_horizontal(largest, pl.col(self._tied_maxima.add(self._where(RELEVANT, tied))))

    def max_hits_from(self, value: pl.Expr, step: pl.Expr, n_steps: int) -> list[pl.Expr]:
        """Give the largest value of the hits at each step or later."""
        whole_step = step.clip(0, n_steps - 1).cast(pl.UInt32, strict=False).fill_null(0)  # NaN where none is relevant
        names = self._stepped.add(self._where(RELEVANT, value)), self._stepped.add(whole_step)
        self._n_steps[names] = n_steps
        return [pl.col(f"{names} from {first}") for first in range(n_steps)]

    def first_hit(self, value: pl.Expr) -> pl.Expr:
        """Give a value of the first hit, or of its tie group, 0 if there is none."""
        return pl.col(self._first.add(value))

    def ideal(self, gain: Function, discount: Function, k: int | None) -> pl.Expr:
        """Add up gain times discount with the query's documents in their best order."""
        down_to = self._down_to_ranks(discount, k)
        if self._shape.one_grade:
            best = self._levels.select(gain(pl.col("grade").max())).item()
            return best * pl.lit(down_to).gather(pl.col("n_graded"))
        discounts = _between(down_to, pl.col("above"), pl.col("above") + pl.col("tied"))
        return pl.col(self._ideal.add(self.of_grade(gain) * discounts))

    def sum_places(self, n: pl.Expr, term: Callable[..., pl.Expr], *values: pl.Expr) -> pl.Expr:
        """Add up, for a query, ``term(place, *values)`` for places 1 to n."""
        name = f"places {len(self._places)}"
        names = [f"value {i}" for i in range(len(values))]
        of_place = term(pl.col("place"), *map(pl.col, names))
        self._places[name] = _Places(n, dict(zip(names, values, strict=True)), of_place)
        return pl.col(name)

    def _where(self, what: pl.Expr, value: pl.Expr) -> pl.Expr:
        """Put 0 for the hits of other levels."""
        counted = self._levels.select(what).to_series()
        if counted[1:].all():
            return value
        return pl.when(pl.lit(counted).gather(pl.col("level"))).then(value).otherwise(0.0)

    # --- values ---

    def values(self, ranking: Ranking, exprs: Mapping[str, pl.Expr]) -> pl.DataFrame:
        """Compute values for each query number of ranked lists of this shape."""
        reduced = [*self._of_hits(ranking), *self._of_tied(ranking), *self._of_ideal(ranking)]
        queries = ranking.queries.hstack(reduced)
        if self._places:
            queries = queries.hstack([places.sum(queries).alias(name) for name, places in self._places.items()])
        if len(exprs) == 1:  # has nothing in common with others: no need to look for it
            return queries.select(**exprs)
        return queries.lazy().select(**exprs).collect()

    @cached_property
    def _counts_of_hits(self) -> list[str]:
        """The counts of a query that values of its hits read."""
        kinds = (self._values, self._alone, self._tied, self._maxima, self._tied_maxima, self._stepped, self._first)
        exprs = [expr for kind in kinds for expr in kind.columns.values()]
        read = {root for expr in exprs for root in expr.meta.root_names()}
        return [name for name in COUNTS if name in read]

    def _hits(self, ranking: Ranking) -> pl.LazyFrame:
        """Return the hits with what formulas read of them."""
        return ranking.with_counts(ranking.hits, self._counts_of_hits).with_columns(**self._values.columns)

    def _of_hits(self, ranking: Ranking) -> list[pl.Series]:
        """Reduce values of all hits; those in tie groups have no part in the sums and maxima of those alone."""
        from polars_retrieval.reductions import Runs, side_by_side

        kinds = (self._alone, self._maxima, self._stepped, self._first)
        names = [name for kind in kinds for name in kind.columns]
        if not names:
            return []
        columns = {n: expr for kind in kinds for n, expr in kind.columns.items() if n not in self._counted}
        rows, alone = ranking.places, ranking.alone
        if columns:
            rows = rows.hstack(self._hits(ranking).select(**columns).collect())
            alone = rows.filter(rows["tied"] == 1) if self.has_ties else rows
        tasks = [partial(self._largest_from, ranking, rows, *step, n) for step, n in self._n_steps.items()]
        runs = ranking.runs_alone
        tasks += [partial(_columns, Runs.largest, runs, alone, [name]) for name in self._maxima.columns]
        if self._first.columns:
            relevant = self._relevant(rows)
            of_relevant = runs if relevant is alone else _runs(ranking, relevant)
            tasks.append(partial(_columns, Runs.first, of_relevant, relevant, self._first.columns))
        return side_by_side([*tasks, *self._sums_within(ranking, alone)], rows.height)

    def _relevant(self, rows: pl.DataFrame) -> pl.DataFrame:
        relevant = self._levels["relevant"]
        return rows if relevant[1:].all() else rows.filter(relevant.gather(rows["level"]))

    def _of_tied(self, ranking: Ranking) -> list[pl.Series]:
        """Reduce values of the hits in tie groups."""
        from polars_retrieval.reductions import Runs

        columns = {**self._tied.columns, **self._tied_maxima.columns}
        if not columns:
            return []
        rows = self._hits(ranking).filter(pl.col("tied") > 1).select("query", **columns).collect()
        runs = _runs(ranking, rows)
        maxima = _columns(Runs.largest, runs, rows, self._tied_maxima.columns)
        return [*_columns(Runs.sum, runs, rows, self._tied.columns), *maxima]

    def _of_ideal(self, ranking: Ranking) -> list[pl.Series]:
        """Add up values of the documents in their best order."""
        from polars_retrieval.reductions import Runs

        if ranking.ideal is None or not self._ideal.columns:
            return []
        rows = ranking.ideal.lazy().select("query", **self._ideal.columns).collect()
        return _columns(Runs.sum, _runs(ranking, rows), rows, self._ideal.columns)

    def _sums_within(self, ranking: Ranking, rows: pl.DataFrame) -> list[Callable[[], list[pl.Series]]]:
        """Add up values of hits, each once, for all cutoffs."""
        import numpy as np

        cutoffs = tuple(sorted({k for several in self._cutoffs.values() for k in several if k is not None}))
        # Hits of a query are added up by how many cutoffs are above them, and then from the top.
        runs, parts = ranking.runs_alone, ranking.parts_alone(cutoffs) if cutoffs else None

        def sums(name: str) -> list[pl.Series]:
            values = None if name in self._counted else rows[name]
            if parts is None or self._cutoffs[name] == {None}:
                return [pl.Series(f"{name} within None", runs.sum(values))]
            added = np.cumsum(parts.sum(values), axis=0)
            return [pl.Series(f"{name} within {k}", column) for k, column in zip([*cutoffs, None], added, strict=True)]

        return [partial(sums, name) for name in self._alone.columns]

    def _largest_from(
        self, ranking: Ranking, rows: pl.DataFrame, value: str, step: str, n_steps: int
    ) -> list[pl.Series]:
        """Find the largest value of each query's hits at step 0 or later, at step 1 or later, and so on."""
        import numpy as np

        from polars_retrieval.reductions import Runs

        n = ranking.queries.height
        runs = Runs.of_parts(rows["query"].to_numpy(), rows[step].to_numpy(), n, n_steps)
        largest = runs.largest(rows[value]).reshape(n_steps, n)
        for first in reversed(range(n_steps - 1)):
            np.maximum(largest[first], largest[first + 1], out=largest[first])
        return [pl.Series(f"{(value, step)} from {first}", column) for first, column in enumerate(largest)]


def _runs(ranking: Ranking, rows: pl.DataFrame) -> Runs:
    """Find where the rows of each query start."""
    from polars_retrieval.reductions import Runs

    return Runs.of(rows["query"].to_numpy(), ranking.queries.height)


def _columns(
    reduce: Callable[[Runs, pl.Series], Floats], runs: Runs, rows: pl.DataFrame, names: Iterable[str]
) -> list[pl.Series]:
    """Reduce several columns."""
    return [pl.Series(name, reduce(runs, rows[name])) for name in names]


_ONE = pl.lit(1.0)


def _key(function: Function) -> bytes:
    return function(pl.col("rank")).meta.serialize()


def _between(sums: pl.Series, start: pl.Expr, end: pl.Expr) -> pl.Expr:
    """Give the difference of running sums."""
    return pl.lit(sums).gather(end) - pl.lit(sums).gather(start)


def _down_to(running_sum: pl.Expr, row: str) -> pl.Expr:
    """Give the sum of the rows before that in a column."""
    last = pl.max_horizontal(pl.col(row), 1) - 1
    return pl.when(pl.col(row) > 0).then(running_sum.gather(last)).otherwise(0)


@dataclass(frozen=True)
class _Places:
    """Terms of places 1 to n of a query, and the values of the query that they read."""

    n: pl.Expr
    values: Mapping[str, pl.Expr]
    term: pl.Expr

    def sum(self, queries: pl.DataFrame) -> pl.Series:
        """Add up the terms of each query."""
        from polars_retrieval.reductions import Runs

        places = pl.int_ranges(1, self.n.cast(pl.Int64) + 1).alias("place")
        one_a_row = queries.lazy().select(places, **self.values).with_row_index("query")
        one_a_row = one_a_row.explode("place", empty_as_null=False).with_columns(pl.col("place").cast(pl.Float64))
        terms = one_a_row.select("query", term=self.term).collect()
        return pl.Series(Runs.of(terms["query"].to_numpy(), queries.height).sum(terms["term"]))
