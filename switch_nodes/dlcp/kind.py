"""What is known of program `dlcp` before it runs."""

from switch_nodes.kinds import ProgramFactory, ProgramKind

__all__ = ["KINDS"]


def _dlcp() -> ProgramFactory:
    from switch_nodes.dlcp import DlcpProgram

    return DlcpProgram


KINDS = (
    ProgramKind(
        "dlcp",
        "adds packets of workers at its ports, and sends on what it has when others do not come in time",
        _dlcp,
        uses=("jobs", "memory"),
        some_only_forward=True,
    ),
)
