"""What hears of a training: the base of all that keeps a record of it."""

from __future__ import annotations

from testbed.train.session import Carry
from workloads.ranks.wire import Agreed, Group, Post

__all__ = ["Listener", "Listeners"]


class Listener:
    """Each method is called when that happens, and does nothing here. Times in ns of CLOCK_MONOTONIC."""

    def renew(self) -> None:
        """The next training begins."""

    def asked(self, rank: int, group: Group) -> None:
        """A rank wants a process group."""

    def posted(self, rank: int, post: Post, now: int) -> None:
        """A rank posted a collective."""

    def agreed(self, rank: int, agreed: Agreed, now: int) -> None:
        """A rank hears that its group agreed on a collective over the store, or made or destroyed the group."""

    def carried(self, carry: Carry, now: int) -> None:
        """The network begins to run a collective."""

    def answered(self, rank: int, number: int, now: int) -> None:
        """A rank hears that its collective in the network is over."""

    def failed(self) -> None:
        """The training cannot go on."""


class Listeners(Listener):
    """Several of them."""

    def __init__(self, *each: Listener) -> None:
        self._each = each

    def renew(self) -> None:
        for listener in self._each:
            listener.renew()

    def asked(self, rank: int, group: Group) -> None:
        for listener in self._each:
            listener.asked(rank, group)

    def posted(self, rank: int, post: Post, now: int) -> None:
        for listener in self._each:
            listener.posted(rank, post, now)

    def agreed(self, rank: int, agreed: Agreed, now: int) -> None:
        for listener in self._each:
            listener.agreed(rank, agreed, now)

    def carried(self, carry: Carry, now: int) -> None:
        for listener in self._each:
            listener.carried(carry, now)

    def answered(self, rank: int, number: int, now: int) -> None:
        for listener in self._each:
            listener.answered(rank, number, now)

    def failed(self) -> None:
        for listener in self._each:
            listener.failed()
