"""What a client asks of an agent, as values: in JSON `{"op": ..., fields}`. What is no request is told with the place
of all that is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from testbed.lab.agent.protocol import Message, Refused
from workloads.codec import NOTHING, PLAIN, Misfit, Problem

__all__ = [
    "ActOnCard",
    "AttachGuard",
    "BreakLease",
    "ClearHost",
    "DetachGuard",
    "EndProcesses",
    "Hello",
    "IsReady",
    "ListCards",
    "ListFiles",
    "PrepareProcess",
    "ProgramCard",
    "Quit",
    "ReadCounters",
    "ReleaseLease",
    "RemoveRun",
    "Request",
    "ResetCard",
    "ShowStatus",
    "StartProcesses",
    "TakeLease",
    "WhichCode",
    "WhichFacts",
    "read_request",
    "write_request",
]


_LONGEST = 40
"""of what is shown of a wrong value"""


@dataclass(frozen=True, slots=True)
class Request:
    op: ClassVar[str]


@dataclass(frozen=True, slots=True)
class Hello(Request):
    op = "hello"


@dataclass(frozen=True, slots=True)
class WhichCode(Request):
    op = "code"
    libraries: tuple[str, ...]
    """of the C core"""


@dataclass(frozen=True, slots=True)
class WhichFacts(Request):
    op = "facts"
    devices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TakeLease(Request):
    op = "lease"
    resource: str
    owner: str
    token: str
    seconds: float
    purpose: str = ""


@dataclass(frozen=True, slots=True)
class ReleaseLease(Request):
    op = "release"
    resource: str
    token: str


@dataclass(frozen=True, slots=True)
class BreakLease(Request):
    op = "break"
    resource: str


@dataclass(frozen=True, slots=True)
class ListCards(Request):
    op = "cards"


@dataclass(frozen=True, slots=True)
class ProgramCard(Request):
    op = "program"
    card: str
    sha256: str
    """of a bitstream that was sent before"""
    token: str


@dataclass(frozen=True, slots=True)
class ResetCard(Request):
    op = "reset"
    card: str
    token: str


@dataclass(frozen=True, slots=True)
class ActOnCard(Request):
    op = "card"
    card: str
    verb: str
    token: str
    fields: dict[str, Any] = field(default_factory=dict)
    """of the verb"""


@dataclass(frozen=True, slots=True)
class ReadCounters(Request):
    op = "counters"
    card: str


@dataclass(frozen=True, slots=True)
class ClearHost(Request):
    """End what a client of this lease left that was killed."""

    op = "clear"
    token: str


@dataclass(frozen=True, slots=True)
class AttachGuard(Request):
    op = "attach"
    device: str
    mtu: int
    token: str


@dataclass(frozen=True, slots=True)
class DetachGuard(Request):
    op = "detach"
    device: str
    token: str


@dataclass(frozen=True, slots=True)
class PrepareProcess(Request):
    op = "prepare"
    run: str
    name: str
    kind: str
    """worker"""
    device: str
    config: str
    """the text of its configuration"""
    token: str
    capture: bool = False


@dataclass(frozen=True, slots=True)
class IsReady(Request):
    op = "ready"
    run: str


@dataclass(frozen=True, slots=True)
class StartProcesses(Request):
    op = "go"
    run: str
    token: str


@dataclass(frozen=True, slots=True)
class ShowStatus(Request):
    op = "status"
    run: str


@dataclass(frozen=True, slots=True)
class EndProcesses(Request):
    op = "stop"
    run: str
    token: str


@dataclass(frozen=True, slots=True)
class ListFiles(Request):
    op = "files"
    run: str


@dataclass(frozen=True, slots=True)
class RemoveRun(Request):
    op = "remove"
    run: str
    token: str


@dataclass(frozen=True, slots=True)
class Quit(Request):
    """Another version takes over."""

    op = "quit"


_KINDS: Mapping[str, type[Request]] = {
    kind.op: kind
    for kind in (
        Hello, WhichCode, WhichFacts, TakeLease, ReleaseLease, BreakLease, ListCards, ProgramCard, ResetCard,
        ActOnCard, ReadCounters, ClearHost, AttachGuard, DetachGuard, PrepareProcess, IsReady, StartProcesses,
        ShowStatus, EndProcesses, ListFiles, RemoveRun, Quit,
    )
}  # fmt: skip


def write_request(request: Request) -> Message:
    return {"op": request.op, **PLAIN.encode_fields(request)}


def read_request(message: Message) -> Request:
    """The inverse. Fields that it does not know are passed over. Raises Refused for an operation that there is none of,
    and for a request with wrong fields."""
    op = message.get("op")
    kind = _KINDS.get(op) if isinstance(op, str) else None
    if kind is None:
        raise Refused(f"this agent does not know {op!r}")
    try:
        return PLAIN.decode(kind, message)
    except Misfit as misfit:
        raise Refused(f"not understood: {op}: {'; '.join(_told(problem) for problem in misfit.problems)}") from None


def _told(problem: Problem) -> str:
    place = ".".join(map(str, problem.path))
    if problem.found is NOTHING:
        return f"{place} {problem.problem}"
    allowed = f"; allowed: {problem.allowed}" if problem.allowed else ""
    return f"{place} is {problem.problem}: {str(problem.found)[:_LONGEST]!r}{allowed}"
