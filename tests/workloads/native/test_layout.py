"""A struct that C and Python see differently is found when its library is loaded, whatever its size."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import pytest

from tests.support.native import require_native
from workloads.errors import InternalError
from workloads.native.build import load_library
from workloads.native.layout import check_structure

_SOURCE = """#include "layout.h"
struct pair { int32_t first; int32_t second; };
const struct ina_field pair_layout[] = {INA_FIELD(pair, first), INA_FIELD(pair, second), INA_END(sizeof(struct pair))};
"""


class Pair(ctypes.Structure):
    _fields_ = (("first", ctypes.c_int32), ("second", ctypes.c_int32))


class Swapped(ctypes.Structure):
    _fields_ = (("second", ctypes.c_int32), ("first", ctypes.c_int32))


class Wider(ctypes.Structure):
    _fields_ = (("first", ctypes.c_int32), ("second", ctypes.c_int64))


class Longer(ctypes.Structure):
    _fields_ = (("first", ctypes.c_int32), ("second", ctypes.c_int32), ("third", ctypes.c_int32))


@pytest.fixture
def library(tmp_path: Path) -> ctypes.CDLL:
    require_native("rc_fast")
    source = tmp_path / "pair.c"
    source.write_text(_SOURCE)
    library = load_library("pair", [source])
    assert library is not None
    return library


def test_a_true_mirror_passes(library: ctypes.CDLL) -> None:
    check_structure(library, "pair", Pair)


@pytest.mark.parametrize(
    ("mirror", "told"),
    [
        (Swapped, "field second: 4 in C, 0 in Python"),
        (Wider, "field second: 4 in C, 8 in Python"),
        (Longer, "field third: None in C, 8 in Python"),
    ],
)
def test_a_mirror_that_differs_is_an_internal_error(
    library: ctypes.CDLL, mirror: type[ctypes.Structure], told: str
) -> None:
    with pytest.raises(InternalError, match=f"^struct pair and its mirror in Python differ: {re.escape(told)}$"):
        check_structure(library, "pair", mirror)


def test_a_library_without_the_table(library: ctypes.CDLL) -> None:
    with pytest.raises(InternalError, match="has no table triple_layout"):
        check_structure(library, "triple", Pair)
