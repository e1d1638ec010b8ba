"""The options that evaluation functions share: what they allow, and their errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from polars_retrieval.errors import ParameterError
from polars_retrieval.names import (
    AggregationName,
    EmptyTargetAction,
    MissingQueries,
    Ties,
    Unjudged,
    hint,
    quoted,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    Aggregation = AggregationName | Callable[[pl.Expr], pl.Expr]


def check_choice(argument: str, given: object, choices: Any) -> None:
    """Raise unless ``given`` is one of the strings of a Literal type."""
    allowed = get_args(choices)
    if given in allowed:
        return
    near = hint(given, allowed) if isinstance(given, str) else ""
    msg = f"`{argument}` received a wrong value `{given}`; allowed are {quoted(allowed)}.{near}"
    raise ParameterError(msg)


def check_row_ties(given: object) -> None:
    """Raise unless ``given`` is a rule that gives each of several tied documents one place."""
    check_choice("ties", given, Ties)
    if given == "expected":
        allowed = quoted(rule for rule in get_args(Ties) if rule != given)
        msg = f'`ties="expected"` gives tied documents no single rank; a row needs one: choose from {allowed}'
        raise ParameterError(msg)


def check_cutoff(argument: str, given: object) -> None:
    """Raise unless ``given`` is an integer of at least 1, or None. A bool is no integer."""
    if given is None or (isinstance(given, int) and not isinstance(given, bool) and given >= 1):
        return
    msg = f"`{argument}` has to be a positive integer or None, got {given!r}"
    raise ParameterError(msg)


def check_bool(argument: str, given: object) -> None:
    """Raise unless ``given`` is True or False."""
    if not isinstance(given, bool):
        msg = f"`{argument}` has to be a boolean, got {given!r}"
        raise ParameterError(msg)


def check_ignore_index(given: object) -> None:
    """Raise unless ``given`` is an integer or None."""
    if given is not None and (isinstance(given, bool) or not isinstance(given, int)):
        msg = f"Argument `ignore_index` must be an integer or None. Got {given!r}"
        raise ParameterError(msg)


def check_aggregation(given: object) -> None:
    """Raise unless ``given`` names an aggregate or is a function."""
    if not callable(given):
        check_choice("aggregation", given, AggregationName)


def check_interval(given: object, aggregation: object) -> None:
    """Raise unless ``given`` is None, or a share strictly between 0 and 1 and a mean is asked for."""
    if given is None:
        return
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 < given < 1:
        msg = f"`interval` has to be a number between 0 and 1, such as 0.95, or None, got {given!r}"
        raise ParameterError(msg)
    if aggregation != "mean":
        msg = f"`interval` is one for a mean over queries; with `aggregation={aggregation!r}` it has to be None"
        raise ParameterError(msg)


def check_number(argument: str, given: object) -> None:
    """Raise unless ``given`` is a number; a bool and NaN are none."""
    if isinstance(given, bool) or not isinstance(given, (int, float)) or given != given:  # noqa: PLR0124 (NaN)
        msg = f"`{argument}` has to be a number, got {given!r}"
        raise ParameterError(msg)


@dataclass(frozen=True, kw_only=True)
class Options:
    """How queries are judged and ranked, and what they count without a result; see the functions that take these."""

    ties: Ties = "expected"
    unjudged: Unjudged = "nonrelevant"
    missing_queries: MissingQueries = "zero"
    empty_target_action: EmptyTargetAction = "neg"
    ignore_index: int | None = None
    min_relevance: float = 1

    def __post_init__(self) -> None:
        check_choice("ties", self.ties, Ties)
        check_choice("unjudged", self.unjudged, Unjudged)
        check_choice("missing_queries", self.missing_queries, MissingQueries)
        check_choice("empty_target_action", self.empty_target_action, EmptyTargetAction)
        check_ignore_index(self.ignore_index)
        check_number("min_relevance", self.min_relevance)
