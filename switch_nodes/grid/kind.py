"""What is known of program `grid` before it runs."""

from switch_nodes.kinds import ProgramKind

__all__ = ["KINDS"]

KINDS = (
    ProgramKind(
        "grid",
        "adds the packets that a plan of gradient routes sends to it, as far as its capacity goes, and forwards the "
        "rest by the plan",
        "switch_nodes.grid.program:GridProgram",
        uses=("jobs", "memory", "grid"),
        some_only_forward=True,
    ),
)
