"""The words: column names, choices of each option, and the nearest right word for a wrong one."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

Ties = Literal["expected", "doc_id", "stable", "pessimistic", "optimistic"]
Unjudged = Literal["nonrelevant", "drop", "error"]
MissingQueries = Literal["zero", "skip", "error"]
Duplicates = Literal["error", "best"]
EmptyTargetAction = Literal["neg", "pos", "skip", "error"]
AggregationName = Literal["mean", "median", "min", "max"]


def quoted(names: Iterable[object]) -> str:
    """List names for a message: `a`, `b`, `c`."""
    return ", ".join(f"`{name}`" for name in names)


def hint(name: str, allowed: Iterable[str]) -> str:
    """Return the hint line with the allowed name nearest to a wrong one, or nothing."""
    known = {candidate.lower(): candidate for candidate in allowed}
    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.6)
    return f"\n\nHint: did you mean `{known[near[0]]}`?" if near else ""
