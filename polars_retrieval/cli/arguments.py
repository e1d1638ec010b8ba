"""Arguments that several subcommands take."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NoReturn, get_args

from polars_retrieval.names import Ties

USAGE = 2
"""The exit status if what was asked for is not possible."""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in two lines, without the list of all options."""

    def error(self, message: str) -> NoReturn:
        """End with the message."""
        self.exit(USAGE, f"{self.prog}: error: {message}\nSee: {self.prog} --help\n")


def cutoff(text: str) -> int:
    """Read a cutoff for argparse."""
    if not text.isdecimal() or int(text) < 1:
        msg = f"has to be an integer of at least 1, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return int(text)


def number(text: str) -> float:
    """Read a number for argparse."""
    try:
        return float(text)
    except ValueError:
        msg = f"has to be a number, got {text!r}"
        raise argparse.ArgumentTypeError(msg) from None


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add the judgments and the runs."""
    parser.add_argument("qrels", metavar="QRELS", help="the judgments; - reads standard input")
    parser.add_argument("runs", metavar="RUN", nargs="+", help="a run; - reads standard input")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what decides which documents and queries count."""
    parser.add_argument(
        "-c",
        "--all-queries",
        action="store_true",
        help="count judged queries that a run lacks as 0 (default: leave them out, as trec_eval does)",
    )
    parser.add_argument(
        "-l",
        "--min-relevance",
        metavar="LEVEL",
        type=number,
        default=1,
        help="the grade from which a document is relevant (default: %(default)s)",
    )
    parser.add_argument(
        "-M", "--depth", metavar="DEPTH", type=cutoff, help="take only the first DEPTH documents of each query"
    )
    parser.add_argument(
        "-J",
        "--judged-only",
        action="store_true",
        help="remove documents without judgment, or with a negative one, from the lists",
    )
    parser.add_argument(
        "--ties",
        choices=get_args(Ties),
        default="doc_id",
        help="the order of documents of equal score (default: %(default)s, as trec_eval)",
    )


def add_output(parser: argparse.ArgumentParser, *forms: str) -> None:
    """Add where the result goes, and in which form."""
    parser.add_argument(
        "--format",
        dest="form",
        choices=forms,
        help="the form of the result (default: by the suffix of --output, or table)",
    )
    parser.add_argument("--output", metavar="FILE", type=Path, help="write the result to a file")
