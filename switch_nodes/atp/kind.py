"""What is known of program `atp` before it runs."""

from switch_nodes.kinds import ProgramFactory, ProgramKind

__all__ = ["KINDS"]


def _atp() -> ProgramFactory:
    from switch_nodes.aggregators import AtpProgram

    return AtpProgram


KINDS = (
    ProgramKind(
        "atp",
        "adds workers' packets in slots that a hash chooses, first come first served; what meets a taken one goes on "
        "to the server",
        _atp,
        uses=("jobs", "memory", "knobs"),
        knobs=("reclaim",),
    ),
)
