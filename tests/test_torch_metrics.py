"""The torch classes: torchmetrics' contract, the values of the frames, and what they add."""

import copy
import inspect
import math
import pickle
import re

import polars as pl
import pytest

torch = pytest.importorskip("torch")
torchmetrics = pytest.importorskip("torchmetrics")

import reference  # noqa: E402
import torchmetrics.retrieval as theirs  # noqa: E402
from torch import tensor  # noqa: E402

import polars_retrieval as pr  # noqa: E402
import polars_retrieval.torch as ours  # noqa: E402
from polars_retrieval.errors import DataError, EmptyTargetError, ParameterError  # noqa: E402
from polars_retrieval.torch.batches import batches_frame  # noqa: E402

# What to build from each class in tests of what all of them do, and the measure that it then is.
EXAMPLES = {
    "RetrievalPrecision": {"top_k": 3},
    "RetrievalRecall": {"top_k": 3},
    "RetrievalHitRate": {"top_k": 1},
    "RetrievalFallOut": {"top_k": 3},
    "RetrievalMRR": {"top_k": 3},
    "RetrievalMAP": {"top_k": 3},
    "RetrievalNormalizedDCG": {"top_k": 3},
    "RetrievalAUROC": {"top_k": 6},
    "RetrievalRPrecision": {},
    "RetrievalPrecisionRecallCurve": {"max_k": 5},
    "RetrievalRecallAtFixedPrecision": {"min_precision": 0.4, "max_k": 5},
}
MEASURES = {
    "RetrievalPrecision": pr.precision @ 3,
    "RetrievalRecall": pr.recall @ 3,
    "RetrievalHitRate": pr.hit_rate @ 1,
    "RetrievalFallOut": pr.fall_out @ 3,
    "RetrievalMRR": pr.reciprocal_rank @ 3,
    "RetrievalMAP": pr.average_precision(denominator="hits") @ 3,
    "RetrievalNormalizedDCG": pr.ndcg @ 3,
    "RetrievalAUROC": pr.auroc @ 6,
    "RetrievalRPrecision": pr.r_precision,
}
CLASSES = list(EXAMPLES)
SCALARS = list(MEASURES)
CUTOFFS = [name for name in CLASSES if "top_k" in EXAMPLES[name]]
CURVES = [name for name in CLASSES if "max_k" in EXAMPLES[name]]
TIES = ["expected", "stable", "pessimistic", "optimistic"]
INTEGERS = [
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint8,
    torch.uint16,
    torch.uint32,
    torch.uint64,
]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def build(name, **options):
    return getattr(ours, name)(**EXAMPLES[name] | options)


def batch(n=300, queries=20, seed=0, share=0.3):
    """Untied positive scores, so that every tie rule and torchmetrics agree; query 3 has nothing relevant."""
    generator = torch.Generator().manual_seed(seed)
    preds = (torch.randperm(n, generator=generator) + 1) / (n + 1)
    target = torch.rand(n, generator=generator) < share
    indexes = torch.randint(queries, (n,), generator=generator)
    return preds, target & (indexes != 3), indexes


def frame(preds, target, indexes):
    return pl.DataFrame(
        {"query_id": indexes.tolist(), "score": preds.tolist(), "relevance": target.int().tolist()},
        schema_overrides={"score": pl.Float64 if preds.dtype == torch.float64 else pl.Float32},
    )


def value(metric, preds, target, indexes):
    metric.update(preds, target, indexes)
    return metric.compute()


def assert_same(result, expected, **tolerance):
    torch.testing.assert_close(result, expected, **tolerance)


# --- worked values


def test_worked_curve():
    curve = ours.RetrievalPrecisionRecallCurve(max_k=4)
    preds = tensor([0.4, 0.01, 0.5, 0.6, 0.2, 0.3, 0.5])
    target = tensor([1, 0, 0, 1, 1, 0, 1])
    precision, recall, top_k = curve(preds, target, indexes=tensor([0, 0, 0, 0, 1, 1, 1]))
    assert_same(precision, tensor([1, (1 + 1) / 2 / 2, (2 + 2) / 3 / 2, (2 + 2) / 4 / 2]))
    assert_same(recall, tensor([0.5, 0.5, 1, 1]))
    assert_same(top_k, tensor([1, 2, 3, 4]))


def test_worked_r_precision_and_recall():
    rows = (
        tensor([0.2, 0.3, 0.5, 0.1, 0.3, 0.5, 0.2]),
        tensor([0, 0, 1, 0, 1, 0, 1]),
        tensor([0, 0, 0, 1, 1, 1, 1]),
    )
    assert value(ours.RetrievalRPrecision(), *rows).item() == (1 + 1 / 2) / 2
    assert value(ours.RetrievalRecall(top_k=2), *rows).item() == (1 + 1 / 2) / 2


