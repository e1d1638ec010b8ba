"""Writes `polars_retrieval/namespaces.pyi`, since the methods for the measures stand in no source.

Run it after a measure or an option was added or changed: ``python docs/make_stubs.py``. A test tells when to.
"""

from __future__ import annotations

import inspect
import textwrap
from pathlib import Path
from typing import Any

from polars_retrieval import namespaces

PATH = Path(namespaces.__file__).with_suffix(".pyi")

_HEAD = """\
# Written by docs/make_stubs.py: do not edit.
# Its docstrings, wrapped for another place, are for editors: the methods of the measures stand in no source.
# ruff: noqa: E501, PYI021

from typing import Any

import polars as pl
from typing_extensions import Unpack

from polars_retrieval.comparison.pairs import CompareOptions
from polars_retrieval.comparison.summaries import SummarizeOptions
from polars_retrieval.expressions import Count, IntoExpr
from polars_retrieval.frames import (
    CurveOptions,
    EvaluateOptions,
    JudgeOptions,
    Metrics,
    PerQueryOptions,
    RankOptions,
)
from polars_retrieval.measures.declaration import Denominator, Gain, Part, Share
from polars_retrieval.names import EmptyTargetAction, MissingQueries, Ties, Unjudged
"""

_LONGEST_LINE = 120


def stub() -> str:
    """Give the text of the stub."""
    classes = (namespaces.DataFrameRetrieval, namespaces.LazyFrameRetrieval, namespaces.ExprRetrieval)
    return "\n".join([_HEAD, *map(_class, classes)])


def _class(of: type) -> str:
    methods = [method for name, method in vars(of).items() if not name.startswith("_")]
    return f"class {of.__name__}:\n" + _method(vars(of)["__init__"]) + "\n".join(map(_method, methods))


def _method(method: Any) -> str:
    signature = inspect.signature(method)
    parameters = [_parameter(parameter) for parameter in signature.parameters.values()]
    star = [i for i, p in enumerate(signature.parameters.values()) if p.kind is p.KEYWORD_ONLY][:1]
    for place in star:
        parameters.insert(place, "*")
    start, end = f"    def {method.__name__}(", f") -> {signature.return_annotation}:"
    line = start + ", ".join(parameters) + end
    if len(line) > _LONGEST_LINE:
        line = "\n".join([start, *(f"        {parameter}," for parameter in parameters), f"    {end}"])
    documentation = inspect.getdoc(method) if method.__name__ != "__init__" else None
    return f"{line} ...\n" if documentation is None else f"{line}\n{_docstring(documentation)}\n"


def _parameter(parameter: inspect.Parameter) -> str:
    stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    annotation = "" if parameter.annotation is parameter.empty else f": {parameter.annotation}"
    default = "" if parameter.default is parameter.empty else f" = {_literal(parameter.default)}"
    return f"{stars}{parameter.name}{annotation}{default}"


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _docstring(text: str) -> str:
    end = "\n" if "\n" in text else ""
    return textwrap.indent(f'"""{text}{end}"""', " " * 8)


if __name__ == "__main__":
    PATH.write_text(stub(), encoding="utf-8")
