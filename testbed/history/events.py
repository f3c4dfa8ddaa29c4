"""Facts that a world reports about nodes and about the run itself (node "world")."""

from __future__ import annotations

from dataclasses import dataclass, field

from workloads.machine import Event, unless_default

__all__ = [
    "BarrierPassed",
    "BarrierReached",
    "CaptureCut",
    "CaptureLost",
    "CardCounted",
    "FaultByChance",
    "KernelFaultsUnseen",
    "LeftoversFound",
    "MachineMeasured",
    "NodeExited",
    "NodeStarted",
    "QueueDropped",
    "QueuesSampled",
    "RealLimitReached",
    "ShapingMeasured",
    "TcpFlowMeasured",
    "TimeLimitReached",
    "TrafficStarted",
]


@dataclass(frozen=True, slots=True)
class NodeStarted(Event):
    node: str
    role: str
    """host, switch"""
    backend: str
    """native (C core), python, virtual"""


@dataclass(frozen=True, slots=True)
class BarrierReached(Event):
    """A worker on a host of a lab has its interface and waits for the others."""


@dataclass(frozen=True, slots=True)
class BarrierPassed(Event):
    """It starts."""

    clock_ns: int
    """its host's CLOCK_REALTIME at its t = 0"""


@dataclass(frozen=True, slots=True)
class TrafficStarted(Event):
    """The barrier fell: t = 0."""

    nodes: int


@dataclass(frozen=True, slots=True)
class NodeExited(Event):
    node: str
    status: int
    """status as waitpid: exit code, or minus the signal"""
    expected: bool
    """stopped by the world, or killed by a fault of the scenario"""
    output: str
    """the end of its stderr when it was not expected"""


@dataclass(frozen=True, slots=True)
class TimeLimitReached(Event):
    limit_ns: int
    unfinished: tuple[str, ...]
    """workers that had neither finished nor failed"""


@dataclass(frozen=True, slots=True)
class RealLimitReached(Event):
    """A simulated run took as long by the clock on the wall as it may, and was ended."""

    limit_s: float
    """Real time that the run was allowed to take."""
    unfinished: tuple[str, ...]
    """Workers that had neither finished nor failed."""
    busiest: str
    """The node that did most in the last part of the run: frames, events and wake-ups together."""
    frames: int
    """Frames that this node sent in the last part."""
    events: int
    """Events that this node reported in the last part."""
    wakeups: int
    """Number of times that the timer of this node expired in the last part."""
    last_s: float
    """Real time of the last part."""
    last_ns: int
    """Virtual time of the last part."""


@dataclass(frozen=True, slots=True)
class ShapingMeasured(Event):
    """Bytes that a shaped direction carried, read from its qdisc at the end; feeds the fidelity check."""

    link: str
    direction: str
    rate_bps: int
    bytes: int
    busy_ns: int
    """time from the first to the last packet as far as known, else the whole run"""
    drops: int
    marks: int = 0
    """frames that got CE because the queue was longer than its ECN threshold"""
    trimmed: int = 0
    """packets that the full queue cut down to their headers"""
    early: int = unless_default(0)
    """frames of the low class that the queue dropped although it had room; `drops` does not count them"""


@dataclass(frozen=True, slots=True)
class QueueDropped(Event):
    """A queue of a switch that knows classes (`LinkShape.knows_classes`) did not take a frame."""

    link: str
    direction: str
    early: bool
    """whether it was of the low class and the queue had room; else the queue was full"""
    dscp: int
    """DSCP of the frame; -1: it holds no IP packet"""
    waiting: int
    """frames in the queue that it was for, when it came: that of its layer class, where they are served"""
    flow: str
    """`srcip>dstip:qpn`; empty when the packet is not RoCE"""
    opcode: int
    """-1 when the packet is not RoCE"""
    psn: int
    packet: str = unless_default("")
    """description of a datagram of an aggregation protocol, as `FaultStruck.packet`"""


@dataclass(frozen=True, slots=True)
class QueuesSampled(Event):
    """How many frames wait at the ports of switches, at one moment."""

    every_ns: int
    """about as far apart as the looks are by now"""
    waiting: dict[str, int]
    """waiting frames by `LINK DIRECTION`, where some wait"""
    arrived_bits: dict[str, int] = field(default_factory=dict)
    """bits that the links of each host brought since the start, including the part of a frame that is arriving; empty:
    this world does not count them"""


@dataclass(frozen=True, slots=True)
class MachineMeasured(Event):
    """How busy this machine was while the traffic ran, for any reason; feeds the fidelity check. Spans are of real
    time."""

    processors: int
    """processors that the run may use"""
    wall_ns: int
    busy_ns: int
    """over all processors of the machine"""
    stolen_ns: int
    """over all processors: the hypervisor gave them to others"""
    pressure_ns: int | None
    """time in which some task was ready to run and had no processor; None: the kernel does not report it"""


@dataclass(frozen=True, slots=True)
class TcpFlowMeasured(Event):
    """What a background TCP flow did, reported at the end."""

    flow: str
    bytes: int
    """bytes of payload that arrived"""
    bytes_sent: int
    retransmits: int
    """segments"""
    started_ns: int
    duration_ns: int
    """time from its first byte to its last, by the sender"""
    trouble: str
    """what its ends complained about; empty: nothing"""


@dataclass(frozen=True, slots=True)
class CaptureLost(Event):
    """The capture of a foreign switch had holes and was thrown away."""

    drops: int
    """frames that the kernel had no room for"""


@dataclass(frozen=True, slots=True)
class CaptureCut(Event):
    """The capture at a host's interface reached its limit: what came later is not in it."""

    limit_bytes: int


@dataclass(frozen=True, slots=True)
class CardCounted(Event):
    """Registers of a card that no trace covers, read when the card was stopped."""

    counters: dict[str, int]
    """counters of one moment, since the reset before the run"""
    rings: tuple[tuple[int, int, int, int], ...]
    """what is active: (ring id, members, L, N) of each ring"""


@dataclass(frozen=True, slots=True)
class FaultByChance(Event):
    """netem carries out this fault here, by dice of its own: it reports no hit."""

    fault: str
    link: str
    direction: str


@dataclass(frozen=True, slots=True)
class KernelFaultsUnseen(Event):
    """The eBPF program of one link direction ran out of room: what its faults did there is not known in full."""

    link: str
    direction: str
    uncounted: int
    """frames that passed without a decision, since the table of identities was full"""
    undescribed: int
    """hits without a FaultStruck, since the log was full"""


@dataclass(frozen=True, slots=True)
class LeftoversFound(Event):
    """What was still there after the teardown, though the ledger says it is ours."""

    items: tuple[str, ...]
