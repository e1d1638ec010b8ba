"""From the caller's frame to checked columns. Every error of the input is raised here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_retrieval.errors import ColumnError, DataError, ParameterError
from polars_retrieval.grouping import Grouping, cut, group_rows, pair_keys
from polars_retrieval.names import hint, quoted
from polars_retrieval.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from polars_retrieval.options import Options


def read_frame(data: Any, argument: str = "run") -> pl.DataFrame | pl.LazyFrame:
    """Take a frame of Polars, pandas, PyArrow, DuckDB, or anything that exports an Arrow C stream."""
    if isinstance(data, (pl.DataFrame, pl.LazyFrame)):
        return data
    if hasattr(data, "__arrow_c_stream__"):
        frame = pl.from_pandas(data) if _is_pandas(data) else pl.DataFrame(data)
        if isinstance(frame, pl.DataFrame):
            return frame
    msg = (
        f"`{argument}` has to be a frame of Polars, pandas, PyArrow or DuckDB, or export an Arrow C stream; "
        f"got {type(data).__name__}"
    )
    raise ColumnError(msg)


def _is_pandas(data: object) -> bool:
    return type(data).__module__.partition(".")[0] == "pandas"


def read_queries(given: Any, columns: Columns, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Take the ids of queries: a list or a Series of them, or a frame with the query columns."""
    asked = _queries_frame(given, columns)
    for name in columns.query:
        _check_type("query", name, asked.schema, _is_id, _AN_ID, frame="queries")
        check_same_kind(name, schema[name], asked.schema[name], "`queries`")
    return asked.select(columns.query)


def _queries_frame(given: Any, columns: Columns) -> pl.DataFrame:
    name, *others = columns.query
    if isinstance(given, pl.Series) and not others:
        return given.alias(name).to_frame()
    if isinstance(given, (list, tuple, set, frozenset, range)) and not others:
        return pl.Series(name, list(given), dtype=None if given else pl.String).to_frame()
    if isinstance(given, (pl.DataFrame, pl.LazyFrame)) or hasattr(given, "__arrow_c_stream__"):
        return read_frame(given, "queries").lazy().collect()
    wanted = f"a frame with the columns {quoted(columns.query)}" if others else "a list or a Series of query ids"
    msg = f"`queries` has to be {wanted}, got {given!r}"
    raise ColumnError(msg)


def names(argument: str, given: object) -> tuple[str, ...]:
    """Return column names given as one name, several, or None."""
    if given is None:
        return ()
    several = (given,) if isinstance(given, str) else given
    if isinstance(several, (list, tuple)) and all(isinstance(name, str) for name in several):
        return tuple(several)
    msg = f"`{argument}` has to be a column name or a list of column names, got {given!r}"
    raise ColumnError(msg)


@dataclass(frozen=True)
class Columns:
    """The names of the columns that play each part."""

    query: tuple[str, ...] = ("query_id",)
    doc: str = "doc_id"
    score: str = "score"
    relevance: str = "relevance"
    by: tuple[str, ...] = ()
    n_relevant: str | None = None

    @classmethod
    def of(
        cls, query: object, doc: object, score: object, relevance: object, by: object, n_relevant: object = None
    ) -> Columns:
        """Check the names as the caller gives them."""
        single = {"doc": doc, "score": score, "relevance": relevance, "n_relevant": n_relevant}
        for argument, given in single.items():
            if not (isinstance(given, str) or (argument == "n_relevant" and given is None)):
                msg = f"`{argument}` has to be a column name, got {given!r}"
                raise ColumnError(msg)
        queries = names("query", query)
        if not queries:
            msg = f"`query` has to name at least one column, got {query!r}"
            raise ColumnError(msg)
        counts = None if n_relevant is None else str(n_relevant)
        columns = cls(queries, str(doc), str(score), str(relevance), names("by", by), counts)
        columns._check_parts()
        return columns

    @property
    def ids(self) -> tuple[str, ...]:
        """The columns that tell one ranked list from another."""
        return (*self.by, *(name for name in self.query if name not in self.by))

    @property
    def others(self) -> tuple[str, ...]:
        """The columns beside the ids."""
        return (self.doc, self.score, self.relevance, *([self.n_relevant] if self.n_relevant else []))

    def _check_parts(self) -> None:
        parts = [*self.ids, *self.others]
        if twice := sorted({name for name in parts if parts.count(name) > 1}):
            msg = f"a column can play one part only, but {quoted(twice)} was given for several"
            raise ColumnError(msg)

    def check_run(self, schema: Mapping[str, pl.DataType], *, relevance: bool = True, doc: bool = False) -> None:
        """Raise if a column of the run is missing or of the wrong type."""
        for name in self.by:
            _check_type("by", name, schema, _is_by, _AN_ID)
        for name in self.query:
            _check_type("query", name, schema, _is_id, _AN_ID)
        _check_type("score", self.score, schema, _is_score, "a number")
        if doc:
            _check_type("doc", self.doc, schema, _is_id, _AN_ID)
        if relevance:
            _check_type("relevance", self.relevance, schema, _is_grade, _A_GRADE)
        if self.n_relevant:
            _check_type("n_relevant", self.n_relevant, schema, _is_count, "an integer")

    def check_qrels(self, schema: Mapping[str, pl.DataType]) -> None:
        """Raise if a column of the judgments is missing or of the wrong type."""
        for part, name in (*(("query", name) for name in self.query), ("doc", self.doc)):
            _check_type(part, name, schema, _is_id, _AN_ID, frame="qrels")
        _check_type("relevance", self.relevance, schema, _is_grade, _A_GRADE, frame="qrels")


