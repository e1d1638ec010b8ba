"""Metrics in a MetricCollection: one state and one ranking for all of them, and the values of each alone."""

import copy
import gc
import pickle

import pytest

torch = pytest.importorskip("torch")
torchmetrics = pytest.importorskip("torchmetrics")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from torchmetrics import MetricCollection  # noqa: E402

import polars_retrieval.torch as ours  # noqa: E402
from polars_retrieval.errors import DataError, EmptyTargetError  # noqa: E402
from polars_retrieval.torch import rankings  # noqa: E402

EIGHT = {
    "precision": lambda: ours.RetrievalPrecision(top_k=3),
    "recall": lambda: ours.RetrievalRecall(top_k=5),
    "hit_rate": lambda: ours.RetrievalHitRate(top_k=1, empty_target_action="pos"),
    "fall_out": lambda: ours.RetrievalFallOut(top_k=2),
    "mrr": lambda: ours.RetrievalMRR(aggregation="median"),
    "map": lambda: ours.RetrievalMAP(top_k=4, empty_target_action="skip"),
    "ndcg": lambda: ours.RetrievalNormalizedDCG(top_k=10, gain="exponential"),
    "auroc": ours.RetrievalAUROC,
}
MORE = {
    "r_precision": lambda: ours.RetrievalRPrecision(aggregation=lambda values, dim: values.amax()),
    "curve": lambda: ours.RetrievalPrecisionRecallCurve(max_k=4),
    "fixed": lambda: ours.RetrievalRecallAtFixedPrecision(min_precision=0.3),
}
FEW, MANY = 300, 12_000  # rows that are ranked by NumPy, and by Polars


def batch(n=FEW, queries=20, seed=0):
    """Rows with ties, and queries without a relevant document."""
    generator = torch.Generator().manual_seed(seed)
    preds = torch.randint(-8, 8, (n,), generator=generator) / 8
    indexes = torch.randint(queries, (n,), generator=generator)
    target = torch.rand(n, generator=generator) < 0.3
    return preds, target & (indexes % 7 != 3), indexes


def alone(make, batches):
    metric = make()
    for rows in batches:
        metric.update(*rows)
    return metric.compute()


def build(makes=None):
    return MetricCollection({name: make() for name, make in (makes or EIGHT).items()})


def assert_as_alone(values, batches, makes=None):
    for name, make in (makes or EIGHT).items():
        torch.testing.assert_close(values[name], alone(make, batches), msg=lambda msg, name=name: f"{name}: {msg}")


@pytest.fixture
def n_rankings(monkeypatch):
    """Count how often rows are sorted."""
    made = []
    rank = rankings.rank_batches

    def counting(*batches, **options):
        made.append(batches)
        return rank(*batches, **options)

    monkeypatch.setattr(rankings, "_last", None)
    monkeypatch.setattr(rankings, "rank_batches", counting)
    return lambda: len(made)


@pytest.mark.parametrize("n", [FEW, MANY])
def test_all_are_one_group_and_rank_once(n, n_rankings):
    collection = build(EIGHT | MORE)
    batches = [batch(n, seed=seed) for seed in range(3)]
    for rows in batches:
        collection.update(*rows)
    assert list(collection.compute_groups.values()) == [list(collection.keys())]
    values = collection.compute()
    assert n_rankings() == 1
    assert_as_alone(values, batches, EIGHT | MORE)


def test_each_rule_for_ties_ranks_for_itself(n_rankings):
    makes = {
        f"{ties} {k}": lambda ties=ties, k=k: ours.RetrievalMAP(top_k=k, ties=ties)
        for ties in ("expected", "stable", "pessimistic", "optimistic")
        for k in (3, 5)
    }
    collection, rows = build(makes), batch()
    collection.update(*rows)
    assert len(collection.compute_groups) == 1
    values = collection.compute()
    assert n_rankings() == 4
    assert_as_alone(values, [rows], makes)
    assert len({float(value) for value in values.values()}) == len(makes)


def test_grades_are_ranked_once_too(n_rankings):
    makes = {
        f"{gain} {k}": lambda gain=gain, k=k: ours.RetrievalNormalizedDCG(top_k=k, gain=gain)
        for gain in ("linear", "exponential")
        for k in (None, 2, 9)
    }
    preds, target, indexes = batch()
    rows = (preds, target * torch.arange(len(preds)) % 4, indexes)
    collection = build(makes)
    collection.update(*rows)
    values = collection.compute()
    assert n_rankings() == 1
    assert_as_alone(values, [rows], makes)


