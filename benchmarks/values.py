"""The numbers that every peer must give, and the check that they agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

MAX_K = 100

# A tie of a relevant and another document leaves the order open, and the peers break ties differently.
# On these workloads that moves a value by less than this, and nearly always by nothing.
WIDEST_TIE_BRACKET = 1e-3


class Values(NamedTuple):
    """Means over the queries."""

    measures: tuple[float, ...]  # precision@10, recall@10, recall@100, R-precision
    precision: npt.NDArray[Any]  # of the curve, for k = 1 ... 100
    recall: npt.NDArray[Any]


def check(peer: str, values: Values, lowest: Values, highest: Values, tolerance: float) -> None:
    """Raise unless each value lies between those with ties broken worst and best, mostly the same."""
    for name, value, low, high in zip(Values._fields, *map(_arrays, (values, lowest, highest)), strict=True):
        spread = np.max(high - low)
        if spread > WIDEST_TIE_BRACKET:
            msg = f"ties move {name} by {spread:.1e}: too much to compare the peers"
            raise AssertionError(msg)
        off = np.max(np.maximum(low - value, value - high))
        if not off <= tolerance:
            msg = f"{peer}: {name} is off by {off:.1e}, allowed is {tolerance:.0e}"
            raise AssertionError(msg)


def _arrays(values: Values) -> list[npt.NDArray[Any]]:
    return [np.asarray(value, dtype=np.float64) for value in values]
