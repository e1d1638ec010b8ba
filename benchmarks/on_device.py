"""Ranking on the device of the predictions against ranking on the CPU: `python -m benchmarks.on_device`.

Each workload is made as tensors on the device. `verify` recomputes the measures of both engines there, from their
definitions, and the two have to be equal to the last bit; only then are they timed. An engine is given the tensors and
gives five numbers: for the CPU this includes the way there.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, NamedTuple

import torch

import polars_retrieval as pr
from polars_retrieval.torch.batches import batches_frame
from polars_retrieval.torch.device import DeviceLists
from polars_retrieval.torch.inputs import COLUMNS
from polars_retrieval.torch.verification import verify

from .workloads import WORKLOADS, Variant, Workload, build

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from polars_retrieval.torch.verification import Engine

METRICS = ("precision@10", "recall@10", "recall@100", "r_precision", "ndcg@10")
MOST_OFF = 1e-9

Tensors = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def on_device(preds: torch.Tensor, target: torch.Tensor, indexes: torch.Tensor) -> pl.DataFrame:
    """Rank where the tensors are."""
    return DeviceLists(preds, target, indexes).evaluate(list(METRICS))


def on_cpu(preds: torch.Tensor, target: torch.Tensor, indexes: torch.Tensor) -> pl.DataFrame:
    """Rank with Polars, after copying the tensors to the CPU if they are elsewhere."""
    return pr.evaluate(batches_frame([preds], [target], [indexes]), list(METRICS), **COLUMNS)


ENGINES: dict[Engine, Callable[..., pl.DataFrame]] = {"device": on_device, "polars": on_cpu}


class Result(NamedTuple):
    """What one engine took for one workload."""

    workload: Workload
    order: str
    scores: str
    engine: str
    off: float
    seconds: float
    peak: int

    def __str__(self) -> str:
        memory = f"{self.peak / 2**20:,.0f}" if self.peak else "-"
        cells = (
            self.workload.describe(),
            f"{self.order} {self.scores}",
            self.engine,
            f"{self.off:.1e}",
            f"{1000 * self.seconds:,.1f}",
            memory,
        )
        return f"| {' | '.join(cells)} |"


HEADER = """| workload | rows | ranked by | largest difference | ms | peak device MiB beyond the tensors |
| --- | --- | --- | --- | --- | --- |"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Check and time both engines, and print a table."""
    options = _parser().parse_args(arguments)
    device = torch.device(options.device)
    print(_describe(device))
    print(HEADER)
    for name in options.workloads:
        for order in options.orders:
            workload = WORKLOADS[name].scaled(options.scale)
            for result in measure(workload, order, options.scores, device, options.repeat):
                print(result, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.on_device", description=__doc__)
    add = parser.add_argument
    add("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    add("--workloads", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    add("--orders", nargs="+", choices=("grouped", "shuffled"), default=["grouped", "shuffled"])
    add("--scores", choices=("float32", "float64"), default="float32")
    add("--repeat", type=int, default=5)
    add("--scale", type=float, default=1.0, help="share of the queries, for a quick look")
    return parser


def _describe(device: torch.device) -> str:
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    return f"torch {torch.__version__} on {name}; the least time of several\n"


def measure(workload: Workload, order: str, scores: str, device: torch.device, repeat: int) -> list[Result]:
    """Verify both engines, then let them take turns."""
    tensors = _tensors(workload, order, scores, device)
    off = {engine: _off(tensors, engine) for engine in ENGINES}
    assert on_device(*tensors).equals(on_cpu(*tensors)), "the engines give other values"
    timed = [_timed(engine, tensors) for _ in range(repeat) for engine in ENGINES]
    results = []
    for engine in ENGINES:
        seconds, peaks = zip(*((s, p) for e, s, p in timed if e == engine), strict=True)
        results.append(Result(workload, order, scores, engine, off[engine], min(seconds), max(peaks)))
    return results


def _tensors(workload: Workload, order: str, scores: str, device: torch.device) -> Tensors:
    frame = build(workload, Variant(order, scores, "int64"))
    preds, target, indexes = (frame[name].to_torch().to(device) for name in ("score", "relevance", "query_id"))
    return preds, target, indexes


def _off(tensors: Tensors, engine: Engine) -> float:
    """Return how far values are from those of the definitions, or raise if that is more than rounding."""
    found = verify(*tensors, metrics=list(METRICS), engine=engine)
    off = found["difference"].max()
    assert isinstance(off, float)
    assert off <= MOST_OFF, f"{engine}: off by {off:.1e} from the definitions:\n{found}"
    return off


def _timed(engine: Engine, tensors: Tensors) -> tuple[Engine, float, int]:
    """Return how long an engine took, and the peak of the device's memory beyond the tensors; 0 on the CPU."""
    device = tensors[0].device
    before = _synchronized(device)
    start = time.perf_counter()
    ENGINES[engine](*tensors)
    peak = _synchronized(device, peak=True)
    return engine, time.perf_counter() - start, peak - before


def _synchronized(device: torch.device, *, peak: bool = False) -> int:
    """Wait for the device, and return how much of its memory is used, or was at most since the call before."""
    if device.type != "cuda":
        return 0
    torch.cuda.synchronize(device)
    if peak:
        return torch.cuda.max_memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    return torch.cuda.memory_allocated(device)


if __name__ == "__main__":
    main()
