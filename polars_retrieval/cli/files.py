"""Runs and judgments from files, and ranked lists from these."""

from __future__ import annotations

import sys
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

import polars_retrieval as pr
from polars_retrieval.cli.output import clear_line, note
from polars_retrieval.errors import ColumnError, DataError, ParameterError, RetrievalWarning
from polars_retrieval.io.reading import read_compact_run

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

STDIN = "-"


@dataclass(frozen=True)
class Run:
    """A run: the file that it comes from, its tag, and its rows."""

    path: str
    tag: str
    rows: pl.DataFrame


def source(path: str) -> Any:
    """Return what to read: a path, or standard input."""
    return sys.stdin.buffer if path == STDIN else path


def check_paths(paths: Sequence[str]) -> None:
    """Raise if a file is given twice: standard input cannot be read twice, nor two runs of one name be told apart."""
    if twice := [path for path in paths if paths.count(path) > 1]:
        msg = f"a file can be given once, but {twice[0]} was given {paths.count(twice[0])} times"
        raise ParameterError(msg)


def read_qrels(path: str) -> pl.DataFrame:
    """Read judgments."""
    return _with_text_ids(pr.read_qrels(source(path)))


def read_runs(paths: Sequence[str]) -> Iterator[Run]:
    """Read runs one after another, so that one is held at a time; a file has as many runs as it has tags."""
    for number, path in enumerate(paths, start=1):
        with _progress(f"run {number} of {len(paths)}: {path}", shown=len(paths) > 1):
            yield from _runs_of(path, _with_text_ids(read_compact_run(source(path))))


def _runs_of(path: str, rows: pl.DataFrame) -> Iterator[Run]:
    if not rows.height:
        msg = f"{path} holds no document"
        raise DataError(msg)
    if "run_id" not in rows.columns:
        yield Run(path, path, rows)
        return
    rows = rows.with_columns(pl.col("run_id").fill_null(path))
    n_tags = rows.select(pl.col("run_id").n_unique()).item()
    for part in rows.partition_by("run_id", maintain_order=True) if n_tags > 1 else [rows]:
        yield Run(path, part.select(pl.col("run_id").first()).item(), part.drop("run_id"))


def _with_text_ids(frame: pl.DataFrame) -> pl.DataFrame:
    # A Parquet file may hold integers as ids where the other file is text, and no option here could cast them.
    ids = [name for name, dtype in frame.schema.items() if name.endswith("_id") and dtype != pl.Categorical]
    return frame.with_columns(pl.col(ids).cast(pl.String))


@contextmanager
def _progress(text: str, *, shown: bool) -> Iterator[None]:
    """Show, while something is done, what it is, if a person watches."""
    if not shown or not sys.stderr.isatty():
        yield
        return
    sys.stderr.write(text)
    sys.stderr.flush()
    try:
        yield
    finally:
        sys.stderr.write(clear_line())


def labels(runs: Sequence[tuple[str, str]]) -> list[str]:
    """Name runs, of each the path and the tag, by their tags, or by their paths where tags are the same."""
    tags, paths = [tag for _, tag in runs], [path for path, _ in runs]
    if len(set(tags)) == len(tags):
        return tags
    return paths if len(set(paths)) == len(paths) else [f"{path}: {tag}" for path, tag in runs]


@dataclass(frozen=True)
class Evaluated:
    """What is ranked: a run's rows, the judgments that it is held against, and how."""

    path: str
    rows: pl.DataFrame
    qrels: pl.DataFrame
    options: dict[str, Any]

    @classmethod
    def of(cls, run: Run, qrels: pl.DataFrame, arguments: argparse.Namespace) -> Evaluated:
        """Take the documents and queries that count, and say on standard error which queries are left out."""
        rows = run.rows
        if arguments.depth:
            rows = _first_ranks(rows, qrels, arguments)
        options = {"ties": arguments.ties, "min_relevance": arguments.min_relevance}
        if arguments.judged_only:
            options["unjudged"] = "drop"
            judged = pl.col("relevance") >= 0  # trec_eval takes a negative grade for no judgment
            qrels = qrels.with_columns(pl.when(judged).then("relevance"))
        return cls(run.path, rows, _of_queries(qrels, rows, run, every=arguments.all_queries), options)

    def lists(self) -> pr.RankedLists:
        """Rank the documents."""
        with notes(self.path):
            try:
                return pr.RankedLists(self.rows, qrels=self.qrels, **self.options)
            except (ColumnError, DataError) as error:
                msg = f"{self.path}: {error}"
                raise type(error)(msg) from error

    def ranks(self) -> pl.DataFrame:
        """Return the rank of each document, and how many relevant ones stand down to it.

        With ``expected``, which gives no ranks, any order will do where no measure refused that rule.
        """
        ties = "doc_id" if self.options["ties"] == "expected" else self.options["ties"]
        return pr.rank(self.rows, qrels=self.qrels, **{**self.options, "ties": ties})


def _first_ranks(rows: pl.DataFrame, qrels: pl.DataFrame, arguments: argparse.Namespace) -> pl.DataFrame:
    if arguments.ties == "expected":
        msg = (
            '`-M` cuts lists by ranks, and with "expected" tied documents have none of their own: choose other `--ties`'
        )
        raise ParameterError(msg)
    ranked = pr.rank(rows, qrels=qrels, ties=arguments.ties, min_relevance=arguments.min_relevance)
    return ranked.filter(pl.col("rank") <= arguments.depth).select(rows.columns)


def _of_queries(qrels: pl.DataFrame, rows: pl.DataFrame, run: Run, *, every: bool) -> pl.DataFrame:
    """Keep the judgments of the run's queries, or of every query."""
    if every:
        return qrels
    retrieved = rows.filter(pl.col("score").is_not_null()).select(pl.col("query_id").unique().cast(pl.String))
    kept = qrels.join(retrieved, on="query_id", how="semi", maintain_order="left")
    if not kept.height:
        judged = f"the judged ones are such as {qrels['query_id'][0]!r}" if qrels.height else "there are no judgments"
        msg = f"no query of {run.path} has judgments: its first is {rows['query_id'][0]!r}, and {judged}"
        raise DataError(msg)
    if missing := qrels["query_id"].n_unique() - kept["query_id"].n_unique():
        note(f"{run.path}: {missing} judged queries are not in the run and left out; -c counts them as 0")
    return kept


@contextmanager
def notes(path: str) -> Iterator[None]:
    """Turn warnings into lines on standard error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RetrievalWarning)
        yield
    for warning in caught:
        note(f"{path}: {warning.message}")
