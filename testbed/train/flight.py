"""The newest collectives of each rank, as dumps of PyTorch's flight recorder: they show why a training hangs.

A collective is scheduled when its rank posted it, and started when every rank of its group posted it. It is complete
when its rank hears that it is over. For a collective over the store, that is when its ranks agreed on it.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field, replace
from pathlib import Path

from testbed.train.listener import Listener
from testbed.train.session import Carry
from workloads.ranks.wire import Agreed, Group, Post
from workloads.traces.flight import COMPLETED, SCHEDULED, STARTED, FlightDump, FlightGroup, FlightOp, written_dump

__all__ = ["FlightLog"]

_KEPT = 2000
"""collectives of a rank, as many as PyTorch keeps"""
_WHOLE = "0", "default_pg"
"""(name, description) of the group of all ranks"""


@dataclass(slots=True)
class _Rank:
    ops: dict[int, FlightOp] = field(default_factory=dict)
    """by number of the post, from the oldest"""
    kept: deque[int] = field(default_factory=deque)
    groups: dict[str, FlightGroup] = field(default_factory=dict)
    """by the session's name"""
    asked: dict[int, Group] = field(default_factory=dict)
    """groups that it wants, by number of the message"""
    mail: dict[str, int] = field(default_factory=dict)
    """sends and recvs so far, by the session's name of the group"""


class FlightLog(Listener):
    """Of the `size` ranks of one training after the other. Times are in ns of CLOCK_MONOTONIC. `folder`: where the
    dumps are written if a training fails."""

    def __init__(self, size: int, folder: Path) -> None:
        self._size, self._folder = size, folder
        self._since_1970 = time.time_ns() - time.monotonic_ns()
        self.renew()

    def renew(self) -> None:
        """The next training begins."""
        self._ranks = [_Rank(groups={"": FlightGroup(*_WHOLE, tuple(range(self._size)))}) for _ in range(self._size)]

    def asked(self, rank: int, group: Group) -> None:
        self._ranks[rank].asked[group.number] = group

    def agreed(self, rank: int, agreed: Agreed, now: int) -> None:
        """The ranks of a group agreed on a collective over the store, or made the group."""
        own = self._ranks[rank]
        made = own.asked.pop(agreed.number, None)
        if made is None:
            self.answered(rank, agreed.number, now)
        else:
            description = _WHOLE[1] if made.name == _WHOLE[0] else "undefined"
            own.groups[agreed.group] = FlightGroup(made.name, description, made.ranks)

    def posted(self, rank: int, post: Post, now: int) -> None:
        own = self._ranks[rank]
        group = own.groups.get(post.group)
        if group is None:
            return  # the session refuses it
        is_mail = post.what in ("send", "recv")
        if is_mail:
            number = own.mail[post.group] = own.mail.get(post.group, 0) + 1
        else:
            number = group.posted + 1
            own.groups[post.group] = replace(group, posted=number)
        shape = _shape(post)
        peer = group.ranks.index(post.peer) if post.peer in group.ranks else -1
        own.ops[post.number] = FlightOp(
            post.group, number, post.what, SCHEDULED, peer, (shape,), (_result(post.what, shape, len(group.ranks)),),
            (post.dtype,) if post.dtype else (), self._since_1970 + now,
        )  # fmt: skip
        own.kept.append(post.number)
        if len(own.kept) > _KEPT:
            del own.ops[own.kept.popleft()]

    def carried(self, carry: Carry, now: int) -> None:
        """The network begins to run it."""
        for rank, post in zip(carry.ranks or range(self._size), carry.posts, strict=True):
            self._change(rank, post.number, STARTED, now)

    def answered(self, rank: int, number: int, now: int) -> None:
        """The rank hears that its collective is over."""
        self._change(rank, number, COMPLETED, now)

    def failed(self) -> None:
        """The training cannot go on."""
        self.write(self._folder)

    def write(self, folder: Path) -> None:
        """`rank_0`, `rank_1`, ... Raises OSError."""
        folder.mkdir(parents=True, exist_ok=True)
        for rank, own in enumerate(self._ranks):
            (folder / f"rank_{rank}").write_bytes(written_dump(self._dump(rank, own)))

    def _dump(self, rank: int, own: _Rank) -> FlightDump:
        """Groups in which it posted something. PyTorch uses a name again when its group was destroyed: then the newest
        group keeps it."""
        ops = [own.ops[number] for number in own.kept]
        used = {op.group: own.groups[op.group] for op in ops}
        newest = {group.name: name for name, group in used.items()}
        return FlightDump(
            rank,
            {group.name: group for group in used.values()} or {_WHOLE[0]: own.groups[""]},
            tuple(replace(op, group=used[op.group].name) for op in ops if newest[used[op.group].name] == op.group),
        )

    def _change(self, rank: int, number: int, state: str, now: int) -> None:
        own = self._ranks[rank]
        op = own.ops.get(number)
        if op is None:
            return
        at = self._since_1970 + now
        started = at if op.started_ns is None else op.started_ns
        own.ops[number] = replace(op, state=state, started_ns=started, completed_ns=at if state == COMPLETED else None)
        group = own.groups[op.group]
        if state == COMPLETED and not op.is_mail:
            own.groups[op.group] = replace(group, completed=max(group.completed, op.number))


def _shape(post: Post) -> tuple[int, ...]:
    """Sizes of its tensor, where the post has the shape of one tensor; else how many elements it has."""
    parts = post.shape.replace(",", "").split(" x ")
    if post.shape and all(part.isdigit() for part in parts):
        return tuple(map(int, parts))
    return (post.elements,) if post.elements >= 0 else ()


def _result(what: str, shape: tuple[int, ...], ranks: int) -> tuple[int, ...]:
    """Sizes of what it gives, from what goes in."""
    if not shape:
        return shape
    if what == "all_gather":
        return shape[0] * ranks, *shape[1:]
    if what == "reduce_scatter":
        return shape[0] // ranks, *shape[1:]
    return shape
