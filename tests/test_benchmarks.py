"""The benchmarks run, build what they say, and refuse to time a peer that gives other values."""

import sys

import numpy as np
import polars as pl
import pytest

pytest.importorskip("benchmarks", reason="the benchmarks are no part of an installed package")

import polars_retrieval as pr
from benchmarks import command
from benchmarks.__main__ import main
from benchmarks.by_hand import polars_sorted_once
from benchmarks.family import TOOLS, measure_family
from benchmarks.memory import peak_ratio
from benchmarks.peers import PEERS, Peer
from benchmarks.report import page
from benchmarks.targets import Measured, Target, targets
from benchmarks.timing import Times, measure
from benchmarks.values import Values, check
from benchmarks.workloads import VARIANTS, WORKLOADS, Variant, build, first_queries, matching

MAIN = Variant("grouped", "float32", "int64")
SMALL = {name: workload.scaled(0.002) for name, workload in WORKLOADS.items()}


def test_workload_has_the_stated_size_and_relevant_documents():
    frame = build(WORKLOADS["A"].scaled(0.1), MAIN)
    per_query = frame.group_by("query_id").agg(pl.len(), pl.col("relevance").sum())
    assert per_query.height == 698
    assert per_query["len"].unique().to_list() == [1000]
    assert per_query["relevance"].min() == 1
    assert 698 < per_query["relevance"].sum() < 1.15 * 698
    assert abs(build(SMALL["D"], MAIN)["relevance"].mean() - 0.1) < 0.01


@pytest.mark.parametrize("name", WORKLOADS)
def test_forms_hold_the_same_rows(name):
    sort = ("query_id", "score", "relevance")
    expected = build(SMALL[name], MAIN).sort(sort)
    for order in ("shuffled", "ranked"):
        assert build(SMALL[name], Variant(order, "float32", "int64")).sort(sort).equals(expected)
    strings = build(SMALL[name], Variant("grouped", "float32", "string"))
    codes = strings["query_id"].str.strip_prefix("q").cast(pl.Int64)
    assert strings.with_columns(query_id=codes).sort(sort).equals(expected)


def test_orders_are_what_they_are_called():
    grouped, shuffled, ranked = (
        build(SMALL["B"], Variant(order, "float64", "int64")) for order in ("grouped", "shuffled", "ranked")
    )
    assert grouped["query_id"].is_sorted()
    assert not shuffled["query_id"].is_sorted()
    assert ranked.equals(ranked.sort("query_id", "score", descending=[False, True]))
    assert not any(flags["SORTED_ASC"] for flags in ranked.flags.values())
    assert grouped.equals(build(SMALL["B"], Variant("grouped", "float64", "int64")))


def test_first_queries_keeps_whole_queries():
    frame = build(SMALL["B"], Variant("shuffled", "float32", "int64"))
    part = first_queries(frame, 7)
    assert part["query_id"].n_unique() == 7
    assert part.height == 7 * 100


def test_variants_are_chosen_by_pattern():
    assert matching(["*"]) == VARIANTS
    assert [str(variant) for variant in matching(["shuffled-float32-*"])] == [
        "shuffled-float32-int64",
        "shuffled-float32-string",
    ]


