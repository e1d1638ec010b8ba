"""CSV, JSON, Parquet and Arrow files: what is read, what is refused, and that everything written comes back."""

import gzip
import io
import json
import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import polars_retrieval as pr
from polars_retrieval.errors import ColumnError, DataError, FileFormatError

RUN_ROWS = [("q1", "d7", 13.5), ("q1", "d2", 9.25), ("7", "007", -1.0)]
QRELS_ROWS = [("q1", "d7", 2), ("q1", "d2", 0), ("7", "007", -1)]


def run_of(text, form):
    return pr.read_run(io.BytesIO(text.encode()), format=form)


def qrels_of(text, form):
    return pr.read_qrels(io.BytesIO(text.encode()), format=form)


def lines_of(rows, separator=",", header=None):
    lines = [separator.join(map(str, row)) for row in rows]
    return "\n".join([header] * (header is not None) + lines) + "\n"


class TestSeparated:
    @pytest.mark.parametrize(
        "header", [None, "query_id,doc_id,score", "qid,docno,sim", "query-id,corpus-id,score", "Topic,DocID,Score"]
    )
    def test_header(self, header):
        run = run_of(lines_of(RUN_ROWS, header=header), "csv")
        assert run.schema == {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
        assert run.rows() == RUN_ROWS

    @pytest.mark.parametrize("header", [None, "query_id\tdoc_id\trelevance", "query-id\tcorpus-id\tscore"])
    def test_judgments(self, header):
        qrels = qrels_of(lines_of(QRELS_ROWS, "\t", header), "tsv")
        assert qrels.schema == {"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Int64}
        assert qrels.rows() == QRELS_ROWS

    def test_trec_fields_without_header(self):
        assert qrels_of("q1\t0\td7\t2\n", "tsv").rows() == [("q1", "d7", 2)]
        assert run_of("q1\tQ0\td7\t1\t13.5\tbm25\n", "tsv").rows() == [("q1", "d7", 13.5, "bm25")]
        assert run_of("q1,d7,13.5,bm25\n", "csv").rows() == [("q1", "d7", 13.5, "bm25")]

    def test_columns_in_any_order_and_more_of_them(self, tmp_path):
        text = "score,segment,doc_id,tag,query_id\n13.5,new,d7,bm25,q1\n"
        run = run_of(text, "csv")
        assert run.rows(named=True) == [
            {"query_id": "q1", "doc_id": "d7", "score": 13.5, "run_id": "bm25", "segment": "new"}
        ]
        (tmp_path / "run.csv").write_text(text)
        assert pr.scan_run(tmp_path / "run.csv").collect_schema() == run.schema
        assert_frame_equal(pr.scan_run(tmp_path / "run.csv").collect(), run)

    def test_quotes_blank_lines_and_windows_line_ends(self):
        text = '\r\nquery_id,doc_id,score\r\n\r\nq1,"a, ""b""\nc", 2.5 \r\n\r\n'
        assert run_of(text, "csv").rows() == [("q1", 'a, "b"\nc', 2.5)]

    def test_scan_of_a_compressed_file_with_blank_lines(self, tmp_path):
        (tmp_path / "run.tsv.gz").write_bytes(gzip.compress(b"\n" * 5000 + lines_of(RUN_ROWS, "\t").encode()))
        assert pr.scan_run(tmp_path / "run.tsv.gz").collect().rows() == RUN_ROWS
        (tmp_path / "one.tsv").write_bytes(b"q1\td7\t13.5")
        assert pr.scan_run(tmp_path / "one.tsv").collect().rows() == RUN_ROWS[:1]

    def test_latin1_and_byte_order_mark(self):
        assert pr.read_run(io.BytesIO("q,café,2\n".encode("latin-1")), format="csv")["doc_id"].item() == "café"
        assert pr.read_run(io.BytesIO("qid,docno,score\nq,d,2\n".encode("utf-8-sig")), format="csv").height == 1

    @pytest.mark.parametrize(
        ("text", "line_number", "expected"),
        [
            ("q1,d1\n", 1, "a header that names"),
            ("a,b,c\nq1,d1,2\n", 1, "a header that names"),
            ("query_id,doc_id\nq1,d1\n", 1, "a header that names"),
            ("qid,docno,score,x,x\nq1,d1,2,a,b\n", 1, "a header with different names"),
            ('q1,d1,2\nq1,"d"2,2\n', 2, "quotes"),
            ("q1,d1,2\nq1,d2,high\n", 2, "a score"),
            ("q1,d1,2\nq1,d2\n", 2, "a score"),
            ("q1,d1,2\nq1,,3\n", 2, "a document id"),
            ('q1,d1,2\n"",d2,3\n', 2, "a query id"),
            ("q1,d1,2\n\nq1,d2,nan\n", 3, "not NaN"),
            ("qid,docno,score\nq1,d1,2\nq1,d2,3,4\n", 3, "3 fields"),
            ('qid,docno,score\nq1,"d\n1",2\nq1,d2,x\n', 4, "a score"),
            ('qid,docno,score\nq1,"d1,2\n', 2, "quotes"),
            ("\n\nqid,docno,score,tag\nq1,d1,2,\n", 4, "a tag"),
        ],
    )
    def test_malformed_line(self, text, line_number, expected):
        with pytest.raises(FileFormatError, match=f"line {line_number}: expected .*{expected}") as raised:
            run_of(text, "csv")
        assert raised.value.line_number == line_number
        assert raised.value.line == text.split("\n")[line_number - 1]

    @pytest.mark.parametrize("grade", ["1.0", "x", "", "1e1"])
    def test_grades_are_integers(self, grade):
        with pytest.raises(FileFormatError, match="line 2: expected a grade, which is an integer"):
            qrels_of(f"query-id,corpus-id,score\nq1,d1,{grade}\n", "csv")

    @pytest.mark.parametrize("text", ["", "\n", "query_id,doc_id,score\n"])
    def test_empty(self, text):
        with pytest.raises(FileFormatError, match="is empty"):
            run_of(text, "csv")

    def test_binary(self):
        with pytest.raises(FileFormatError, match=r"line 2: .*binary"):
            run_of("q,d,2\nq,\0,2\n", "csv")


class TestJson:
    def test_nested(self):
        assert run_of('{"q1": {"d7": 13.5, "d2": 9}, "7": {"007": -1e0}}', "json").rows() == [
            ("q1", "d7", 13.5),
            ("q1", "d2", 9.0),
            ("7", "007", -1.0),
        ]
        assert qrels_of('{"q1": {"d7": 2}, "q2": {}, "q3": {"d7": 0}}', "json").rows() == [
            ("q1", "d7", 2),
            ("q3", "d7", 0),
        ]

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("", "is empty"),
            ("{}", "is empty"),
            ("[1]", "holds other JSON than"),
            ('{"q1": 3}', "holds other JSON than"),
            ('{"q1": {"d1": "high"}}', "a score"),
            ('{"q1": {"d1": null}}', "a score"),
            ('{"q1": {"d1": NaN}}', "a score"),
            ('{"q1": {"d1": 1, "d1": 2}}', "a key twice in one object: 'd1'"),
            ('{"q1": {},\n "q1": {"d1": 2}}', "a key twice in one object: 'q1'"),
            ('{"q1": {"d1": 1},\n"q2": {"d1" 2}}', "line 2: expected JSON"),
        ],
    )
    def test_malformed(self, text, expected):
        with pytest.raises(FileFormatError, match=re.escape(expected)):
            run_of(text, "json")

    @pytest.mark.parametrize("grade", ["1.5", "1.0", '"1"', "99999999999999999999"])
    def test_grades_are_integers(self, grade):
        with pytest.raises(FileFormatError, match="a grade, which is an integer"):
            qrels_of(f'{{"q1": {{"d1": {grade}}}}}', "json")


