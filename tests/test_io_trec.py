"""TREC's text format, read as trec_eval reads it."""

import gzip
import io
import json
import os
import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import polars_retrieval as pr
from polars_retrieval.errors import FileFormatError, ParameterError
from polars_retrieval.io import trec
from polars_retrieval.io.sources import find_sources
from polars_retrieval.io.tables import QRELS, RUN


def run_of(text, **options):
    return pr.read_run(io.BytesIO(text if isinstance(text, bytes) else text.encode()), **options)


def qrels_of(text, **options):
    return pr.read_qrels(io.BytesIO(text if isinstance(text, bytes) else text.encode()), **options)


def test_columns_and_types():
    run = run_of("7 Q0 0012 1 13.5 bm25\n")
    assert run.schema == {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64, "run_id": pl.String}
    assert run.rows() == [("7", "0012", 13.5, "bm25")]
    qrels = qrels_of("7 0 0012 2\n")
    assert qrels.schema == {"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Int64}
    assert qrels.rows() == [("7", "0012", 2)]


@pytest.mark.parametrize(
    "line",
    [
        "q Q0 d 1 2.5 t",
        "q\tQ0\td\t1\t2.5\tt",
        "q \t Q0  d\t\t1 2.5   t",
        "   q Q0 d 1 2.5 t",
        "\tq Q0 d 1 2.5 t",
        "q Q0 d 1 2.5 t   ",
        "q Q0 d 1 2.5 t\t",
        "q Q0 d 1 2.5 t\r",
        "q Q0 d 1 2.5 t more words",
        "q Q0 d 1 2.5 t  more  ",
        "q Q0 d 1 25e-1 t",
        "q Q0 d 1 +2.5E+00 t",
        "q Q0 d no-rank 2.5 t",
        "q Q0 d -1 2.50 t",
        "q\vQ0\fd 1 2.5 t",
        "\n\n  \nq Q0 d 1 2.5 t\n\n",
        "# a comment\nq Q0 d 1 2.5 t\n#\n  # another\n",
        "\ufeffq Q0 d 1 2.5 t",
    ],
)
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_every_way_to_write_a_line(line, end):
    assert run_of(line + end).rows() == [("q", "d", 2.5, "t")]
    assert run_of(f"a Q0 b 1 7 t\n{line}{end}".replace("\ufeff", "")).rows() == [
        ("a", "b", 7.0, "t"),
        ("q", "d", 2.5, "t"),
    ]


@pytest.mark.parametrize("line", ["q 0 d 1", "q\t0\td\t1", " q  0\td 1  ", "q 0 d +1\r", "#x\n\nq 0 d 01\n"])
def test_every_way_to_write_a_judgment(line):
    assert qrels_of(line).rows() == [("q", "d", 1)]


@pytest.mark.parametrize(
    "name", ["#7", "d#1", '"d"', "'", "a,b", "é", "文書", "null", "NaN", "1e5", "007", "\x1f", "a\\b"]
)
def test_documents_of_any_name(name):
    assert run_of(f"q Q0 {name} 1 2.5 t\n").rows() == [("q", name, 2.5, "t")]


def test_infinite_scores():
    assert run_of("q Q0 d 1 inf t\nq Q0 e 2 -inf t\n")["score"].to_list() == [float("inf"), -float("inf")]


def test_latin1_ids_match_on_both_sides():
    run = run_of("q Q0 café 1 2.5 t\n".encode("latin-1"))
    assert run["doc_id"].item() == "café"
    assert qrels_of("q 0 café 1\n".encode("latin-1"))["doc_id"].item() == "café"
    mixed = run_of("q Q0 café 1 2.5 t\n".encode() + "q Q0 thé 2 1.5 t\n".encode("latin-1"))
    assert mixed["doc_id"].to_list() == ["café", "thé"]


def test_several_tags():
    assert run_of("q Q0 d 1 2 a\nq Q0 d 1 2 b\n")["run_id"].to_list() == ["a", "b"]


def test_blocks_join(monkeypatch):
    monkeypatch.setattr(trec, "BLOCK", 16)
    lines = [f"q{i} Q0 d{i} 1 {i}.5 {'a' if i < 40 else 'b'}\n" for i in range(50)]
    expected = [(f"q{i}", f"d{i}", i + 0.5, "a" if i < 40 else "b") for i in range(50)]
    assert run_of("".join(lines)).rows() == expected
    with pytest.raises(FileFormatError, match="line 51: expected 6 fields") as raised:
        run_of("".join(lines) + "q Q0 d")
    assert (raised.value.line_number, raised.value.line) == (51, "q Q0 d")


NAMES = st.text(st.characters(exclude_characters="\t\n\v\f\r \0", exclude_categories=["Cs"]), min_size=1, max_size=4)
BLANKS = st.text(" \t", min_size=1, max_size=3)
SCORES = st.one_of(st.floats(allow_nan=False).map(repr), st.integers(-9, 9).map(str), st.just("+1.50e+03"))


@st.composite
def lines_of_runs(draw):
    parts = []
    for _ in range(draw(st.integers(1, 8))):
        fields = [
            draw(NAMES),
            "Q0",
            draw(NAMES),
            draw(NAMES),
            draw(SCORES),
            draw(NAMES),
            *draw(st.lists(NAMES, max_size=2)),
        ]
        gap = draw(st.sampled_from([" ", None]))
        before, after = (draw(st.sampled_from(["", " ", " \t ", "\r", "\n", "  \r", "\n \n"])) for _ in "ba")
        parts.append(before + "".join(f + (gap or draw(BLANKS)) for f in fields[:-1]) + fields[-1] + after)
    return parts


@given(lines_of_runs())
def test_all_ways_of_reading_agree(lines):
    text = "\n".join(lines) + "\n"
    block = text.encode()
    (source,) = find_sources(io.BytesIO(), None)
    words = [[w for w in re.split(r"[ \t\n\r]+", line) if w] for line in lines]
    expected = [(w[0], w[2], float(w[4]), w[5]) for w in words if not w[0].startswith("#")]
    split = trec.split(block, source, RUN, 1)
    assert split.rows() == expected
    tidy = trec.tidy(block)
    control = any(code < 32 for code in tidy.replace(b"\n", b""))  # for which `is_tidy` says no to be on the safe side
    assert not expected or control or trec.is_tidy(tidy)
    assert_frame_equal(trec.parse(tidy, RUN), split)
    assert_frame_equal(trec.read_block(block, source, RUN, 1), split)


@given(st.lists(st.tuples(NAMES, NAMES, st.integers(-(2**63), 2**63 - 1), BLANKS), min_size=1, max_size=8))
def test_all_ways_of_reading_judgments_agree(rows):
    (source,) = find_sources(io.BytesIO(), None)
    block = "".join(f"{q}{gap}0{gap}{d}{gap}{grade}\n" for q, d, grade, gap in rows).encode()
    split = trec.split(block, source, QRELS, 1)
    assert split.rows() == [(q, d, grade) for q, d, grade, _ in rows if not q.startswith("#")]
    assert_frame_equal(trec.parse(trec.tidy(block), QRELS), split)
    assert_frame_equal(trec.read_block(block, source, QRELS, 1), split)


GOOD = "q1 Q0 d1 1 9.5 tag\n"
MALFORMED_RUNS = [
    ("q1\n", 1, "6 fields"),
    ("q1 Q0\n", 1, "6 fields"),
    ("q1 Q0 d1\n", 1, "6 fields"),
    ("q1 Q0 d1 1\n", 1, "6 fields"),
    ("q1 Q0 d1 1 9.5\n", 1, "got 5"),
    ("q1 Q0 d1 1 9.5 \n", 1, "got 5"),
    ("q1\tQ0\td1\t1\t9.5\n", 1, "got 5"),
    (GOOD + "q1 d1 9.5\n", 2, "got 3"),
    (GOOD + "\n\n# note\n" + "q1 Q0 d2 1 9.5", 5, "got 5"),
    (GOOD * 3 + "q1 Q0 d1 1 high tag\n" + GOOD, 4, "a score"),
    (GOOD + "q1 Q0 d1 1 nan tag\n", 2, "not NaN"),
    (GOOD + "q1 Q0 d1 1 NaN tag\n", 2, "not NaN"),
    ("q1 Q0 d1 1 1,5 tag\n", 1, "a score"),
    ("q1 Q0 d1 1 0x1p3 tag\n", 1, "a score"),
    ("q1 Q0 d1 1 1.5.2 tag\n", 1, "a score"),
    ("q1 Q0 d1 1 - tag\n", 1, "a score"),
    ("q1 Q0 three more words 1 9.5 tag\n", 1, "a score"),
    ("\r\n\r\nq1 Q0 d1 1 tag\r\n", 3, "got 5"),
    ("query,doc,score\r\nq1,d1,3\r\n", 1, "6 fields"),
    ('{"q1": {"d1": 9.5}}', 1, "6 fields"),
    (GOOD + "q1 Q0 d\0 1 9.5 tag\n", 2, "binary"),
    (GOOD.encode("utf-16"), 1, "binary"),
]
MALFORMED_QRELS = [
    ("q1\n", 1, "4 fields"),
    ("q1 0 d1\n", 1, "got 3"),
    ("q1 0 d1 1\nq1 0 d2 \n", 2, "got 3"),
    ("q1 0 d1 1.0\n", 1, "a grade"),
    ("q1 0 d1 yes\n", 1, "a grade"),
    ("q1 0 d1 nan\n", 1, "a grade"),
    ("q1 0 d1 99999999999999999999\n", 1, "a grade"),
    ("q1 0 d1 1 extra\n", 1, "got 5"),
    ("q1 0 d1 1\nq1 0 d2 1 extra\n", 2, "got 5"),
    ("q1 Q0 d1 1 9.5 tag\n", 1, "got 6"),
    ("\n\nq1 0 d1 1\n\nq1 0 d2 1e1\n", 5, "a grade"),
]


@pytest.mark.parametrize(
    ("read", "text", "line_number", "expected"),
    [(pr.read_run, *case) for case in MALFORMED_RUNS] + [(pr.read_qrels, *case) for case in MALFORMED_QRELS],
)
def test_malformed_line(tmp_path, read, text, line_number, expected):
    data = text if isinstance(text, bytes) else text.encode()
    path = tmp_path / "some.trec"
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=re.escape(f"{path}, line {line_number}: expected ")) as raised:
        read(path)
    assert expected in str(raised.value)
    assert raised.value.file == str(path)
    assert raised.value.line_number == line_number
    if raised.value.line is not None:
        assert raised.value.line == text.split("\n")[line_number - 1]
        assert repr(raised.value.line) in str(raised.value)


