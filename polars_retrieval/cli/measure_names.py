"""The names that ``-m`` takes, beside those that `polars_retrieval.parse` knows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from polars_retrieval.errors import ParameterError
from polars_retrieval.measures import SETS

if TYPE_CHECKING:
    from collections.abc import Iterable

CUTOFFS = ("5", "10", "15", "20", "30", "100", "200", "500", "1000")
LEVELS = tuple(f"{tenth / 10:.2f}" for tenth in range(11))

FAMILIES = {
    "iprec_at_recall": LEVELS,
    "P": CUTOFFS,
    "recall": CUTOFFS,
    "ndcg_cut": CUTOFFS,
    "map_cut": CUTOFFS,
    "relative_P": CUTOFFS,
    "success": ("1", "5", "10"),
}
"""trec_eval's measures with a parameter, which makes several of each, and its values where none are given."""

OURS = "recall"
"""The family whose name is also that of a measure here: recall of the whole list."""

_NUMBER = re.compile(r"\d+(\.\d*)?|\.\d+")


def expand(texts: Iterable[str], *, trec: bool) -> list[str]:
    """Return the names that the texts of several ``-m`` hold, each of one measure, or of a set.

    With ``trec``, a name that trec_eval and the package take for different measures is trec_eval's.

    Examples
    --------
    >>> from polars_retrieval.cli.measure_names import expand
    >>> expand(["P.5,10,map", "ndcg(gain=exponential)@10"], trec=False)
    ['P_5', 'P_10', 'map', 'ndcg(gain=exponential)@10']
    """
    return [name for text in texts for one in _split(text) for name in _of(one, trec=trec)]


def _split(text: str) -> list[str]:
    """Split at commas, but not within brackets, nor between the values that follow trec_eval's dot."""
    names: list[str] = []
    for part in re.split(r",(?![^(]*\))", text):
        if names and "." in names[-1] and "(" not in names[-1] and _NUMBER.fullmatch(part.strip()):
            names[-1] += f",{part.strip()}"
        elif part.strip():
            names.append(part.strip())
    return names


def _of(name: str, *, trec: bool) -> list[str]:
    family, dot, values = name.partition(".")
    if family not in FAMILIES or (not dot and family == OURS and not trec):
        return [name]
    given = values.split(",") if dot else list(FAMILIES[family])
    return [f"{family}_{_value(family, value, name)}" for value in given]


def _value(family: str, text: str, name: str) -> str:
    """Write a cutoff, or a level of recall, as trec_eval does in names: a level has two decimals."""
    is_level = family == "iprec_at_recall"
    if not re.fullmatch(r"\d+(\.\d{0,2})?|\.\d{1,2}" if is_level else r"\d+", text):
        kind = "levels of recall, of up to two decimals," if is_level else "cutoffs"
        example = ".".join((family, ",".join(FAMILIES[family][1:3])))
        msg = f"`{name}` has to name {kind} after the dot, as `{example}` does; got {text!r}"
        raise ParameterError(msg)
    return f"{float(text):.2f}" if is_level else str(int(text))


def members(names: Iterable[str]) -> list[str]:
    """Put the measures of a set in the place of its name."""
    return [member for name in names for member in SETS.get(name, (name,))]
