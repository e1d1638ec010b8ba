"""`evaluate --trec` against what trec_eval printed, byte for byte."""

from __future__ import annotations

import math
import random

import pytest

import polars_retrieval as pr
from polars_retrieval.cli import main
from polars_retrieval.cli.measure_names import expand
from polars_retrieval.cli.trec_form import trec_names

# trec_eval's measures that are not here, in its set `all_trec`. Without them, the lines are those of trec_eval.
NOT_HERE = ("infAP", "utility", "binG", "G", "ndcg_rel", "Rndcg", "set_relative_P", "set_map", "num_nonrel_judged_ret")
NOT_HERE += ("rbp", "rbp_resid", "unj_", "relstring", "Rprec_mult")


def is_here(line):
    name = line.split()[0]
    return name not in NOT_HERE and not name.startswith(("unj_", "relstring", "Rprec_mult", "utility_", "11pt_avg_"))


@pytest.fixture(scope="module")
def folder(shared):
    return shared / "data" / "trec_eval-test"


@pytest.fixture
def printed(folder, capsys):
    """Return a function from options and the names of the two files to what the command prints."""

    def run(*options, qrels, results):
        assert main(["evaluate", "--trec", *options, str(folder / qrels), str(folder / results)]) == 0
        return capsys.readouterr().out

    return run


@pytest.mark.shared
@pytest.mark.parametrize(
    ("qrels", "results", "golden"),
    [
        ("qrels.test", "results.test", "out.test"),
        ("qrels.test.with-comments", "results.test", "out.test"),
        ("qrels.comment.test.gz", "results.comment.test.gz", "out.comment.test"),
    ],
)
def test_the_official_measures_are_those_of_trec_eval_to_the_byte(folder, printed, qrels, results, golden):
    expected = (folder / golden).read_text()
    assert printed(qrels=qrels, results=results) == expected
    assert printed("-m", "official", qrels=qrels, results=results) == expected


@pytest.mark.shared
@pytest.mark.parametrize(
    ("options", "qrels", "results", "golden"),
    [
        ([], "qrels.test", "results.test", "out.test.a"),
        (["-q"], "qrels.test", "results.test", "out.test.aq"),
        (["-q", "-c"], "qrels.test", "results.trunc", "out.test.aqc"),
        (["-q", "-c", "-M100"], "qrels.test", "results.trunc", "out.test.aqcM"),
        (["-q", "-l2"], "qrels.rel_level", "results.test", "out.test.aql"),
    ],
)
def test_all_measures_that_are_here_are_those_of_trec_eval_to_the_byte(
    folder, printed, options, qrels, results, golden
):
    expected = (folder / golden).read_text().splitlines(keepends=True)
    out = printed("-m", "all_trec", *options, qrels=qrels, results=results)
    assert out == "".join(line for line in expected if is_here(line))
    official = {line.split()[0] for line in (folder / "out.test").read_text().splitlines()}
    out = printed(*options, qrels=qrels, results=results)
    assert out == "".join(line for line in expected if line.split()[0] in official)


@pytest.mark.shared
def test_parameters_are_given_as_to_trec_eval(folder, printed):
    # Without the measures that are not here: Rprec_mult, utility, other levels of 11pt_avg, other gains of ndcg. And
    # trec_eval cuts at 23 where it is told 23.4; here that is an error.
    options = ["-q", "-miprec_at_recall..10,.20,.25,.75,.50", "-m", "P.5,7,3", "-m", "recall.20,2000"]
    options += ["-mndcg_cut.10,20,23", "-msuccess.2,5,20"]
    expected = (folder / "out.test.meas_params").read_text().splitlines(keepends=True)
    lines = [line for line in expected if is_here(line) and not line.startswith("ndcg_1=3")]
    assert printed(*options, qrels="qrels.test", results="results.test") == "".join(lines)
    assert len(lines) == 4 * (5 + 3 + 2 + 3 + 3)


@pytest.fixture
def files(tmp_path):
    """Return the paths of judgments and a run: q1 with ranks 1, 3 of 4 relevant, q2 without, q3 not in the run."""
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("q1 0 a 1\nq1 0 b -1\nq1 0 c 2\nq1 0 d 0\nq2 0 a 1\nq3 0 a 1\n")
    run.write_text(
        "q1 Q0 a 1 4 tag\nq1 Q0 b 2 3 tag\nq1 Q0 c 3 2 tag\nq1 Q0 d 4 1 tag\nq2 Q0 x 1 1 tag\nq9 Q0 x 1 1 tag\n"
    )
    return str(qrels), str(run)


def values(out):
    """Read lines as a dictionary from name and query to value."""
    return {tuple(line.split("\t")[:2]): line.split("\t")[2] for line in out.replace(" ", "").splitlines()}


