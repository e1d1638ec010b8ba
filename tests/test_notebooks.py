"""The notebooks run from top to bottom in a minute each, and show tables and pictures."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

pytest.importorskip("jupytext")
pytest.importorskip("nbclient")
pytest.importorskip("nbconvert")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")

DOCS = Path(__file__).parent.parent / "docs"
NOTEBOOKS = sorted(DOCS.glob("notebooks/*.py"))


@pytest.fixture(scope="module")
def run_notebook():
    """The module that runs notebooks: the same as that of the site, so that each runs once."""
    sys.path.insert(0, str(DOCS))
    return importlib.import_module("run_notebook")


def results(notebook, mime):
    """Give what the cells show in one form."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return [output.data[mime] for output in outputs if mime in output.get("data", {})]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_and_shows_tables_and_pictures(run_notebook, path):
    notebook = run_notebook.run(path)
    errors = [output for cell in notebook.cells for output in cell.get("outputs", ()) if output.output_type == "stream"]
    assert errors == []  # neither prints nor warnings
    assert len(results(notebook, "text/html")) >= 2
    assert len(results(notebook, "image/svg+xml")) >= 1
    text, pictures = run_notebook.page(notebook, path.stem)
    assert text.startswith("# ")
    assert all(f"({name})" in text for name in pictures)
    assert len(pictures) == len(results(notebook, "image/svg+xml"))


def notebook_of(tmp_path, code):
    path = tmp_path / "notebook.py"
    path.write_text(f"# %%\n{code}\n")
    return path


def test_an_error_in_a_cell_is_raised(run_notebook, tmp_path):
    with pytest.raises(Exception, match="ZeroDivisionError"):
        run_notebook.run(notebook_of(tmp_path, "1 / 0"))


def test_time_is_limited(run_notebook, tmp_path):
    with pytest.raises(TimeoutError):
        run_notebook.run(notebook_of(tmp_path, "import time\ntime.sleep(60)"), seconds=4)


def test_there_are_notebooks_and_they_hold_no_outputs():
    assert len(NOTEBOOKS) >= 3
    assert not list(DOCS.rglob("*.ipynb"))
    assert all(path.read_text(encoding="utf-8").startswith("# %% [markdown]\n# # ") for path in NOTEBOOKS)
