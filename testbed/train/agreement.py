"""What the ranks of one process group posted and what is missing: pure queues, without a clock of their own."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from testbed.train.words import describe, ranks_of, wait_for
from workloads.ranks.wire import Group, Post

__all__ = ["CallLine", "Mail", "SendAndRecv", "Wait"]


@dataclass(frozen=True, slots=True)
class Wait:
    """Ranks that wait for others."""

    since: int
    limit_s: float
    """time limit that the waiting ranks set themselves; 0: none"""
    text: str
    """text that says which ranks did not do what, and which wait for it"""

    def due(self, timeout_ns: int) -> int:
        return self.since + self.limit_ns(timeout_ns)

    def limit_ns(self, timeout_ns: int) -> int:
        return min(timeout_ns, round(self.limit_s * 1e9)) if self.limit_s > 0 else timeout_ns


class CallLine:
    """Collectives of a group: the k-th ones of all its ranks belong together. Or the making of a group."""

    def __init__(self, ranks: tuple[int, ...]) -> None:
        self.ranks = ranks
        self._posts: dict[int, deque[Post | Group]] = {rank: deque() for rank in ranks}
        self._since = 0
        """time when the oldest that waits came, or of the last match"""

    def add(self, rank: int, post: Post | Group, now: int) -> None:
        if not any(self._posts.values()):
            self._since = now
        self._posts[rank].append(post)

    def match(self, now: int) -> dict[int, Post | Group] | None:
        """Take what all ranks have posted, by rank."""
        if not all(self._posts.values()):
            return None
        self._since = now
        return {rank: posts.popleft() for rank, posts in self._posts.items()}

    @property
    def behind(self) -> list[int]:
        """Ranks that others wait for."""
        return [rank for rank in self.ranks if not self._posts[rank]] if self.waiting else []

    @property
    def waiting(self) -> list[int]:
        return [rank for rank in self.ranks if self._posts[rank]]

    def next_one(self, number: int, size: int) -> str:
        """What the ranks wait in. `number`: of the next collective; `size`: ranks of the whole training."""
        first = self._posts[self.waiting[0]][0]
        if isinstance(first, Group):
            return f"process group {first.name!r} of {ranks_of(self.ranks)}"
        of = "" if len(self.ranks) == size else f" in the group of {ranks_of(self.ranks)}"
        return f"collective {number}, {describe(first)}{of}"

    def waits(self, number: int, size: int) -> Iterator[Wait]:
        waiting = self.waiting
        if waiting:
            heads = [self._posts[rank][0] for rank in waiting]
            did = "make" if isinstance(heads[0], Group) else "post"
            limits = [head.timeout_s for head in heads if head.timeout_s > 0]
            text = f"{ranks_of(self.behind)} did not {did} {self.next_one(number, size)}, for which {wait_for(waiting)}"
            yield Wait(self._since, min(limits, default=0.0), text)


@dataclass(frozen=True, slots=True)
class SendAndRecv:
    """A send and the recv that it is for."""

    source: int
    send: Post
    target: int
    recv: Post

    @property
    def difference(self) -> str:
        one, other = self.send, self.recv
        if (one.dtype, one.elements, one.wired) == (other.dtype, other.elements, other.wired):
            return ""
        return f"rank {self.source} posted {describe(self.send)}; rank {self.target} posted {describe(self.recv)}"


@dataclass(slots=True)
class Mail:
    """Sends and recvs of a group that wait for each other, each kind in the order in which it came."""

    _sends: list[tuple[int, Post, int]] = field(default_factory=list)
    """(rank, post, when it came)"""
    _recvs: list[tuple[int, Post, int]] = field(default_factory=list)

    def add(self, rank: int, post: Post, now: int) -> SendAndRecv | None:
        """With what it found, if it found something."""
        mine, others = (self._sends, self._recvs) if post.what == "send" else (self._recvs, self._sends)
        for index, (other, theirs, _) in enumerate(others):
            if post.tag == theirs.tag and post.peer in (other, -1) and theirs.peer in (rank, -1):
                del others[index]
                return (
                    SendAndRecv(rank, post, other, theirs)
                    if post.what == "send"
                    else SendAndRecv(other, theirs, rank, post)
                )
        mine.append((rank, post, now))
        return None

    def __iter__(self) -> Iterator[tuple[int, Post]]:
        return ((rank, post) for rank, post, _ in (*self._sends, *self._recvs))

    def waits(self) -> Iterator[Wait]:
        for rank, post, since in (*self._sends, *self._recvs):
            peer = ranks_of([post.peer]) if post.peer >= 0 else "no rank"
            did = "did not post" if post.peer >= 0 else "posted"
            other = "a recv for" if post.what == "send" else "a send for"
            text = f"{peer} {did} {other} the {describe(post)}, for which {wait_for([rank])}"
            yield Wait(since, post.timeout_s, text)
