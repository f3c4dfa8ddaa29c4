"""What an agent does for its clients, by name. Whatever changes something wants the token of the lease."""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from testbed.lab.agent.cards import CardBackend, CardOwner
from testbed.lab.agent.facts import host_facts
from testbed.lab.agent.guard import Guards
from testbed.lab.agent.journal import read_json, write_json
from testbed.lab.agent.leases import Lease, LeaseBook, LeaseRefused
from testbed.lab.agent.protocol import PROTOCOL, Message, Refused
from testbed.lab.agent.runs import Runs
from workloads.native.account import account_of
from workloads.native.build import LIBRARIES

__all__ = ["HOST", "Operations", "card_resource"]

HOST = "host"


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
        argv: Callable[[Message], list[str]],
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
        self._acts: dict[str, Callable[[Message], Any]] = {
            "hello": self._hello,
            "code": self._code,
            "facts": lambda message: host_facts(str(base), list(map(str, message["devices"]))),
            "lease": self._lease,
            "release": self._release,
            "break": self._break,
            "cards": lambda _: [card.status() for card in self._cards.values()],
            "program": lambda message: self._card(message).program(message["sha256"], self._holder(message).owner),
            "reset": lambda message: self._card(message).reset(self._holder(message).owner),
            "card": lambda message: self._card(message).act(message["verb"], message.get("fields", {})),
            "counters": lambda message: self._named_card(message).act("counters", {}),
            "clear": self._clear,
            "attach": self._attach,
            "detach": self._detach,
            "prepare": self._prepare,
            "ready": lambda message: self._runs.ready(message["run"]),
            "go": self._go,
            "status": lambda message: self._runs.status(message["run"]),
            "stop": self._stop,
            "files": lambda message: self._runs.files(message["run"]),
            "remove": self._remove,
            "quit": self._quit,
        }

    def perform(self, message: Message) -> Any:
        """Raises Refused; KeyError, TypeError and ValueError for a request that is none."""
        act = self._acts.get(str(message.get("op")))
        if act is None:
            raise Refused(f"this agent does not know {message.get('op')!r}")
        try:
            return act(message)
        except LeaseRefused as refusal:
            raise Refused(_lease_problem(refusal, self._now())) from None

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

    def _hello(self, _: Message) -> Message:
        now = self._now()
        return {
            "protocol": PROTOCOL,
            "version": self.version,
            "pid": os.getpid(),
            "uid": os.getuid(),
            "clock": now,
            "leases": [lease.shown() for lease in self._leases.running(now)],
            "cards": [card.status() for card in self._cards.values()],
            "running": self._runs.running(),
            "attached": self._guards.attached(),
        }

    def _code(self, message: Message) -> Message:
        """What processes of a run run: this package, with the C core where these libraries of it can be had."""
        libraries = [name for name in message["libraries"] if name in LIBRARIES]
        return {"version": self.version, "python": platform.python_version(), "code": account_of(libraries)}

    def _lease(self, message: Message) -> Message:
        with self._lock:
            lease = self._leases.grant(
                message["resource"],
                message["owner"],
                message["token"],
                float(message["seconds"]),
                self._now(),
                str(message.get("purpose", "")),
            )
            self._save()
        return lease.shown()

    def _release(self, message: Message) -> Any:
        with self._lock:
            lease = self._leases.release(message["resource"], message["token"], self._now())
            self._save()
        if lease is None:
            return None
        return {**lease.shown(), "ended": self._end(lease.resource)}

    def _break(self, message: Message) -> Any:
        with self._lock:
            lease = self._leases.break_lease(message["resource"], self._now())
            self._save()
        if lease is None:
            return None
        return {**lease.shown(), "ended": self._end(lease.resource)}

    def _save(self) -> None:
        write_json(self._lease_file, self._leases.dump())

    def _end(self, resource: str) -> list[str]:
        ended = self._runs.stop_lease(resource)
        return ended + [f"guard of {device}" for device in self._guards.detach_lease(resource)]

    def _holder(self, message: Message) -> Lease:
        resource = card_resource(message["card"]) if "card" in message else HOST
        with self._lock:
            return self._leases.check(resource, str(message.get("token", "")), self._now())

    def _named_card(self, message: Message) -> CardOwner:
        if message["card"] not in self._cards:
            raise Refused(f"there is no card {message['card']!r} here; there are: {', '.join(self._cards) or 'none'}")
        return self._cards[message["card"]]

    def _card(self, message: Message) -> CardOwner:
        card = self._named_card(message)
        self._holder(message)
        return card

    def _clear(self, message: Message) -> list[str]:
        """What a client of this lease left that was killed: whoever holds the lease says that nobody needs it."""
        self._holder(message)
        return self._end(HOST)

    def _attach(self, message: Message) -> Any:
        self._holder(message)
        return self._guards.attach(message["device"], int(message["mtu"]), HOST)

    def _detach(self, message: Message) -> bool:
        self._holder(message)
        return self._guards.detach(message["device"])

    def _prepare(self, message: Message) -> Any:
        self._holder(message)
        return self._runs.prepare(
            message["run"], message["name"], self._argv(message), message["config"], HOST, {"PYTHONUNBUFFERED": "1"}
        )

    def _go(self, message: Message) -> None:
        self._holder(message)
        self._runs.go(message["run"])

    def _stop(self, message: Message) -> Any:
        self._holder(message)
        return self._runs.stop(message["run"])

    def _remove(self, message: Message) -> None:
        self._holder(message)
        self._runs.remove(message["run"])

    def _quit(self, message: Message) -> None:
        """For another version to take over; not under somebody's feet."""
        busy = [card.name for card in self._cards.values() if card.busy]
        if busy or self._runs.running():
            raise Refused(f"the agent is busy: {', '.join([*busy, *self._runs.running()])}")
        self.quitting = True


def _lease_problem(refusal: LeaseRefused, now: float) -> str:
    if refusal.lease is None:
        return refusal.problem
    left = max(0, round(refusal.lease.end - now))
    return f"{refusal.problem} for another {left} s; wait, ask, or break it: tb lab release --break"
