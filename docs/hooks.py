"""What mkdocs does beyond its plugins: pictures are drawn, notebooks are run, and examples shown as a session."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))  # the modules beside this one

import pictures
import run_notebook

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pictures and the notebooks' pages."""
    for name, svg in pictures.pictures().items():
        files.append(File.generated(config, f"pictures/{name}", content=svg))
    for path in sorted(Path(config.docs_dir, "notebooks").glob("*.py")):
        text, outputs = run_notebook.page(run_notebook.run(path), path.stem)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
        for name, content in outputs.items():
            files.append(File.generated(config, f"notebooks/{name}", content=content))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Colour examples as a Python session: prompts and outputs are no Python."""
    return markdown.replace("```python\n>>> ", "```pycon\n>>> ")