class TestJsonLines:
    def test_objects(self, tmp_path):
        text = '\n{"doc_id": 7, "qid": "q1", "score": 2, "x": 1}\n\n{"qid": 1, "doc_id": "d", "score": 1e-3}\n'
        run = run_of(text, "ndjson")
        assert run.rows() == [("q1", "7", 2.0), ("1", "d", 0.001)]
        (tmp_path / "run.jsonl").write_text(text)
        assert pr.scan_run(tmp_path / "run.jsonl").collect_schema() == run.schema
        assert_frame_equal(pr.scan_run(tmp_path / "run.jsonl").collect(), run)

    @pytest.mark.parametrize(
        ("text", "line_number", "expected"),
        [
            ("\nfoo\n", 2, "a JSON object"),
            ("[1, 2]\n", 1, "a JSON object"),
            ('{"qid": "q1", "score": 2}\n', 1, "an object with `doc_id`"),
            ('{"qid": "q1", "docno": "d", "score": 2}\n\n{"qid": "q1", "docno": "d"}\n', 3, "a score"),
            ('{"qid": "q1", "docno": "d", "score": 2}\n\n{"qid": "q1", "score": 2}\n', 3, "a document id"),
            ('{"qid": "q1", "docno": "d", "score": 2}\n{"qid": \n', 2, "a JSON object"),
        ],
    )
    def test_malformed_line(self, text, line_number, expected):
        with pytest.raises(FileFormatError, match=f"line {line_number}: expected {expected}") as raised:
            run_of(text, "ndjson")
        assert raised.value.line_number == line_number
        assert raised.value.line == text.split("\n")[line_number - 1]


