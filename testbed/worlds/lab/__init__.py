"""The lab world: workers on remote hosts, aggregation by a card, over SSH (docs/lab.md)."""

from testbed.worlds.lab.world import LabWorld

__all__ = ["LabWorld"]
