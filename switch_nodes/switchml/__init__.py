"""The SwitchML switch program."""

from switch_nodes.switchml.program import SwitchMlProgram

__all__ = ["SwitchMlProgram"]
