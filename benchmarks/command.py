"""The command line from files on disk, beside trec_eval and pytrec_eval: `python -m benchmarks.command`."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl

import polars_retrieval as pr

from .report import setting, table, target_row
from .targets import Target
from .workloads import SEED, WORKLOADS

MEASURES = ("P_10", "recall_100", "map", "ndcg_cut_10", "recip_rank", "Rprec", "success_10", "bpref")
OUTPUT = Path(__file__).with_name("results") / "command.md"
ROOT = Path(__file__).resolve().parents[1]
RUN_OURS = [sys.executable, "-m", "polars_retrieval"]
# A process starts with the peak of the one that it was forked from, so that has to be a small one.
MEASURING = """
import resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run(sys.argv[1:], check=True)
print("elapsed all", time.perf_counter() - start)
print("megabytes all", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""

TEXT = """\
## From files, on the command line

A run of {queries:,} queries x {documents:,} documents with string ids ({rows:,} lines, {megabytes:,.0f} MB of
text) and one or two judged documents for each query, of which the run lacks a fourth; from the files to the means of
{n_measures} measures ({measures}), ties by document id, as whole
processes with their start. All values are asserted equal to four decimals. The processes take turns; times are the
least, the median in brackets. Memory is the largest resident set less that of a Python process that has imported the
command line. pytrec_eval gets its dicts made from a frame, which is in its time; reading the frame is not.
"""


@dataclass
class Process:
    """A program that is measured, and what was found."""

    name: str
    command: list[str]
    seconds: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    values: dict[str, float] = field(default_factory=dict)

    def run(self) -> None:
        """Run it once."""
        measuring = [sys.executable, "-S", "-c", MEASURING, *self.command]
        done = subprocess.run(measuring, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment())  # noqa: S603 our own
        values = {
            name: float(value) for name, query, value in map(str.split, done.stdout.splitlines()) if query == "all"
        }
        self.seconds.append(values.get("seconds", values["elapsed"]))  # a process may say itself how long it took
        self.megabytes.append(values["megabytes"])
        self.values = {name: value for name, value in values.items() if name in MEASURES}


def environment() -> dict[str, str]:
    """Return that of this process, with compiled modules kept, as an installation has them."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return variables | {"PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / "polars_retrieval_compiled")}


def main() -> None:
    """Measure, print the section, and write it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.command", description=__doc__)
    parser.add_argument("--trec-eval", default=shutil.which("trec_eval"), help="its program, if it is not found")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the queries, for a quick look")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = measure(Path(folder), options.trec_eval, repeat=options.repeat, scale=options.scale)
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(text, encoding="utf-8")
    print(text)


def measure(folder: Path, trec_eval: str | None, *, repeat: int, scale: float) -> str:
    """Write the files, run everything in turns, and return the section."""
    rows = write_files(folder, scale)
    empty = Process("", [sys.executable, "-c", "import polars_retrieval.cli, numpy"])
    processes = list_processes(folder, trec_eval)
    for _ in range(repeat):
        for process in (empty, *processes):
            process.run()
    expected = processes[0].values
    assert len(expected) == len(MEASURES)
    for process in processes:
        for name in MEASURES:
            assert abs(process.values[name] - expected[name]) < 1.01e-4, (process.name, name)  # printed to 4 decimals
    return section(processes, empty, rows, (folder / "run.trec").stat().st_size / 1e6, repeat=repeat, scale=scale)


def write_files(folder: Path, scale: float) -> int:
    """Write a run as text and as Parquet, and judgments; return how many rows the run has."""
    workload = WORKLOADS["A"].scaled(scale)
    rng = np.random.default_rng(SEED)
    queries = np.repeat(np.arange(workload.queries), workload.documents)
    documents = np.arange(len(queries)) * 7919 % 8_841_823  # a prime step: no document twice in a query
    scores = np.sort(rng.uniform(0, 30, (workload.queries, workload.documents)))[:, ::-1].round(4)
    text = pl.DataFrame({"query_id": queries, "doc_id": documents}).cast(pl.String)
    run = text.with_columns(score=scores.reshape(-1), run_id=pl.lit("bm25"))
    judged = np.arange(0, len(queries), workload.documents) + rng.integers(0, workload.documents, workload.queries)
    lacking = pl.DataFrame({"query_id": np.arange(workload.queries), "doc_id": 10**7}).cast(pl.String)
    qrels = pl.concat([text[judged], lacking.gather_every(3)]).with_columns(relevance=pl.lit(1))
    pr.write_run(run, folder / "run.trec")
    pr.write_run(run, folder / "run.parquet")
    pr.write_qrels(qrels, folder / "qrels.trec")
    return len(queries)


def list_processes(folder: Path, trec_eval: str | None) -> list[Process]:
    """List what is here to be measured; ours from text comes first."""
    qrels, text, parquet = (str(folder / name) for name in ("qrels.trec", "run.trec", "run.parquet"))
    names = [option for name in MEASURES for option in ("-m", name)]
    processes = [
        Process("polars_retrieval, from text", [*RUN_OURS, "evaluate", "--trec", *names, qrels, text]),
        Process("polars_retrieval, from Parquet", [*RUN_OURS, "evaluate", "--trec", *names, qrels, parquet]),
    ]
    if trec_eval:
        asked = [option for name in _with_cutoffs() for option in ("-m", name)]
        processes.append(Process("trec_eval (C, -O3), from text", [trec_eval, *asked, qrels, text]))
    if find_spec("pytrec_eval"):
        code = f"from benchmarks.command import run_pytrec_eval; run_pytrec_eval({qrels!r}, {parquet!r})"
        processes.append(Process("pytrec_eval, from a frame", [sys.executable, "-c", code]))
    return processes


def _with_cutoffs() -> list[str]:
    """Write the measures as trec_eval's program takes them: P.10 for P_10."""
    parts = [name.rpartition("_") for name in MEASURES]
    return [f"{name}.{last}" if last.isdigit() else f"{name}_{last}".lstrip("_") for name, _, last in parts]


def run_pytrec_eval(qrels_path: str, run_path: str) -> None:
    """Print pytrec_eval's means, and the seconds from the frame to them."""
    import pytrec_eval

    run, qrels = pr.read_run(run_path), pr.read_qrels(qrels_path)
    start = time.perf_counter()
    dicts = [_dict(run, "score"), _dict(qrels, "relevance")]
    results = pytrec_eval.RelevanceEvaluator(dicts[1], set(MEASURES)).evaluate(dicts[0])
    means = {name: sum(values[name] for values in results.values()) / len(results) for name in MEASURES}
    seconds = time.perf_counter() - start
    print(*(f"{name} all {value}" for name, value in means.items()), f"seconds all {seconds}", sep="\n")


def _dict(frame: pl.DataFrame, value: str) -> dict[str, dict[str, Any]]:
    """Make the dict of dicts that pytrec_eval asks for."""
    by_query = frame.group_by("query_id", maintain_order=True).agg("doc_id", value)
    return {query: dict(zip(documents, values, strict=True)) for query, documents, values in by_query.iter_rows()}


def section(
    processes: list[Process], empty: Process, n_rows: int, megabytes: float, *, repeat: int, scale: float
) -> str:
    """Write the results."""
    ours, from_parquet = processes[0], processes[1]
    used = {process.name: max(process.megabytes) - max(empty.megabytes) for process in processes}
    rows = [
        (
            process.name,
            f"{1000 * min(process.seconds):,.0f} ({1000 * median(process.seconds):,.0f})",
            f"{min(process.seconds) / min(ours.seconds):.3g}",
            f"{used[process.name]:,.0f}",
        )
        for process in processes
    ]
    workload = WORKLOADS["A"].scaled(scale)
    parts = [
        TEXT.format(
            queries=workload.queries,
            documents=workload.documents,
            rows=n_rows,
            megabytes=megabytes,
            n_measures=len(MEASURES),
            measures=", ".join(MEASURES),
        ),
        table(("", "milliseconds", "times as long as ours from text", "MB"), rows),
        "Targets:\n",
        table(
            ("", "target", "measured", ""), map(target_row, _targets(ours, from_parquet, processes, used, megabytes))
        ),
        table(("", ""), setting(repeat, scale)),
    ]
    return "\n".join(parts)


def _targets(
    ours: Process, from_parquet: Process, processes: list[Process], used: dict[str, float], megabytes: float
) -> list[Target]:
    def times(name: str) -> float | None:
        found = [process for process in processes if process.name.startswith(name)]
        return min(found[0].seconds) / min(ours.seconds) if found else None

    parquet = min(ours.seconds) / min(from_parquet.seconds)
    return [
        Target("trec_eval's time over ours", "at least", 2, times("trec_eval")),
        Target("pytrec_eval's time over ours", "at least", 5, times("pytrec_eval")),
        Target("ours from text over ours from Parquet", "at least", 5, parquet),
        Target("memory over the text file's size", "at most", 1.5, used[ours.name] / megabytes),
    ]


if __name__ == "__main__":
    main()
