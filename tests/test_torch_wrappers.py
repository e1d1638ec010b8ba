"""torchmetrics' wrappers, collections and arithmetic around the metrics."""

import copy

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchmetrics")

from test_torch_metrics import CLASSES, SCALARS, assert_same, batch, build, value  # noqa: E402
from torchmetrics import MetricCollection, MetricTracker  # noqa: E402
from torchmetrics.retrieval import RetrievalRecall as TheirRecall  # noqa: E402
from torchmetrics.wrappers import BootStrapper, MinMaxMetric  # noqa: E402

import polars_retrieval.torch as ours  # noqa: E402

# --- bootstrap


@pytest.mark.parametrize("name", SCALARS)
def test_bootstrapper_resamples_the_documents_of_a_batch(name):
    rows = batch()
    torch.manual_seed(0)
    wrapped = BootStrapper(build(name), num_bootstraps=8, raw=True, sampling_strategy="multinomial")
    wrapped.update(*rows)
    result = wrapped.compute()
    torch.manual_seed(0)
    samples = [torch.multinomial(torch.ones(300), num_samples=300, replacement=True) for _ in range(8)]
    expected = torch.stack([value(build(name), *(values[rows_] for values in rows)) for rows_ in samples])
    assert_same(result["raw"], expected)
    assert_same(result["mean"], expected.mean())
    assert_same(result["std"], expected.std())
    assert result["std"] > 0


def test_bootstrapper_takes_keyword_arguments():
    preds, target, indexes = batch()
    wrapped = BootStrapper(ours.RetrievalMRR(), num_bootstraps=4, quantile=0.5)
    wrapped.update(preds=preds, target=target, indexes=indexes)
    assert 0 < wrapped.compute()["quantile"] < 1
    wrapped.reset()
    assert all(metric.preds == [] for metric in wrapped.metrics)


# --- over time


@pytest.mark.parametrize("name", SCALARS)
def test_tracker_keeps_each_epoch_and_finds_the_best(name):
    epochs = [batch(seed=seed) for seed in range(4)]
    tracker = MetricTracker(build(name))
    for rows in epochs:
        tracker.increment()
        for part in zip(*(values.split(90) for values in rows), strict=True):
            tracker.update(*part)
    expected = torch.stack([value(build(name), *rows) for rows in epochs])
    assert_same(tracker.compute_all(), expected)
    best, step = tracker.best_metric(return_step=True)
    highest = name != "RetrievalFallOut"  # of which less is better
    assert step == int(expected.argmax() if highest else expected.argmin())
    assert best == pytest.approx(expected[step].item())


def test_tracker_of_a_collection():
    epochs = [batch(seed=seed) for seed in range(3)]
    tracker = MetricTracker(MetricCollection([build("RetrievalRecall"), build("RetrievalFallOut")]))
    for rows in epochs:
        tracker.increment()
        tracker.update(*rows)
    expected = {
        name: torch.stack([value(build(name), *rows) for rows in epochs])
        for name in ("RetrievalRecall", "RetrievalFallOut")
    }
    result = tracker.compute_all()
    assert_same({name: result[name] for name in expected}, expected)
    best = tracker.best_metric()
    assert best["RetrievalRecall"] == pytest.approx(expected["RetrievalRecall"].max().item())
    assert best["RetrievalFallOut"] == pytest.approx(expected["RetrievalFallOut"].min().item())


@pytest.mark.parametrize("name", SCALARS)
def test_smallest_and_largest_value_so_far(name):
    epochs = [batch(seed=seed) for seed in range(4)]
    wrapped, values = MinMaxMetric(build(name)), []
    for rows in epochs:
        wrapped.update(*rows)
        result = wrapped.compute()
        values.append(value(build(name), *rows))
        assert_same(result, {"raw": values[-1], "min": min(values), "max": max(values)})
        wrapped._base_metric.reset()


# --- arithmetic


