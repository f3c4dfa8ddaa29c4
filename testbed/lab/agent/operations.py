"""What an agent does for its clients, by name. Whatever changes something wants the token of the lease."""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from testbed.lab.agent.answers import (
    AgentState,
    CardStatus,
    CodeAccount,
    EndedLease,
    FileEntry,
    ProcessStarted,
    ProcessStatus,
    ShownLease,
)
from testbed.lab.agent.cards import CardBackend, CardOwner
from testbed.lab.agent.facts import HostFacts, InterfaceFacts, host_facts
from testbed.lab.agent.guard import Guards
from testbed.lab.agent.journal import read_json, write_json
from testbed.lab.agent.leases import Lease, LeaseBook, LeaseRefused
from testbed.lab.agent.protocol import PROTOCOL, AgentRefused
from testbed.lab.agent.requests import (
    ActOnCard,
    AttachGuard,
    BreakLease,
    ClearHost,
    DetachGuard,
    EndProcesses,
    Hello,
    IsReady,
    ListCards,
    ListFiles,
    PrepareProcess,
    ProgramCard,
    Quit,
    ReadCounters,
    ReleaseLease,
    RemoveRun,
    Request,
    ResetCard,
    ShowStatus,
    StartProcesses,
    TakeLease,
    WhichCode,
    WhichFacts,
)
from testbed.lab.agent.runs import Runs
from workloads.native.account import account_of
from workloads.native.build import LIBRARIES

__all__ = ["HOST", "Operations", "card_resource"]

HOST = "host"
_Answer = TypeVar("_Answer")


def card_resource(card: str) -> str:
    return f"card {card}"


