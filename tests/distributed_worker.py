"""What each of several processes checks, for test_torch_distributed.py: one start of the processes runs all checks.

Every process draws all the data, updates a metric with its own part, and holds the value that it computes with the
others against that of a metric which is given all and asks nobody.
"""

import datetime as dt
import json
import traceback
import warnings
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from test_torch_metrics import CLASSES, CURVES, CUTOFFS, SCALARS, TIES, assert_same, batch, build
from torch import tensor
from torch.utils.data import DistributedSampler
from torchmetrics import MetricCollection

import polars_retrieval.torch as ours
import polars_retrieval.torch.compact as compact_state
from polars_retrieval.errors import DataError

CHECKS = []

# One of each kind, for what does not depend on the class: all share one way to gather.
KINDS = ["RetrievalRecall", "RetrievalNormalizedDCG", "RetrievalPrecisionRecallCurve"]


def check(function):
    """Have a function of the rank and the number of processes run by each of them."""
    CHECKS.append(function)
    return function


def run(rank, world, folder):
    """Run all checks in one of the processes, and write down for each why it failed, or null."""
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", "The ``compute`` method .* was called before the ``update``")
    reports = {function.__name__: _run(function, rank, world, folder) for function in CHECKS}
    Path(folder, f"{rank}.json").write_text(json.dumps(reports))


def _run(function, rank, world, folder):
    """Run one check in a group of its own, so that processes which wait for one that failed do not spoil the next."""
    store = dist.FileStore(f"{folder}/{function.__name__}", world)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world, timeout=dt.timedelta(seconds=60))
    try:
        function(rank, world)
    except Exception:  # noqa: BLE001 # whatever it is, the test shows it
        return traceback.format_exc()
    else:
        return None
    finally:
        dist.destroy_process_group()


# --- who has what


def alone(name, *rows, **options):
    """Compute the value of rows in this process."""
    metric = build(name, distributed_available_fn=lambda: False, **options)
    metric.update(*rows)
    return metric.compute()


def of_queries(rows, rank, world):
    kept = rows[2] % world == rank
    return tuple(values[kept] for values in rows)


def together(rank, world, share, rows, names=CLASSES, **options):
    """Check that all processes get the value of all rows where each is given those of `share`, in small batches."""
    for name in names:
        metric = build(name, **options)
        for part in zip(*(values.split(40) for values in share), strict=True):
            if len(part[0]):
                metric.update(*part)
        assert_same(metric.compute(), alone(name, *rows, **options))


@check
def queries_on_one_process_each(rank, world):
    rows = batch()
    together(rank, world, of_queries(rows, rank, world), rows)


@check
def every_aggregation(rank, world):
    rows = batch()
    for aggregation in ("median", "min", "max", lambda values, dim: values.sum(dim)):
        together(rank, world, of_queries(rows, rank, world), rows, aggregation=aggregation, names=KINDS)


@check
def documents_of_a_query_on_several_processes(rank, world):
    rows = batch()
    together(rank, world, tuple(values[rank::world] for values in rows), rows, names=KINDS)


@check
def every_rule_for_ties(rank, world):
    preds, target, indexes = batch()
    rows = ((preds * 8).round() - 4, target, indexes)
    ordered = torch.cat([torch.arange(len(preds))[rank::world] for rank in range(world)])
    for ties in TIES:  # the order of the input is the first process's rows, then the second's
        share = tuple(values[rank::world] for values in rows)
        together(rank, world, share, tuple(values[ordered] for values in rows), ties=ties, names=KINDS)


@check
def more_batches_on_one_process(rank, world):
    rows = batch()
    bounds = [0, *range(30, 30 * world, 30), 300]  # the last has most, in several batches
    together(rank, world, tuple(values[bounds[rank] : bounds[rank + 1]] for values in rows), rows, names=KINDS)


@check
def no_data_on_the_last_process(rank, world):
    rows = batch()
    share = of_queries(rows, rank, world - 1) if rank < world - 1 else tuple(values[:0] for values in rows)
    together(rank, world, share, rows)


@check
def no_data_on_the_first_process(rank, world):
    rows = batch()
    share = of_queries(rows, rank - 1, world - 1) if rank else tuple(values[:0] for values in rows)
    together(rank, world, share, rows, names=KINDS)


@check
def no_data_at_all(rank, world):
    for name in CLASSES:
        with pytest.raises(DataError, match=f"{name} was given no predictions"):
            build(name).compute()


# --- types


@check
def types_differ_between_processes(rank, world):
    preds, target, indexes = batch()
    types = [
        (torch.float32, torch.bool, torch.int32),
        (torch.float64, torch.int16, torch.int64),
        (torch.float32, torch.uint8, torch.int8),
    ]
    rows = (preds.double(), target.int(), indexes)
    share = of_queries((preds, target, indexes), rank, world)
    together(rank, world, tuple(v.to(dtype) for v, dtype in zip(share, types[rank], strict=True)), rows, names=KINDS)


