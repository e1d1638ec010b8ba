"""Runs and judgments from files and Python objects, and back."""

from polars_retrieval.io.reading import read_qrels, read_run, scan_qrels, scan_run
from polars_retrieval.io.writing import write_qrels, write_run

__all__ = ["read_qrels", "read_run", "scan_qrels", "scan_run", "write_qrels", "write_run"]
