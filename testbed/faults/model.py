"""The fault vocabulary as values. A fault says where (link, direction), which packets, when, and what happens."""

from __future__ import annotations

from dataclasses import dataclass, field

from topologies import Direction

__all__ = [
    "Burst",
    "Corrupt",
    "Delay",
    "Drop",
    "Duplicate",
    "EcnMark",
    "Fault",
    "Forge",
    "Kill",
    "LinkDown",
    "Loss",
    "Match",
    "NodeFault",
    "PacketFault",
    "Pause",
    "RateChange",
    "Reorder",
    "Window",
    "is_silent",
]


@dataclass(frozen=True, slots=True)
class Window:
    """When a fault is active, in time since the start of the traffic."""

    start_ns: int = 0
    stop_ns: int | None = None
    """None: until the end"""


@dataclass(frozen=True, slots=True)
class Match:
    """Which RoCE packets. Every condition that is set must hold; an empty Match takes all."""

    opcodes: frozenset[int] | None = None
    """BTH opcodes"""
    syndrome: int | None = None
    """of an ACKNOWLEDGE: 0x60 a sequence NAK, 0x1f an ACK; RNR NAKs 0x20..0x3f"""
    psn_offset: int | None = None
    """PSN counted from the connection's first PSN; on requests and answers alike"""
    message: int | None = None
    """message number on the connection, from 0 (the hello is message 0)"""
    packet: int | None = None
    """packet of its message, from 0; -1 is the last"""
    attempt: int | None = None
    """1: the first time that this identity passes, 2: the first retransmission; None: every time"""
    source_rank: int | None = None
    """rank that sends this connection's requests"""


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    """unique in the scenario; `{kind}-{number}` unless given"""


@dataclass(frozen=True, slots=True)
class PacketFault(Fault):
    """Strikes packets on some links."""

    links: tuple[str, ...] = ()
    """link names, never empty after resolution"""
    directions: tuple[Direction, ...] = (Direction.UP, Direction.DOWN)
    window: Window = Window()
    match: Match = Match()
    rate: float = 1.0
    """probability that a matching packet is struck"""


@dataclass(frozen=True, slots=True)
class Loss(PacketFault):
    """Independent loss at `rate`."""


@dataclass(frozen=True, slots=True)
class Burst(PacketFault):
    """Gilbert-Elliott loss: `rate` is the chance to enter the bad state per packet."""

    recover: float = 0.25
    """chance per packet to leave the bad state: mean burst 1/recover"""
    loss_bad: float = 1.0
    loss_good: float = 0.0


@dataclass(frozen=True, slots=True)
class Drop(PacketFault):
    """Drop what matches (rate 1 unless given)."""


@dataclass(frozen=True, slots=True)
class Corrupt(PacketFault):
    """Flip one payload bit (of a packet without payload: of its transport header)."""

    repair_icrc: bool = False
    """recompute the iCRC, so that the damage looks genuine"""
    bit: int | None = None
    """bit number in the payload; None: chosen by the hash"""


@dataclass(frozen=True, slots=True)
class Duplicate(PacketFault):
    """Deliver a second copy."""

    delay_ns: int = 0
    """how much later the copy comes"""


@dataclass(frozen=True, slots=True)
class Reorder(PacketFault):
    """Hold the packet back so that later ones overtake it."""

    delay_ns: int = 3_000_000


@dataclass(frozen=True, slots=True)
class Delay(PacketFault):
    """Delay every matching packet, in order."""

    delay_ns: int = 0
    jitter_ns: int = 0


@dataclass(frozen=True, slots=True)
class EcnMark(PacketFault):
    """Set CE in the IP header of an ECN-capable packet."""


@dataclass(frozen=True, slots=True)
class Forge(PacketFault):
    """A frame that is made of the packet, and that no host sends, comes beside it."""

    what: str = "foreign"
    """a key of `testbed.faults.forge.FORGERIES`"""
    before: bool = False
    """it comes right before the packet; else behind"""
    delay_ns: int = 0
    """how much later it comes"""


@dataclass(frozen=True, slots=True)
class LinkDown(PacketFault):
    """Everything on the link is lost during the window, `count` times with `period_ns` from start to start (flap)."""

    count: int = 1
    period_ns: int = 0


@dataclass(frozen=True, slots=True)
class RateChange(Fault):
    """The links' rate during the window."""

    links: tuple[str, ...] = ()
    directions: tuple[Direction, ...] = (Direction.UP, Direction.DOWN)
    window: Window = Window()
    rate_bps: int = 0


@dataclass(frozen=True, slots=True)
class NodeFault(Fault):
    node: str = ""
    window: Window = field(default_factory=Window)


@dataclass(frozen=True, slots=True)
class Kill(NodeFault):
    """The node dies at window.start_ns and, when window.stop_ns is set, starts anew with empty state then."""


@dataclass(frozen=True, slots=True)
class Pause(NodeFault):
    """The node stands still during the window."""


def is_silent(fault: Fault) -> bool:
    """Whether its rates are 0: it is expected not to strike."""
    if isinstance(fault, Burst):
        return fault.loss_good == 0 and (fault.rate == 0 or fault.loss_bad == 0)
    return isinstance(fault, PacketFault) and fault.rate == 0
