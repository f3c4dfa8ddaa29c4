"""What a run needs of who starts it."""

from __future__ import annotations

import os

from workloads.errors import HostCapabilityError

__all__ = ["is_root", "require_root"]


def is_root() -> bool:
    """Other systems have no such user: never there."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def require_root(what: str, remedy: str) -> None:
    """Raises HostCapabilityError: network namespaces and packet sockets need root."""
    if not is_root():
        raise HostCapabilityError(f"root, which {what} needs for network namespaces and packet sockets", remedy)
