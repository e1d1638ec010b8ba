"""Run torchmetrics' own tests against ours: each test file whose classes all have a replacement here.

    python tests/torchmetrics_suite.py CHECKOUT [arguments of pytest]

CHECKOUT is a clone of https://github.com/Lightning-AI/torchmetrics. `USE_PYTEST_POOL=1` in the environment
makes its DDP tests use two processes. The tests run in a process of their own, in which this file, loaded as
a pytest plugin, puts our classes and functions in the place of torchmetrics' before a test imports them. The tests
of what differs are expected to fail.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# The suite caches its reference values on disk with a package that may be missing here: compute them afresh.
NO_CACHE = "def cachier(**options):\n    return lambda function: function\n"

# These say that a document whose score is 0 was not retrieved, which is the first of our differences.
SCORES_OF_ZERO = {f"test_{name}_all_zero_predictions_returns_zero" for name in ("map", "mrr", "precision", "recall")}


def replacements():
    """Our classes and functions, by the name that they share with torchmetrics'."""
    import polars_retrieval.torch as ours

    names = {name: getattr(ours, name) for name in ours.__all__ if name.startswith("Retrieval")}
    return names | {name: getattr(ours.functional, name) for name in ours.functional.__all__}


def files(checkout):
    """The test files that use no class that we lack."""
    known = replacements()
    folder = Path(checkout) / "tests/unittests/retrieval"
    used = {path: re.findall(r"import (Retrieval\w+)", path.read_text()) for path in folder.glob("test_*.py")}
    return sorted(path for path, classes in used.items() if classes and known.keys() >= set(classes))


def run(checkout, paths, *arguments, **options):
    """Run test files of a clone in a process of their own."""
    tests = Path(checkout).resolve() / "tests"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "cachier.py").write_text(NO_CACHE)
        modules = [str(ROOT / "tests"), str(ROOT), os.environ.get("PYTHONPATH", ""), folder]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(modules), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "pytest", "-p", "torchmetrics_suite", "-p", "no:cacheprovider", "-q"]
        # Its settings ask for plugins that only its own documentation needs.
        command += ["-c", os.devnull, "--rootdir", str(tests), "--disable-warnings", *arguments]
        command += map(str, paths)
        return subprocess.run(command, cwd=tests, env=environment, check=False, **options)  # noqa: S603


def pytest_configure(config):
    import torchmetrics.functional
    import torchmetrics.retrieval  # noqa: F401

    config.addinivalue_line("markers", "DDP: needs two processes")
    for name, replacement in replacements().items():
        for module in [module for key, module in sys.modules.items() if key.startswith("torchmetrics")]:
            if hasattr(module, name):
                setattr(module, name, replacement)


def difference(item):
    """Which of our differences makes a test of theirs fail, if any."""
    if item.name in SCORES_OF_ZERO:
        return "scores of 0 and below"
    return None


def pytest_collection_modifyitems(items):
    for item in items:
        if reason := difference(item):
            item.add_marker(pytest.mark.xfail(reason=f"docs/differences.md: {reason}", strict=True))


def pytest_collection_finish(session):
    for module in {item.module for item in session.items}:
        for name, replacement in replacements().items():
            if getattr(module, name, replacement) is not replacement:
                msg = f"{module.__name__} tests torchmetrics' own {name}"
                raise pytest.UsageError(msg)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], files(sys.argv[1]), *sys.argv[2:]).returncode)
