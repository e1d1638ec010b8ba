"""TREC's text format, read as trec_eval reads it.

Blanks in any number separate fields; blank lines and lines that begin with `#` hold nothing. Files are read in blocks
of whole lines, so that a file larger than memory can be turned into a frame that is not. A block whose fields are
separated by single blanks already goes to Polars' CSV parser as it is; else its blanks are made so first. A block
that the parser refuses is split by a regular expression, which finds the line that is wrong.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.exceptions import PolarsError

from polars_retrieval.grouping import run_starts
from polars_retrieval.io.tables import QUERY, RUN_ID, Table
from polars_retrieval.io.text import as_utf8, check_is_text, without_bom
from polars_retrieval.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polars_retrieval.io.sources import Source

BLOCK = 8 << 20
_PIECE = 1 << 19
_SIDE_BY_SIDE = 2  # blocks, so that little of the file is in memory at a time
_BLANK, _NEWLINE = 32, 10
_BLANKS = b"\t\v\f\r"  # what C's isspace takes, beside blank and newline
_TO_BLANKS = bytes.maketrans(_BLANKS, b" " * len(_BLANKS))
_COMMENT = re.compile(rb"^#.*\n", re.MULTILINE)


def read(source: Source, table: Table, *, compact: bool = False) -> pl.DataFrame:
    """Read a file; if ``compact``, the query ids as categoricals, which take a quarter of the memory."""

    def read_numbered(block: tuple[int, bytes]) -> pl.DataFrame:
        frame = read_block(block[1], source, table, block[0]).rechunk()
        return frame.with_columns(_as_categorical(frame[QUERY])) if compact else frame

    frames: list[pl.DataFrame] = []
    with source.open() as stream:
        blocks = _numbered(_blocks(stream, BLOCK))
        while some := [*islice(blocks, _SIDE_BY_SIDE)]:
            frames += in_threads(read_numbered, some)
    frames = [frame for frame in frames if frame.height]
    if not frames:
        raise source.empty()
    return _concat(frames)


def _as_categorical(ids: pl.Series) -> pl.Series:
    """Make ids categoricals, each run of equal ids at a time."""
    import numpy as np

    starts = run_starts([ids])
    lengths = np.diff(starts.to_numpy().astype(np.int64), append=len(ids))
    return ids.gather(starts).cast(pl.Categorical).gather(np.repeat(np.arange(len(starts)), lengths))


def _numbered(blocks: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
    """Give blocks the numbers that their first lines have in the file."""
    line_number = 1
    for block in blocks:
        yield line_number, block if line_number > 1 else without_bom(block)
        line_number += _count(block, _NEWLINE)


def _blocks(stream: Any, size: int) -> Iterator[bytes]:
    """Cut a stream into blocks that end with a line."""
    begun: list[bytes] = []
    while chunk := stream.read(size):
        end = chunk.rfind(b"\n") + 1
        if end:
            yield b"".join([*begun, chunk[:end]])
            begun.clear()
        begun.append(chunk[end:])
    if rest := b"".join(begun):
        yield rest + b"\n"


def _concat(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """Put blocks together. A tag that all rows share, as in most runs, takes no memory as a literal."""
    if RUN_ID not in frames[0].columns:
        return pl.concat(frames)
    tag = frames[0].item(0, RUN_ID)
    if not all((frame[RUN_ID] == tag).all() for frame in frames):
        return pl.concat(frames)
    return pl.concat(frame.drop(RUN_ID) for frame in frames).with_columns(pl.lit(tag).alias(RUN_ID))


def read_block(block: bytes, source: Source, table: Table, line_number: int) -> pl.DataFrame:
    """Read whole lines, the first of which has the number ``line_number`` in its file."""
    check_is_text(block, source, line_number)
    block = as_utf8(block)
    frame = parse(block if is_tidy(block) else tidy(block), table)
    return frame if frame is not None else split(block, source, table, line_number)


def is_tidy(block: bytes) -> bool:
    """Whether one blank stands between any two fields, and nothing but fields in any line."""
    if any(blank in block for blank in _BLANKS):
        return False
    if b"#" in block and (block.startswith(b"#") or b"\n#" in block):
        return False
    return block[0] > _BLANK and not _has_two_blanks(block)


def _has_two_blanks(block: bytes) -> bool:
    """Whether two blanks or line ends follow one another; looked at in pieces that stay in the processor's cache."""
    import numpy as np

    codes = np.frombuffer(block, np.uint8)
    for start in range(0, len(codes), _PIECE):
        gap = codes[start : start + _PIECE + 1] <= _BLANK
        if (gap[1:] & gap[:-1]).any():
            return True
    return False


