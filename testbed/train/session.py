"""The order of a training's collectives: a pure state machine that matches what the ranks post, and says why it cannot
go on.

Rules of this file
- All ranks post the same collectives in the same order. Collective k is matched when every rank has posted its k-th
  one; a matched one for the network is carried, one over the store is only counted.
- A rank may be ahead of others by as much as it likes. It is behind when others have posted what it has not.
- Whatever makes further sums impossible ends the session once and for all: collectives that differ, a rank that is gone
  or silent while others wait for it, a network that failed. Every rank hears the same reason, and so does whoever posts
  later.
- Somebody waits only while a timer is set, but for a network that is not up: whoever brings that up ends.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from typing import TypeAlias

from workloads.ranks.wire import Post

__all__ = ["Action", "Answer", "Carry", "Fail", "Session", "describe"]


@dataclass(frozen=True, slots=True)
class Carry:
    """Sum what the ranks have posted."""

    posts: tuple[Post, ...]
    """by rank"""


@dataclass(frozen=True, slots=True)
class Answer:
    """Tell every rank that the sum of a collective is there."""

    number: int
    network_ns: int


@dataclass(frozen=True, slots=True)
class Fail:
    """Tell every rank that nothing will be summed any more."""

    reason: str


Action: TypeAlias = Carry | Answer | Fail


def describe(post: Post) -> str:
    """For a person: `all_reduce of 1,000 float32 (sum)`."""
    elements = "" if post.elements < 0 else f"{post.elements:,} "
    of = f" of {elements}{post.dtype}" if post.dtype else ""
    return f"{post.what}{of}" + (f" ({post.op})" if post.op else "")


class Session:
    """Of one training of `size` ranks; times in ns of any clock."""

    def __init__(self, size: int, timeout_ns: int) -> None:
        self.size, self._timeout_ns = size, timeout_ns
        self.joined: set[int] = set()
        self.left: dict[int, str] = {}
        """by rank: the error with which it ended; empty: in order"""
        self.failure: str | None = None
        """why nothing is summed any more"""
        self.over_store: Counter[str] = Counter()
        """matched collectives that were not for the network, by what they were"""
        self._network_is_up = True
        self.network_is_late = False
        """it failed because no sum came in time"""
        self.summed = 0
        """all-reduces whose sum is there"""
        self._posts: list[deque[Post]] = [deque() for _ in range(size)]
        """by rank: what is not matched"""
        self._posted = [0] * size
        self._matched = 0
        self._carried: deque[int] = deque()
        """numbers of those in the network"""
        self._since: int | None = None
        """when somebody began to wait for what others have not posted, or for a rank that has not joined"""
        self._carried_since: int | None = None
        self._actions: deque[Action] = deque()

    @property
    def is_over(self) -> bool:
        """Every rank came and left, or it failed."""
        return self.failure is not None or len(self.left) == self.size

    def join(self, rank: int, now: int) -> str | None:
        """Why the rank is not let in; None: it is."""
        if not 0 <= rank < self.size:
            return f"there is no rank {rank}: the scenario has {self.size} workers, ranks 0 to {self.size - 1}"
        if self.failure is not None:
            return self.failure
        if rank in self.joined:
            return f"rank {rank} is there already: one training at a time, and one process for each rank"
        self.joined.add(rank)
        self._watch(now)
        return None

    def post(self, rank: int, post: Post, now: int) -> None:
        """The next collective of a rank that joined."""
        if self.failure is not None:
            return
        if post.number != self._posted[rank]:
            self.fail(f"rank {rank} posted collective {post.number} where number {self._posted[rank]} was due")
            return
        self._posted[rank] += 1
        self._posts[rank].append(post)
        self._match(now)
        self._miss_those_gone()

    def leave(self, rank: int, error: str, now: int) -> None:
        """It takes part in nothing more; `error`: what ended it, empty where it left in order."""
        if rank in self.left:
            return
        self.left[rank] = error
        if error:
            self.fail(f"rank {rank} ended: {error}")
        self._watch(now)
        self._miss_those_gone()

    def done(self, number: int, network_ns: int, now: int) -> None:
        """The network left the sums of a collective, the oldest that it carries."""
        if self.failure is not None:
            return
        self._carried.popleft()
        self._carried_since = now if self._carried else None
        self.summed += 1
        self._actions.append(Answer(number, network_ns))

    def await_network(self) -> None:
        """What is to be summed waits until the network is there, for as long as that takes."""
        self._network_is_up = False

    def network_came_up(self, now: int) -> None:
        self._network_is_up = True
        self._carried_since = now if self._carried else None

    def fail(self, reason: str) -> None:
        if self.failure is None:
            self.failure = reason
            self._since = self._carried_since = None
            self._actions.append(Fail(reason))

    def get_timer(self) -> int | None:
        times = [since for since in (self._since, self._network_since) if since is not None]
        return min(times) + self._timeout_ns if times else None

    def handle_timer(self, now: int) -> None:
        due = self.get_timer()
        if due is None or due > now:
            return
        seconds = f"{self._timeout_ns / 1e9:g} s"
        if self._network_since is not None and self._network_since + self._timeout_ns <= now:
            self.network_is_late = True
            self.fail(f"the network did not bring the sum of collective {self._carried[0]} within {seconds}")
        else:
            self.fail(f"within {seconds} {self._missing()}")

    @property
    def _network_since(self) -> int | None:
        """When the wait for the network began."""
        return self._carried_since if self._network_is_up else None

    def next_action(self) -> Action | None:
        return self._actions.popleft() if self._actions else None

    def _match(self, now: int) -> None:
        while self.failure is None and all(self._posts):
            posts = tuple(waiting.popleft() for waiting in self._posts)
            different = _difference(posts)
            if different:
                self.fail(f"collective {self._matched} differs: {different}")
                return
            if posts[0].in_network:
                self._carried.append(self._matched)
                self._carried_since = now if self._carried_since is None else self._carried_since
                self._actions.append(Carry(posts))
            else:
                self.over_store[posts[0].what] += 1
            self._matched += 1
            self._since = None
        self._watch(now)

    def _watch(self, now: int) -> None:
        """Set the timer where somebody waits for a rank."""
        waits = any(self._posts) or 0 < len(self.joined) < self.size
        if self.failure is not None or not waits:
            self._since = None
        elif self._since is None:
            self._since = now

    def _miss_those_gone(self) -> None:
        """Who waits for one that left waits in vain."""
        if self.failure is not None:
            return
        gone = [rank for rank in self.left if not self._posts[rank]]
        waiting = [rank for rank in range(self.size) if self._posts[rank]]
        if gone and waiting:
            self.fail(
                f"rank {gone[0]} ended after {_amount(self._posted[gone[0]])}, and {_ranks(waiting)} "
                f"{'waits' if len(waiting) == 1 else 'wait'} for it in {self._next_one(waiting[0])}"
            )

    def _next_one(self, rank: int) -> str:
        return f"collective {self._matched}, {describe(self._posts[rank][0])}"

    def _missing(self) -> str:
        absent = [rank for rank in range(self.size) if rank not in self.joined]
        waiting = [rank for rank in range(self.size) if self._posts[rank]]
        if absent:
            there = f"{_ranks(sorted(self.joined))} did" if self.joined else "none did"
            return f"{_ranks(absent)} did not join; {there}"
        behind = [rank for rank in range(self.size) if not self._posts[rank]]
        return (
            f"{_ranks(behind)} did not post {self._next_one(waiting[0])}, for which {_ranks(waiting)} "
            f"{'waits' if len(waiting) == 1 else 'wait'}; the last of {_ranks(behind[:1])}: "
            f"{_amount(self._posted[behind[0]])}"
        )


def _difference(posts: tuple[Post, ...]) -> str:
    """In what the ranks' posts differ; empty: in nothing that matters."""
    kinds: dict[tuple[object, ...], list[int]] = {}
    for rank, post in enumerate(posts):
        kinds.setdefault((post.what, post.dtype, post.op, post.elements, post.in_network), []).append(rank)
    if len(kinds) == 1:
        return ""
    return "; ".join(f"{_ranks(ranks)} posted {describe(posts[ranks[0]])}" for ranks in kinds.values())


def _ranks(ranks: list[int]) -> str:
    names = ", ".join(map(str, ranks[:8])) + (f" and {len(ranks) - 8} more" if len(ranks) > 8 else "")
    return f"rank{'' if len(ranks) == 1 else 's'} {names}"


def _amount(collectives: int) -> str:
    return f"{collectives:,} collective{'' if collectives == 1 else 's'}"