class Operations:
    """`cards`: how the backend of each is opened. `argv`: what a process of a run is, the path of its configuration
    behind it. Thread-safe."""

    def __init__(
        self,
        base: Path,
        version: str,
        cards: Mapping[str, Callable[[], CardBackend]],
        argv: Callable[[PrepareProcess], list[str]],
        now: Callable[[], float] = time.time,
    ) -> None:
        for name in ("state", "runs", "bitstreams"):
            (base / name).mkdir(parents=True, exist_ok=True, mode=0o700)
        self.base, self.version, self._now, self._argv = base, version, now, argv
        self.quitting = False
        self._cards = {name: CardOwner(name, base, opened, now) for name, opened in cards.items()}
        self._runs, self._guards = Runs(base), Guards()
        self._leases = LeaseBook((HOST, *map(card_resource, cards)))
        self._lease_file = base / "state" / "leases.json"
        self._leases.load(read_json(self._lease_file, []))
        self._lock = threading.RLock()
        self._acts: Mapping[type[Request[Any]], Callable[[Any], Any]] = {
            Hello: self._hello,
            WhichCode: self._code,
            WhichFacts: self._facts,
            TakeLease: self._lease,
            ReleaseLease: self._release,
            BreakLease: self._break,
            ListCards: self._list_cards,
            ProgramCard: self._program,
            ResetCard: self._reset,
            ActOnCard: self._act,
            ReadCounters: self._counters,
            ClearHost: self._clear,
            AttachGuard: self._attach,
            DetachGuard: self._detach,
            PrepareProcess: self._prepare,
            IsReady: self._ready,
            StartProcesses: self._go,
            ShowStatus: self._status,
            EndProcesses: self._stop,
            ListFiles: self._files,
            RemoveRun: self._remove,
            Quit: self._quit,
        }

    def perform(self, request: Request[_Answer]) -> _Answer:
        """Raises Refused; KeyError, TypeError and ValueError for a verb of a card
        with fields that are none."""
        try:
            return cast(_Answer, self._acts[type(request)](request))
        except LeaseRefused as refusal:
            raise AgentRefused(_lease_problem(refusal, self._now())) from None

    def sweep(self) -> None:
        """Leases whose end has come take with them what lived by them."""
        with self._lock:
            over = self._leases.expire(self._now())
            if over:
                self._save()
        for lease in over:
            self._end(lease.resource)

    def close(self) -> None:
        for resource in (HOST, *map(card_resource, self._cards)):
            self._end(resource)

    def _hello(self, _: Hello) -> AgentState:
        now = self._now()
        return AgentState(
            protocol=PROTOCOL,
            version=self.version,
            pid=os.getpid(),
            uid=os.getuid(),
            clock=now,
            leases=tuple(lease.shown() for lease in self._leases.running(now)),
            cards=self._card_states(),
            running=self._runs.running(),
            attached=self._guards.attached(),
        )

    def _code(self, request: WhichCode) -> CodeAccount:
        """What processes of a run run: this package, with the C core where these libraries of it can be had."""
        libraries = [name for name in request.libraries if name in LIBRARIES]
        return CodeAccount(self.version, platform.python_version(), account_of(libraries))

    def _facts(self, request: WhichFacts) -> HostFacts:
        return host_facts(str(self.base), request.devices)

    def _lease(self, request: TakeLease) -> ShownLease:
        with self._lock:
            lease = self._leases.grant(
                request.resource, request.owner, request.token, request.seconds, self._now(), request.purpose
            )
            self._save()
        return lease.shown()

    def _release(self, request: ReleaseLease) -> EndedLease | None:
        with self._lock:
            lease = self._leases.release(request.resource, request.token, self._now())
            self._save()
        return self._ended(lease)

    def _break(self, request: BreakLease) -> EndedLease | None:
        with self._lock:
            lease = self._leases.break_lease(request.resource, self._now())
            self._save()
        return self._ended(lease)

    def _ended(self, lease: Lease | None) -> EndedLease | None:
        if lease is None:
            return None
        ended = self._end(lease.resource)
        return EndedLease(lease.resource, lease.owner, lease.since, lease.end, lease.purpose, ended)

    def _save(self) -> None:
        write_json(self._lease_file, self._leases.dump())

    def _end(self, resource: str) -> tuple[str, ...]:
        ended = self._runs.stop_lease(resource)
        return (*ended, *(f"guard of {device}" for device in self._guards.detach_lease(resource)))

    def _holder(self, token: str, resource: str = HOST) -> Lease:
        with self._lock:
            return self._leases.check(resource, token, self._now())

    def _named_card(self, name: str) -> CardOwner:
        if name not in self._cards:
            raise AgentRefused(f"there is no card {name!r} here; there are: {', '.join(self._cards) or 'none'}")
        return self._cards[name]

    def _card_states(self) -> tuple[CardStatus, ...]:
        return tuple(card.status() for card in self._cards.values())

    def _list_cards(self, _: ListCards) -> tuple[CardStatus, ...]:
        return self._card_states()

    def _program(self, request: ProgramCard) -> CardStatus:
        card = self._named_card(request.card)
        return card.program(request.sha256, self._holder(request.token, card_resource(request.card)).owner)

    def _reset(self, request: ResetCard) -> CardStatus:
        card = self._named_card(request.card)
        return card.reset(self._holder(request.token, card_resource(request.card)).owner)

    def _act(self, request: ActOnCard) -> Any:
        card = self._named_card(request.card)
        self._holder(request.token, card_resource(request.card))
        return card.act(request.verb, request.fields)

    def _counters(self, request: ReadCounters) -> Any:
        return self._named_card(request.card).act("counters", {})

    def _clear(self, request: ClearHost) -> tuple[str, ...]:
        """The holder of the lease says that it is not needed."""
        self._holder(request.token)
        return self._end(HOST)

    def _attach(self, request: AttachGuard) -> InterfaceFacts:
        self._holder(request.token)
        return self._guards.attach(request.device, request.mtu, request.ports, HOST)

    def _detach(self, request: DetachGuard) -> bool:
        self._holder(request.token)
        return self._guards.detach(request.device)

    def _prepare(self, request: PrepareProcess) -> ProcessStarted:
        self._holder(request.token)
        return self._runs.prepare(
            request.run, request.name, self._argv(request), request.config, HOST, {"PYTHONUNBUFFERED": "1"}
        )

    def _ready(self, request: IsReady) -> dict[str, bool]:
        return self._runs.ready(request.run)

    def _go(self, request: StartProcesses) -> None:
        self._holder(request.token)
        self._runs.go(request.run)

    def _status(self, request: ShowStatus) -> dict[str, ProcessStatus]:
        return self._runs.status(request.run)

    def _stop(self, request: EndProcesses) -> dict[str, int]:
        self._holder(request.token)
        return self._runs.stop(request.run)

    def _files(self, request: ListFiles) -> tuple[FileEntry, ...]:
        return self._runs.files(request.run)

    def _remove(self, request: RemoveRun) -> None:
        self._holder(request.token)
        self._runs.remove(request.run)

    def _quit(self, _: Quit) -> None:
        """For another version to take over; refused while the agent is busy."""
        busy = [card.name for card in self._cards.values() if card.busy]
        if busy or self._runs.running():
            raise AgentRefused(f"the agent is busy: {', '.join([*busy, *self._runs.running()])}")
        self.quitting = True


def _lease_problem(refusal: LeaseRefused, now: float) -> str:
    if refusal.lease is None:
        return refusal.problem
    left = max(0, round(refusal.lease.end - now))
    return f"{refusal.problem} for another {left} s; wait, ask, or break it: tb lab release --break"
