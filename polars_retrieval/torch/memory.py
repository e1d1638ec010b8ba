"""Numbers between torch and Polars, in the same memory."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import torch

from polars_retrieval.errors import DataError, ParameterError
from polars_retrieval.torch.arguments import check_type

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


def from_torch(tensor: torch.Tensor) -> pl.Series:
    """Return the values of a one-dimensional tensor as a Series in the same memory.

    Parameters
    ----------
    tensor
        Numbers or booleans, one dimension. What changes in the tensor later changes in the Series.

    Returns
    -------
    polars.Series
        Of the type that the tensor has, with two exceptions: booleans become UInt8, because Polars packs
        them eight to a byte; bfloat16, which Polars lacks, becomes Float32.

    Raises
    ------
    ParameterError
        If it is no tensor, has another number of dimensions, or is complex.

    Notes
    -----
    A copy is made where sharing is impossible: bfloat16, a tensor with gaps (`tensor[::2]`), a tensor on an
    accelerator.

    Examples
    --------
    >>> import torch
    >>> from polars_retrieval.torch import from_torch
    >>> tensor = torch.tensor([0.5, 0.25])
    >>> series = from_torch(tensor)
    >>> series.to_list()
    [0.5, 0.25]
    >>> series.to_arrow().buffers()[1].address == tensor.data_ptr()
    True
    """
    check_type("tensor", tensor, torch.Tensor)
    if tensor.ndim != 1:
        shape = tuple(tensor.shape)
        msg = f"`tensor` must have one dimension, got shape {shape}\n\nHint: use `tensor.flatten()`."
        raise ParameterError(msg)
    if tensor.is_complex():
        msg = f"`tensor` must hold integers, floats or booleans, got {tensor.dtype}"
        raise ParameterError(msg)
    return pl.Series(as_array(tensor))


def as_array(tensor: torch.Tensor) -> NDArray[Any]:
    """Return the values of a tensor as an array in the same memory, of a type that Polars has."""
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.float()
    elif tensor.dtype == torch.bool:
        tensor = tensor.view(torch.uint8)
    return tensor.numpy(force=True)


def widest(dtypes: Iterable[torch.dtype]) -> torch.dtype:
    """Return the type that holds the values of all types."""
    return reduce(torch.promote_types, dtypes)


def to_torch(series: pl.Series) -> torch.Tensor:
    """Return the values of a numeric Series as a tensor in the same memory.

    Parameters
    ----------
    series
        Integers of at most 64 bits, floats or booleans, without nulls. Polars takes its memory to be
        constant, so write only into a `clone()` of the tensor.

    Returns
    -------
    torch.Tensor
        On the CPU, of the type that the Series has.

    Raises
    ------
    ParameterError
        If it is no Series, or of a type that torch lacks.
    DataError
        If the Series has nulls.

    Notes
    -----
    A copy is made where sharing is impossible: booleans, and a Series of several chunks, which are joined.
    `Series.to_torch()` of Polars always copies.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_retrieval.torch import to_torch
    >>> series = pl.Series([3, 1, 2])
    >>> tensor = to_torch(series)
    >>> tensor
    tensor([3, 1, 2])
    >>> tensor.data_ptr() == series.to_arrow().buffers()[1].address
    True
    """
    check_type("series", series, pl.Series)
    dtype = series.dtype
    if not (dtype in _TENSOR_TYPES or dtype == pl.Boolean):
        msg = f"`series` must hold integers of at most 64 bits, floats or booleans, got {dtype}"
        raise ParameterError(msg)
    if series.null_count():
        msg = f"`series` must have no nulls, got {series.null_count()} in {len(series)} values"
        raise DataError(msg)
    if dtype == pl.Boolean:
        return to_torch(series.cast(pl.UInt8)).view(torch.bool)
    return torch.from_numpy(np.asarray(_Writable(series.rechunk().to_numpy(allow_copy=False))))


class _Writable:
    """The memory of an array that is read-only, without the mark that it is: torch warns of it.

    The way by DLPack has no such warning, but ends with a crash. When torch frees a tensor it lets go of Python's lock;
    DLPack then frees what Polars keeps, without taking the lock again, and that may be a NumPy array.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        address, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (address, False)}
        self.array = array  # keeps the memory


_TENSOR_TYPES = frozenset(
    {pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64}
    | {pl.Float16, pl.Float32, pl.Float64}
)