@pytest.mark.parametrize("data", [b"", b"\n \n", b"# only\n# comments", gzip.compress(b"", mtime=0)])
@pytest.mark.parametrize("read", [pr.read_run, pr.read_qrels])
def test_nothing_in_the_file(tmp_path, read, data):
    path = tmp_path / "some.txt"
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match="is empty"):
        read(path)


def test_long_lines_are_shortened():
    line = "q1 Q0 " + "d" * 1000
    with pytest.raises(FileFormatError) as raised:
        run_of(line)
    assert raised.value.line == line
    assert len(str(raised.value)) < 300


def test_other_formats_are_recognised(tmp_path):
    pr.write_run({"q": {"d": 1.0}}, tmp_path / "run.parquet")
    pr.write_run({"q": {"d": 1.0}}, tmp_path / "run.arrow")
    with pytest.raises(FileFormatError, match='format="parquet"'):
        pr.read_run(tmp_path / "run.parquet", format="trec")
    with pytest.raises(FileFormatError, match='format="ipc"'):
        pr.read_run(tmp_path / "run.arrow", format="trec")


@pytest.mark.parametrize("cut", [-3, 15])
@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_damaged_compression(tmp_path, suffix, cut):
    path = tmp_path / f"run.trec{suffix}"
    pr.write_run({"q": {f"d{i}": float(i) for i in range(100)}}, path)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(FileFormatError, match="cannot be decompressed"):
        pr.read_run(path)


