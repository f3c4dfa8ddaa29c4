"""What is known of program `steer` before it runs. Plans choose it, no scenario does."""

from switch_nodes.kinds import ProgramKind

__all__ = ["KINDS"]

KINDS = (ProgramKind("steer", "", "switch_nodes.steering.fast:create_steer", uses=("steering",), sums=False),)
