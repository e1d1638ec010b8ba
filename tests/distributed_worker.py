"""What each of several processes checks, for test_torch_distributed.py: one start of the processes runs all checks.

Every process draws all the data, updates a metric with its own part, and holds the value that it computes with the
others against that of a metric which is given all and asks nobody.
"""

import datetime as dt
import gc
import json
import random
import time
import traceback
import warnings
import weakref
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from test_torch_metrics import CLASSES, CURVES, CUTOFFS, SCALARS, TIES, assert_same, batch, build
from torch import tensor
from torch.utils.data import DistributedSampler
from torchmetrics import MetricCollection
from torchmetrics.utilities.distributed import gather_all_tensors

import polars_retrieval.torch as ours
import polars_retrieval.torch.compact as compact_state
from polars_retrieval.errors import DataError
from polars_retrieval.torch import rankings

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


# --- one gather for the metrics of a collection

EIGHT = CLASSES[:8]
ALL, KNOWN = 1 + 3, 1  # tensors that a metric gathers: who has what; and preds, target, indexes, unless they are known
ONCE = [ALL, *[KNOWN] * 7]


class CountedGather:
    """torchmetrics' way to gather: how often it was called, and what it returned."""

    def __init__(self):
        self.count, self.results = 0, []

    def __call__(self, values, group=None):
        self.count += 1
        gathered = gather_all_tensors(values, group)
        self.results += [weakref.ref(result) for result in gathered]
        return gathered

    def is_let_go(self):
        """Tell whether the results are gone, within ten seconds: a thread of gloo may hold them a moment longer."""
        end = time.monotonic() + 10
        while self._are_kept() and time.monotonic() < end:
            time.sleep(0.01)
        return not self._are_kept()

    def _are_kept(self):
        gc.collect()
        return any(result() is not None for result in self.results)


def collection_of(gather, names=EIGHT, **options):
    return MetricCollection({name: build(name, dist_sync_fn=gather, **options) for name in names})


def members(collection):
    return dict(collection.items(keep_base=True, copy_state=False))


def without_last(rows, rank, world):
    """The rows of this process, where the last one has none."""
    return of_queries(rows, rank, world - 1) if rank < world - 1 else tuple(values[:0] for values in rows)


def update(collection, share):
    """Add rows in three batches, if there are any."""
    n = len(share[0])
    for part in zip(*(values.chunk(3) for values in share), strict=True) if n else ():
        collection.update(*part)


def joined(*shares):
    return tuple(torch.cat(values) for values in zip(*shares, strict=True))


def check_gathers(collection, gather, rows, counts, **options):
    """Check the value of each metric of a collection, one after the other, and how many tensors it gathers."""
    counted = []
    for name, metric in members(collection).items():
        before = gather.count
        assert_same(metric.compute(), alone(name, *rows, **options))
        counted.append(gather.count - before)
    assert counted == counts, f"gathered {counted} tensors, expected {counts}"


@check
def a_collection_gathers_and_ranks_once(rank, world):
    rows, gather, ranked = batch(), CountedGather(), []
    rank_batches = rankings.rank_batches

    def counted(preds, *others, **options):
        ranked.append(sum(map(len, preds)))
        return rank_batches(preds, *others, **options)

    expected = {name: alone(name, *rows) for name in EIGHT}
    for share in (of_queries, without_last):
        collection = collection_of(gather)
        update(collection, share(rows, rank, world))
        gather.count = 0
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rankings, "rank_batches", counted)
            assert_same(collection.compute(), expected)
        assert gather.count == sum(ONCE)
    assert ranked == [len(rows[0])] * 2


@check
def a_collection_gathers_anew_after_updates_and_resets(rank, world):
    first, second, third = ([values[part] for values in batch()] for part in torch.arange(300).split(100))
    for share in (of_queries, without_last):
        gather = CountedGather()
        collection = collection_of(gather, compute_with_cache=False)
        for _ in range(2):
            update(collection, share(first, rank, world))
            check_gathers(collection, gather, first, ONCE)
            update(collection, share(second, rank, world))
            check_gathers(collection, gather, joined(first, second), ONCE)
            if rank == 0:
                update(collection, third)
            for _ in range(2):
                check_gathers(collection, gather, joined(first, second, third), ONCE)
            collection.reset()


