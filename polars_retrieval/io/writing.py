"""The writers."""

from __future__ import annotations

import gzip
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_retrieval import frames
from polars_retrieval.columns import check_no_nulls
from polars_retrieval.errors import DataError
from polars_retrieval.io.delimited import SEPARATORS
from polars_retrieval.io.objects import from_object
from polars_retrieval.io.sources import Format, compression_of, format_of
from polars_retrieval.io.tables import DOC, QRELS, QUERY, RUN, RUN_ID, Table
from polars_retrieval.options import check_choice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike

    Write = Callable[[Any], object]


def write_run(
    run: Any,
    path: str | PathLike[str] | Any,
    *,
    format: Format | None = None,  # noqa: A002 (the word that everybody uses)
    tag: str = "run",
) -> None:
    """Write what a system retrieved to a file.

    Parameters
    ----------
    run
        A frame with `query_id`, `doc_id`, `score` and perhaps `run_id`, or another object that `read_run` takes.
    path
        Where to; a binary file object is written in TREC's format unless ``format`` is given.
    format
        As for `read_run`: by default the suffix of the name tells, with ``.gz`` or ``.zst`` after it to compress.
    tag
        TREC's format asks for a tag in each line: this one, if the run has no `run_id`.

    Raises
    ------
    DataError
        For scores that are null or NaN, and for ids that the format cannot hold, such as one with a blank in TREC's.

    Examples
    --------
    >>> import io
    >>> import polars_retrieval as pr
    >>> file = io.BytesIO()
    >>> pr.write_run({"q1": {"d2": 9.25, "d7": 13.5}}, file, tag="bm25")
    >>> print(file.getvalue().decode())
    q1 Q0 d2 2 9.25 bm25
    q1 Q0 d7 1 13.5 bm25
    """
    frame = _checked(run, RUN)
    form = _format(path, format)
    if form == "trec" and RUN_ID not in frame.columns:
        frame = frame.with_columns(pl.lit(tag).alias(RUN_ID))
    _write(frame, path, RUN, form)


def write_qrels(
    qrels: Any,
    path: str | PathLike[str] | Any,
    *,
    format: Format | None = None,  # noqa: A002
) -> None:
    """Write judgments to a file.

    Parameters
    ----------
    qrels
        A frame with `query_id`, `doc_id` and `relevance`, or another object that `read_qrels` takes.
    path, format
        As for `write_run`.

    Raises
    ------
    DataError
        For grades that are null, and for ids that the format cannot hold.

    Examples
    --------
    >>> import io
    >>> import polars_retrieval as pr
    >>> file = io.BytesIO()
    >>> pr.write_qrels({"q1": {"d7": 2, "d2": 0}}, file)
    >>> print(file.getvalue().decode())
    q1 0 d7 2
    q1 0 d2 0
    """
    _write(_checked(qrels, QRELS), path, QRELS, _format(path, format))


def _checked(given: Any, table: Table) -> pl.DataFrame:
    frame = from_object(given, table).lazy().collect()
    known = [name for name in table.columns if name in frame.columns]
    check_no_nulls(frame, known, f"a {table.name} with nulls cannot be written")
    if frame[table.value].dtype.is_float() and (nan := frame[table.value].is_nan()).any():
        msg = f"column `{table.value}` has {nan.sum()} NaN, the first in row {nan.arg_max()}; none can be written"
        raise DataError(msg)
    return frame


def _format(path: Any, form: Format | None) -> Format:
    if form is not None:
        check_choice("format", form, Format)
        return form
    return "trec" if hasattr(path, "write") else format_of(Path(path).name)


def _write(frame: pl.DataFrame, path: Any, table: Table, form: Format) -> None:
    write = _WRITERS[form](frame, table)  # raises before the file is made
    with _opened(path, form) as file:
        write(file)


@contextmanager
def _opened(path: Any, form: Format) -> Iterator[Any]:
    """Open for writing, compressed if the name says so."""
    if hasattr(path, "write"):
        yield path
        return
    compression = None if form in ("parquet", "ipc") else compression_of(Path(path).name)
    with Path(path).open("wb") as file:
        if compression == "gz":  # without name and time, so that the same run gives the same bytes
            with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as compressed:
                yield compressed
        elif compression == "zst":
            import pyarrow as pa

            with pa.CompressedOutputStream(pa.PythonFile(file, mode="w"), "zstd") as compressed:
                yield compressed
        else:
            yield file


def _trec(frame: pl.DataFrame, table: Table) -> Write:
    fields = _trec_fields(frame, table)
    return lambda file: fields.write_csv(file, separator=" ", include_header=False, quote_style="never")


