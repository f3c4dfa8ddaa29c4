"""What a transport answers to faults, captures, timelines, checkers, plans and Wireshark.

`workloads/rc`, `workloads/uc` and `workloads/datagrams` have one each, in a module `transport`. A protocol names its
own (`Protocol.transport`), which may have a header that nothing here knows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from workloads.machine import Buffer
from workloads.transports.timing import LEAST_RTO_NS, TimerKey, TimerNeed, rounded_ns
from workloads.wire.envelope import ETHERNET, IPV4, UDP
from workloads.wire.layout import Layout, packer_of
from workloads.wire.places import UDP_PAYLOAD_AT

__all__ = ["UDP_PAYLOAD_AT", "SentAs", "ShownHeader", "TransportKind", "udp_port_of"]

_IPV4, _NO_OPTIONS, _UDP = 0x0800, 0x45, 17
_MORE_FRAGMENTS = 0x3FFF
_HEADS = packer_of(
    ETHERNET.words(only=("ethertype",)),
    IPV4.words(("version", "ihl"), only=("version", "flags_fragment", "protocol")),
    UDP.words(only=("dport",)),
)

_RTO = TimerKey("rto", "rto_ns")
_MARGIN = 2
"""timers in worst round trips"""
_REAL_RTO_NS = 10_000_000
"""least value with real processors and firmware in the way"""


class SentAs(NamedTuple):
    """What a frame says of itself."""

    flow: str
    """sender and receiver, for people, as `10.77.0.1>10.77.0.9 job 3`"""
    kind: str
    """one of `TransportKind.kinds`; else what people read instead, as `kind 9`"""
    sequence: int
    """number of the packet in its flow; with the kind it names the packet"""
    attempt: int = 0
    """1: sent for the first time; 0: the header does not say"""
    again: bool = False
    """marked as a repetition"""


@dataclass(frozen=True, slots=True)
class ShownHeader:
    """A header as Wireshark and people see it: behind UDP, with elements behind it."""

    layout: Layout
    title: str
    """as `Sparse sums`"""
    words: Mapping[str, Mapping[int, str]]
    """field -> number -> word"""
    elements: str = ""
    """int32, float32: big-endian numbers of 32 bits up to the end; empty: not shown"""


class TransportKind(ABC):
    """One way for packets to travel. Its methods never raise for what a peer sent."""

    name: str
    """for people and lists, as `rc`"""
    summary: str
    """one line for people"""
    kinds: Mapping[str, str] = MappingProxyType({})
    """words that a fault's `match.kind` may name -> what such a packet carries: data, results, answers. Empty: RoCE,
    whose opcodes are named instead"""
    is_reliable: bool = False
    """it sends again what is lost, over connections that pass messages in order; else the protocol does"""
    udp_port: int | None = None
    """to which its frames go; None: they are no UDP"""
    header_bytes: int = 0
    """of a datagram: behind UDP and in front of the elements"""
    resends_alike: bool = True
    """a packet that is sent again has the bytes of the first time. Then compiled filters and eBPF count attempts by
    themselves; else only ports of our switches can, in Python"""
    headers: tuple[ShownHeader, ...] = ()
    """layouts; `tb dissector` makes a part for Wireshark of them, ours are written there by hand"""
    transparent: str = ""
    """what a switch must leave as it is in packets that it passes on, for people; empty: nothing"""
    timers: Mapping[str, str] = MappingProxyType({})
    """name -> what happens when it expires"""

    unasked_packets: int | None = None
    """packets after which a sender asks for an answer at the latest; None: it may have its whole window under way"""

    def timer_keys(self, *, resends_alone: bool = False) -> tuple[TimerKey, ...]:
        """Its timers; `resends_alone`: only what is missing is sent again. As it is: one, after which the protocol
        sends a packet again."""
        return (_RTO,)

    def timer_values(self, need: TimerNeed) -> Mapping[str, int]:
        """A value for each field of `timer_keys`, where the scenario gives none. As it is: twice the worst round
        trip."""
        least = _REAL_RTO_NS if need.is_real else LEAST_RTO_NS
        return {_RTO.field: max(rounded_ns(_MARGIN * need.trip.queueing_ns + need.trip.slower_ns), least)}

    def span_of(self, code: int, /) -> int:
        """Nanoseconds of a timer whose `TimerKey.is_code`; 0: never."""
        return code

    def answer_bytes(self, frame_bytes: int, /) -> int:
        """Bytes of the frame that answers one of `frame_bytes`. As it is: as many, since results are answers."""
        return frame_bytes

    @abstractmethod
    def identify(self, frame: Buffer) -> SentAs | None:
        """None: not one of its frames. Lenient: a fault must know a packet again that another link has damaged."""

    def after(self, sequence: int, count: int, /) -> int:
        """The sequence number of the packet `count` places behind this one; below 0: in front of it. `sequence` may be
        a count of packets that never begins again. As it is: numbers do not, either."""
        return sequence + count

    def distance(self, sequence: int, other: int, /) -> int:
        """How many places a packet is behind the other one; below 0: in front of it. Both may be counts."""
        return sequence - other

    def kind_name(self, number: int, /) -> str:
        """The kind of a packet, for people, by its number in the header."""
        return f"kind {number}"

    def describe(self, frame: Buffer) -> str:
        """A frame in one line, for people. Never raises."""
        found = self.identify(frame)
        return f"{len(frame)} bytes" if found is None else f"{found.kind} {found.flow}, number {found.sequence}"


def udp_port_of(frame: Buffer) -> int | None:
    """To which a datagram over IPv4 goes. None: the frame is something else, or a fragment."""
    if len(frame) < UDP_PAYLOAD_AT:
        return None
    ethertype, version, fragment, protocol, port = _HEADS.unpack_from(frame)
    if (ethertype, version, protocol) != (_IPV4, _NO_OPTIONS, _UDP) or fragment & _MORE_FRAGMENTS:
        return None
    return int(port)
