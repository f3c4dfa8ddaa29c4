"""The parameter server behind switches that aggregate: merging rules, result cache, reminders."""

from workloads.server.config import Reset, ServedJob, ServedMember, ServerConfig
from workloads.server.machine import ParameterServer

__all__ = ["ParameterServer", "Reset", "ServedJob", "ServedMember", "ServerConfig"]
