"""What faults of all kinds have: where (link, direction, node), which packets, when. A kind is a module of
`testbed.faults.kinds`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Any

from testbed.faults.opcodes import OPCODE_GROUPS, OpcodesType
from testbed.reading.fields import (
    DirectionsKey,
    DurationKey,
    LinksKey,
    ProbabilityKey,
    TextKey,
    WordKey,
    whole,
    whole_or,
)
from testbed.reading.keytypes import At
from testbed.reading.sections import Key, Section, SectionType, read_mapping, write_section
from topologies import DIRECTIONS, MAX_RANKS
from workloads.rc.numbers import LAST_PSN
from workloads.rc.words import ACK_OPCODES, words_of

__all__ = ["Fault", "LinkFault", "Match", "MatchType", "NodeFault", "PacketFault", "Window"]


@dataclass(frozen=True, slots=True)
class Window(Section):
    """When a fault is active, in time since the start of the traffic."""

    start_ns: Annotated[DurationKey, Key("from")] = 0
    """time since the start of the traffic"""
    stop_ns: Annotated[DurationKey | None, Key("until", shown="the end of the run")] = None
    """time since the start of the traffic"""


@dataclass(frozen=True, slots=True)
class Match(Section):
    """Which packets. Every condition that is set must hold; an empty Match takes all. `kind` and `sequence` are of
    datagrams, the others but `attempt` of RoCE packets."""

    opcodes: Annotated[frozenset[int] | None, OpcodesType(), Key("opcode")] = None
    """`data` (every SEND and WRITE, also of unreliable connections), `ack`, `nak` (sequence error), `cnp`, an opcode's
    name as `WRITE_MIDDLE` or `UC_WRITE_FIRST`, or a list of names"""
    syndrome: Annotated[int | None, whole(0, 255)] = None
    """of an ACKNOWLEDGE, 0 to 255, for what the words do not cover: an RNR NAK is `0x20` + timer code"""
    psn_offset: Annotated[int | None, whole(0, LAST_PSN)] = None
    """packet number counted from the connection's first, on requests and answers alike"""
    message: Annotated[int | None, whole(0, (1 << 31) - 1)] = None
    """number of the message on the connection, from 0"""
    packet: Annotated[int | None, whole_or("last", -1, 0, 1023)] = None
    """position in its message, from 0, or `last`"""
    attempt: Annotated[int | None, whole(1, 1_000_000)] = None
    """1: when this packet first comes by, 2: its first retransmission, ...; without it: every time"""
    source_rank: Annotated[int | None, whole(0, MAX_RANKS - 1), Key("rank")] = None
    """of the host that sends this connection's requests"""
    kind: TextKey | None = None
    """kind of datagram, as its protocol calls it: `data`, `result`, `ack`, ..."""
    sequence: Annotated[int | None, whole(0, (1 << 32) - 1)] = None
    """number of the datagram, as its header has it"""


@dataclass(frozen=True, slots=True)
class MatchType(SectionType):
    """Words of `opcode` may say a syndrome, too."""

    section: type = Match

    def read(self, value: Any, at: At) -> Any:
        data = read_mapping(at, value, "match")
        word = data and data.get("opcode")
        if data and isinstance(word, str) and word in OPCODE_GROUPS and OPCODE_GROUPS[word][1] is not None:
            if "syndrome" in data:
                (at / "syndrome").add(
                    "the opcode's word fixes the syndrome already", found=_hexadecimal(data["syndrome"]),
                    allowed="`opcode: ACKNOWLEDGE` with a syndrome, or `opcode: ack` or `nak`",
                )  # fmt: skip
            data |= {"opcode": words_of(ACK_OPCODES)[0], "syndrome": OPCODE_GROUPS[word][1]}
        return SectionType.read(self, value if data is None else data, at)

    def write(self, value: Match) -> dict[str, Any]:
        words = [word for word, group in OPCODE_GROUPS.items() if group == (value.opcodes, value.syndrome)]
        data = write_section(value)
        if words:
            data = {"opcode": words[0]} | {key: item for key, item in data.items() if key not in ("opcode", "syndrome")}
        return data


def _hexadecimal(value: object) -> str:
    return f"{value:#04x}" if isinstance(value, int) else repr(value)


@dataclass(frozen=True, slots=True)
class Fault(Section):
    """A kind of fault inherits from one of the classes below."""

    name: Annotated[WordKey, Key(filled=True, shown="kind and number")]
    """what the result calls it"""


@dataclass(frozen=True, slots=True)
class LinkFault(Fault):
    """Acts on links."""

    links: Annotated[LinksKey, Key(shown="`all`")] = ()
    """`all`, a name, or a list of names"""
    directions: Annotated[DirectionsKey, Key("direction")] = DIRECTIONS
    """`up`: from the host to the switch, or along the link's name (`leaf1-spine1`: to the spine); `down`; `both`"""
    window: Annotated[Window, Key(flat=True)] = Window()


@dataclass(frozen=True, slots=True)
class PacketFault(LinkFault):
    """Hits packets on some links."""

    match: Annotated[Match, MatchType(), Key(shown="everything")] = Match()
    """which packets"""
    rate: Annotated[ProbabilityKey, Key(title="Share of hit packets")] = 1.0
    """probability that the fault applies to a matching packet"""

    def left_out(self) -> Collection[str]:
        return ("match",) if self.match == Match() else ()


@dataclass(frozen=True, slots=True)
class NodeFault(Fault):
    """Acts on a node."""

    node: Annotated[TextKey, Key(required=True)] = ""
    """a node of the topology, or `controller` with `switch.commodity: openflow` in the emulated world"""
    window: Annotated[Window, Key(flat=True)] = Window()
