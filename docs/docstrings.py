"""For mkdocstrings, which reads the source: docstrings as they are once the module was imported.

The decorators of `polars_retrieval.torch` put the paragraphs on parameters into them.
"""

from __future__ import annotations

import inspect
from typing import Any

import griffe


class Imported(griffe.Extension):
    """Replace the docstrings of the torch classes and functions by those that help() shows."""

    def on_class_instance(self, *, cls: griffe.Class, **_: Any) -> None:
        """Replace the docstring of a class."""
        _replace(cls)

    def on_function_instance(self, *, func: griffe.Function, **_: Any) -> None:
        """Replace the docstring of a function."""
        _replace(func)


def _replace(found: griffe.Class | griffe.Function) -> None:
    is_of_torch = found.path.startswith("polars_retrieval.torch.")
    if is_of_torch and found.docstring is not None and found.parent is not None and found.parent.is_module:
        found.docstring.value = inspect.getdoc(griffe.dynamic_import(found.path)) or ""
