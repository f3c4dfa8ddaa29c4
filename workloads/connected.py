"""Configurations of hosts whose packets travel over reliable connections."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from workloads.config import QpConfig

__all__ = ["ConnectedConfig"]


@runtime_checkable
class ConnectedConfig(Protocol):
    """A HostConfig (`workloads.config`) with queue pairs."""

    @property
    def name(self) -> str: ...

    @property
    def queue_pairs(self) -> tuple[QpConfig, ...]: ...
