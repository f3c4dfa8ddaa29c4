"""The order of a training's collectives: a pure state machine that matches what the ranks post, and says why it cannot
go on.

Rules of this file
- All ranks of a process group post the same collectives in the same order. A collective is matched when every rank of
  its group has posted it. The network then carries it; for a collective over the store, the ranks hear that they
  agree. No data moves before that.
- A send and a recv are matched when they name each other and the same tag.
- Every new group gets a name that no other group of any training has. What ranks leave in a store under that name
  belongs to that group alone.
- A rank may be ahead of others by as much as it likes. It is behind when others have posted what it has not.
- What makes further sums impossible ends the session for good: collectives that differ, a rank that is gone or silent
  while others wait for it, a network that failed. Every rank hears the same reason, and so does every rank that posts
  later.
- A rank waits only while a timer is set, except for a network that is not up: the world that brings it up ends.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from testbed.train.agreement import CallLine, Mail, Wait
from testbed.train.words import describe, difference, ranks_of, wait_for
from workloads.ranks.wire import Agreed, Destroy, Group, Post

__all__ = ["Action", "Agree", "Carry", "Fail", "SumAnswer", "TrainingSession"]

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Carry:
    """Sum what the ranks have posted."""

    number: int
    """among all collectives of the training"""
    posts: tuple[Post, ...]
    """posts by rank"""
    ranks: tuple[int, ...] = ()
    """ranks that posted it, in the order of their group; empty: all"""


@dataclass(frozen=True, slots=True)
class SumAnswer:
    """Report to every rank that the sum of a collective is there."""

    numbers: tuple[int, ...]
    """numbers of each rank's post"""
    network_ns: int
    ranks: tuple[int, ...] = ()
    """ranks, as in its Carry"""
    peer: int = -1
    """rank that sent, of a send and its recv"""


@dataclass(frozen=True, slots=True)
class Agree:
    """Report to a rank that the others posted the same."""

    rank: int
    agreed: Agreed


@dataclass(frozen=True, slots=True)
class Fail:
    """Report to every rank that nothing will be summed any more."""

    reason: str


Action: TypeAlias = Carry | SumAnswer | Agree | Fail


class _Group:
    """A process group. `name`: its own alone."""

    def __init__(self, name: str, ranks: tuple[int, ...]) -> None:
        self.name, self.line, self.mail, self.turns = name, CallLine(ranks), Mail(), 0
        self.destroyed: dict[int, int] = {}
        """number with which each rank that posts nothing more in it said so"""