@check
def types_differ_between_batches(rank, world):
    rows = batch()
    for name in KINDS:
        metric = build(name)
        for number, part in enumerate(zip(*(values.split(40) for values in rows), strict=True)):
            if number % world == rank:
                metric.update(part[0].to((torch.float32, torch.float64)[number % 2]), part[1], part[2].short())
        assert_same(metric.compute(), alone(name, rows[0].double(), *rows[1:]))


@check
def every_type(rank, world):
    preds, target, indexes = batch()
    preds = (preds * 64).round() / 64  # which half precision can hold
    for floats in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        rows = (preds.to(floats), target, indexes)
        together(rank, world, of_queries(rows, rank, world), rows, ["RetrievalMAP"])
    for integers in (torch.int8, torch.int16, torch.int32, torch.uint8, torch.uint16, torch.uint32, torch.uint64):
        rows = (preds, target.to(integers), indexes.to(integers))
        share = of_queries((preds, target, indexes), rank, world)
        together(rank, world, (share[0], share[1].to(integers), share[2].to(integers)), rows, ["RetrievalMAP"])


@check
def grades_are_floats_on_one_process(rank, world):
    preds, target, indexes = batch()
    rows = (preds, target * 2, indexes)
    share = of_queries(rows, rank, world)
    share = (share[0], share[1].to(torch.float32 if rank else torch.int8), share[2])
    together(rank, world, share, rows, ["RetrievalNormalizedDCG"])


# --- torchmetrics' options


@check
def sync_on_each_step(rank, world):
    rows = batch()
    for name in CLASSES:
        metric = build(name, dist_sync_on_step=True)
        for part in zip(*(values.split(100) for values in rows), strict=True):
            share = tuple(values[rank::world] for values in part)
            assert_same(metric(*share), alone(name, *part))
        assert_same(metric.compute(), alone(name, *rows))


@check
def forward_gives_the_value_of_the_process(rank, world):
    rows = batch()
    share = of_queries(rows, rank, world)
    for name in KINDS:
        metric = build(name)
        assert_same(metric(*share), alone(name, *share))
        assert_same(metric.compute(), alone(name, *rows))


@check
def no_sync_on_compute(rank, world):
    rows = batch()
    share = of_queries(rows, rank, world)
    for name in KINDS:
        metric = build(name, sync_on_compute=False)
        metric.update(*share)
        assert_same(metric.compute(), alone(name, *share))
        metric.sync(distributed_available=lambda: True)
        assert sum(map(len, metric.preds)) == len(rows[0])
        metric.unsync()
        assert sum(map(len, metric.preds)) == len(share[0])


@check
def process_groups(rank, world):
    rows = batch()
    groups = [list(range(world - 1)), [world - 1]]
    handles = [dist.new_group(group) for group in groups]
    mine = int(rank == world - 1)
    expected = tuple(values[torch.isin(rows[2] % world, tensor(groups[mine]))] for values in rows)
    share = of_queries(rows, rank, world)
    for name in KINDS:
        metric = build(name, process_group=handles[mine])
        metric.update(*share)
        assert_same(metric.compute(), alone(name, *expected))


@check
def state_on_the_cpu(rank, world):
    rows = batch()
    together(rank, world, of_queries(rows, rank, world), rows, compute_on_cpu=True, names=KINDS)


@check
def a_gather_of_ones_own(rank, world):
    def gather(values, group):
        return [values, values]

    preds, target, indexes = batch()
    rows = tuple(torch.cat([values, values]) for values in (preds, target, indexes))
    for name in KINDS:
        metric = build(name, dist_sync_fn=gather)
        metric.update(preds, target, indexes)
        assert_same(metric.compute(), alone(name, *rows))


# --- one after the other


@check
def compute_update_compute_reset(rank, world):
    rows = batch()
    first, second = ([values[part] for values in rows] for part in (slice(0, 120), slice(120, 300)))
    for name in KINDS:
        metric = build(name)
        for _ in range(2):
            share = of_queries(first, rank, world)
            metric.update(*share)
            assert_same(metric.compute(), alone(name, *first))
            assert_same(metric.compute(), alone(name, *first))
            assert [len(values) for values in metric.preds] == [len(share[0])]
            metric.update(*of_queries(second, rank, world))
            assert_same(metric.compute(), alone(name, *rows))
            metric.reset()
            assert metric.preds == metric.target == metric.indexes == []


@check
def compute_without_a_cache(rank, world):
    rows = batch()
    for name in KINDS:
        metric = build(name, compute_with_cache=False)
        metric.update(*of_queries(rows, rank, world))
        assert_same([metric.compute(), metric.compute()], [alone(name, *rows)] * 2)


