"""The runs of several systems as one frame, and the place of each of their documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_retrieval import frames
from polars_retrieval.columns import Columns, read_frame
from polars_retrieval.errors import ColumnError, ParameterError
from polars_retrieval.names import quoted

if TYPE_CHECKING:
    from polars_retrieval.options import Options


def check_by(by: object) -> str:
    """Return the column that tells systems apart, or raise if it is not one name."""
    if isinstance(by, str):
        return by
    msg = f"`by` has to be the name of the column that tells systems apart, got {by!r}"
    raise ColumnError(msg)


def stack_runs(runs: Any, columns: Columns) -> pl.DataFrame:
    """Return the columns that are evaluated of a frame of runs, or of a dictionary from systems to their runs.

    The systems of a dictionary are told apart by the column of `columns.by`, in place of any that a run has.
    """
    if not isinstance(runs, Mapping):
        return _needed(runs, columns, "runs")
    if not runs:
        msg = "`runs` is an empty dictionary; it has to hold a run for each system"
        raise ParameterError(msg)
    if wrong := [name for name in runs if not isinstance(name, str)]:
        msg = f"the keys of `runs` have to be the names of systems, got {wrong[0]!r}"
        raise ParameterError(msg)
    (by,) = columns.by or (None,)
    if by is None:
        msg = "`by=None` is for the run of one system; for the systems of a dictionary name the column to tell them by"
        raise ParameterError(msg)
    own = replace(columns, by=())
    of_systems = {name: _needed(run, own, f"runs[{name!r}]") for name, run in runs.items()}
    _check_alike(of_systems, own)
    named = [frame.select(pl.lit(name).alias(by), pl.all()) for name, frame in of_systems.items()]
    return pl.concat(named, how="vertical_relaxed")


def _needed(runs: Any, columns: Columns, argument: str) -> pl.DataFrame:
    frame = read_frame(runs, argument)
    schema = frame.collect_schema()
    try:
        columns.check_run(schema, relevance=False)
    except ColumnError as error:
        msg = f"of `{argument}`: {error}"
        raise ColumnError(msg) from None
    parts = (*columns.ids, columns.doc, columns.score, columns.relevance)
    return frame.lazy().select(name for name in parts if name in schema).collect()


def _check_alike(of_systems: Mapping[str, pl.DataFrame], columns: Columns) -> None:
    """Raise unless all runs have the columns of the first, with ids of the same kind."""
    (first, start), *others = of_systems.items()
    for name, frame in others:
        for column in dict.fromkeys([*start.columns, *frame.columns]):
            lacking = [run for run, has in ((first, start), (name, frame)) if column not in has.columns]
            if lacking:
                msg = f"`runs` have to have the same columns, but {quoted(lacking)} has no column `{column}`"
                raise ColumnError(msg)
        for column in (*columns.query, columns.doc):
            kinds = [has.schema.get(column) for has in (start, frame)]
            if _kind(kinds[0]) != _kind(kinds[1]):
                msg = (
                    f"column `{column}` is of type {kinds[0]} in the run of `{first}` and {kinds[1]} in that of "
                    f"`{name}`, so that no id can match\n\nHint: cast one of them."
                )
                raise ColumnError(msg)


def _kind(dtype: pl.DataType | None) -> object:
    """Return what ids have to have in common to be the same: all integers are alike, and so is text."""
    if dtype is not None and dtype.is_integer():
        return "integer"
    return "text" if dtype in (pl.String, pl.Categorical) else dtype


def rank_documents(runs: pl.DataFrame, qrels: Any, columns: Columns, options: Options) -> pl.DataFrame:
    """Join runs with their judgments, if there are any, and add the column `rank`: null where not retrieved.

    Where tied documents are expected in all orders, each has the first rank of them all.
    """
    in_any_order = options.ties == "expected"
    ranked = frames.rank(
        runs,
        qrels=qrels,
        by=columns.by,
        query=columns.query,
        doc=columns.doc,
        score=columns.score,
        relevance=columns.relevance,
        ties="stable" if in_any_order else options.ties,
        unjudged=options.unjudged,
        ignore_index=options.ignore_index,
        min_relevance=options.min_relevance,
    )
    if not in_any_order:
        return ranked
    # Documents that are not in the list, for want of a score or of a judgment, have no rank among the others.
    first = pl.col("rank").min().over(*columns.ids, columns.score)
    return ranked.with_columns(pl.when(pl.col("rank").is_not_null()).then(first).alias("rank"))