class TestTyped:
    def test_types_stay_and_names_become_ours(self, tmp_path):
        table = pl.DataFrame(
            {"segment": ["a"], "q_id": [7], "docno": ["d"], "score": pl.Series([0.5], dtype=pl.Float32)}
        )
        files = [("run.parquet", "parquet", table.write_parquet), ("run.feather", "ipc", table.write_ipc)]
        for name, form, write in files:
            write(tmp_path / name)
            run = pr.read_run(tmp_path / name)
            assert run.schema == {"query_id": pl.Int64, "doc_id": pl.String, "score": pl.Float64, "segment": pl.String}
            assert run.rows() == [(7, "d", 0.5, "a")]
            assert_frame_equal(pr.scan_run(tmp_path / name).collect(), run)
            stream = io.BytesIO((tmp_path / name).read_bytes())
            assert_frame_equal(pr.read_run(stream, format=form), run)

    def test_scan_reads_the_columns_that_are_needed(self, tmp_path):
        pr.write_run({"q": {"d": 1.0}}, tmp_path / "run.parquet")
        plan = pr.scan_run(tmp_path / "run.parquet").select("score").explain()
        assert "PROJECT 1/3 COLUMNS" in plan

    @pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt32, pl.Boolean])
    def test_grades(self, tmp_path, dtype):
        pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "label": pl.Series([1]).cast(dtype)}).write_parquet(
            tmp_path / "x.pq"
        )
        assert pr.read_qrels(tmp_path / "x.pq").schema["relevance"] == pl.Int64

    def test_fractional_grades_stay(self, tmp_path):
        pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "relevance": [0.5]}).write_parquet(tmp_path / "x.pq")
        assert pr.read_qrels(tmp_path / "x.pq")["relevance"].item() == 0.5

    def test_a_run_is_no_judgments(self, tmp_path):
        pr.write_run({"q": {"d": 1.0}}, tmp_path / "run.parquet")
        with pytest.raises(FileFormatError, match=r"run.parquet holds no qrels: .* is it a run\?"):
            pr.read_qrels(tmp_path / "run.parquet")

    @pytest.mark.parametrize("read", [pr.read_run, pr.scan_run])
    def test_missing_column(self, tmp_path, read):
        pl.DataFrame({"query_id": ["q"], "doc_ids": ["d"], "score": [1.0]}).write_parquet(tmp_path / "x.parquet")
        with pytest.raises(FileFormatError, match=r"has no column `doc_id`.*(?s:.*)did you mean `doc_ids`"):
            read(tmp_path / "x.parquet")

    @pytest.mark.parametrize("name", ["x.parquet", "x.arrow"])
    def test_no_such_format(self, tmp_path, name):
        (tmp_path / name).write_text("q1 Q0 d 1 2.5 t\n")
        with pytest.raises(FileFormatError, match=r"x.* cannot be read as "):
            pr.read_run(tmp_path / name)

    def test_scores_that_are_text(self, tmp_path):
        pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": ["1.0"]}).write_parquet(tmp_path / "x.parquet")
        with pytest.raises(FileFormatError, match="`score` of the run is of type String"):
            pr.read_run(tmp_path / "x.parquet")


