"""What is known of program `repair` before it runs."""

from switch_nodes.kinds import ProgramFactory, ProgramKind

__all__ = ["KINDS"]


def _repair() -> ProgramFactory:
    from switch_nodes.repair import RepairProgram

    return RepairProgram


KINDS = (
    ProgramKind(
        "repair",
        "combines donors' packets over GF(2^8) along a tree, towards the newcomer of a repair",
        _repair,
        uses=("jobs", "memory"),
    ),
)
