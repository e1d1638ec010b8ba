"""JSON: dicts of dicts, as pytrec_eval and ranx write them, a list of objects, or one object on each line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.exceptions import PolarsError

from polars_retrieval.errors import DataError, FileFormatError
from polars_retrieval.io.objects import from_nested
from polars_retrieval.io.text import as_utf8, check_is_text, without_bom
from polars_retrieval.names import quoted

if TYPE_CHECKING:
    from polars_retrieval.io.sources import Source
    from polars_retrieval.io.tables import Table


def read(source: Source, table: Table) -> pl.DataFrame:
    """Read one JSON value: {query: {document: number}}."""
    text = _text(source)
    try:
        data = json.loads(text, object_pairs_hook=_without_duplicates)
    except json.JSONDecodeError as error:
        line = text.split("\n")[error.lineno - 1]
        raise source.line_error(error.lineno, f"JSON ({error.msg})", line) from error
    except DataError as error:
        msg = f"has a key twice in one object: {error}"
        raise source.error(msg) from error
    if not isinstance(data, dict) or not all(isinstance(docs, dict) for docs in data.values()):
        msg = f"holds other JSON than {{query id: {{document id: {table.value}}}}}"
        raise source.error(msg)
    if not data:
        raise source.empty()
    try:
        frame = from_nested(data, table)
    except DataError as error:
        msg = f"holds something else than {table.number}: {error}"
        raise source.error(msg) from error
    return frame


def read_lines(source: Source, table: Table) -> pl.DataFrame:
    """Read one JSON object from each line; the table's own columns only."""
    text = _text(source)
    found = table.find_columns(_keys(text, source))
    if missing := [name for name in table.required if name not in found]:
        raise source.line_error(_first(text), f"an object with {quoted(missing)}", text.split("\n")[_first(text) - 1])
    try:
        frame = pl.read_ndjson(text.encode(), schema=dict.fromkeys(found.values(), pl.String))
    except PolarsError as error:
        raise _line_error(text, source) from error
    fields = frame.select(pl.col(name).alias(column) for column, name in found.items())
    if problem := table.first_problem(fields):
        row, expected = problem
        lines = pl.DataFrame({"line": text.split("\n")}).with_row_index("number", 1)
        line = lines.filter(pl.col("line").str.strip_chars() != "").row(row, named=True)
        raise source.line_error(line["number"], expected, line["line"])
    return table.to_numbers(fields)


def columns_of_lines(source: Source, table: Table) -> dict[str, type[pl.DataType]]:
    """Return the columns that reading the lines will give, and their types, from the first of them."""
    found = table.find_columns(_keys(_text(source), source))
    return {name: dtype for name, dtype in table.schema().items() if name in found}


def _text(source: Source) -> str:
    data = source.read()
    check_is_text(data, source)
    return as_utf8(without_bom(data)).decode()


def _first(text: str) -> int:
    """Return the number of the first line that is not blank."""
    return text[: len(text) - len(text.lstrip())].count("\n") + 1


def _keys(text: str, source: Source) -> list[str]:
    line = text.lstrip().partition("\n")[0]
    try:
        first = json.loads(line)
    except json.JSONDecodeError:
        first = None
    if not isinstance(first, dict):
        raise source.line_error(_first(text), _AN_OBJECT, line)
    return [*first]


_AN_OBJECT = "a JSON object in one line"


def _line_error(text: str, source: Source) -> FileFormatError:
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            found = json.loads(line) if line.strip() else {}
        except json.JSONDecodeError:
            found = None
        if not isinstance(found, dict):
            return source.line_error(number, _AN_OBJECT, line)
    return source.error("holds other JSON than one object a line")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse what a dict would drop without a word."""
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise DataError(repr(twice))
    return made
