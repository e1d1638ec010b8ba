"""`compare` and `report`: what they print and write, and what they say when they cannot."""

from __future__ import annotations

import io
import json

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_retrieval as pr
from polars_retrieval import report
from polars_retrieval.cli import main
from polars_retrieval.comparison.pairs import compare

QUERIES = [f"q{number}" for number in range(1, 6)]
QRELS = "".join(f"{query} 0 a 1\n{query} 0 b 0\n" for query in QUERIES)
BETTER = "".join(f"{query} Q0 a 1 2 better\n{query} Q0 b 2 1 better\n" for query in QUERIES)
WORSE = "".join(f"{query} Q0 b 1 2 worse\n{query} Q0 a 2 1 worse\n" for query in QUERIES)
FEWER = "".join(f"{query} Q0 a 1 2 fewer\n" for query in QUERIES[:4])


@pytest.fixture
def files(tmp_path):
    """Return the judgments, a run, a worse one, and one that lacks a query."""
    for name, text in {"qrels": QRELS, "better": BETTER, "worse": WORSE, "fewer": FEWER}.items():
        (tmp_path / f"{name}.txt").write_text(text)
    return [str(tmp_path / f"{name}.txt") for name in ("qrels", "better", "worse", "fewer")]


@pytest.fixture
def result(capsys):
    """Return a function from a command line to the frame that it prints as CSV."""

    def run(*arguments):
        assert main([*arguments, "--format", "csv"]) == 0
        return pl.read_csv(io.StringIO(capsys.readouterr().out))

    return run


@pytest.fixture
def refused(capsys):
    """Return a function from a command line to the status and what is on standard error."""

    def run(*arguments):
        status = main([*arguments])
        out, err = capsys.readouterr()
        assert out == ""
        return status, err

    return run


def test_five_queries_that_all_improve(files, result):
    qrels, better, worse, _ = files
    (row,) = result("compare", qrels, worse, better, "-m", "P@1").to_dicts()
    assert (row["baseline"], row["system"], row["measure"]) == ("worse", "better", "precision@1")
    assert (row["mean_baseline"], row["mean_system"], row["difference"]) == (0, 1, 1)
    assert (row["wins"], row["ties"], row["losses"], row["n_queries"]) == (5, 0, 0, 5)
    assert row["p_value"] == pytest.approx(2 / 2**5)


def test_all_pairs_or_those_with_the_baseline(files, result):
    pairs = [("better", "worse"), ("better", "fewer"), ("worse", "fewer")]
    assert result("compare", "-c", *files, "-m", "RR").select("baseline", "system").rows() == pairs
    held = result("compare", "-c", *files, "-m", "RR", "--baseline", "worse").select("baseline", "system").rows()
    assert held == [("worse", "better"), ("worse", "fewer")]


def test_values_are_those_of_the_function(files, result):
    qrels, better, worse, _ = files
    options = ["--test", "t", "--correction", "bonferroni", "--level", "0.9", "--ties", "expected"]
    found = result("compare", qrels, better, worse, "-m", "RR,nDCG@10", *options)
    runs = {name: pr.read_run(path).drop("run_id") for name, path in (("better", better), ("worse", worse))}
    expected = compare(
        runs, ["RR", "nDCG@10"], qrels=pr.read_qrels(qrels), test="t", correction="bonferroni", level=0.9
    )
    assert_frame_equal(found, expected, check_dtypes=False)


def test_other_forms(files, capsys, tmp_path):
    qrels, better, worse, _ = files
    asked = ["compare", qrels, better, worse, "-m", "P@1,RR"]
    assert main([*asked, "--format", "json"]) == 0
    assert [row["measure"] for row in json.loads(capsys.readouterr().out)] == ["precision@1", "reciprocal_rank"]
    assert main([*asked, "--output", str(tmp_path / "compared.parquet")]) == 0
    assert pl.read_parquet(tmp_path / "compared.parquet").height == 2
    for form, start in {"markdown": "|", "latex": "\\begin", "html": "<"}.items():
        assert main([*asked, "--format", form]) == 0
        out = capsys.readouterr().out
        assert out.lstrip().startswith(start)
        assert out.endswith("\n")
        assert "better" in out


def test_the_table_is_for_people(files, capsys):
    qrels, better, worse, _ = files
    assert main(["compare", qrels, worse, better, "-m", "P@1"]) == 0
    heads, _, row = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in capsys.readouterr().out.splitlines()
    ]
    assert heads == [
        *("measure", "baseline", "system", "mean_baseline", "mean_system", "difference", "low", "high"),
        *("p_adjusted", "wins", "ties", "losses", "n_queries"),
    ]
    assert row[:6] == ["precision@1", "worse", "better", "0.0000", "1.0000", "1.0000"]
    assert row[-5:] == [f"{2 / 2**5:.4f}", "5", "0", "0", "5"]


def test_queries_that_differ_are_refused(files, refused):
    qrels, better, _, fewer = files
    status, err = refused("compare", qrels, better, fewer, "-m", "P@1")
    assert status == 1
    assert "`fewer` lacks 1 of 5: query_id 'q5'" in err


def test_common_queries_are_compared_if_asked(files, capsys):
    qrels, better, _, fewer = files
    assert main(["compare", qrels, better, fewer, "-m", "P@1", "--queries", "common", "--format", "csv"]) == 0
    out, err = capsys.readouterr()
    assert pl.read_csv(io.StringIO(out))["n_queries"].to_list() == [4]
    assert "leaves out 1 of 5 queries" in err


def test_one_run_is_too_few(files, refused):
    status, err = refused("compare", *files[:2], "-m", "P@1")
    assert status == 2
    assert "at least two runs" in err


@pytest.mark.parametrize("command", ["compare", "report"])
def test_wrong_arguments(files, refused, tmp_path, command):
    output = ["-o", str(tmp_path / "report.html")] if command == "report" else []
    status, err = refused(command, *files[:3], *output, "--baseline", "bettr", "-m", "P@1")
    assert status == 2
    assert "`better`" in err
    status, err = refused(command, *files[:3], *output, "-m", "presicion@1")
    assert status == 2
    assert "precision" in err
    assert not (tmp_path / "report.html").exists()


def test_a_report(files, capsys, tmp_path):
    path = tmp_path / "report.html"
    assert main(["report", "-c", *files, "-o", str(path), "-m", "P@1,recall@2", "-M", "5"]) == 0
    assert capsys.readouterr().out == f"The report is in {path}\n"
    page = path.read_text(encoding="utf-8")
    for told in ("worse.txt", "qrels.txt", "the first 5 documents", "precision@1", "by id, descending as bytes"):
        assert told in page


def test_a_report_takes_the_options_of_evaluate(files, tmp_path):
    path = tmp_path / "report.html"
    options = ["-J", "-l", "1", "--ties", "expected", "--title", "Titled", "--max-k", "2", "--test", "t"]
    assert main(["report", *files[:3], "-o", str(path), "-m", "P@1", *options]) == 0
    page = path.read_text(encoding="utf-8")
    for told in ("<title>Titled</title>", "removed before ranking", "all orders", "left out", "test: t"):
        assert told in page


def test_a_report_does_not_replace_what_it_reads(files, refused):
    status, err = refused("report", *files[:3], "-o", files[1])
    assert status == 2
    assert "given 2 times" in err


def test_a_missing_package_is_one_line(files, refused, monkeypatch, tmp_path):
    monkeypatch.setattr(report, "find_spec", lambda name: None)
    status, err = refused("report", *files[:3], "-o", str(tmp_path / "report.html"))
    assert status == 2
    assert "pip install" in err
