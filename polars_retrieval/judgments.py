"""Runs held against judgments.

The judgments are few and the run is long, so it is never joined as a whole: each row has one number for its query and
document, a table of a few bits of it tells which rows may have been judged, and only these are compared.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from polars_retrieval.columns import Columns, Judged, check_no_nulls, check_same_kind, check_values, describe
from polars_retrieval.errors import ColumnError, RetrievalWarning
from polars_retrieval.grouping import Grouping, pair_keys
from polars_retrieval.names import quoted
from polars_retrieval.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

# Columns beside the caller's own.
_LIST, _JUDGED, _JUDGMENT, _ROW, _KEY = "number of the list", "number of the judged query", "judgment", "row", "key"


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


@dataclass(frozen=True)
class Matched:
    """A run's rows with their judgments, and the judged documents that it did not retrieve.

    The rows of the run come first in `grouping`, those of `unretrieved` follow. `is_judged` tells of each of its
    numbers whether there is any judgment.
    """

    run: pl.DataFrame
    unretrieved: pl.DataFrame
    grouping: Grouping
    n_lists: int
    """How many of the first numbers are of the run's lists."""
    is_judged: pl.Series
    columns: Columns

    def frame(self) -> pl.DataFrame:
        """Return every retrieved and every judged document; the run's rows first, in their order."""
        return pl.concat([self.run, self.unretrieved.select(_in(self.run, self.unretrieved))], how="diagonal")

    def rows(self) -> Judged:
        """Return the rows of judged queries; say so if others are left out."""
        score, relevance, doc = self.columns.score, self.columns.relevance, self.columns.doc
        unretrieved = pl.repeat(None, self.unretrieved.height, dtype=self.run.schema[score], eager=True)
        rows = Judged(
            self.grouping,
            pl.concat([self.run[score], unretrieved]),
            pl.concat([self.run[relevance], self.unretrieved[relevance]]),
            pl.concat([self.run[doc], self.unretrieved[doc]]),
        )
        return rows if self.is_judged.all() else self._of_judged_queries(rows)

    def warn_of_segments(self, qrels: pl.DataFrame) -> None:
        """Say so if groups look like parts of the queries, since each is held against the judgments of all."""
        by = [name for name in self.columns.by if name not in qrels.columns]
        lists = self.grouping.ids.head(self.n_lists)
        queries = [name for name in lists.columns if name not in by]
        if by and lists[by].n_unique() > 1 and lists[queries].n_unique() == lists.height:
            msg = (
                f"no query is in two groups of {quoted(by)}, and the judgments have no such column, so that in each "
                "group the judged queries of all others count as missing\n\nHint: give the judgments that column, or "
                'leave such queries out by `missing_queries="skip"`.'
            )
            warnings.warn(msg, RetrievalWarning, stacklevel=2)

    def _of_judged_queries(self, rows: Judged) -> Judged:
        in_rows = self.grouping.count_rows() > 0
        others = self._queries(in_rows & ~self.is_judged)
        if not others.height:
            return rows
        known = self._queries(in_rows & self.is_judged)
        _warn_left_out(others, known, self.columns)
        return rows.filter(self.is_judged.gather(self.grouping.of_rows))

    def _queries(self, numbers: pl.Series) -> pl.DataFrame:
        return self.grouping.ids.filter(numbers).select(self.columns.query).unique(maintain_order=True)


def _in(run: pl.DataFrame, rows: pl.DataFrame) -> list[str]:
    return [name for name in run.columns if name in rows.columns]


def _warn_left_out(others: pl.DataFrame, known: pl.DataFrame, columns: Columns) -> None:
    first = describe(others.row(0, named=True), columns.query)
    such = f", such as {describe(known.row(0, named=True), columns.query)}" if known.height else ""
    msg = (
        f"{others.height} queries of the run have no judgments and are left out, the first {first}; "
        f"{known.height} judged queries remain{such}"
    )
    warnings.warn(msg, RetrievalWarning, stacklevel=2)


def match(run: pl.DataFrame, qrels: pl.DataFrame, columns: Columns) -> Matched:
    """Check a run and judgments, and find the judgment of each row."""
    shared_by = tuple(name for name in columns.by if name in qrels.columns)  # such judgments are for one group each
    of_qrels = replace(columns, by=shared_by, score="")
    run, qrels = _with_same_types(run, qrels.select(*of_qrels.ids, columns.doc, columns.relevance), of_qrels)
    lists = check_values(run, columns)
    for frame in (run, qrels):
        check_no_nulls(frame, (columns.doc,), "a document without an id has no judgment")
    judged = check_values(qrels, of_qrels)
    found = _find(
        Pairs(_numbers_in(judged, lists.ids).gather(lists.of_rows), run[columns.doc]),
        Pairs(judged.of_rows, qrels[columns.doc]),
    )
    relevance = pl.repeat(None, run.height, dtype=qrels.schema[columns.relevance], eager=True)
    relevance = relevance.scatter(found[_ROW], qrels[columns.relevance].gather(found[_JUDGMENT]))
    unretrieved = _unretrieved(qrels, lists, found)
    grouping = _with_rows(lists, unretrieved)
    return Matched(
        run.with_columns(relevance.alias(columns.relevance)),
        unretrieved,
        grouping,
        lists.n_numbers,
        _numbers_in(judged, grouping.ids).is_not_null(),
        columns,
    )


