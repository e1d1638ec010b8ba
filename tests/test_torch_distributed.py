"""Metrics in several processes give what one process with all the data gives."""

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchmetrics")

if not torch.distributed.is_available():
    pytest.skip("this torch has no torch.distributed", allow_module_level=True)

import distributed_worker  # noqa: E402


@pytest.fixture(scope="module", params=[2, 3], ids=["2 processes", "3 processes"])
def reports(request, tmp_path_factory):
    """What each process says of each check; the processes start once."""
    folder = tmp_path_factory.mktemp("distributed")
    with pytest.MonkeyPatch.context() as patch:
        for library in ("POLARS_MAX_THREADS", "OMP_NUM_THREADS"):  # the processes share the cores
            patch.setenv(library, "1")
        torch.multiprocessing.spawn(distributed_worker.run, (request.param, str(folder)), request.param)
    return [json.loads(Path(folder, f"{rank}.json").read_text()) for rank in range(request.param)]


@pytest.mark.parametrize("name", [function.__name__ for function in distributed_worker.CHECKS])
def test_processes_agree_with_one(reports, name):
    failures = [f"in process {rank}: {report[name]}" for rank, report in enumerate(reports) if report[name]]
    assert not failures, "\n".join(failures)
