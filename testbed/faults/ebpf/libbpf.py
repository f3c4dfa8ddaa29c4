"""The part of libbpf.so.1 that loads an object and reaches its maps, by ctypes (libbpf 1.x, `bpf/libbpf.h`,
`bpf/bpf.h`)."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from workloads.errors import HostCapabilityError, InternalError

__all__ = ["BpfObject"]

_SONAME = "libbpf.so.1"
_REFUSALS = (errno.EPERM, errno.EACCES, errno.ENOSYS)


class _TestRunOptions(ctypes.Structure):
    """`struct bpf_test_run_opts`."""

    _fields_ = (
        ("sz", ctypes.c_size_t),
        ("data_in", ctypes.c_void_p),
        ("data_out", ctypes.c_void_p),
        ("data_size_in", ctypes.c_uint32),
        ("data_size_out", ctypes.c_uint32),
        ("ctx_in", ctypes.c_void_p),
        ("ctx_out", ctypes.c_void_p),
        ("ctx_size_in", ctypes.c_uint32),
        ("ctx_size_out", ctypes.c_uint32),
        ("retval", ctypes.c_uint32),
        ("repeat", ctypes.c_int),
        ("duration", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("cpu", ctypes.c_uint32),
        ("batch_size", ctypes.c_uint32),
    )


@cache
def _library() -> ctypes.CDLL:
    try:
        lib = ctypes.CDLL(_SONAME, use_errno=True)
    except OSError:
        raise HostCapabilityError(f"{_SONAME}, which loads eBPF programs", "apt-get install libbpf1") from None
    pointer, integer, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
    signatures: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "libbpf_set_print": (pointer, (pointer,)),
        "bpf_object__open_file": (pointer, (text, pointer)),
        "bpf_object__load": (integer, (pointer,)),
        "bpf_object__close": (None, (pointer,)),
        "bpf_object__find_program_by_name": (pointer, (pointer, text)),
        "bpf_program__fd": (integer, (pointer,)),
        "bpf_object__find_map_fd_by_name": (integer, (pointer, text)),
        "bpf_map_update_elem": (integer, (integer, pointer, pointer, ctypes.c_uint64)),
        "bpf_map_lookup_elem": (integer, (integer, pointer, pointer)),
        "bpf_prog_test_run_opts": (integer, (integer, ctypes.POINTER(_TestRunOptions))),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    if not os.environ.get("INA_BPF_LOG"):
        lib.libbpf_set_print(None)  # the verifier's log is for us; INA_BPF_LOG=1 lets it through
    return lib


class BpfObject:
    """One loaded object; close it, or use it as a context manager."""

    def __init__(self, path: Path) -> None:
        """Raises HostCapabilityError when the kernel does not let us, InternalError when it refuses the program."""
        self._lib = _library()
        self._object = self._lib.bpf_object__open_file(os.fsencode(path), None)
        if not self._object:
            raise InternalError(f"{path.name} is no eBPF object: {os.strerror(ctypes.get_errno())}")
        self._mapped: list[mmap.mmap] = []
        status = self._lib.bpf_object__load(self._object)
        if status:
            self.close()
            _refuse("loading of eBPF programs", -status, f"the kernel refuses {path.name}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """The maps go; programs that are attached live on until they are detached."""
        if self._object:
            self._lib.bpf_object__close(self._object)
            self._object = None

    def program(self, name: str) -> int:
        """File descriptor."""
        found = self._lib.bpf_object__find_program_by_name(self._object, name.encode())
        if not found:
            raise InternalError(f"no eBPF program {name}")
        descriptor: int = self._lib.bpf_program__fd(found)
        return descriptor

    def map(self, name: str) -> int:
        """File descriptor."""
        descriptor: int = self._lib.bpf_object__find_map_fd_by_name(self._object, name.encode())
        if descriptor < 0:
            raise InternalError(f"no eBPF map {name}")
        return descriptor

    def update(self, name: str, key: bytes, value: bytes) -> None:
        """Sizes must be those of the map."""
        status = self._lib.bpf_map_update_elem(self.map(name), key, value, 0)
        if status:
            raise InternalError(f"eBPF map {name}: {os.strerror(-status)}")

    def view(self, name: str, dtype: DTypeLike, entries: int) -> NDArray[Any]:
        """The memory of an array map made with BPF_F_MMAPABLE; `dtype` has the size of a value, a multiple of 8. It
        stays valid after `close`."""
        size = np.dtype(dtype).itemsize * entries
        area = mmap.mmap(self.map(name), -(-size // mmap.PAGESIZE) * mmap.PAGESIZE)
        self._mapped.append(area)
        return np.frombuffer(area, dtype, entries)

    def run(self, name: str, frame: bytes = bytes(64)) -> int:
        """Run a classifier once on `frame` (BPF_PROG_TEST_RUN); its verdict."""
        options = _TestRunOptions(sz=ctypes.sizeof(_TestRunOptions), data_size_in=len(frame), repeat=1)
        data = ctypes.create_string_buffer(frame, len(frame))
        options.data_in = ctypes.addressof(data)
        status = self._lib.bpf_prog_test_run_opts(self.program(name), ctypes.byref(options))
        if status:
            raise InternalError(f"test run of {name}: {os.strerror(-status)}")
        verdict: int = ctypes.c_int32(options.retval).value
        return verdict


def _refuse(what: str, number: int, ours: str) -> None:
    if number in _REFUSALS:
        raise HostCapabilityError(
            f"{what} ({os.strerror(number)})",
            "run as root (CAP_BPF and CAP_NET_ADMIN) on a kernel with CONFIG_BPF_SYSCALL",
        )
    raise InternalError(f"{ours}: {os.strerror(number)}")