TREC = st.text(st.characters(exclude_characters="\t\n\v\f\r \0#", exclude_categories=["Cs"]), min_size=1, max_size=5)
ANY = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=5)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def runs(ids, scores, tags=None):
    pairs = st.lists(st.tuples(ids, ids), min_size=1, max_size=6, unique=True)
    columns = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64, "run_id": pl.String}

    def rows(draw_pairs):
        return st.tuples(*(st.tuples(st.just(q), st.just(d), scores, tags or ids) for q, d in draw_pairs))

    return pairs.flatmap(rows).map(lambda rows: pl.DataFrame(rows, schema=columns, orient="row"))


@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
class TestRoundTrips:
    @given(run=runs(TREC, st.floats(allow_nan=False)))
    def test_trec(self, tmp_path_factory, compression, run):
        check_round_trip(tmp_path_factory, f"run.trec{compression}", run)

    @pytest.mark.parametrize("form", ["csv", "tsv"])
    @given(run=runs(ANY, st.floats(allow_nan=False)))
    def test_separated(self, tmp_path_factory, compression, form, run):
        check_round_trip(tmp_path_factory, f"run.{form}{compression}", run)

    @given(run=runs(ANY, FINITE))
    def test_json_lines(self, tmp_path_factory, compression, run):
        check_round_trip(tmp_path_factory, f"run.jsonl{compression}", run)

    @given(run=runs(ANY, st.floats(allow_nan=False)))
    def test_json(self, tmp_path_factory, compression, run):
        run = run.drop("run_id")
        path = written(tmp_path_factory, f"run.json{compression}", run)
        in_blocks = run.group_by("query_id", maintain_order=True).agg(pl.all()).explode("doc_id", "score")
        assert_frame_equal(pr.read_run(path), in_blocks, check_exact=True)


@pytest.mark.parametrize("form", ["parquet", "arrow", "feather"])
@given(run=runs(st.text(st.characters(exclude_categories=["Cs"])), st.floats(allow_nan=False)))
def test_round_trip_typed(tmp_path_factory, form, run):
    check_round_trip(tmp_path_factory, f"run.{form}", run)


@pytest.mark.parametrize(
    "name", ["x.qrels", "x.txt.gz", "x.csv", "x.tsv.zst", "x.json", "x.jsonl", "x.parquet", "x.ipc"]
)
@given(grades=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5))
def test_round_trip_of_judgments(tmp_path_factory, name, grades):
    docs = [f"d{i}" for i in range(len(grades))]
    qrels = pl.DataFrame({"query_id": "q", "doc_id": docs, "relevance": grades})
    path = tmp_path_factory.mktemp("trip") / name
    pr.write_qrels(qrels, path)
    assert_frame_equal(pr.read_qrels(path), qrels)
    assert_frame_equal(pr.scan_qrels(path).collect(), qrels)


def written(tmp_path_factory, name, run):
    path = tmp_path_factory.mktemp("trip") / name
    pr.write_run(run, path)
    return path


def check_round_trip(tmp_path_factory, name, run):
    path = written(tmp_path_factory, name, run)
    assert_frame_equal(pr.read_run(path), run, check_exact=True)
    assert_frame_equal(pr.scan_run(path).collect(), run, check_exact=True)
    pr.write_run(pr.scan_run(path), path.with_name(f"again-{name}"))
    assert path.with_name(f"again-{name}").read_bytes() == path.read_bytes()


