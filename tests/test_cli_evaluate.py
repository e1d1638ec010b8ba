"""`evaluate`, `curve`, `metrics` and `convert`: what they print and write, and what they say when they cannot."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_retrieval as pr
from polars_retrieval import demo
from polars_retrieval.cli import main
from polars_retrieval.measures import REGISTRY, SETS

QRELS = "q1 0 a 1\nq1 0 b 0\nq1 0 c 2\nq2 0 a 1\nq3 0 a 1\n"
RUN = "q1 Q0 b 1 3 one\nq1 Q0 a 2 2 one\nq1 Q0 x 3 1 one\nq2 Q0 a 1 1 one\n"
OTHER = "q1 Q0 c 1 3 two\nq1 Q0 a 2 2 two\nq2 Q0 x 1 1 two\nq3 Q0 a 1 1 two\n"


@pytest.fixture
def files(tmp_path):
    for name, text in {"qrels.txt": QRELS, "one.txt": RUN, "two.txt": OTHER}.items():
        (tmp_path / name).write_text(text)
    return [str(tmp_path / name) for name in ("qrels.txt", "one.txt", "two.txt")]


@pytest.fixture
def result(capsys):
    """Return a function from a command line to the frame that it prints as CSV."""

    def run(*arguments):
        assert main([*arguments, "--format", "csv"]) == 0
        return pl.read_csv(io.StringIO(capsys.readouterr().out))

    return run


@pytest.fixture
def refused(capsys):
    """Return a function from a command line to the status and the one or two lines on standard error."""

    def run(*arguments):
        status = main([*arguments])
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("polars-retrieval: error: ")
        assert len(err.splitlines()) <= 2
        return status, err

    return run


def test_one_row_for_each_run(files, result):
    found = result("evaluate", "-c", "-m", "P@1,recall@2", *files)
    assert found.rows() == [
        ("one", (0 + 1 + 0) / 3, (1 / 2 + 1 + 0) / 3),
        ("two", (1 + 0 + 1) / 3, (2 / 2 + 0 + 1) / 3),
    ]
    assert found.columns == ["run", "precision@1", "recall@2"]


def test_missing_queries_are_left_out_and_named_without_c(files, capsys):
    assert main(["evaluate", "-m", "recall@2", "--format", "csv", files[0], files[1]]) == 0
    out, err = capsys.readouterr()
    assert out == f"run,recall@2\none,{(1 / 2 + 1) / 2}\n"
    assert (
        err == f"polars-retrieval: {files[1]}: 1 judged queries are not in the run and left out; -c counts them as 0\n"
    )


def test_values_are_those_of_the_functions(files, result):
    run, qrels = pr.read_run(files[1]).drop("run_id"), pr.read_qrels(files[0])
    names = ["map", "nDCG@10", "bpref", "rbp", "P_5"]
    found = result("evaluate", "-q", "-c", "-l2", "--ties", "expected", "-m", ",".join(names), files[0], files[1])
    options = {"qrels": qrels, "min_relevance": 2}
    per_query, mean = pr.per_query(run, names, **options), pr.evaluate(run, names, **options)
    expected = pl.concat([per_query, mean.select(pl.lit("all").alias("query_id"), pl.all())])
    assert_frame_equal(found.drop("run"), expected)


@pytest.mark.shared
@pytest.mark.parametrize(("options", "mean"), [([], "mean"), (["-c"], "mean_c")])
def test_real_runs_are_as_in_trec_eval(shared, result, options, mean):
    folder = shared / "data" / "touche2020"
    expected = json.loads(gzip.decompress((folder / "expected.json.gz").read_bytes()))
    paths = {name: str(folder / name) for name in expected["runs"]}
    names = list(expected["runs"]["SPLADEv2.run.gz"]["float64_order"][mean])
    found = result("evaluate", *options, "-m", ",".join(names), str(folder / "qrels.txt"), *paths.values())
    for row, (name, path) in zip(found.to_dicts(), paths.items(), strict=True):
        values = expected["runs"][name]["float64_order"][mean]
        assert row == {
            "run": path,
            **{str(pr.parse(n)): pytest.approx(value, abs=1e-12) for n, value in values.items()},
        }


def test_default_measures(files, result):
    assert result("evaluate", "-c", *files).columns == [
        *("run", "average_precision", "reciprocal_rank", "ndcg@10", "precision@10", "recall@100")
    ]


def test_sets_of_measures(files, result):
    found = result("evaluate", "-c", "-m", "official", *files)
    assert found.columns == ["run", *(str(pr.parse(name)) for name in SETS["official"])]


def test_the_table_is_for_people(files, capsys):
    assert main(["evaluate", "-q", "-c", "-m", "P@1", files[0], files[1]]) == 0
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["run", "query_id", "precision@1"]
    assert rows[2:] == [
        *(["one", "q1", "0.0000"], ["one", "q2", "1.0000"], ["one", "q3", "0.0000"], ["one", "all", f"{1 / 3:.4f}"])
    ]


def test_json_and_files_by_their_suffix(files, tmp_path, capsys):
    assert main(["evaluate", "-c", "-m", "P@1", "--format", "json", *files]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == [{"run": "one", "precision@1": 1 / 3}, {"run": "two", "precision@1": 2 / 3}]
    for suffix, read in {"csv": pl.read_csv, "json": pl.read_json, "parquet": pl.read_parquet}.items():
        output = tmp_path / f"out.{suffix}"
        assert main(["evaluate", "-c", "-m", "P@1", "--output", str(output), *files]) == 0
        assert read(output).to_dicts() == printed
    assert capsys.readouterr().out == ""


def test_runs_are_named_by_file_where_tags_are_the_same(files, tmp_path, result):
    same = tmp_path / "same.txt"
    same.write_text(RUN)
    assert result("evaluate", "-c", "-m", "P@1", *files[:2], str(same))["run"].to_list() == [files[1], str(same)]


def test_a_file_with_several_tags_holds_several_runs(files, tmp_path, result):
    both = tmp_path / "both.txt"
    both.write_text(RUN + OTHER)
    expected = result("evaluate", "-c", "-m", "official", *files)
    assert_frame_equal(result("evaluate", "-c", "-m", "official", files[0], str(both)), expected)


def test_depth_is_that_of_the_rank(files, result):
    found = result("evaluate", "-q", "-M1", "-m", "num_ret,recall", files[0], files[2])
    assert found.filter(query_id="q1").row(0)[2:] == (1, 1 / 2)


def test_integer_ids_of_parquet_match_text(files, tmp_path, result):
    pl.DataFrame({"query_id": [1, 1], "doc_id": [7, 8], "score": [2.0, 1.0]}).write_parquet(tmp_path / "run.parquet")
    (tmp_path / "qrels.txt").write_text("1 0 8 1\n")
    found = result("evaluate", "-m", "RR", str(tmp_path / "qrels.txt"), str(tmp_path / "run.parquet"))
    assert found["reciprocal_rank"].to_list() == [1 / 2]


def test_standard_input(files, result, monkeypatch):
    expected = result("evaluate", "-c", "-m", "official", files[0], files[1])
    for place, arguments in enumerate((["-", files[1]], [files[0], "-"])):
        data = Path(files[place]).read_bytes()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert_frame_equal(result("evaluate", "-c", "-m", "official", *arguments), expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-m", "recal@10"], "did you mean `recall`?"),
        (["-m", "recall@0"], "`k`"),
        (["-m", "P.x"], "`P.x` has to name cutoffs after the dot, as `P.10,15` does; got 'x'"),
        (["-m", "ndcg_cut.23.4"], "got '23.4'"),
        (["-m", "iprec_at_recall.0.125"], "levels of recall, of up to two decimals, after the dot"),
        (["-m", "gm_map"], "printed in trec_eval's form only, by `--trec`"),
        (["-m", ","], "`metrics` is empty"),
        (["-M", "5", "--ties", "expected"], "choose other `--ties`"),
        (["--format", "parquet"], "name it by `--output`"),
    ],
)
def test_what_cannot_be_asked_for_gives_status_2(files, refused, arguments, message):
    status, err = refused("evaluate", "-c", *arguments, *files)
    assert status == 2
    assert message in err


def test_a_file_given_twice_gives_status_2(files, refused):
    status, err = refused("evaluate", "-", "-")
    assert status == 2
    assert "- was given 2 times" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-M", "0"], "argument -M/--depth: has to be an integer of at least 1, got '0'"),
        (["-l", "x"], "argument -l/--min-relevance: has to be a number, got 'x'"),
        (["--ties", "random"], "random"),
        (["--format", "xml"], "xml"),
    ],
)
def test_bad_options_give_status_2(files, capsys, arguments, message):
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", *arguments, *files])
    assert ended.value.code == 2
    err = capsys.readouterr().err
    assert message in err
    assert len(err.splitlines()) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1 Q0 a 1 2 t\nq1 Q0 a 2 1 t\n", "{path}: a document can come once in a query"),
        ("q1 Q0 a 1 nan t\n", "{path}"),
        ("q1 Q0 a\n", "{path}"),
        ("", "{path}"),
    ],
)
def test_bad_data_give_status_1(files, tmp_path, refused, text, message):
    run = tmp_path / "bad.txt"
    run.write_text(text)
    status, err = refused("evaluate", "-c", files[0], str(run))
    assert status == 1
    assert message.format(path=run) in err


@pytest.mark.parametrize("command", ["evaluate", "curve"])
def test_a_run_without_judged_queries_gives_status_1(files, tmp_path, refused, command):
    run = tmp_path / "other.txt"
    run.write_text("q8 Q0 a 1 1 t\n")
    status, err = refused(command, files[0], str(run))
    assert status == 1
    assert f"no query of {run} has judgments: its first is 'q8', and the judged ones are such as 'q1'" in err


def test_an_empty_table_gives_status_1(files, tmp_path, refused):
    run = tmp_path / "run.parquet"
    pr.read_run(files[1]).clear().write_parquet(run)
    assert refused("evaluate", files[0], str(run)) == (1, f"polars-retrieval: error: {run} holds no document\n")


def test_with_c_a_run_without_judged_queries_is_0(files, tmp_path, capsys):
    run = tmp_path / "other.txt"
    run.write_text("q8 Q0 a 1 1 t\n")
    assert main(["evaluate", "-c", "-m", "map,num_q", "--trec", files[0], str(run)]) == 0
    out, err = capsys.readouterr()
    assert [line.split()[2] for line in out.splitlines()] == ["3", "0.0000"]
    assert "1 queries of the run have no judgments and are left out, the first query_id 'q8'" in err


@pytest.mark.parametrize("command", ["evaluate", "curve"])
def test_a_missing_file_gives_status_1(files, tmp_path, refused, command):
    status, err = refused(command, files[0], str(tmp_path / "no-such-run"))
    assert status == 1
    assert "no-such-run" in err


def test_a_person_who_waits_sees_which_run_it_is(files, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["evaluate", "-c", "-m", "P@1", *files]) == 0
    err = capsys.readouterr().err
    assert f"run 1 of 2: {files[1]}" in err
    assert f"run 2 of 2: {files[2]}" in err
    assert err.endswith("\r\x1b[K")


class TestCurve:
    def test_round_ks_are_printed(self, tmp_path, capsys):
        run = demo.run().filter(system="pixels").drop("system")
        pr.write_run(run, tmp_path / "run.parquet")
        pr.write_qrels(demo.qrels(), tmp_path / "qrels.parquet")
        arguments = ["curve", str(tmp_path / "qrels.parquet"), str(tmp_path / "run.parquet"), "--max-k", "30"]
        assert main(arguments) == 0
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in capsys.readouterr().out.splitlines()]
        expected = pr.pr_curve(run, qrels=demo.qrels(), max_k=30, ties="doc_id")
        assert rows[0] == ["k", "precision", "recall"]
        assert rows[2:] == [
            [str(k), f"{precision:.4f}", f"{recall:.4f}"]
            for k, precision, recall in expected.rows()
            if k in (1, 2, 5, 10, 20, 30)
        ]

    def test_all_ks_of_several_runs(self, files, result):
        found = result("curve", "-c", *files)
        assert found.filter(run="one").rows() == [
            ("one", 1, (0 + 1 + 0) / 3, (0 + 1 + 0) / 3),
            ("one", 2, (1 / 2 + 1 / 2 + 0) / 3, (1 / 2 + 1 + 0) / 3),
            ("one", 3, (1 / 3 + 1 / 3 + 0) / 3, (1 / 2 + 1 + 0) / 3),
        ]
        assert found.filter(run="two")["k"].to_list() == [1, 2]

    def test_several_runs_side_by_side(self, files, capsys):
        assert main(["curve", "-c", "--max-k", "2", *files]) == 0
        header = capsys.readouterr().out.splitlines()[0]
        assert header.split("|")[1:-1] == [" k ", " precision_one ", " precision_two ", " recall_one ", " recall_two "]

    @pytest.mark.parametrize(("name", "start"), [("c.png", b"\x89PNG"), ("c.svg", b"<?xml"), ("c.pdf", b"%PDF")])
    def test_the_picture(self, files, tmp_path, name, start):
        assert main(["curve", "-c", "--plot", str(tmp_path / name), *files]) == 0
        assert (tmp_path / name).read_bytes().startswith(start)

    def test_the_picture_has_one_legend(self, files, tmp_path):
        main(["curve", "-c", "--plot", str(tmp_path / "c.svg"), *files])
        # Text is drawn as outlines, with the text itself as a comment.
        svg = (tmp_path / "c.svg").read_text()
        assert svg.count("<!-- one -->") == svg.count("<!-- two -->") == 1

    def test_a_picture_of_unknown_kind_gives_status_2(self, files, tmp_path, refused):
        status, err = refused("curve", "-c", "--plot", str(tmp_path / "c.docx"), *files)
        assert status == 2
        assert "`--plot` has to end in one of " in err


class TestMetrics:
    def test_all_are_listed(self, capsys):
        assert main(["metrics"]) == 0
        rows = [line.strip("| ").split("|") for line in capsys.readouterr().out.splitlines()[2:]]
        assert [row[0].strip() for row in rows] == list(REGISTRY)

    @pytest.mark.parametrize("name", list(REGISTRY))
    def test_one_is_explained(self, name, capsys):
        assert main(["metrics", name]) == 0
        out = capsys.readouterr().out
        row = pr.metrics().row(by_predicate=pl.col("name") == name, named=True)
        assert out.splitlines()[0] == name
        for text in (row["summary"].replace("``", "`"), row["source"], *row["aliases"], *row["parameters"]):
            assert text in out

    def test_any_of_its_names_will_do(self, capsys):
        assert main(["metrics", "map_cut_10"]) == 0
        out = capsys.readouterr().out
        assert out.startswith("average_precision@10\n")
        assert "hits-so-far / rank" in out
        assert "0 to 1; higher is better" in out
        assert "without a relevant document" in out

    def test_an_unknown_one_gives_status_2(self, refused):
        status, err = refused("metrics", "recal")
        assert status == 2
        assert "did you mean `recall`?" in err


class TestConvert:
    @pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv", "json", "txt.gz"])
    def test_a_run_survives(self, files, tmp_path, suffix, capsys):
        target, back = tmp_path / f"run.{suffix}", tmp_path / "back.txt"
        assert main(["convert", files[1], str(target)]) == 0
        assert main(["convert", str(target), str(back)]) == 0
        names = ["query_id", "doc_id", "score"]
        assert_frame_equal(pr.read_run(back).select(names), pr.read_run(files[1]).select(names))
        assert capsys.readouterr() == ("", "")

    def test_judgments_survive(self, files, tmp_path):
        target, back = tmp_path / "qrels.parquet", tmp_path / "back.txt"
        assert main(["convert", "--qrels", files[0], str(target)]) == 0
        assert pl.read_parquet(target).columns == ["query_id", "doc_id", "relevance"]
        assert main(["convert", "--qrels", str(target), str(back)]) == 0
        assert_frame_equal(pr.read_qrels(back), pr.read_qrels(files[0]))

    def test_standard_input(self, files, tmp_path, monkeypatch):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RUN.encode())))
        assert main(["convert", "-", str(tmp_path / "run.parquet")]) == 0
        assert pr.read_run(tmp_path / "run.parquet").height == 4

    def test_standard_output(self, files, capsysbinary):
        assert main(["convert", files[1], "-"]) == 0
        assert pr.read_run(io.BytesIO(capsysbinary.readouterr().out)).equals(pr.read_run(files[1]))

    def test_formats_that_names_do_not_tell(self, files, tmp_path):
        target = tmp_path / "run"
        assert main(["convert", files[1], str(target), "--to", "csv"]) == 0
        assert pl.read_csv(target).columns == ["query_id", "doc_id", "score", "run_id"]
        assert main(["convert", str(target), str(tmp_path / "run.parquet"), "--from", "csv"]) == 0
        assert pr.read_run(tmp_path / "run.parquet").equals(pr.read_run(files[1]))

    def test_a_file_does_not_replace_itself(self, files, refused):
        status, err = refused("convert", files[1], files[1])
        assert status == 2
        assert "two files" in err
        assert Path(files[1]).read_text() == RUN


def run_module(*arguments, data, stdout=subprocess.PIPE):
    return subprocess.run(  # noqa: S603 (our own command)
        [sys.executable, "-m", "polars_retrieval", *arguments],
        env={**os.environ, "PYTHONPATH": str(Path(pr.__file__).parents[1])},
        input=data,
        stdout=stdout,
        stderr=subprocess.PIPE,
        check=False,
    )


def test_a_real_pipe(files):
    done = run_module("evaluate", "--trec", "-c", "-m", "P.1", files[0], "-", data=RUN.encode())
    assert done.stderr == b""
    assert done.stdout == f"P_1                   \tall\t{1 / 3:.4f}\n".encode()


def test_no_traceback_reaches_the_shell(files):
    done = run_module("evaluate", files[0], "-", data=b"q1 Q0 a\n")
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert done.stderr.startswith(b"polars-retrieval: error: ")


@pytest.mark.skipif(os.name == "nt", reason="pipes end otherwise on Windows")
def test_a_reader_that_leaves_is_no_traceback(files):
    reader, writer = os.pipe()
    os.close(reader)
    done = run_module("evaluate", "-c", *files, data=b"", stdout=writer)
    os.close(writer)
    assert done.returncode == 1
    assert done.stderr == b""
