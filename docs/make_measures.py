"""Writes what `docs/measures.md` says of each measure, from its declaration; the rest of the page is written by hand.

Run it after a measure was added or changed: ``python docs/make_measures.py``. A test tells when to.
"""

from __future__ import annotations

import inspect
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from polars_retrieval.measures import REGISTRY
from polars_retrieval.measures.declaration import Denominator, Gain
from polars_retrieval.names import Ties

if TYPE_CHECKING:
    from polars_retrieval.measures.declaration import Alias, Declaration

PATH = Path(__file__).with_name("measures.md")
START, END = "<!-- written by make_measures.py from here -->\n", "<!-- to here -->\n"

INDEX_HEAD = ("| measure | what it is | values | undefined for a query |", "| --- | --- | --- | --- |")

# By the module that declares a measure.
SECTIONS = {
    "counts": "Counts",
    "set_based": "Sets: the first k, in whatever order",
    "rank_aware": "Ranks: where the relevant documents stand",
    "graded": "Grades and discounts: what each rank is worth",
}


def _choice(of: object) -> str:
    return " or ".join(f'`"{word}"`' for word in get_args(of))


# By the annotation of a parameter.
ALLOWED = {
    "int | None": "a whole number from 1, or `None` for the whole list",
    "bool": "`True` or `False`",
    "float": "a number above 0",
    "float | None": "a number above 0, or `None`",
    "Share": "a number from 0 to 1",
    "Share | None": "a number from 0 to 1, or `None`",
    "Part | None": "a number above 0 and up to 1, or `None`",
    "Gain": _choice(Gain),
    "Denominator": _choice(Denominator),
}

# By the count that leaves a measure undefined when it is 0.
UNDEFINED = {
    "n_relevant": "without a relevant document",
    "n_nonrelevant": "without a known non-relevant document",
    "n_graded": "without a document of a grade above 0",
    None: "never",
}

# By what has to differ between tied documents for their order to matter.
NO_CLOSED_FORM = {
    "relevant": "where tied documents are relevant and not relevant",
    "judged": "where tied documents are judged relevant and judged non-relevant",
    "grade": "where tied documents differ in grade",
}

TOOLS = {
    "ir_measures": "ir_measures",
    "trec_eval": "trec_eval",
    "torchmetrics": "torchmetrics",
    "other": "elsewhere",
}


def page() -> str:
    """Give the text of the page as it has to be."""
    before, _, rest = PATH.read_text(encoding="utf-8").partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{measures()}\n{END}{after}"


def measures() -> str:
    """Give the index of all measures, and a section on each."""
    index, parts = list(INDEX_HEAD), []
    for module, title in SECTIONS.items():
        declared = [known.declaration for known in REGISTRY.values() if _module(known.declaration) == module]
        index += map(_row, declared)
        parts += [f"## {title}", *map(_section, declared)]
    # Docstrings write code as reStructuredText does.
    return "\n\n".join(["\n".join(index), *parts]).replace("``", "`") + "\n"


def _row(declaration: Declaration) -> str:
    name, undefined = declaration.name, UNDEFINED[declaration.undefined_without]
    return f"| [`{name}`](#{name}) | {declaration.summary} | {_values(declaration)} | {undefined} |"


def _section(declaration: Declaration) -> str:
    """Say everything that is declared of one measure."""
    facts = {
        "Parameters": "; ".join(map(_parameter, declaration.parameters.values())) or "none",
        "Values": _values(declaration) + _direction(declaration),
        "Undefined": UNDEFINED[declaration.undefined_without],
        "Tied documents": _ties(declaration),
        "Bounds": _bounds(declaration),
        "Other names": _other_names(declaration) or "none",
        "Source": declaration.source,
    }
    lines = [f"* {key}: {text}" for key, text in facts.items()]
    return "\n\n".join([f"### {declaration.name}", _documentation(declaration), "\n".join(lines)])


def _documentation(declaration: Declaration) -> str:
    return inspect.getdoc(declaration.formula) or ""


def _parameter(parameter: inspect.Parameter) -> str:
    return f"`{parameter.name}`, {ALLOWED[parameter.annotation]} (default `{parameter.default!r}`)"


def _values(declaration: Declaration) -> str:
    lowest, highest = declaration.bounds
    return f"{lowest} and up" if highest == float("inf") else f"{lowest} to {highest}"


def _direction(declaration: Declaration) -> str:
    if _module(declaration) == "counts":
        return ""
    return "; higher is better" if declaration.higher_is_better else "; lower is better"


def _where(declaration: Declaration) -> str:
    given = " and ".join(f"`{name}`" for name in declaration.needs_order_with)
    return f" and {given} are given" if given else ""


def _ties(declaration: Declaration) -> str:
    if declaration.needs_order_of is not None:
        rules = ", ".join(f"`{rule}`" for rule in get_args(Ties) if rule != "expected")
        return (
            f'`ties="expected"` has no closed form {NO_CLOSED_FORM[declaration.needs_order_of]}{_where(declaration)}; '
            f"there, functions raise and expressions give NaN: choose one of {rules}"
        )
    if _module(declaration) == "counts":
        return "their order does not matter"
    if "tied" in _documentation(declaration).lower():
        return '`ties="expected"` as said above'
    return '`ties="expected"` gives the exact mean over all their orders'


def _bounds(declaration: Declaration) -> str:
    if declaration.has_bounds:
        low, high = f"`{declaration.name}@10_low`", f"`{declaration.name}@10_high`"
        return f"`bounds=True` adds its value if no unjudged document is relevant, and if all are: {low}, {high}"
    return "`bounds=True`, which asks how far unjudged documents could move it, is not defined for it and raises"


def _other_names(declaration: Declaration) -> str:
    by_tool = groupby(declaration.aliases, lambda other: other.tool)
    return "; ".join(f"{TOOLS[tool]} {', '.join(map(_other_name, others))}" for tool, others in by_tool)


def _other_name(other: Alias) -> str:
    fixed = ", ".join(f"`{name}={value}`" for name, value in other.fixed.items())
    return f"`{other.pattern}`" + (f" (with {fixed})" if fixed else "")


def _module(declaration: Declaration) -> str:
    return declaration.formula.__module__.rpartition(".")[2]


if __name__ == "__main__":
    PATH.write_text(page(), encoding="utf-8")
