"""The worker side of SwitchML over UDP."""

from workloads.switchml.config import SwitchMlConfig
from workloads.switchml.worker import SwitchMlWorker

__all__ = ["SwitchMlConfig", "SwitchMlWorker"]
