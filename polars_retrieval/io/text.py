"""Bytes of a text file as UTF-8."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from polars_retrieval.errors import FileFormatError

if TYPE_CHECKING:
    from polars_retrieval.io.sources import Source

_BOM = codecs.BOM_UTF8
_PARQUET, _ARROW = b"PAR1", b"ARROW1"


def check_is_text(data: bytes, source: Source, line_number: int = 1) -> None:
    """Raise unless these lines, the first of which has that number, can be text."""
    for magic, form in ((_PARQUET, "parquet"), (_ARROW, "ipc")):
        if data.startswith(magic):
            msg = f'is no text: its first bytes are those of another format\n\nHint: format="{form}".'
            raise source.error(msg)
    if b"\0" in data:
        number = line_number + data.count(b"\n", 0, data.index(b"\0"))
        msg = f"{source.name}, line {number}: expected text, found a byte 0; the file is binary, or not in UTF-8"
        raise FileFormatError(msg, file=source.name, line_number=number)


def as_utf8(data: bytes) -> bytes:
    """Return text as UTF-8. A byte that is not UTF-8 is read as Latin-1, as ids of old collections are written.

    This is decided byte by byte, so that the same id is read in the same way wherever it stands.
    """
    if data.isascii():
        return data
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "polars_retrieval.latin1").encode()
    return data


def without_bom(data: bytes) -> bytes:
    """Drop the mark that some editors put before UTF-8; it would become part of the first id."""
    return data.removeprefix(_BOM)


def _read_as_latin1(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("polars_retrieval.latin1", _read_as_latin1)
