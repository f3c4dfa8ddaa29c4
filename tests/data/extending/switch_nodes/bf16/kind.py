"""What is known of program `bf16` before it runs."""

from switch_nodes.kinds import ProgramFactory, ProgramKind

__all__ = ["KINDS"]


def _bf16() -> ProgramFactory:
    from switch_nodes.bf16.program import Bf16Program

    return Bf16Program


KINDS = (
    ProgramKind(
        "bf16",
        "as switchml, and counts the frames that it got",
        _bf16,
        uses=("jobs", "memory"),
    ),
)