@check
def collections_in_turn(rank, world):
    given, gather = [batch(seed=seed) for seed in (0, 1)], CountedGather()
    for share in (of_queries, without_last):
        collections = [collection_of(gather, KINDS, compute_with_cache=False) for _ in given]
        for collection, rows in zip(collections, given, strict=True):
            update(collection, share(rows, rank, world))
        for name in KINDS[:2]:  # each lets go of what was gathered for the other
            for collection, rows in zip(collections, given, strict=True):
                gather.count = 0
                assert_same(members(collection)[name].compute(), alone(name, *rows))
                assert gather.count == ALL
        for collection, rows in zip(collections, given, strict=True):
            update(collection, share(rows, rank, world))
        for collection, rows in zip(collections, given, strict=True):
            check_gathers(collection, gather, joined(rows, rows), ONCE[: len(KINDS)])


@check
def a_metric_that_is_in_no_group(rank, world):
    rows, gather = batch(), CountedGather()
    collection = collection_of(gather)
    collection.add_metrics({"other": build("RetrievalMAP", dist_sync_fn=gather, ignore_index=-1)})
    update(collection, of_queries(rows, rank, world))
    assert len(collection.compute_groups) == 2
    expected = {name: alone(name, *rows) for name in EIGHT} | {"other": alone("RetrievalMAP", *rows)}
    assert_same(collection.compute(), expected)
    assert gather.count == sum(ONCE) + ALL


@check
def a_change_on_one_process_between_two_metrics(rank, world):
    rows = batch()
    shares = [of_queries(rows, process, world) for process in range(world)]
    other = batch(n=50, seed=1)

    def negate(metric):
        for scores in metric.preds:
            scores.neg_()

    def replace(metric):
        metric.reset()
        metric.update(*other)

    negated = (-shares[0][0], *shares[0][1:])
    for change, changed in ((negate, [negated]), (replace, [other]), (ours.RetrievalRecall.reset, [])):
        gather = CountedGather()
        collection = collection_of(gather, KINDS)
        update(collection, tuple(values.clone() for values in shares[rank]))
        (name, metric), (second_name, second), _ = members(collection).items()
        assert_same(metric.compute(), alone(name, *rows))
        if rank == 0:
            change(second)
        gather.count = 0
        assert_same(second.compute(), alone(second_name, *joined(*changed, *shares[1:])))
        assert gather.count == ALL


@check
def a_change_of_what_was_gathered(rank, world):
    rows, gather = batch(), CountedGather()
    collection = collection_of(gather, KINDS)
    update(collection, of_queries(rows, rank, world))
    (_, metric), *others = members(collection).items()
    metric.sync(dist_sync_fn=gather)
    if rank == 0:
        metric.preds[0].neg_()
    for (name, other), count in zip(others, (ALL, KNOWN), strict=True):
        gather.count = 0
        assert_same(other.compute(), alone(name, *rows))
        assert gather.count == count
    metric.unsync()
    assert sum(map(len, metric.preds)) == len(of_queries(rows, rank, world)[0])


@check
def another_gather_and_another_group_in_a_collection(rank, world):
    rows = batch()
    handles = [dist.new_group([process]) for process in range(world)]
    gathers = [CountedGather(), CountedGather()]
    metrics = {
        "first": build("RetrievalMAP", dist_sync_fn=gathers[0]),
        "second": build("RetrievalMAP", dist_sync_fn=gathers[1]),
        "third": build("RetrievalMAP", dist_sync_fn=gathers[1], process_group=handles[rank]),
        "xth": build("RetrievalMAP", dist_sync_fn=gathers[1]),
    }
    collection = MetricCollection(metrics)
    share = of_queries(rows, rank, world)
    update(collection, share)
    assert len(collection.compute_groups) == 1
    together, apart = alone("RetrievalMAP", *rows), alone("RetrievalMAP", *share)
    assert_same(collection.compute(), {"first": together, "second": together, "third": apart, "xth": together})
    assert [gather.count for gather in gathers] == [ALL, ALL * 3]


@check
def what_was_gathered_is_let_go(rank, world):
    rows = batch()
    for share in (of_queries, without_last):
        gather = CountedGather()
        collection = collection_of(gather)
        update(collection, share(rows, rank, world))
        collection.compute()
        assert gather.count == sum(ONCE)
        if len(share(rows, rank, world)[0]):
            assert gather.is_let_go()
        del collection
        assert gather.is_let_go()


