"""Registers that lie in a file: a PCIe BAR as sysfs shows it (`/sys/bus/pci/devices/.../resource0`), a UIO device, or
plain memory in tests."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from switch_nodes.fpga.registers import WORD

__all__ = ["MappedTransport"]


class MappedTransport:
    """A `Transport`. Every word is one access of 32 bits, in ascending order, as bus and card expect; the machine must
    be little-endian. Raises OSError when the file cannot be mapped."""

    max_bytes = 1 << 16

    def __init__(self, path: Path, size: int) -> None:
        handle = os.open(path, os.O_RDWR | os.O_SYNC | os.O_CLOEXEC)
        try:
            self._map = mmap.mmap(handle, size)
        except ValueError as error:
            raise OSError(f"{path} has less than {size:#x} bytes to map") from error
        finally:
            os.close(handle)
        self._words = memoryview(self._map).cast("I")

    def read(self, address: int, size: int) -> bytes:
        first = self._index(address, size)
        words = [self._words[first + at] for at in range(size // WORD)]
        return b"".join(word.to_bytes(WORD, "little") for word in words)

    def write(self, address: int, data: bytes) -> None:
        first = self._index(address, len(data))
        for at in range(0, len(data), WORD):
            self._words[first + at // WORD] = int.from_bytes(data[at : at + WORD], "little")

    def close(self) -> None:
        self._words.release()
        self._map.close()

    def _index(self, address: int, size: int) -> int:
        if address % WORD or size % WORD or address < 0 or address + size > len(self._map):
            raise ValueError(f"{size} bytes at {address:#x} are not words of the mapping")
        return address // WORD