@check
def collections(rank, world):
    rows = batch()
    share = of_queries(rows, rank, world)
    expected = {name: alone(name, *rows) for name in CLASSES}
    collection = MetricCollection({name: build(name) for name in CLASSES})
    for _ in range(2):
        for part in zip(*(values.split(40) for values in share), strict=True):
            collection.update(*part)
        for _ in range(2):
            values = collection.compute()
            assert values.keys() == expected.keys()
            for name in CLASSES:
                assert_same(values[name], expected[name])
        assert len(collection.compute_groups) == 1
        collection.reset()


@check
def a_collection_without_data_on_one_process(rank, world):
    rows = batch()
    collection = MetricCollection({name: build(name) for name in SCALARS})
    if rank < world - 1:
        collection.update(*of_queries(rows, rank, world - 1))
    assert_same(collection.compute(), {name: alone(name, *rows) for name in SCALARS})


# --- states that stay small


@check
def compact_states(rank, world):
    rows = batch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compact_state, "_LEAST", 16)  # rows from which it reduces
        for name in CUTOFFS + CURVES:
            metric = build(name, compact=True)
            bounds = (0, 260, 300, 300)[rank : rank + 2]  # the third has none
            share = tuple(values[slice(*bounds)] for values in rows)
            for part in zip(*(values.split(20) for values in share), strict=True):
                if len(part[0]):
                    metric.update(*part)
            if rank == 0:
                assert sum(map(len, metric.preds)) < 260
            assert_same(metric.compute(), alone(name, *rows))


@check
def complete_queries(rank, world):
    rows = batch()
    for name in [*SCALARS, "RetrievalPrecisionRecallCurve"]:
        metric = build(name, queries_complete=True)
        for query in range(20):
            if query % world == rank and rank < 2:  # a third process has none
                metric.update(*(values[rows[2] == query] for values in rows))
        seen = tuple(values[rows[2] % world < 2] for values in rows)
        assert_same(metric.compute(), alone(name, *seen))


@check
def a_query_that_is_not_complete(rank, world):
    rows = batch()
    metric = build("RetrievalRecall", queries_complete=True)
    metric.update(*(values[rank::world] for values in rows))
    with pytest.raises(DataError, match="`queries_complete=True`, but 20 queries came in several updates"):
        metric.compute()


# --- documents that a sampler repeats


def samples(doc_ids=True):
    """Seven queries of five documents each: a sample is a query."""
    preds, target, _ = batch(n=35, seed=3)
    rows = (preds, target, torch.arange(7).repeat_interleave(5), torch.arange(35) + 100)
    return [values.view(7, 5) for values in (rows if doc_ids else rows[:3])]


def sampled(columns, rank, world):
    """The samples of this process, of which there are equally many on each: the first ones are repeated."""
    sampler = DistributedSampler(range(7), num_replicas=world, rank=rank, shuffle=False)
    return list(zip(*(values[list(sampler)].split(2) for values in columns), strict=True))


@check
def repeated_documents_count_once(rank, world):
    for name in CLASSES:
        metric = build(name)
        for part in sampled(samples(), rank, world):
            metric.update(*part)
        assert_same(metric.compute(), alone(name, *samples(doc_ids=False)))


@check
def repeated_documents_count_as_often_without_their_ids(rank, world):
    metric = build("RetrievalRecall", top_k=2)
    for part in sampled(samples(doc_ids=False), rank, world):
        metric.update(*part)
    assert metric.compute() != alone("RetrievalRecall", *samples(doc_ids=False), top_k=2)


@check
def repeated_documents_and_no_data_on_one_process(rank, world):
    for name in KINDS:
        metric = build(name)
        for part in sampled(samples(), rank, world - 1) if rank < world - 1 else []:
            metric.update(*part)
        assert_same(metric.compute(), alone(name, *samples(doc_ids=False)))


@check
def repeated_documents_in_a_collection(rank, world):
    collection = MetricCollection({name: build(name) for name in SCALARS})
    for part in sampled(samples(), rank, world):
        collection.update(*part[:3], doc_ids=part[3])
    rows = samples(doc_ids=False)
    assert_same(collection.compute(), {name: alone(name, *rows) for name in SCALARS})


@check
def ids_of_documents_on_some_processes_only(rank, world):
    for name in KINDS:
        metric = build(name)
        metric.update(*samples(doc_ids=rank > 0))
        with pytest.raises(DataError, match="`doc_ids` was given to some updates and not to others"):
            metric.compute()


@check
def ids_of_documents_in_some_updates_only(rank, world):
    metric = ours.RetrievalMAP()
    metric.update(*samples())
    if rank == 0:
        metric.update(*samples(doc_ids=False))
    with pytest.raises(DataError, match="`doc_ids` was given to some updates and not to others"):
        metric.compute()
