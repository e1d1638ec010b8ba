"""A run, with judgments if there are any: checked by their columns, and collected when asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_retrieval import judgments
from polars_retrieval.columns import Columns, Judged, check_rows, is_kept, read_frame, read_rows

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

    @classmethod
    def of(cls, run: Any, qrels: Any, columns: Columns, *, needs_doc: bool) -> Input:
        """Take a run and judgments, and check their columns."""
        run, judged = read_frame(run), None if qrels is None else read_frame(qrels, "qrels")
        schema = run.collect_schema()
        if judged is None:
            columns.check_run(schema, doc=needs_doc)
            return cls(run, None, columns, schema)
        judgments.check_schemas(schema, judged.collect_schema(), columns)
        matched = judgments.match(schema.to_frame(), judged.collect_schema().to_frame(), columns)
        return cls(run, judged, columns, matched.frame().schema)

    @property
    def is_lazy(self) -> bool:
        """Whether the run is lazy, so that the result is to be lazy, too."""
        return isinstance(self.run, pl.LazyFrame)

    def frame(self) -> pl.DataFrame:
        """Return all columns of all rows."""
        run = _collect(self.run)
        return run if self.qrels is None else judgments.match(run, _collect(self.qrels), self.columns).frame()

    def rows(self, options: Options) -> Judged:
        """Return the rows that are evaluated."""
        run = _collect(self._needed())
        if self.qrels is None:
            return read_rows(run, self.columns, options)
        rows = judgments.match(run, _collect(self.qrels), self.columns).rows()
        if options.ignore_index is not None:
            rows = rows.filter(is_kept(rows.relevance, options))
        check_rows(rows, self.columns, options)
        return rows

    def _needed(self) -> Frame:
        columns = self.columns
        names = [*columns.ids, columns.doc, columns.score, columns.relevance]
        return self.run.select(name for name in names if name in self.run.collect_schema())


def _collect(frame: Frame) -> pl.DataFrame:
    return frame.collect() if isinstance(frame, pl.LazyFrame) else frame
