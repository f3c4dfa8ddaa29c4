from __future__ import annotations

import lzma

import pytest

from testbed.interop.image.vmlinux import extract_vmlinux
from workloads.errors import HostCapabilityError

ELF = b"\x7fELF" + bytes(range(256)) * 40


def test_the_elf_comes_out_of_the_stream_inside():
    assert extract_vmlinux(b"MZ setup code" + lzma.compress(ELF) + b"trailing tables") == ELF


def test_a_magic_by_chance_and_a_stream_of_something_else_are_passed_over():
    image = b"\xfd7zXZ\x00 by chance" + lzma.compress(b"an initramfs") + lzma.compress(ELF)
    assert extract_vmlinux(image) == ELF


@pytest.mark.parametrize("image", [b"", b"no stream at all", lzma.compress(b"not an ELF"), lzma.compress(ELF)[:-40]])
def test_an_image_without_one_is_refused(image):
    with pytest.raises(
        HostCapabilityError, match="this machine lacks a kernel image with an xz-packed ELF inside; use"
    ):
        extract_vmlinux(image)
