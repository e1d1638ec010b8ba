"""What the product must show, as figures, and whether the measured values meet them."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from .family import Family
    from .timing import Times

MAIN_FORM = "float32-int64"


@dataclass(frozen=True)
class Measured:
    """All results of one run of the benchmarks."""

    times: list[Times] = field(default_factory=list)
    family: list[Family] = field(default_factory=list)
    memory: dict[tuple[str, str, str], float] = field(default_factory=dict)
    import_seconds: list[float] = field(default_factory=list)

    def ratio(self, workload: str, order: str, slower: str, faster: str) -> float | None:
        """Return how many times as long the first peer took, None where one of them was not timed."""
        for times in self.times:
            here = times.workload.name == workload and str(times.variant) == f"{order}-{MAIN_FORM}"
            if here and {slower, faster} <= times.seconds.keys():
                return times.ratio(slower, faster)
        return None


@dataclass(frozen=True)
class Target:
    """A figure to reach, what was measured (None: nothing), and the unit of both."""

    text: str
    bound: Literal["at least", "at most"]
    figure: float
    measured: float | None
    unit: str = ""

    def verdict(self) -> str:
        """Say whether it is met."""
        if self.measured is None:
            return "not measured"
        met = self.measured >= self.figure if self.bound == "at least" else self.measured <= self.figure
        return "met" if met else "**not met**"


def targets(measured: Measured) -> list[Target]:
    """Return every target, in the order in which they were set."""
    return [*_slower_peers(measured), *_limits(measured), *_of_family(measured), *_costs(measured)]


def _of_family(measured: Measured) -> list[Target]:
    costs = measured.family[-1] if measured.family else None
    names = costs.cutoffs if costs else {}
    return [
        Target("all measures / precision@10 alone on B", "at most", 1.5, costs.all / costs.one if costs else None),
        *(
            Target(f"{name} at ten cutoffs / ranking on B", "at most", 0.5, costs.cutoffs[name] / costs.ranking)
            for name in names
            if costs
        ),
    ]


def _slower_peers(measured: Measured) -> list[Target]:
    figures = [
        ("torchmetrics", "B", "grouped", 100),
        ("torchmetrics", "A", "grouped", 40),
        *(
            (by_hand, workload, order, figure)
            for by_hand in ("polars", "polars-once")
            for workload, order, figure in (
                ("B", "shuffled", 3),
                ("B", "grouped", 3),
                ("C", "shuffled", 5),
                ("A", "grouped", 4),
                ("D", "grouped", 1.5),
            )
        ),
        *(("torch", workload, order, 1) for workload in "ABCD" for order in ("grouped", "ranked")),
    ]
    return [
        Target(
            f"{peer} / ours on {workload} {order}",
            "at least",
            figure,
            measured.ratio(workload, order, peer, "ours"),
        )
        for peer, workload, order, figure in figures
    ]


def _limits(measured: Measured) -> list[Target]:
    figures = [
        ("B", "shuffled", 2),
        ("B", "grouped", 6),
        ("A", "grouped", 10),
        ("C", "grouped", 10),
        ("D", "grouped", 10),
    ]
    return [
        Target(
            f"ours / numba on {workload} {order}",
            "at most",
            figure,
            measured.ratio(workload, order, "ours", "numba"),
        )
        for workload, order, figure in figures
    ]


def _costs(measured: Measured) -> list[Target]:
    memory = [
        Target(
            f"peak memory above the frame / its size on B {order}",
            "at most",
            4,
            measured.memory.get(("B", f"{order}-{MAIN_FORM}", "ours")),
        )
        for order in ("grouped", "shuffled", "ranked")
    ]
    extra = 1000 * median(measured.import_seconds) if measured.import_seconds else None
    return [*memory, Target("import beyond that of polars", "at most", 50, extra, " ms")]
