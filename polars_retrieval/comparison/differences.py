"""Where two systems differ: query by query, with the places of the relevant documents in both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_retrieval import frames
from polars_retrieval.columns import Columns, check_free
from polars_retrieval.comparison.systems import check_by, rank_documents, stack_runs
from polars_retrieval.errors import DataError, ParameterError
from polars_retrieval.measures import Measure, parse_all
from polars_retrieval.names import hint, quoted
from polars_retrieval.options import Options
from polars_retrieval.ranking import is_relevant

if TYPE_CHECKING:
    from polars_retrieval.frames import Names
    from polars_retrieval.names import EmptyTargetAction, MissingQueries, Ties, Unjudged

_TWO = 2
_ROLES = ("baseline", "system")
_VALUES = ("value_baseline", "value_system", "difference")
_RESULTS = ("measure", *_ROLES, *_VALUES)
_RANKS = ("rank_baseline", "rank_system")


def differences(
    runs: Any,
    metric: str | Measure,
    *,
    by: str = "run_id",
    baseline: Any = None,
    system: Any = None,
    qrels: Any = None,
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
) -> pl.DataFrame:
    """Show which queries a system gained and lost over a baseline, and where their relevant documents stand in both.

    Parameters
    ----------
    runs
        The runs of two systems or more: a frame with a column `by`, or a dictionary from the names of the systems to
        their runs. Frames are of any kind that `polars_retrieval.evaluate` takes, whose other options are the same,
        too. LazyFrames are collected.
    metric
        A name such as ``"ndcg@10"``, or a measure such as ``pr.ndcg @ 10``.
    by
        The column that tells the systems apart.
    baseline, system
        The two to compare, by their value in `by`. Of two systems the first is the baseline; among more, both have to
        be named.

    Returns
    -------
    DataFrame
        One row a query, from the largest gain to the largest loss; equal ones in order of appearance:

        * the columns of `query`, then `measure`, `baseline` and `system`, the same in all rows;
        * `value_baseline`, `value_system` and `difference`, the second less the first (Float64). Null, and the row
          last, where options leave the query out, or where a system lacks it and no `qrels` tell that it is judged;
        * `relevant`: a list of structs, one for each relevant document, with its id and `rank_baseline` and
          `rank_system` (UInt32, from 1; null where it was not retrieved), from the best rank in either system down.
          Runs without document ids have two lists instead, `ranks_baseline` and `ranks_system`, of the ranks alone.

        Under ``ties="expected"`` a rank is the first that its document may have: that of the best of those tied with
        it. The other rules give each document one rank.

        A gain is a higher value, also by a measure for which lower is better, such as fall-out.

    Raises
    ------
    ParameterError
        If a system is not there, or it is not clear which two are meant.
    DataError
        If the two have no query in common; and as `polars_retrieval.evaluate` does.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_retrieval as pr
    >>> old = pl.DataFrame({"query_id": ["q1", "q1", "q2"], "doc_id": ["d1", "d2", "d3"], "score": [2, 1, 1]})
    >>> new = pl.DataFrame({"query_id": ["q1", "q1", "q2"], "doc_id": ["d2", "d4", "d5"], "score": [2, 1, 1]})
    >>> qrels = pl.DataFrame({"query_id": ["q1", "q1", "q2"], "doc_id": ["d2", "d4", "d3"], "relevance": [1, 1, 1]})
    >>> rows = pr.differences({"old": old, "new": new}, "precision@2", qrels=qrels)
    >>> rows.select("query_id", "value_baseline", "value_system", "difference")
    shape: (2, 4)
    ┌──────────┬────────────────┬──────────────┬────────────┐
    │ query_id ┆ value_baseline ┆ value_system ┆ difference │
    │ ---      ┆ ---            ┆ ---          ┆ ---        │
    │ str      ┆ f64            ┆ f64          ┆ f64        │
    ╞══════════╪════════════════╪══════════════╪════════════╡
    │ q1       ┆ 0.5            ┆ 1.0          ┆ 0.5        │
    │ q2       ┆ 0.5            ┆ 0.0          ┆ -0.5       │
    └──────────┴────────────────┴──────────────┴────────────┘
    >>> rows.select("query_id", "relevant").explode("relevant").unnest("relevant")
    shape: (3, 4)
    ┌──────────┬────────┬───────────────┬─────────────┐
    │ query_id ┆ doc_id ┆ rank_baseline ┆ rank_system │
    │ ---      ┆ ---    ┆ ---           ┆ ---         │
    │ str      ┆ str    ┆ u32           ┆ u32         │
    ╞══════════╪════════╪═══════════════╪═════════════╡
    │ q1       ┆ d2     ┆ 2             ┆ 1           │
    │ q1       ┆ d4     ┆ null          ┆ 2           │
    │ q2       ┆ d3     ┆ 1             ┆ null        │
    └──────────┴────────┴───────────────┴─────────────┘
    """
    columns = Columns.of(query, doc, score, relevance, [check_by(by)])
    options = Options(
        ties=ties,
        unjudged=unjudged,
        missing_queries=missing_queries,
        empty_target_action=empty_target_action,
        ignore_index=ignore_index,
        min_relevance=min_relevance,
    )
    measure = _one_measure(metric)
    check_free((*_RESULTS, "relevant", "ranks_baseline", "ranks_system"), columns.query)
    check_free(_RANKS, (*columns.query, columns.doc))
    stacked = stack_runs(runs, columns)
    pair = _choose(stacked[by].unique(maintain_order=True).to_list(), baseline, system)
    of_pair = stacked.filter(pl.any_horizontal(pl.col(by).eq_missing(name) for name in pair))
    per_query = frames.per_query(
        of_pair,
        measure,
        qrels=qrels,
        by=by,
        query=query,
        doc=doc,
        score=score,
        relevance=relevance,
        ties=ties,
        unjudged=unjudged,
        missing_queries=missing_queries,
        empty_target_action=empty_target_action,
        ignore_index=ignore_index,
        min_relevance=min_relevance,
    )
    values = _values(per_query, pair, columns)
    ranked = rank_documents(of_pair, qrels, columns, options)
    relevant = _relevant(ranked, pair, columns, min_relevance)
    rows = values.select(
        *columns.query,
        pl.lit(str(measure)).alias("measure"),
        *(pl.lit(name).cast(stacked.schema[by]).alias(role) for role, name in zip(_ROLES, pair, strict=True)),
        *_VALUES,
    )
    rows = rows.join(relevant, on=columns.query, how="left", maintain_order="left")
    lists = relevant.columns[len(columns.query) :]
    return rows.with_columns(pl.col(lists).fill_null([])).sort(
        "difference", descending=True, nulls_last=True, maintain_order=True
    )


def _one_measure(metric: str | Measure) -> Measure:
    measures = parse_all(metric)
    if len(measures) == 1:
        return measures[0]
    msg = f"`metric` has to be one measure, got {quoted(measures)}"
    raise ParameterError(msg)


def _choose(systems: list[Any], baseline: Any, system: Any) -> tuple[Any, Any]:
    """Return the two systems to compare."""
    for argument, name in (("baseline", baseline), ("system", system)):
        if name is not None and name not in systems:
            near = hint(str(name), map(str, systems))
            msg = f"`{argument}` has to be one of the systems in `runs`, {quoted(systems)}, got {name!r}.{near}"
            raise ParameterError(msg)
    if len(systems) < _TWO:
        msg = f"two systems are needed to tell where they differ, but `runs` holds {quoted(systems) or 'none'}"
        raise ParameterError(msg)
    if len(systems) > _TWO and None in (baseline, system):
        msg = (
            f"`runs` holds {len(systems)} systems, so `baseline` and `system` have to be named: from {quoted(systems)}"
        )
        raise ParameterError(msg)
    if baseline is None:
        baseline = systems[0] if system is None or system == systems[1] else systems[1]
    if system is None:
        system = systems[1] if baseline == systems[0] else systems[0]
    if baseline == system:
        msg = f"`baseline` and `system` have to be two systems, got {baseline!r} for both; there are {quoted(systems)}"
        raise ParameterError(msg)
    return baseline, system


def _values(per_query: pl.DataFrame, pair: tuple[Any, Any], columns: Columns) -> pl.DataFrame:
    """Put the values of the two systems side by side, queries in order of first appearance."""
    (by,), measure, query = columns.by, per_query.columns[-1], list(columns.query)
    queries = per_query.select(query).unique(maintain_order=True)
    sides = [
        per_query.filter(pl.col(by).eq_missing(name)).select(*query, pl.col(measure).alias(value))
        for name, value in zip(pair, _VALUES, strict=False)
    ]
    if not sides[0].join(sides[1], on=query, how="semi").height:
        msg = f"the systems {quoted(pair)} have no query in common: {sides[0].height} and {sides[1].height} queries"
        raise DataError(msg)
    for side in sides:
        queries = queries.join(side, on=query, how="left", maintain_order="left")
    return queries.with_columns(difference=pl.col("value_system") - pl.col("value_baseline"))


def _relevant(ranked: pl.DataFrame, pair: tuple[Any, Any], columns: Columns, min_relevance: float) -> pl.DataFrame:
    """Return, for each query that has relevant documents, these with their ranks in both systems."""
    (by,), query = columns.by, list(columns.query)
    relevant = ranked.filter(is_relevant(ranked[columns.relevance], min_relevance))
    of_systems = [relevant.filter(pl.col(by).eq_missing(name)) for name in pair]
    if columns.doc not in ranked.columns:
        return _ranks_alone(of_systems, query)
    document = [*query, columns.doc]
    sides = [side.select(*document, pl.col("rank").alias(name)) for side, name in zip(of_systems, _RANKS, strict=True)]
    both = sides[0].join(sides[1], on=document, how="full", coalesce=True, maintain_order="left_right")
    best_first = both.sort(pl.min_horizontal(_RANKS), *_RANKS, nulls_last=True, maintain_order=True)
    return best_first.group_by(query, maintain_order=True).agg(pl.struct(columns.doc, *_RANKS).alias("relevant"))


def _ranks_alone(of_systems: list[pl.DataFrame], query: list[str]) -> pl.DataFrame:
    """Return the ranks of each system's relevant documents, where no ids tell which document is which."""
    lists = [
        side.group_by(query, maintain_order=True).agg(pl.col("rank").drop_nulls().sort().alias(name))
        for side, name in zip(of_systems, ("ranks_baseline", "ranks_system"), strict=True)
    ]
    return lists[0].join(lists[1], on=query, how="full", coalesce=True, maintain_order="left_right")
