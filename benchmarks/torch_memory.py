"""What the torch classes keep over many updates, and what `compute` takes: `python -m benchmarks.torch_memory`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
import torch

import polars_retrieval as pr
from polars_retrieval.torch import RetrievalRecall, from_torch

from .memory import ROOT, forget_peak, status
from .report import setting, table, target_row
from .targets import Target
from .workloads import SEED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor

    Rows = tuple[Tensor, Tensor, Tensor]

OUTPUT = Path(__file__).with_name("results") / "torch_memory.md"
K = 10
UPDATES = 1_000
DOCUMENTS = 100  # of a query, where every update has other queries
QUERIES = 10_000  # where all updates have the same
OPTIONS: dict[str, dict[str, bool]] = {
    "whole": {},
    "compact": {"compact": True},
    "complete": {"queries_complete": True},
}
QUERIES_OF = {"other": "other queries", "same": f"the same {QUERIES:,} queries"}
ROWS = 10_000_000  # that `compute` is measured on
UPDATE_COUNTS = (10, 1_000, 10_000)  # in which these came
MOST_KEPT = {("same", "compact"): 0.05, ("other", "complete"): 0.01}
MOST_PEAK = 1.2
WARM_UP, WARM_UP_ROWS = 20, 10_000  # updates and rows of each: enough for a compact state to be reduced
MOST_OFF = 1e-6  # sums in another order

TEXT = """\
## What the torch classes keep

