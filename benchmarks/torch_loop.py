"""The torch classes in a training loop, beside torchmetrics': `python -m benchmarks.torch_loop`."""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torchmetrics.retrieval as theirs
from torchmetrics import MetricCollection

import polars_retrieval.torch as ours

from .modules import positive_scores
from .report import setting, table, target_row
from .targets import Target
from .workloads import WORKLOADS, Variant, build

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

    from torch import Tensor

    Rows = tuple[Tensor, Tensor, Tensor]

OUTPUT = Path(__file__).with_name("results") / "torch_loop.md"
K = 10
AT_K = ("Precision", "Recall", "HitRate", "FallOut", "MRR", "MAP", "NormalizedDCG")
FORWARD = ("Recall", "MRR", "NormalizedDCG")
SIZES = ((100, 10), (1_000, 10), (1_000, 100), (10_000, 100))  # rows, and documents of a query
UPDATES = 1_000
SMALL, LARGE = 1_000, 10_000  # rows of an update; a MetricCollection compares the states of the first one, row by row
MOST_OFF = 1e-5  # what float32 arithmetic allows

TEXT = """\
## In a training loop

torchmetrics' classes and ours, given the same tensors; values are asserted equal first. The collections hold {eight}.
Times are the least of {repeat} turns, the median in brackets. On the whole workload torchmetrics is given the first
{queries:,} queries, and its time is scaled up to all of them.
"""


class Times(NamedTuple):
    """What was done, and the seconds that each side took."""

    what: str
    ours: list[float]
    theirs: list[float]

    @property
    def ratio(self) -> float:
        """How many times as long torchmetrics takes."""
        return min(self.theirs) / min(self.ours)

    def row(self) -> tuple[str, ...]:
        """Write them, in milliseconds."""
        cells = (f"{1000 * min(times):.2f} ({1000 * median(times):.2f})" for times in (self.ours, self.theirs))
        return self.what, *cells, f"{self.ratio:.2f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Check and time, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torch_loop", description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the queries, for a quick look")
    parser.add_argument("--slow-queries", type=int, default=2_000, help="how many queries torchmetrics is given")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args(arguments)
    times = list(_all_times(options))
    options.output.parent.mkdir(exist_ok=True)
    options.output.write_text(_page(times, options), encoding="utf-8")
    print(f"written to {options.output}")


def _all_times(options: argparse.Namespace) -> Iterator[Times]:
    preds, target, indexes = _workload(options.scale)
    documents = WORKLOADS["B"].documents
    n = min(len(preds), options.slow_queries * documents)
    for measured in (
        _whole((preds, target, indexes), n, options.repeat),
        _updates("eight metrics", eight, (preds, target, indexes), options.repeat),
        _updates("recall alone", lambda module: _metric(module, "Recall"), (preds, target, indexes), options.repeat),
        *(_forward(name, *size) for size in SIZES for name in FORWARD),
    ):
        print(*measured.row(), sep="  ", flush=True)
        yield measured


def _metric(module: ModuleType, name: str) -> Any:
    return getattr(module, f"Retrieval{name}")(top_k=K)


def eight(module: ModuleType) -> MetricCollection:
    """Make the collection of eight."""
    return MetricCollection([*(_metric(module, name) for name in AT_K), module.RetrievalRPrecision()])


def _workload(scale: float) -> Rows:
    """Return workload B in its order, with scores above 0: torchmetrics takes others as not retrieved."""
    frame = positive_scores(build(WORKLOADS["B"].scaled(scale), Variant("grouped", "float32", "int64")))
    return frame["score"].to_torch(), frame["relevance"].to_torch().long(), frame["query_id"].to_torch()


def _whole(rows: Rows, n: int, repeat: int) -> Times:
    """Update by large batches and compute; torchmetrics' part is the first n rows."""
    whole, part = _batches(rows, LARGE), _batches([column[:n] for column in rows], LARGE)
    check(_once(eight(ours), part), _once(eight(theirs), part))
    factor = len(rows[0]) / n
    our_times, their_times = _in_turns(
        lambda: partial(_once, eight(ours), _copies(whole)),
        lambda: partial(_once, eight(theirs), _copies(part)),
        repeat=repeat,
    )
    what = f"workload B in {len(whole)} updates, eight metrics"
    return Times(what, our_times, [factor * seconds for seconds in their_times])


