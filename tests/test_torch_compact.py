"""A compact state gives every value that the whole one gives, and stays small."""

import copy
import pickle

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchmetrics")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from torchmetrics import MetricCollection  # noqa: E402

import polars_retrieval.torch as ours  # noqa: E402
from polars_retrieval.errors import DataError, ParameterError  # noqa: E402
from polars_retrieval.torch import compact  # noqa: E402

TIES = ["expected", "stable", "pessimistic", "optimistic"]
METRICS = {
    "precision": lambda k, **o: ours.RetrievalPrecision(top_k=k, **o),
    "adaptive precision": lambda k, **o: ours.RetrievalPrecision(top_k=k, adaptive_k=True, **o),
    "recall": lambda k, **o: ours.RetrievalRecall(top_k=k, **o),
    "hit rate": lambda k, **o: ours.RetrievalHitRate(top_k=k, **o),
    "fall-out": lambda k, **o: ours.RetrievalFallOut(top_k=k, **o),
    "mrr": lambda k, **o: ours.RetrievalMRR(top_k=k, **o),
    "map": lambda k, **o: ours.RetrievalMAP(top_k=k, **o),
    "map of relevant": lambda k, **o: ours.RetrievalMAP(top_k=k, denominator="relevant", **o),
    "map of least": lambda k, **o: ours.RetrievalMAP(top_k=k, denominator="min", **o),
    "auroc": lambda k, **o: ours.RetrievalAUROC(top_k=k, **o),
    "ndcg": lambda k, **o: ours.RetrievalNormalizedDCG(top_k=k, **o),
    "curve": lambda k, **o: ours.RetrievalPrecisionRecallCurve(max_k=k, **o),
    "adaptive curve": lambda k, **o: ours.RetrievalPrecisionRecallCurve(max_k=k, adaptive_k=True, **o),
    "median curve": lambda k, **o: ours.RetrievalPrecisionRecallCurve(max_k=k, aggregation="median", **o),
    "fixed": lambda k, **o: ours.RetrievalRecallAtFixedPrecision(min_precision=0.4, max_k=k, **o),
}
SCORES = [-1.5, -0.0, 0.0, 0.25, 0.5, 1.0, float("inf"), -float("inf")]
ROWS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(SCORES), st.integers(0, 1)), min_size=1, max_size=12)


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Reduce few rows, too."""
    monkeypatch.setattr(compact, "_LEAST", 0)


def columns(rows):
    indexes, preds, target = (torch.tensor(column) for column in zip(*rows, strict=True))
    return preds, target, indexes


def batch(n=300, queries=20, seed=0):
    generator = torch.Generator().manual_seed(seed)
    preds = torch.randint(-40, 40, (n,), generator=generator) / 8
    indexes = torch.randint(queries, (n,), generator=generator)
    return preds, (torch.rand(n, generator=generator) < 0.3).int(), indexes


def pair(name, k=3, **options):
    return METRICS[name](k, compact=True, **options), METRICS[name](k, **options)


def assert_same(compacted, whole):
    # As sums over hits in another order: equal to the last digits of float32.
    torch.testing.assert_close(compacted, whole, rtol=1e-6, atol=1e-7)


def n_kept(metric):
    return sum(map(len, metric.preds))


@given(
    st.lists(ROWS, min_size=2, max_size=6),
    st.integers(1, 4),
    st.sampled_from(TIES),
    st.sampled_from(["neg", "pos", "skip"]),
)
@pytest.mark.parametrize("name", METRICS)
def test_values_are_those_of_the_whole_state(name, batches, k, ties, action):
    compacted, whole = pair(name, k, ties=ties, empty_target_action=action)
    for rows in batches:
        compacted.update(*columns(rows))
        whole.update(*columns(rows))
        assert_same(compacted.compute(), whole.compute())


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 2), st.sampled_from(SCORES), st.integers(-2, 5)), min_size=1, max_size=15),
        min_size=2,
        max_size=5,
    ),
    st.integers(1, 4),
    st.sampled_from(TIES),
    st.sampled_from(["linear", "exponential"]),
    st.sampled_from([1, 2]),
)
def test_grades_that_are_no_longer_kept_are_in_the_ideal(batches, k, ties, gain, divisor):
    compacted, whole = pair("ndcg", k, ties=ties, gain=gain)
    for rows in batches:
        preds, target, indexes = columns(rows)
        for metric in (compacted, whole):
            metric.update(preds, target / divisor if divisor > 1 else target, indexes)
        assert_same(compacted.compute(), whole.compute())


def test_the_best_documents_are_kept_and_those_tied_with_the_last():
    metric = ours.RetrievalRecall(top_k=2, compact=True)
    preds = torch.tensor([0.125, 0.875, 0.5, 0.5, 0.5, 0.25])
    target = torch.tensor([1, 0, 0, 1, 0, 1])
    for _ in range(3):  # the third makes twice as many rows as the first batch
        metric.update(preds, target, torch.zeros(6, dtype=torch.int64))
    assert metric.preds[0].tolist() == [0.875] * 3
    counts = dict(zip(metric.other_target[0].tolist(), metric.other_count[0].tolist(), strict=True))
    assert counts == {0: 3 * 2, 1: 3 * 3}
    assert metric.compute() == 0


@pytest.mark.parametrize("name", ["recall", "ndcg"])
def test_state_is_bounded_by_queries_times_k(name):
    compacted, whole = pair(name, k=5)
    queries, n = 50, 1000
    for seed in range(100):
        rows = batch(n, queries, seed)
        rows = (rows[0] + torch.rand(n, generator=torch.Generator().manual_seed(seed)), *rows[1:])
        compacted.update(*rows)
        whole.update(*rows)
        assert n_kept(compacted) <= 2 * max(n, queries * 5) + n
        assert sum(map(len, compacted.other_count)) <= 2 * queries
    assert n_kept(whole) == 100 * n
    assert_same(compacted.compute(), whole.compute())


def test_rows_are_looked_at_twice_on_average(monkeypatch):
    looked_at, among_best = [], compact.among_best

    def count(query, *others):
        looked_at.append(len(query))
        return among_best(query, *others)

    monkeypatch.setattr(compact, "among_best", count)
    metric, n, updates = METRICS["recall"](2, compact=True), 100, 200
    for seed in range(updates):
        metric.update(*batch(n, seed=seed))
    assert len(looked_at) > updates // 10
    assert sum(looked_at) <= 2 * n * updates


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["recall", "ndcg"])
def test_scores_of_every_type_are_reduced_to_the_same(name, dtype):
    compacted, whole = pair(name, k=4)
    for seed in range(20):
        preds, target, indexes = batch(seed=seed)
        rows = (preds.to(dtype) if seed % 2 else -preds.to(dtype), target.to(torch.int8), indexes.to(torch.int16))
        compacted.update(*rows)
        whole.update(*rows)
        assert_same(compacted.compute(), whole.compute())
    assert n_kept(compacted) < n_kept(whole) // 4


def test_ids_far_apart_and_below_zero_are_reduced_to_the_same():
    compacted, whole = pair("recall", k=2)
    for seed in range(20):
        preds, target, indexes = batch(seed=seed)
        for metric in (compacted, whole):
            metric.update(preds, target, (indexes - 10) * 10**17)
        assert_same(compacted.compute(), whole.compute())
    assert n_kept(compacted) < n_kept(whole) // 4


@pytest.mark.parametrize("name", METRICS)
def test_forward_reset_copies_and_types(name):
    compacted, whole = pair(name)
    for seed in range(4):
        preds, target, indexes = batch(seed=seed)
        rows = (preds.half() if seed % 2 else preds.double(), target.bool() if seed % 2 else target, indexes.int())
        assert_same(compacted(*rows), whole(*rows))
    assert n_kept(compacted) < n_kept(whole)
    for other in (copy.deepcopy(compacted), pickle.loads(pickle.dumps(compacted))):  # noqa: S301 (its own)
        assert_same(other.compute(), whole.compute())
    for metric in (compacted, whole):
        metric.reset()
        metric.update(*batch(seed=9))
    assert_same(compacted.compute(), whole.compute())


def test_members_of_a_collection_share_a_state_if_they_keep_the_same():
    members = {
        f"{name} {k}": METRICS[name](k, compact=True)
        for name in ("precision", "recall", "map", "ndcg", "curve")
        for k in (2, 4)
    }
    wholes = {
        f"{name} {k}": METRICS[name](k) for name in ("precision", "recall", "map", "ndcg", "curve") for k in (2, 4)
    }
    collection, whole = MetricCollection(members), MetricCollection(wholes)
    for seed in range(4):
        collection.update(*batch(seed=seed))
        whole.update(*batch(seed=seed))
    assert len(collection.compute_groups) == 4  # for each k, with grades and without
    assert len(whole.compute_groups) == 1
    values, expected = collection.compute(), whole.compute()
    for name in members:
        assert_same(values[name], expected[name])


def test_errors_come_as_without():
    nan = (torch.tensor([0.5, float("nan"), 0.1]), torch.tensor([1, 0, 1]), torch.tensor([0, 0, 0]))
    metric = ours.RetrievalRecall(top_k=1, compact=True)
    for _ in range(4):
        metric.update(*nan)
    with pytest.raises(DataError, match=r"column `preds` has \d NaN"):
        metric.compute()
    many, whole = METRICS["ndcg"](2, compact=True), METRICS["ndcg"](2)
    for seed in range(20):
        preds, target, indexes = batch(seed=seed)
        preds[seed::50] = float("nan")
        for metric in (many, whole):
            metric.update(preds, target, indexes)
    assert n_kept(many) < n_kept(whole)
    with pytest.raises(DataError) as with_all:
        whole.compute()
    with pytest.raises(DataError) as with_some:  # every NaN is kept
        many.compute()
    assert str(with_some.value) == str(with_all.value)
    empty = ours.RetrievalRecall(top_k=1, compact=True, empty_target_action="error")
    for _ in range(4):
        empty.update(nan[2].float(), 0 * nan[1], nan[2])
    with pytest.raises(ValueError, match="no positive target"):
        empty.compute()


@pytest.mark.parametrize("make", [ours.RetrievalRecall, ours.RetrievalRPrecision, ours.RetrievalPrecisionRecallCurve])
def test_without_a_cutoff_all_documents_are_read(make):
    with pytest.raises(ParameterError, match=f"{make.__name__} reads all of them where it has no cutoff"):
        make(compact=True)
    with pytest.raises(ParameterError, match="`compact` has to be a boolean, got 'yes'"):
        make(compact="yes")


# --- complete queries


def whole_queries(batches):
    """Give the queries of each batch indexes of their own."""
    for number, rows in enumerate(batches):
        preds, target, indexes = columns(rows)
        yield preds, target, indexes + 10 * number


@given(st.lists(ROWS, min_size=1, max_size=4), st.sampled_from(TIES), st.sampled_from(["neg", "pos", "skip"]))
@pytest.mark.parametrize("name", [name for name in METRICS if name != "median curve"])
def test_values_of_complete_queries_are_enough(name, batches, ties, action):
    options = {"ties": ties, "empty_target_action": action}
    complete, whole = METRICS[name](3, queries_complete=True, **options), METRICS[name](3, **options)
    for rows in whole_queries(batches):
        assert_same(complete(*rows), whole(*rows))
        assert_same(complete.compute(), whole.compute())
    assert sum(map(len, complete.indexes)) == 0 == sum(map(len, complete.preds))


@pytest.mark.parametrize("aggregation", ["median", "min", "max", lambda values, dim: values[1:].amin()])
def test_complete_queries_are_aggregated_in_the_order_of_their_indexes(aggregation):
    metrics = [ours.RetrievalMRR(aggregation=aggregation, queries_complete=complete) for complete in (True, False)]
    for seed in range(3):
        preds, target, indexes = batch(seed=seed)
        for metric in metrics:
            metric.update(preds.double(), target, indexes - 100 * seed)
    assert_same(metrics[0].compute(), metrics[1].compute())
    assert metrics[0].compute().dtype == torch.float64


def test_complete_queries_take_no_room_for_documents():
    metric, curve = ours.RetrievalMAP(queries_complete=True), METRICS["curve"](7, queries_complete=True)
    for seed in range(20):
        preds, target, indexes = batch(queries=10, seed=seed)
        metric.update(preds, target, indexes + 10 * seed)
        curve.update(preds, target, indexes + 10 * seed)
    assert sum(state.nbytes for states in metric.metric_state.values() for state in states) == 200 * (8 + 8)
    assert sum(state.nbytes for states in curve.metric_state.values() for state in states) == (7 + 7 + 1) * 8


def test_members_with_equal_first_values_stay_apart():
    rows = [(torch.tensor([0.5, 0.25]), torch.tensor([1, 0]), torch.tensor([0, 0]))]
    rows.append((torch.tensor([0.5, 0.25]), torch.tensor([0, 1]), torch.tensor([1, 1])))
    makes = {"mrr": ours.RetrievalMRR, "precision": lambda **o: ours.RetrievalPrecision(top_k=1, **o)}
    collection = MetricCollection({name: make(queries_complete=True) for name, make in makes.items()})
    for row in rows:
        collection.update(*row)
    values = collection.compute()
    assert values["mrr"] == (1 + 1 / 2) / 2
    assert values["precision"] == (1 + 0) / 2


def test_a_query_that_comes_in_two_updates_is_named():
    metric = ours.RetrievalMRR(queries_complete=True)
    for seed in range(2):
        preds, target, _ = batch(seed=seed)
        metric.update(preds, target, torch.full((len(preds),), 7))
    with pytest.raises(DataError, match="1 queries came in several updates, the first indexes 7"):
        metric.compute()


def test_values_are_kept_in_few_tensors():
    values = torch.arange(1, 101) / 100
    complete, forwarded = ours.RetrievalPrecision(queries_complete=True), ours.RetrievalPrecision(queries_complete=True)
    for query in range(100):
        target = torch.arange(100) <= query
        complete.update(torch.rand(100), target, torch.full((100,), query))
        assert float(forwarded(torch.rand(100), target, indexes=torch.full((100,), query))) == float(values[query])
    for metric in (complete, forwarded):
        assert [len(kept) for kept in metric.query_values] == [64, 32, 4]  # 100 in binary
        assert torch.cat(metric.query_indexes).tolist() == list(range(100))
        torch.testing.assert_close(metric.compute(), values.mean())


def test_an_empty_query_is_an_error_at_its_update():
    metric = ours.RetrievalMRR(queries_complete=True, empty_target_action="error")
    with pytest.raises(ValueError, match="no positive target"):
        metric.update(torch.rand(3), torch.zeros(3, dtype=torch.int64), torch.zeros(3, dtype=torch.int64))


def test_what_cannot_be_added_up_is_refused():
    for options in ({}, {"max_k": 3, "aggregation": "median"}):
        with pytest.raises(ParameterError, match='takes `aggregation="mean"` and a `max_k`'):
            ours.RetrievalPrecisionRecallCurve(queries_complete=True, **options)
    with pytest.raises(ParameterError, match="give it or `compact=True`, not both"):
        ours.RetrievalRecall(top_k=3, compact=True, queries_complete=True)
    with pytest.raises(DataError, match="No samples to concatenate"):
        ours.RetrievalMRR(queries_complete=True)._kept_values()
