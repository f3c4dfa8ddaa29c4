"""What one worker is told before it starts. Values only."""

from dataclasses import dataclass
from typing import ClassVar

from workloads.switchml import SwitchMlConfig

__all__ = ["Bf16Config"]


@dataclass(frozen=True, slots=True)
class Bf16Config(SwitchMlConfig):
    """As SwitchML's; only what makes the Machine differs."""

    runs: ClassVar[str] = "workloads.bf16.worker:create_worker"
