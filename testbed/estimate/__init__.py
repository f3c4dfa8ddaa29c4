"""What a scenario will take, before it runs: time on its links, memory of this machine."""

from testbed.estimate.memory import MemoryNeed, memory_need, require_memory
from testbed.estimate.time import TimeNeed, time_need

__all__ = ["MemoryNeed", "TimeNeed", "memory_need", "require_memory", "time_need"]
