"""The command line: what it prints and writes, and with which status it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib import pyplot as plt

import polars_retrieval as pr
from polars_retrieval import demo
from polars_retrieval.cli import main

PNG = b"\x89PNG\r\n"


def table(lines, first):
    """Read the Markdown table with this first column as a list of rows."""
    start = next(i for i, line in enumerate(lines) if line.strip("| ").startswith(first))
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return [rows[0], *rows[2:]]


def run_module(*arguments, cwd, stdout=subprocess.PIPE):
    return subprocess.run(  # noqa: S603 (our own command)
        [sys.executable, "-m", "polars_retrieval", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(Path(pr.__file__).parents[1])},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


def test_demo_prints_the_measures_and_the_curve(tmp_path, capsys):
    assert main(["demo", "--output", str(tmp_path / "curve.png"), "--max-k", "30"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.isascii()
    measures, *systems = table(out.splitlines(), "system")
    assert measures == ["system", "precision@1", "precision@10", "recall@10", "recall@100", "r_precision"]
    names = measures[1:]
    expected = pr.evaluate(demo.run(), names, by="system", qrels=demo.qrels())
    assert systems == [[row["system"], *(f"{row[name]:.4f}" for name in names)] for row in expected.to_dicts()]
    header, *rows = table(out.splitlines(), "k ")
    assert header == ["k", "precision_pixels", "precision_coarse", "recall_pixels", "recall_coarse"]
    assert [row[0] for row in rows] == ["1", "2", "5", "10", "20", "30"]
    at_10 = dict(zip(header, rows[3], strict=True))
    assert [at_10["precision_pixels"], at_10["recall_pixels"]] == systems[0][2:4]
    assert [at_10["precision_coarse"], at_10["recall_coarse"]] == systems[1][2:4]


def test_demo_says_how_large_its_data_are(tmp_path, capsys):
    main(["demo", "--output", str(tmp_path / "curve.png")])
    first = capsys.readouterr().out.splitlines()[0]
    assert f"{demo.run()['query_id'].n_unique()} images" in first
    assert f"{demo.qrels()['doc_id'].n_unique()} others" in first


def test_demo_writes_the_picture_and_says_where(tmp_path, capsys):
    output = tmp_path / "curve.png"
    assert main(["demo", "--output", str(output)]) == 0
    assert output.read_bytes().startswith(PNG)
    assert str(output) in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize(("name", "start"), [("c.svg", b"<?xml"), ("c.PDF", b"%PDF"), ("curve", PNG)])
def test_the_suffix_says_what_kind_of_picture(tmp_path, name, start):
    assert main(["demo", "--output", str(tmp_path / name)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes().startswith(start)


def test_demo_leaves_pyplot_alone(tmp_path):
    before = plt.get_fignums()
    main(["demo", "--output", str(tmp_path / "curve.png")])
    assert plt.get_fignums() == before


def test_without_matplotlib_demo_prints_its_tables(tmp_path, capsys, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["demo", "--output", str(tmp_path / "curve.png")]) == 0
    out, err = capsys.readouterr()
    assert len(table(out.splitlines(), "system")) == 1 + 2
    assert len(table(out.splitlines(), "k ")) == 1 + 7
    assert 'pip install "polars-retrieval[plot]"' in err
    assert len(err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_gives_status_1(tmp_path, capsys):
    assert main(["demo", "--output", str(tmp_path / "no" / "curve.png")]) == 1
    err = capsys.readouterr().err.splitlines()
    assert len(err) == 1
    assert err[0].startswith("polars-retrieval: error: ")
    assert "curve.png" in err[0]


def test_a_picture_of_unknown_kind_gives_status_2(tmp_path, capsys):
    assert main(["demo", "--output", str(tmp_path / "curve.docx")]) == 2
    err = capsys.readouterr().err.splitlines()
    assert len(err) == 1
    assert "`--output` has to end in one of " in err[0]
    assert ".png" in err[0]
    assert "curve.docx" in err[0]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (pr.errors.DataError("a\n\nHint: b"), 1),
        (pr.errors.ColumnError("a\n\nHint: b"), 1),
        (pr.errors.MetricError("a\n\nHint: b"), 2),
        (pr.errors.ParameterError("a\n\nHint: b"), 2),
    ],
)
def test_errors_of_the_package_are_a_line_or_two(error, status, capsys, monkeypatch):
    def refuse():
        raise error

    monkeypatch.setattr(demo, "run", refuse)
    assert main(["demo"]) == status
    assert capsys.readouterr().err == "polars-retrieval: error: a\nHint: b\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: COMMAND"),
        (["dmo"], "dmo"),
        (["demo", "--max-k", "0"], "argument --max-k: has to be an integer of at least 1, got '0'"),
        (["demo", "--max-k", "1.5"], "got '1.5'"),
        (["demo", "--max-k", "-1"], "--max-k"),
        (["demo", "--what"], "--what"),
    ],
)
def test_bad_usage_gives_status_2(arguments, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert len(err.splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--version"], f"polars-retrieval {pr.__version__}\n"),
        (["--help"], "demo"),
        (["demo", "--help"], "--max-k"),
    ],
)
def test_version_and_help(arguments, text, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0
    assert text in capsys.readouterr().out


def test_module_is_the_command(tmp_path):
    result = run_module("demo", "--max-k", "20", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert len(table(result.stdout.splitlines(), "k ")) == 1 + 5
    assert (tmp_path / "demo-curve.png").read_bytes().startswith(PNG)


def test_status_reaches_the_shell(tmp_path):
    result = run_module("demo", "--output", "no/curve.png", cwd=tmp_path)
    assert result.returncode == 1
    assert "Traceback" not in result.stderr


@pytest.mark.skipif(os.name == "nt", reason="pipes end otherwise on Windows")
def test_a_reader_that_leaves_is_no_traceback(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    result = run_module("demo", cwd=tmp_path, stdout=writer)
    os.close(writer)
    assert result.returncode == 1
    assert result.stderr == ""
