"""The worker side of SwitchML, over UDP or RoCE v2 unreliable connections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from workloads.switchml.config import OmittedParts, SwitchMlConfig
    from workloads.switchml.worker import SwitchMlWorker, create_worker

__all__ = ["OmittedParts", "SwitchMlConfig", "SwitchMlWorker", "create_worker"]

__getattr__ = lazily(
    __name__,
    {
        "OmittedParts": ".config",
        "SwitchMlConfig": ".config",
        "SwitchMlWorker": ".worker",
        "create_worker": ".worker",
    },
)