@check
def collections_with_other_states(rank, world):
    rows = batch()
    names = ["RetrievalMRR", "RetrievalPrecision", "RetrievalRecall"]
    for share in (of_queries, without_last):
        mine = share(rows, rank, world)
        gather = CountedGather()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compact_state, "_LEAST", 16)  # rows from which it reduces
            compact = collection_of(gather, names, compact=True)
            update(compact, mine)
            check_gathers(compact, gather, rows, [ALL + len(compact_state.OTHERS), KNOWN, KNOWN])
        complete = collection_of(gather, names, queries_complete=True)
        if len(mine[0]):
            complete.update(*mine)
        check_gathers(complete, gather, rows, [ALL] * 3)  # each has values of its own


@check
def repeated_documents_are_gathered_once(rank, world):
    gather = CountedGather()
    collection = collection_of(gather)
    for part in sampled(samples(), rank, world):
        collection.update(*part[:3], doc_ids=part[3])
    check_gathers(collection, gather, samples(doc_ids=False), ONCE)


class WithOwnStates(ours.RetrievalMAP):
    """Counts rows in states that torchmetrics adds up and joins."""

    def __init__(self, **options):
        super().__init__(**options)
        self.add_state("n_rows", torch.tensor(0), dist_reduce_fx="sum")
        self.add_state("lengths", [], dist_reduce_fx="cat")

    def update(self, preds, target, indexes):
        super().update(preds, target, indexes)
        self.n_rows = self.n_rows + len(preds)
        self.lengths = [*self.lengths, torch.tensor([len(preds)])]


@check
def classes_made_of_ours(rank, world):
    rows, gather = batch(), CountedGather()
    for share in (of_queries, without_last):
        collection = MetricCollection({name: WithOwnStates(dist_sync_fn=gather) for name in ("first", "second")})
        n_batches = 0
        for part in zip(*(values.split(40) for values in share(rows, rank, world)), strict=True):
            if len(part[0]):
                collection.update(*part)
                n_batches += 1
        for metric in members(collection).values():
            metric.sync()
            assert (metric.n_rows, metric.lengths.sum()) == (300, 300)
            metric.unsync()
            assert (metric.n_rows, len(metric.lengths)) == (len(share(rows, rank, world)[0]), n_batches)
            assert_same(metric.compute(), alone("RetrievalMAP", *rows, top_k=None))


@check
def collections_that_gather_at_each_step(rank, world):
    rows = batch()
    collection = MetricCollection({name: build(name, dist_sync_on_step=True) for name in EIGHT})
    for part in zip(*(values.split(100) for values in rows), strict=True):
        expected = {name: alone(name, *part) for name in EIGHT}
        assert_same(collection(*(values[rank::world] for values in part)), expected)
    assert_same(collection.compute(), {name: alone(name, *rows) for name in EIGHT})


@check
def whatever_the_processes_do_in_between(rank, world):
    draw = random.Random(5)  # noqa: S311 (the same on all processes, which do different things)
    collections = [collection_of(CountedGather(), KINDS, compute_with_cache=False) for _ in range(2)]
    given = [[[] for _ in range(world)] for _ in collections]
    computed = 0
    for step in range(60):
        number = draw.randrange(2)
        collection, kept = collections[number], given[number]
        action = draw.choice(["update", "update", "compute", "compute one", "sync", "reset"])
        some = [draw.random() < 0.6 for _ in range(world)]
        name = draw.choice(KINDS)
        if action in ("update", "reset"):
            rows = [batch(n=30, seed=10 * step + process) for process in range(world)]
            for process in range(world):
                if some[process]:
                    kept[process] = [*kept[process], rows[process]] if action == "update" else []
            if some[rank]:
                collection.update(*rows[rank]) if action == "update" else collection.reset()
        elif any(kept):
            everything = joined(*(rows for of_process in kept for rows in of_process))
            names = KINDS if action == "compute" else [name]
            for name in names:
                metric = members(collection)[name]
                if action == "sync":
                    metric.sync()
                    assert sum(map(len, metric.preds)) == len(everything[0])
                    metric.unsync()
                assert_same(metric.compute(), alone(name, *everything))
                computed += 1
    assert computed > 20


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