def _trec_fields(frame: pl.DataFrame, table: Table) -> pl.DataFrame:
    ids = [name for name in (QUERY, DOC, RUN_ID) if name in table.columns]
    frame = frame.with_columns(pl.col(ids).cast(pl.String))
    for name in ids:
        _check_ids(frame, name, r"[\t-\r \x00]|^$", "is empty or has a blank, which ends a field in TREC's format")
    _check_ids(frame, QUERY, "^#", "begins with `#`, which makes its line a comment in TREC's format")
    if table.value == "relevance":
        _check_integers(frame, table)
        return frame.select(QUERY, pl.lit("0").alias("iteration"), DOC, table.value)
    ranks = frames.rank(frame.select(*ids, "score", pl.lit(0).alias("relevance")), by=RUN_ID)["rank"]
    return frame.with_columns(ranks, pl.lit("Q0").alias("iteration")).select(table.fields)


def _check_ids(frame: pl.DataFrame, name: str, pattern: str, why: str) -> None:
    wrong = frame.filter(pl.col(name).str.contains(pattern))
    if wrong.height:
        msg = (
            f"column `{name}` has {wrong.height} ids that cannot be written; the first, {wrong.item(0, name)!r}, {why}"
        )
        raise DataError(msg)


def _check_integers(frame: pl.DataFrame, table: Table) -> None:
    if frame[table.value].dtype.is_float():
        msg = f"column `{table.value}` is of type {frame[table.value].dtype}; grades in text files are integers"
        raise DataError(msg)


def _separated(separator: str) -> Callable[[pl.DataFrame, Table], Write]:
    def prepare(frame: pl.DataFrame, table: Table) -> Write:
        _check_text(frame, table)
        return lambda file: frame.write_csv(file, separator=separator)

    return prepare


def _check_text(frame: pl.DataFrame, table: Table) -> None:
    for name in (QUERY, DOC, RUN_ID):
        if name in frame.columns:
            ids = frame.select(pl.col(name).cast(pl.String))
            _check_ids(ids, name, r"^$|\x00", "is empty or has a byte 0")
    if table.value == "relevance":
        _check_integers(frame, table)


def _json(frame: pl.DataFrame, table: Table) -> Write:
    """Write {query: {document: number}}, as Python's json would: infinite scores are `Infinity`."""
    _check_text(frame, table)
    _check_one_run(frame)
    if frame.select(QUERY, DOC).is_duplicated().any():
        twice = frame.filter(frame.select(QUERY, DOC).is_duplicated()).row(0, named=True)
        msg = f"a document can come once in a query of a JSON object, but {twice[QUERY]!r} has {twice[DOC]!r} twice"
        raise DataError(msg)
    number = pl.col(table.value).cast(pl.String).str.replace("inf", "Infinity")
    docs = pl.concat_str(_json_string(DOC), number, separator=": ").alias("docs")
    queries = (
        frame.select(_json_string(QUERY), docs).group_by(QUERY, maintain_order=True).agg(pl.col("docs").str.join(", "))
    )
    objects = queries.select(pl.format("{}: {{{}}}", QUERY, "docs")).to_series().to_list()
    return lambda file: file.write(f"{{{', '.join(objects)}}}\n".encode())


def _check_one_run(frame: pl.DataFrame) -> None:
    if RUN_ID in frame.columns and (n := frame[RUN_ID].n_unique()) > 1:
        msg = f"column `{RUN_ID}` names {n} runs, and JSON's nested form has room for one\n\nHint: use NDJSON or CSV."
        raise DataError(msg)


def _json_string(name: str) -> pl.Expr:
    """Return ids as JSON strings: encoded as {"": "..."}, of which the frame is dropped."""
    encoded = pl.struct(pl.col(name).cast(pl.String).alias("")).struct.json_encode()
    return encoded.str.strip_prefix('{"":').str.head(-1).alias(name)


def _ndjson(frame: pl.DataFrame, table: Table) -> Write:
    _check_text(frame, table)
    values = frame[table.value]
    if values.dtype.is_float() and values.is_infinite().any():
        msg = f"column `{table.value}` has infinite values, for which NDJSON has no number"
        raise DataError(msg)
    return frame.write_ndjson


_WRITERS: dict[Format, Callable[[pl.DataFrame, Table], Write]] = {
    "trec": _trec,
    "csv": _separated(SEPARATORS["csv"]),
    "tsv": _separated(SEPARATORS["tsv"]),
    "json": _json,
    "ndjson": _ndjson,
    "parquet": lambda frame, _: frame.write_parquet,
    "ipc": lambda frame, _: frame.write_ipc,
}
"""For each format, what checks and prepares a table, and returns a function that writes it to an open file."""
