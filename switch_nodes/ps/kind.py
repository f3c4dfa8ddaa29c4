"""What is known of program `ps` before it runs."""

from switch_nodes.kinds import ProgramFactory, ProgramKind

__all__ = ["KINDS"]


def _ps() -> ProgramFactory:
    from switch_nodes.ps.program import PsProgram

    return PsProgram


KINDS = (
    ProgramKind(
        "ps",
        "next to a parameter server: adds packets along trees (job.aggregation), copies results (job.multicast)",
        _ps,
        uses=("jobs", "memory", "knobs"),
        knobs=("reclaim",),
        some_only_forward=True,
    ),
)
