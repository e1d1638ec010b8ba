"""Comma- and tab-separated values, with a header or without."""

from __future__ import annotations

import csv
import io
from itertools import islice
from typing import TYPE_CHECKING

import polars as pl
from polars.exceptions import PolarsError

from polars_retrieval.io.text import as_utf8, check_is_text, without_bom
from polars_retrieval.names import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_retrieval.errors import FileFormatError
    from polars_retrieval.io.sources import Source
    from polars_retrieval.io.tables import Table

SEPARATORS = {"csv": ",", "tsv": "\t"}


def read(source: Source, table: Table) -> pl.DataFrame:
    """Read a file. Columns beyond the table's own follow as strings."""
    data = source.read()
    check_is_text(data, source)
    data = as_utf8(without_bom(data))
    rows = _parse(data, source)
    names, has_header = _columns(rows, data, source, table)
    fields = rows.rename(dict(zip(rows.columns, names, strict=True))).slice(int(has_header))
    fields = fields.with_row_index(_ROW, int(has_header)).filter(pl.any_horizontal(pl.col(names).is_not_null()))
    if not fields.height:
        msg = "is empty: expected at least one line below the header"
        raise source.error(msg)
    if problem := table.first_problem(fields):
        row, expected = problem
        raise _error(fields[_ROW][row], expected, data, source)
    own = [name for name in table.columns if name in names]
    return table.to_numbers(fields).select(*own, *(name for name in names if name not in {*own, *table.fields}))


_ROW = "\0row"  # no column of a text file has this name


def columns(source: Source, table: Table) -> dict[str, type[pl.DataType]]:
    """Return the columns that reading the file will give, and their types, from its first line."""
    with source.open() as stream:
        line = without_bom(_first_line(stream))
    rows = _parse(as_utf8(line), source)
    names, _ = _columns(rows, line, source, table)
    own = {name: dtype for name, dtype in table.schema().items() if name in names}
    return own | {name: pl.String for name in names if name not in {*own, *table.fields}}


def _first_line(stream: object) -> bytes:
    """Return the first line that is not blank; in a compressed file, no line-wise reading is at hand."""
    data = b""
    while chunk := stream.read(1 << 12):  # type: ignore[attr-defined]
        data = (data + chunk).lstrip()
        if b"\n" in data:
            break
    return data.partition(b"\n")[0]


def _parse(data: bytes, source: Source) -> pl.DataFrame:
    """Return all rows, the header too, as strings."""
    if not data.strip():
        raise source.empty()
    try:
        return pl.read_csv(
            data.lstrip(b"\r\n"),
            has_header=False,
            separator=SEPARATORS[source.format],
            infer_schema=False,
            missing_columns="insert",
            extra_columns="raise",
        )
    except PolarsError as error:
        raise _parse_error(data, source) from error


def _columns(rows: pl.DataFrame, data: bytes, source: Source, table: Table) -> tuple[Sequence[str], bool]:
    """Return the names of all columns, and whether the first row gave them."""
    first = [name or "" for name in rows.row(0)]
    found = table.find_columns(first)
    if set(table.required) <= set(found):
        known = {name: column for column, name in found.items()}
        names = [known.get(name, name) for name in first]
        if len(set(names)) < len(names):
            raise _error(0, f"a header with different names, got {quoted(names)}", data, source)
        return names, True
    names_by_place = table.names_of_fields(len(first))
    if names_by_place and not table.first_problem(
        rows.head(1).rename(dict(zip(rows.columns, names_by_place, strict=True)))
    ):
        return names_by_place, False
    expected = f"a header that names {quoted(table.required)}, or rows of {quoted(table.required)} in this order"
    raise _error(0, expected, data, source)


def _error(row: int, expected: str, data: bytes, source: Source) -> FileFormatError:
    """Return the error about a row. Since quoted fields may hold line ends, its line is found by reading up to it."""
    text = data.decode()
    blank = len(text) - len(text.lstrip("\r\n"))
    reader = csv.reader(io.StringIO(text[blank:], newline=""), delimiter=SEPARATORS[source.format])
    rows = list(islice(reader, row))
    begun = reader.line_num if rows else 0
    number = begun + 1 + text.count("\n", 0, blank)
    return source.line_error(number, expected, _line(text, number))


def _parse_error(data: bytes, source: Source) -> FileFormatError:
    """Return the error about the first row that Polars cannot parse: too long, or with a stray quote."""
    text = data.decode()
    separator = SEPARATORS[source.format]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    number, width = 1, 0
    try:
        for fields in reader:
            width = width or len(fields)
            if len(fields) > width:
                return source.line_error(number, f"{width} fields, as in the first line", _line(text, number))
            number = reader.line_num + 1
    except csv.Error:
        pass
    expected = "fields in which quotes stand in pairs, around the whole field"
    return source.line_error(number, expected, _line(text, number))


def _line(text: str, number: int) -> str:
    return text.split("\n")[number - 1].rstrip("\r")
