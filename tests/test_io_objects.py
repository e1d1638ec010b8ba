"""Runs and judgments that are Python objects."""

from typing import NamedTuple

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import polars_retrieval as pr
from polars_retrieval.errors import ColumnError, DataError


class ScoredDoc(NamedTuple):
    query_id: str
    doc_id: str
    score: float


class Qrel(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int
    iteration: str


RUN = pl.DataFrame({"query_id": ["q1", "q1", "q2"], "doc_id": ["a", "b", "a"], "score": [2.5, 1.0, 0.0]})
QRELS = pl.DataFrame({"query_id": ["q1", "q1", "q2"], "doc_id": ["a", "b", "a"], "relevance": [2, 0, -1]})


def nested(frame):
    return {
        query: dict(rows[["doc_id", frame.columns[2]]].rows())
        for (query,), rows in frame.group_by("query_id", maintain_order=True)
    }


@pytest.mark.parametrize(
    "given",
    [
        nested(RUN),
        [ScoredDoc(*row) for row in RUN.iter_rows()],
        tuple(ScoredDoc(*row) for row in RUN.iter_rows()),
        RUN,
        RUN.to_arrow(),
        RUN.rename({"query_id": "qid", "doc_id": "docno"}),
        RUN.with_columns(pl.col("score").cast(pl.Float32)),
        RUN.select("score", "query_id", "doc_id"),
    ],
    ids=["dict", "list", "tuple", "frame", "arrow", "renamed", "float32", "order"],
)
def test_runs(given):
    assert_frame_equal(pr.read_run(given), RUN)
    assert_frame_equal(pr.scan_run(given).collect(), RUN)


@pytest.mark.parametrize(
    "given",
    [
        nested(QRELS),
        [Qrel(*row, "0") for row in QRELS.iter_rows()],
        QRELS,
        QRELS.to_arrow(),
        QRELS.with_columns(pl.col("relevance").cast(pl.Int8)),
        QRELS.rename({"query_id": "query-id", "doc_id": "corpus-id", "relevance": "score"}),
    ],
    ids=["dict", "list", "frame", "arrow", "int8", "BEIR"],
)
def test_judgments(given):
    assert_frame_equal(pr.read_qrels(given), QRELS)
    assert_frame_equal(pr.scan_qrels(given).collect(), QRELS)


def test_generators_and_readers():
    assert_frame_equal(pr.read_run(ScoredDoc(*row) for row in RUN.iter_rows()), RUN)
    reader = pa.RecordBatchReader.from_batches(RUN.to_arrow().schema, RUN.to_arrow().to_batches())
    assert_frame_equal(pr.read_run(reader), RUN)


def test_pandas():
    pytest.importorskip("pandas")
    assert_frame_equal(pr.read_run(RUN.to_pandas()), RUN)


def test_lazy_frames():
    assert_frame_equal(pr.read_run(RUN.lazy()), RUN)
    assert isinstance(pr.scan_run(RUN.lazy()), pl.LazyFrame)


def test_ranx():
    ranx = pytest.importorskip("ranx")
    run, qrels = ranx.Run(nested(RUN), name="bm25"), ranx.Qrels({"q1": {"a": 2, "b": 1}})
    assert_frame_equal(pr.read_run(run), RUN.with_columns(run_id=pl.lit("bm25")), check_row_order=False)
    assert sorted(pr.read_qrels(qrels).rows()) == [("q1", "a", 2), ("q1", "b", 1)]


def test_integer_ids_stay_integers():
    assert pr.read_run({7: {12: 1}}).rows() == [(7, 12, 1.0)]


def test_queries_without_documents_have_no_row():
    assert pr.read_run({"q1": {}, "q2": {"d": 1}, "q3": {}}).rows() == [("q2", "d", 1.0)]


@pytest.mark.parametrize("given", [{}, RUN.head(0)])
def test_nothing(given):
    run = pr.read_run(given)
    assert run.schema == RUN.schema
    assert not run.height


def test_same_values_from_files_and_objects(tmp_path):
    case = {"A1": {"x": 0.66, "y": 0.41}, "A2": {"z": 0.83, "x": 0.52}}
    judged = {"A1": {"x": 0, "y": 1}, "A2": {"x": 0, "z": 3}}
    for name in ("", "run.trec", "run.trec.gz", "run.trec.zst", "run.parquet", "run.csv", "run.json", "run.jsonl"):
        if name:
            pr.write_run(case, tmp_path / name)
        run = pr.scan_run(tmp_path / name) if name else pr.scan_run(case)
        for _ in range(2):
            values = pr.evaluate(run, ["RR@10", "recall@1000"], qrels=pr.read_qrels(judged)).collect().row(0)
            assert values == ((1 / 2 + 1) / 2, 1.0)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"q1": 3}, DataError, "'q1' has 3"),
        ({"q1": {"d": "high"}}, DataError, "`score` has to be a score"),
        ({"q1": {"d": None}}, DataError, "got None"),
        ({"q1": {"d": 1.0, "e": float("nan")}}, DataError, "got nan"),
        ({"q1": {"d": 1.0}, 2: {"d": 1.0}}, DataError, "`query_id` has to be a string or an integer"),
        ([("q1", "d", 1.0)], ColumnError, "item 0 is"),
        ([ScoredDoc("q", "d", 1), 3], ColumnError, "item 1 is 3"),
        (3, ColumnError, "got int"),
        ([], ColumnError, "is empty: expected at least one file"),
        (iter(()), ColumnError, "is empty: expected at least one file"),
        (None, ColumnError, "got NoneType"),
        (pl.DataFrame({"query_id": ["q"], "score": [1.0]}), ColumnError, "no column `doc_id`"),
        (pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": ["x"]}), ColumnError, "of type String"),
        (
            pl.DataFrame({"Query-ID": ["q"], "query_id": ["q"], "doc_id": ["d"], "score": [1]}),
            ColumnError,
            "several columns",
        ),
    ],
)
def test_what_is_no_run(given, error, message):
    with pytest.raises(error, match=message):
        pr.read_run(given)


@pytest.mark.parametrize("grade", [1.0, "1", None, 2**64])
def test_what_is_no_grade(grade):
    with pytest.raises(DataError, match="`relevance` has to be a grade, which is an integer"):
        pr.read_qrels({"q1": {"d": grade}})