_AN_ID = "an integer, a string, a categorical, an enum or a date"
_A_GRADE = "a boolean, an integer or a float"


def check_free(new: Iterable[str], taken: Iterable[str]) -> None:
    """Raise if a column that the result adds stands in the caller's frame already."""
    taken = set(taken)
    for name in new:
        if name in taken:
            msg = f"the result has a column `{name}`, but the frame has one of that name\n\nHint: rename or drop it."
            raise ColumnError(msg)


def check_same_kind(name: str, run: pl.DataType, qrels: pl.DataType, where: str = "the judgments") -> None:
    """Raise unless ids of these types can be the same: both integers, both text, or both of one type."""
    text = (pl.String, pl.Categorical, pl.Enum)
    if run == qrels or (run.is_integer() and qrels.is_integer()) or (run in text and qrels in text):
        return
    msg = (
        f"column `{name}` is of type {run} in the run and {qrels} in {where}, so that no id can match"
        f"\n\nHint: cast one of them, as in `run.with_columns(pl.col({name!r}).cast(pl.{qrels}))`."
    )
    raise ColumnError(msg)


def _check_type(
    part: str, name: str, schema: Mapping[str, pl.DataType], accepts: Any, allowed: str, frame: str = "run"
) -> None:
    if name not in schema:
        also = _HINTS.get(part, "") if frame == "run" else ""
        near = hint(name, schema) + also
        msg = f"`{frame}` has no column `{name}` for `{part}`; its columns are {quoted(schema)}.{near}"
        raise ColumnError(msg)
    if not accepts(schema[name]):
        msg = f"column `{name}` of `{frame}`, given for `{part}`, is of type {schema[name]}; it has to be {allowed}"
        raise ColumnError(msg)


_HINTS = {"relevance": "\n\nHint: judgments in a frame of their own are given as `qrels=`."}


