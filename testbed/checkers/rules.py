"""What a capture must show, as data. The numbers are those of `docs/verdicts.md`, "Transparency"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workloads.rc.captured import RoceFrame
from workloads.rc.transport import RELIABLE

__all__ = ["KEPT_PSNS", "RULES", "PsnClock", "Sighting", "Violations"]

_MODULUS = RELIABLE.after(0, -1) + 1
KEPT_PSNS = 1 << 17
"""how far back packets are remembered, per connection: many times any window"""

RULES = {
    1: "every RoCE packet is well-formed and its iCRC is valid",
    2: "a connection's PSNs follow each other, and a repeated PSN repeats opcode, headers and payload",
    3: "a message is FIRST MIDDLE* LAST or ONLY, its packets have their sizes, RETH holds the sum of the sizes",
    4: "an ACK acknowledges only what was delivered, never takes back, and the MSN never falls",
    5: "a NAK names the first missing PSN, once per gap, and that PSN is sent again",
    6: "the switch originates no ACK, NAK or CNP, alters none, and keeps no NAK to itself",
    7: "the switch sends a data packet no more often than it came, and changes only its payload and iCRC",
    8: "every copy of a result is the same",
    9: "no sender has more packets in flight than its window",
    10: "of a packet that a full queue cut, the headers that it came with go on, to its receiver, which asks for it",
}


@dataclass(slots=True)
class Violations:
    """Counts all, keeps the first few of each rule."""

    kept_per_rule: int = 3
    counts: dict[int, int] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    rules: Mapping[int, str] = field(default_factory=lambda: RULES)

    def add(self, rule: int, where: Sighting | str, what: str) -> None:
        count = self.counts[rule] = self.counts.get(rule, 0) + 1
        if count <= self.kept_per_rule:
            self.texts.append(f"rule {rule} ({self.rules[rule]}): {where}: {what}")

    @property
    def total(self) -> int:
        return sum(self.counts.values())


class Sighting:
    """Where and when a frame was seen; the text is made only when something is wrong with it."""

    __slots__ = ("frame", "interface", "names", "number", "outgoing", "place", "time_ns")

    def __init__(self, names: dict[bytes, str], place: str = "the switch") -> None:
        self.names, self.place = names, place
        """host names by IP address; the switch, for people"""
        self.number = 0
        self.time_ns = 0
        self.interface = ""
        self.outgoing = False
        self.frame: RoceFrame | None = None

    def __str__(self) -> str:
        text = f"frame {self.number} at {self.time_ns / 1e9:.6f} s, {'leaving' if self.outgoing else 'entering'} "
        text += f"{self.place} on {self.interface}"
        if self.frame is None:
            return text
        source, dest, qpn = self.frame.connection
        path = f"{self.names.get(source, source.hex())} -> {self.names.get(dest, dest.hex())} QP {qpn:#x}"
        return f"{text}, {RELIABLE.kind_name(self.frame.opcode)} PSN {self.frame.psn}, {path}"


class PsnClock:
    """24-bit PSNs made absolute: each is taken as the nearest one to the latest that was noted."""

    __slots__ = ("latest",)

    def __init__(self, psn: int) -> None:
        self.latest = _MODULUS + psn

    def absolute(self, psn: int) -> int:
        return self.latest + ((psn - self.latest + 0x800000) & 0xFFFFFF) - 0x800000

    def note(self, absolute: int) -> None:
        if absolute > self.latest:
            self.latest = absolute