def test_sums_means_and_geometric_means(files, capsys):
    assert main(["evaluate", "--trec", "-q", "-m", "official", "-m", "gm_bpref", *files]) == 0
    out, err = capsys.readouterr()
    found = values(out)
    ap = (1 + 2 / 3) / 2
    assert found["num_q", "all"] == "2"
    assert found["runid", "all"] == "tag"
    assert (found["num_ret", "q1"], found["num_ret", "q2"], found["num_ret", "all"]) == ("4", "1", "5")
    assert found["num_rel", "all"] == "3"
    assert found["map", "q1"] == f"{ap:.4f}"
    assert found["map", "all"] == f"{ap / 2:.4f}"
    assert found["gm_map", "all"] == f"{math.sqrt(ap * 1e-5):.4f}"
    assert found["gm_bpref", "all"] == f"{math.sqrt(1 * 1e-5):.4f}"
    assert not [name for name, query in found if query != "all" and name in ("gm_map", "num_q", "runid")]
    assert not [query for _, query in found if query in ("q3", "q9")]
    assert "1 judged queries are not in the run and left out; -c counts them as 0" in err
    assert "1 queries of the run have no judgments and are left out, the first query_id 'q9'" in err
    assert len(err.splitlines()) == 2


def test_all_judged_queries_count_with_c(files, capsys):
    main(["evaluate", "--trec", "-c", "-m", "map,num_q,num_rel,gm_map", *files])
    ap = (1 + 2 / 3) / 2
    assert capsys.readouterr().out == "".join(
        f"{name:<22}\tall\t{value}\n"
        for name, value in [
            ("num_q", 3),
            ("num_rel", 4),
            ("map", f"{ap / 3:.4f}"),
            ("gm_map", f"{(ap * 1e-5**2) ** (1 / 3):.4f}"),
        ]
    )


def test_judged_only_takes_a_negative_grade_for_none(files, capsys):
    # As trec_eval: q2 keeps no document, and counts.
    main(["evaluate", "--trec", "-J", "-q", "-m", "num_ret", "-m", "map", "-m", "num_q", *files])
    found = values(capsys.readouterr().out)
    assert (found["num_ret", "q1"], found["num_ret", "q2"]) == ("3", "0")
    assert found["map", "q1"] == "1.0000"
    assert found["num_q", "all"] == "2"


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("judged_only", [False, True])
def test_random_runs_are_as_in_pytrec_eval(tmp_path, capsys, level, judged_only):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    draw = random.Random(5)  # noqa: S311 (no secret)
    queries = [f"q{n:02}" for n in range(12)]
    qrels = {q: {f"d{draw.randrange(40)}": draw.randint(-1, 3) for _ in range(15)} for q in queries}
    run = {q: {f"d{n}": draw.randrange(64) / 8 for n in draw.sample(range(40), 20)} for q in queries[2:]}
    pr.write_qrels(qrels, tmp_path / "qrels")
    pr.write_run(run, tmp_path / "run")
    names = [
        "num_ret",
        "num_rel",
        "num_rel_ret",
        "map",
        "Rprec",
        "bpref",
        "recip_rank",
        "P_5",
        "recall_10",
        "success_5",
    ]
    options = ["-q", f"-l{level}", *(["-J"] if judged_only else []), "-m", ",".join(names)]
    assert main(["evaluate", "--trec", *options, str(tmp_path / "qrels"), str(tmp_path / "run")]) == 0
    found = values(capsys.readouterr().out)
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels, set(names), relevance_level=level, judged_docs_only_flag=judged_only
    )
    theirs = evaluator.evaluate(run)
    expected = {(name, q): float(f"{theirs[q][name]:.4f}") for q in theirs for name in names}
    assert {key: float(value) for key, value in found.items() if key[1] != "all"} == expected


def test_depth_cuts_before_documents_without_judgment_go(files, capsys):
    main(["evaluate", "--trec", "-J", "-M2", "-q", "-m", "num_ret", *files])
    assert values(capsys.readouterr().out)["num_ret", "q1"] == "1"


def test_ties_are_broken_by_document_id_or_as_asked(tmp_path, capsys):
    (tmp_path / "qrels").write_text("q 0 a 1\n")
    (tmp_path / "run").write_text("q Q0 a 1 1.0 t\nq Q0 b 2 1.0 t\n")
    files = [str(tmp_path / "qrels"), str(tmp_path / "run")]
    expected = {"doc_id": "0.5000", "stable": "1.0000", "optimistic": "1.0000", "pessimistic": "0.5000"}
    for ties, value in expected.items():
        main(["evaluate", "--trec", "-m", "recip_rank", "-m", "iprec_at_recall", "--ties", ties, *files])
        found = values(capsys.readouterr().out)
        assert found["recip_rank", "all"] == found["iprec_at_recall_0.50", "all"] == value
    for options, value in ([], expected["doc_id"]), (["--ties", "expected"], "0.7500"):
        main(["evaluate", "--trec", "-m", "recip_rank", *options, *files])
        assert values(capsys.readouterr().out)["recip_rank", "all"] == value


