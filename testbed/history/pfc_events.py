"""Facts about priority-based flow control: pauses of links, losses of lossless classes, links that wait in a circle."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.machine import Event

__all__ = [
    "BufferMeasured",
    "FlowsPaused",
    "LinkPaused",
    "PauseAsked",
    "PauseHeld",
    "PfcDeadlocked",
    "PfcDropped",
    "PfcWatchdogActed",
    "PfcWatchdogMeasured",
    "PfcWatchdogRestored",
    "WithoutPfc",
]


@dataclass(frozen=True, slots=True)
class LinkPaused(Event):
    """A pause of one class on one direction of a link is over. The node that obeyed reports it."""

    link: str
    direction: str
    pfc_class: int
    since_ns: int
    """Time when the pause took effect."""
    until_ns: int
    """Time when the sender could go on."""
    root: str
    """What was congested when the pause began: `LINK DIRECTION`, or `slots of SWITCH`, `storm of HOST`, `receiver
    HOST`."""


@dataclass(frozen=True, slots=True)
class PauseAsked(Event):
    """A node of the emulated world begins to pause a class of its neighbour."""

    link: str
    """Link whose sender it pauses."""
    direction: str
    pfc_class: int
    cause: str
    """What is congested, as far as this node can see: as `root` of LinkPaused."""
    is_paused: bool
    """Whether the cause is a link that is itself paused, so that the congestion is further on."""


@dataclass(frozen=True, slots=True)
class PauseHeld(Event):
    """A pause that a switch of the emulated world still asked for when it stopped."""

    link: str
    """Link whose sender it pauses."""
    direction: str
    pfc_class: int
    since_ns: int
    """Time since when nothing of it has left and all that it waits for is paused."""
    used: int
    """Bytes charged below the threshold."""
    headroom_used: int
    """Bytes in the headroom."""
    waiting: dict[str, int]
    """Bytes that wait for paused links, by `LINK DIRECTION` (several: joined by ` + `). `slots: ` in front: in
    aggregation slots."""


@dataclass(frozen=True, slots=True)
class PfcDropped(Event):
    """A buffer dropped a packet of a lossless class."""

    link: str
    """Link by which the packet came."""
    direction: str
    pfc_class: int
    size: int
    """Bytes of the packet."""
    headroom: int
    """Bytes of headroom of this port and class."""
    missing: int
    """Bytes of headroom that were missing."""


@dataclass(frozen=True, slots=True)
class WithoutPfc(Event):
    """The same run with all classes lossy, up to the first packet that a buffer dropped."""

    dropped_ns: int
    """Time of this drop; -1: no buffer dropped a packet."""
    link: str
    """`LINK DIRECTION` by which this packet came; empty: none was dropped."""


@dataclass(frozen=True, slots=True)
class BufferMeasured(Event):
    """What the buffer of a node held of one link and class, reported at the end."""

    link: str
    direction: str
    pfc_class: int
    headroom: int
    """Bytes of headroom."""
    most_used: int
    """Most bytes of headroom in use at one time."""
    pauses_sent: int
    """PFC frames that asked for a pause, also again."""
    dropped: int
    """Packets that the buffer dropped."""


@dataclass(frozen=True, slots=True)
class PfcDeadlocked(Event):
    """Paused links that wait for each other in a circle. None of them can go on, unless a watchdog acts
    or a fault drops PFC frames."""

    cycle: tuple[str, ...]
    """`LINK DIRECTION class N`, each waits for the next one and the last for the first. ` (slots of SWITCH)` follows
    where packets wait in aggregation slots."""
    links: int
    """Number of links that are stuck, also outside of the circle."""


@dataclass(frozen=True, slots=True)
class FlowsPaused(Event):
    """How long frames of each flow stood still at one port because of pauses, reported at the end."""

    link: str
    direction: str
    waited_ns: dict[str, int]
    """Sum over the frames that waited, by `srcip>dstip`."""


@dataclass(frozen=True, slots=True)
class PfcWatchdogActed(Event):
    """The watchdog of a port takes a class out of PFC, which was paused for longer than the detection time."""

    link: str
    direction: str
    pfc_class: int
    action: str
    """drop, forward, alert"""
    dropped: int
    """Frames of the queue that it dropped at once."""


@dataclass(frozen=True, slots=True)
class PfcWatchdogRestored(Event):
    """The class obeys PFC again: no PFC frame came for the restoration time."""

    link: str
    direction: str
    pfc_class: int
    dropped: int
    """Frames that the watchdog dropped since it acted."""


@dataclass(frozen=True, slots=True)
class PfcWatchdogMeasured(Event):
    """How many frames the watchdog of a port dropped in the run, reported at the end."""

    link: str
    direction: str
    pfc_class: int
    dropped: int
