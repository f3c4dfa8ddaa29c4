"""Facts that switch programs and data planes report. Each becomes one record of the history."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.machine import Event, unless_default

__all__ = [
    "ConfigRefused",
    "ConnectionStepped",
    "FrameStepped",
    "LoadSampled",
    "MessageAggregated",
    "MessageInferred",
    "PacketIgnored",
    "PlanInstalled",
    "PlaneStatistics",
    "QueueMarks",
    "ResultReplayed",
    "RingsInstalled",
    "RulesReplaced",
    "SlotStepped",
    "SlotsAtEnd",
    "SwitchSampled",
    "SwitchStarted",
    "SwitchStatistics",
]


@dataclass(frozen=True, slots=True)
class SwitchStarted(Event):
    """`tb switch` receives on all its interfaces: what comes in from now on is handled."""

    program: str
    interfaces: tuple[str, ...]
    """port 0 first"""
    rings: tuple[int, ...]
    """ids of those installed"""


@dataclass(frozen=True, slots=True)
class RingsInstalled(Event):
    """The rings of a running switch were changed; frames from now on meet the new ones."""

    installed: tuple[int, ...]
    """ids that are new, or restart"""
    removed: tuple[int, ...]
    """ids whose state is gone, including those that restart"""
    kept: tuple[int, ...]
    """ids whose state did not change"""


@dataclass(frozen=True, slots=True)
class PlanInstalled(Event):
    """A switch follows a plan of gradient routes from now on."""

    planner: str
    routes: int
    """entries of its table"""
    rate_bps: float
    """rate that the plan promises the slowest worker"""


@dataclass(frozen=True, slots=True)
class LoadSampled(Event):
    """What a switch of program `grid` has seen since it started."""

    at_ns: int
    bytes_in: tuple[int, ...]
    """bytes of frames, by port"""
    bytes_out: tuple[int, ...]
    """bytes of frames by port, before the queue"""
    added_bytes: int
    """bytes of frames that were added to sums"""
    data_in: int
    """packets for its aggregator"""
    bypassed: int
    """packets of `data_in` that went around because no capacity was left"""


@dataclass(frozen=True, slots=True)
class RulesReplaced(Event):
    """A commodity switch has other flow rules from now on."""

    reason: str
    """start, port 4 is down, port 4 is up"""
    down: tuple[int, ...]
    """ports without carrier"""
    fallback: bool
    """the accelerator is out of use: no data is led to it, and the job's data is dropped rather than passed unsummed"""
    rules: int


@dataclass(frozen=True, slots=True)
class ConfigRefused(Event):
    """A running switch could not read its configuration again, and goes on with the old one."""

    problem: str


@dataclass(frozen=True, slots=True)
class MessageAggregated(Event):
    """All slots of a message are complete."""

    ring_id: int
    message: int
    packets: int
    contributions: tuple[int, ...]
    """packets of each rank that entered sums of this message; each number must equal `packets`"""


@dataclass(frozen=True, slots=True)
class MessageInferred(Event):
    """A packet of a message whose FIRST is missing was placed by the messages before it (rule B)."""

    ring_id: int
    rank: int
    message: int
    offset: int


@dataclass(frozen=True, slots=True)
class PacketIgnored(Event):
    """A data packet of an installed ring that did not enter a sum."""

    ring_id: int
    rank: int
    message: int
    """-1 when unknown"""
    offset: int
    reason: str
    """icrc, nofirst, stale, stale_forwarded, overrun, duplicate, mismatch, length, inconsistent_first, malformed,
    wrong_port (came in where its sender is not), ahead (gate epsn)"""


@dataclass(frozen=True, slots=True)
class ResultReplayed(Event):
    """A duplicate of a completed slot was answered with the stored value, on its own connection only."""

    ring_id: int
    rank: int
    message: int
    offset: int


@dataclass(frozen=True, slots=True)
class FrameStepped(Event):
    """The frame table was asked (`SwitchConfig.trace`). Names are those of the tables, in lower case, for all steps.
    The event comes before the effects of the step."""

    kind: str
    action: str


