"""``polars-retrieval convert``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import polars_retrieval as pr
from polars_retrieval.cli.files import STDIN, source
from polars_retrieval.errors import ParameterError
from polars_retrieval.io.sources import Format

if TYPE_CHECKING:
    import argparse

    from polars_retrieval.cli.arguments import Parser

STDOUT = "-"


def add_convert(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the subcommand's arguments."""
    about = "write a run or judgments in another format"
    parser = commands.add_parser(
        "convert",
        help=about,
        description="Write a run, or judgments, in another format; the suffixes of the two files say which.",
    )
    parser.add_argument("source", metavar="IN", help="the file to read; - reads standard input")
    parser.add_argument("target", metavar="OUT", help="the file to write; - writes standard output")
    parser.add_argument("--qrels", action="store_true", help="the file holds judgments, not a run")
    for option, what in (("--from", "IN"), ("--to", "OUT")):
        parser.add_argument(
            option,
            dest=f"{option[2:]}_format",
            choices=get_args(Format),
            help=f"the format of {what}, if its name does not tell",
        )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Read the one file and write the other."""
    if arguments.source != STDIN and Path(arguments.source) == Path(arguments.target):
        msg = f"IN and OUT have to be two files, but both are {arguments.target}"
        raise ParameterError(msg)
    read, write = (pr.read_qrels, pr.write_qrels) if arguments.qrels else (pr.read_run, pr.write_run)
    frame = read(source(arguments.source), format=arguments.from_format)
    target = sys.stdout.buffer if arguments.target == STDOUT else arguments.target
    write(frame, target, format=arguments.to_format)
