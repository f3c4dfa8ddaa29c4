"""What a timeline is made of. Times are ns since the start of the run."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["KINDS", "Lane", "Mark", "MarkKind", "MessageLife", "Span", "Timeline"]


@dataclass(frozen=True, slots=True)
class MarkKind:
    """A kind of mark."""

    glyph: str
    """glyph in the overview of the text"""
    meaning: str
    color: str
    trouble: bool
    """what a person who looks for a fault must not miss"""


KINDS: dict[str, MarkKind] = {
    "fail": MarkKind("F", "failure", "#111111", True),
    "fault": MarkKind("x", "fault hit", "#c81e1e", True),
    "timeout": MarkKind("T", "timer ran out", "#c2410c", True),
    "back": MarkKind("G", "sender goes back", "#ea8a1e", True),
    "nak": MarkKind("N", "NAK sent", "#7e3ab5", True),
    "trimmed": MarkKind("c", "packet came trimmed", "#b4540a", True),
    "reject": MarkKind("j", "frame rejected", "#a61e5c", True),
    "ignored": MarkKind("i", "packet ignored", "#8a6d3b", True),
    "replay": MarkKind("r", "result replayed", "#0f8a8a", True),
    "inferred": MarkKind("f", "FIRST missing", "#5b6b12", True),
    "result": MarkKind("o", "result received", "#2563ab", False),
    "ack": MarkKind("a", "own message ACKed", "#2f8f46", False),
    "post": MarkKind("p", "message posted", "#6b7480", False),
    "sum": MarkKind("s", "message summed", "#2f8f46", False),
    "turn": MarkKind("=", "iteration", "#6b7480", False),
    "odd": MarkKind("~", "unusual step", "#7c6f2a", False),
    "step": MarkKind("-", "step of a table", "#9aa4ad", False),
}
"""kinds by name, the weightiest first: where marks share a place, that one is shown"""


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened at one time."""

    t: int
    kind: str
    """key of `KINDS`"""
    label: str
    """name of the mark; marks with the same name are shown together"""
    number: int = -1
    """message; -1: none"""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """A state that lasted."""

    start: int
    stop: int
    state: str
    """state of a sender: sending, retrying, rnr_wait, error; of a receiver: gap, error. Of a slot or message: open,
    done; of a node or link: fault; of an iteration: turn; of a message under way: flight;
    of a node of a trace: computing, communication"""
    title: str


@dataclass(slots=True)
class Lane:
    """Marks and spans in time order."""

    name: str
    node: str
    qpn: int = -1
    slot: int = -1
    marks: list[Mark] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)


@dataclass(slots=True)
class MessageLife:
    """One message in one switch."""

    node: str
    message: int
    first: int
    """first contribution that came, or (without trace) when the first host posted it"""
    last: int
    """time of the last thing it did"""
    complete: int | None = None
    """time when its last slot had its sum"""
    gone: int | None = None
    how: str = ""
    """what `gone` is: reclaimed (last slot), received (by the last host; without trace), lost (the switch died)"""
    row: int = 0
    """messages of one row follow each other"""
    counts: dict[str, int] = field(default_factory=dict)
    """replays, inferred, and ignored packets by reason"""
    missing: str = ""
    """what an incomplete one waits for"""


@dataclass(slots=True)
class Timeline:
    hosts: tuple[str, ...]
    """hosts in ring order"""
    switches: tuple[str, ...]
    iterations: list[Span]
    """spans from the first host that began to the last that had the result"""
    faults: Lane
    """faults of nodes and links, and hits that belong to no queue pair"""
    qps: list[Lane]
    """lanes per host: to its successor, then from its predecessor; see `lanes_are`"""
    messages: list[MessageLife]
    switch_marks: dict[str, list[Mark]]
    """marks of each switch, `number` being the message"""
    slots: list[Lane]
    """lanes of the slots of all switches, by number; empty without trace"""
    start: int
    stop: int
    traced: bool
    notes: list[str] = field(default_factory=list)
    """what was left out, and why"""
    lanes_are: str = "queue pairs"
    """what `qps` holds; over datagrams a lane for each node, whose number is -1"""
