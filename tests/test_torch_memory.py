"""from_torch and to_torch share memory wherever that is possible, and say so where it is not."""

import gc
import importlib
import re
import subprocess
import sys

import polars as pl
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchmetrics")

from polars_retrieval.errors import DataError, ParameterError, RetrievalError  # noqa: E402
from polars_retrieval.torch import from_torch, to_torch  # noqa: E402

SHARED = {
    torch.int8: pl.Int8,
    torch.int16: pl.Int16,
    torch.int32: pl.Int32,
    torch.int64: pl.Int64,
    torch.uint8: pl.UInt8,
    torch.uint16: pl.UInt16,
    torch.uint32: pl.UInt32,
    torch.uint64: pl.UInt64,
    torch.float16: pl.Float16,
    torch.float32: pl.Float32,
    torch.float64: pl.Float64,
}


def address(series):
    """Where the values of a Series of one chunk begin."""
    values = series.to_arrow()
    return values.buffers()[1].address + values.offset * values.type.bit_width // 8


@pytest.mark.parametrize(("tensor_type", "series_type"), SHARED.items(), ids=str)
def test_every_numeric_type_crosses_both_ways_at_the_same_address(tensor_type, series_type):
    tensor = torch.arange(5).to(tensor_type)
    series = from_torch(tensor)
    back = to_torch(series)
    assert (series.dtype, back.dtype) == (series_type, tensor_type)
    assert series.to_list() == [0, 1, 2, 3, 4] == back.tolist()
    assert address(series) == tensor.data_ptr() == back.data_ptr()


@pytest.mark.parametrize("series_type", SHARED.values(), ids=str)
def test_a_series_made_by_polars_crosses_at_the_same_address(series_type):
    series = pl.Series([3, 1, 2], dtype=series_type)
    assert to_torch(series).data_ptr() == address(series)


def test_booleans_cross_as_uint8_in_the_same_memory():
    tensor = torch.tensor([True, False, True])
    series = from_torch(tensor)
    assert series.dtype == pl.UInt8
    assert series.to_list() == [1, 0, 1]
    assert address(series) == tensor.data_ptr()


def test_a_boolean_series_becomes_a_bool_tensor():
    tensor = to_torch(pl.Series([True, False, True]))
    assert tensor.dtype == torch.bool
    assert tensor.tolist() == [True, False, True]


def test_bfloat16_is_widened_and_loses_nothing():
    tensor = torch.tensor([0.1, -3e38, 1e-40, float("inf")], dtype=torch.bfloat16)
    series = from_torch(tensor)
    assert series.dtype == pl.Float32
    assert torch.equal(to_torch(series).to(torch.bfloat16), tensor)


def test_slices_share_from_their_own_first_value():
    tensor = torch.arange(10)
    assert address(from_torch(tensor[3:])) == tensor[3:].data_ptr()
    series = pl.Series(range(10))
    part = to_torch(series.slice(3, 4))
    assert part.tolist() == [3, 4, 5, 6]
    assert part.data_ptr() == to_torch(series).data_ptr() + 3 * 8


def test_a_tensor_with_gaps_is_copied_right():
    assert from_torch(torch.arange(10)[::3]).to_list() == [0, 3, 6, 9]
    assert from_torch(torch.arange(6).view(2, 3)[:, 1]).to_list() == [1, 4]


def test_several_chunks_are_joined():
    series = pl.concat([pl.Series([1, 2]), pl.Series([3])], rechunk=False)
    assert series.n_chunks() == 2
    assert to_torch(series).tolist() == [1, 2, 3]


@pytest.mark.parametrize(("tensor_type", "series_type"), SHARED.items(), ids=str)
def test_nothing_crosses_as_nothing(tensor_type, series_type):
    assert from_torch(torch.empty(0, dtype=tensor_type)).dtype == series_type
    empty = to_torch(pl.Series([], dtype=series_type))
    assert (empty.dtype, tuple(empty.shape)) == (tensor_type, (0,))
    assert tuple(to_torch(pl.Series([1, 2]).slice(2)).shape) == (0,)


def test_each_side_keeps_the_memory_alive():
    series = from_torch(torch.full((100_000,), 7))
    tensor = to_torch(pl.Series([7]).new_from_index(0, 100_000).rechunk())
    gc.collect()
    others = [torch.zeros(100_000, dtype=torch.int64) for _ in range(10)]
    assert series.sum() == 7 * 100_000 == int(tensor.sum())
    assert not any(other.any() for other in others)


_FREED_WITHIN_POLARS = """
import polars as pl
import torch
from polars_retrieval.torch import from_torch, to_torch

kept = [to_torch(from_torch(torch.arange(50)))]
pl.DataFrame({"a": [1]}).map_rows(lambda row: kept.clear() or row)
print("alive")
"""


def test_memory_that_came_from_torch_can_be_freed_at_any_time():
    """Within a call of Polars, too, as Python's garbage collection may: it crashed the process once."""
    command = [sys.executable, "-c", _FREED_WITHIN_POLARS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (our own command)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


def test_gradients_are_left_behind():
    tensor = torch.ones(3, requires_grad=True)
    assert address(from_torch(tensor)) == tensor.data_ptr()
    assert not to_torch(from_torch(tensor)).requires_grad


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1, 2], "`tensor` must be a Tensor, got list"),
        (
            torch.zeros(2, 3),
            "`tensor` must have one dimension, got shape (2, 3)\n\nHint: use `tensor.flatten()`.",
        ),
        (torch.tensor(1.0), "`tensor` must have one dimension, got shape ()"),
        (torch.zeros(2, dtype=torch.complex64), "integers, floats or booleans, got torch.complex64"),
    ],
    ids=["list", "matrix", "scalar", "complex"],
)
def test_from_torch_says_what_it_does_not_take(given, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        from_torch(given)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([1, 2], ParameterError, "`series` must be a Series, got list"),
        (pl.Series([1, None, None]), DataError, "`series` must have no nulls, got 2 in 3 values"),
        (pl.Series([True, None]), DataError, "`series` must have no nulls, got 1 in 2 values"),
        (pl.Series(["a"]), ParameterError, "got String"),
        (
            pl.Series([1], dtype=pl.Int128),
            ParameterError,
            "integers of at most 64 bits, floats or booleans, got Int128",
        ),
        (pl.Series([None]), ParameterError, "got Null"),
        (pl.Series([0]).cast(pl.Date), ParameterError, "got Date"),
        (pl.Series([[1, 2]]), ParameterError, "got List(Int64)"),
    ],
    ids=["list", "nulls", "boolean nulls", "strings", "Int128", "Null", "dates", "lists"],
)
def test_to_torch_says_what_it_does_not_take(given, error, message):
    with pytest.raises(error, match=re.escape(message)) as caught:
        to_torch(given)
    assert isinstance(caught.value, RetrievalError)


def test_a_missing_package_is_named_with_what_to_install(monkeypatch):
    package = sys.modules["polars_retrieval.torch"]
    monkeypatch.setitem(sys.modules, "torchmetrics", None)  # as if it were not installed
    message = r"needs torchmetrics[^.]*pip install 'polars-retrieval\[torch\]'"
    with pytest.raises(ModuleNotFoundError, match=message):
        importlib.reload(package)
