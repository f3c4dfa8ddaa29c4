"""What is known of program `forward` before it runs."""

from switch_nodes.kinds import ProgramKind

__all__ = ["KINDS"]

KINDS = (
    ProgramKind(
        "forward",
        "plain L2 forwarding: what a switch without aggregation does",
        "switch_nodes.forwarding.fast:create_forward",
        sums=False,
    ),
)
