"""A run, with judgments if there are any: checked by their columns, and collected when asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_retrieval import judgments
from polars_retrieval.columns import (
    Columns,
    Judged,
    best_copies,
    check_found,
    check_rows,
    is_kept,
    of_queries,
    read_frame,
    read_queries,
    read_rows,
)
from polars_retrieval.errors import ParameterError
from polars_retrieval.names import Duplicates
from polars_retrieval.options import check_choice

if TYPE_CHECKING:
    from polars_retrieval.options import Options

    Frame = pl.DataFrame | pl.LazyFrame


@dataclass(frozen=True)
class Input:
    """What a function is given, and the columns of the rows that it will see."""

    run: Frame
    qrels: Frame | None
    columns: Columns
    schema: pl.Schema
    queries: pl.DataFrame | None
    duplicates: Duplicates

    @classmethod
    def of(
        cls, run: Any, qrels: Any, columns: Columns, *, needs_doc: bool, queries: Any, duplicates: Duplicates
    ) -> Input:
        """Take a run and judgments, and check their columns."""
        check_choice("duplicates", duplicates, Duplicates)
        run, judged = read_frame(run), None if qrels is None else read_frame(qrels, "qrels")
        schema = run.collect_schema()
        if judged is None:
            columns.check_run(schema, doc=needs_doc or duplicates != "error")
        else:
            schema = _joined(schema, judged.collect_schema(), columns)
        asked = None if queries is None else read_queries(queries, columns, schema)
        return cls(run, judged, columns, schema, asked, duplicates)

    @property
    def is_lazy(self) -> bool:
        """Whether the run is lazy, so that the result is to be lazy, too."""
        return isinstance(self.run, pl.LazyFrame)

    def frame(self) -> pl.DataFrame:
        """Return all columns of all rows."""
        run, qrels = self._collect(self.run)
        return run if qrels is None else judgments.match(run, qrels, self.columns).frame()

    def rows(self, options: Options) -> Judged:
        """Return the rows that are evaluated."""
        run, qrels = self._collect(self._needed())
        if qrels is None:
            return read_rows(run, self.columns, options)
        matched = judgments.match(run, qrels, self.columns)
        if options.missing_queries != "skip":
            matched.warn_of_segments(qrels)
        rows = matched.rows()
        if options.ignore_index is not None:
            rows = rows.filter(is_kept(rows.relevance, options))
        check_rows(rows, self.columns, options)
        return rows

    def _needed(self) -> Frame:
        names = [*self.columns.ids, *self.columns.others]
        return self.run.select(name for name in names if name in self.run.collect_schema())

    def _collect(self, run: Frame) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        """Return the run and the judgments of the queries that are asked for, each document once."""
        given = [(run, self.columns.score), *([] if self.qrels is None else [(self.qrels, self.columns.relevance)])]
        frames = [frame.collect() if isinstance(frame, pl.LazyFrame) else frame for frame, _ in given]
        if self.queries is not None:
            frames = [of_queries(frame, self.queries, self.columns) for frame in frames]
            check_found(self.queries, frames, self.columns)
        if self.duplicates == "best":
            values = [value for _, value in given]
            frames = [best_copies(*both, self.columns) for both in zip(frames, values, strict=True)]
        return frames[0], frames[1] if len(frames) > 1 else None


def _joined(run: pl.Schema, qrels: pl.Schema, columns: Columns) -> pl.Schema:
    """Return the columns of a run and its judgments."""
    judgments.check_schemas(run, qrels, columns)
    if columns.n_relevant:
        msg = f"`n_relevant={columns.n_relevant!r}` and `qrels` both say how many documents are relevant: give one"
        raise ParameterError(msg)
    return judgments.match(run.to_frame(), qrels.to_frame(), columns).frame().schema
