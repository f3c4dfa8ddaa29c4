"""What one worker is told before it starts. Values only."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workloads.switchml import SwitchMlConfig

if TYPE_CHECKING:
    from workloads.machine import HostMachine

__all__ = ["Bf16Config"]


@dataclass(frozen=True, slots=True)
class Bf16Config(SwitchMlConfig):
    """As SwitchML's; only what makes the Machine differs."""

    def create(self, start_ns: int) -> "HostMachine":
        from workloads.bf16 import create_worker  # whose module knows this configuration

        return create_worker(self, start_ns)
