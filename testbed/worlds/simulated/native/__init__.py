"""The event loop in C, where a plan and this machine allow it."""

from testbed.worlds.simulated.native.parts import Parts, choose_parts

__all__ = ["Parts", "choose_parts"]
