"""The worker side of ATP and ESA."""

from workloads.atp.config import AtpConfig
from workloads.atp.worker import AtpWorker

__all__ = ["AtpConfig", "AtpWorker"]
