"""With document ids a document counts once in a query."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchmetrics")

from test_torch_metrics import CLASSES, INTEGERS, SCALARS, assert_same, batch, build, value  # noqa: E402
from torch import tensor  # noqa: E402
from torchmetrics import MetricCollection  # noqa: E402

import polars_retrieval.torch as ours  # noqa: E402
from polars_retrieval.errors import DataError, ParameterError  # noqa: E402


def documents():
    """Rows with the ids of their documents: each query numbers its own from 1."""
    preds, target, indexes = batch()
    return (preds, target, indexes), (indexes.unsqueeze(1) == indexes).tril().sum(dim=1)


def repeated(n_rows=40):
    """The same rows, and the first of them once more."""
    rows, doc_ids = documents()
    return [torch.cat([values, values[:n_rows]]) for values in (*rows, doc_ids)]


@pytest.mark.parametrize("name", CLASSES)
def test_a_repeated_document_counts_once(name):
    rows, doc_ids = documents()
    alone = value(build(name), *rows)
    metric = build(name)
    metric.update(*repeated())
    assert_same(metric.compute(), alone)
    metric = build(name)
    for part in (slice(0, 100), slice(50, 300), slice(20, 30)):  # over updates
        metric.update(*(values[part] for values in rows), doc_ids=doc_ids[part])
    assert_same(metric.compute(), alone)
    assert_same(build(name)(*repeated()), alone)


def test_repeated_documents_do_count_without_ids():
    rows, _ = documents()
    assert value(build("RetrievalRecall"), *repeated()[:3]) != value(build("RetrievalRecall"), *rows)


def test_worked_example_keeps_the_score_that_came_first():
    metric = ours.RetrievalMRR()
    metric.update(tensor([0.9, 0.5]), tensor([0, 1]), tensor([0, 0]), tensor([4, 5]))
    metric.update(tensor([1.0, 0.7]), tensor([1, 0]), tensor([0, 0]), tensor([5, 6]))
    assert metric.compute() == 1 / 3  # 0.9, 0.7, and 0.5 of document 5


@pytest.mark.parametrize("shape", [(15, 20), (300,)])
@pytest.mark.parametrize("integers", INTEGERS, ids=str)
def test_every_integer_type_and_shape(integers, shape):
    rows, _ = documents()
    doc_ids = (torch.arange(300) % 100).to(integers)
    queries = torch.arange(300) // 100
    rows = (rows[0], rows[1], queries)
    metric = build("RetrievalMAP")
    for _ in range(2):
        metric.update(*(values.view(shape) for values in rows), doc_ids.view(shape))
    assert_same(metric.compute(), value(build("RetrievalMAP"), *rows))


def test_ignored_rows_are_dropped_with_their_ids():
    preds, target, indexes = batch()
    target = target.int()
    target[::3] = -1
    metric = build("RetrievalRecall", ignore_index=-1)
    for _ in range(2):
        metric.update(preds, target, indexes, torch.arange(300))
    assert_same(metric.compute(), value(build("RetrievalRecall", ignore_index=-1), preds, target, indexes))


@pytest.mark.parametrize("grades", [torch.float16, torch.bfloat16, torch.float64, torch.int8], ids=str)
def test_graded_targets(grades):
    preds, _, indexes = batch()
    rows = (preds, (torch.arange(300) % 4).to(grades), indexes)
    metric = build("RetrievalNormalizedDCG")
    for _ in range(2):
        metric.update(*rows, doc_ids=torch.arange(300))
    assert_same(metric.compute(), value(build("RetrievalNormalizedDCG"), *rows))


def test_members_of_a_collection_share_the_states():
    rows, _ = documents()
    collection = MetricCollection({name: build(name) for name in SCALARS})
    for _ in range(2):
        collection.update(*rows, doc_ids=torch.arange(300))
    assert len(collection.compute_groups) == 1
    assert_same(collection.compute(), {name: value(build(name), *rows) for name in SCALARS})
    assert collection["RetrievalMRR"].metric_state.keys() == {"indexes", "preds", "target"}
    collection.reset()
    collection.update(*rows)
    assert_same(collection.compute(), {name: value(build(name), *rows) for name in SCALARS})


def test_different_targets_of_a_document_are_an_error():
    metric = build("RetrievalRecall")
    metric.update(tensor([0.9, 0.5, 0.1]), tensor([0, 1, 1]), tensor([8, 9, 9]), tensor([4, 4, 5]))
    metric.update(tensor([0.9, 0.1]), tensor([0, 0]), tensor([8, 9]), tensor([4, 5]))
    with pytest.raises(DataError, match="`target` differs between the rows of document 5 in query 9"):
        metric.compute()


@pytest.mark.parametrize("first", [True, False])
def test_ids_are_for_each_update_or_for_none(first):
    rows, doc_ids = documents()
    metric = build("RetrievalRecall")
    metric.update(*rows, doc_ids if first else None)
    metric.update(*rows, None if first else doc_ids)
    with pytest.raises(DataError, match="`doc_ids` was given to some updates and not to others"):
        metric.compute()


def test_ids_that_are_none():
    (preds, target, indexes), doc_ids = documents()
    metric = build("RetrievalRecall")
    with pytest.raises(DataError, match=r"`doc_ids` must be a tensor of .* got torch\.float32"):
        metric.update(preds, target, indexes, doc_ids.float())
    with pytest.raises(DataError, match=r"of the same shape, got \(300,\), \(299,\), \(300,\), \(300,\)"):
        metric.update(preds, target, indexes, doc_ids[1:])
    with pytest.raises(ParameterError, match="`doc_ids` must be a Tensor, got list"):
        metric.update(preds, target, indexes, doc_ids.tolist())
    assert metric.preds == []


@pytest.mark.parametrize("option", ["compact", "queries_complete"])
def test_a_metric_that_forgets_documents_takes_no_ids(option):
    rows, doc_ids = documents()
    with pytest.raises(ParameterError, match=f"`doc_ids` cannot be given where `{option}=True`"):
        build("RetrievalRecall", **{option: True}).update(*rows, doc_ids)
