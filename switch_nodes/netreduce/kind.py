"""What is known of program `netreduce` before it runs."""

from switch_nodes.kinds import ProgramKind

__all__ = ["KINDS"]

KINDS = (
    ProgramKind(
        "netreduce",
        "sums the packets of a ring in the switch, under the hosts' RoCE v2 transport",
        "switch_nodes.netreduce:create_netreduce",
        uses=("rings", "release", "gate"),
        reports_slots=True,
    ),
)
