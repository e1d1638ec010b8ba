"""What judgments cover of the systems' rankings, and what they owe to each system."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_retrieval.columns import Columns, check_free
from polars_retrieval.comparison.systems import check_by, rank_documents, stack_runs
from polars_retrieval.errors import ParameterError
from polars_retrieval.measures import (
    Measure,
    average_precision,
    judged,
    n_retrieved,
    ndcg,
    parse_all,
    precision,
    rbp,
    recall,
)
from polars_retrieval.options import Options, check_aggregation, check_cutoff
from polars_retrieval.ranked_lists import RankedLists
from polars_retrieval.ranking import is_relevant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_retrieval.frames import Metrics, Names
    from polars_retrieval.names import EmptyTargetAction, MissingQueries, Ties, Unjudged
    from polars_retrieval.options import Aggregation

_COUNTS = ("judged", "n_relevant_retrieved", "n_unique_relevant")
_ONLY = "the only system"  # the column that tells systems apart where the caller has none
_SYSTEM, _FOUND, _UNIQUE, _WITHOUT = "number of the system", "found within the depth", "found alone", " without them"
_RESULTS = ("measure", "value", "low", "high", *_COUNTS, "value_without", "change")


def coverage(
    run: Any,
    qrels: Any,
    *,
    k: int = 10,
    depth: int | None = None,
    metrics: Metrics | None = None,
    by: str | None = "run_id",
    query: Names = "query_id",
    doc: str = "doc_id",
    score: str = "score",
    relevance: str = "relevance",
    ties: Ties = "expected",
    unjudged: Unjudged = "nonrelevant",
    missing_queries: MissingQueries = "zero",
    empty_target_action: EmptyTargetAction = "neg",
    ignore_index: int | None = None,
    min_relevance: float = 1,
    aggregation: Aggregation = "mean",
) -> pl.DataFrame:
    """Show how far judgments cover what each system returns, and how its values hang on its own share in them.

    Documents are usually judged if one of a few systems put them on top: the pool. A system that took no part in it
    is measured by what others found. How much that would matter is tried with each system in turn: the relevant
    documents that it alone has among its first `depth` are taken out of the judgments, and the system is evaluated
    anew.

    Parameters
    ----------
    run
        The runs of the systems that were pooled: a frame with a column `by`, or a dictionary from the names of the
        systems to their runs. Frames are of any kind that `polars_retrieval.evaluate` takes, whose other options are
        the same, too. LazyFrames are collected.
    qrels
        The judgments.
    k
        The cutoff of `judged`, and of the measures if none are given.
    depth
        How deep the pool is: down to which rank the documents of a system were judged. By default `k`. A smaller one
        than that of the real pool takes documents for unique that others put in the pool, too, further down.
    metrics
        As for `polars_retrieval.evaluate`. By default precision, recall, nDCG and average precision at `k`, and RBP.
    by
        The column that tells the systems apart. None if there is only one.

    Returns
    -------
    DataFrame
        One row for each system and measure, in order of first appearance:

        * the column `by`, and `measure`;
        * `value`, and `low` and `high`: what the unjudged documents could make of it, as of
          ``evaluate(bounds=True)``. Null for measures without such bounds;
        * `judged`: the share of the first `k` documents that are judged, averaged over queries;
        * `n_relevant_retrieved`: the relevant documents within `depth`, of all queries; and `n_unique_relevant`
          (both UInt32): those of them that no other system has within `depth`;
        * `value_without`: the value when these are unjudged, and `change`: how much higher it is, so usually
          negative. With one system there are no others, and these and `n_unique_relevant` are null.

        Under ``ties="expected"`` a document is within `depth` if it is in one of the orders of the documents tied
        with it.

    Notes
    -----
    So Zobel (1998) tested the pools of TREC; Buckley et al. (2007) show that small changes do not prove a pool of a
    large collection fair, as the systems in it may all be alike. Where several runs are of one team, what they alone
    found is shared between them and looks less than it is: leave all but one of each team out.

    A query that has no other relevant documents stays, and counts by `empty_target_action`, as 0 if that is
    ``"error"``. `unjudged` applies to the values; `judged`, and what is within `depth`, are of the lists as retrieved.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_retrieval as pr
    >>> old = pl.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["d1", "d2"], "score": [2, 1]})
    >>> new = pl.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["d3", "d1"], "score": [2, 1]})
    >>> qrels = pl.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["d1", "d3"], "relevance": [1, 1]})
    >>> shown = pr.coverage({"old": old, "new": new}, qrels, k=2, metrics="precision@2")
    >>> shown.select("run_id", "value", "low", "high", "judged", "n_unique_relevant", "value_without")
    shape: (2, 7)
    ┌────────┬───────┬─────┬──────┬────────┬───────────────────┬───────────────┐
    │ run_id ┆ value ┆ low ┆ high ┆ judged ┆ n_unique_relevant ┆ value_without │
    │ ---    ┆ ---   ┆ --- ┆ ---  ┆ ---    ┆ ---               ┆ ---           │
    │ str    ┆ f64   ┆ f64 ┆ f64  ┆ f64    ┆ u32               ┆ f64           │
    ╞════════╪═══════╪═════╪══════╪════════╪═══════════════════╪═══════════════╡
    │ old    ┆ 0.5   ┆ 0.5 ┆ 1.0  ┆ 0.5    ┆ 0                 ┆ 0.5           │
    │ new    ┆ 1.0   ┆ 1.0 ┆ 1.0  ┆ 1.0    ┆ 1                 ┆ 0.5           │
    └────────┴───────┴─────┴──────┴────────┴───────────────────┴───────────────┘
    """
    _check_cutoff("k", k)
    _check_cutoff("depth", k if depth is None else depth)
    check_aggregation(aggregation)
    measures = _default_measures(k) if metrics is None else parse_all(metrics)
    columns = Columns.of(query, doc, score, relevance, [_ONLY if by is None else check_by(by)])
    check_free(_RESULTS, columns.by)
    options = Options(
        ties=ties,
        unjudged=unjudged,
        missing_queries=missing_queries,
        empty_target_action=empty_target_action,
        ignore_index=ignore_index,
        min_relevance=min_relevance,
    )
    if by is None:
        run = stack_runs(run, replace(columns, by=())).with_columns(pl.lit("").alias(_ONLY))
    runs = stack_runs(run, columns)
    lists = _rank(runs, qrels, columns, options)
    values = _values(lists, measures, aggregation)
    found = _found(runs, qrels, columns, options, k if depth is None else depth)
    without = _without_unique(found, lists, columns, options).evaluate(measures, aggregation=aggregation)
    as_retrieved = lists if unjudged == "nonrelevant" else _rank(runs, qrels, columns, _lenient(options))
    shares = as_retrieved.evaluate(judged @ k).rename({str(judged @ k): "judged"})
    table = shares.join(_counts(found, columns), on=columns.by, how="left", nulls_equal=True, maintain_order="left")
    for more in (values, without.rename({str(measure): f"{measure}{_WITHOUT}" for measure in measures})):
        table = table.join(more, on=columns.by, nulls_equal=True, maintain_order="left")
    rows = _one_row_a_measure(table, measures, columns)
    return rows.drop(_ONLY) if by is None else rows


def _default_measures(k: int) -> list[Measure]:
    return [precision @ k, recall @ k, ndcg @ k, average_precision @ k, rbp]


def _check_cutoff(argument: str, given: object) -> None:
    if given is None:
        msg = f"`{argument}` has to be a positive integer, got None"
        raise ParameterError(msg)
    check_cutoff(argument, given)


def _lenient(options: Options) -> Options:
    """Return the options for documents whose judgment is only left out to see what it is worth: never an error."""
    action = options.empty_target_action
    return replace(options, unjudged="nonrelevant", empty_target_action="neg" if action == "error" else action)


def _rank(runs: pl.DataFrame, qrels: Any, columns: Columns, options: Options) -> RankedLists:
    return RankedLists(
        runs,
        qrels=qrels,
        by=columns.by,
        query=columns.query,
        doc=columns.doc,
        score=columns.score,
        relevance=columns.relevance,
        ties=options.ties,
        unjudged=options.unjudged,
        missing_queries=options.missing_queries,
        empty_target_action=options.empty_target_action,
        ignore_index=options.ignore_index,
        min_relevance=options.min_relevance,
    )


def _values(lists: RankedLists, measures: Sequence[Measure], aggregation: Aggregation) -> pl.DataFrame:
    """Return the value of each measure, with its bounds where it has some."""
    bounded = [measure for measure in measures if measure.declaration.has_bounds]
    values = lists.evaluate(measures, aggregation=aggregation)
    if not bounded:
        return values
    with_bounds = lists.evaluate(bounded, aggregation=aggregation, bounds=True)
    return values.with_columns(with_bounds.select(name for name in with_bounds.columns if name not in values.columns))


def _found(runs: pl.DataFrame, qrels: Any, columns: Columns, options: Options, depth: int) -> pl.DataFrame:
    """Return runs and judgments, with what each system has within the depth: the relevant, and those it alone has."""
    ranked = rank_documents(runs, qrels, columns, _lenient(options))
    relevant = is_relevant(ranked[columns.relevance], options.min_relevance)
    within = ranked.with_columns((pl.lit(relevant) & (pl.col("rank") <= depth)).fill_null(value=False).alias(_FOUND))
    systems = pl.col(_FOUND).sum().over(*columns.query, columns.doc)
    return within.with_columns((pl.col(_FOUND) & (systems == 1)).alias(_UNIQUE)).drop("rank", "hits")


def _counts(found: pl.DataFrame, columns: Columns) -> pl.DataFrame:
    """Count what each system has within the depth; what is unique is not known where there is one system only."""
    counts = found.group_by(columns.by).agg(
        pl.col(_FOUND).sum().alias("n_relevant_retrieved"), pl.col(_UNIQUE).sum().alias("n_unique_relevant")
    )
    several = counts.height > 1
    return counts if several else counts.with_columns(n_unique_relevant=pl.lit(None, dtype=pl.UInt32))


def _without_unique(found: pl.DataFrame, lists: RankedLists, columns: Columns, options: Options) -> RankedLists:
    """Rank anew, each system by the judgments without the relevant documents that it alone has."""
    evaluated = lists.per_query(n_retrieved).select(columns.ids)
    grade = pl.col(columns.relevance)
    less = (
        found.join(evaluated, on=columns.ids, how="semi", nulls_equal=True, maintain_order="left")
        .with_columns(pl.when(~pl.col(_UNIQUE)).then(grade))
        .drop(_FOUND, _UNIQUE)
    )
    unjudged = "nonrelevant" if options.unjudged == "error" else options.unjudged
    return _rank(less, None, columns, replace(_lenient(options), unjudged=unjudged))


def _one_row_a_measure(table: pl.DataFrame, measures: Sequence[Measure], columns: Columns) -> pl.DataFrame:
    """Turn columns of measures to rows, system by system."""
    known = pl.col("n_unique_relevant").is_not_null()
    undefined = pl.lit(None, dtype=pl.Float64)
    rows = [
        table.with_row_index(_SYSTEM).select(
            _SYSTEM,
            *columns.by,
            pl.lit(str(measure)).alias("measure"),
            pl.col(str(measure)).alias("value"),
            *(
                (pl.col(f"{measure}_{end}") if measure.declaration.has_bounds else undefined).alias(end)
                for end in ("low", "high")
            ),
            *_COUNTS,
            pl.when(known).then(pl.col(f"{measure}{_WITHOUT}")).alias("value_without"),
        )
        for measure in measures
    ]
    by_system = pl.concat(rows).sort(_SYSTEM, maintain_order=True).drop(_SYSTEM)
    return by_system.with_columns(change=pl.col("value_without") - pl.col("value"))