def test_official_measures_under_expected_where_no_tie_matters(files, capsys):
    main(["evaluate", "--trec", "-q", *files])
    expected = capsys.readouterr().out
    main(["evaluate", "--trec", "-q", "--ties", "expected", *files])
    assert capsys.readouterr().out == expected


def test_interpolated_precision_rounds_as_trec_eval_10(tmp_path, capsys):
    # Of three relevant documents, recall 0.1 takes none for trec_eval and one here; 0.7 takes two, and three here.
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b 1\nq 0 d 1\n")
    (tmp_path / "run").write_text("q Q0 a 1 4 t\nq Q0 b 2 3 t\nq Q0 c 3 2 t\nq Q0 d 4 1 t\n")
    files = [str(tmp_path / "qrels"), str(tmp_path / "run")]
    main(["evaluate", "--trec", "-m", "iprec_at_recall.0.7", "-m", "11pt_avg", *files])
    found = values(capsys.readouterr().out)
    assert found["iprec_at_recall_0.70", "all"] == f"{2 / 2:.4f}"
    assert found["11pt_avg", "all"] == f"{(9 * 1 + 2 * 3 / 4) / 11:.4f}"
    main(["evaluate", "--format", "csv", "-m", "iprec_at_recall.0.7", *files])
    assert float(capsys.readouterr().out.splitlines()[1].split(",")[1]) == 3 / 4


def test_a_tag_alone(files, capsys):
    assert main(["evaluate", "--trec", "-q", "-m", "runid", *files]) == 0
    assert capsys.readouterr().out == "runid                 \tall\ttag\n"


def test_a_run_that_finds_nothing_is_0_throughout(tmp_path, capsys):
    (tmp_path / "qrels").write_text("q 0 a 1\n")
    (tmp_path / "run").write_text("q Q0 b 1 4 t\n")
    assert main(["evaluate", "--trec", "-m", "all_trec", str(tmp_path / "qrels"), str(tmp_path / "run")]) == 0
    found = {name: value for (name, _), value in values(capsys.readouterr().out).items() if name != "runid"}
    assert {name: value for name, value in found.items() if float(value)} == {
        **dict.fromkeys(("num_q", "num_ret", "num_rel"), "1"),
        # the geometric means of 0.00001 alone are 0.0000 to four decimals
    }


def test_several_runs_are_printed_one_after_another(files, tmp_path, capsys):
    other = tmp_path / "other"
    other.write_text("q1 Q0 c 1 1 second\nq2 Q0 a 1 1 second\n")
    output = tmp_path / "out.txt"
    assert main(["evaluate", "--trec", "-m", "runid", "-m", "P.1", *files, str(other), "--output", str(output)]) == 0
    assert capsys.readouterr().out == ""
    expected = [("runid", "tag"), ("P_1", "0.5000"), ("runid", "second"), ("P_1", "1.0000")]
    assert output.read_text() == "".join(f"{name:<22}\tall\t{value}\n" for name, value in expected)


def test_names_of_measures_that_trec_eval_lacks_stand_as_they_are(files, capsys):
    main(["evaluate", "--trec", "-m", "judged@2,map", "-m", "ndcg(gain=exponential)@3,rbp", *files])
    names = [line.split("\t")[0].strip() for line in capsys.readouterr().out.splitlines()]
    assert names == ["map", "judged@2", "ndcg(gain=exponential)@3", "RBP(p=0.8)"]


def test_order_and_meaning_of_names():
    assert trec_names(["P.100,5", "num_q", "recall.5", "R@5", "AP"]) == ["num_q", "map", "P_5", "P_100", "recall_5"]
    assert trec_names(["recall"]) == [f"recall_{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)]
    assert trec_names(["SetR"]) == ["set_recall"]


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (["P_10, map"], ["P_10", "map"]),
        (["P.5,10", "recall@5,recall"], ["P_5", "P_10", "recall@5", "recall"]),
        (["map,11pt_avg"], ["map", "11pt_avg"]),
        (["iprec_at_recall..1,.25"], ["iprec_at_recall_0.10", "iprec_at_recall_0.25"]),
        (["f_measure(beta=2,k=5),map"], ["f_measure(beta=2,k=5)", "map"]),
        (["success"], ["success_1", "success_5", "success_10"]),
        (["P.1,map,2"], ["P_1", "map", "2"]),
    ],
)
def test_names_split_at_commas(texts, names):
    assert expand(texts, trec=False) == names
