"""What is known of program `esa` before it runs."""

from dataclasses import fields

from switch_nodes.jobs import AggregatorKnobs
from switch_nodes.kinds import ProgramFactory, ProgramKind

__all__ = ["KINDS"]


def _esa() -> ProgramFactory:
    from switch_nodes.aggregators import EsaProgram

    return EsaProgram


KINDS = (
    ProgramKind(
        "esa",
        "as atp, but a packet of higher priority takes the slot, and a complete sum leaves it at once",
        _esa,
        uses=("jobs", "memory", "knobs"),
        knobs=tuple(knob.name for knob in fields(AggregatorKnobs)),
    ),
)
