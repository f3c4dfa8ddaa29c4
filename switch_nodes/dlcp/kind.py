"""What is known of program `dlcp` before it runs."""

from switch_nodes.kinds import ProgramKind

__all__ = ["KINDS"]

KINDS = (
    ProgramKind(
        "dlcp",
        "adds packets of workers at its ports, and sends on what it has when others do not come in time",
        "switch_nodes.dlcp:DlcpProgram",
        uses=("jobs", "memory"),
        some_only_forward=True,
    ),
)