class TrainingSession:
    """Of one training of `size` ranks; times in ns of any clock. `name`: no other training has it."""

    def __init__(self, size: int, timeout_ns: int, name: str = "") -> None:
        self.size, self._timeout_ns, self._name = size, timeout_ns, name
        self.joined: set[int] = set()
        self.left: dict[int, str] = {}
        """error with which each rank ended; empty: in order"""
        self.failure: str | None = None
        """why nothing is summed any more"""
        self.over_store: Counter[str] = Counter()
        """matched collectives that were not for the network, by what they were"""
        self._network_is_up = True
        self.network_is_late = False
        """whether it failed because no sum came in time"""
        self.summed = 0
        """all-reduces whose sum is there"""
        self._groups = {"": _Group(name, tuple(range(size)))}
        self._making: dict[tuple[str, tuple[int, ...]], CallLine] = {}
        """groups that lack some of their ranks, by name and ranks"""
        self._made = 0
        self._numbers = [0] * size
        """number of the next post of each rank"""
        self._posted = [0] * size
        """number of collectives that each rank has posted"""
        self._matched = 0
        self._carried: deque[Carry] = deque()
        """collectives in the network"""
        self._joining_since: int | None = None
        """time when some ranks began to wait for one that has not joined"""
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
        if len(self.joined) == self.size:
            self._joining_since = None
        elif self._joining_since is None:
            self._joining_since = now
        return None

    def make(self, rank: int, group: Group, now: int) -> None:
        """A rank that joined wants a process group."""
        problem = "" if rank in group.ranks and set(group.ranks) <= set(range(self.size)) else "which cannot be"
        if self._is_next(rank, group, problem and f"group of {ranks_of(group.ranks)}, {problem}"):
            line = self._making.setdefault((group.name, group.ranks), CallLine(group.ranks))
            line.add(rank, group, now)
            if (posts := line.match(now)) is not None:
                del self._making[group.name, group.ranks]
                self._made += 1
                made = _Group(f"{self._name}{self._made}", group.ranks)
                self._groups[made.name] = made
                self._agree(made, {member: post.number for member, post in posts.items()})
            self._miss_those_gone()

    def destroy(self, rank: int, destroy: Destroy) -> None:
        """A rank posts nothing more in a group."""
        group = self._groups.get(destroy.group)
        known = group is not None and group.name != self._name and rank in group.line.ranks
        if not self._is_next(rank, destroy, "" if known else "the end of a group that it is not in"):
            return
        assert group is not None
        group.destroyed[rank] = destroy.number
        self._dissolve(group)
        self._miss_those_gone()

    def post(self, rank: int, post: Post, now: int) -> None:
        """The next collective of a rank that joined."""
        group = self._groups.get(post.group)
        known = group is not None and rank in group.line.ranks
        if not self._is_next(rank, post, "" if known else f"{post.what} in a group that it is not in"):
            return
        assert group is not None
        self._posted[rank] += 1
        if post.what in ("send", "recv"):
            self._match_mail(group, rank, post, now)
        else:
            group.line.add(rank, post, now)
            self._match(group, now)
        self._miss_those_gone()

    def leave(self, rank: int, error: str, now: int) -> None:
        """It takes part in nothing more; `error`: what ended it, empty where it left in order."""
        if rank in self.left:
            return
        self.left[rank] = error
        if error:
            self.fail(f"rank {rank} ended: {error}")
        for group in list(self._groups.values()):
            self._dissolve(group)
        self._miss_those_gone()

    def done(self, number: int, network_ns: int, now: int) -> None:
        """The network left the sums of a collective, the oldest that it carries."""
        if self.failure is not None:
            return
        carried = self._carried.popleft()
        self._carried_since = now if self._carried else None
        self.summed += 1
        peer = carried.ranks[0] if carried.posts[0].what == "send" else -1
        numbers = tuple(post.number for post in carried.posts)
        self._actions.append(SumAnswer(numbers, network_ns, carried.ranks, peer))

    def await_network(self) -> None:
        """What is to be summed waits until the network is there, for as long as that takes."""
        self._network_is_up = False

    def network_came_up(self, now: int) -> None:
        self._network_is_up = True
        self._carried_since = now if self._carried else None

    def fail(self, reason: str) -> None:
        if self.failure is None:
            self.failure = reason
            self._joining_since = self._carried_since = None
            self._actions.append(Fail(reason))

    def get_timer(self) -> int | None:
        return min((wait.due(self._timeout_ns) for wait in self._waits()), default=None)

    def handle_timer(self, now: int) -> None:
        waits = sorted(self._waits(), key=lambda wait: wait.due(self._timeout_ns))
        if not waits or waits[0].due(self._timeout_ns) > now:
            return
        first, *others = waits
        since = self._network_since
        self.network_is_late = since is not None and since + self._timeout_ns <= now
        limit = first.limit_ns(self._timeout_ns)
        whose = " (the time limit of the process group or the call)" if limit < self._timeout_ns else ""
        also = [f"; {wait.text}" for wait in others[:_SHOWN]]
        self.fail(f"within {limit / 1e9:g} s{whose} {first.text}{''.join(also)}")

    @property
    def _network_since(self) -> int | None:
        """When the wait for the network began."""
        return self._carried_since if self._network_is_up else None

    def next_action(self) -> Action | None:
        return self._actions.popleft() if self._actions else None

    def _is_next(self, rank: int, message: Post | Group | Destroy, problem: str) -> bool:
        if self.failure is not None:
            return False
        due = self._numbers[rank]
        if message.number != due:
            problem = f"number {message.number} where number {due} was expected"
        if problem:
            self.fail(f"rank {rank} posted {problem}")
            return False
        self._numbers[rank] += 1
        return True

    def _match(self, group: _Group, now: int) -> None:
        while self.failure is None and (matched := group.line.match(now)) is not None:
            posts = cast(dict[int, Post], matched)
            different = difference(posts)
            if different:
                self.fail(f"collective {self._matched} differs: {different}")
                return
            first = next(iter(posts.values()))
            if first.in_network and first.wired is None and len(posts) < self.size:
                self.fail(f"{ranks_of(list(posts))} posted an all-reduce of a part of the ranks for the network")
                return
            if first.in_network and first.wired is None:
                self._carry(tuple(posts[rank] for rank in range(self.size)), (), now)
            elif first.in_network:
                self._carry(tuple(posts.values()), tuple(posts), now)
            else:
                self.over_store[first.what] += 1
                self._agree(group, {rank: post.number for rank, post in posts.items()})
            self._matched += 1

    def _match_mail(self, group: _Group, rank: int, post: Post, now: int) -> None:
        pair = group.mail.add(rank, post, now)
        if pair is None:
            return
        if pair.difference:
            self.fail(f"a send and its recv differ: {pair.difference}")
            return
        if pair.send.in_network:
            self._carry((pair.send, pair.recv), (pair.source, pair.target), now)
            self._matched += 1
            return
        self.over_store["send"] += 1
        agreed = Agreed(0, group.name, group.turns, pair.source)
        group.turns += 1
        for member, theirs in ((pair.source, pair.send), (pair.target, pair.recv)):
            self._actions.append(Agree(member, replace(agreed, number=theirs.number)))

    def _carry(self, posts: tuple[Post, ...], ranks: tuple[int, ...], now: int) -> None:
        carry = Carry(self._matched, posts, ranks)
        self._carried.append(carry)
        self._carried_since = now if self._carried_since is None else self._carried_since
        self._actions.append(carry)

    def _agree(self, group: _Group, numbers: dict[int, int]) -> None:
        for rank, number in numbers.items():
            self._actions.append(Agree(rank, Agreed(number, group.name, group.turns, -1)))
        group.turns += 1

    def _dissolve(self, group: _Group) -> None:
        """Answer the ranks that destroyed a group when no other one can post in it."""
        if group.destroyed and all(rank in group.destroyed or rank in self.left for rank in group.line.ranks):
            del self._groups[group.name]
            self._agree(group, {rank: number for rank, number in group.destroyed.items() if rank not in self.left})

    def _miss_those_gone(self) -> None:
        """A rank that waits for one that left would wait without end."""
        if self.failure is not None:
            return
        for line in self._making.values():
            self._miss_in(line, self.left)
        for group in self._groups.values():
            gone = {**group.destroyed, **self.left}
            self._miss_in(group.line, gone)
            for rank, post in group.mail:
                others = [post.peer] if post.peer >= 0 else [other for other in group.line.ranks if other != rank]
                if others and all(other in gone for other in others):
                    self.fail(f"{self._ended(others[0])}, and {wait_for([rank])} for it in {describe(post)}")

    def _miss_in(self, line: CallLine, gone: Container[int]) -> None:
        missed = [rank for rank in line.behind if rank in gone]
        if missed:
            what = line.next_one(self._matched, self.size)
            self.fail(f"{self._ended(missed[0])}, and {wait_for(line.waiting)} for it in {what}")

    def _ended(self, rank: int) -> str:
        did = "ended" if rank in self.left else "destroyed its process group"
        return f"rank {rank} {did} after {_amount(self._posted[rank])}"

    def _lines(self) -> Iterator[CallLine]:
        yield from self._making.values()
        yield from (group.line for group in self._groups.values())

    def _waits(self) -> Iterator[Wait]:
        """All that ranks wait for."""
        if self.failure is not None:
            return
        if self._joining_since is not None:
            absent = [rank for rank in range(self.size) if rank not in self.joined]
            there = f"{ranks_of(sorted(self.joined))} did"
            yield Wait(self._joining_since, 0.0, f"{ranks_of(absent)} did not join; {there}")
        if self._network_since is not None:
            number = self._carried[0].number
            yield Wait(self._network_since, 0.0, f"the network did not bring the sum of collective {number}")
        for line in self._lines():
            for wait in line.waits(self._matched, self.size):
                behind = line.behind[0]
                last = f"; the last of {ranks_of([behind])}: {_amount(self._posted[behind])}"
                yield replace(wait, text=wait.text + last)
        for group in self._groups.values():
            yield from group.mail.waits()


def _amount(collectives: int) -> str:
    return f"{collectives:,} collective{'' if collectives == 1 else 's'}"
