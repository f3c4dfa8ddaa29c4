"""Structs that cross the border: C and Python must mean the same bytes by every field. Checked whenever a library is
loaded."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

from workloads.errors import InternalError

__all__ = ["check_layout", "check_structure"]


class _Field(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("at", ctypes.c_uint64))
    name: bytes | None
    at: int


def check_structure(library: ctypes.CDLL, name: str, mirror: type[ctypes.Structure]) -> None:
    """`mirror` is the library's `struct name`, or its first part. Raises InternalError when a field lies elsewhere."""
    fields = {field[0]: int(getattr(mirror, field[0]).offset) for field in mirror._fields_}
    check_layout(library, name, fields, ctypes.sizeof(mirror))


def check_layout(library: ctypes.CDLL, name: str, fields: Mapping[str, int], size: int) -> None:
    """Fields (name -> bytes from the start) and size of `struct name`, against the library's table `name_layout`
    (layout.h). Raises InternalError, also when the library has no such table."""
    expected = {**fields, "": size}
    found = _layout_of(library, name)
    for field in (*expected, *found):
        here, there = expected.get(field), found.get(field)
        if here != there:
            what = f"field {field}" if field else "size in bytes"
            raise InternalError(
                f"struct {name} and its mirror in Python differ: {what}: {there} in C, {here} in Python"
            )


def _layout_of(library: ctypes.CDLL, name: str) -> dict[str, int]:
    """Field -> where it lies; "" -> the size."""
    try:
        entry = ctypes.addressof(_Field.in_dll(library, f"{name}_layout"))
    except ValueError:
        raise InternalError(f"the library {library._name} has no table {name}_layout") from None
    found = {}
    while True:
        field = _Field.from_address(entry)
        found[(field.name or b"").decode()] = field.at
        if field.name is None:
            return found
        entry += ctypes.sizeof(_Field)