@pytest.mark.parametrize(
    ("ties", "expected"), [("expected", 1 / 3), ("stable", 1.0), ("pessimistic", 0.0), ("optimistic", 1.0)]
)
def test_worked_ties(ties, expected):
    rows = (tensor([1.0, 1.0, 1.0]), tensor([1, 0, 0]), tensor([0, 0, 0]))
    assert_same(value(ours.RetrievalPrecision(top_k=1, ties=ties), *rows), tensor(expected))
    precision, recall, _ = value(ours.RetrievalPrecisionRecallCurve(ties=ties), *rows)
    assert_same(precision[0], tensor(expected))
    assert_same(recall[-1], tensor(1.0))


def test_worked_scores_below_zero():
    rows = (tensor([-0.1, -0.5, -0.9]), tensor([1, 0, 1]), tensor([0, 0, 0]))
    assert value(ours.RetrievalPrecision(top_k=1), *rows).item() == 1
    assert value(ours.RetrievalRecall(top_k=1), *rows).item() == 1 / 2
    assert value(ours.RetrievalMRR(), *rows).item() == 1
    assert_same(value(ours.RetrievalMAP(), *rows), tensor((1 / 1 + 2 / 3) / 2))


def test_worked_reciprocal_rank_of_ties():
    rows = (tensor([1.0, 1.0, 1.0]), tensor([1, 0, 0]), tensor([0, 0, 0]))
    assert_same(value(ours.RetrievalMRR(), *rows), tensor((1 / 1 + 1 / 2 + 1 / 3) / 3))
    assert_same(value(ours.RetrievalMAP(), *rows), tensor((1 / 1 + 1 / 2 + 1 / 3) / 3))


@pytest.mark.parametrize(
    ("denominator", "expected"),
    [
        ("hits", ((1 / 1 + 2 / 3) / 2 + 1 / 3) / 2),
        ("relevant", ((1 / 1 + 2 / 3) / 4 + (1 / 3) / 1) / 2),
        ("min", ((1 / 1 + 2 / 3) / 3 + (1 / 3) / 1) / 2),
    ],
)
def test_worked_denominators_of_average_precision(denominator, expected):
    preds = tensor([0.9, 0.8, 0.7, 0.6, 0.5, 0.9, 0.8, 0.7])
    target = tensor([1, 0, 1, 1, 1, 0, 0, 1])
    indexes = tensor([0, 0, 0, 0, 0, 1, 1, 1])
    metric = ours.RetrievalMAP(top_k=3, denominator=denominator)
    assert_same(value(metric, preds, target, indexes), tensor(expected))


def test_worked_ndcg_of_grades():
    rows = (tensor([0.9, 0.8, 0.7, 0.6]), tensor([1, -5, 0, 2]), tensor([0, 0, 0, 0]))
    log2 = math.log2
    linear = (1 / log2(2) + 2 / log2(5)) / (2 / log2(2) + 1 / log2(3))
    exponential = (1 / log2(2) + 3 / log2(5)) / (3 / log2(2) + 1 / log2(3))
    assert_same(value(ours.RetrievalNormalizedDCG(), *rows), tensor(linear))
    assert_same(value(ours.RetrievalNormalizedDCG(gain="exponential"), *rows), tensor(exponential))
    assert_same(value(ours.RetrievalNormalizedDCG(top_k=1), *rows), tensor(1 / 2))


def test_worked_fall_out_and_auroc():
    rows = (tensor([0.9, 0.8, 0.7, 0.6, 0.5]), tensor([0, 1, 0, 1, 0]), tensor([0, 0, 0, 0, 0]))
    assert_same(value(ours.RetrievalFallOut(top_k=3), *rows), tensor(2 / 3))
    assert_same(value(ours.RetrievalAUROC(), *rows), tensor((2 + 1) / (2 * 3)))
    assert_same(value(ours.RetrievalAUROC(top_k=3), *rows), tensor(1 / (1 * 2)))


# --- torchmetrics' contract


def test_every_class_of_torchmetrics_has_one_of_ours():
    assert sorted(CLASSES) == sorted(theirs.__all__)
    assert set(CLASSES) <= set(ours.__all__)


@pytest.mark.parametrize("name", CLASSES)
def test_positional_arguments_and_defaults_are_torchmetrics(name):
    parameters = inspect.signature(getattr(ours, name)).parameters.values()
    given = [p for p in parameters if p.kind != p.KEYWORD_ONLY]
    wanted = inspect.signature(getattr(theirs, name)).parameters.values()
    assert [(p.name, p.default, p.kind) for p in given] == [(p.name, p.default, p.kind) for p in wanted]


