"""Bitstreams of the emulated card: a line of identification, a manifest in JSON on one line, and what stands for the
bits.

The tools of a vendor make the bitstream of a hardware card. Only the card looks inside, and its hash is its name.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Self

__all__ = ["Bitstream", "BitstreamError", "bitstream_hash", "reference_bitstream"]

_HEAD = b"INA-BITSTREAM 1\n"
_NAME_BYTES = 16
_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})\Z")


class BitstreamError(ValueError):
    """Bytes that are no bitstream of an emulated card."""


def bitstream_hash(data: bytes) -> bytes:
    """SHA-256 of the whole file, 32 bytes: the name of a bitstream everywhere."""
    return hashlib.sha256(data).digest()


@dataclass(frozen=True, slots=True)
class Bitstream:
    program: str
    """program that the card runs, of at most 16 bytes"""
    version: str
    """major.minor"""
    bits: bytes
    """opaque content"""

    def encode(self) -> bytes:
        """The file. Raises BitstreamError when a value does not fit."""
        self._check()
        manifest = {"program": self.program, "version": self.version, "sha256": hashlib.sha256(self.bits).hexdigest()}
        return _HEAD + json.dumps(manifest, sort_keys=True).encode() + b"\n" + self.bits

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Raises BitstreamError."""
        if not data.startswith(_HEAD):
            raise BitstreamError("does not begin as a bitstream of the emulated card")
        line, found, bits = data[len(_HEAD) :].partition(b"\n")
        try:
            manifest = json.loads(line) if found else None
        except ValueError:
            manifest = None
        if not isinstance(manifest, dict) or set(manifest) != {"program", "version", "sha256"}:
            raise BitstreamError("its manifest is not program, version and sha256")
        if manifest["sha256"] != hashlib.sha256(bits).hexdigest():
            raise BitstreamError("its bits are not those of its manifest")
        stream = cls(str(manifest["program"]), str(manifest["version"]), bits)
        stream._check()
        return stream

    @property
    def version_word(self) -> int:
        """major << 16 | minor"""
        major, minor = self.version.split(".")
        return int(major) << 16 | int(minor)

    def _check(self) -> None:
        if not self.program or len(self.program.encode()) > _NAME_BYTES:
            raise BitstreamError(f"program {self.program!r} is no name of 1 .. {_NAME_BYTES} bytes")
        if not _VERSION.match(self.version):
            raise BitstreamError(f"version {self.version!r} is not major.minor")


def reference_bitstream(program: str = "netreduce", version: str = "1.0", size: int = 5000) -> bytes:
    """A file with `size` bytes of bits, the same for the same arguments. Raises BitstreamError."""
    blocks = (hashlib.sha256(f"{program} {version} {block}".encode()).digest() for block in range(-(-size // 32)))
    return Bitstream(program, version, b"".join(blocks)[:size]).encode()
