"""The C core under AddressSanitizer and UBSan: how it is built, and what a Python needs that loads it."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import weakref
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from switch_nodes.netreduce.rows import between
from workloads.native.build import LIBRARIES, load_library

__all__ = ["EXIT_CODE", "NotSanitized", "check_sanitized", "guard_rows", "poison", "sanitized_environment", "unpoison"]

EXIT_CODE = 99
"""of a process in which a sanitizer found something"""
_TOP = Path(__file__).resolve().parents[2]
_FLAGS = "-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all"
_REDZONE = 64
"""bytes; a multiple of 8, so that none of them stays free"""
_RUNTIMES = ("libasan.so", "libubsan.so")


class NotSanitized(Exception):
    """This machine, or this process, does not run the sanitized C core: a stage that went on would check nothing."""


def sanitized_environment() -> dict[str, str]:
    """Of processes that load the sanitized C core. Raises NotSanitized where gcc or its sanitizers are missing."""
    if not shutil.which("gcc"):
        raise NotSanitized("no gcc in PATH; apt-get install gcc libc6-dev zlib1g-dev")
    runtimes = []
    for name in _RUNTIMES:
        said = subprocess.run(
            ["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        if not os.path.isabs(said):
            raise NotSanitized(f"gcc has no {name}")
        runtimes.append(said)
    kept = {name: value for name, value in os.environ.items() if name not in ("INA_NATIVE", "PYTEST_ADDOPTS")}
    return kept | {
        "CC": "gcc",
        "INA_NATIVE_FLAGS": _FLAGS,
        "LD_PRELOAD": " ".join(runtimes),
        # CPython keeps some memory until it ends: leaks say nothing here. Its own allocator would hide small overruns.
        "ASAN_OPTIONS": f"detect_leaks=0:halt_on_error=1:exitcode={EXIT_CODE}",
        "UBSAN_OPTIONS": f"halt_on_error=1:print_stacktrace=1:exitcode={EXIT_CODE}",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": str(_TOP),
    }


def check_sanitized() -> None:
    """In a process of that environment: every library of the C core is there, and watched. Raises NotSanitized
    otherwise."""
    for name in LIBRARIES:
        library = load_library(name)
        if library is None:
            raise NotSanitized(f"the library {name} does not run")
        symbols = Path(library._name).read_bytes()
        for symbol in (b"__asan_report_load", b"__ubsan_handle_"):
            if symbol not in symbols:
                raise NotSanitized(f"{library._name} was built without sanitizers: it has no {symbol.decode()}")
    octets = (ctypes.c_uint8 * 64)()
    poison(ctypes.addressof(octets), 64)
    if not _runtime().__asan_address_is_poisoned(ctypes.addressof(octets)):
        raise NotSanitized("AddressSanitizer does not watch this process")
    unpoison(ctypes.addressof(octets), 64)


def guard_rows() -> None:
    """In such a process: an access behind a row of a switch's slots is told on, though the next slot lies in the same
    allocation."""

    def guard(rows: NDArray[np.uint8], size: int) -> None:
        stride, address = rows.shape[-1], rows.ctypes.data
        for at in range(address, address + rows.nbytes, stride):
            poison(at + size, stride - size)
        weakref.finalize(rows, unpoison, address, rows.nbytes)

    between(_REDZONE, guard)


def poison(address: int, size: int) -> None:
    """Whoever touches these bytes is told on; up to 7 bytes at either end may stay free."""
    _runtime().__asan_poison_memory_region(address, size)


def unpoison(address: int, size: int) -> None:
    _runtime().__asan_unpoison_memory_region(address, size)


@cache
def _runtime() -> ctypes.CDLL:
    library = ctypes.CDLL(None)
    try:
        library.__asan_address_is_poisoned.argtypes = [ctypes.c_void_p]
        for function in (library.__asan_poison_memory_region, library.__asan_unpoison_memory_region):
            function.argtypes, function.restype = [ctypes.c_void_p, ctypes.c_size_t], None
    except AttributeError:
        raise NotSanitized("this process was started without AddressSanitizer") from None
    return library