@pytest.mark.parametrize("first", ["ndcg", "recall"])
def test_grades_are_refused_by_a_measure_that_takes_none_whichever_member_takes_the_updates(first):
    makes = {"ndcg": ours.RetrievalNormalizedDCG, "recall": lambda: ours.RetrievalRecall(top_k=2)}
    order = sorted(makes, key=lambda name: name != first)
    collection = MetricCollection([makes[name]() for name in order])
    preds, target, indexes = batch()
    collection.update(preds, target.int(), indexes)

    def go_on():
        collection.update(preds, 2 * target.int(), indexes)
        collection.compute()

    with pytest.raises(DataError, match="`target` must contain `binary` values, 0 and 1, got values from 0 to 2"):
        go_on()


def test_members_that_ignore_different_targets_stay_apart():
    makes = {
        "all": ours.RetrievalNormalizedDCG,
        "but 2": lambda: ours.RetrievalNormalizedDCG(ignore_index=2),
        "but 3": lambda: ours.RetrievalNormalizedDCG(ignore_index=3),
        "but 2 again": lambda: ours.RetrievalNormalizedDCG(ignore_index=2, top_k=3),
    }
    preds, target, indexes = batch()
    # The first batch holds nothing to ignore, so all states are equal after it.
    batches = [(preds, target.int(), indexes), (preds, 2 + target.int(), indexes)]
    collection = build(makes)
    for rows in batches:
        collection.update(*rows)
    assert sorted(map(sorted, collection.compute_groups.values())) == [["all"], ["but 2", "but 2 again"], ["but 3"]]
    assert_as_alone(collection.compute(), batches, makes)


@pytest.mark.parametrize("n", [FEW, MANY])
def test_after_reset_only_what_is_new_counts(n):
    collection = build(EIGHT | MORE)
    for seed in range(2):
        rows = batch(n, seed=seed)
        collection.update(*rows)
        assert_as_alone(collection.compute(), [rows], EIGHT | MORE)
        collection.reset()


def test_more_updates_after_compute_count():
    collection, batches = build(), []
    for seed in range(3):
        batches.append(batch(seed=seed))
        collection.update(*batches[-1])
        assert_as_alone(collection.compute(), batches)


def through_pickle(collection):
    return pickle.loads(pickle.dumps(collection))  # noqa: S301 (its own)


@pytest.mark.parametrize("copied", [copy.deepcopy, MetricCollection.clone, through_pickle])
def test_copies_go_on_by_themselves(copied):
    collection, (first, second, third) = build(), (batch(seed=seed) for seed in range(3))
    collection.update(*first)
    values = collection.compute()
    other = copied(collection)
    assert_as_alone(other.compute(), [first])
    other.update(*second)
    collection.update(*third)
    assert_as_alone(other.compute(), [first, second])
    assert_as_alone(collection.compute(), [first, third])
    assert_as_alone(values, [first])


def test_members_that_are_added_later_see_what_comes_later():
    first, second = batch(seed=0), batch(seed=1)
    collection = build()
    collection.update(*first)
    collection.add_metrics({"late": ours.RetrievalRecall(top_k=7)})
    collection.update(*second)
    values = collection.compute()
    assert_as_alone(values, [first, second])
    assert_as_alone(values, [second], {"late": lambda: ours.RetrievalRecall(top_k=7)})


def test_forward_gives_the_values_of_the_batch_and_compute_those_of_all(n_rankings):
    collection, batches = build(EIGHT | MORE), [batch(seed=seed) for seed in range(3)]
    for rows in batches:
        assert_as_alone(collection(*rows), [rows], EIGHT | MORE)
    before = n_rankings()
    values = collection.compute()
    assert n_rankings() == before + 1
    assert_as_alone(values, batches, EIGHT | MORE)


def test_a_batch_that_is_refused_leaves_what_was_kept():
    metric, rows = ours.RetrievalRecall(top_k=3), batch()
    metric(*rows)
    with pytest.raises(DataError, match="same shape"):
        metric(rows[0][1:], *rows[1:])
    assert metric.update_count == 1
    torch.testing.assert_close(metric.compute(), alone(lambda: ours.RetrievalRecall(top_k=3), [rows]))


