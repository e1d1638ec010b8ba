"""What is printed and written: tables, files, notes on standard error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import polars as pl

from polars_retrieval import plot
from polars_retrieval.errors import ParameterError

if TYPE_CHECKING:
    from pathlib import Path

SUFFIXES = {".csv": "csv", ".json": "json", ".parquet": "parquet"}


def form_of(form: str | None, output: Path | None) -> str:
    """Return the form that was asked for, by name or by the suffix of a file."""
    form = form or (SUFFIXES.get(output.suffix.lower(), "table") if output else "table")
    if form == "parquet" and output is None:
        msg = "`--format parquet` writes a file: name it by `--output`"
        raise ParameterError(msg)
    return form


def write(frame: pl.DataFrame, form: str, output: Path | None) -> None:
    """Print a frame, or write it to a file."""
    if form == "parquet":
        frame.write_parquet(output)  # type: ignore[arg-type]
    elif form == "csv":
        write_text(frame.write_csv(), output)
    elif form == "json":
        write_text(frame.write_json() + "\n", output)
    else:
        write_text(table(frame) + "\n", output)


def write_text(text: str, output: Path | None) -> None:
    """Print a text, or write it to a file."""
    if output is None:
        sys.stdout.write(text)
    else:
        output.write_text(text, encoding="utf-8", newline="\n")


def say(*paragraphs: str) -> None:
    """Print paragraphs."""
    sys.stdout.write("\n\n".join(paragraphs) + "\n")


def note(message: str) -> None:
    """Say on standard error what the reader of the result should know."""
    sys.stderr.write(f"{clear_line()}polars-retrieval: {message}\n")


def clear_line() -> str:
    """Return what takes away, on a terminal, the line that says what is being done."""
    return "\r\x1b[K" if sys.stderr.isatty() else ""


def table(frame: pl.DataFrame) -> str:
    """Return a frame as a Markdown table: all of it, numbers to four decimals, in ASCII, as pipes may be."""
    with pl.Config(
        tbl_formatting="ASCII_MARKDOWN",
        tbl_hide_column_data_types=True,
        tbl_hide_dataframe_shape=True,
        tbl_cell_numeric_alignment="RIGHT",
        float_precision=4,
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=-1,
        fmt_str_lengths=1000,
    ):
        return str(frame)


def round_ks(curve: pl.DataFrame) -> pl.DataFrame:
    """Keep 1, 2, 5, 10, 20, … and the last k."""
    ks = curve["k"].unique().to_list()
    return curve.filter(pl.col("k").is_in([k for k in ks if plot.is_round(k) or k == max(ks)]))


def side_by_side(curve: pl.DataFrame, by: str) -> pl.DataFrame:
    """Put the curves of several systems beside each other."""
    return curve.pivot(by, index="k", values=["precision", "recall"])


def save_picture(curve: pl.DataFrame, by: str, output: Path, argument: str) -> bool:
    """Draw curves into a file, or say what that needs; tell whether there is a picture."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        note(f"no picture: {plot.INSTALL}")
        return False
    figure = Figure(layout="constrained")
    form, forms = output.suffix[1:].lower() or "png", figure.canvas.get_supported_filetypes()
    if form not in forms:
        msg = f"`{argument}` has to end in one of {', '.join(f'.{known}' for known in forms)}; got {output}"
        raise ParameterError(msg)
    plot.pr_curve(curve, by=by, ax=figure.subplots())
    figure.savefig(output, format=form, dpi=150)
    return True
