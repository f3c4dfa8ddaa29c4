"""The steps to a violation, in words."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.states.search import COPY, DELIVER, EXPIRES, HOLD, LATE, LOSE, Search, Violation
from workloads.datagrams.transport import DATAGRAMS
from workloads.rc.transport import RELIABLE

__all__ = ["Moment", "frame_words", "trace_of"]

_WORDS = {DELIVER: "arrives", LOSE: "is lost", COPY: "is copied", HOLD: "is held back", LATE: "arrives late"}
FAULTS = (LOSE, COPY, HOLD)


@dataclass(frozen=True, slots=True)
class Moment:
    """One step."""

    kind: int
    """as `Act`"""
    link: str
    """name of the link; empty: a timer"""
    direction: str
    node: str
    """receiver, or the node whose timer expires"""
    frame: bytes

    @property
    def is_fault(self) -> bool:
        return self.kind in FAULTS

    @property
    def text(self) -> str:
        """For a person."""
        if self.kind == EXPIRES:
            return f"{self.node}: a timer expires"
        return f"{self.link} {self.direction}: {frame_words(self.frame)} {_WORDS[self.kind]}"


def trace_of(search: Search, violation: Violation) -> list[Moment]:
    """The steps from the beginning to the violation."""
    stations, channels = search.network.stations, search.network.channels
    found = []
    for kind, place, frame in search.path_to(violation):
        if kind == EXPIRES:
            found.append(Moment(kind, "", "", stations[place].name, b""))
        else:
            channel = channels[place]
            name = stations[channel.receiver].name
            found.append(Moment(kind, channel.link, channel.direction, name, search.frame(frame)))
    return found


def frame_words(frame: bytes) -> str:
    """What a frame is."""
    for transport in (RELIABLE, DATAGRAMS):
        said = transport.identify(frame)
        if said is not None:
            return f"{said.kind} {said.sequence}"
    return f"a frame of {len(frame)} bytes"
