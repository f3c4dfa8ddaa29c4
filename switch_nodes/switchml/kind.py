"""What is known of program `switchml` before it runs."""

from switch_nodes.kinds import ProgramKind

__all__ = ["KINDS"]

KINDS = (
    ProgramKind(
        "switchml",
        "adds workers' packets in a pool of slots, each with a shadow copy, and sends the sum to all",
        "switch_nodes.switchml:SwitchMlProgram",
        uses=("jobs", "memory"),
    ),
)
