"""DLCP / MLT, a reconstruction: gradients whose flows end when most of their packets are there (docs/dlcp.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.dlcp.config import DlcpConfig
from workloads.lazily import lazily

if TYPE_CHECKING:
    from workloads.dlcp.hosts import create_host

__all__ = ["DlcpConfig", "create_host"]

__getattr__ = lazily(__name__, {"create_host": ".hosts"})