@pytest.mark.parametrize("name", SCALARS)
def test_arithmetic(name):
    rows = batch()
    alone = value(build(name), *rows)
    assert_same(value(build(name) * 2, *rows), alone * 2)
    assert_same(value(1 - build(name), *rows), 1 - alone)
    assert_same((build(name) + torch.tensor(0.5))(*rows), alone + 0.5)


def test_harmonic_mean_of_two_metrics():
    precision, recall = ours.RetrievalPrecision(top_k=3), ours.RetrievalRecall(top_k=3)
    rows = batch()
    both = 2 * precision * recall / (precision + recall)
    p, r = (value(build(name), *rows) for name in ("RetrievalPrecision", "RetrievalRecall"))
    precision.update(*rows)
    recall.update(*rows)
    assert_same(both.compute(), 2 * p * r / (p + r))


def test_item_of_a_curve():
    rows = batch()
    recall_curve = build("RetrievalPrecisionRecallCurve")[1]
    assert_same(value(recall_curve, *rows), value(build("RetrievalPrecisionRecallCurve"), *rows)[1])


# --- collections


def test_names_and_clones_of_collections():
    rows = batch()
    validation = MetricCollection({name: build(name) for name in CLASSES}, prefix="val/")
    test = validation.clone(prefix="test/", postfix="@3")
    validation.update(*rows)
    values = validation.compute()
    assert values.keys() == {f"val/{name}" for name in CLASSES}
    for name in CLASSES:
        assert_same(values[f"val/{name}"], value(build(name), *rows))
    assert all(metric.preds == [] for metric in test.values())
    assert test(*rows).keys() == {f"test/{name}@3" for name in CLASSES}


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda collection: collection.clone()], ids=["copy", "clone"])
def test_a_clone_goes_its_own_way(duplicate):
    first, second = batch(seed=0), batch(seed=1)
    collection = MetricCollection({name: build(name) for name in CLASSES})
    collection.update(*first)
    other = duplicate(collection)
    other.update(*second)
    both = [torch.cat(values) for values in zip(first, second, strict=True)]
    for name in CLASSES:
        assert_same(collection.compute()[name], value(build(name), *first))
        assert_same(other.compute()[name], value(build(name), *both))


def test_ours_and_theirs_in_one_collection():
    rows = batch()
    collection = MetricCollection({"ours": ours.RetrievalRecall(top_k=3), "theirs": TheirRecall(top_k=3)})
    for part in zip(*(values.split(70) for values in rows), strict=True):
        values = collection(*part)
        assert_same(values["ours"], values["theirs"])
    assert_same(collection.compute()["ours"], collection.compute()["theirs"])


def test_merged_states_are_those_of_all_updates():
    first, second = batch(seed=0), batch(seed=1)
    both = [torch.cat(values) for values in zip(first, second, strict=True)]
    for name in CLASSES:
        metric, other = build(name), build(name)
        metric.update(*first)
        other.update(*second)
        metric.merge_state(other)
        assert_same(metric.compute(), value(build(name), *both))


# --- pictures


@pytest.fixture
def pyplot():
    """Pyplot, without a window."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


@pytest.mark.usefixtures("pyplot")
@pytest.mark.filterwarnings("ignore:The figure layout has changed to tight")
def test_wrapped_metrics_are_drawn():
    epochs = [batch(seed=seed) for seed in range(3)]
    tracker = MetricTracker(build("RetrievalRecall"))
    for rows in epochs:
        tracker.increment()
        tracker.update(*rows)
    _, axes = tracker.plot()
    drawn = [y for line in axes.lines for y in line.get_ydata().tolist()]
    assert drawn[:3] == tracker.compute_all().tolist()


@pytest.mark.usefixtures("pyplot")
def test_a_collection_is_drawn_in_one_picture():
    names = ["RetrievalRecall", "RetrievalMAP"]
    collection = MetricCollection([build(name) for name in names])
    steps = [collection(*batch(seed=seed)) for seed in range(3)]
    _, axes = collection.plot(steps, together=True)
    for line, name in zip(axes.lines, names, strict=False):
        assert line.get_ydata().tolist() == [step[name].item() for step in steps]
    assert len(collection.plot(steps)) == len(names)
