"""The report as a file: what it holds, that names stay text in it, and what is refused."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import get_args

import polars as pl
import pytest

import polars_retrieval as pr
from polars_retrieval import demo, report
from polars_retrieval.errors import ColumnError, DataError, ParameterError, RetrievalWarning
from polars_retrieval.names import EmptyTargetAction, MissingQueries, Ties, Unjudged
from polars_retrieval.report import write_report
from polars_retrieval.report.contents import Settings, measure
from polars_retrieval.report.sections import EMPTY, MISSING_QUERIES, TIES, UNJUDGED, sections

QRELS = pl.DataFrame({"query_id": ["q1", "q1", "q2", "q3"], "doc_id": ["a", "b", "a", "c"], "relevance": [1, 0, 2, 1]})
GOOD = pl.DataFrame(
    {"query_id": ["q1", "q1", "q2", "q3"], "doc_id": ["a", "b", "a", "c"], "score": [2.0, 1.0, 1.0, 1.0]}
)
BAD = pl.DataFrame({"query_id": ["q1", "q1", "q2"], "doc_id": ["a", "b", "x"], "score": [1.0, 2.0, 1.0]})
RUNS = {"good": GOOD, "bad": BAD}


def contents_of(runs=RUNS, metrics=("precision@1", "recall"), qrels=QRELS, **given):
    settings = {
        "by": "run_id",
        "baseline": None,
        "test": "randomization",
        "correction": "holm",
        "level": 0.95,
        "queries": "error",
        "max_k": None,
        "judged_k": 10,
        "n_resamples": 200,
        "seed": 0,
        "options": {},
    }
    return measure(runs, qrels, [pr.parse(name) for name in metrics], Settings(**settings | given))


def write(tmp_path, runs=RUNS, metrics=("precision@1", "recall"), qrels=QRELS, **options):
    path = tmp_path / "report.html"
    write_report(path, runs, qrels, metrics, **{"n_resamples": 200} | options)
    return path.read_text(encoding="utf-8")


def data_of(page):
    return json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page)[1])


def test_means_are_those_of_evaluate():
    shown = sections(contents_of(), {})["means"]
    assert [row["system"] for row in shown] == ["good", "bad"]
    assert [[cell["mean"] for cell in row["cells"]] for row in shown] == [
        [pytest.approx((1 + 1 + 1) / 3)] * 2,
        [pytest.approx((0 + 0 + 0) / 3), pytest.approx((1 + 0 + 0) / 3)],
    ]
    assert [[cell["best"] for cell in row["cells"]] for row in shown] == [[True, True], [False, False]]


def test_the_best_of_a_measure_may_be_the_lowest():
    shown = sections(contents_of(metrics=["fall_out@1"]), {})["means"]
    assert [row["cells"][0]["best"] for row in shown] == [True, False]


def test_a_significant_difference_is_better_or_worse():
    runs = {system: demo.run().filter(system=system).drop("system", "digit") for system in ("coarse", "pixels")}
    found = sections(contents_of(runs, ["precision@10", "fall_out@10"], demo.qrels()), {})
    assert [[cell["verdict"] for cell in row["cells"]] for row in found["means"]] == [["", ""], ["better", "better"]]
    assert [row["direction"] for row in found["comparison"]] == ["better", "better"]
    assert found["comparison"][0]["difference"] > 0 > found["comparison"][1]["difference"]


def test_counts_of_runs_and_judgments():
    unjudged = pl.DataFrame({"query_id": ["q4"], "doc_id": ["a"], "score": [1.0]})
    with pytest.warns(RetrievalWarning, match="1 queries of the run have no judgments") as caught:
        found = contents_of({"good": GOOD, "bad": pl.concat([BAD, unjudged])})
    assert len(caught) == 1
    assert found.judged == {"queries": 3, "documents": 4, "relevant": 3}
    assert found.runs.to_dicts() == [
        {"queries": 3, "documents": 4, "system": "good", "unjudged": 0, "missing": 0},
        {"queries": 3, "documents": 4, "system": "bad", "unjudged": 1, "missing": 1},
    ]


def test_values_of_queries_are_those_of_per_query(tmp_path):
    data = data_of(write(tmp_path))
    assert data["ids"] == [["q1", "q2", "q3"]]
    assert data["systems"] == ["good", "bad"]
    assert data["baseline"] == 0
    assert data["values"] == [[[1, 1, 1], [0, 0, 0]], [[1, 1, 1], [1, 0, 0]]]


def test_gains_come_first_and_documents_with_their_ranks():
    (shown,) = sections(contents_of(metrics=["precision@1", "recall"]), {})["differences"]
    assert shown["name"] == "bad"
    assert {row["query"]: row["difference"] for row in shown["rows"]} == {"q1": -1, "q2": -1, "q3": -1}
    first = next(row for row in shown["rows"] if row["query"] == "q1")
    assert first["documents"] == [{"doc": "a", "baseline": 1, "system": 2}]
    assert (first["direction"], first["more"]) == ("worse", 0)


def test_where_lower_is_better_gains_come_first_too():
    runs = {"bad": BAD, "good": GOOD}
    (shown,) = sections(contents_of(runs, ["fall_out@1"]), {})["differences"]
    assert [(row["query"], row["difference"], row["direction"]) for row in shown["rows"]] == [
        ("q1", -1, "better"),
        ("q2", -1, "better"),
    ]


def test_only_the_largest_differences_and_first_documents_are_shown():
    ids = [f"q{number:02}" for number in range(20)]
    docs = [f"d{number}" for number in range(10)]
    qrels = pl.DataFrame({"query_id": ids}).join(pl.DataFrame({"doc_id": docs}), how="cross").with_columns(relevance=1)
    run = qrels.drop("relevance").with_columns(score=pl.lit(1.0))
    fewer = run.filter(pl.col("doc_id") != "d0")  # loses a tenth of recall in every query
    (shown,) = sections(contents_of({"run": run, "fewer": fewer}, ["recall"], qrels), {})["differences"]
    assert [row["direction"] for row in shown["rows"]] == ["worse"] * 5
    assert [(len(row["documents"]), row["more"]) for row in shown["rows"]] == [(6, 10 - 6)] * 5


def test_one_system_is_not_compared(tmp_path):
    page = write(tmp_path, {"good": GOOD})
    assert "Comparison" not in page
    assert data_of(page)["baseline"] is None


def test_a_frame_of_systems_or_a_dictionary(tmp_path):
    frame = pl.concat([run.with_columns(run_id=pl.lit(name)) for name, run in RUNS.items()])
    assert without_time(write(tmp_path, frame)) == without_time(write(tmp_path))


def without_time(page):
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "", page)


def test_integers_as_ids_and_systems(tmp_path):
    run = pl.DataFrame({"run_id": [1, 2], "query_id": [7, 7], "doc_id": [3, 4], "score": [1, 1]})
    qrels = pl.DataFrame({"query_id": [7], "doc_id": [4], "relevance": [1]}, schema_overrides={"query_id": pl.Int32})
    data = data_of(write(tmp_path, run, qrels=qrels, baseline=2))
    assert data["systems"] == ["1", "2"]
    assert data["baseline"] == 1
    assert data["ids"] == [["7"]]
    assert data["values"][0] == [[0], [1]]


def test_several_columns_may_name_a_query(tmp_path):
    def split(frame):
        return frame.with_columns(language=pl.lit("en"))

    runs = {name: split(run) for name, run in RUNS.items()}
    data = data_of(write(tmp_path, runs, qrels=split(QRELS), query=["language", "query_id"]))
    assert data["names"] == ["language", "query_id"]
    assert data["ids"] == [["en"] * 3, ["q1", "q2", "q3"]]


def test_the_page_says_by_which_conventions(tmp_path):
    page = write(tmp_path, ties="pessimistic", min_relevance=2, notes={"Depth": "the first 5"}, level=0.9)
    for told in ("the relevant ones last", "a grade of at least 2", "the first 5", "90 % interval", pr.__version__):
        assert told in page


def test_every_choice_of_an_option_is_told():
    for choices, told in (
        (Ties, TIES),
        (Unjudged, UNJUDGED),
        (MissingQueries, MISSING_QUERIES),
        (EmptyTargetAction, EMPTY),
    ):
        assert set(told) == set(get_args(choices))


HOSTILE = "</script><script>alert(1)</script>"


def test_names_are_escaped_wherever_they_stand(tmp_path):
    renamed = {HOSTILE + name: run.with_columns(pl.col("query_id", "doc_id") + HOSTILE) for name, run in RUNS.items()}
    page = write(
        tmp_path,
        renamed,
        qrels=QRELS.with_columns(pl.col("query_id", "doc_id") + HOSTILE),
        title=HOSTILE,
        notes={HOSTILE: HOSTILE},
        sources=dict.fromkeys(renamed, HOSTILE),
    )
    assert HOSTILE not in page
    assert page.count("</script>") == 2
    assert data_of(page)["ids"][0][0] == "q1" + HOSTILE


def test_nothing_is_loaded_from_elsewhere(tmp_path):
    page = write(tmp_path)
    names = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}  # names of languages, not addresses to load
    assert set(re.findall(r"https?://[^\"' <)]+", page)) <= names
    assert not re.search(r"<link(?! rel=\"icon\" href=\"data:,\")|@import|url\((?!#)", page)


def test_scripts_other_than_the_pages_own_may_not_run(tmp_path):
    page = write(tmp_path)
    allowed = re.search(r"script-src 'sha256-([^']+)'", page)[1]
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() == allowed


def test_text_that_cannot_be_written_is_replaced(tmp_path):
    assert "Depth?" in write(tmp_path, notes={"Depth\udc80": "from a name of a file that is no text"})


def test_queries_that_differ_are_refused_unless_asked_for(tmp_path):
    with pytest.raises(DataError, match="`bad` lacks 1 of 3: query_id 'q3'"):
        write(tmp_path, missing_queries="skip")
    with pytest.warns(RetrievalWarning, match="leaves out 1 of 3 queries"):
        data = data_of(write(tmp_path, missing_queries="skip", queries="common"))
    assert data["values"][1] == [[1, 1, 1], [1, 0, None]]


def test_wrong_input_is_named(tmp_path):
    with pytest.raises(ParameterError, match=r"`baseline` has to be one of .*`good`, `bad`, got 'goo'"):
        write(tmp_path, baseline="goo")
    with pytest.raises(ParameterError, match="`max_k` has to be a positive integer"):
        write(tmp_path, max_k=0)
    with pytest.raises(ColumnError, match="no column `run_id` for `by`"):
        write(tmp_path, GOOD)
    with pytest.raises(DataError, match="no document"):
        write(tmp_path, {"good": GOOD.clear()})
    with pytest.warns(RetrievalWarning), pytest.raises(DataError, match="no query of `other` has judgments"):
        write(tmp_path, RUNS | {"other": GOOD.with_columns(pl.col("query_id") + "x")})
    with pytest.raises(DataError, match="`run_id` has 4 nulls"):
        write(tmp_path, GOOD.with_columns(run_id=pl.lit(None, dtype=pl.String)))


def test_a_missing_package_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(report, "find_spec", lambda name: None if name == "jinja2" else name)
    with pytest.raises(ModuleNotFoundError, match=r"needs jinja2.*polars-retrieval\[report\]"):
        write(tmp_path)