class TestSources:
    def test_compressed_by_content(self, tmp_path):
        path = tmp_path / "run.trec"
        path.write_bytes(gzip.compress(GOOD.encode()) * 2)
        assert pr.read_run(path).height == 2

    def test_glob_and_list(self, tmp_path):
        for name in ("b", "a"):
            (tmp_path / f"{name}.trec").write_text(f"q Q0 d 1 2 {name}\n")
        assert pr.read_run(f"{tmp_path}/*.trec")["run_id"].to_list() == ["a", "b"]
        both = [tmp_path / "b.trec", str(tmp_path / "a.trec")]
        assert pr.read_run(both)["run_id"].to_list() == ["b", "a"]
        assert pr.scan_run(both).collect()["run_id"].to_list() == ["b", "a"]

    def test_a_name_with_brackets_is_a_name(self, tmp_path):
        (tmp_path / "run[1].trec").write_text(GOOD)
        assert pr.read_run(tmp_path / "run[1].trec").height == 1

    def test_no_file(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"no file matches .*\*.trec"):
            pr.read_run(f"{tmp_path}/*.trec")
        with pytest.raises(FileNotFoundError):
            pr.read_run(tmp_path / "missing.trec")

    def test_pipe(self):
        out, into = os.pipe()
        os.write(into, GOOD.encode())
        os.close(into)
        with os.fdopen(out, "rb") as file:
            assert pr.read_run(file).height == 1
            assert not file.closed

    def test_object_that_can_only_read(self):
        class Body:
            read = io.BytesIO(GOOD.encode()).read

        assert pr.read_run(Body()).height == 1

    def test_scan_of_a_file_object_reads_at_once(self):
        file = io.BytesIO(GOOD.encode())
        scan = pr.scan_run(file)
        assert not file.read()
        assert [scan.collect().height, scan.collect().height] == [1, 1]

    def test_scan_of_a_malformed_file(self, tmp_path):
        path = tmp_path / "run.trec"
        path.write_text(GOOD + "q1 Q0")
        with pytest.raises(FileFormatError, match="line 2: expected 6 fields"):
            pr.scan_run(path).collect()

    def test_file_objects_stay_open(self):
        for data in (GOOD.encode(), gzip.compress(GOOD.encode())):
            file = io.BytesIO(data)
            assert pr.read_run(file).height == 1
            assert not file.closed

    def test_text_file(self):
        with pytest.raises(ParameterError, match="binary mode"):
            pr.read_run(io.StringIO(GOOD))

    def test_unknown_format(self, tmp_path):
        with pytest.raises(ParameterError, match="did you mean `parquet`"):
            pr.read_run(tmp_path / "x", format="parket")

    def test_files_with_other_columns(self, tmp_path):
        (tmp_path / "a.trec").write_text(GOOD)
        (tmp_path / "b.json").write_text('{"q": {"d": 1.5}}')
        with pytest.raises(FileFormatError, match=r"b.json has other columns than .*a.trec"):
            pr.read_run([tmp_path / "a.trec", tmp_path / "b.json"])

    def test_scan_reads_when_collected(self, tmp_path):
        path = tmp_path / "run.trec"
        path.write_text(GOOD)
        scan = pr.scan_run(path)
        path.write_text(GOOD * 3)
        assert scan.collect().height == 3
        assert scan.collect_schema() == pr.read_run(path).schema


