"""What a client asks of an agent, as values: in JSON `{"op": ..., fields}`. Each names the type of its answer. Problems
of an invalid request or answer are reported with the place of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar, cast, get_args

from testbed.lab.agent.answers import (
    AgentState,
    CardAccount,
    CardStatus,
    CodeAccount,
    EndedLease,
    FileEntry,
    ProcessStarted,
    ProcessStatus,
    ShownLease,
)
from testbed.lab.agent.facts import HostFacts, InterfaceFacts
from testbed.lab.agent.protocol import AgentRefused, Message
from workloads.codec import NOTHING, PLAIN, CodecProblem, Misfit

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
    "describe_misfit",
    "read_answer",
    "read_request",
    "write_request",
]


_LONGEST = 40
"""greatest length of what is shown of a wrong value"""
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Request(Generic[_Answer]):
    """Of the type of its answer."""

    op: ClassVar[str]


@dataclass(frozen=True, slots=True)
class Hello(Request[AgentState]):
    op = "hello"


@dataclass(frozen=True, slots=True)
class WhichCode(Request[CodeAccount]):
    op = "code"
    libraries: tuple[str, ...]
    """libraries of the C core"""


@dataclass(frozen=True, slots=True)
class WhichFacts(Request[HostFacts]):
    op = "facts"
    devices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TakeLease(Request[ShownLease]):
    op = "lease"
    resource: str
    owner: str
    token: str
    seconds: float
    purpose: str = ""


@dataclass(frozen=True, slots=True)
class ReleaseLease(Request[EndedLease | None]):
    op = "release"
    resource: str
    token: str


@dataclass(frozen=True, slots=True)
class BreakLease(Request[EndedLease | None]):
    op = "break"
    resource: str


@dataclass(frozen=True, slots=True)
class ListCards(Request[tuple[CardStatus, ...]]):
    op = "cards"


@dataclass(frozen=True, slots=True)
class ProgramCard(Request[CardStatus]):
    op = "program"
    card: str
    sha256: str
    """hash of a bitstream that was sent before"""
    token: str


@dataclass(frozen=True, slots=True)
class ResetCard(Request[CardStatus]):
    op = "reset"
    card: str
    token: str


@dataclass(frozen=True, slots=True)
class ActOnCard(Request[Any]):
    op = "card"
    card: str
    verb: str
    """configure, start, stop, counters, state, configuration, read, write"""
    token: str
    fields: dict[str, Any] = field(default_factory=dict)
    """fields of the verb"""


@dataclass(frozen=True, slots=True)
class ReadCounters(Request[dict[str, int]]):
    op = "counters"
    card: str


@dataclass(frozen=True, slots=True)
class ClearHost(Request[tuple[str, ...]]):
    """End what a client of this lease left that was killed."""

    op = "clear"
    token: str


@dataclass(frozen=True, slots=True)
class AttachGuard(Request[InterfaceFacts]):
    op = "attach"
    device: str
    mtu: int
    ports: tuple[int, ...]
    """of UDP, on which the kernel must not answer"""
    token: str


@dataclass(frozen=True, slots=True)
class DetachGuard(Request[bool]):
    op = "detach"
    device: str
    token: str


@dataclass(frozen=True, slots=True)
class PrepareProcess(Request[ProcessStarted]):
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
    dilation: int = 1
    """real seconds per second of its time"""


@dataclass(frozen=True, slots=True)
class IsReady(Request[dict[str, bool]]):
    op = "ready"
    run: str


@dataclass(frozen=True, slots=True)
class StartProcesses(Request[None]):
    op = "go"
    run: str
    token: str


@dataclass(frozen=True, slots=True)
class ShowStatus(Request[dict[str, ProcessStatus]]):
    op = "status"
    run: str


@dataclass(frozen=True, slots=True)
class EndProcesses(Request[dict[str, int]]):
    op = "stop"
    run: str
    token: str


@dataclass(frozen=True, slots=True)
class ListFiles(Request[tuple[FileEntry, ...]]):
    op = "files"
    run: str


@dataclass(frozen=True, slots=True)
class RemoveRun(Request[None]):
    op = "remove"
    run: str
    token: str


@dataclass(frozen=True, slots=True)
class Quit(Request[None]):
    """Another version takes over."""

    op = "quit"


_CARD_ANSWERS: Mapping[str, Any] = {
    "state": CardAccount,
    "counters": dict[str, int],
    "configuration": tuple[tuple[int, int, int, int], ...],
}
"""answer types by verb; the answers of the other verbs are not read. A configuration: ring, members, L, N of each that
is active"""
_KINDS: Mapping[str, type[Request[Any]]] = {
    kind.op: kind
    for kind in (
        Hello, WhichCode, WhichFacts, TakeLease, ReleaseLease, BreakLease, ListCards, ProgramCard, ResetCard,
        ActOnCard, ReadCounters, ClearHost, AttachGuard, DetachGuard, PrepareProcess, IsReady, StartProcesses,
        ShowStatus, EndProcesses, ListFiles, RemoveRun, Quit,
    )
}  # fmt: skip


def write_request(request: Request[Any]) -> Message:
    return {"op": request.op, **PLAIN.encode_fields(request)}


def read_request(message: Message, kinds: Mapping[str, type[Request[Any]]] = _KINDS) -> Request[Any]:
    """The inverse. Fields that it does not know are passed over. Raises Refused for an operation that there is none of
    (by name in `kinds`), and for a request with wrong fields."""
    op = message.get("op")
    kind = kinds.get(op) if isinstance(op, str) else None
    if kind is None:
        raise AgentRefused(f"this agent does not know {op!r}")
    try:
        return PLAIN.decode(kind, message)
    except Misfit as misfit:
        raise AgentRefused(f"not understood: {op}: {describe_misfit(misfit)}") from None


def read_answer(request: Request[_Answer], value: Any) -> _Answer:
    """`value`: the JSON of an answer to this request. Raises Misfit."""
    kind = type(request)
    (hint,) = get_args(vars(kind)["__orig_bases__"][0])
    if isinstance(request, ActOnCard):
        hint = _CARD_ANSWERS.get(request.verb, Any)
    return cast(_Answer, PLAIN.reader(hint)(value, ""))


def describe_misfit(misfit: Misfit) -> str:
    """Every problem with its place, for people."""
    return "; ".join(_describe(problem) for problem in misfit.problems)


def _describe(problem: CodecProblem) -> str:
    place = ".".join(map(str, problem.path)) or "it"
    if problem.found is NOTHING:
        return f"{place} {problem.problem}"
    allowed = f"; allowed: {problem.allowed}" if problem.allowed else ""
    return f"{place} is {problem.problem}: {str(problem.found)[:_LONGEST]!r}{allowed}"
