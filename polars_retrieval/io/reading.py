"""The readers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from polars.exceptions import PolarsError

from polars_retrieval.errors import ColumnError, FileFormatError
from polars_retrieval.io import delimited, nested, trec
from polars_retrieval.io.objects import from_object
from polars_retrieval.io.sources import Format, Source, find_sources, is_source
from polars_retrieval.io.tables import QRELS, RUN, Table
from polars_retrieval.names import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

_READERS = {
    "trec": trec.read,
    "csv": delimited.read,
    "tsv": delimited.read,
    "json": nested.read,
    "ndjson": nested.read_lines,
}


def read_run(source: Any, *, format: Format | None = None) -> pl.DataFrame:  # noqa: A002 (the word that everybody uses)
    r"""Read what a system retrieved.

    Parameters
    ----------
    source
        A path, a glob such as ``"runs/*.trec"``, a binary file object such as ``sys.stdin.buffer``, or a list of
        these; their rows follow one another. Or a Python object: a dict ``{query: {document: score}}``, named tuples
        with ``query_id``, ``doc_id`` and ``score`` (ScoredDoc of ir_measures and ir_datasets), a Run of ranx, or a
        frame of Polars, pandas, PyArrow or whatever else exports an Arrow C stream.
    format
        ``"trec"``, ``"csv"``, ``"tsv"``, ``"json"``, ``"ndjson"``, ``"parquet"`` or ``"ipc"``. By default the name
        tells: ``.csv``, ``.tsv``, ``.json``, ``.ndjson`` and ``.jsonl``, ``.parquet``, ``.arrow``, ``.feather`` and
        ``.ipc``, each text format also with ``.gz`` or ``.zst`` after it; any other is TREC's text format.

    Returns
    -------
    DataFrame
        `query_id`, `doc_id`, `score` (Float64) and, where the file has one, `run_id` (the tag). Ids from text files
        are strings, whatever they look like. Further columns of CSV and typed files follow.

    Examples
    --------
    >>> import io
    >>> import polars_retrieval as pr
    >>> pr.read_run(io.BytesIO(b"q1 Q0 d7 1 13.5 bm25\nq1 Q0 d2 2 9.25 bm25\n"))
    shape: (2, 4)
    ┌──────────┬────────┬───────┬────────┐
    │ query_id ┆ doc_id ┆ score ┆ run_id │
    │ ---      ┆ ---    ┆ ---   ┆ ---    │
    │ str      ┆ str    ┆ f64   ┆ str    │
    ╞══════════╪════════╪═══════╪════════╡
    │ q1       ┆ d7     ┆ 13.5  ┆ bm25   │
    │ q1       ┆ d2     ┆ 9.25  ┆ bm25   │
    └──────────┴────────┴───────┴────────┘
    """
    return _read(source, RUN, format)


def read_compact_run(source: Any) -> pl.DataFrame:
    """Read what a system retrieved, the query ids of TREC's format as categoricals; see `read_run`."""
    return _read(source, RUN, None, compact=True)


def read_qrels(source: Any, *, format: Format | None = None) -> pl.DataFrame:  # noqa: A002
    """Read what was judged.

    Parameters
    ----------
    source
        As for `read_run`; a dict is ``{query: {document: grade}}``, named tuples have ``query_id``, ``doc_id`` and
        ``relevance`` (Qrel of ir_measures, TrecQrel of ir_datasets).
    format
        As for `read_run`.

    Returns
    -------
    DataFrame
        `query_id`, `doc_id` and `relevance` (Int64; a typed file's floats stay floats). A third column that BEIR
        calls ``score`` is the relevance.

    Examples
    --------
    >>> import polars_retrieval as pr
    >>> pr.read_qrels({"q1": {"d7": 2, "d2": 0}})
    shape: (2, 3)
    ┌──────────┬────────┬───────────┐
    │ query_id ┆ doc_id ┆ relevance │
    │ ---      ┆ ---    ┆ ---       │
    │ str      ┆ str    ┆ i64       │
    ╞══════════╪════════╪═══════════╡
    │ q1       ┆ d7     ┆ 2         │
    │ q1       ┆ d2     ┆ 0         │
    └──────────┴────────┴───────────┘
    """
    return _read(source, QRELS, format)


