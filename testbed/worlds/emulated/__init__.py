"""The emulated world: a Mininet network of ours, and one process per node."""

from testbed.worlds.emulated.world import EmulatedWorld

__all__ = ["EmulatedWorld"]
