"""What a scenario will take of this machine, before it runs: memory, and the dilation at which it keeps up."""

from testbed.estimate.memory import MemoryNeed, memory_need, require_memory

__all__ = ["MemoryNeed", "memory_need", "require_memory"]
