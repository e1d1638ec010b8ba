"""The arrows between modules point one way, and importing the package loads little."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "polars_retrieval"

# Each module may import those before it.
LAYERS = [
    "errors",
    "names",
    "options",
    "measures",
    "threads",
    "grouping",
    "columns",
    "ranking",
    "judgments",
    "reductions",
    "ranked_frame",
    "formulas",
    "arrays",
    "intervals",
    "evaluation",
    "curve",
    "ranked_rows",
    "expressions",
    "inputs",
    "frames",
    "ranked_lists",
    "comparison",
    "namespaces",
    "io",
]
# These stand on their own: the core imports none of them, but the package's front imports `plot`.
LEAVES = ["plot", "tables", "report", "demo", "cli", "torch"]
OPTIONAL = {
    "torch",
    "torchmetrics",
    "matplotlib",
    "sklearn",
    "pandas",
    "duckdb",
    "numpy",
    "pyarrow",
    "scipy",
    "statsmodels",
}


def module_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_names(path: Path) -> list[str]:
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def own_imports(path: Path) -> set[str]:
    dotted = (name.split(".") for name in imported_names(path))
    return {parts[1] for parts in dotted if parts[0] == "polars_retrieval" and len(parts) > 1}


def core_files() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if module_of(path) in LAYERS]


def test_every_module_has_its_place():
    modules = {module_of(path) for path in PACKAGE.rglob("*.py")}
    assert modules == {*LAYERS, *LEAVES, "__init__", "__main__"}


@pytest.mark.parametrize("path", core_files(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path):
    module = module_of(path)
    allowed = {*LAYERS[: LAYERS.index(module)], module}
    assert own_imports(path) <= allowed


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_private_of_polars_is_used(path):
    assert not [name for name in imported_names(path) if name.startswith("polars._")]


def methods_called(path: Path) -> set[str]:
    calls = (node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    return {function.attr for function in calls if isinstance(function, ast.Attribute)}


@pytest.mark.parametrize(
    "path",
    [path for path in core_files() if module_of(path) not in {"ranking", "comparison"}],
    ids=lambda path: path.name,
)
def test_only_the_ranking_sorts(path):
    sorts = {"sort", "sort_by", "arg_sort", "argsort", "top_k"} & methods_called(path)
    assert sorts <= SORTS_OTHERS.get(path.name, set())


SORTS_OTHERS = {"columns.py": {"sort"}}
"""Modules that sort something else than documents: keys, to find equal ones."""


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    return set(done.stdout.split())


def test_importing_loads_polars_and_no_optional_package():
    loaded = loaded_by("import polars_retrieval")
    assert "polars" in loaded
    assert not OPTIONAL & loaded
