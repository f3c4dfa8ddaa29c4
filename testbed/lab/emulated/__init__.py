"""A lab for who has none: hosts that are namespaces of this machine with an sshd each, and a card that is a process."""

from testbed.lab.emulated.command import emulated_inventory, lab_down, lab_up
from testbed.lab.emulated.shape import LabShape

__all__ = ["LabShape", "emulated_inventory", "lab_down", "lab_up"]
