"""The worker side of SwitchML with gradients in bfloat16."""

from workloads.bf16.config import Bf16Config

__all__ = ["Bf16Config"]