def _is_score(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype == pl.Null


def _is_grade(dtype: pl.DataType) -> bool:
    return dtype.is_integer() or dtype.is_float() or dtype in (pl.Boolean, pl.Null)


def _is_count(dtype: pl.DataType) -> bool:
    return dtype.is_integer()


def _is_id(dtype: pl.DataType) -> bool:
    return dtype.is_integer() or dtype.is_temporal() or dtype in (pl.String, pl.Categorical, pl.Enum, pl.Binary)


def _is_by(dtype: pl.DataType) -> bool:
    return _is_id(dtype) or dtype in (pl.Boolean, pl.Null)


@dataclass(frozen=True)
class Judged:
    """Checked rows: the query of each, its score (null: not retrieved), its grade (null: unjudged), its document."""

    grouping: Grouping
    score: pl.Series
    relevance: pl.Series
    doc: pl.Series | None
    has_all_grades: bool = True
    """Whether the grade of every relevant document is known, or only how many there are."""

    def filter(self, mask: pl.Series) -> Judged:
        """Keep the rows where ``mask`` is true, and every query number."""
        doc = None if self.doc is None else self.doc.filter(mask)
        score, relevance = self.score.filter(mask), self.relevance.filter(mask)
        return replace(self, grouping=self.grouping.filter(mask), score=score, relevance=relevance, doc=doc)

    def add_unretrieved(self, numbers: pl.Series, grade: float) -> Judged:
        """Add documents that were not retrieved, of some query numbers and one grade."""
        lacking = [pl.repeat(None, len(numbers), dtype=of.dtype, eager=True) for of in (self.score, self.relevance)]
        doc = self.doc
        return replace(
            self,
            grouping=replace(self.grouping, lengths=None, column=pl.concat([self.grouping.of_rows, numbers]), lowest=0),
            score=pl.concat([self.score, lacking[0]]),
            relevance=pl.concat([self.relevance, lacking[1].fill_null(grade)]),
            doc=None if doc is None else pl.concat([doc, pl.repeat(None, len(numbers), dtype=doc.dtype, eager=True)]),
        )


def keep_rows(frame: pl.DataFrame, columns: Columns, options: Options) -> pl.DataFrame:
    """Drop the rows that are to be ignored."""
    if options.ignore_index is None:
        return frame
    return frame.filter(is_kept(frame[columns.relevance], options))


def is_kept(relevance: pl.Series, options: Options) -> pl.Series:
    """Tell which rows are not to be ignored."""
    return relevance.cast(pl.Float64).ne_missing(options.ignore_index)


def read_rows(frame: pl.DataFrame, columns: Columns, options: Options) -> Judged:
    """Check a frame's values and take its columns out of it."""
    frame = keep_rows(frame, columns, options)
    grouping = check_values(frame, columns)
    doc = frame[columns.doc] if columns.doc in frame.columns else None
    rows = Judged(grouping, frame[columns.score], frame[columns.relevance], doc)
    check_rows(rows, columns, options)
    return _with_counted(rows, frame[columns.n_relevant], columns, options) if columns.n_relevant else rows


def check_rows(rows: Judged, columns: Columns, options: Options) -> None:
    """Raise if a document has no id by which to rank it, or no judgment."""
    if options.ties == "doc_id" and rows.doc is not None:
        check_no_nulls(rows.doc.to_frame(), (columns.doc,), "documents of equal score are ranked by it")
    if options.unjudged == "error":
        _check_judged(rows, columns)


def best_copies(frame: pl.DataFrame, value: str, columns: Columns) -> pl.DataFrame:
    """Keep, of rows of the same query and document, the first of those with the highest value."""
    key = [*(name for name in columns.ids if name in frame.columns), columns.doc]
    copies = frame.with_row_index(_ROW).filter(pl.struct(key).is_duplicated() & pl.col(columns.doc).is_not_null())
    best = pl.col(_ROW).get(pl.col(value).arg_max().fill_null(0)).alias(_ROW)
    worse = copies.join(copies.group_by(key).agg(best), on=_ROW, how="anti")
    keep = pl.repeat(value=True, n=frame.height, eager=True)
    return frame.filter(keep.scatter(worse[_ROW], values=False)) if worse.height else frame


_ROW = "number of the row"  # a column beside the caller's own


def of_queries(frame: pl.DataFrame, asked: pl.DataFrame, columns: Columns) -> pl.DataFrame:
    """Keep the rows of the queries that are asked for."""
    return frame.join(_typed_as(frame, asked), on=columns.query, how="semi", maintain_order="left")


def check_found(asked: pl.DataFrame, frames: Sequence[pl.DataFrame], columns: Columns) -> None:
    """Raise if a query that is asked for is in none of these frames."""
    query = list(columns.query)
    lacking = asked
    for frame in frames:
        others = _typed_as(frame, lacking).with_row_index(_ROW)
        lacking = lacking[others.join(frame, on=query, how="anti", maintain_order="left")[_ROW]]
    if lacking.height:
        where = "not in the run" if len(frames) == 1 else "neither in the run nor judged"
        msg = (
            f"`queries` asks for {asked.height} queries, of which {lacking.height} are {where}; the first is "
            f"{_row(lacking, query)}"
        )
        raise DataError(msg)


def _typed_as(frame: pl.DataFrame, asked: pl.DataFrame) -> pl.DataFrame:
    """Give the ids that are asked for the types of a frame; one that has no such value is null, which is no id."""
    return asked.select(pl.col(name).cast(frame.schema[name], strict=False) for name in asked.columns)


def check_values(frame: pl.DataFrame, columns: Columns) -> Grouping:
    """Raise if a query id is null, a score or grade is NaN, or a document comes twice in a query; group the rows."""
    check_no_nulls(frame, columns.query, "every row has to belong to a query")
    _check_nan(frame, columns.score, "a NaN score cannot be ranked", columns)
    if columns.relevance in frame.columns:
        _check_nan(frame, columns.relevance, "a NaN grade is neither relevant nor not", columns)
    grouping = group_rows(frame.select(columns.ids))
    if columns.doc in frame.columns and columns.doc not in columns.ids:
        _check_duplicates(frame, columns, grouping)
    return grouping


def check_no_nulls(frame: pl.DataFrame, names: Iterable[str], why: str) -> None:
    """Raise if a column of ids holds a null."""
    for name in names:
        if nulls := frame[name].null_count():
            first = frame[name].is_null().arg_true()[0]
            msg = f"column `{name}` has {nulls} nulls, the first in row {first}; {why}"
            raise DataError(msg)


def _check_nan(frame: pl.DataFrame, name: str, why: str, columns: Columns) -> None:
    if name not in frame.columns or not frame.schema[name].is_float() or not frame[name].is_nan().any():
        return
    nan = frame.filter(pl.col(name).is_nan())
    msg = f"column `{name}` has {nan.height} NaN, the first in {_row(nan, columns.ids)}; {why}"
    raise DataError(msg)


def _check_duplicates(frame: pl.DataFrame, columns: Columns, grouping: Grouping) -> None:
    key = [*columns.ids, columns.doc]
    numbers, docs = grouping.of_rows, frame[columns.doc]
    if docs.null_count():  # a document without an id may be any
        frame = frame.drop_nulls(columns.doc)
        numbers, docs = numbers.filter(docs.is_not_null()), docs.drop_nulls()
    if not _may_repeat(grouping, numbers, docs):
        return
    twice = frame.filter(pl.struct(key).is_duplicated())
    if twice.height:
        n = twice.height - twice.select(key).n_unique()
        msg = f"a document can come once in a query, but {n} rows repeat one; the first is {_row(twice, key)}"
        raise DataError(msg)


def _may_repeat(grouping: Grouping, numbers: pl.Series, docs: pl.Series) -> bool:
    """Look for equal pairs of a query and a document: block by block where the rows of each query stand together."""

    def repeats(ends: tuple[int, int]) -> bool:
        block = slice(*ends)
        keys = pair_keys(numbers[block].to_numpy(), docs[block])
        keys.sort()  # twice as fast as counting the distinct ones
        return bool((keys[1:] == keys[:-1]).any())

    rows = grouping.offsets if grouping.lengths is not None else None
    if rows is None or rows[-1] != len(docs):
        return repeats((0, len(docs)))
    return any(in_threads(repeats, [(rows[first], rows[end]) for first, end in cut(rows, _BLOCK)]))


_BLOCK = 2**18  # rows whose keys fit into the processor's cache


def _with_counted(rows: Judged, given: pl.Series, columns: Columns, options: Options) -> Judged:
    """Add the relevant documents that are only counted, query by query, as documents that were not retrieved."""
    import numpy as np

    check_no_nulls(given.to_frame(), (given.name,), "each row has to say how many relevant documents its query has")
    n, numbers = rows.grouping.n_numbers, rows.grouping.of_rows
    relevant = (rows.relevance.cast(pl.Float64) >= options.min_relevance).fill_null(value=False)
    counted, found = np.zeros(n, np.int64), np.bincount(numbers.filter(relevant).to_numpy(), minlength=n)
    counted[numbers.to_numpy()] = given.to_numpy()
    for wrong, what in (
        (given.to_numpy() != counted[numbers.to_numpy()], "is not the same in all rows of a query"),
        ((counted < found)[numbers.to_numpy()], "is below the number of relevant documents among the rows"),
    ):
        if wrong.any():
            at = int(wrong.argmax())
            query = describe(rows.grouping.ids.row(numbers[at], named=True), columns.ids)
            msg = f"column `{given.name}`, given for `n_relevant`, {what}; the first is {query}, with {given[at]}"
            raise DataError(msg)
    grades = rows.relevance.filter(relevant).unique()
    more = pl.Series(np.repeat(np.arange(n, dtype=np.uint32), counted - found))
    rows = rows.add_unretrieved(more, grades[0] if len(grades) else max(1, options.min_relevance))
    return replace(rows, has_all_grades=len(grades) <= 1 or not len(more))


def check_grades(rows: Judged, columns: Columns) -> None:
    """Raise if it is not known what grades the relevant documents have."""
    if not rows.has_all_grades:
        msg = (
            f"column `{columns.n_relevant}`, given for `n_relevant`, says how many relevant documents there are, but "
            "not of which grades, which a measure asks for\n\nHint: give judgments as `qrels=`."
        )
        raise ParameterError(msg)


def _check_judged(judged: Judged, columns: Columns) -> None:
    """Raise if a retrieved document has no judgment."""
    unjudged = judged.score.is_not_null() & judged.relevance.is_null()
    if unjudged.any():
        at = unjudged.arg_true()
        first = judged.grouping.ids.row(judged.grouping.of(at[:1])[0], named=True)
        docs = {} if judged.doc is None else {columns.doc: judged.doc[at[0]]}
        msg = (
            f'`unjudged="error"`, and {len(at)} retrieved documents have no judgment, the first in '
            f"{describe({**first, **docs}, [*columns.ids, *docs])}"
        )
        raise DataError(msg)


def _row(frame: pl.DataFrame, columns: Sequence[str]) -> str:
    """Describe the first row of a frame: query_id 'q1', doc_id 'd7'."""
    return describe(frame.row(0, named=True), columns)


def describe(row: Mapping[str, object], columns: Sequence[str]) -> str:
    """Describe a row by some of its columns: query_id 'q1', doc_id 'd7'."""
    return ", ".join(f"{name} {row[name]!r}" for name in columns)