class TestWriting:
    def test_ranks(self):
        run = pl.DataFrame({"query_id": ["a", "b", "a", "a"], "doc_id": ["w", "x", "y", "z"], "score": [1.0, 5, 3, 1]})
        file = io.BytesIO()
        pr.write_run(run, file, tag="t")
        assert file.getvalue() == b"a Q0 w 2 1.0 t\nb Q0 x 1 5.0 t\na Q0 y 1 3.0 t\na Q0 z 3 1.0 t\n"

    def test_ranks_of_several_runs(self):
        run = pl.DataFrame({"query_id": "a", "doc_id": "w", "score": [1.0, 5.0], "run_id": ["r", "s"]})
        file = io.BytesIO()
        pr.write_run(run, file)
        assert file.getvalue() == b"a Q0 w 1 1.0 r\na Q0 w 1 5.0 s\n"

    def test_integer_ids(self):
        file = io.BytesIO()
        pr.write_qrels({7: {12: 1}}, file)
        assert file.getvalue() == b"7 0 12 1\n"

    def test_json_is_what_python_reads(self):
        file = io.BytesIO()
        scores = {'q"1': {"d\\": 0.1, "é": float("inf")}, "q2": {"{}": -float("inf")}}
        pr.write_run(scores, file, format="json")
        assert json.loads(file.getvalue()) == scores

    @pytest.mark.parametrize("form", ["trec", "csv", "json", "ndjson", "parquet", "ipc"])
    @pytest.mark.parametrize(
        ("score", "message"), [(None, "`score` has 1 nulls, the first in row 1"), (float("nan"), "1 NaN.* row 1")]
    )
    def test_scores_that_are_none(self, form, score, message):
        run = pl.DataFrame({"query_id": "q", "doc_id": ["d", "e"], "score": [1.0, score]})
        with pytest.raises(DataError, match=message):
            pr.write_run(run, io.BytesIO(), format=form)

    @pytest.mark.parametrize("name", ["", "a b", "a\tb", "a\nb", "\r", "a\0"])
    @pytest.mark.parametrize("column", ["query_id", "doc_id", "run_id"])
    def test_ids_that_trec_cannot_hold(self, column, name):
        run = pl.DataFrame({"query_id": "q", "doc_id": ["d"], "score": 1.0, "run_id": "t"}).with_columns(
            pl.lit(name).alias(column)
        )
        with pytest.raises(DataError, match=f"`{column}` has 1 ids that cannot be written"):
            pr.write_run(run, io.BytesIO())

    def test_tag_with_a_blank(self):
        with pytest.raises(DataError, match="'my run', is empty or has a blank"):
            pr.write_run({"q": {"d": 1.0}}, io.BytesIO(), tag="my run")

    def test_query_that_would_be_a_comment(self):
        with pytest.raises(DataError, match="`#`"):
            pr.write_qrels({"#1": {"d": 1}}, io.BytesIO())

    @pytest.mark.parametrize("form", ["trec", "csv", "json", "ndjson"])
    def test_fractional_grades(self, form):
        qrels = pl.DataFrame({"query_id": "q", "doc_id": ["d"], "relevance": 0.5})
        with pytest.raises(DataError, match="grades in text files are integers"):
            pr.write_qrels(qrels, io.BytesIO(), format=form)

    def test_infinite_score_as_json_line(self):
        with pytest.raises(DataError, match="infinite"):
            pr.write_run({"q": {"d": float("inf")}}, io.BytesIO(), format="ndjson")

    def test_document_twice(self):
        run = pl.DataFrame({"query_id": "q", "doc_id": ["d", "d"], "score": [1.0, 2.0]})
        for form in ("trec", "json"):
            with pytest.raises(DataError, match="once in a query"):
                pr.write_run(run, io.BytesIO(), format=form)

    def test_several_runs_as_json(self):
        run = pl.DataFrame({"query_id": "q", "doc_id": "d", "score": [1.0, 2.0], "run_id": ["a", "b"]})
        with pytest.raises(DataError, match="names 2 runs"):
            pr.write_run(run, io.BytesIO(), format="json")

    def test_missing_column(self):
        with pytest.raises(ColumnError, match="no column `score`"):
            pr.write_run(pl.DataFrame({"query_id": ["q"], "doc_id": ["d"]}), io.BytesIO())

    def test_nothing_is_written_on_an_error(self, tmp_path):
        with pytest.raises(DataError):
            pr.write_run({"a b": {"d": 1.0}}, tmp_path / "run.trec")
        assert not (tmp_path / "run.trec").exists()
