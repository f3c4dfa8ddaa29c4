"""What is known of program `netreduce` before it runs."""

from switch_nodes.kinds import ProgramFactory, ProgramKind

__all__ = ["KINDS"]


def _netreduce() -> ProgramFactory:
    from switch_nodes.netreduce import create_netreduce

    return create_netreduce


KINDS = (
    ProgramKind(
        "netreduce",
        "sums the packets of a ring in the switch, under the hosts' RoCE v2 transport",
        _netreduce,
        uses=("rings", "release", "gate"),
        reports_slots=True,
    ),
)
