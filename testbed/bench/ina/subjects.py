"""What is compared: protocols with their knobs, and mixes of jobs."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.scenario.known import protocols
from testbed.scenario.protocol import Subject

__all__ = ["ATP", "ESA", "ESA_ACK", "ESA_EQUAL", "MIXES", "SUBJECTS", "SWITCHML", "Mix", "Part", "Subject"]

_COMMUNICATING, _COMPUTING = 0.25, 4.0
"""computing / communication (protocol text, section 9.1)"""


SUBJECTS: tuple[Subject, ...] = tuple(subject for protocol in protocols() for subject in protocol.bench)
"""Subjects of all protocols, which declare them."""
_NAMED = {subject.name: subject for subject in SUBJECTS}
SWITCHML, ATP, ESA = _NAMED["switchml"], _NAMED["atp"], _NAMED["esa"]
ESA_EQUAL, ESA_ACK = _NAMED["esa equal early"], _NAMED["esa prio ack"]
"""They have one of ESA's mechanisms each: early release without priorities, priorities with release by the server's
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
    """jobs differ, so that a priority can distinguish them"""


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
