"""The worker side of SwitchML with gradients in bfloat16."""

from typing import TYPE_CHECKING

from workloads.bf16.config import Bf16Config
from workloads.lazily import lazily

if TYPE_CHECKING:
    from workloads.bf16.worker import create_worker

__all__ = ["Bf16Config", "create_worker"]

__getattr__ = lazily(__name__, {"create_worker": ".worker"})
