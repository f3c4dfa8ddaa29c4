"""Programs whose slots do something else: a class of actions in a NetReduce program that is right otherwise."""

from __future__ import annotations

from switch_nodes.netreduce.program import NetReduceProgram
from switch_nodes.netreduce.slot_actions import SlotActions

__all__ = ["program_with"]


def program_with(actions: type[SlotActions]) -> type[NetReduceProgram]:
    """To decorate the class of actions with; its name and docstring are the program's."""
    parts = {"slot_actions_class": actions, "__doc__": actions.__doc__, "__module__": actions.__module__}
    return type(actions.__name__, (NetReduceProgram,), parts)
