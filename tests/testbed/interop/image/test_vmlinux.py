"""The kernel in its wrapping."""

from __future__ import annotations

import lzma

import pytest

from testbed.interop.image.vmlinux import extract_vmlinux
from workloads.errors import HostCapabilityError

MAGIC = b"\xfd7zXZ\x00"
ELF = b"\x7fELF" + bytes(range(256)) * 40


def packed(data: bytes) -> bytes:
    return lzma.compress(data, lzma.FORMAT_XZ)


@pytest.mark.parametrize(
    "image",
    [
        b"MZ start-up code" + packed(ELF) + b"padding behind",
        b"MZ" + MAGIC + b"a magic by chance" + packed(ELF) + bytes(7),
        b"MZ" + packed(b"not the kernel, some table") + packed(ELF),
    ],
    ids=["plain", "magic by chance", "another stream first"],
)
def test_the_elf_file_is_cut_out(image):
    assert extract_vmlinux(image) == ELF


@pytest.mark.parametrize(
    "image",
    [b"MZ" + bytes(500), b"MZ" + packed(b"no ELF"), b"MZ" + packed(ELF)[:-40]],
    ids=["none", "no ELF", "cut off"],
)
def test_another_kind_of_kernel_is_refused(image):
    with pytest.raises(HostCapabilityError, match="a kernel image with an xz-packed ELF inside"):
        extract_vmlinux(image)