def scan_run(source: Any, *, format: Format | None = None) -> pl.LazyFrame:  # noqa: A002
    """Read what a system retrieved once it is asked for.

    Parameters
    ----------
    source, format
        As for `read_run`. Of Parquet and Arrow files only the columns and rows that are needed are read; text files
        are read whole when the frame is collected, but a file object at once.

    Returns
    -------
    LazyFrame
        What `read_run` returns.

    Examples
    --------
    >>> import polars_retrieval as pr
    >>> pr.scan_run({"q1": {"d7": 13.5, "d2": 9.25}}).select("score").sum().collect()
    shape: (1, 1)
    ┌───────┐
    │ score │
    │ ---   │
    │ f64   │
    ╞═══════╡
    │ 22.75 │
    └───────┘
    """
    return _scan(source, RUN, format)


def scan_qrels(source: Any, *, format: Format | None = None) -> pl.LazyFrame:  # noqa: A002
    """Read what was judged once it is asked for.

    Parameters
    ----------
    source, format
        As for `scan_run` and `read_qrels`.

    Returns
    -------
    LazyFrame
        What `read_qrels` returns.

    Examples
    --------
    >>> import polars_retrieval as pr
    >>> pr.scan_qrels({"q1": {"d7": 2, "d2": 0}}).select("relevance").max().collect()
    shape: (1, 1)
    ┌───────────┐
    │ relevance │
    │ ---       │
    │ i64       │
    ╞═══════════╡
    │ 2         │
    └───────────┘
    """
    return _scan(source, QRELS, format)


def _read(given: Any, table: Table, form: Format | None, *, compact: bool = False) -> pl.DataFrame:
    if not is_source(given):
        return from_object(given, table).lazy().collect()
    sources = find_sources(given, form)
    frames = [_read_one(source, table, compact=compact) for source in sources]
    _check_same_columns([frame.schema for frame in frames], sources)
    return pl.concat(frames)


def _read_one(source: Source, table: Table, *, compact: bool = False) -> pl.DataFrame:
    if compact and source.format == "trec":
        return trec.read(source, table, compact=True)
    if source.format in _READERS:
        return _READERS[source.format](source, table)
    try:
        return _scan_typed(source, table).collect()
    except PolarsError as error:
        raise _typed_error(source, error) from error


def _scan(given: Any, table: Table, form: Format | None) -> pl.LazyFrame:
    if not is_source(given):
        return from_object(given, table).lazy()
    sources = find_sources(given, form)
    frames = [_scan_one(source, table) for source in sources]
    _check_same_columns([frame.collect_schema() for frame in frames], sources)
    return pl.concat(frames)


def _scan_one(source: Source, table: Table) -> pl.LazyFrame:
    if source.format not in _READERS:
        return _scan_typed(source, table)
    if source.path is None:  # it cannot be read twice
        return _read_one(source, table).lazy()
    return pl.defer(lambda: _read_one(source, table), schema=_schema(source, table))


def _schema(source: Source, table: Table) -> Mapping[str, type[pl.DataType]]:
    """Return the columns that a text file will give."""
    if source.format in delimited.SEPARATORS:
        return delimited.columns(source, table)
    if source.format == "ndjson":
        return nested.columns_of_lines(source, table)
    names = table.required if source.format == "json" else table.columns
    return {name: table.schema()[name] for name in names}


def _scan_typed(source: Source, table: Table) -> pl.LazyFrame:
    scan = pl.scan_parquet if source.format == "parquet" else pl.scan_ipc
    try:
        given = source.path if source.path is not None else source.read()
        return table.standardise(scan(given))
    except ColumnError as error:
        msg = f"holds no {table.name}: {error}"
        raise source.error(msg) from error
    except PolarsError as error:
        raise _typed_error(source, error) from error


def _typed_error(source: Source, error: PolarsError) -> FileFormatError:
    reason = str(error).partition("\n")[0]
    return source.error(f"cannot be read as {source.format}: {reason}")


def _check_same_columns(schemas: list[pl.Schema], sources: list[Source]) -> None:
    for schema, source in zip(schemas, sources, strict=True):
        if schema != schemas[0]:
            msg = (
                f"has other columns than {sources[0].name}: {quoted(schema)} of {quoted(schema.values())}, "
                f"not {quoted(schemas[0])} of {quoted(schemas[0].values())}"
            )
            raise source.error(msg)
