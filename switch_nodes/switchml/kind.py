"""What is known of program `switchml` before it runs."""

from switch_nodes.kinds import ProgramFactory, ProgramKind

__all__ = ["KINDS"]


def _switchml() -> ProgramFactory:
    from switch_nodes.switchml import SwitchMlProgram

    return SwitchMlProgram


KINDS = (
    ProgramKind(
        "switchml",
        "adds workers' packets in a pool of slots, each with a shadow copy, and sends the sum to all",
        _switchml,
        uses=("jobs", "memory"),
    ),
)
