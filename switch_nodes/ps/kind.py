"""What is known of program `ps` before it runs."""

from switch_nodes.kinds import ProgramKind

__all__ = ["KINDS"]

KINDS = (
    ProgramKind(
        "ps",
        "next to a parameter server: adds packets along trees (job.aggregation), copies results (job.multicast)",
        "switch_nodes.ps.program:PsProgram",
        uses=("jobs", "memory", "knobs"),
        knobs=("reclaim",),
        some_only_forward=True,
    ),
)
