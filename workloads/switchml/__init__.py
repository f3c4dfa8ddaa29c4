"""The worker side of SwitchML, over UDP or RoCE v2 unreliable connections."""

from workloads.switchml.config import SwitchMlConfig
from workloads.switchml.worker import SwitchMlWorker

__all__ = ["SwitchMlConfig", "SwitchMlWorker"]
