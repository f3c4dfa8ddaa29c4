"""The uncompressed kernel out of a bzImage: QEMU starts an ELF by PVH, which takes less than half the time."""

from __future__ import annotations

import lzma

from workloads.errors import HostCapabilityError

__all__ = ["extract_vmlinux"]

_XZ_MAGIC = b"\xfd7zXZ\x00"
_ELF_MAGIC = b"\x7fELF"


def extract_vmlinux(image: bytes) -> bytes:
    """The ELF file inside. Raises HostCapabilityError when there is no xz stream that holds one (a kernel packed in
    another way)."""
    at = image.find(_XZ_MAGIC)
    while at >= 0:
        unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ)
        try:
            data = unpacker.decompress(image[at:])
        except lzma.LZMAError:
            data = b""  # the magic stood there by chance
        if unpacker.eof and data.startswith(_ELF_MAGIC):
            return data
        at = image.find(_XZ_MAGIC, at + 1)
    raise HostCapabilityError(
        "a kernel image with an xz-packed ELF inside", "use the stock kernel package (linux-image-amd64 of Debian)"
    )
