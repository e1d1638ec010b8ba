"""Build the workloads, check and time the peers, and write the page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from .family import measure_family
from .memory import peak_ratio
from .peers import PEERS
from .report import page
from .startup import extra_seconds
from .targets import MAIN_FORM, Measured
from .timing import measure
from .workloads import WORKLOADS, Variant, build, first_queries, matching

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .peers import Peer


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmarks that the command line asks for."""
    options = _parser().parse_args(arguments)
    measured = Measured()
    for part in options.parts:
        for line in PARTS[part](measured, options):
            print(line, flush=True)
            # After each result, so that a run that is stopped has not been in vain.
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
    add("--slow-queries", type=int, default=10_000, help="how many queries torchmetrics is given")
    add("--import-runs", type=int, default=15)
    add("--output", type=Path, default=Path(__file__).with_name("RESULTS.md"))
    return parser


def _peers(options: argparse.Namespace) -> list[Peer]:
    return [PEERS[name] for name in options.peers if PEERS[name].is_here()]


def _measure_times(measured: Measured, options: argparse.Namespace) -> Iterator[str]:
    for name in options.workloads:
        workload = WORKLOADS[name].scaled(options.scale)
        for variant in matching(options.variants):
            times = measure(
                workload, variant, _peers(options), repeat=options.repeat, slow_queries=options.slow_queries
            )
            measured.times.append(times)
            yield f"{name} {variant}: " + ", ".join(f"{peer} {times.best(peer):.3f}" for peer in times.seconds)


def _measure_family(measured: Measured, options: argparse.Namespace) -> Iterator[str]:
    """Measure what all measures cost, on the workload that the targets speak of."""
    workload = WORKLOADS["B"].scaled(options.scale)
    frame = build(workload, Variant("grouped", *MAIN_FORM.split("-")))
    n = min(options.slow_queries, workload.queries)
    costs = measure_family(frame, repeat=options.repeat, sample=first_queries(frame, n), factor=workload.queries / n)
    measured.family.append(costs)
    yield f"family: {costs}"


def _measure_memory(measured: Measured, options: argparse.Namespace) -> Iterator[str]:
    """Measure the form that the targets speak of, for every peer that is given the whole frame."""
    for name in options.workloads:
        workload = WORKLOADS[name].scaled(options.scale)
        for order in ("grouped", "shuffled", "ranked"):
            variant = Variant(order, *MAIN_FORM.split("-"))
            for peer in _peers(options):
                if peer.slow or peer.choose(workload, variant) is None:
                    continue
                ratio = peak_ratio(workload, variant, peer.name)
                measured.memory[name, str(variant), peer.name] = ratio
                yield f"{name} {variant}: peak memory of {peer.name} {ratio:.2f}"


def _measure_import(measured: Measured, options: argparse.Namespace) -> Iterator[str]:
    measured.import_seconds.extend(extra_seconds(options.import_runs))
    yield f"import: {1000 * min(measured.import_seconds):.0f} ms at least"


PARTS = {"times": _measure_times, "family": _measure_family, "memory": _measure_memory, "import": _measure_import}


if __name__ == "__main__":
    main()
