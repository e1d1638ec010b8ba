"""The measurements as a Markdown page."""

from __future__ import annotations

import os
import platform
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import polars_retrieval as pr

from .peers import PEERS
from .targets import targets
from .workloads import SEED, WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .targets import Measured, Target
    from .timing import Times

PACKAGES = ("polars", "numpy", "pyarrow", "torch", "torchmetrics", "numba", "ranx", "pytrec-eval-terrier")

OTHERS = Path(__file__).with_name("results")
"""What the other programs of this folder wrote."""

HEADER = """\
# Results

Written by `python -m benchmarks`; do not edit.

The job is always the same: from a frame in memory to precision@10, recall@10, recall@100, R-precision and
the mean precision-recall curve to 100, all together. Every peer's values are asserted equal before anything
is timed: to 1e-9, or 1e-6 where a peer computes in float32; where a tie of a relevant and another document
leaves the order open, within what the order can change. The peers take turns in every repetition. Times are
the least of the repetitions, the median in brackets; the factor is the peer's least time over ours.
"""

NOTES = """\
* Scores are standard normal. Frames hold a query id, a score and the relevance (UInt8), and no document ids,
  which none of the five needs.
* **grouped**: the documents of a query stand together, unsorted, and queries ascend. **shuffled**: all rows.
  **ranked**: grouped, best first.
* `polars` and `polars-once` differ in how often they sort a query: for each cut that a measure needs, or once
  with list functions afterwards. The targets were set for the first.
* `torch` and `torch-shared` are told that every query has equally many documents, how many, and that they
  stand together; ours finds out. They take no shuffled rows. `torch` is the sum of five separate functions,
  each by its own best way; `torch-shared` reads all five from one `topk`.
* `numba` finds where the queries start, or partitions shuffled rows, within its time; it is told that the ids
  are the codes 0 ... n - 1. It is compiled before, and takes float32 scores and integer ids only.
* `torchmetrics` gets the first {slow_queries:,} queries at most, and its time is scaled up to all of them (from
  some hundred queries this would overstate it; from ten thousand it does not). It takes a score <= 0 for not
  retrieved, so its values are compared on positive scores of the same order; it is timed on the scores as
  they are.
"""


COMMON = """\
Seven measures that all of these have, from the frame to the means: precision, recall, hit rate and nDCG at 10,
R-precision, average precision and reciprocal rank. The tools get a part of the queries, and their time is scaled up;
the dicts that some of them ask for are made within it.
"""


def page(measured: Measured, *, repeat: int, slow_queries: int, scale: float) -> str:
    """Return the whole page."""
    parts = [
        HEADER,
        table(("", ""), setting(repeat, scale)),
        "## Targets\n",
        table(("", "target", "measured", ""), map(target_row, targets(measured))),
        *(_times_section(measured.times, name) for name in WORKLOADS),
        _family_section(measured),
        _memory_section(measured),
        _import_section(measured.import_seconds),
        *(path.read_text(encoding="utf-8") for path in sorted(OTHERS.glob("*.md"))),
        "## How the peers are measured\n",
        table(("peer", ""), ((peer.name, peer.title) for peer in PEERS.values())),
        NOTES.format(slow_queries=slow_queries),
    ]
    return "\n".join(part for part in parts if part)


def setting(repeat: int, scale: float) -> list[tuple[str, str]]:
    """Say on what machine and with which versions something was measured."""
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    versions = [f"Python {platform.python_version()}", *filter(None, map(_version, PACKAGES))]
    return [
        ("machine", f"{_cpu()}, {len(os.sched_getaffinity(0))} cores, {platform.system()}"),
        ("versions", ", ".join(versions)),
        ("polars_retrieval", pr.__version__),
        ("date", f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC"),
        ("seed, repetitions, scale", f"{SEED}, {repeat}, {scale:g}"),
        ("load average at the end (1, 5, 15 minutes)", load),
    ]


def _cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _version(package: str) -> str | None:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return None


def target_row(target: Target) -> tuple[str, ...]:
    """Say what a target is, and whether it is met."""
    measured = "" if target.measured is None else f"{target.measured:.3g}{target.unit}"
    return target.text, f"{target.bound} {target.figure:g}{target.unit}", measured, target.verdict()


def _times_section(all_times: list[Times], name: str) -> str:
    times = [entry for entry in all_times if entry.workload.name == name]
    if not times:
        return ""
    peers = [peer for peer in PEERS if any(peer in entry.seconds for entry in times)]
    rows = ((str(entry.variant), *(_time_cell(entry, peer) for peer in peers)) for entry in times)
    title = f"## {name}: {times[0].workload.describe()} (milliseconds)\n"
    return f"{title}\n{table(('', *peers), rows)}"


def _time_cell(times: Times, peer: str) -> str:
    if peer not in times.seconds:
        return ""
    cell = f"{1000 * times.best(peer):,.0f} ({1000 * times.middle(peer):,.0f})"
    return cell if peer == "ours" or "ours" not in times.seconds else f"{cell} **{times.ratio(peer):.3g}x**"


def _family_section(measured: Measured) -> str:
    if not measured.family:
        return ""
    costs = measured.family[-1]
    rows = [
        ("precision@10 alone, from the frame", costs.one),
        (f"all {costs.n_all} measures, from the frame (those with a cutoff at 10)", costs.all),
        ("ranking alone", costs.ranking),
        *((f"{name} at ten cutoffs, of kept lists", seconds) for name, seconds in costs.cutoffs.items()),
    ]
    ours = costs.tools["ours"]
    tools = [(name, f"{1000 * seconds:,.0f}", f"{seconds / ours:.3g}x") for name, seconds in costs.tools.items()]
    parts = [
        "## The whole family of measures, on B grouped (milliseconds)\n",
        table(("", ""), ((name, f"{1000 * seconds:,.0f}") for name, seconds in rows)),
        COMMON,
        table(("", "milliseconds", "times as long as ours"), tools),
    ]
    return "\n".join(parts)


def _memory_section(measured: Measured) -> str:
    if not measured.memory:
        return ""
    rows = ((*key, f"{ratio:.2f}") for key, ratio in measured.memory.items())
    header = ("workload", "form", "peer", "peak above the frame / its size")
    return f"## Memory\n\nEach in a fresh process.\n\n{table(header, rows)}"


def _import_section(seconds: list[float]) -> str:
    if not seconds:
        return ""
    least, middle = 1000 * min(seconds), 1000 * median(seconds)
    return (
        f"## Import\n\n`import polars_retrieval` after `import polars` takes {middle:.0f} ms "
        f"(median of {len(seconds)} fresh processes; least {least:.0f} ms).\n"
    )


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Write a table in Markdown."""
    lines = [header, tuple("---" for _ in header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