def shared_files():
    names = {
        "aquaint-robust05": [("aq_bm25.res.gz", "aq_pl2.res.gz", "aq_lmd.res.gz"), ("qrels.txt.gz",)],
        "covid-complete": [("bm25-flat.run.gz",), ("qrels.txt.gz",)],
        "irm-compat": [("compat.run",), ("compat.qrels",)],
        "ltr-lambdarank": [("lightgbm.trec.gz", "feature8.trec.gz"), ("qrels.txt",)],
        "pkg-sklearn-digits": [("pixels.trec.gz",), ("qrels.txt.gz",)],
        "robust04-bm25": [("bm25.run.gz",), ("qrels-trec7-8.txt.gz",)],
        "text-cranfield": [("bm25.trec.gz", "tfidf.trec.gz", "minilm.trec.gz"), ("qrels.txt",)],
        "text-noveleval": [("bm25.trec.gz", "tfidf.trec.gz", "minilm.trec.gz"), ("qrels.txt",)],
        "text-npl": [("bm25.trec.gz", "tfidf.trec.gz", "minilm.trec.gz"), ("qrels.txt",)],
        "touche2020": [
            ("bm25-webis-touche2020-multifield.run.gz", "SPLADEv2.run.gz", "citadel-plus.run.gz"),
            ("qrels.txt",),
        ],
        "trec_eval-test": [
            ("results.test", "results.trunc", "results-302.test", "results.comment.test.gz"),
            ("qrels.test", "qrels.rel_level", "qrels.test.with-comments", "qrels-302.test", "qrels.comment.test.gz"),
        ],
    }
    return [
        (folder, name, read)
        for folder, kinds in names.items()
        for read, files in zip((pr.read_run, pr.read_qrels), kinds, strict=True)
        for name in files
    ]


