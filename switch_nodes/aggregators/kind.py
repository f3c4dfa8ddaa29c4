"""What is known of programs `atp` and `esa` before they run."""

from dataclasses import fields

from switch_nodes.jobs import AggregatorKnobs
from switch_nodes.kinds import ProgramKind

__all__ = ["KINDS"]

KINDS = (
    ProgramKind(
        "atp",
        "adds workers' packets in slots that a hash chooses, first come first served; what meets a taken one goes on "
        "to the server",
        "switch_nodes.aggregators:AtpProgram",
        uses=("jobs", "memory", "knobs"),
        knobs=("reclaim",),
    ),
    ProgramKind(
        "esa",
        "as atp, but a packet of higher priority takes the slot, and a complete sum leaves it at once",
        "switch_nodes.aggregators:EsaProgram",
        uses=("jobs", "memory", "knobs"),
        knobs=tuple(knob.name for knob in fields(AggregatorKnobs)),
    ),
)
