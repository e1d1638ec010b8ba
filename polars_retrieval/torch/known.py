"""Tensors that were seen before, told from others without keeping them."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor


@dataclass(frozen=True)
class Known:
    """Tensors, by weak references, and the versions that torch counts changes in place by."""

    tensors: list[weakref.ref[Tensor]]
    versions: list[int]

    @classmethod
    def of(cls, tensors: Sequence[Tensor], forget: Callable[[weakref.ref[Any]], None] | None = None) -> Known:
        """Take tensors; ``forget`` is called with the reference of one that is gone."""
        return cls([weakref.ref(tensor, forget) for tensor in tensors], _versions(tensors))

    def is_of(self, tensors: Sequence[Tensor]) -> bool:
        """Tell whether tensors are the known ones, or views of the same memory, and as they were."""
        if len(tensors) != len(self.tensors) or _versions(tensors) != self.versions:
            return False
        return all(map(_is_same, [ref() for ref in self.tensors], tensors))

    def unchanged(self) -> list[Tensor] | None:
        """Return the tensors, or None if one is gone or was changed."""
        tensors = [tensor for ref in self.tensors if (tensor := ref()) is not None]
        return tensors if len(tensors) == len(self.tensors) and _versions(tensors) == self.versions else None

    def has(self, gone: weakref.ref[Any]) -> bool:
        """Tell whether a reference is that of one of the tensors."""
        return any(ref is gone for ref in self.tensors)


def _versions(tensors: Sequence[Tensor]) -> list[int]:
    """Return what torch counts up when values are changed in place, also through views.

    It does not count for tensors of inference mode; a change of these between two calls of `compute` goes unnoticed.
    """
    try:
        return [tensor._version for tensor in tensors]  # noqa: SLF001 (there is no other name for it)
    except RuntimeError:  # of inference mode
        return [0 if tensor.is_inference() else tensor._version for tensor in tensors]  # noqa: SLF001


def _is_same(known: Tensor | None, tensor: Tensor) -> bool:
    """Tell whether two tensors are one, or views of the same memory."""
    if known is None or known is tensor:
        return known is not None
    return known.dtype == tensor.dtype and known.is_set_to(tensor)
