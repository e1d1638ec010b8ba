"""Levels of relevance: which documents a measure tells apart, numbered from the least relevant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from polars_retrieval.grouping import run_starts

if TYPE_CHECKING:
    from collections.abc import Iterable

_NARROW = 256  # whole grades that are cheaper to suppose than to look for
_FEW = 16  # levels that are cheaper to compare with one by one than to search


@dataclass(frozen=True)
class Levels:
    """The level of each row, and what the documents of a level have in common.

    Level 0 is what most documents are: not relevant, and without a gain. `of_rows` is Boolean where there is one
    level above it. `table` has a row for each level:

    grade        Float64  the grade that gain is made of, 0 if it is negative or unknown
    relevant     Boolean
    judged       Boolean
    nonrelevant  Boolean  judged, and neither relevant nor negative

    Documents that differ in nothing that is read share a level: fewer levels are faster to rank by.
    """

    of_rows: pl.Series
    table: pl.DataFrame

    @property
    def max_level(self) -> int:
        """The highest level."""
        return self.table.height - 1

    def rows_where(self, what: pl.Expr) -> pl.Series:
        """Tell for which rows an expression of the table's columns is true."""
        true = self.table.select(what).to_series()
        if not true[0] and true[1:].all():
            return self.of_rows if self.of_rows.dtype == pl.Boolean else self.of_rows > 0
        return true.gather(self.of_rows.cast(pl.UInt32))


def is_relevant(relevance: pl.Series, min_relevance: float) -> pl.Series:
    """Tell which documents are relevant; an unjudged one is not."""
    if _tells_itself(relevance, min_relevance):
        return relevance.fill_null(value=False)
    return (_as_numbers(relevance) >= min_relevance).fill_null(value=False)


def _tells_itself(relevance: pl.Series, min_relevance: float) -> bool:
    """Tell whether a document is relevant where its relevance is true, so that no number need be compared."""
    return relevance.dtype == pl.Boolean and 0 < min_relevance <= 1


def find_levels(relevance: pl.Series, min_relevance: float, reads: Iterable[str]) -> Levels:
    """Give rows their levels.

    ``reads`` says what measures want to know beside which documents are relevant: their `grade`, and whether they
    were `judged`.
    """
    if not reads:
        table = _table(pl.Series([0.0, 1.0]), 1, reads)
        return Levels(is_relevant(relevance, min_relevance), table)
    if _tells_itself(relevance, min_relevance) and not relevance.has_nulls():
        return Levels(relevance, _table(pl.Series([0, 1], dtype=pl.UInt8), min_relevance, reads))
    relevance = _as_numbers(relevance)
    grades = _possible_grades(relevance)
    table = _table(grades, min_relevance, reads)
    lowest = run_starts(table.get_columns())
    table, lowest_grades = table[lowest], grades.gather(lowest)
    if not table.height or table.select((pl.col("grade") > 0) | pl.col("relevant")).to_series()[0]:
        return Levels(_number(relevance, lowest_grades), pl.concat([_UNKNOWN, table]))
    return Levels(_number(relevance, lowest_grades[1:]), table)


_UNKNOWN = pl.DataFrame({"grade": [0.0], "relevant": [False], "judged": [False], "nonrelevant": [False]})


def _as_numbers(relevance: pl.Series) -> pl.Series:
    return relevance.cast(pl.UInt8) if relevance.dtype in (pl.Boolean, pl.Null) else relevance


def _possible_grades(relevance: pl.Series) -> pl.Series:
    """Return the grades from the lowest to the highest, after null if there is one; some may not occur."""
    low, high = relevance.to_frame("grade").select(low=pl.min("grade"), high=pl.max("grade")).row(0)
    if relevance.dtype.is_integer() and isinstance(low, int) and isinstance(high, int) and high - low < _NARROW:
        grades = pl.Series(range(low, high + 1), dtype=relevance.dtype)
        return pl.concat([relevance.clear(1), grades]) if relevance.has_nulls() else grades
    return relevance.unique().sort(nulls_last=False)


def _table(grades: pl.Series, min_relevance: float, reads: Iterable[str]) -> pl.DataFrame:
    grade = pl.lit(grades)
    relevant = (grade >= min_relevance).fill_null(value=False)
    judged = grade.is_not_null() if "judged" in reads else pl.lit(value=False)
    return pl.select(
        grade=(grade.cast(pl.Float64).clip(lower_bound=0) if "grade" in reads else pl.lit(0.0)).fill_null(0.0),
        relevant=relevant,
        judged=judged,
        nonrelevant=judged & ~relevant & (grade >= 0).fill_null(value=False),
    )


def _number(relevance: pl.Series, lowest_grades: pl.Series) -> pl.Series:
    """Count for each row how many levels above 0 its grade reaches."""
    if len(lowest_grades) <= 1:
        lowest = lowest_grades[0] if len(lowest_grades) else float("inf")
        return (relevance >= lowest).fill_null(value=False)
    if len(lowest_grades) <= _FEW:
        reached = [(pl.col("relevance") >= lowest).cast(pl.UInt8) for lowest in lowest_grades]
        rows = relevance.alias("relevance").to_frame().lazy()
        levels = rows.select(pl.sum_horizontal(reached)).collect(engine="streaming").to_series()
        return levels.fill_null(0)
    return lowest_grades.search_sorted(relevance, side="right").fill_null(0)