@pytest.mark.parametrize("name", CLASSES)
def test_flags_and_states_are_torchmetrics(name):
    metric, other = build(name), getattr(theirs, name)(**EXAMPLES[name])
    assert isinstance(metric, torchmetrics.Metric)
    for flag in [
        "is_differentiable",
        "higher_is_better",
        "full_state_update",
        "plot_lower_bound",
        "plot_upper_bound",
    ]:
        assert getattr(metric, flag) == getattr(other, flag), flag
    assert metric._defaults == other._defaults
    assert metric._reductions == other._reductions
    assert metric._persistent == other._persistent


@pytest.mark.parametrize("name", CLASSES)
def test_every_parameter_is_documented(name):
    text, examples = inspect.getdoc(getattr(ours, name)).split("Examples\n--------\n")
    section = text.split("Parameters\n----------\n")[1]
    documented = re.findall(r"^(?:\*\*)?(\w+)\n    \S", section, re.MULTILINE)
    assert documented == list(inspect.signature(getattr(ours, name)).parameters)
    assert f">>> from polars_retrieval.torch import {name}" in examples


@pytest.mark.parametrize("aggregation", ["mean", "median", "min", "max"])
@pytest.mark.parametrize("action", ["neg", "pos", "skip"])
@pytest.mark.parametrize("name", CLASSES)
def test_values_are_torchmetrics_where_scores_are_positive_and_untied(name, action, aggregation):
    for share in (0.3, 0.98 if name == "RetrievalFallOut" else 0.02):
        rows = batch(share=share)
        for cutoffs in ({}, {"top_k": 1}, {"top_k": 40}, {"max_k": 1}, {"max_k": 40}, {"adaptive_k": True}):
            known = inspect.signature(getattr(theirs, name)).parameters.keys()
            if not known >= cutoffs.keys():
                continue
            options = EXAMPLES[name] | cutoffs | {"empty_target_action": action, "aggregation": aggregation}
            expected = value(getattr(theirs, name)(**options), *rows)
            assert_same(value(getattr(ours, name)(**options), *rows), expected)


@pytest.mark.parametrize("min_precision", [0.0, 0.25, 0.5, 0.8, 1.0])
def test_recall_at_fixed_precision_and_its_k_are_torchmetrics(min_precision):
    for seed in range(20):
        rows = batch(n=30, queries=3, seed=seed)
        options = {"min_precision": min_precision, "max_k": 6}
        expected = value(theirs.RetrievalRecallAtFixedPrecision(**options), *rows)
        assert_same(value(ours.RetrievalRecallAtFixedPrecision(**options), *rows), expected)


def test_recall_at_fixed_precision_names_the_largest_k_or_max_k():
    rows = (tensor([0.9, 0.8, 0.7, 0.6]), tensor([0, 1, 0, 0]), tensor([0, 0, 0, 0]))
    recall, k = value(ours.RetrievalRecallAtFixedPrecision(min_precision=0.25), *rows)
    assert (recall.item(), k.item()) == (1, 4)
    recall, k = value(ours.RetrievalRecallAtFixedPrecision(min_precision=0.3), *rows)
    assert (recall.item(), k.item()) == (1, 3)
    recall, k = value(ours.RetrievalRecallAtFixedPrecision(min_precision=0.9), *rows)
    assert (recall.item(), k.item()) == (0, 4)


# --- the frames' values


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("aggregation", ["mean", "median", "min", "max"])
@pytest.mark.parametrize("name", SCALARS)
def test_values_are_those_of_frames(name, aggregation, ties):
    preds, target, indexes = batch()
    preds = (preds * 8).round() - 4  # many ties, many below zero
    metric = build(name, aggregation=aggregation, ties=ties)
    options = {"aggregation": aggregation, "ties": ties, "empty_target_action": metric.empty_target_action}
    expected = pr.evaluate(frame(preds, target, indexes), MEASURES[name], **options).item()
    assert_same(value(metric, preds, target, indexes), tensor(expected, dtype=torch.float32))


