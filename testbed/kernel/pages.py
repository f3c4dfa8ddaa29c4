"""Pages that a process shares with the one that it was forked from. The first write to one copies it, some
microseconds. A node that does not have copies yet spends a millisecond on that when the traffic starts."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["does_matter", "own_pages"]

_MADV_POPULATE_WRITE = 23
"""Linux 5.14, include/uapi/asm-generic/mman-common.h"""
_PRESENT, _EXCLUSIVE = 1 << 63, 1 << 56
"""Documentation/admin-guide/mm/pagemap.rst"""
_PAGEMAP = Path("/proc/self/pagemap")
_ENTRY_BYTES = 8
_LITTLE_FROM = 10
"""dilation"""


def does_matter(dilation: int | None) -> bool:
    """Whether a millisecond of the machine is much in emulated time. None: the factor is not chosen yet."""
    return dilation is not None and dilation < _LITTLE_FROM


def own_pages(most_bytes: int) -> int:
    """Copy all now that this process may write to and shares, unless it is more than `most_bytes`. Returns how many
    bytes that were; 0 where the kernel cannot."""
    page, copied = os.sysconf("SC_PAGESIZE"), 0
    try:
        runs = list(_shared(page))
    except OSError:  # some kernels have no such file, or show it to nobody
        return 0
    if sum(count for _, count in runs) > most_bytes:
        return 0
    libc = ctypes.CDLL(None, use_errno=True)  # here: estimates are made where there is no such library, too
    for first, count in runs:
        if libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(count), _MADV_POPULATE_WRITE):
            if ctypes.get_errno() == errno.EINVAL:
                return copied
            continue  # it went away meanwhile
        copied += count
    return copied


def _shared(page: int) -> Iterator[tuple[int, int]]:
    """(address, bytes) of runs of pages that are there and that others have too, within private writable mappings."""
    import numpy as np  # here: an estimate asks whether pages matter, and needs no array

    with _PAGEMAP.open("rb", buffering=0) as entries:
        for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
            span, modes, *_ = line.split(maxsplit=2)
            if not modes.startswith("rw") or not modes.endswith("p"):
                continue
            start, end = (int(word, 16) for word in span.split("-"))
            raw = os.pread(entries.fileno(), (end - start) // page * _ENTRY_BYTES, start // page * _ENTRY_BYTES)
            words = np.frombuffer(raw, np.uint64)
            shared = ((words & _PRESENT) != 0) & ((words & _EXCLUSIVE) == 0)
            edges = np.flatnonzero(np.diff(np.concatenate(([False], shared, [False])).astype(np.int8)))
            for low, high in edges.reshape(-1, 2).tolist():
                yield start + low * page, (high - low) * page
