"""The batches that metrics keep: small ones are joined, once for all metrics that keep the same ones."""

import gc
import weakref

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchmetrics")

from torchmetrics import MetricCollection  # noqa: E402

import polars_retrieval.torch as ours  # noqa: E402
from polars_retrieval.errors import DataError  # noqa: E402
from polars_retrieval.torch import batches  # noqa: E402
from polars_retrieval.torch.batches import EVERY, join_small  # noqa: E402

SMALL, LARGE = 10, 20_000


def rows(n=SMALL, seed=0, queries=7):
    generator = torch.Generator().manual_seed(seed)
    preds = torch.randint(-8, 8, (n,), generator=generator) / 8
    return preds, torch.rand(n, generator=generator) < 0.3, torch.randint(queries, (n,), generator=generator)


def small_batches(n=EVERY):
    return [rows(seed=seed) for seed in range(n)]


def updated(metric, given):
    for batch in given:
        metric.update(*batch)
    return metric


def columns(given):
    return [list(column) for column in zip(*given, strict=True)]


def all_at_once(given):
    return [torch.cat(column) for column in columns(given)]


@pytest.mark.parametrize("add", ["update", "forward"])
def test_the_state_stays_short_and_holds_all_rows_in_their_order(add):
    given = small_batches(10 * EVERY + 3)
    metric = ours.RetrievalMAP()
    for batch in given:
        getattr(metric, add)(*batch)
    assert len(metric.preds) <= EVERY
    for kept, expected in zip((metric.preds, metric.target, metric.indexes), all_at_once(given), strict=True):
        assert torch.equal(torch.cat(kept), expected)
    assert metric.compute() == updated(ours.RetrievalMAP(), [all_at_once(given)]).compute()


def test_large_batches_stay_in_the_memory_that_they_came_in():
    given = [rows(LARGE, seed) for seed in range(EVERY)]
    metric = updated(ours.RetrievalRecall(top_k=3), given)
    assert [kept.data_ptr() for kept in metric.preds] == [preds.data_ptr() for preds, _, _ in given]


def test_a_large_batch_among_small_ones_stays_where_it_is():
    given = small_batches(EVERY - 1)
    given.insert(20, rows(LARGE))
    metric = updated(ours.RetrievalRecall(top_k=3), given)
    assert list(map(len, metric.preds)) == [20 * SMALL, LARGE, (EVERY - 21) * SMALL]
    assert metric.preds[1].data_ptr() == given[20][0].data_ptr()


def test_what_was_joined_is_not_more_than_a_chunk_of_a_frame():
    given = [rows(999, seed) for seed in range(EVERY)]
    metric = updated(ours.RetrievalRecall(top_k=3), given)
    assert list(map(len, metric.preds)) == [9_990, 9_990, 9_990, 2 * 999]


def test_batches_of_several_types_get_one_that_holds_them_all():
    given = [(preds.to(kind), target.to(label), ids) for (preds, target, ids), kind, label in several_types()]
    joined, labels, _ = join_small(*columns(given))
    assert [batch.dtype for batch in joined] == [torch.float64]
    assert [batch.dtype for batch in labels] == [torch.int16]
    assert torch.equal(joined[0], torch.cat([preds.double() for preds, _, _ in given]))
    values = [updated(ours.RetrievalMAP(), batches).compute() for batches in (given, small_batches())]
    torch.testing.assert_close(values[0], values[1].double(), rtol=1e-6, atol=0)


def several_types():
    floats = [torch.float16, torch.bfloat16, torch.float32, torch.float64] * (EVERY // 4)
    labels = [torch.bool, torch.uint8, torch.int8, torch.int16] * (EVERY // 4)
    return zip(small_batches(), floats, labels, strict=True)


def test_separate_metrics_share_what_is_joined():
    given, metrics = small_batches(), [ours.RetrievalMAP(), ours.RetrievalRecall(top_k=2), ours.RetrievalMRR()]
    for batch in given:
        for metric in metrics:
            metric.update(*batch)
    for name in ("preds", "target", "indexes"):
        (first,), *others = (getattr(metric, name) for metric in metrics)
        assert len(first) == EVERY * SMALL
        assert all(kept[0] is first for kept in others), name


def test_metrics_with_other_batches_share_nothing():
    one, other = small_batches(), small_batches()
    joined = [join_small(*columns(given)) for given in (one, other)]
    assert joined[0][0][0] is not joined[1][0][0]
    assert torch.equal(joined[0][0][0], joined[1][0][0])


def test_what_changed_in_place_is_joined_anew():
    given = columns(small_batches())
    before = join_small(*given)
    given[0][3].add_(100)  # a batch
    after = join_small(*given)
    assert torch.equal(after[0][0], torch.cat(given[0]))
    after[0][0].zero_()  # what batches were joined to
    assert torch.equal(join_small(*given)[0][0], torch.cat(given[0]))
    assert not torch.equal(before[0][0], after[0][0])


def test_nothing_outlives_the_metrics():
    metric = updated(ours.RetrievalMAP(), small_batches())
    kept = [weakref.ref(tensor) for tensor in (*metric.preds, *metric.target, *metric.indexes)]
    assert batches._last is not None
    del metric
    gc.collect()
    assert batches._last is None
    assert [tensor() for tensor in kept] == [None] * 3


def test_documents_that_are_told_apart_are_joined_too():
    documents = torch.arange(EVERY * SMALL).reshape(EVERY, SMALL)
    given = [(*batch, ids) for batch, ids in zip(small_batches(), documents, strict=True)]
    given[7] = given[6]  # repeated by a sampler
    once = updated(ours.RetrievalMAP(), [all_at_once(given)])
    metric = updated(ours.RetrievalMAP(), given)
    assert [tuple(ids.shape) for ids in metric.indexes] == [(2, EVERY * SMALL)]
    assert metric.compute() == once.compute()


def test_updates_with_and_without_document_ids_are_still_an_error():
    given = small_batches(2 * EVERY)
    metric = updated(ours.RetrievalMAP(), given[:40])
    for batch in given[40:]:
        metric.update(*batch, doc_ids=torch.arange(SMALL))
    with pytest.raises(DataError, match="doc_ids"):
        metric.compute()


def test_a_collection_has_the_values_of_one_update():
    makes = {"map": ours.RetrievalMAP, "mrr": ours.RetrievalMRR, "ndcg": ours.RetrievalNormalizedDCG}
    given = small_batches(3 * EVERY)
    collection = updated(MetricCollection({name: make() for name, make in makes.items()}), given)
    expected = {name: updated(make(), [all_at_once(given)]).compute() for name, make in makes.items()}
    assert collection.compute() == expected


@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_half_a_hit_is_no_binary_target_in_a_group_that_keeps_grades(n):
    preds, target, indexes = rows(n)
    group = updated(MetricCollection([ours.RetrievalNormalizedDCG(), ours.RetrievalMAP()]), [rows(n)])  # now it is one
    with pytest.raises(DataError, match=r"`target` must contain `binary` values, 0 and 1, got values from 0.0 to 0.5"):
        updated(group, [(preds, target / 2, indexes)]).compute()


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
@pytest.mark.parametrize("value", [-1, 2, 3, -2, 100])
def test_no_other_integer_is_a_binary_target(dtype, value):
    if value < 0 and not dtype.is_signed:
        pytest.skip("the type has no negative numbers")
    preds, target, indexes = rows()
    target = target.to(dtype)
    target[4] = value
    lowest, highest = min(value, 0), max(value, 1)
    with pytest.raises(DataError, match=f"got values from {lowest} to {highest}"):
        ours.RetrievalMAP().update(preds, target, indexes)
