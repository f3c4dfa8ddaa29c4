"""What is known of program `bf16` before it runs."""

from switch_nodes.kinds import ProgramKind

__all__ = ["KINDS"]

KINDS = (
    ProgramKind(
        "bf16",
        "as switchml, and counts the frames that it got",
        "switch_nodes.bf16.program:Bf16Program",
        uses=("jobs", "memory"),
    ),
)
