"""The paragraphs on parameters that classes and functions share: written once, put into every docstring."""

from __future__ import annotations

import inspect
import textwrap
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Documented = TypeVar("Documented", bound="Callable[..., Any]")


def empty_target_action(needed: str) -> str:
    """Say what a query counts that has no document of the kind needed."""
    return (
        f"What a query without a {needed} counts: `neg` 0, `pos` 1, `skip` nothing (0 if all are skipped), "
        "`error` raises."
    )


_SHARED = {
    "top_k": "How many ranks count; None for all.",
    "k": "Older spelling of `top_k`.",
    "max_fpr": (
        "The area up to this false positive rate, above 0 and up to 1, standardised so that chance gives 1/2; None for "
        "the whole area. With `top_k`, tied documents that differ need a rule other than `expected`."
    ),
    "denominator": (
        "What divides the sum of the precision at each hit: `hits` the number of hits within `top_k`, as in "
        "torchmetrics; `relevant` that of all relevant documents, as in trec_eval; `min` the smaller of that and "
        "`top_k`."
    ),
    "gain": "What a document of grade g is worth: `linear` g, `exponential` 2^g - 1; 0 if g is negative.",
}

OF_CLASSES = _SHARED | {
    "empty_target_action": empty_target_action("relevant document"),
    "ignore_index": "Predictions whose target equals this are dropped first.",
    "adaptive_k": "Divide by the number of documents where that is below `top_k`.",
    "aggregation": (
        "`mean`, `median` (the lower of two middle values), `min`, `max`, or a function that takes a tensor of one "
        "value a query and `dim=None`."
    ),
    "ties": (
        "How equal scores are ranked: `expected` takes the mean over all orders of the tied documents, `stable` the "
        "order of the input, `pessimistic` relevant documents last, `optimistic` relevant documents first."
    ),
    "kwargs": (
        "`compact=True`, where there is a cutoff k, keeps of each query its best k documents, those tied with the last "
        "of them, and counts of the others, instead of every document: the values are the same, and memory is bounded "
        "by queries times k. `queries_complete=True` says that each query comes in one update: then only its value is "
        "kept, or, for a mean curve with `max_k`, sums for each k. Further, the keyword arguments of "
        "torchmetrics.Metric."
    ),
}

OF_FUNCTIONS = _SHARED | {
    "preds": "The scores of one query's documents, floats. Any shape is taken as one list.",
    "target": "Which documents are relevant: booleans, or integers 0 and 1.",
    "adaptive_k": "Divide by the number of documents where that is below `top_k`.",
    "ties": "How equal scores are ranked: `expected`, `stable`, `pessimistic` or `optimistic`.",
}


def documented_class(**own: str) -> Callable[[Documented], Documented]:
    """Put a section on the parameters before a class's examples: its own paragraphs, or else those of all classes."""
    return _inserting(lambda described: _parameters(described, OF_CLASSES | own))


def documented_function(
    returns: str = "One float, 0 if no document is relevant.", **own: str
) -> Callable[[Documented], Documented]:
    """Put sections on the parameters and on what is returned before a function's examples."""

    def sections(described: Callable[..., Any]) -> str:
        type_returned = inspect.signature(described).return_annotation
        return _parameters(described, OF_FUNCTIONS | own) + _section("Returns", {type_returned: returns})

    return _inserting(sections)


def _inserting(sections: Callable[[Callable[..., Any]], str]) -> Callable[[Documented], Documented]:
    """Make a decorator that inserts sections before the examples of a docstring."""

    def decorate(described: Documented) -> Documented:
        if described.__doc__:  # which `python -OO` removes
            text, heading, examples = inspect.cleandoc(described.__doc__).partition("Examples\n")
            described.__doc__ = text + sections(described) + heading + examples
        return described

    return decorate


def _parameters(described: Callable[..., Any], paragraphs: Mapping[str, str]) -> str:
    """Write the section on the parameters in the order of the signature."""
    parameters = inspect.signature(described).parameters.values()
    stars = ["**" if p.kind == p.VAR_KEYWORD else "" for p in parameters]
    return _section(
        "Parameters", {star + p.name: paragraphs[p.name] for star, p in zip(stars, parameters, strict=True)}
    )


def _section(heading: str, paragraphs: Mapping[str, str]) -> str:
    indent = " " * 4
    entries = [
        f"{name}\n{textwrap.fill(text, width=110, initial_indent=indent, subsequent_indent=indent)}\n"
        for name, text in paragraphs.items()
    ]
    return f"{heading}\n{'-' * len(heading)}\n{''.join(entries)}\n"
