"""The worker side of ATP and ESA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from workloads.atp.config import AtpConfig
    from workloads.atp.worker import AtpWorker, create_worker

__all__ = ["AtpConfig", "AtpWorker", "create_worker"]

__getattr__ = lazily(
    __name__,
    {
        "AtpConfig": ".config",
        "AtpWorker": ".worker",
        "create_worker": ".worker",
    },
)
