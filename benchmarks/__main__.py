"""Build the workloads, check and time the peers, and write the page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from .memory import peak_ratio
from .peers import PEERS
from .report import page
from .startup import extra_seconds
from .targets import MAIN_FORM, Measured
from .timing import measure
from .workloads import WORKLOADS, Variant, matching

if TYPE_CHECKING:
    from collections.abc import Sequence

PARTS = ("times", "memory", "import")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmarks that the command line asks for."""
    options = _parser().parse_args(arguments)
    measured = Measured()
    if "times" in options.parts:
        _measure_times(measured, options)
    if "memory" in options.parts:
        _measure_memory(measured, options)
    if "import" in options.parts:
        measured.import_seconds.extend(extra_seconds(options.import_runs))
    text = page(measured, repeat=options.repeat, slow_queries=options.slow_queries, scale=options.scale)
    options.output.write_text(text, encoding="utf-8")
    print(f"written to {options.output}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    add("--workloads", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    add("--variants", nargs="+", default=["*"], help="patterns, such as 'shuffled-float32-*'")
    add("--peers", nargs="+", choices=PEERS, default=list(PEERS), help="those not installed are left out")
    add("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    add("--repeat", type=int, default=3)
    add("--scale", type=float, default=1.0, help="share of the queries, for a quick look")
    add("--slow-queries", type=int, default=2_000, help="how many queries torchmetrics is given")
    add("--import-runs", type=int, default=15)
    add("--output", type=Path, default=Path(__file__).with_name("RESULTS.md"))
    return parser


def _measure_times(measured: Measured, options: argparse.Namespace) -> None:
    peers = [PEERS[name] for name in options.peers if PEERS[name].is_here()]
    for name in options.workloads:
        for variant in matching(options.variants):
            workload = WORKLOADS[name].scaled(options.scale)
            times = measure(
                workload, variant, peers, repeat=options.repeat, slow_queries=options.slow_queries
            )
            measured.times.append(times)
            least = ", ".join(f"{peer} {times.best(peer):.3f}" for peer in times.seconds)
            print(f"{name} {variant}: {least}", flush=True)


def _measure_memory(measured: Measured, options: argparse.Namespace) -> None:
    """Measure the form that the targets speak of, for every peer that keeps to the frame it is given."""
    peers = [PEERS[name] for name in options.peers if PEERS[name].is_here() and not PEERS[name].slow]
    for name in options.workloads:
        workload = WORKLOADS[name].scaled(options.scale)
        for order in ("grouped", "shuffled", "ranked"):
            variant = Variant(order, *MAIN_FORM.split("-"))
            for peer in peers:
                if peer.choose(workload, variant) is not None:
                    ratio = peak_ratio(workload, variant, peer.name)
                    measured.memory[name, str(variant), peer.name] = ratio
                    print(f"{name} {variant}: peak memory of {peer.name} {ratio:.2f}", flush=True)


if __name__ == "__main__":
    main()
