"""The arguments that metrics and functions on tensors share."""

from __future__ import annotations

from typing import Literal

from polars_retrieval.errors import ParameterError
from polars_retrieval.options import check_choice, check_cutoff

# `doc_id` is missing: tensors carry no document ids.
Ties = Literal["expected", "stable", "pessimistic", "optimistic"]


def check_type(argument: str, given: object, wanted: type) -> None:
    """Raise unless ``given`` is of the wanted type."""
    if not isinstance(given, wanted):
        msg = f"`{argument}` must be a {wanted.__name__}, got {type(given).__name__}"
        raise ParameterError(msg)


def check_ties(given: object) -> None:
    """Raise unless ``given`` names a rule for equal scores that needs no document id."""
    check_choice("ties", given, Ties)


def one_cutoff(top_k: int | None, k: int | None) -> int | None:
    """Return the cutoff that was given as ``top_k`` or, in its older spelling, as ``k``."""
    check_cutoff("top_k", top_k)
    check_cutoff("k", k)
    if top_k is not None and k is not None and top_k != k:
        msg = f"`top_k` and its older spelling `k` must be equal if both are given, got {top_k} and {k}"
        raise ParameterError(msg)
    return k if top_k is None else top_k
