"""What is known of programs `atp` and `esa` before they run."""

from dataclasses import fields

from switch_nodes.jobs import AggregatorKnobs
from switch_nodes.kinds import ProgramFactory, ProgramKind

__all__ = ["KINDS"]


def _atp() -> ProgramFactory:
    from switch_nodes.aggregators import AtpProgram

    return AtpProgram


def _esa() -> ProgramFactory:
    from switch_nodes.aggregators import EsaProgram

    return EsaProgram


KINDS = (
    ProgramKind(
        "atp",
        "adds workers' packets in slots that a hash chooses, first come first served; what meets a taken one goes on "
        "to the server",
        _atp,
        uses=("jobs", "memory", "knobs"),
        knobs=("reclaim",),
    ),
    ProgramKind(
        "esa",
        "as atp, but a packet of higher priority takes the slot, and a complete sum leaves it at once",
        _esa,
        uses=("jobs", "memory", "knobs"),
        knobs=tuple(knob.name for knob in fields(AggregatorKnobs)),
    ),
)
