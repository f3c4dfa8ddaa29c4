"""What is known of program `grid` before it runs."""

from switch_nodes.kinds import ProgramFactory, ProgramKind

__all__ = ["KINDS"]


def _grid() -> ProgramFactory:
    from switch_nodes.grid.program import GridProgram

    return GridProgram


KINDS = (
    ProgramKind(
        "grid",
        "adds the packets that a plan of gradient routes sends to it, as far as its capacity goes, and forwards the "
        "rest by the plan",
        _grid,
        uses=("jobs", "memory", "grid"),
        some_only_forward=True,
    ),
)