def _batches(rows: Sequence[Tensor], size: int) -> list[tuple[Tensor, ...]]:
    return list(zip(*(torch.split(column, size) for column in rows), strict=True))


def _updates(what: str, make: Callable[[ModuleType], Any], rows: Rows, repeat: int) -> Times:
    batches = _batches([column[: SMALL * UPDATES] for column in rows], SMALL)
    check(_once(make(ours), batches), _once(make(theirs), batches))
    our_times, their_times = _in_turns(
        lambda: partial(_once, make(ours), _copies(batches)),
        lambda: partial(_once, make(theirs), _copies(batches)),
        repeat=repeat,
    )
    return Times(f"{len(batches):,} updates of 1,000 rows, {what}", our_times, their_times)


def _forward(name: str, n: int, documents: int) -> Times:
    """Call a metric on a batch, as at every step of training."""
    generator = torch.Generator().manual_seed(n)
    preds = (torch.randperm(n, generator=generator) + 1) / (n + 1)
    target = (torch.rand(n, generator=generator) < 0.1).long()
    indexes = torch.arange(n // documents).repeat_interleave(documents)
    metrics = [_metric(module, name) for module in (ours, theirs)]
    check(*(metric(preds, target, indexes=indexes) for metric in metrics))

    def step(metric: Any) -> Callable[[], object]:
        metric.reset()
        [rows] = _copies([(preds, target, indexes)])
        return lambda: metric(*rows[:2], indexes=rows[2])

    our_times, their_times = _in_turns(
        lambda: step(metrics[0]), lambda: step(metrics[1]), repeat=max(5, 100_000 // n // documents)
    )
    return Times(f"forward on {n:,} rows, {documents} a query, {name}", our_times, their_times)


def _once(metric: Any, batches: Sequence[Sequence[Tensor]]) -> Any:
    for preds, target, indexes in batches:
        metric.update(preds, target, indexes=indexes)
    return metric.compute()


def check(our: Any, their: Any) -> None:
    """Raise unless the values are equal."""
    torch.testing.assert_close(our, their, rtol=0, atol=MOST_OFF)


def _copies(batches: Sequence[Sequence[Tensor]]) -> list[tuple[Tensor, ...]]:
    """Copy batches: of the tensors that it was given last, ours may still have the ranked lists."""
    return [tuple(column.clone() for column in batch) for batch in batches]


def _in_turns(
    first: Callable[[], Callable[[], object]], second: Callable[[], Callable[[], object]], *, repeat: int
) -> tuple[list[float], ...]:
    """Time in turns what each of two functions prepares."""
    seconds: tuple[list[float], list[float]] = [], []
    for _ in range(repeat):
        for prepare, times in zip((first, second), seconds, strict=True):
            task = prepare()
            start = time.perf_counter()
            task()
            times.append(time.perf_counter() - start)
    return seconds


def _targets(times: Sequence[Times]) -> list[Target]:
    whole, updates, alone, *forward = times
    least = {"workload B": (200, whole), "1,000 updates": (20, updates), "1,000 updates of recall": (20, alone)}
    return [
        *(
            Target(f"{text}: torchmetrics takes as long as", "at least", figure, measured.ratio, " times ours")
            for text, (figure, measured) in least.items()
        ),
        *(
            Target(f"{measured.what}: time beside torchmetrics'", "at most", 1, 1 / measured.ratio)
            for measured in forward
        ),
    ]


def _page(times: Sequence[Times], options: argparse.Namespace) -> str:
    names = ", ".join([*(f"{name} at {K}" for name in AT_K), "RPrecision"])
    return "\n".join(
        [
            TEXT.format(eight=names, repeat=options.repeat, queries=options.slow_queries),
            table(("milliseconds", "ours", "torchmetrics", "ratio"), (measured.row() for measured in times)),
            table(("", "target", "measured", ""), map(target_row, _targets(times))),
            table(("", ""), setting(options.repeat, options.scale)),
        ]
    )


if __name__ == "__main__":
    main()
