"""Runs and judgments that are Python objects: dicts of dicts, named tuples, ranx's classes, frames of any kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_retrieval.columns import read_frame
from polars_retrieval.errors import ColumnError, DataError
from polars_retrieval.io.tables import DOC, QUERY, RUN_ID, Table

if TYPE_CHECKING:
    from collections.abc import Sequence


def from_object(given: Any, table: Table) -> pl.DataFrame | pl.LazyFrame:
    """Return a frame with the columns of a table."""
    if isinstance(given, Mapping):
        return from_nested(given, table)
    if _is_ranx(given):
        return _from_ranx(given, table)
    if isinstance(given, (pl.DataFrame, pl.LazyFrame)) or hasattr(given, "__arrow_c_stream__"):
        frame = table.standardise(read_frame(given, table.name).lazy())
        return frame if isinstance(given, pl.LazyFrame) else frame.collect()
    if isinstance(given, Iterable):
        return _from_tuples(list(given), table)
    msg = (
        f"`{table.name}` has to be a path, a file object, a dict of dicts, named tuples or a frame; "
        f"got {type(given).__name__}"
    )
    raise ColumnError(msg)


def from_nested(given: Mapping[Any, Any], table: Table) -> pl.DataFrame:
    """Return the rows of {query: {document: number}}."""
    for query, docs in given.items():
        if not isinstance(docs, Mapping):
            msg = f"`{table.name}` has to be {{query: {{document: {table.value}}}}}; {query!r} has {docs!r}"
            raise DataError(msg)
    lengths = pl.Series([len(docs) for docs in given.values()], dtype=pl.UInt32)
    places = pl.int_range(len(given), dtype=pl.UInt32, eager=True)
    which = pl.select(pl.lit(places).repeat_by(lengths).explode()).to_series()
    queries = _series(QUERY, list(given), "a string or an integer")
    return pl.DataFrame(
        [
            queries.gather(which.drop_nulls()),
            _series(DOC, list(chain.from_iterable(given.values())), "a string or an integer"),
            _numbers(list(chain.from_iterable(docs.values() for docs in given.values())), table),
        ]
    )


def _numbers(values: Sequence[Any], table: Table) -> pl.Series:
    numbers = _series(table.value, values, table.number, table.dtype)
    wrong = numbers.is_null() | (numbers.is_nan() if table.dtype == pl.Float64 else False)
    if wrong.any():
        msg = f"`{table.value}` has to be {table.number}; got {values[wrong.arg_max() or 0]!r}"
        raise DataError(msg)
    return numbers


def _series(name: str, values: Sequence[Any], expected: str, dtype: type[pl.DataType] | None = None) -> pl.Series:
    if not values:
        return pl.Series(name, [], dtype or pl.String)
    try:
        return pl.Series(name, values, dtype)
    except (TypeError, OverflowError) as error:
        found = str(error).partition("\n")[0]
        msg = f"`{name}` has to be {expected}: {found}"
        raise DataError(msg) from error


def _from_tuples(given: list[Any], table: Table) -> pl.DataFrame:
    """Read named tuples, such as ScoredDoc and Qrel of ir_measures and ir_datasets, by the names of their fields."""
    if not given:
        msg = f"`{table.name}` is empty: expected at least one file or one named tuple\n\nHint: an empty dict is taken."
        raise ColumnError(msg)
    for number, one in enumerate(given):
        if not all(hasattr(one, name) for name in table.required):
            msg = f"`{table.name}` has to hold named tuples with {', '.join(table.required)}; item {number} is {one!r}"
            raise ColumnError(msg)
    queries, docs, values = ([getattr(one, name) for one in given] for name in table.required)
    ids = [_series(QUERY, queries, "a string or an integer"), _series(DOC, docs, "a string or an integer")]
    return pl.DataFrame([*ids, _numbers(values, table)])


def _is_ranx(given: object) -> bool:
    return type(given).__module__.partition(".")[0] == "ranx" and hasattr(given, "to_dict")


def _from_ranx(given: Any, table: Table) -> pl.DataFrame:
    frame = from_nested(given.to_dict(), table)
    name = getattr(given, "name", None)
    return frame.with_columns(pl.lit(name).alias(RUN_ID)) if name and RUN_ID in table.optional else frame
