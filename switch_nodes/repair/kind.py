"""What is known of program `repair` before it runs."""

from switch_nodes.kinds import ProgramKind

__all__ = ["KINDS"]

KINDS = (
    ProgramKind(
        "repair",
        "combines donors' packets over GF(2^8) along a tree, towards the newcomer of a repair",
        "switch_nodes.repair:RepairProgram",
        uses=("jobs", "memory"),
    ),
)