@pytest.mark.parametrize("order", ["grouped", "shuffled", "ranked"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_every_peer_gives_the_same_values_and_is_timed(name, order):
    peers = [peer for peer in PEERS.values() if peer.is_here()]
    times = measure(SMALL[name], Variant(order, "float32", "int64"), peers, repeat=1, slow_queries=5)
    assert {"ours", "two-calls", "polars", "polars-once"} <= times.seconds.keys()
    assert all(len(seconds) == 1 and seconds[0] > 0 for seconds in times.seconds.values())


def test_a_peer_with_other_values_is_not_timed():
    def wrong(frame):
        values = polars_sorted_once(frame)
        return values._replace(recall=values.recall + 1e-6)

    peer = Peer("wrong", "", lambda _workload, _variant: wrong, tolerance=1e-9)
    with pytest.raises(AssertionError, match=r"wrong: recall is off by 1\.0e-06, allowed is 1e-09"):
        measure(SMALL["B"], MAIN, [peer], repeat=1, slow_queries=5)


def test_check_takes_any_order_of_a_tie_and_nothing_beyond():
    def values(precision):
        return Values((precision, 0.5, 0.5, 0.5), np.array([precision]), np.array([0.5]))

    low, high = values(0.25), values(0.2504)
    check("a peer", values(0.2502), low, high, 1e-9)
    with pytest.raises(AssertionError, match="a peer: measures is off"):
        check("a peer", values(0.2505), low, high, 1e-9)
    with pytest.raises(AssertionError, match="a peer: measures is off"):
        check("a peer", values(float("nan")), low, high, 1e-9)
    with pytest.raises(AssertionError, match=r"ties move measures by 2\.5e-01"):
        check("a peer", values(0.3), low, values(0.5), 1e-9)


def test_a_target_is_met_on_the_right_side_of_its_figure():
    assert Target("", "at least", 3, 3.5).verdict() == "met"
    assert Target("", "at least", 3, 2.5).verdict() == "**not met**"
    assert Target("", "at most", 3, 2.5).verdict() == "met"
    assert Target("", "at most", 3, None).verdict() == "not measured"


def test_ratios_come_from_the_least_times_of_the_right_form():
    main = Times(WORKLOADS["B"], MAIN, {"ours": [0.2, 0.1], "polars": [0.7, 0.4], "numba": [0.05]})
    other = Times(WORKLOADS["B"], Variant("grouped", "float64", "int64"), {"ours": [1.0], "polars": [1.0]})
    found = {target.text: target.measured for target in targets(Measured(times=[other, main]))}
    assert found["polars / ours on B grouped"] == pytest.approx(0.4 / 0.1)
    assert found["ours / numba on B grouped"] == pytest.approx(0.1 / 0.05)
    assert found["polars / ours on B shuffled"] is None


def test_page_shows_times_and_factors():
    times = Times(WORKLOADS["B"], MAIN, {"ours": [0.2, 0.1], "polars": [0.7, 0.4]})
    text = page(Measured(times=[times], import_seconds=[0.01]), repeat=2, slow_queries=50, scale=1)
    assert "| grouped-float32-int64 | 100 (150) | 400 (550) **4x** |" in text
    assert "| polars / ours on B grouped | at least 3 | 4 | met |" in text
    assert "| import beyond that of polars | at most 50 ms | 10 ms | met |" in text


def test_memory_is_measured_in_its_own_process():
    ratio = peak_ratio(WORKLOADS["B"].scaled(0.05), MAIN, "polars-once")
    assert 0.5 < ratio < 20  # it copies the relevance into lists, at least


def test_command_writes_the_page(tmp_path, capsys):
    output = tmp_path / "results.md"
    main(
        "--workloads B --variants grouped-float32-int64 --peers ours polars --parts times import --repeat 1 "
        f"--scale 0.01 --import-runs 1 --output {output}".split()
    )
    text = output.read_text(encoding="utf-8")
    assert "## B: 1,000 queries x 100 documents, 10% relevant" in text
    assert "| polars / ours on B grouped | at least 3 | " in text
    assert f"written to {output}" in capsys.readouterr().out


def test_family_of_measures():
    frame = build(SMALL["B"], MAIN)
    costs = measure_family(frame, repeat=1, sample=first_queries(frame, 50), factor=4)
    assert costs.n_all == pr.metrics().height
    assert all(seconds > 0 for seconds in (costs.one, costs.all, costs.ranking, *costs.cutoffs.values()))
    text = page(Measured(family=[costs]), repeat=1, slow_queries=50, scale=0.002)
    assert "all measures / precision@10 alone on B" in text
    assert f"| ours | {1000 * costs.tools['ours']:,.0f} | 1x |" in text


def test_a_tool_with_other_values_is_not_timed(monkeypatch):
    monkeypatch.setitem(TOOLS, "polars", lambda _frame: {"precision@10": 2.0})
    frame = build(SMALL["B"], MAIN)
    with pytest.raises(AssertionError, match=r"polars gives 2\.0 for precision@10"):
        measure_family(frame, repeat=1, sample=first_queries(frame, 50), factor=4)


class TestCommand:
    def test_measures_whole_processes(self, tmp_path):
        text = command.measure(tmp_path, None, repeat=1, scale=0.002)
        assert "| polars_retrieval, from text |" in text
        assert "14 queries x 1,000 documents with string ids (14,000 lines" in text

    def test_refuses_a_program_that_gives_other_values(self, tmp_path, monkeypatch):
        code = "import sys; print(*(f'{name} all 0.5' for name in sys.argv[1:]), sep=chr(10))"
        ours = [sys.executable, "-c", code, *command.MEASURES]
        others = [sys.executable, "-c", code.replace("0.5", "0.6"), *command.MEASURES]
        processes = [
            command.Process("ours", ours),
            command.Process("parquet", ours),
            command.Process("trec_eval", others),
        ]
        monkeypatch.setattr(command, "list_processes", lambda *_: processes)
        with pytest.raises(AssertionError, match="trec_eval"):
            command.measure(tmp_path, None, repeat=1, scale=0.002)


class TestTorchMemory:
    @pytest.fixture
    def torch_memory(self):
        pytest.importorskip("torchmetrics")
        from benchmarks import torch_memory

        return torch_memory

    @pytest.fixture
    def in_this_process(self, torch_memory, monkeypatch):
        def call(function, *arguments):
            return function(*arguments)

        monkeypatch.setattr(torch_memory, "_in_own_process", call)

    @pytest.mark.usefixtures("in_this_process")
    def test_writes_the_page(self, torch_memory, monkeypatch, tmp_path):
        monkeypatch.setattr(torch_memory, "UPDATE_COUNTS", (10,))
        output = tmp_path / "torch_memory.md"
        torch_memory.main(f"--repeat 1 --scale 0.01 --settings 2 --output {output}".split())
        text = output.read_text(encoding="utf-8")
        whole, complete = 10 * 10_000 * (4 + 8 + 8) / 1e6, 10 * 100 * (8 + 8) / 1e6
        assert f"| updates of 10,000 rows, other queries | whole | {whole:.1f} | {whole:.1f} | " in text
        assert f"| updates of 10,000 rows, other queries | complete | {complete:.1f} | {complete:.1f} | " in text
        assert f"| the same 10,000 queries | compute after 10 updates | {whole:.0f} | " in text
        assert (
            "| updates of 10,000 rows, other queries: largest state, complete / whole | at most 0.01 | 0.008 | met |"
            in text
        )

    def test_measures_in_a_process_of_its_own(self, torch_memory):
        size, above = torch_memory._in_own_process(torch_memory.measure_peak, "same", 10, 1_000_000)
        assert size == 1_000_000 * (4 + 8 + 8)
        assert 0.2 < above / size < 20

    @pytest.mark.parametrize("queries", ["other", "same"])
    def test_a_tenth_of_each_querys_documents_is_relevant(self, torch_memory, queries):
        batches = [torch_memory.make_batch(queries, 1_000, number) for number in range(100)]
        columns = (np.concatenate(column) for column in zip(*batches, strict=True))
        frame = pl.DataFrame(dict(zip(("score", "relevance", "query"), columns, strict=True)))
        per_query = frame.group_by("query").agg(pl.len(), pl.col("relevance").sum())
        assert per_query["len"].unique().to_list() == [100 if queries == "other" else 10]
        assert per_query["relevance"].unique().to_list() == [10 if queries == "other" else 1]
        assert frame["score"].n_unique() > 0.99 * frame.height

    def test_refuses_another_value(self, torch_memory):
        right = torch_memory.Kept(0, 0, 0, 0, 0, value=0.5)
        with pytest.raises(AssertionError, match=r"compact: the value is off by 1\.0e-05, allowed is 1e-06"):
            torch_memory.check({"whole": right, "compact": right._replace(value=0.50001)})
