"""Runs joined with judgments."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import polars as pl

from polars_retrieval.columns import Columns, check_no_nulls, check_same_kind, check_values, describe
from polars_retrieval.errors import ColumnError, RetrievalWarning

if TYPE_CHECKING:
    from collections.abc import Mapping


def check_schemas(run: Mapping[str, pl.DataType], qrels: Mapping[str, pl.DataType], columns: Columns) -> None:
    """Raise if run and judgments cannot be joined."""
    columns.check_run(run, relevance=False, doc=True)
    columns.check_qrels(qrels)
    if columns.relevance in run:
        msg = (
            f"the run has a column `{columns.relevance}` already, and `qrels` was given, whose column of that name "
            f"would replace it\n\nHint: drop it from the run, or leave `qrels` out."
        )
        raise ColumnError(msg)
    for name in (*columns.query, columns.doc):
        check_same_kind(name, run[name], qrels[name])


def join(run: pl.DataFrame, qrels: pl.DataFrame, columns: Columns) -> pl.DataFrame:
    """Return every retrieved and every judged document; the run's rows first, in their order."""
    shared_by = [name for name in columns.by if name in qrels.columns]
    key = [*dict.fromkeys([*shared_by, *columns.query, columns.doc])]
    qrels = qrels.select(*key, columns.relevance)
    check_values(run, columns)
    for frame in (run, qrels):
        check_no_nulls(frame, (columns.doc,), "a document without an id has no judgment")
    check_values(qrels, Columns(tuple(n for n in key if n != columns.doc), columns.doc, "", columns.relevance))
    own_by = [name for name in columns.by if name not in qrels.columns]
    if own_by:  # each group is held against all judgments
        qrels = run.select(own_by).unique(maintain_order=True).join(qrels, how="cross")
    run, qrels = _with_same_types(run, qrels, key)
    on = [*dict.fromkeys([*own_by, *key])]
    return run.join(qrels, on=on, how="full", coalesce=True, nulls_equal=True, maintain_order="left_right")


def _with_same_types(run: pl.DataFrame, qrels: pl.DataFrame, key: list[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    for name in key:
        left, right = run.schema[name], qrels.schema[name]
        if left == right:
            continue
        common = pl.String
        if left.is_integer() and right.is_integer():
            unsigned = pl.UInt64 in (left, right)
            common = pl.Int128 if unsigned or pl.Int128 in (left, right) else pl.Int64  # type: ignore[assignment]
        run, qrels = (
            run.with_columns(pl.col(name).cast(common)),
            qrels.with_columns(pl.col(name).cast(common)),
        )
    return run, qrels


def of_judged_queries(joined: pl.DataFrame, qrels: pl.DataFrame, columns: Columns) -> pl.DataFrame:
    """Leave out, and say so, the run's queries that nobody judged."""
    query = list(columns.query)
    judged = _with_same_types(joined.head(0), qrels.select(query), query)[1].unique(maintain_order=True)
    kept = joined.join(judged, on=query, how="semi", maintain_order="left")
    if kept.height < joined.height:
        others = (
            joined.join(judged, on=query, how="anti", maintain_order="left").select(query).unique(maintain_order=True)
        )
        first = describe(others.row(0, named=True), query)
        known = f", such as {describe(judged.row(0, named=True), query)}" if judged.height else ""
        msg = (
            f"{others.height} queries of the run have no judgments and are left out, the first {first}; "
            f"{kept.select(query).n_unique()} judged queries remain{known}"
        )
        warnings.warn(msg, RetrievalWarning, stacklevel=2)
    return kept
