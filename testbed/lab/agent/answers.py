"""What an agent answers, as values: each request names the type of its answer (`requests`), and one codec writes and
reads it. A field that a later version adds is passed over; one that may be missing has a default here."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.codec import unless_default

__all__ = [
    "AgentIdentity",
    "AgentState",
    "CardAccount",
    "CardStatus",
    "CodeAccount",
    "EndedLease",
    "FileEntry",
    "ProcessStarted",
    "ProcessStatus",
    "ShownLease",
]


@dataclass(frozen=True, slots=True)
class ShownLease:
    """A lease without what proves it."""

    resource: str
    """`host`, or `card NAME`"""
    owner: str
    """owner in a form for people: user@machine"""
    since: float
    end: float
    purpose: str
    """what it was taken for; one that was taken for a run only ends with the run that comes after it"""


@dataclass(frozen=True, slots=True)
class EndedLease(ShownLease):
    ended: tuple[str, ...]
    """what lived by it: RUN/PROCESS, and guards of interfaces"""


@dataclass(frozen=True, slots=True)
class CardStatus:
    card: str
    state: str
    """unknown, empty, programming, programmed, half-programmed"""
    busy: str
    """work that it is busy with; empty: none"""
    bitstream: str | None = unless_default(None)
    """SHA-256 (hex) of the newest one"""
    by: str = unless_default("")
    """the owner who brought it there"""
    since: float | None = unless_default(None)
    problem: str = unless_default("")
    """reason why it is not as it should be"""


@dataclass(frozen=True, slots=True)
class CardAccount:
    """What a card is and does, as it says itself: `CardIdentity` and `CardState` of `switch_nodes.fpga.driver`, flags
    by their names."""

    serial: str
    map_version: str
    features: str
    operations: tuple[tuple[str, str], ...]
    ports: int
    max_rings: int
    max_members: int
    max_macs: int
    max_slots: int
    status: str
    load_state: str
    bitstream: str
    program: str
    program_version: str
    boots: int
    applied: int
    failure: str
    failure_register: str


@dataclass(frozen=True, slots=True)
class AgentIdentity:
    """What agents of every version answer to `hello`, whatever else they say."""

    protocol: int
    version: str
    """version of the package that it runs"""


@dataclass(frozen=True, slots=True)
class AgentState(AgentIdentity):
    pid: int
    uid: int
    clock: float
    """seconds since the epoch, as that host counts"""
    leases: tuple[ShownLease, ...]
    cards: tuple[CardStatus, ...]
    running: tuple[str, ...]
    """RUN/PROCESS"""
    attached: tuple[str, ...]
    """interfaces with a guard"""


@dataclass(frozen=True, slots=True)
class CodeAccount:
    """What processes of a run run."""

    version: str
    python: str
    code: str
    """whether the C core runs, and if not, why"""


@dataclass(frozen=True, slots=True)
class ProcessStarted:
    pid: int


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    state: str = ""
    """finished, failed; empty: neither"""
    exit: int | None = None
    """its exit status; None: it runs"""
    errors: str = ""
    """the end of what it complained about"""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file of a run."""

    name: str
    size: int
    """bytes"""
    sha256: str