def _count(block: bytes, code: int) -> int:
    """Count a character, several times faster than `bytes.count` where there are many."""
    import numpy as np

    codes = np.frombuffer(block, np.uint8)
    pieces = range(0, len(codes), _PIECE)
    return sum(int(np.count_nonzero(codes[start : start + _PIECE] == code)) for start in pieces)


def tidy(block: bytes) -> bytes:
    """Leave one blank between any two fields, and nothing but fields in any line."""
    import numpy as np

    codes = np.frombuffer(b"\n" + block.translate(_TO_BLANKS), np.uint8)  # so that the first line follows another
    blank = codes == _BLANK
    blank[1:] &= blank[:-1] | (codes[:-1] == _NEWLINE)  # those after another, or at the start of a line
    codes = codes[~blank]
    blank, newline = codes == _BLANK, codes == _NEWLINE
    superfluous = newline.copy()
    superfluous[1:] &= newline[:-1]
    superfluous[:-1] |= blank[:-1] & newline[1:]
    text = codes[~superfluous].tobytes()
    return _COMMENT.sub(b"", text) if b"#" in text else text


def parse(tidy_block: bytes, table: Table) -> pl.DataFrame | None:
    """Parse tidy lines with Polars' CSV parser; None if any of them is wrong."""
    if not tidy_block:
        return pl.DataFrame(schema=table.schema())
    schema = {name: table.dtype if name == table.value else pl.String for name in table.fields}
    lines = pl.scan_csv(
        tidy_block,
        has_header=False,
        separator=" ",
        quote_char=None,
        schema=schema,
        missing_columns="insert",
        extra_columns="ignore" if table.more_fields else "raise",
    )
    try:  # Polars counts the fields of a line only where it reads all of them
        frame = (lines.select(table.columns) if table.more_fields else lines).collect()
    except PolarsError:
        return None
    return None if _has_gaps(frame, table) else frame.select(table.columns)


def _has_gaps(frame: pl.DataFrame, table: Table) -> bool:
    last = table.fields[-1]  # a line that is too short has none
    values = frame[table.value]
    return frame[last].has_nulls() or values.has_nulls() or (table.dtype == pl.Float64 and values.is_nan().any())


def split(block: bytes, source: Source, table: Table, line_number: int) -> pl.DataFrame:
    """Split lines into fields one by one, and raise at the first line that is wrong."""
    lines = (
        pl.DataFrame({"line": block.decode().split("\n")})
        .with_row_index("number", line_number)
        .with_columns(pl.col("line").str.replace_all(r"[ \t\v\f\r]+", " ").str.strip_chars(" ").alias("tidy"))
        .filter(pl.col("tidy").str.starts_with("#").not_() & (pl.col("tidy") != ""))
        .with_columns(pl.col("tidy").str.split(" ").alias("fields"))
    )
    wrong_number = pl.col("fields").list.len() < len(table.fields)
    if not table.more_fields:
        wrong_number |= pl.col("fields").list.len() > len(table.fields)
    fields = lines.select(
        pl.col("fields").list.get(place, null_on_oob=True).alias(name) for place, name in enumerate(table.fields)
    )
    problem = table.first_problem(fields)
    short = lines.select(wrong_number.arg_true().first()).item()
    if short is not None and (problem is None or short <= problem[0]):
        problem = short, f"{len(table.fields)} fields ({', '.join(table.fields)}), got {len(lines['fields'][short])}"
    if problem:
        row, expected = problem
        raise source.line_error(lines["number"][row], expected, lines["line"][row])
    return table.to_numbers(fields.select(table.columns))
