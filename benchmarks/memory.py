"""How much memory a peer takes above the frame, measured in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .peers import PEERS
from .workloads import VARIANTS, WORKLOADS, Variant, Workload, build

# Imports, compiled kernels and thread pools are no use of the frame: a small run loads them before.
WARM_UP = 0.01
ROOT = Path(__file__).resolve().parents[1]


def peak_ratio(workload: Workload, variant: Variant, peer: str) -> float:
    """Return the peak above the frame in memory, divided by the frame's size."""
    command = [sys.executable, "-m", __name__, workload.name, str(workload.queries), str(variant), peer]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)  # noqa: S603 our own
    return float(done.stdout)


def _child(name: str, queries: int, variant_name: str, peer: str) -> float:
    """Build the frame, run the peer once, and return its peak over the frame's size."""
    workload = WORKLOADS[name].scaled(queries / WORKLOADS[name].queries)
    variant = next(variant for variant in VARIANTS if str(variant) == variant_name)
    run = PEERS[peer].choose(workload, variant)
    assert run is not None, f"{peer} does not take {variant}"
    run(build(workload.scaled(WARM_UP), variant))
    before = status("VmRSS")
    frame = build(workload, variant)
    forget_peak()
    run(frame)
    # Measured from before the frame was built: memory that building left free, and the run then took, counts.
    size = frame.estimated_size()
    return (status("VmHWM") - before - size) / size


def status(field: str) -> int:
    """Return a size that the system tells of this process, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def forget_peak() -> None:
    """Begin to look for the largest resident size anew."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


if __name__ == "__main__":
    name, queries, variant, peer = sys.argv[1:]
    print(_child(name, int(queries), variant, peer))