def documents(preds, target, indexes):
    columns = (indexes.tolist(), range(len(preds)), preds.tolist(), target.tolist())
    return [reference.Row(*row) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("name", SCALARS)
def test_values_are_those_of_the_reference(name, ties):
    preds, target, indexes = batch(n=40, queries=8, share=0.5)
    rows = ((preds * 4).round() - 2, target.int(), indexes)
    metric, measure = build(name, ties=ties), MEASURES[name]
    options = {"ties": ties, "empty_target_action": metric.empty_target_action, "parameters": measure.parameters}
    expected = reference.evaluate(documents(*rows), measure.declaration.name, **options)
    assert_same(value(metric, *rows), tensor(expected))


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("gain", ["linear", "exponential"])
@pytest.mark.parametrize("grades", [torch.int8, torch.int64, torch.float16, torch.float64], ids=str)
def test_ndcg_of_grades_is_that_of_the_reference(grades, gain, ties):
    preds, _, indexes = batch(n=40, queries=8)
    target = torch.randint(-4, 8, (40,), generator=torch.Generator().manual_seed(1)) / 2
    rows = ((preds * 4).round() - 2, target.to(grades), indexes)
    parameters = {"gain": gain, "k": 3}
    expected = reference.evaluate(documents(*rows), "ndcg", ties=ties, parameters=parameters)
    assert_same(value(ours.RetrievalNormalizedDCG(top_k=3, gain=gain, ties=ties), *rows), tensor(expected))


@pytest.mark.parametrize("aggregation", ["mean", "median", "min", "max"])
@pytest.mark.parametrize("top_k", [None, 1, 5])
@pytest.mark.parametrize("grades", [torch.int64, torch.float32], ids=str)
def test_ndcg_of_grades_is_torchmetrics_with_its_ties(grades, top_k, aggregation):
    preds, _, indexes = batch()
    target = torch.randint(6, (300,), generator=torch.Generator().manual_seed(1)) / 2
    rows = ((preds * 8).round() - 4, target.to(grades), indexes)
    options = {"top_k": top_k, "aggregation": aggregation}
    expected = value(theirs.RetrievalNormalizedDCG(**options), *rows)
    assert_same(value(ours.RetrievalNormalizedDCG(**options), *rows), expected)


@pytest.mark.parametrize("ties", ["expected", "stable", "pessimistic", "optimistic"])
@pytest.mark.parametrize("adaptive_k", [False, True])
def test_curve_is_that_of_frames(adaptive_k, ties):
    preds, target, indexes = batch()
    preds = (preds * 8).round() - 4
    options = {"max_k": 25, "adaptive_k": adaptive_k, "ties": ties}
    expected = pr.pr_curve(frame(preds, target, indexes), **options)
    precision, recall, top_k = value(ours.RetrievalPrecisionRecallCurve(**options), preds, target, indexes)
    assert_same(precision.double(), tensor(expected["precision"].to_list()).double())
    assert_same(recall.double(), tensor(expected["recall"].to_list()).double())
    assert top_k.tolist() == expected["k"].to_list()


# --- many batches


@pytest.mark.parametrize("name", CLASSES)
def test_batches_count_as_one_and_forward_gives_the_batch(name):
    rows = batch()
    whole = value(build(name), *rows)
    metric = build(name)
    for part in zip(*(values.split(70) for values in rows), strict=True):
        assert_same(metric(*part[:2], indexes=part[2]), value(build(name), *part))
    assert_same(metric.compute(), whole)
    metric.reset()
    assert metric.metric_state == {"indexes": [], "preds": [], "target": []}
    assert_same(value(metric, *rows), whole)


def test_large_batches_are_chunks_in_the_memory_of_the_tensors():
    metric = ours.RetrievalRecall(top_k=3)
    batches = [batch(n=12_000, seed=seed) for seed in range(3)]
    for rows in batches:
        metric.update(*rows)
    columns = batches_frame(metric.preds, metric.target, metric.indexes)
    assert columns.schema == {"indexes": pl.Int64, "preds": pl.Float32, "target": pl.UInt8}
    for position, name in enumerate(["preds", "target", "indexes"]):
        chunks = columns[name].get_chunks()
        assert [chunk.to_arrow().buffers()[1].address for chunk in chunks] == [
            rows[position].data_ptr() for rows in batches
        ]


def test_small_batches_are_joined():
    metric = ours.RetrievalRecall(top_k=3)
    for rows in [batch(seed=0), batch(seed=1)]:
        metric.update(*rows)
    assert batches_frame(metric.preds, metric.target, metric.indexes).n_chunks() == 1


@pytest.mark.parametrize("n", [300, 12_000])
def test_batches_of_different_types_keep_every_difference(n):
    preds, target, indexes = batch(n=n)
    parts = [
        (preds.double(), target.int(), indexes.to(torch.uint8)),
        (preds.half(), target, indexes),
        (preds, target.to(torch.uint16), indexes.int()),
    ]
    metric = ours.RetrievalPrecisionRecallCurve(max_k=5)
    for position, part in enumerate(parts):
        metric.update(part[0], part[1], part[2] + (100 * position if position else 0))
    result = metric.compute()
    preds = torch.cat([part[0].double() for part in parts])
    indexes = torch.cat([indexes, indexes + 100, indexes + 200])
    assert_same(result, value(ours.RetrievalPrecisionRecallCurve(max_k=5), preds, target.repeat(3), indexes))


def test_shapes_are_flattened():
    rows = batch()
    cube = [values.view(3, 4, 25) for values in rows]
    assert_same(value(ours.RetrievalRecall(top_k=2), *cube), value(ours.RetrievalRecall(top_k=2), *rows))


@pytest.mark.parametrize("name", CLASSES)
def test_a_collection_forms_one_group_and_changes_no_value(name):
    members = {other: build(other) for other in CLASSES} | {"deeper": build(name, **_deeper(name))}
    collection = torchmetrics.MetricCollection(members)
    for seed in range(3):
        collection.update(*batch(seed=seed))
    assert len(collection.compute_groups) == 1
    results = collection.compute()
    alone = build(name, **_deeper(name))
    for seed in range(3):
        alone.update(*batch(seed=seed))
    if not isinstance(alone.compute(), tuple):
        assert_same(results["deeper"], alone.compute())
    collection.reset()
    assert collection["deeper"].preds == []


def _deeper(name):
    return {"top_k": 7} if name in CUTOFFS else {"max_k": 9} if name in CURVES else {}


@pytest.mark.parametrize("name", CLASSES)
def test_pickle_clone_and_state_dict_carry_the_batches(name):
    metric = build(name)
    expected = value(metric, *batch())
    unpickled = pickle.loads(pickle.dumps(metric))  # noqa: S301 (our own)
    for again in (unpickled, metric.clone(), copy.deepcopy(metric)):
        assert_same(again.compute(), expected)
    assert metric.state_dict() == {}
    metric.persistent(mode=True)
    other = build(name)
    other.persistent(mode=True)
    other.load_state_dict(metric.state_dict())
    other.update(*batch(seed=1))
    metric.update(*batch(seed=1))
    assert_same(other.compute(), metric.compute())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch.jit, and of torchmetrics when scripted
@pytest.mark.parametrize("name", CLASSES)
def test_metrics_can_be_scripted_as_torchmetrics_can(name):
    assert isinstance(torch.jit.script(build(name)), torch.jit.ScriptModule)


@pytest.mark.parametrize("name", CLASSES)
def test_merged_states_are_one(name):
    left, right = build(name), build(name)
    left.update(*batch(seed=0))
    right.update(*batch(seed=1))
    left.merge_state(right)
    whole = build(name)
    whole.update(*batch(seed=1))
    whole.update(*batch(seed=0))
    assert_same(left.compute(), whole.compute())


def test_base_class_arguments_are_taken():
    metric = ours.RetrievalRecall(
        top_k=2, compute_on_cpu=True, dist_sync_on_step=True, sync_on_compute=False, compute_with_cache=False
    )
    assert (metric.compute_on_cpu, metric.dist_sync_on_step, metric.sync_on_compute) == (True, True, False)
    assert_same(metric(*batch()), value(ours.RetrievalRecall(top_k=2), *batch()))
    with pytest.raises(ValueError, match="Unexpected keyword arguments: `tiess`"):
        ours.RetrievalRecall(tiess="stable")


# --- types and devices


@pytest.mark.parametrize("integers", INTEGERS, ids=str)
@pytest.mark.parametrize("floats", FLOATS, ids=str)
@pytest.mark.parametrize("name", ["RetrievalRecall", "RetrievalPrecisionRecallCurve"])
def test_every_type_gives_the_same_value(name, floats, integers):
    preds, target, indexes = batch(n=100, queries=7)
    preds = preds.to(floats)
    expected = value(build(name), preds.float(), target, indexes)
    result = value(build(name), preds, target.to(integers), indexes.to(integers))
    wider = torch.float64 if floats == torch.float64 else torch.float32
    first = result if isinstance(result, torch.Tensor) else result[0]
    assert first.dtype == wider
    assert_same(result, expected, check_dtype=False)


def test_float64_scores_are_ranked_as_float64():
    preds = tensor([0.50000001, 0.50000002], dtype=torch.float64)
    assert preds.float().unique().numel() == 1
    rows = (preds, tensor([0, 1]), tensor([0, 0]))
    assert value(ours.RetrievalPrecision(top_k=1, ties="pessimistic"), *rows).item() == 1


def test_query_ids_may_be_any_number():
    preds = tensor([0.25, 0.75, 0.45, 0.95, 0.15, 0.35])
    target = tensor([0, 1, 0, 1, 1, 0])
    huge = tensor([-7, -7, 123456789, 123456789, 4611686018427400249, 4611686018427400249])
    assert_same(value(ours.RetrievalRecall(top_k=1), preds, target, huge), tensor((1 + 1 + 0) / 3))
    beyond = tensor([2**64 - 1, 2**64 - 1, 2**63, 2**63, 0, 0], dtype=torch.uint64)
    assert_same(value(ours.RetrievalRecall(top_k=1), preds, target, beyond), tensor((1 + 1 + 0) / 3))


def test_infinite_scores_are_ranked():
    rows = (tensor([float("-inf"), 0.0, float("inf")]), tensor([0, 0, 1]), tensor([0, 0, 0]))
    assert value(ours.RetrievalPrecision(top_k=1), *rows).item() == 1


def test_results_need_no_gradient_and_the_state_keeps_no_graph():
    preds, target, indexes = batch()
    metric = ours.RetrievalRecall(top_k=2)
    result = metric((preds.clone().requires_grad_() * 2), target, indexes=indexes)
    assert not result.requires_grad
    assert not metric.preds[0].requires_grad


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("name", CLASSES)
def test_results_are_on_the_device_of_the_predictions(name):
    rows = batch()
    metric = build(name).to("cuda")
    result = value(metric, *(values.cuda() for values in rows))
    for on_device, expected in zip(_several(result), _several(value(build(name), *rows)), strict=True):
        assert on_device.device.type == "cuda"
        assert_same(on_device.cpu(), expected)


def _several(result):
    return result if isinstance(result, tuple) else (result,)


# --- what a query without a relevant document counts, what is ignored, how queries are averaged

NO_RELEVANT = (tensor([0.9, 0.8, 0.7, 0.6]), tensor([1, 0, 0, 0]), tensor([0, 0, 5, 5]))
NO_OTHER = (tensor([0.9, 0.8, 0.7, 0.6]), tensor([0, 1, 1, 1]), tensor([0, 0, 5, 5]))


def undefined_in_5(name):
    """Rows of two queries: the measure is 1 for the first, undefined for the second."""
    return NO_OTHER if name == "RetrievalFallOut" else NO_RELEVANT


@pytest.mark.parametrize(("action", "expected"), [("neg", (1 + 0) / 2), ("pos", (1 + 1) / 2), ("skip", 1)])
@pytest.mark.parametrize("name", CLASSES)
def test_a_query_without_what_the_measure_needs(name, action, expected):
    options = {"max_k": 1} if name in CURVES else {"top_k": 2 if name == "RetrievalAUROC" else 1}
    options = options if options.keys() <= EXAMPLES[name].keys() else {}
    result = value(build(name, empty_target_action=action, **options), *undefined_in_5(name))
    assert _several(result)[0].item() == expected


@pytest.mark.parametrize("name", CLASSES)
def test_a_query_without_what_the_measure_needs_is_an_error_on_request(name):
    metric = build(name, empty_target_action="error")
    metric.update(*undefined_in_5(name))
    sign = "negative" if name == "RetrievalFallOut" else "positive"
    message = f"`compute` method was provided with a query with no {sign} target.*indexes 5"
    with pytest.raises(EmptyTargetError, match=re.compile(message, re.DOTALL)):
        metric.compute()


def test_fall_out_counts_1_for_a_query_without_a_non_relevant_document():
    assert value(ours.RetrievalFallOut(top_k=1), *NO_OTHER).item() == (1 + 1) / 2
    assert value(ours.RetrievalFallOut(top_k=1), *NO_RELEVANT).item() == (0 / 1 + 1 / 2) / 2


@pytest.mark.parametrize("action", ["neg", "pos", "skip", "error"])
def test_auroc_of_a_query_without_a_pair_is_0(action):
    metric = ours.RetrievalAUROC(empty_target_action=action)
    assert value(metric, *NO_OTHER).item() == (0 + 0) / 2
    assert value(theirs.RetrievalAUROC(empty_target_action=action), *NO_OTHER).item() == 0


def test_a_grade_below_1_is_enough_for_ndcg():
    rows = (tensor([0.9, 0.8]), tensor([0.25, 0.0]), tensor([0, 0]))
    assert value(ours.RetrievalNormalizedDCG(empty_target_action="error"), *rows).item() == 1


@pytest.mark.parametrize("aggregation", ["mean", "median", "min", "max", lambda values, dim: values.sum(dim)])
@pytest.mark.parametrize("name", CLASSES)
def test_all_queries_skipped_give_zero(name, aggregation):
    preds, target, indexes = NO_RELEVANT
    metric = build(name, empty_target_action="skip", aggregation=aggregation)
    alike = torch.full_like(target, int(name == "RetrievalFallOut"))
    result = value(metric, preds, alike, indexes)
    assert not any(part.any() for part in _several(result)[: 1 if name == CURVES[1] else 2])
    if name == "RetrievalPrecisionRecallCurve":
        assert [len(part) for part in result] == [5, 5, 5]


@pytest.mark.parametrize("name", CLASSES)
def test_ignored_rows_are_as_if_never_given(name):
    preds, target, indexes = batch()
    kept = torch.arange(len(preds)) % 3 > 0
    ignored = target.int().masked_fill(~kept, -100)
    expected = value(build(name), preds[kept], target[kept], indexes[kept])
    assert_same(value(build(name, ignore_index=-100), preds, ignored, indexes), expected)


def test_a_batch_in_which_all_is_ignored_is_empty():
    message = re.escape("must be non-empty and non-scalar tensors, but every target equals `ignore_index` = -1")
    with pytest.raises(DataError, match=message):
        ours.RetrievalRecall(ignore_index=-1).update(tensor([0.5]), tensor([-1]), tensor([0]))


@pytest.mark.parametrize("name", SCALARS)
def test_an_own_aggregation_gets_the_values_in_the_order_of_indexes(name):
    preds, target, indexes = batch()
    metric = build(name, aggregation=lambda values, dim: (values, dim))
    metric.update(preds, target, indexes)
    values, dim = metric.compute()
    per_query = pr.per_query(frame(preds, target, indexes), MEASURES[name]).sort("query_id").to_series(1)
    assert dim is None
    assert_same(values, tensor(per_query.to_list()))


def test_an_own_aggregation_of_the_curve_gets_queries_by_k():
    rows = batch()
    given = []

    def aggregation(values, dim):
        given.append((values.shape, dim))
        return values.mean(dim=dim)

    result = value(ours.RetrievalPrecisionRecallCurve(max_k=7, aggregation=aggregation), *rows)
    assert given == [((20, 7), 0), ((20, 7), 0)]
    assert_same(result, value(ours.RetrievalPrecisionRecallCurve(max_k=7), *rows))
    first = ours.RetrievalPrecisionRecallCurve(max_k=7, aggregation=lambda values, dim: values.select(dim, 2))
    one = rows[2] == 2
    expected = value(ours.RetrievalPrecisionRecallCurve(max_k=7), *(values[one] for values in rows))
    assert_same(value(first, *rows), expected)


# --- errors


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"empty_target_action": "casual_argument"},
            "`empty_target_action` received a wrong value `casual_argument`",
        ),
        ({"ignore_index": -100.0}, "Argument `ignore_index` must be an integer or None."),
        ({"ignore_index": True}, "Argument `ignore_index` must be an integer or None."),
        ({"aggregation": "casual_argument"}, "`aggregation` received a wrong value `casual_argument`"),
        ({"ties": "doc_id"}, "`ties` received a wrong value `doc_id`; allowed are `expected`, `stable`"),
    ],
    ids=str,
)
def test_wrong_options_are_named(name, options, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        build(name, **options)


@pytest.mark.parametrize("given", [0, -1, 1.5, True, "3"])
@pytest.mark.parametrize(
    ("name", "argument"),
    [(name, argument) for name in CUTOFFS for argument in ("top_k", "k")] + [(name, "max_k") for name in CURVES],
)
def test_a_cutoff_is_a_positive_integer(name, argument, given):
    with pytest.raises(ParameterError, match=f"`{argument}` has to be a positive integer or None, got {given!r}"):
        build(name, **{argument: given})


@pytest.mark.parametrize("name", CUTOFFS)
def test_k_is_top_k(name):
    cls = getattr(ours, name)
    assert (cls(k=5).top_k, cls(top_k=5).top_k, cls(top_k=5, k=5).top_k, cls().top_k) == (5, 5, 5, None)
    with pytest.raises(ParameterError, match=r"`top_k` and .*`k` must be equal .* got 5 and 6"):
        cls(top_k=5, k=6)


@pytest.mark.parametrize("given", [10, None, "yes"])
def test_adaptive_k_is_a_boolean(given):
    for name in ["RetrievalPrecision", *CURVES]:
        with pytest.raises(ParameterError, match=f"`adaptive_k` has to be a boolean, got {given!r}"):
            build(name, adaptive_k=given)


@pytest.mark.parametrize("given", [-0.1, 1.1, float("nan"), "0.5", True, None])
def test_min_precision_is_a_share(given):
    with pytest.raises(ParameterError, match="`min_precision` has to be a positive float between 0 and 1, got"):
        ours.RetrievalRecallAtFixedPrecision(min_precision=given)


@pytest.mark.parametrize("given", [0, 0.0, -0.1, 1.5, "0.5", True])
def test_a_partial_area_is_up_to_a_share(given):
    with pytest.raises(ParameterError, match=f"`max_fpr` has to be a number.*, got {given!r}"):
        ours.RetrievalAUROC(max_fpr=given)


def test_a_partial_area_is_that_of_theirs():
    generator = torch.Generator().manual_seed(3)
    rows = torch.rand(200, generator=generator), torch.rand(200, generator=generator) < 0.3
    indexes = torch.arange(200) // 20
    for top_k in (None, 7, 15):
        for max_fpr in (0.1, 0.25, 0.5, 1.0):
            options = {"top_k": top_k, "max_fpr": max_fpr}
            found = ours.RetrievalAUROC(**options)(*rows, indexes=indexes)
            torch.testing.assert_close(found, theirs.RetrievalAUROC(**options)(*rows, indexes=indexes))


def test_a_partial_area_of_tied_documents_that_top_k_may_part_is_refused():
    rows = {"preds": tensor([0.5, 0.5, 0.1]), "target": tensor([1, 0, 1]), "indexes": tensor([0, 0, 0])}
    with pytest.raises(ParameterError, match='has no exact value for `ties="expected"`'):
        ours.RetrievalAUROC(top_k=2, max_fpr=0.5)(**rows)
    assert ours.RetrievalAUROC(top_k=2, max_fpr=0.5, ties="optimistic")(**rows) == 1


@pytest.mark.parametrize("given", ["all", None, 1])
def test_denominator_and_gain_are_of_the_names_allowed(given):
    with pytest.raises(ParameterError, match=f"`denominator` received a wrong value `{given}`; allowed are"):
        ours.RetrievalMAP(denominator=given)
    with pytest.raises(ParameterError, match=f"`gain` received a wrong value `{given}`; allowed are"):
        ours.RetrievalNormalizedDCG(gain=given)


P, T, Q = tensor([0.5, 0.4]), tensor([1, 0]), tensor([0, 0])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ((P, T, None), "`indexes` cannot be None"),
        (
            (P, T, tensor([0])),
            "`indexes`, `preds` and `target` must be of the same shape, got (1,), (2,), (2,)",
        ),
        ((P[:0], T[:0], Q[:0]), "`indexes`, `preds` and `target` must be non-empty and non-scalar tensors"),
        ((P[0], T[0], Q[0]), "`indexes`, `preds` and `target` must be non-empty and non-scalar tensors"),
        (
            (P, T, Q.bool()),
            "`indexes` must be a tensor of long integers, or of another integer type, got torch.bool",
        ),
        ((P, T, Q.float()), "`indexes` must be a tensor of long integers, or of another integer type"),
        ((P.bool(), T, Q), "`preds` must be a tensor of floats, got torch.bool"),
        ((P.long(), T, Q), "`preds` must be a tensor of floats, got torch.int64"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
@pytest.mark.parametrize("name", CLASSES)
def test_wrong_tensors_are_named(name, rows, message):
    metric = build(name)
    with pytest.raises(DataError, match=re.escape(message)):
        metric.update(*rows)
    assert metric.preds == []


@pytest.mark.parametrize("name", [name for name in CLASSES if name != "RetrievalNormalizedDCG"])
def test_grades_are_refused_where_documents_are_relevant_or_not(name):
    metric = build(name)
    with pytest.raises(DataError, match=r"`target` must be .* booleans or integers, got torch\.float32"):
        metric.update(P, T.float(), Q)
    with pytest.raises(DataError, match="`target` must contain `binary` values, 0 and 1, got values from -1 to 2"):
        metric.update(P, T * 3 - 1, Q)
    assert metric.preds == []


def test_wrong_grades_are_named():
    metric = ours.RetrievalNormalizedDCG()
    with pytest.raises(
        DataError, match=r"`target` must be a tensor of booleans, integers or floats, got torch.complex"
    ):
        metric.update(P, T.cfloat(), Q)
    metric.update(P, tensor([1.0, float("nan")]), Q)
    with pytest.raises(DataError, match="`target` has 1 NaN, the first in indexes 0"):
        metric.compute()


@pytest.mark.parametrize("floats", FLOATS, ids=str)
@pytest.mark.parametrize("name", CLASSES)
def test_nan_is_refused_with_its_first_query(name, floats):
    metric = build(name)
    nan = float("nan")
    metric.update(tensor([0.5, nan, 0.1, nan], dtype=floats), tensor([1, 0, 1, 1]), tensor([1, 8, 1, 9]))
    with pytest.raises(DataError, match="`preds` has 2 NaN, the first in indexes 8"):
        metric.compute()


@pytest.mark.parametrize("name", CLASSES)
def test_compute_without_update_is_an_error(name):
    with (
        pytest.warns(UserWarning, match="was called before the ``update`` method"),
        pytest.raises(DataError, match=f"{name} was given no predictions"),
    ):
        build(name).compute()


# --- pictures


@pytest.mark.parametrize("name", [*SCALARS, "RetrievalRecallAtFixedPrecision"])
def test_values_are_drawn(name):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    metric = build(name)
    steps = [_several(metric(*batch(seed=seed)))[0] for seed in range(4)]
    _, axes = metric.plot(steps)
    assert axes.lines[0].get_ydata().tolist() == [step.item() for step in steps]
    assert axes.get_ylabel() == name
    _, axes = plt.subplots()
    assert metric.plot(ax=axes)[1] is axes
    assert axes.lines[0].get_ydata().item() == _several(metric.compute())[0].item()
    plt.close("all")


def test_the_curve_is_drawn_with_recall_on_x():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    metric = ours.RetrievalPrecisionRecallCurve(max_k=8)
    curve = metric(*batch())
    for figure, axes in (metric.plot(), metric.plot(curve)):
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("Recall", "Precision")
        assert axes.lines[0].get_xdata().tolist() == pytest.approx(curve[1].tolist())
        assert axes.lines[0].get_ydata().tolist() == pytest.approx(curve[0].tolist())
        assert figure is axes.figure
    _, axes = plt.subplots()
    assert metric.plot(ax=axes)[1] is axes
    plt.close("all")
