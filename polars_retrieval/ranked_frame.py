"""A frame in, its ranked lists out: the hits, and the counts of each query, from which every measure follows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from polars_retrieval.columns import Columns, Judged, check_grades, describe, read_rows
from polars_retrieval.errors import DataError
from polars_retrieval.grouping import keep
from polars_retrieval.measures import all_reads
from polars_retrieval.ranking import Levels, Rows, find_levels, ideal_hits, rank_hits, with_group_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polars_retrieval.grouping import Grouping
    from polars_retrieval.measures import Measure
    from polars_retrieval.options import Options
    from polars_retrieval.reductions import Parts, Runs

COUNTS = ("n_retrieved", "n_relevant", "n_nonrelevant", "n_judged", "n_judged_nonrelevant", "n_graded")
GRADED, RELEVANT = pl.col("grade") > 0, pl.col("relevant")

_FEW = 2**12  # hits: to make formulas takes longer than to compute their values


@dataclass(frozen=True, eq=False)
class Shape:
    """What formulas have to know of ranked lists beforehand.

    That is their levels; whether documents are tied; whether all documents with a gain have one grade; and how far
    any list goes, or farther.
    """

    levels: pl.DataFrame
    has_ties: bool
    one_grade: bool
    longest: int

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Shape) or self._facts != other._facts:
            return False
        return self.levels is other.levels or self.levels.equals(other.levels)

    def __hash__(self) -> int:
        return hash(self._facts)

    @property
    def _facts(self) -> tuple[object, ...]:
        return self.levels.height, self.has_ties, self.one_grade, self.longest


@dataclass(frozen=True)
class Ranking:
    """The hits of ranked lists and the counts of each query.

    `hits` has the columns of `polars_retrieval.ranking.hits`: the relevant documents, and, where measures read it,
    others that they tell apart by the levels of `levels`. `queries` has one row for each number of `grouping`: how
    many rows it has, and counts of documents. `ideal` holds the documents with a gain, retrieved or not, from the
    highest grade down; it is None where nothing reads it, or where all have one grade. `rows` are the hits once more
    where they are collected already.
    """

    hits: pl.LazyFrame
    queries: pl.DataFrame
    grouping: Grouping
    levels: pl.DataFrame
    reads: frozenset[str]
    has_ties: bool
    ideal: pl.DataFrame | None
    rows: pl.DataFrame | None = None

    def with_counts(self, hits: pl.LazyFrame, counts: Iterable[str]) -> pl.LazyFrame:
        """Return hits, each with counts of its query."""
        return hits.with_columns(pl.lit(self.queries[name]).gather(pl.col("query")).alias(name) for name in counts)

    @cached_property
    def places(self) -> pl.DataFrame:
        """Where the hits stand: `query`, `level`, `above` and `tied` of each."""
        names = ["query", "level", "above", "tied"]
        return self.hits.select(names).collect() if self.rows is None else self.rows[names]

    @cached_property
    def alone(self) -> pl.DataFrame:
        """Where the hits stand that are in no tie group."""
        return self.places.filter(pl.col("tied") == 1) if self.has_ties else self.places

    @cached_property
    def runs_alone(self) -> Runs:
        """Where those of each query start."""
        from polars_retrieval.reductions import Runs

        return Runs.of(self.alone["query"].to_numpy(), self.queries.height)

    def parts_alone(self, cutoffs: tuple[int, ...]) -> Parts:
        """Tell of each of those how many cutoffs are above it; kept for measures that have the same ones."""
        if cutoffs not in self._last_parts:
            self._last_parts.clear()
            self._last_parts[cutoffs] = self._find_parts(cutoffs)
        return self._last_parts[cutoffs]

    @cached_property
    def _last_parts(self) -> dict[tuple[int, ...], Parts]:
        return {}

    def _find_parts(self, cutoffs: tuple[int, ...]) -> Parts:
        import numpy as np

        from polars_retrieval.reductions import Parts

        beyond = np.searchsorted(cutoffs, np.arange(self.shape.longest), side="right")
        query, above = (self.alone[name].to_numpy() for name in ("query", "above"))
        return Parts.of(query, beyond[above], self.queries.height, len(cutoffs) + 1)

    @cached_property
    def shape(self) -> Shape:
        """What formulas have to know of the ranked lists beforehand."""
        lengths = [self.queries["n_retrieved"].max(), self.queries["n_graded"].max()]
        longest = max((length for length in lengths if isinstance(length, int)), default=0)
        if self.places.height <= _FEW:  # lists of about the same lengths are to have one shape
            longest = 2 ** max(6, (longest - 1).bit_length())
        return Shape(self.levels, self.has_ties, self.ideal is None, longest)

    def relevant_hits(self) -> pl.LazyFrame:
        """Return the relevant documents that were retrieved."""
        relevant = self.levels["relevant"]
        return self.hits if relevant[1:].all() else self.hits.filter(pl.lit(relevant).gather(pl.col("level")))


class Rankings:
    """A frame's ranked lists, in as much detail as measures have asked for: each ranking is made once."""

    def __init__(self, rows: Judged, columns: Columns, options: Options) -> None:
        self.columns, self.options = columns, options
        self._rows = rows
        self._ranking: Ranking | None = None

    def of(self, measures: Iterable[Measure]) -> Ranking:
        """Return the ranked lists with what measures want to know of the documents."""
        reads = all_reads(measures)
        if self._ranking is None or not reads <= self._ranking.reads:
            known = self._ranking.reads if self._ranking else frozenset()
            self._ranking = rank_judged(self._rows, self.columns, self.options, reads | known)
        return self._ranking

    def with_unjudged_relevant(self) -> Rankings:
        """Return what the ranked lists would be if every unjudged document had the highest grade."""
        best = self._rows.relevance.max()
        if not isinstance(best, bool):
            best = max(self.options.min_relevance, best if isinstance(best, (int, float)) else 0)
        rows = pl.select(score=self._rows.score, relevance=self._rows.relevance)
        unjudged = pl.col("score").is_not_null() & pl.col("relevance").is_null()
        relevance = rows.select(pl.when(unjudged).then(best).otherwise("relevance")).to_series()
        return Rankings(replace(self._rows, relevance=relevance), self.columns, self.options)


