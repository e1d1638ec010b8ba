"""The exceptions of polars_retrieval.

    ValueError
    └── RetrievalError          anything below
        ├── ColumnError         a column is missing, of the wrong type, or in the way
        ├── MetricError         no measure of that name
        ├── ParameterError      an option or a measure's parameter has a value that is not allowed
        ├── DataError           the data cannot be ranked: NaN, nulls, duplicates, unjudged documents
        ├── FileFormatError     a file does not hold what its format asks for
        └── EmptyTargetError    a query without a relevant document, where that was to be an error

    UserWarning
    └── RetrievalWarning        the result stands, but something was left out of it

Every message names the argument or column, what was given and what is allowed.
"""

from __future__ import annotations


class RetrievalError(ValueError):
    """Anything that polars_retrieval refuses."""


class ColumnError(RetrievalError):
    """A column is missing, has the wrong type, or stands where a result would go."""


class MetricError(RetrievalError):
    """No measure has that name."""


class ParameterError(RetrievalError):
    """An option, or a parameter of a measure, has a value that is not allowed."""


class DataError(RetrievalError):
    """The rows cannot be ranked: NaN, nulls in ids, a document twice in a query."""


class FileFormatError(RetrievalError):
    """A file does not hold what its format asks for.

    Attributes
    ----------
    file
        The name of the file, as given.
    line_number
        The line that is wrong, from 1; None if it is the file as a whole.
    line
        That line.
    """

    def __init__(
        self, message: str, *, file: str | None = None, line_number: int | None = None, line: str | None = None
    ) -> None:
        super().__init__(message)
        self.file = file
        self.line_number = line_number
        self.line = line


class EmptyTargetError(RetrievalError):
    """A query has no relevant document, and ``empty_target_action="error"`` was asked for."""


class RetrievalWarning(UserWarning):
    """The result stands, but something was left out of it."""
