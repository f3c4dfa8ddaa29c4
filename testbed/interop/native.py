"""Whether this host's own kernel has rdma_rxe. Said before a run; the cases run in the guest either way, since rxe of older
kernels knows the initial network namespace only, and our traffic stays out of that."""

from __future__ import annotations

import platform
from pathlib import Path

__all__ = ["describe_host_rxe"]

_MODULE = "kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko"


def describe_host_rxe(release: str = "", root: Path = Path("/")) -> str:
    """One sentence for a person."""
    release = release or platform.release()
    if (root / "sys" / "module" / "rdma_rxe").is_dir():
        return (
            f"this host's kernel {release} has rdma_rxe loaded; the cases run on a stock kernel under QEMU all the same"
        )
    folder = root / "lib" / "modules" / release
    try:
        built_in = _MODULE in (folder / "modules.builtin").read_text(encoding="utf-8").split()
    except OSError:
        built_in = False
    if built_in or list((folder / _MODULE).parent.glob("rdma_rxe.ko*")):
        return f"this host's kernel {release} has rdma_rxe; the cases run on a stock kernel under QEMU all the same"
    return f"this host's kernel {release} has no rdma_rxe: the cases run on a stock kernel under QEMU"