def rank_frame(frame: pl.DataFrame, columns: Columns, options: Options, reads: Iterable[str] = frozenset()) -> Ranking:
    """Rank the documents of every query of a frame, and count; see `rank_judged`."""
    return rank_judged(read_rows(frame, columns, options), columns, options, reads)


def rank_judged(judged: Judged, columns: Columns, options: Options, reads: Iterable[str] = frozenset()) -> Ranking:
    """Rank the documents of every query, and count.

    ``reads`` says what measures want to know of documents beside whether they are relevant.
    """
    if "grade" in reads:
        check_grades(judged, columns)
    levels = find_levels(judged.relevance, options.min_relevance, reads)
    retrieved = is_retrieved(judged, options)
    hits, n_retrieved = rank_hits(_retrieved(judged, levels, retrieved, options), options.ties)
    counts = _Counts(judged, levels, retrieved, hits)
    ranking = Ranking(
        hits=with_group_rows(hits, judged.grouping.n_numbers),
        queries=counts.frame(n_retrieved, reads),
        grouping=judged.grouping,
        levels=levels.table,
        reads=frozenset(reads),
        has_ties=bool((hits["tied"] > 1).any()),
        ideal=counts.ideal() if levels.table.select(GRADED).sum().item() > 1 else None,
    )
    return _checked(ranking, columns, options)


def is_retrieved(judged: Judged, options: Options) -> pl.Series:
    """Tell which documents stand in the ranked list: those with a score, but for unjudged ones to be dropped."""
    if options.unjudged == "drop":
        return judged.score.is_not_null() & judged.relevance.is_not_null()
    return judged.score.is_not_null()


def _retrieved(judged: Judged, levels: Levels, retrieved: pl.Series, options: Options) -> Rows:
    level, max_level = levels.of_rows, max(1, levels.max_level)
    doc = judged.doc if options.ties == "doc_id" else None
    if retrieved.all():
        return Rows(judged.grouping, judged.score, level, max_level, doc)
    doc = None if doc is None else keep(doc, retrieved)
    grouping = judged.grouping.filter(retrieved)
    return Rows(grouping, keep(judged.score, retrieved), keep(level, retrieved), max_level, doc)


