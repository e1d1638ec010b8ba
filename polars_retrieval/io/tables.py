"""What a run and judgments are as tables: their columns, other tools' names for these, and what they may hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from polars_retrieval.errors import ColumnError
from polars_retrieval.names import hint, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

QUERY, DOC, RUN_ID = "query_id", "doc_id", "run_id"

# What files of other tools call a column, the likeliest first; read in lower case with `_` for `-` and blanks.
_ALIASES = {
    QUERY: ("query_id", "qid", "q_id", "queryid", "topic_id", "topic", "query"),
    DOC: ("doc_id", "docid", "docno", "corpus_id", "document_id", "passage_id", "pid", "doc", "document"),
    "score": ("score", "sim", "similarity"),
    "relevance": ("relevance", "rel", "label", "grade", "score"),
    RUN_ID: ("run_id", "run_tag", "tag", "run_name", "run"),
}


@dataclass(frozen=True)
class Table:
    """A kind of table."""

    name: str
    value: str
    """The column of numbers."""
    dtype: type[pl.DataType]
    """The type of `value`."""
    number: str
    """What `value` has to be, in words."""
    optional: tuple[str, ...]
    fields: tuple[str, ...]
    """The fields of a line in TREC's format."""
    more_fields: bool
    """Whether trec_eval takes further fields in a line, and ignores them."""

    @property
    def required(self) -> tuple[str, str, str]:
        """The columns that every table of this kind has."""
        return (QUERY, DOC, self.value)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the line of a TREC file gives."""
        return (*self.required, *self.optional)

    def schema(self) -> dict[str, type[pl.DataType]]:
        """Return the columns of a TREC file and their types."""
        return {name: self.dtype if name == self.value else pl.String for name in self.columns}

    def find_columns(self, names: Iterable[str]) -> dict[str, str]:
        """Return which of ``names`` stands for which column, as {column: name}, for those that are there."""
        plain = {name.strip().lower().replace("-", "_").replace(" ", "_"): name for name in reversed([*names])}
        found = {}
        for column in self.columns:
            known = [plain[alias] for alias in _ALIASES[column] if alias in plain]
            if known:
                found[column] = known[0]
        return found

    def standardise(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Give the columns their names and the numbers their type; further columns follow as they are."""
        schema = frame.collect_schema()
        found = self.find_columns(schema)
        self._check(found, schema)
        others = [name for name in schema if name not in found.values()]
        if in_the_way := sorted(set(others) & set(found)):
            msg = f"several columns of the {self.name} could be {quoted(in_the_way)}; its columns are {quoted(schema)}"
            raise ColumnError(msg)
        renamed = frame.select(*(pl.col(name).alias(column) for column, name in found.items()), *others)
        return renamed.with_columns(pl.col(self.value).cast(self._type_of(schema[found[self.value]])))

    def _type_of(self, dtype: pl.DataType) -> pl.DataType | type[pl.DataType]:
        # A grade of 0.5 in a typed file is meant so; in text, trec_eval's grades are integers.
        return dtype if self.dtype == pl.Int64 and dtype.is_float() else self.dtype

    def _check(self, found: Mapping[str, str], schema: Mapping[str, pl.DataType]) -> None:
        for column in self.required:
            if column not in found:
                msg = (
                    f"the {self.name} has no column `{column}`; its columns are {quoted(schema)}.{hint(column, schema)}"
                )
                raise ColumnError(msg)
        dtype = schema[found[self.value]]
        if self.value == "relevance" and "score" in found[self.value].lower() and dtype.is_float():
            msg = f"the {self.name} has no column `relevance`, and its scores are of type {dtype}: is it a run?"
            raise ColumnError(msg)
        if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
            msg = f"column `{found[self.value]}` of the {self.name} is of type {dtype}; it has to be {self.number}"
            raise ColumnError(msg)

    def first_problem(self, fields: pl.DataFrame) -> tuple[int, str] | None:
        """Return the first row of a frame of strings that is no row of this table, and what it should have held."""
        number = pl.col(self.value).str.strip_chars().cast(self.dtype, strict=False)
        wrong = {
            "a query id": self._is_empty(QUERY),
            "a document id": self._is_empty(DOC),
            self.number: number.is_null() | (number.cast(pl.Float64).is_nan()),
        }
        if RUN_ID in fields.columns and RUN_ID in self.optional:
            wrong["a tag"] = self._is_empty(RUN_ID)
        first = fields.select(condition.arg_true().first().alias(what) for what, condition in wrong.items())
        rows = {what: row for what, row in first.row(0, named=True).items() if row is not None}
        if not rows:
            return None
        what = min(rows, key=rows.__getitem__)
        return rows[what], what

    @staticmethod
    def _is_empty(name: str) -> pl.Expr:
        return pl.col(name).is_null() | (pl.col(name) == "")

    def to_numbers(self, fields: pl.DataFrame) -> pl.DataFrame:
        """Return a frame of strings, which has no problem, with its numbers."""
        return fields.with_columns(pl.col(self.value).str.strip_chars().cast(self.dtype))

    def names_of_fields(self, n: int) -> Sequence[str] | None:
        """Return what the fields of a line without a header are, by their number; None if that is not known."""
        known = (self.required, self.columns, self.fields)
        return next((names for names in known if len(names) == n), None)


RUN = Table(
    name="run",
    value="score",
    dtype=pl.Float64,
    number="a score, which is a number and not NaN",
    optional=(RUN_ID,),
    fields=(QUERY, "iteration", DOC, "rank", "score", RUN_ID),
    more_fields=True,
)
QRELS = Table(
    name="qrels",
    value="relevance",
    dtype=pl.Int64,
    number="a grade, which is an integer",
    optional=(),
    fields=(QUERY, "iteration", DOC, "relevance"),
    more_fields=False,
)