def _with_same_types(run: pl.DataFrame, qrels: pl.DataFrame, columns: Columns) -> tuple[pl.DataFrame, pl.DataFrame]:
    for name in (*columns.ids, columns.doc):
        left, right = run.schema[name], qrels.schema[name]
        if left == right:
            continue
        common = _common_type(left, right)
        run, qrels = (
            run.with_columns(pl.col(name).cast(common)),
            qrels.with_columns(pl.col(name).cast(common)),
        )
    return run, qrels


def _common_type(left: pl.DataType, right: pl.DataType) -> pl.DataType:
    if left.is_integer() and right.is_integer():
        wide = pl.UInt64 in (left, right) or pl.Int128 in (left, right)
        return pl.Int128() if wide else pl.Int64()
    # Of text and a categorical, the second is the smaller.
    return next(
        (dtype for dtype in (left, right) if dtype == pl.Categorical and pl.Enum not in (left, right)), pl.String()
    )


def _numbers_in(judged: Grouping, ids: pl.DataFrame) -> pl.Series:
    """Return the number that each list's query has among the judged ones; null if it is not judged."""
    numbered = judged.ids.with_row_index(_JUDGED).filter(judged.count_rows() > 0)
    return ids.join(numbered, on=judged.ids.columns, how="left", nulls_equal=True, maintain_order="left")[_JUDGED]


@dataclass(frozen=True)
class Pairs:
    """The number of a judged query, null for none, and the document of each row."""

    numbers: pl.Series
    docs: pl.Series

    def keys(self, start: int = 0, n: int | None = None) -> NDArray[np.uint64]:
        """Return a number for each pair, of the rows from ``start`` on."""
        numbers = self.numbers.slice(start, n).fill_null(_NO_NUMBER)
        return pair_keys(numbers.to_numpy(), self.docs.slice(start, n))

    def gather(self, rows: pl.Series) -> pl.DataFrame:
        """Return the pairs of some rows."""
        return pl.DataFrame([self.numbers.gather(rows).alias("number"), self.docs.gather(rows).alias("doc")])


_NO_NUMBER = 2**32 - 1
_BLOCK = 2**18  # rows whose keys fit into the processor's cache


def _find(rows: Pairs, judgments: Pairs) -> pl.DataFrame:
    """Return which rows have which judgment."""
    keys = judgments.keys()
    of_rows = pl.concat(_maybe_judged(rows, keys))
    of_judgments = pl.DataFrame({_KEY: keys}).with_row_index(_JUDGMENT)
    found = of_rows.join(of_judgments, on=_KEY, maintain_order="left").drop(_KEY)
    left, right = rows.gather(found[_ROW]), judgments.gather(found[_JUDGMENT])
    equal = [left[name].eq_missing(right[name]) for name in left.columns]
    return found.filter(*equal)  # keys may be equal by accident


def _maybe_judged(rows: Pairs, keys: NDArray[np.uint64]) -> list[pl.DataFrame]:
    """Return, block by block, the rows whose keys begin like that of a judgment, and these keys."""
    import numpy as np

    bits = min(max(len(keys).bit_length() + 4, 10), 26)  # so that few others begin so
    shift = np.uint64(64 - bits)
    begins = np.zeros(2**bits, dtype=np.bool_)
    begins[keys >> shift] = True

    def look_through(start: int) -> pl.DataFrame:
        row_keys = rows.keys(start, _BLOCK)
        at = np.flatnonzero(begins[row_keys >> shift])
        return pl.DataFrame({_ROW: (at + start).astype(np.uint32), _KEY: row_keys[at]})

    return in_threads(look_through, range(0, max(len(rows.docs), 1), _BLOCK))


def _unretrieved(qrels: pl.DataFrame, lists: Grouping, found: pl.DataFrame) -> pl.DataFrame:
    """Return the judged documents that lists lack, each with the list's number, null for a list without any row."""
    wanted = qrels.with_row_index(_JUDGMENT)
    own_by = [name for name in lists.ids.columns if name not in qrels.columns]
    if own_by:  # each group is held against all judgments
        wanted = lists.ids.select(own_by).unique(maintain_order=True).join(wanted, how="cross")
    numbered = lists.ids.with_row_index(_LIST)
    wanted = wanted.join(numbered, on=lists.ids.columns, how="left", nulls_equal=True, maintain_order="left")
    retrieved = found.select(_JUDGMENT, lists.of(found[_ROW]).alias(_LIST))
    return wanted.join(retrieved, on=[_JUDGMENT, _LIST], how="anti", maintain_order="left").drop(_JUDGMENT)


def _with_rows(lists: Grouping, more: pl.DataFrame) -> Grouping:
    """Add rows, each with its list's number, or null if the list is a new one."""
    if not more.height:
        return lists
    ids = lists.ids.columns
    new = more.filter(pl.col(_LIST).is_null()).select(ids).unique(maintain_order=True)
    numbered = new.with_row_index("new", offset=lists.n_numbers)
    numbers = more.join(numbered, on=ids, how="left", nulls_equal=True, maintain_order="left").select(
        pl.coalesce(_LIST, "new")
    )
    return Grouping(lists.ids.vstack(new), None, pl.concat([lists.of_rows, numbers.to_series()]))
