"""Where bytes come from: paths, globs and file objects, plain or compressed, and the format that a name tells."""

from __future__ import annotations

import gzip
import io
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob, has_magic
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from polars_retrieval.errors import FileFormatError, ParameterError
from polars_retrieval.options import check_choice

if TYPE_CHECKING:
    from collections.abc import Iterator

Format = Literal["trec", "csv", "tsv", "json", "ndjson", "parquet", "ipc"]

_SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
}
_COMPRESSIONS = (".gz", ".zst")
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True)
class Source:
    """A path or a binary file object to read from, the name that messages give it, and its format."""

    given: Any
    name: str
    format: Format

    @property
    def path(self) -> Path | None:
        """The path, unless a file object was given."""
        return self.given if isinstance(self.given, Path) else None

    @contextmanager
    def open(self) -> Iterator[Any]:
        """Open for reading, decompressed if the first bytes are those of gzip or Zstandard."""
        stream = self.given.open("rb") if self.path else _with_peek(self.given)
        try:
            yield _decompressed(stream)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            msg = f"is compressed and cannot be decompressed: {error}"
            raise self.error(msg) from error
        finally:
            stream.close() if self.path else stream.detach()

    def read(self) -> bytes:
        """Return everything, decompressed; a file without anything raises."""
        with self.open() as stream:
            data: bytes = stream.read()
        if not data.strip():
            raise self.empty()
        return data

    def empty(self) -> FileFormatError:
        """Return the error of a file without rows."""
        return self.error("is empty: expected at least one line")

    def error(self, problem: str) -> FileFormatError:
        """Return an error about the whole file."""
        return FileFormatError(f"{self.name} {problem}", file=self.name)

    def line_error(self, line_number: int, expected: str, line: str) -> FileFormatError:
        """Return an error about one line."""
        msg = f"{self.name}, line {line_number}: expected {expected}; the line is {shorten(line)!r}"
        return FileFormatError(msg, file=self.name, line_number=line_number, line=line)


def shorten(line: str, length: int = 100) -> str:
    """Return the beginning of a line, so that a message stays readable."""
    return line if len(line) <= length else f"{line[:length]}…"


def _with_peek(given: Any) -> Any:
    """Wrap a caller's file object, since not every one can look ahead; it is unwrapped later, and stays open."""
    return io.BufferedReader(given if hasattr(given, "readinto") else io.BytesIO(given.read()))


def _decompressed(stream: Any) -> Any:
    head = stream.peek(4)[:4]
    if head.startswith(_GZIP):
        return gzip.GzipFile(fileobj=stream)
    if head == _ZSTD:
        import pyarrow as pa

        return _Zstandard(pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd"))
    return stream


class _Zstandard:
    """A Zstandard stream whose errors are those of gzip's."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def read(self, size: int | None = None) -> bytes:
        try:
            data: bytes = self._stream.read(size)
        except OSError as error:
            raise EOFError(str(error)) from error
        return data


def is_source(given: object) -> bool:
    """Whether ``given`` is a path, a file object, or a list of these."""
    if isinstance(given, (list, tuple)) and given:
        return all(is_source(one) for one in given) and not hasattr(given, "_fields")
    return isinstance(given, (str, PathLike)) or hasattr(given, "read")


def find_sources(given: Any, form: Format | None) -> list[Source]:
    """Return the files that a path, a glob, a file object or a list of these stands for."""
    if form is not None:
        check_choice("format", form, Format)
    if isinstance(given, (list, tuple)):
        return [source for one in given for source in find_sources(one, form)]
    if hasattr(given, "read"):
        return [_of_stream(given, form)]
    return [Source(path, str(path), form or format_of(path.name)) for path in _paths(fspath(given))]


def _paths(pattern: str) -> list[Path]:
    if Path(pattern).exists() or not has_magic(pattern):
        return [Path(pattern)]
    found = [Path(name) for name in glob(pattern, recursive=True)]  # noqa: PTH207 (an absolute pattern is fine here)
    if not found:
        msg = f"no file matches {pattern}"
        raise FileNotFoundError(msg)
    return sorted(found)


def _of_stream(stream: Any, form: Format | None) -> Source:
    if isinstance(stream, io.TextIOBase):
        msg = "a file has to be open in binary mode, as by open(path, 'rb'), sys.stdin.buffer or io.BytesIO; got text"
        raise ParameterError(msg)
    name = getattr(stream, "name", None)
    name = name if isinstance(name, str) else f"<{type(stream).__name__}>"
    return Source(stream, name, form or format_of(name))


def format_of(name: str) -> Format:
    """Return the format that a file's name tells; TREC's where it tells none."""
    path = Path(name)
    if path.suffix.lower() in _COMPRESSIONS:
        path = path.with_suffix("")
    return _SUFFIXES.get(path.suffix.lower(), "trec")


def compression_of(name: str) -> str | None:
    """Return the compression that a file's name tells, if any."""
    suffix = Path(name).suffix.lower()
    return suffix[1:] if suffix in _COMPRESSIONS else None
