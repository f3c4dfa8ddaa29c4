"""The initramfs: a static busybox, our /init, and all modules that the guest needs."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from importlib import resources
from pathlib import Path, PurePosixPath

from testbed.interop.image.newc import device, file, newc_archive, symlink

__all__ = ["BOOT_MODULES", "build_initrd", "init_script"]

BOOT_MODULES = (
    "virtio_pci", "virtio_net", "virtio_rng", "9pnet_virtio", "9p", "crc32_generic", "rdma_rxe", "ib_uverbs",
    "rdma_ucm",
)  # fmt: skip
"""rxe asks the kernel for crc32 when a device is added; a modprobe of the guest's own would need all modules there"""


def init_script() -> str:
    return resources.files("testbed.interop.image").joinpath("init.sh").read_text(encoding="utf-8")


def build_initrd(busybox: bytes, modules: Sequence[tuple[str, bytes]]) -> bytes:
    """`modules`: (path, content) in the order in which they are to be loaded. Gzipped, and the same bytes every
    time."""
    names = [PurePosixPath(path).name for path, _ in modules]
    entries = [
        device("dev/console", 5, 1),
        file("bin/busybox", busybox, 0o755),
        symlink("bin/sh", "busybox"),
        file("init", init_script().encode(), 0o755),
        file("modules/order", "".join(f"{name}\n" for name in names).encode()),
        *(file(f"modules/{name}", data) for name, (_, data) in zip(names, modules, strict=True)),
    ]
    return gzip.compress(newc_archive(entries), compresslevel=1, mtime=0)


def read_modules(root: Path, order: Sequence[str]) -> list[tuple[str, bytes]]:
    return [(path, (root / path).read_bytes()) for path in order]
