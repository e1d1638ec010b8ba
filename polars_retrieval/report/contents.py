"""What a report tells, measured: frames and counts, which `page` writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_retrieval.columns import Columns, check_no_nulls, of_queries, read_frame
from polars_retrieval.comparison.coverage import coverage
from polars_retrieval.comparison.differences import differences
from polars_retrieval.comparison.pairs import compare
from polars_retrieval.comparison.summaries import summarize
from polars_retrieval.comparison.systems import check_by, stack_runs
from polars_retrieval.errors import DataError, ParameterError
from polars_retrieval.names import hint, quoted
from polars_retrieval.ranked_lists import RankedLists

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars_retrieval.measures import Measure


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How systems are measured and compared; `polars_retrieval.report.write_report` says what each field is."""

    by: str
    baseline: str | None
    test: str
    correction: str
    level: float
    queries: str
    max_k: int | None
    judged_k: int
    n_resamples: int
    seed: int
    options: Mapping[str, Any]

    def of(self, *names: str) -> dict[str, Any]:
        """Return some of the settings, as functions take them."""
        return {name: getattr(self, name) for name in names}

    @property
    def columns(self) -> Columns:
        """The names of the columns."""
        given = self.options.get
        parts = (("query", "query_id"), ("doc", "doc_id"), ("score", "score"), ("relevance", "relevance"))
        query, doc, score, relevance = (given(part, usual) for part, usual in parts)
        return Columns.of(query, doc, score, relevance, check_by(self.by))


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What a report tells.

    `per_query`, `curve`, `summary`, `comparison` and `coverage` are what the functions of these names return for the
    runs of all systems, `differences` what that of each system but the baseline is. With one system nothing is
    compared. `runs` has a row for each system: how many queries and documents it has, and how many it should have.
    """

    settings: Settings
    measures: Sequence[Measure]
    systems: list[str]
    baseline: str | None
    runs: pl.DataFrame
    judged: Mapping[str, int]
    per_query: pl.DataFrame
    curve: pl.DataFrame
    summary: pl.DataFrame
    comparison: pl.DataFrame | None
    differences: Mapping[str, pl.DataFrame]
    coverage: pl.DataFrame


def measure(runs: Any, qrels: Any, measures: Sequence[Measure], settings: Settings) -> Contents:
    """Measure the systems, and compare them with the baseline: the first one if none is named."""
    stacked, judgments = _stacked(runs, settings), read_frame(qrels, "qrels").lazy().collect()
    systems = stacked[settings.by].unique(maintain_order=True).to_list()
    baseline = _baseline(systems, settings)
    shared = {"by": settings.by, "qrels": judgments, **settings.options}
    lists = RankedLists(stacked, **shared)  # warns of queries that nobody judged; once is enough
    judged = _of_judged_queries(stacked, judgments, settings)
    per_query, query = _values(lists, measures, settings), list(settings.columns.query)
    return Contents(
        settings=settings,
        measures=measures,
        systems=systems,
        baseline=baseline,
        runs=_count_runs(stacked, judgments, settings),
        judged=_count_judged(judgments, settings),
        per_query=per_query,
        curve=lists.pr_curve(max_k=settings.max_k),
        summary=summarize(per_query, by=settings.by, query=query, **settings.of("level", "n_resamples", "seed")),
        comparison=_compare(per_query, query, settings, baseline),
        differences={
            system: differences(judged, measures[0], baseline=baseline, system=system, **shared)
            for system in systems
            if baseline not in (None, system)
        },
        coverage=coverage(judged, **shared, metrics=measures, k=settings.judged_k),
    )


def _stacked(runs: Any, settings: Settings) -> pl.DataFrame:
    """Return the runs of all systems, whose names are text from here on."""
    stacked = stack_runs(runs, settings.columns)
    settings.columns.check_run(stacked.schema, relevance=False, doc=True)
    if stacked.is_empty():
        msg = "`runs` hold no document"
        raise DataError(msg)
    check_no_nulls(stacked, (settings.by,), "every row has to belong to a system")
    return stacked.with_columns(pl.col(settings.by).cast(pl.String))


def _baseline(systems: Sequence[str], settings: Settings) -> str | None:
    """Return the system that the others are held against; None where there are no others."""
    given = settings.baseline
    if given is not None and given not in systems:
        msg = f"`baseline` has to be one of the systems {quoted(systems)}, got {given!r}.{hint(given, systems)}"
        raise ParameterError(msg)
    if len(systems) == 1:
        return None
    return systems[0] if given is None else given


def _compare(
    per_query: pl.DataFrame, query: list[str], settings: Settings, baseline: str | None
) -> pl.DataFrame | None:
    if baseline is None:
        return None
    options = settings.of("by", "test", "correction", "level", "queries", "n_resamples", "seed")
    return compare(per_query, query=query, baseline=baseline, **options)


def _values(lists: RankedLists, measures: Sequence[Measure], settings: Settings) -> pl.DataFrame:
    """Return the values of each query.

    Queries that a system lacks and that are to be left out have no row, so that the comparison is told of them.
    """
    values = lists.per_query(measures)
    if settings.options.get("missing_queries") != "skip":
        return values
    return values.filter(lists.per_query("n_retrieved")["n_retrieved"].is_not_null())


def _of_judged_queries(runs: pl.DataFrame, qrels: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    return of_queries(runs, qrels.select(settings.columns.query), settings.columns)


def _count_runs(runs: pl.DataFrame, qrels: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """Count, for each system, queries and documents, queries without judgments, and judged queries that it lacks."""
    retrieved = runs.filter(pl.col(settings.columns.score).is_not_null())
    counted = _count(retrieved, settings)
    n_known = _count(_of_judged_queries(retrieved, qrels, settings), settings)
    if lacking := set(counted[settings.by]) - set(n_known[settings.by]):
        msg = f"no query of {quoted(sorted(lacking))} has judgments: are the ids of queries the same?"
        raise DataError(msg)
    known = pl.col("queries_right").cast(pl.Int64)
    return counted.join(n_known, on=settings.by, maintain_order="left").select(
        "queries",
        "documents",
        system=settings.by,
        unjudged=pl.col("queries") - known,
        missing=qrels.select(settings.columns.query).n_unique() - known,
    )


def _count(retrieved: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    counts = {"queries": pl.struct(settings.columns.query).n_unique(), "documents": pl.len()}
    return retrieved.group_by(settings.by, maintain_order=True).agg(**counts)


def _count_judged(qrels: pl.DataFrame, settings: Settings) -> dict[str, int]:
    columns = settings.columns
    grade = pl.col(columns.relevance)
    return qrels.select(
        queries=pl.struct(columns.query).n_unique(),
        documents=grade.count(),
        relevant=(grade.cast(pl.Float64) >= settings.options.get("min_relevance", 1)).sum(),
    ).row(0, named=True)