def test_forward_does_not_copy_what_was_kept():
    metric, batches = ours.RetrievalRecall(top_k=3), [batch(seed=seed) for seed in range(3)]
    for rows in batches:
        metric(*rows)
    assert [kept.data_ptr() for kept in metric.preds] == [preds.data_ptr() for preds, _, _ in batches]


def test_members_read_alone_have_their_value():
    collection, rows = build(), batch()
    collection.update(*rows)
    for name, make in EIGHT.items():
        torch.testing.assert_close(collection[name].compute(), alone(make, [rows]))


def test_a_change_in_place_is_noticed():
    preds, target, indexes = batch()
    one, other = ours.RetrievalRecall(top_k=3), ours.RetrievalRecall(top_k=3)
    one.update(preds, target, indexes)
    one.compute()
    preds.neg_()
    other.update(preds, target, indexes)
    assert other.compute() == alone(lambda: ours.RetrievalRecall(top_k=3), [(preds.clone(), target, indexes)])
    assert other.compute() != one.compute()


def test_a_buffer_that_numpy_fills_again_is_another_batch():
    preds, target, indexes = batch()
    buffer = preds.numpy().copy()
    kept, other = ours.RetrievalRecall(top_k=3), ours.RetrievalRecall(top_k=3)
    kept.update(torch.from_numpy(buffer), target, indexes)
    kept.compute()
    buffer[:] = -buffer
    other.update(torch.from_numpy(buffer), target, indexes)
    assert other.compute() == alone(lambda: ours.RetrievalRecall(top_k=3), [(-preds, target, indexes)])


def test_what_is_shared_goes_with_the_tensors():
    metric = ours.RetrievalRecall(top_k=3)
    metric.update(*batch())
    metric.compute()
    assert rankings._last is not None
    metric.reset()
    gc.collect()
    assert rankings._last is None


def test_an_error_of_one_member_is_its_own():
    collection = MetricCollection({"error": ours.RetrievalRecall(empty_target_action="error"), "mrr": EIGHT["mrr"]()})
    rows = batch()
    collection.update(*rows)
    with pytest.raises(EmptyTargetError, match="no positive target"):
        collection.compute()
    torch.testing.assert_close(collection["mrr"].compute(), alone(EIGHT["mrr"], [rows]))


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from([-1.5, -0.0, 0.0, 0.5, float("inf")]), st.integers(-1, 3)),
        min_size=1,
        max_size=30,
    ),
    st.sampled_from(["expected", "stable", "pessimistic", "optimistic"]),
)
def test_few_rows_are_ranked_as_many_are(rows, ties):
    indexes, preds, grades = (torch.tensor(column) for column in zip(*rows, strict=True))
    for target in (grades, (grades > 1).int(), grades / 2):
        few = rankings.rank_batches([preds], [target], [indexes], ties).ranking
        columns = rankings.batches_frame([preds], [target], [indexes]).sort("indexes", maintain_order=True)
        many = rankings.rank_frame(columns, rankings._COLUMNS, rankings.Options(ties=ties), rankings._READS)
        assert few.levels.equals(many.levels) or set(few.levels["grade"]) >= set(many.levels["grade"])
        assert (
            few.hits.select("query", "above", "tied", "start", "end", "first")
            .collect()
            .equals(many.hits.select("query", "above", "tied", "start", "end", "first").collect())
        )
        same = [name for name in many.queries.columns if name != "n_judged_nonrelevant"]
        assert few.queries.select(same).equals(many.queries.select(same))
        assert few.grouping.ids.equals(many.grouping.ids)
        assert few.has_ties == many.has_ties


def test_tensors_of_inference_mode_are_ranked_too():
    with torch.inference_mode():
        metrics = MetricCollection([ours.RetrievalRecall(top_k=1), ours.RetrievalMRR()])
        metrics.update(torch.tensor([0.1, 0.9, 0.5]), torch.tensor([1, 0, 1]), indexes=torch.tensor([0, 0, 0]))
        assert metrics.compute() == {"RetrievalRecall": 0 / 2, "RetrievalMRR": 1 / 2}
