"""The ranking on the device is that of the core, number for number, whatever the tensors."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("torchmetrics")

from torch import tensor  # noqa: E402

import polars_retrieval as pr  # noqa: E402
from polars_retrieval.errors import DataError, EmptyTargetError, ParameterError  # noqa: E402
from polars_retrieval.options import Options  # noqa: E402
from polars_retrieval.ranked_frame import rank_frame  # noqa: E402
from polars_retrieval.torch import device as device_module  # noqa: E402
from polars_retrieval.torch.batches import batches_frame  # noqa: E402
from polars_retrieval.torch.device import TENSOR_COLUMNS, DeviceLists, rank_on_device  # noqa: E402
from polars_retrieval.torch.inputs import COLUMNS, check_batch  # noqa: E402

TIES = ("expected", "stable", "pessimistic", "optimistic")
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32)
READS = ((), ("grade",), ("judged",), ("grade", "judged"))

# Few values, so that ties are common, among them neighbours that only float64 tells apart.
SCORES = (-2.5, -1.0, -0.0, 0.0, 0.5, 0.5 + 2**-40, 3.0, math.inf, -math.inf, 5e-324, -5e-324)
QUERY_IDS = (0, 1, 2, 7, 100)
WIDE_QUERY_IDS = (0, 1, -7, 2**62 + 12345, -(2**63), 2**63 - 1)
HIGH_QUERY_IDS = (2**63 - 1, 2**63 - 2, 2**63 - 9)
GRADES = (0, 0, 0, 1, 1, 2, 3, -1)

# What the torch classes measure, without and with a cutoff.
MEASURES = [
    *("r_precision", "precision", "recall@2", "precision(adaptive_k=True)@3", "hit_rate@2", "fall_out@2"),
    *("reciprocal_rank@3", "average_precision(denominator=hits)@3", "ndcg@3", "ndcg(gain=exponential)", "auroc@4"),
]

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
DEVICES = ("cpu", pytest.param("cuda", marks=[pytest.mark.gpu, needs_gpu]))


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Let torch work on one thread: on small tensors, several wait for each other, for seconds if others are busy."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@st.composite
def batches(draw):
    """Draw preds, target and indexes: rows of a query together or apart, numbers near or far from each other."""
    n = draw(st.integers(1, 24))
    ids = draw(st.sampled_from([QUERY_IDS, QUERY_IDS, WIDE_QUERY_IDS, HIGH_QUERY_IDS]))
    index_type = draw(st.sampled_from(INTEGERS)) if ids is QUERY_IDS else torch.int64
    indexes = draw(st.lists(st.sampled_from(ids), min_size=n, max_size=n))
    if draw(st.booleans()):
        indexes = sorted(indexes, reverse=draw(st.booleans()))
    preds = torch.tensor(draw(st.lists(st.sampled_from(SCORES), min_size=n, max_size=n)), dtype=torch.float64)
    return preds.to(draw(st.sampled_from(FLOATS))), draw(targets(n)), torch.tensor(indexes).to(index_type)


@st.composite
def targets(draw, n):
    if draw(st.booleans()):
        grades = [g / 4 for g in range(-2, 9)]
        return torch.tensor(draw(st.lists(st.sampled_from(grades), min_size=n, max_size=n)))
    grades = draw(st.sampled_from([(0, 1), (0,), (1,), GRADES, (0, 1, 300)]))
    target = torch.tensor(draw(st.lists(st.sampled_from(grades), min_size=n, max_size=n)))
    return target.bool() if draw(st.booleans()) else target.to(draw(st.sampled_from((torch.int64, torch.int16))))


def assert_same_ranking(preds, target, indexes, *, device="cpu", reads=(), ignore_index=None, **options):
    """Rank with the core and on the device, and compare all that a ranking holds."""
    frame = batches_frame(*([tensor] for tensor in check_batch(preds, target, indexes, None, graded=True)))
    expected = rank_frame(frame, TENSOR_COLUMNS, Options(ignore_index=ignore_index, **options), frozenset(reads))
    given = check_batch(*(t.to(device) for t in (preds, target, indexes)), ignore_index, graded=True)
    found = rank_on_device(*given, Options(**options), frozenset(reads))
    assert found.hits.collect().equals(expected.hits.collect())
    assert found.hits.collect_schema() == expected.hits.collect_schema()
    assert found.queries.equals(expected.queries)
    assert found.queries.schema == expected.queries.schema
    assert found.levels.equals(expected.levels)
    assert found.has_ties == expected.has_ties
    assert found.reads == expected.reads
    assert (found.ideal is None) == (expected.ideal is None)
    assert expected.ideal is None or found.ideal.equals(expected.ideal)
    assert found.grouping.ids.equals(expected.grouping.ids)
    assert found.grouping.ids.schema == expected.grouping.ids.schema
    assert found.grouping.numbers_in_order().to_list() == expected.grouping.numbers_in_order().to_list()


@given(batches(), st.sampled_from(TIES), st.sampled_from(READS))
def test_ranking_is_that_of_the_core(batch, ties, reads):
    assert_same_ranking(*batch, ties=ties, reads=reads)


@given(batches(), st.sampled_from(READS), st.sampled_from([0.5, 2, 0]))
def test_a_document_is_relevant_from_the_same_grade(batch, reads, min_relevance):
    assert_same_ranking(*batch, reads=reads, min_relevance=min_relevance)


@given(batches(), st.sampled_from(TIES), st.sampled_from([-1, 0, 1, 2]))
def test_rows_to_ignore_are_dropped_first(batch, ties, ignore_index):
    preds, target, indexes = batch
    target = target.long()
    if (target != ignore_index).any():
        assert_same_ranking(preds, target, indexes, ties=ties, reads=("grade",), ignore_index=ignore_index)


@given(batches(), st.sampled_from(TIES), st.sampled_from(["neg", "pos", "skip"]))
def test_measures_and_the_curve_are_those_of_the_core_to_the_last_bit(batch, ties, action):
    batch = check_batch(*batch, None, graded=True)
    options = {"ties": ties, "empty_target_action": action}
    expected = pr.RankedLists(batches_frame(*([column] for column in batch)), **COLUMNS, **options)
    found = DeviceLists(*batch, **options)
    assert found.per_query(MEASURES).equals(expected.per_query(MEASURES))
    assert found.evaluate(MEASURES).equals(expected.evaluate(MEASURES))
    assert found.pr_curve(max_k=5).equals(expected.pr_curve(max_k=5))
    assert found.pr_curve(adaptive_k=True, aggregation="median").equals(
        expected.pr_curve(adaptive_k=True, aggregation="median")
    )


def workload(n_queries, longest, *, seed=0, n_scores=None, relevant=0.1):
    """Make ragged lists, the rows shuffled; with few distinct scores, many are tied."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest + 1, (n_queries,), generator=generator)
    indexes = torch.arange(n_queries).repeat_interleave(lengths)
    indexes = indexes[torch.randperm(len(indexes), generator=generator)]
    preds = torch.randn(len(indexes), generator=generator, dtype=torch.float64)
    if n_scores is not None:
        preds = torch.randint(-n_scores, n_scores, preds.shape, generator=generator).double() / 2
    return preds, (torch.rand(len(indexes), generator=generator) < relevant).long(), indexes


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("ties", TIES)
def test_thousands_of_ragged_lists(ties, dtype, device):
    preds, target, indexes = workload(4_000, 20)
    assert_same_ranking(preds.to(dtype), target, indexes, ties=ties, device=device)
    tied, target, indexes = workload(4_000, 20, n_scores=3, relevant=0.5)
    grades = target * (indexes % 4)
    assert_same_ranking(tied.to(dtype), grades, indexes, ties=ties, reads=("grade",), device=device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("ties", TIES)
def test_orders_of_rows(ties, device):
    preds, target, indexes = workload(500, 20, n_scores=5)
    by_query = indexes.argsort(stable=True)
    for order in (by_query, by_query.flip(0), torch.arange(len(indexes))):
        for ids in (indexes, -indexes, indexes * 2**40 - 2**50):
            assert_same_ranking(preds[order], target[order], ids[order], ties=ties, device=device)


@pytest.mark.parametrize("ties", TIES)
def test_one_query_of_many_documents(ties):
    preds, target, _ = workload(2_000, 20, n_scores=50)
    assert_same_ranking(preds, target, torch.full((len(preds),), -5), ties=ties)


def test_rows_that_show_late_that_queries_stand_apart(monkeypatch):
    monkeypatch.setattr(device_module, "_SAMPLE", 3)
    assert_same_ranking(tensor([0.1, 0.2, 0.3, 0.4]), tensor([1, 0, 1, 1]), tensor([5, 6, 7, 5]))
    assert_same_ranking(tensor([0.1, 0.2, 0.3, 0.4]), tensor([1, 0, 1, 1]), tensor([5, 6, 5, 7]))


@pytest.mark.parametrize("ties", TIES)
def test_scores_and_grades_that_no_key_holds(ties):
    preds, _, indexes = workload(300, 20)
    extremes = tensor([math.inf, -math.inf, 1.7e308, -1.7e308, 5e-324, -5e-324, 0.0, -0.0], dtype=torch.float64)
    preds[: len(extremes)] = extremes
    grades = torch.rand(len(preds), generator=torch.Generator().manual_seed(1))
    assert_same_ranking(preds, grades, indexes, ties=ties, reads=("grade",))
    assert_same_ranking(preds[indexes], grades, indexes, ties=ties, reads=("grade",))


def test_zeros_of_either_sign_are_tied():
    ranking = rank_on_device(tensor([-0.0, 0.0, 0.0]), tensor([1, 0, 0]), tensor([4, 4, 4]), Options())
    assert ranking.hits.select("above", "tied").collect().rows() == [(0, 3)]
    assert DeviceLists(tensor([-0.0, 0.0, 0.0]), tensor([1, 0, 0]), tensor([4, 4, 4])).evaluate(
        ["precision@1", "reciprocal_rank"]
    ).row(0) == pytest.approx((1 / 3, 11 / 18))


def test_neighbours_that_only_float64_tells_apart_are_not_tied():
    preds = tensor([0.5, 0.5 + 2**-40, 0.5 - 2**-40], dtype=torch.float64)
    lists = DeviceLists(preds, tensor([1, 0, 0]), tensor([0, 0, 0]))
    assert lists.evaluate("reciprocal_rank").item() == 1 / 2


def test_worked_values_of_the_curve():
    preds, target = tensor([0.4, 0.01, 0.5, 0.6, 0.2, 0.3, 0.5]), tensor([True, False, False, True, True, False, True])
    found = DeviceLists(preds, target, tensor([0, 0, 0, 0, 1, 1, 1])).pr_curve(max_k=4)
    assert found["precision"].to_list() == [1, 1 / 2, pytest.approx(2 / 3), 1 / 2]
    assert found["recall"].to_list() == [1 / 2, 1 / 2, 1, 1]


@pytest.mark.parametrize(
    ("preds", "target", "message"),
    [
        (
            [0.5, math.nan, math.nan, 1.0],
            [1, 0, 1, 0],
            "column `preds` has 2 NaN, the first in indexes 7; a NaN score cannot be ranked",
        ),
        (
            [0.5, 0.1, 0.2, 1.0],
            [1.0, 0.0, 0.5, math.nan],
            "column `target` has 1 NaN, the first in indexes 8; a NaN grade is neither relevant nor not",
        ),
    ],
)
def test_nan_is_refused_as_by_the_core(preds, target, message):
    batch = tensor(preds), tensor(target), tensor([7, 7, 8, 8])
    for refuse in (
        lambda: pr.RankedLists(batches_frame(*([column] for column in batch)), **COLUMNS),
        lambda: DeviceLists(*batch).evaluate("recall"),
    ):
        with pytest.raises(DataError, match=re.escape(message)):
            refuse()


def test_an_empty_target_is_an_error_where_asked_for():
    lists = DeviceLists(tensor([0.5, 0.1]), tensor([1, 0]), tensor([7, 9]), empty_target_action="error")
    with pytest.raises(EmptyTargetError, match="leaves `recall` undefined; the first is indexes 9"):
        lists.evaluate("recall")


def test_ties_by_document_are_refused():
    with pytest.raises(ParameterError, match="`ties` received a wrong value `doc_id`"):
        DeviceLists(tensor([0.5]), tensor([1]), tensor([7]), ties="doc_id")


def test_each_detail_is_ranked_for_once(monkeypatch):
    calls = []

    def counted(*given):
        calls.append(given[-1])
        return rank_on_device(*given)

    monkeypatch.setattr(device_module, "rank_on_device", counted)
    lists = DeviceLists(tensor([0.5, 0.4]), tensor([1, 0]), tensor([7, 7]))
    for measures in ("recall@1", "precision@2", ["ndcg", "recall@1"], "ndcg@2", "recall@1"):
        lists.evaluate(measures)
    assert calls == [frozenset(), frozenset({"grade"})]


def test_bounds_are_the_values_since_all_is_judged():
    lists = DeviceLists(tensor([0.5, 0.4, 0.3]), tensor([0, 1, 0]), tensor([7, 7, 7]))
    assert lists.evaluate("precision@2", bounds=True).row(0) == (1 / 2, 1 / 2, 1 / 2)


def test_no_tensor_is_made_on_another_device():
    """What is made without a device lands on the default one, here one that holds no values."""
    batch = workload(50, 10, n_scores=3)
    with torch.device("meta"):
        for ties in TIES:
            lists = DeviceLists(*batch, ties=ties)
            assert 0 < lists.evaluate(["recall@3", "ndcg"])["recall@3"].item() < 1
        assert DeviceLists(batch[0], batch[1], batch[2] * 2**40).evaluate("recall@3").item() > 0


SMALL_RUN = ["--device", "cpu", "--workloads", "B", "--scale", "0.001", "--repeat", "1"]


@pytest.fixture
def benchmark():
    return pytest.importorskip("benchmarks.on_device", reason="the benchmarks are no part of an installed package")


def test_benchmark_prints_a_row_for_each_engine(benchmark, capsys):
    benchmark.main(SMALL_RUN)
    rows = capsys.readouterr().out.splitlines()[4:]
    assert [row.split(" | ")[1:3] for row in rows] == [
        [f"{order} float32", engine] for order in ("grouped", "shuffled") for engine in ("device", "polars")
    ]


def test_benchmark_times_no_engine_that_is_off_the_definitions(benchmark, monkeypatch):
    monkeypatch.setattr(device_module, "_ordered", lambda preds: torch.zeros_like(preds).long())
    with pytest.raises(AssertionError, match=r"device: off by \d.* from the definitions"):
        benchmark.main(SMALL_RUN)


def test_benchmark_times_no_engines_that_differ(benchmark, monkeypatch):
    monkeypatch.setattr(benchmark, "on_cpu", lambda *batch: benchmark.on_device(*batch) + 1e-12)
    with pytest.raises(AssertionError, match="the engines give other values"):
        benchmark.main(SMALL_RUN)


@pytest.mark.gpu
@needs_gpu
def test_values_on_a_gpu_are_those_of_the_cpu():
    batch = workload(4_000, 50, n_scores=20)
    on_gpu = DeviceLists(*(column.to("cuda") for column in batch))
    assert on_gpu.per_query(MEASURES).equals(DeviceLists(*batch).per_query(MEASURES))