@dataclass(frozen=True, slots=True)
class ConnectionStepped(Event):
    """The connection table was asked."""

    ring_id: int
    rank: int
    qpn: int
    """destination of the packet"""
    state: str
    cause: str
    """event of the table"""
    next: str
    action: str

    @property
    def knows_rank(self) -> bool:
        """Whether the connection is that of `rank`: the switch saw that it carries messages of the ring."""
        return self.next not in ("unknown", "plain")


@dataclass(frozen=True, slots=True)
class SlotStepped(Event):
    """The slot table was asked."""

    ring_id: int
    slot: int
    message: int
    """message of the packet; RECLAIM: message that the slot served"""
    offset: int
    rank: int
    """-1 for RECLAIM"""
    state: str
    cause: str
    """event of the table"""
    next: str
    table: str = "slot"
    """leaf_slot: that of a leaf"""


@dataclass(frozen=True, slots=True)
class SlotsAtEnd(Event):
    """Reported when the switch stops, or when the ring is removed."""

    ring_id: int
    slots: int
    """2 N L"""
    open: int
    """slots that hold a contribution and no sum yet: must be 0 after a completed job"""
    peak_occupied: int
    """most slots in use at once"""


@dataclass(frozen=True, slots=True)
class SwitchStatistics(Event):
    """Counters of a program since its start."""

    counters: dict[str, int]
    """counters, at least: data_in, results_out, bypassed, forwarded, flooded, and one per reason of PacketIgnored"""


@dataclass(frozen=True, slots=True)
class SwitchSampled(Event):
    """What a switch holds at one moment."""

    slots_in_use: int | None
    """None: its program has none"""
    marks: dict[str, int]
    """frames that got CE so far, by `LINK DIRECTION` of the ports that mark"""


@dataclass(frozen=True, slots=True)
class QueueMarks(Event):
    """What a port did that marks by the length of its queue, trims or knows classes; reported when the switch stops."""

    port: int
    marks: int
    """frames that got CE"""
    peak_waiting: int
    """most frames that waited at once, as modelled"""
    trimmed: int = 0
    """packets that the full queue cut down to their headers"""
    refused: int = 0
    """frames that the full queue dropped, since they cannot be cut, or since it knows classes"""
    early: int = unless_default(0)
    """frames of the low class that the queue dropped although it had room"""


@dataclass(frozen=True, slots=True)
class PlaneStatistics(Event):
    """What the data plane of a node counted; feeds the fidelity check. Times are emulated, except those of the
    machine."""

    frames_in: int
    frames_out: int
    bytes_in: int
    bytes_out: int
    socket_drops: int
    """PACKET_STATISTICS tp_drops: the kernel had no room for us"""
    queue_drops: int
    """frames that the egress queue refused (drop-tail)"""
    cpu_ns: int
    """user and system time of the process, of the machine"""
    wall_ns: int
    """real time of the machine, from start to end"""
    wakeups: int
    lag_p99_ns: int
    """time from a deadline to the handling of it, 99th percentile"""
    lag_max_ns: int
    deadlines: int
    """number of lags; a small number says nothing about the machine"""
    batches: int
    largest_batch: int
    peak_rss_bytes: int
    """most memory that was resident at once, pages shared with the parent included"""
    link_drops: int = 0
    """frames that could not leave because the interface was down or gone"""
    misfits: int = 0
    """frames longer than the MTU, coming (offloads are on?) or going, or without an Ethernet header"""
    waited_ns: int = 0
    """time in which the process was ready to run and other processes had the CPUs; 0 where the kernel does not
    count it"""
    turns: int = 0
    """number of times it was put on a CPU: the waits that `waited_ns` is from"""
    stood_ns: int = unless_default(0)
    """the longest time that the loop stood still beyond its sleep: stopped, swapped out, or without a CPU"""
    stood_until_ns: int = unless_default(0)
    """time when the standstill was over, since the start of the traffic"""
    stands: tuple[tuple[int, int], ...] = unless_default(())
    """(how long, until when) of the longest of these times, that one first"""
    starved_ns: int = unless_default(0)
    """for a NIC: time in which its link was idle although frames waited for it, and that it could not make up for"""
