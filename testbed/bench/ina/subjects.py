"""What is compared: protocols with their knobs, and mixes of jobs."""

from __future__ import annotations

from dataclasses import dataclass

from switch_nodes.jobs import AggregatorKnobs

__all__ = ["ATP", "ESA", "ESA_ACK", "ESA_EQUAL", "MIXES", "SUBJECTS", "SWITCHML", "Mix", "Part", "Subject"]

_PRIORITY = "esa-default"
_COMMUNICATING, _COMPUTING = 0.25, 4.0
"""computing / communication (protocol text, section 9.1)"""


@dataclass(frozen=True, slots=True)
class Subject:
    name: str
    program: str
    """of the switch, and the jobs' collective"""
    priority: str = _PRIORITY
    """of the packets of ESA"""
    knobs: AggregatorKnobs = AggregatorKnobs()
    values_per_index: int = 1
    """that the switch stores: SwitchML has a shadow copy of each"""


SWITCHML = Subject("switchml", "switchml", values_per_index=2)
ATP = Subject("atp", "atp")
ESA = Subject("esa", "esa")
ESA_EQUAL = Subject("esa equal early", "esa", priority="equal")
ESA_ACK = Subject("esa prio ack", "esa", knobs=AggregatorKnobs(free="ack"))
SUBJECTS = (SWITCHML, ATP, ESA, ESA_EQUAL, ESA_ACK)
"""The last two have one of ESA's mechanisms each: early release without priorities, priorities with release by the server's
result. The rule of priority is that of `esa`, so that nothing else differs."""


@dataclass(frozen=True, slots=True)
class Part:
    """One job of a mix."""

    model: str
    ratio: float
    """computing / communication"""


@dataclass(frozen=True, slots=True)
class Mix:
    name: str
    jobs: tuple[Part, ...]
    mixed: bool = True
    """jobs differ, so that a priority can tell them apart"""


_VGG, _ALEXNET = Part("vgg16", _COMMUNICATING), Part("alexnet", _COMMUNICATING)
_RESNET, _BERT = Part("resnet50", _COMPUTING), Part("bert-base", 1.0)
MIXES = {
    mix.name: mix
    for mix in (
        Mix("mix-2+2", (_VGG, _VGG, _RESNET, _RESNET)),
        Mix("mix-8", (_VGG, _VGG, _ALEXNET, _ALEXNET, _RESNET, _RESNET, _BERT, _BERT)),
        Mix("same-4", (_VGG, _VGG, _VGG, _VGG), mixed=False),
    )
}