@dataclass(frozen=True)
class _Counts:
    """Counts of documents for each query number."""

    judged: Judged
    levels: Levels
    retrieved: pl.Series
    hits: pl.DataFrame

    @property
    def _n(self) -> int:
        return self.judged.grouping.n_numbers

    @cached_property
    def _all_retrieved(self) -> bool:
        return bool(self.retrieved.all())

    def frame(self, n_retrieved: pl.Series, reads: Iterable[str]) -> pl.DataFrame:
        n_rows = n_retrieved if self._all_retrieved else self._n_rows
        n_judged = n_rows - self._where(self.judged.relevance.is_null())
        n_relevant = self._of_levels(RELEVANT)
        n_known = n_judged + self._where(self.judged.relevance.is_null() & self.retrieved)
        counts = {
            "n_rows": n_rows,
            "n_retrieved": n_retrieved,
            "n_relevant": n_relevant,
            "n_nonrelevant": n_known - n_relevant,
            "n_judged": n_judged,
            "n_judged_nonrelevant": n_judged - n_relevant - self._negative(reads),
            "n_graded": self._of_levels(GRADED),
            "missing": n_rows == self._where(self.judged.score.is_null()),
        }
        return pl.DataFrame(counts)

    def ideal(self) -> pl.DataFrame:
        """Rank the documents with a gain by their grade."""
        graded = self.levels.table.select(GRADED).to_series()
        hits = self.hits.lazy().select("query", "level").filter(pl.lit(graded).gather(pl.col("level"))).collect()
        if not self._all_retrieved:
            at = (self.levels.rows_where(GRADED) & ~self.retrieved).arg_true()
            level = self.levels.of_rows.gather(at).cast(pl.UInt32)
            hits = hits.vstack(pl.DataFrame({"query": self.judged.grouping.of(at), "level": level}))
        return ideal_hits(hits["query"], hits["level"])

    def _of_levels(self, what: pl.Expr) -> pl.Series:
        """Count the documents, retrieved or not, of some levels above 0."""
        in_hits = self.levels.table.select(what).to_series()
        if not in_hits.any():
            return self._zeros()
        queries = self.hits["query"]
        if not in_hits[1:].all():
            queries = queries.filter(in_hits.gather(self.hits["level"]))
        found = _count(queries, self._n)
        return found if self._all_retrieved else found + self._where(self.levels.rows_where(what) & ~self.retrieved)

    def _negative(self, reads: Iterable[str]) -> pl.Series:
        """Count the documents of a negative grade, but those that are relevant nevertheless."""
        relevance = self.judged.relevance
        if "judged" not in reads or relevance.dtype in (pl.Boolean, pl.Null):
            return self._zeros()
        return self._where((relevance < 0).fill_null(value=False) & ~self.levels.rows_where(RELEVANT))

    def _where(self, mask: pl.Series) -> pl.Series:
        """Count the rows where a mask is true."""
        n_true = int(mask.sum())
        if n_true > len(mask) // 2:  # the others are fewer: in most runs nearly all documents are unjudged
            return self._n_rows - self._where(~mask)
        return _count(self.judged.grouping.of(mask.arg_true()), self._n) if n_true else self._zeros()

    @cached_property
    def _n_rows(self) -> pl.Series:
        return self.judged.grouping.count_rows()

    def _zeros(self) -> pl.Series:
        return pl.zeros(self._n, dtype=pl.UInt32, eager=True)


def _count(numbers: pl.Series, n: int) -> pl.Series:
    """Count how often each number below n occurs."""
    import numpy as np

    return pl.Series(np.bincount(numbers.to_numpy(), minlength=n)).cast(pl.UInt32)


def _checked(ranking: Ranking, columns: Columns, options: Options) -> Ranking:
    """Raise where the options make a missing query an error."""
    missing = (ranking.queries["n_rows"] > 0) & ranking.queries["missing"]
    if options.missing_queries == "error" and missing.any():
        first = describe(ranking.grouping.ids.filter(missing).row(0, named=True), columns.ids)
        msg = f'`missing_queries="error"`, and {missing.sum()} queries have no retrieved document, the first {first}'
        raise DataError(msg)
    return ranking
