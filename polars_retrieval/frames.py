"""The functions on frames: `evaluate`, `per_query`, `pr_curve`, `rank` and `judge`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, overload

import polars as pl

from polars_retrieval import curve, evaluation, ranked_rows
from polars_retrieval.columns import Columns, check_free
from polars_retrieval.inputs import Input
from polars_retrieval.measures import Measure, parse_all
from polars_retrieval.options import (
    Options,
    check_aggregation,
    check_bool,
    check_cutoff,
    check_interval,
    check_row_ties,
)
from polars_retrieval.ranked_frame import Rankings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from typing_extensions import Unpack

    from polars_retrieval.names import Duplicates, EmptyTargetAction, MissingQueries, Ties, Unjudged
    from polars_retrieval.options import Aggregation

    Metrics = str | Measure | Iterable[str | Measure]
    Names = str | Sequence[str]

    class JudgeOptions(TypedDict, total=False):
        """Options of `judge`."""

        by: Names | None
        query: Names
        doc: str
        score: str
        relevance: str
        queries: Any
        duplicates: Duplicates

    class RankOptions(JudgeOptions, total=False):
        """Options of `rank`."""

        qrels: Any
        ties: Ties
        unjudged: Unjudged
        ignore_index: int | None
        min_relevance: float

    class PerQueryOptions(RankOptions, total=False):
        """Options of `per_query`."""

        missing_queries: MissingQueries
        empty_target_action: EmptyTargetAction
        n_relevant: str | None
        bounds: bool

    class EvaluateOptions(PerQueryOptions, total=False):
        """Options of `evaluate`."""

        aggregation: Aggregation
        interval: float | None
        n_queries: bool

    class CurveOptions(RankOptions, total=False):
        """Options of `pr_curve`."""

        missing_queries: MissingQueries
        empty_target_action: EmptyTargetAction
        n_relevant: str | None
        aggregation: Aggregation
        max_k: int | None
        adaptive_k: bool


@overload
def evaluate(run: pl.LazyFrame, metrics: Metrics, **options: Unpack[EvaluateOptions]) -> pl.LazyFrame: ...
@overload
def evaluate(run: Any, metrics: Metrics, **options: Unpack[EvaluateOptions]) -> pl.DataFrame: ...
def evaluate(
    run: Any,
    metrics: Metrics,
    *,
    qrels: Any = None,
    by: Names | None = None,
    query: Names = "query_id",
    doc: str = "doc_id",
    score: str = "score",
    relevance: str = "relevance",
    queries: Any = None,
    duplicates: Duplicates = "error",
    n_relevant: str | None = None,
    ties: Ties = "expected",
    unjudged: Unjudged = "nonrelevant",
    missing_queries: MissingQueries = "zero",
    empty_target_action: EmptyTargetAction = "neg",
    ignore_index: int | None = None,
    min_relevance: float = 1,
    aggregation: Aggregation = "mean",
    bounds: bool = False,
    interval: float | None = None,
    n_queries: bool = False,
) -> pl.DataFrame | pl.LazyFrame:
    """Measure how well a system ranks: each measure, averaged over queries.

    Parameters
    ----------
    run
        The scored documents of each query: a DataFrame or LazyFrame, or a frame of pandas, PyArrow, DuckDB or
        whatever else exports an Arrow C stream. A null score means that the document was not retrieved; its
        relevance still counts. Scores of any number type are compared at their full precision, and only their order
        matters.
    metrics
        A name such as ``"recall@10"``, a measure such as ``pr.recall @ 10``, or several of these.
    qrels
        The judgments, in a frame of their own with columns `query`, `doc` and `relevance`. Relevant documents that
        were not retrieved then count, and so do judged queries that the run lacks.
    by
        Columns that tell groups apart, such as system or segment: each is evaluated on its own.
    query
        The column, or columns, that tell queries apart: integers, strings, categoricals, enums or dates.
    doc
        The document's id. Needed for ``qrels`` and ``ties="doc_id"``; if present, no document may come twice in a
        query.
    score
        The column to rank by, from the highest.
    relevance
        The document's grade: a boolean, an integer or a float. Null means unjudged.
    queries
        The queries that count, of the run and of the judgments: a list or a Series of ids, or, where `query` names
        several columns, a frame with these. One that is in neither raises.
    duplicates
        A document that comes twice in a query, or in its judgments, raises (``"error"``), or the first of its rows
        with the highest score, or grade, is kept (``"best"``).
    n_relevant
        A column with the number of relevant documents of the row's query, where there are more than the rows hold and
        no judgments to give as ``qrels``.
    ties
        What happens to documents of equal score. ``"expected"``: the exact mean over all their orders.
        ``"doc_id"``: by document id, descending as bytes, as trec_eval. ``"stable"``: as they come.
        ``"pessimistic"`` and ``"optimistic"``: relevant ones last, or first.
    unjudged
        Documents without judgment count as ``"nonrelevant"``, are removed before ranking (``"drop"``: the condensed
        list), or raise (``"error"``).
    missing_queries
        Judged queries without any retrieved document count 0 (``"zero"``), are left out (``"skip"``), or raise
        (``"error"``).
    empty_target_action
        A query without a relevant document counts 0 (``"neg"``), counts 1 (``"pos"``), is left out (``"skip"``), or
        raises (``"error"``).
    ignore_index
        Rows with this relevance are dropped before anything else.
    min_relevance
        The grade from which a document is relevant.
    aggregation
        ``"mean"``, ``"median"`` (the lower of the two in the middle), ``"min"``, ``"max"``, or a function from the
        expression of the queries' values to that of their aggregate.
    bounds
        Also give, for each measure, the lowest and the highest value that the unjudged documents could make of it: as
        `precision@10_low` and `precision@10_high`. Precision, hit rate, DCG and RBP have such bounds; others raise.
    interval
        Also give, for each measure, an interval for its mean that holds with this probability, such as 0.95: as
        `recall@10_ci_low` and `recall@10_ci_high`, drawn from the queries as `summarize` does. Needs the extra `stats`.
    n_queries
        Also give, for each measure, over how many queries its aggregate is: as `recall@10_n`. Queries that options
        leave out are not among them, and measures differ in which these are.

    Returns
    -------
    DataFrame or LazyFrame
        One row, or one for each group of `by`: the group columns, and a Float64 column for each measure, named by its
        canonical name. Null where no query counts. Lazy if the run is.

    Raises
    ------
    ColumnError
        If a column is missing or of the wrong type, or ids of run and judgments cannot match.
    DataError
        If a score or grade is NaN, an id null, or a document comes twice in a query.
    MetricError, ParameterError
        If a measure or an option is unknown or has a value that is not allowed.
    EmptyTargetError
        If a query has no relevant document and ``empty_target_action="error"``.

    Notes
    -----
    trec_eval breaks ties by document id and leaves out queries that the run lacks (unless given ``-c``): that is
    ``ties="doc_id", missing_queries="skip"``. In some measures torchmetrics takes documents with a score of 0 or less
    as not retrieved; here, they are documents like any other.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_retrieval as pr
    >>> run = pl.DataFrame(
    ...     {
    ...         "query_id": ["q1", "q1", "q1", "q2", "q2"],
    ...         "doc_id": ["d1", "d2", "d3", "d1", "d4"],
    ...         "score": [0.9, 0.8, 0.7, 0.4, 0.6],
    ...         "relevance": [1, 0, 1, 1, 0],
    ...     }
    ... )
    >>> pr.evaluate(run, ["precision@1", "recall@2", pr.r_precision])
    shape: (1, 3)
    ┌─────────────┬──────────┬─────────────┐
    │ precision@1 ┆ recall@2 ┆ r_precision │
    │ ---         ┆ ---      ┆ ---         │
    │ f64         ┆ f64      ┆ f64         │
    ╞═════════════╪══════════╪═════════════╡
    │ 0.5         ┆ 0.75     ┆ 0.25        │
    └─────────────┴──────────┴─────────────┘
    """
    columns = Columns.of(query, doc, score, relevance, by, n_relevant)
    measures = parse_all(metrics)
    options = Options(
        ties=ties,
        unjudged=unjudged,
        missing_queries=missing_queries,
        empty_target_action=empty_target_action,
        ignore_index=ignore_index,
        min_relevance=min_relevance,
    )
    check_aggregation(aggregation)
    check_bool("bounds", bounds)
    check_interval(interval, aggregation)
    check_bool("n_queries", n_queries)
    names = evaluation.result_names(measures, bounds=bounds, interval=interval, n_queries=n_queries)
    types = {name: pl.UInt32 if n_queries and name.endswith("_n") else pl.Float64 for name in names}
    check_free(names, columns.by)
    given = Input.of(run, qrels, columns, needs_doc=ties == "doc_id", queries=queries, duplicates=duplicates)
    return _apply(
        given,
        lambda given: evaluation.evaluate(
            Rankings(given.rows(options), columns, options),
            measures,
            aggregation,
            bounds=bounds,
            interval=interval,
            n_queries=n_queries,
        ),
        lambda schema: {**{name: schema[name] for name in columns.by}, **types},
    )


@overload
def per_query(run: pl.LazyFrame, metrics: Metrics, **options: Unpack[PerQueryOptions]) -> pl.LazyFrame: ...
@overload
def per_query(run: Any, metrics: Metrics, **options: Unpack[PerQueryOptions]) -> pl.DataFrame: ...
def per_query(
    run: Any,
    metrics: Metrics,
    *,
    qrels: Any = None,
    by: Names | None = None,
    query: Names = "query_id",
    doc: str = "doc_id",
    score: str = "score",
    relevance: str = "relevance",
    queries: Any = None,
    duplicates: Duplicates = "error",
    n_relevant: str | None = None,
    ties: Ties = "expected",
    unjudged: Unjudged = "nonrelevant",
    missing_queries: MissingQueries = "zero",
    empty_target_action: EmptyTargetAction = "neg",
    ignore_index: int | None = None,
    min_relevance: float = 1,
    bounds: bool = False,
) -> pl.DataFrame | pl.LazyFrame:
    """Measure how well a system ranks, query by query.

    Parameters
    ----------
    run, metrics
        As for `evaluate`, whose other options are the same, too.

    Returns
    -------
    DataFrame or LazyFrame
        One row a query, in order of first appearance: the columns of `by` and `query`, and a Float64 column for each
        measure. Null where the options leave the query out.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_retrieval as pr
    >>> run = pl.DataFrame(
    ...     {"query_id": ["q1", "q1", "q2"], "score": [0.9, 0.8, 0.4], "relevance": [True, False, False]}
    ... )
    >>> pr.per_query(run, ["precision@1", "recall"], empty_target_action="skip")
    shape: (2, 3)
    ┌──────────┬─────────────┬────────┐
    │ query_id ┆ precision@1 ┆ recall │
    │ ---      ┆ ---         ┆ ---    │
    │ str      ┆ f64         ┆ f64    │
    ╞══════════╪═════════════╪════════╡
    │ q1       ┆ 1.0         ┆ 1.0    │
    │ q2       ┆ null        ┆ null   │
    └──────────┴─────────────┴────────┘
    """
    columns = Columns.of(query, doc, score, relevance, by, n_relevant)
    measures = parse_all(metrics)
    options = Options(
        ties=ties,
        unjudged=unjudged,
        missing_queries=missing_queries,
        empty_target_action=empty_target_action,
        ignore_index=ignore_index,
        min_relevance=min_relevance,
    )
    check_bool("bounds", bounds)
    names = evaluation.result_names(measures, bounds=bounds)
    check_free(names, columns.ids)
    given = Input.of(run, qrels, columns, needs_doc=ties == "doc_id", queries=queries, duplicates=duplicates)
    return _apply(
        given,
        lambda given: evaluation.per_query(Rankings(given.rows(options), columns, options), measures, bounds=bounds),
        lambda schema: {**{name: schema[name] for name in columns.ids}, **dict.fromkeys(names, pl.Float64)},
    )


@overload
def pr_curve(run: pl.LazyFrame, **options: Unpack[CurveOptions]) -> pl.LazyFrame: ...
@overload
def pr_curve(run: Any, **options: Unpack[CurveOptions]) -> pl.DataFrame: ...
def pr_curve(
    run: Any,
    *,
    max_k: int | None = None,
    adaptive_k: bool = False,
    qrels: Any = None,
    by: Names | None = None,
    query: Names = "query_id",
    doc: str = "doc_id",
    score: str = "score",
    relevance: str = "relevance",
    queries: Any = None,
    duplicates: Duplicates = "error",
    n_relevant: str | None = None,
    ties: Ties = "expected",
    unjudged: Unjudged = "nonrelevant",
    missing_queries: MissingQueries = "zero",
    empty_target_action: EmptyTargetAction = "neg",
    ignore_index: int | None = None,
    min_relevance: float = 1,
    aggregation: Aggregation = "mean",
) -> pl.DataFrame | pl.LazyFrame:
    """Trace precision and recall for every cutoff k, averaged over queries.

    Parameters
    ----------
    run
        As for `evaluate`, whose other options are the same, too.
    max_k
        The last cutoff. If None, the longest list of any query sets it.
    adaptive_k
        Divide precision by the length of a list that is shorter than k, instead of k.

    Returns
    -------
    DataFrame or LazyFrame
        Columns `k` (Int64, 1 to `max_k`), `precision` and `recall` (Float64); with `by`, after the group columns,
        that many rows for each group. Recall never falls along k.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_retrieval as pr
    >>> run = pl.DataFrame(
    ...     {
    ...         "query_id": [0, 0, 0, 0, 1, 1, 1],
    ...         "score": [0.4, 0.01, 0.5, 0.6, 0.2, 0.3, 0.5],
    ...         "relevance": [1, 0, 0, 1, 1, 0, 1],
    ...     }
    ... )
    >>> pr.pr_curve(run)
    shape: (4, 3)
    ┌─────┬───────────┬────────┐
    │ k   ┆ precision ┆ recall │
    │ --- ┆ ---       ┆ ---    │
    │ i64 ┆ f64       ┆ f64    │
    ╞═════╪═══════════╪════════╡
    │ 1   ┆ 1.0       ┆ 0.5    │
    │ 2   ┆ 0.5       ┆ 0.5    │
    │ 3   ┆ 0.666667  ┆ 1.0    │
    │ 4   ┆ 0.5       ┆ 1.0    │
    └─────┴───────────┴────────┘
    """
    check_cutoff("max_k", max_k)
    check_bool("adaptive_k", adaptive_k)
    check_aggregation(aggregation)
    columns = Columns.of(query, doc, score, relevance, by, n_relevant)
    options = Options(
        ties=ties,
        unjudged=unjudged,
        missing_queries=missing_queries,
        empty_target_action=empty_target_action,
        ignore_index=ignore_index,
        min_relevance=min_relevance,
    )
    check_free(("k", "precision", "recall"), columns.by)
    values = {"k": pl.Int64, "precision": pl.Float64, "recall": pl.Float64}
    given = Input.of(run, qrels, columns, needs_doc=ties == "doc_id", queries=queries, duplicates=duplicates)
    return _apply(
        given,
        lambda given: curve.curve(
            Rankings(given.rows(options), columns, options), max_k, aggregation, adaptive_k=adaptive_k
        ),
        lambda schema: {**{name: schema[name] for name in columns.by}, **values},
    )


@overload
def rank(run: pl.LazyFrame, **options: Unpack[RankOptions]) -> pl.LazyFrame: ...
@overload
def rank(run: Any, **options: Unpack[RankOptions]) -> pl.DataFrame: ...
def rank(
    run: Any,
    *,
    qrels: Any = None,
    by: Names | None = None,
    query: Names = "query_id",
    doc: str = "doc_id",
    score: str = "score",
    relevance: str = "relevance",
    queries: Any = None,
    duplicates: Duplicates = "error",
    ties: Ties = "stable",
    unjudged: Unjudged = "nonrelevant",
    ignore_index: int | None = None,
    min_relevance: float = 1,
) -> pl.DataFrame | pl.LazyFrame:
    """Rank the documents within each query, and count the relevant ones down to each rank.

    Parameters
    ----------
    run
        As for `evaluate`, whose other options are the same, too.
    ties
        As for `evaluate`, but a row needs one place: ``"stable"`` by default, and ``"expected"`` is refused.

    Returns
    -------
    DataFrame or LazyFrame
        The rows as they came, with all their columns, and `rank` (UInt32, from 1) and `hits` (UInt32: relevant
        documents at this rank and above). Both are null where the document was not retrieved.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_retrieval as pr
    >>> run = pl.DataFrame(
    ...     {"query_id": ["q1"] * 4, "score": [0.4, None, 0.9, 0.7], "relevance": [1, 1, 1, 0]}
    ... )
    >>> pr.rank(run)
    shape: (4, 5)
    ┌──────────┬───────┬───────────┬──────┬──────┐
    │ query_id ┆ score ┆ relevance ┆ rank ┆ hits │
    │ ---      ┆ ---   ┆ ---       ┆ ---  ┆ ---  │
    │ str      ┆ f64   ┆ i64       ┆ u32  ┆ u32  │
    ╞══════════╪═══════╪═══════════╪══════╪══════╡
    │ q1       ┆ 0.4   ┆ 1         ┆ 3    ┆ 2    │
    │ q1       ┆ null  ┆ 1         ┆ null ┆ null │
    │ q1       ┆ 0.9   ┆ 1         ┆ 1    ┆ 1    │
    │ q1       ┆ 0.7   ┆ 0         ┆ 2    ┆ 1    │
    └──────────┴───────┴───────────┴──────┴──────┘
    """
    check_row_ties(ties)
    columns = Columns.of(query, doc, score, relevance, by)
    options = Options(ties=ties, unjudged=unjudged, ignore_index=ignore_index, min_relevance=min_relevance)
    given = Input.of(run, qrels, columns, needs_doc=ties == "doc_id", queries=queries, duplicates=duplicates)
    return _apply(
        given,
        lambda given: ranked_rows.rank(given.frame(), columns, options),
        lambda schema: {**schema, "rank": pl.UInt32, "hits": pl.UInt32},
        adds=("rank", "hits"),
    )


@overload
def judge(run: pl.LazyFrame, qrels: Any, **options: Unpack[JudgeOptions]) -> pl.LazyFrame: ...
@overload
def judge(run: Any, qrels: Any, **options: Unpack[JudgeOptions]) -> pl.DataFrame: ...
def judge(
    run: Any,
    qrels: Any,
    *,
    by: Names | None = None,
    query: Names = "query_id",
    doc: str = "doc_id",
    score: str = "score",
    relevance: str = "relevance",
    queries: Any = None,
    duplicates: Duplicates = "error",
) -> pl.DataFrame | pl.LazyFrame:
    """Join a run with its judgments: every retrieved and every judged document.

    Parameters
    ----------
    run
        The scored documents of each query, without a column of the name `relevance`.
    qrels
        The judgments: columns `query`, `doc` and `relevance`.
    by
        Columns of the run that tell groups apart; each group is held against all judgments.
    query, doc, score, relevance
        Names of the columns. Integer ids of different widths match, and so do strings, categoricals and enums.
    queries, duplicates
        As for `evaluate`.

    Returns
    -------
    DataFrame or LazyFrame
        The run's rows in their order, then the judged documents that were not retrieved. `score` is null for these,
        `relevance` for documents without judgment.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_retrieval as pr
    >>> run = pl.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["d1", "d2"], "score": [0.9, 0.5]})
    >>> qrels = pl.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["d1", "d7"], "relevance": [1, 1]})
    >>> pr.judge(run, qrels)
    shape: (3, 4)
    ┌──────────┬────────┬───────┬───────────┐
    │ query_id ┆ doc_id ┆ score ┆ relevance │
    │ ---      ┆ ---    ┆ ---   ┆ ---       │
    │ str      ┆ str    ┆ f64   ┆ i64       │
    ╞══════════╪════════╪═══════╪═══════════╡
    │ q1       ┆ d1     ┆ 0.9   ┆ 1         │
    │ q1       ┆ d2     ┆ 0.5   ┆ null      │
    │ q1       ┆ d7     ┆ null  ┆ 1         │
    └──────────┴────────┴───────┴───────────┘
    """
    columns = Columns.of(query, doc, score, relevance, by)
    given = Input.of(run, qrels, columns, needs_doc=True, queries=queries, duplicates=duplicates)
    return _apply(given, Input.frame, dict)


def _apply(
    given: Input,
    compute: Callable[[Input], pl.DataFrame],
    schema: Callable[[pl.Schema], dict[str, Any]],
    *,
    adds: Sequence[str] = (),
) -> pl.DataFrame | pl.LazyFrame:
    """Compute at once, or once it is collected if the run is lazy."""
    check_free(adds, given.schema)
    if given.is_lazy:
        return pl.defer(lambda: compute(given), schema=schema(given.schema))
    return compute(given)