`RetrievalRecall(top_k={k})` over {updates:,} updates, whole, with `compact=True` and with `queries_complete=True`; the
values are asserted equal. Either every update has other queries, of {documents} documents of which {relevant} are
relevant, or all updates have documents of the same {queries:,} queries. A row is a score (float32), a target and an
index (int64 each). Each line is measured in {repeat} processes of its own: peaks are the median, times the least.
The peak is the resident memory above that at the start, after {warm_up} updates of {warm_up_rows:,} rows to warm up,
at its highest during updates and `compute`; it counts memory that was freed, and that allocators still hold.
"""

COMPUTE_TEXT = """\
`compute` on {rows:,} rows, whole, beside `pr.evaluate` of the same rows as one frame. The peak is the resident memory
above that before the rows were there, less their size, while it runs.
"""


class Kept(NamedTuple):
    """Bytes of the state, and resident ones above the start; seconds; and the value."""

    at_end: float
    largest: float
    peak: float
    updates: float
    compute: float
    value: float


class Peak(NamedTuple):
    """Bytes of rows, and resident ones above these."""

    size: float
    above: float


@dataclass(frozen=True)
class Setting:
    """What each update holds, and how the metric keeps it."""

    queries: str  # of each update: "other" ones or the "same"
    n_rows: int
    keeps: tuple[str, ...]

    def describe(self) -> str:
        """Say it in words."""
        return f"updates of {self.n_rows:,} rows, {QUERIES_OF[self.queries]}"


SETTINGS = [
    Setting("other", 10_000, ("whole", "compact", "complete")),
    Setting("same", 10_000, ("whole", "compact")),
    Setting("other", 1_000, ("whole", "compact", "complete")),
    Setting("same", 1_000, ("whole", "compact")),
]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, check and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torch_memory", description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the updates and rows, for a quick look")
    parser.add_argument("--settings", type=int, default=len(SETTINGS), help="how many of the settings")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args(arguments)
    kept = dict(_all_kept(options))
    peaks = dict(_all_peaks(options))
    options.output.parent.mkdir(exist_ok=True)
    options.output.write_text(_page(kept, peaks, options), encoding="utf-8")
    print(f"written to {options.output}")


# --- the state


def _all_kept(options: argparse.Namespace) -> Iterator[tuple[tuple[Setting, str], Kept]]:
    updates = max(1, round(options.scale * UPDATES))
    for given in SETTINGS[: options.settings]:
        several = {keep: _kept(given, keep, updates, options.repeat) for keep in given.keeps}
        check(several)
        for keep, kept in several.items():
            print(given.describe(), keep, *_cells(kept), sep="  ", flush=True)
            yield (given, keep), kept


def _kept(given: Setting, keep: str, updates: int, repeat: int) -> Kept:
    """Measure in processes of their own: the median of the peaks, the least of the times."""
    runs = [Kept(*_in_own_process(measure_kept, given.queries, given.n_rows, updates, keep)) for _ in range(repeat)]
    return runs[0]._replace(
        peak=median(run.peak for run in runs),
        updates=min(run.updates for run in runs),
        compute=min(run.compute for run in runs),
    )


def check(several: dict[str, Kept]) -> None:
    """Raise unless each gives the value of the whole state."""
    for keep, kept in several.items():
        off = abs(kept.value - several["whole"].value)
        assert off <= MOST_OFF, f"{keep}: the value is off by {off:.1e}, allowed is {MOST_OFF:g}"


def measure_kept(queries: str, n_rows: int, updates: int, keep: str) -> Kept:
    """Update and compute in this process."""
    warm = _metric(keep)
    for number in range(WARM_UP):
        warm.update(*make_batch(queries, WARM_UP_ROWS, number))
    warm.compute()
    del warm
    start = status("VmRSS")
    forget_peak()
    metric, seconds, largest = _metric(keep), 0.0, 0
    for number in range(updates):
        batch = make_batch(queries, n_rows, number)
        begin = time.perf_counter()
        metric.update(*batch)
        seconds += time.perf_counter() - begin
        largest = max(largest, state_size(metric))
    at_end, begin = state_size(metric), time.perf_counter()
    value = metric.compute().item()
    compute_seconds = time.perf_counter() - begin
    return Kept(at_end, largest, status("VmHWM") - start, seconds, compute_seconds, value)


def make_batch(queries: str, n_rows: int, number: int) -> Rows:
    """Make the preds, target and indexes of an update; a tenth of the documents of each query is relevant."""
    preds = torch.rand(n_rows, generator=torch.Generator().manual_seed(SEED + number))
    row = number * n_rows + torch.arange(n_rows)
    if queries == "other":
        return preds, (row % DOCUMENTS < DOCUMENTS // 10).long(), row // DOCUMENTS
    return preds, (row // QUERIES % 10 == row % 10).long(), row % QUERIES


def state_size(metric: RetrievalRecall) -> int:
    """Return the bytes of all tensors that a metric keeps."""
    return sum(tensor.nbytes for states in metric.metric_state.values() for tensor in states)


def _metric(keep: str) -> RetrievalRecall:
    options: dict[str, Any] = OPTIONS[keep]
    return RetrievalRecall(top_k=K, **options)


# --- compute


def _all_peaks(options: argparse.Namespace) -> Iterator[tuple[tuple[str, int], Peak]]:
    """Measure for each kind of queries and number of updates; 0 stands for one frame."""
    n_rows = max(*UPDATE_COUNTS, round(options.scale * ROWS))
    for queries in QUERIES_OF:
        for updates in (0, *UPDATE_COUNTS):
            runs = [Peak(*_in_own_process(measure_peak, queries, updates, n_rows)) for _ in range(options.repeat)]
            peak = Peak(runs[0].size, median(run.above for run in runs))
            print(queries, updates, *peak, sep="  ", flush=True)
            yield (queries, updates), peak


def measure_peak(queries: str, updates: int, n_rows: int) -> Peak:
    """Evaluate rows in this process: a frame, or the state of a metric after some updates."""
    _evaluate(_rows(queries, updates, max(updates, n_rows // 100)))
    before = status("VmRSS")
    rows = _rows(queries, updates, n_rows)
    forget_peak()
    _evaluate(rows)
    size = int(rows.estimated_size()) if isinstance(rows, pl.DataFrame) else state_size(rows)
    return Peak(size, status("VmHWM") - before - size)


def _rows(queries: str, updates: int, n_rows: int) -> pl.DataFrame | RetrievalRecall:
    rows = make_batch(queries, n_rows, 0)
    if not updates:
        return pl.DataFrame([*map(from_torch, rows)], schema=["preds", "target", "indexes"])
    metric = _metric("whole")
    for batch in zip(*(torch.split(column, n_rows // updates) for column in rows), strict=True):
        metric.update(*(column.clone() for column in batch))  # parts of one tensor would keep all of it
    return metric


def _evaluate(rows: pl.DataFrame | RetrievalRecall) -> None:
    if isinstance(rows, pl.DataFrame):
        pr.evaluate(rows, [f"recall@{K}"], query="indexes", score="preds", relevance="target")
    else:
        rows.compute()


def _in_own_process(function: Callable[..., Any], *arguments: object) -> Any:
    """Call a function of this module in a fresh process, with what was left nowhere."""
    module = f"{__package__}.{Path(__file__).stem}"
    code = f"import json; from {module} import {function.__name__} as run; print(json.dumps(run(*{arguments!r})))"
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)  # noqa: S603 our own
    return json.loads(done.stdout)


# --- the page


def _cells(kept: Kept) -> tuple[str, ...]:
    sizes = (f"{size / 1e6:,.1f}" for size in kept[:3])
    return *sizes, f"{kept.updates:.2f}", f"{kept.compute:.3f}", f"{kept.value:.6f}"


def _peak_row(queries: str, updates: int, peak: Peak) -> tuple[str, ...]:
    what = f"compute after {updates:,} updates" if updates else "pr.evaluate of one frame"
    above, size = (f"{number / 1e6:,.0f}" for number in (peak.above, peak.size))
    return QUERIES_OF[queries], what, size, above, f"{peak.above / peak.size:.2f}"


def _targets(kept: dict[tuple[Setting, str], Kept], peaks: dict[tuple[str, int], Peak]) -> list[Target]:
    shares = [
        Target(
            f"{given.describe()}: largest state, {keep} / whole",
            "at most",
            MOST_KEPT[given.queries, keep],
            some.largest / kept[given, "whole"].largest,
        )
        for (given, keep), some in kept.items()
        if given.n_rows == SETTINGS[0].n_rows and (given.queries, keep) in MOST_KEPT
    ]
    return shares + [
        Target(
            f"{QUERIES_OF[queries]}, {updates:,} updates: peak of compute / pr.evaluate",
            "at most",
            MOST_PEAK,
            peak.above / peaks[queries, 0].above,
        )
        for (queries, updates), peak in peaks.items()
        if updates
    ]


def _page(
    kept: dict[tuple[Setting, str], Kept], peaks: dict[tuple[str, int], Peak], options: argparse.Namespace
) -> str:
    words = {"k": K, "updates": UPDATES, "documents": DOCUMENTS, "relevant": DOCUMENTS // 10, "queries": QUERIES}
    words |= {"repeat": options.repeat, "warm_up": WARM_UP, "warm_up_rows": WARM_UP_ROWS, "rows": ROWS}
    kept_header = ("", "kept", "MB at the end", "MB at most", "peak MB", "s updates", "s compute", "value")
    return "\n".join(
        [
            TEXT.format(**words),
            table(kept_header, ((given.describe(), keep, *_cells(some)) for (given, keep), some in kept.items())),
            COMPUTE_TEXT.format(**words),
            table(
                ("updates hold", "", "MB of rows", "peak MB above", "peak / rows"),
                (_peak_row(*key, peak) for key, peak in peaks.items()),
            ),
            table(("", "target", "measured", ""), map(target_row, _targets(kept, peaks))),
            table(("", ""), setting(options.repeat, options.scale)),
        ]
    )


if __name__ == "__main__":
    main()
