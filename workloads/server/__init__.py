"""The parameter server behind switches that aggregate: merging rules, result cache, reminders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from workloads.server.config import JobOfServer, Reset, ServedMember, ServerConfig
    from workloads.server.machine import ParameterServer, create_server

__all__ = ["JobOfServer", "ParameterServer", "Reset", "ServedMember", "ServerConfig", "create_server"]

__getattr__ = lazily(
    __name__,
    {
        "ParameterServer": ".machine",
        "Reset": ".config",
        "JobOfServer": ".config",
        "ServedMember": ".config",
        "ServerConfig": ".config",
        "create_server": ".machine",
    },
)