@pytest.mark.shared
class TestReferenceData:
    @pytest.mark.parametrize(("folder", "name", "read"), shared_files())
    def test_rows(self, shared, folder, name, read):
        counted = json.loads((shared / "data" / folder / "oddities.json").read_text())
        counted = counted.get(name) or counted[name.removesuffix(".gz")]
        frame = read(shared / "data" / folder / name)
        assert frame.height == counted["rows"]
        assert frame["query_id"].n_unique() == counted["queries"]
        if read is pr.read_qrels:
            grades = frame["relevance"].value_counts()
            assert {str(grade): n for grade, n in grades.iter_rows()} == counted["grades"]
        else:
            assert dict(frame["run_id"].value_counts().iter_rows()) == counted["tags"]
            assert (frame["score"] < 0).sum() == counted["negative_scores"]

    @pytest.mark.parametrize(
        ("folder", "name", "read"),
        [
            (folder, name.removesuffix(".trec.gz").removesuffix(".txt"), read)
            for folder, name, read in shared_files()
            if folder.startswith(("text", "ltr", "pkg")) and not (folder[0] in "lp" and read is pr.read_qrels)
        ],
    )
    def test_parquet_holds_the_same(self, shared, folder, name, read):
        text = name + (".txt" if read is pr.read_qrels else ".trec.gz")
        table = read(shared / "data" / folder / f"{name}.parquet")
        columns = ["query_id", "doc_id", "relevance" if read is pr.read_qrels else "score"]
        expected = read(shared / "data" / folder / text)
        assert_frame_equal(table.select(columns), expected.select(columns), abs_tol=1e-6)

    @pytest.mark.parametrize("text", ["qrels_text", "run_text"])
    def test_whitespace_case(self, shared, text):
        lines = (shared / "cases" / "cases.jsonl").read_text().splitlines()
        case = next(c for c in map(json.loads, lines) if c["id"] == "trec-file-whitespace")
        read = run_of if text == "run_text" else qrels_of
        frame = read(case["input"][text])
        assert frame.height == case["expected"]["rows read"][text.removesuffix("_text")]
        if text == "qrels_text":
            assert frame.rows() == [("1", "D1", 1), ("1", "D2", 0), ("1", "D3", 2)]

    def test_whitespace_case_values(self, shared):
        lines = (shared / "cases" / "cases.jsonl").read_text().splitlines()
        case = next(c for c in map(json.loads, lines) if c["id"] == "trec-file-whitespace")
        run, qrels = run_of(case["input"]["run_text"]), qrels_of(case["input"]["qrels_text"])
        values = pr.evaluate(run, ["RR", "AP", "precision@1"], qrels=qrels).row(0)
        assert values == pytest.approx((1 / 2, (1 / 2 + 2 / 3) / 2, 0))
