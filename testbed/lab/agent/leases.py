"""Which client may use what until when. No I/O: time is passed in (seconds since the epoch, so that a lease outlives
the agent).

A token is the proof of a lease; only its hash is kept. A client with the token of a lease that still runs may renew it,
so a client that crashed goes on where it was. No other client gets the resource before its end, except by
`break_lease`, which says whose it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from testbed.lab.agent.answers import ShownLease
from workloads.codec import PLAIN

__all__ = ["MAX_SECONDS", "Lease", "LeaseBook", "LeaseRefused"]

MAX_SECONDS = 7 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Lease:
    resource: str
    """`host`, or `card NAME`"""
    owner: str
    """owner in a form for people: user@machine"""
    since: float
    end: float
    token_hash: str
    purpose: str = ""
    """what it was taken for; one that was taken for a run only ends with the run that comes after it"""

    def shown(self) -> ShownLease:
        """Without what proves it."""
        return ShownLease(self.resource, self.owner, self.since, self.end, self.purpose)


class LeaseRefused(Exception):
    """`lease`: the present lease of the resource, if there is one."""

    def __init__(self, problem: str, lease: Lease | None = None) -> None:
        self.problem, self.lease = problem, lease
        super().__init__(problem)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class LeaseBook:
    def __init__(self, resources: Iterable[str]) -> None:
        self._resources = tuple(resources)
        self._leases: dict[str, Lease] = {}

    def grant(self, resource: str, owner: str, token: str, seconds: float, now: float, purpose: str = "") -> Lease:
        """New, or renewed when the token is that of the lease that runs; that never makes it shorter. Raises
        LeaseRefused."""
        self._check(resource)
        if not 0 < seconds <= MAX_SECONDS:
            raise LeaseRefused(f"a lease lasts more than 0 and at most {MAX_SECONDS:g} s")
        if len(token) < 16 or not owner or len(owner) > 200 or not owner.isprintable():
            raise LeaseRefused("a lease needs an owner, and a token of 16 characters or more")
        held = self.holder(resource, now)
        if held is not None and held.token_hash != _hash(token):
            raise LeaseRefused(_held(held), held)
        end = max(now + seconds, held.end) if held else now + seconds
        if held is not None:
            purpose = min(purpose, held.purpose)  # a plain one stays plain
        lease = Lease(resource, owner, held.since if held else now, end, _hash(token), purpose[:100])
        self._leases[resource] = lease
        return lease

    def holder(self, resource: str, now: float) -> Lease | None:
        lease = self._leases.get(resource)
        return lease if lease is not None and now < lease.end else None

    def check(self, resource: str, token: str, now: float) -> Lease:
        """The lease, when the token proves it. Raises LeaseRefused."""
        self._check(resource)
        held = self.holder(resource, now)
        if held is None:
            raise LeaseRefused(f"{resource} is not leased; first: tb lab lease")
        if held.token_hash != _hash(token):
            raise LeaseRefused(_held(held), held)
        return held

    def release(self, resource: str, token: str, now: float) -> Lease | None:
        """None when it has ended already. Raises LeaseRefused when another client holds it."""
        self._check(resource)
        if self.holder(resource, now) is None:
            return None
        lease = self.check(resource, token, now)
        del self._leases[resource]
        return lease

    def break_lease(self, resource: str, now: float) -> Lease | None:
        """End it, regardless of its holder; says whose it was."""
        self._check(resource)
        held = self.holder(resource, now)
        self._leases.pop(resource, None)
        return held

    def expire(self, now: float) -> tuple[Lease, ...]:
        """Forget those whose end has come; each is reported once."""
        over = tuple(lease for lease in self._leases.values() if lease.end <= now)
        for lease in over:
            del self._leases[lease.resource]
        return over

    def running(self, now: float) -> tuple[Lease, ...]:
        return tuple(lease for lease in self._leases.values() if now < lease.end)

    def dump(self) -> list[dict[str, Any]]:
        return [PLAIN.encode_fields(lease) for lease in self._leases.values()]

    def load(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """What `dump` gave; resources that are no longer here are forgotten. Raises Misfit."""
        for entry in entries:
            lease = PLAIN.decode(Lease, entry)
            if lease.resource in self._resources:
                self._leases[lease.resource] = lease

    def _check(self, resource: str) -> None:
        if resource not in self._resources:
            raise LeaseRefused(f"there is no {resource!r} here; there are: {', '.join(self._resources)}")


def _held(lease: Lease) -> str:
    return f"{lease.resource} is leased by {lease.owner}"
