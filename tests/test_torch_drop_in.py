"""torchmetrics' own tests, run against our classes."""

import os
import re
import subprocess

import pytest

pytest.importorskip("torchmetrics")
import torchmetrics_suite

CHECKOUT = os.environ.get("TORCHMETRICS_CHECKOUT")
FILES = torchmetrics_suite.files(CHECKOUT) if CHECKOUT else [None]


@pytest.mark.skipif(not CHECKOUT, reason="TORCHMETRICS_CHECKOUT names no clone of torchmetrics")
@pytest.mark.parametrize("path", FILES, ids=lambda path: getattr(path, "name", ""))
def test_torchmetrics_own_tests_pass(path):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = torchmetrics_suite.run(CHECKOUT, [path], **pipes)
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 100
