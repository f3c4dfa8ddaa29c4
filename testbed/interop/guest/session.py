"""What every kind of case offers to the runner."""

from __future__ import annotations

import time
from typing import Protocol

from testbed.interop.protocol import CaseRequest, CaseResult, Mailbox, QpNames

__all__ = ["CancelSign", "GuestSession"]


class CancelSign:
    """Whether the host wants this case to end; asks the folder at most every 20 ms."""

    def __init__(self, mailbox: Mailbox, number: int) -> None:
        self._mailbox, self._number, self._asked = mailbox, number, 0.0
        self._announced: set[str] = set()

    def __call__(self) -> bool:
        now = time.monotonic()
        if now - self._asked < 0.02:
            return False
        self._asked = now
        return self._mailbox.has(self._number, "cancel")

    def announce_done(self) -> None:
        """Report to the host that the work here is done, though the case goes on for the sake of peers. May be called
        again."""
        self.announce("done")

    def announce(self, what: str) -> None:
        """Report to the host once that something has come about."""
        if what not in self._announced:
            self._announced.add(what)
            self._mailbox.put(self._number, what, {})


class GuestSession(Protocol):
    """One case, made by the `open_session(request)` of its kind's module."""

    @property
    def names(self) -> tuple[QpNames, ...]: ...

    def run(self, request: CaseRequest, cancelled: CancelSign) -> CaseResult:
        """Until it is over, cancelled or its limit has passed."""
        ...

    def close(self) -> None: ...
