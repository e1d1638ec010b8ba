"""Runs a notebook, stored as a script in jupytext's percent format, and turns it into a page."""

from __future__ import annotations

import re
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING, Any

import jupytext
from nbclient import NotebookClient
from nbconvert import MarkdownExporter

if TYPE_CHECKING:
    from pathlib import Path

    from nbformat import NotebookNode

SECONDS = 60
"""What a notebook may take, all in all."""

# Pictures as SVG, so that they are sharp at any size.
_KERNEL_ARGUMENTS = ["--InlineBackend.figure_formats=svg"]


def run(path: Path, seconds: float = SECONDS) -> NotebookNode:
    """Return the notebook with its outputs; an error in a cell is raised, and so is a TimeoutError."""
    return _run(path.read_text(encoding="utf-8"), seconds)


@cache  # `mkdocs serve` builds anew whenever a page is saved
def _run(script: str, seconds: float) -> NotebookNode:
    notebook, end = jupytext.reads(script, fmt="py:percent"), monotonic() + seconds
    NotebookClient(
        notebook,
        kernel_name="python3",
        extra_arguments=_KERNEL_ARGUMENTS,
        timeout_func=lambda _: max(1, end - monotonic()),  # for the next cell
    ).execute()
    return notebook


def page(notebook: NotebookNode, name: str) -> tuple[str, dict[str, bytes]]:
    """Return a notebook with outputs as Markdown, and its pictures by their files' names."""
    resources: dict[str, Any] = {"unique_key": name, "output_files_dir": ""}
    text, resources = MarkdownExporter().from_notebook_node(notebook, resources)
    # A frame scrolls in its box, and the site has its style; pictures say what they are to who does not see them.
    text = re.sub(r"<div><style>.*?</style>", '<div class="frame">', text, flags=re.DOTALL)
    return text.replace("![svg](", "![What the code above draws]("), resources["outputs"]
