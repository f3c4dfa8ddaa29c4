"""What a training asked of its network, as a Chakra trace (docs/traces.md): one file for each rank.

Rules of this file
- A rank computes between two posts, except while it waits: from the last answer that came since its last post.
- A computation follows the one before it, and every collective whose answer came before it began.
- A collective follows the computation before its post. A training posts them without waiting, so they may overlap.
- A swap of equal parts is an all-to-all. One of other parts is a send and a recv for each peer.
- Collectives that crossed the store of the rendezvous, or that never ran, are left out.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from testbed.train.listener import Listener
from testbed.train.session import Carry
from workloads.errors import ScenarioError
from workloads.ranks.wire import Post
from workloads.traces.chakra_writing import COLLECTIVE, COMPUTING, RECEIVING, SENDING, WrittenNode, written

__all__ = ["Recorder", "require_empty"]

_WORD_BYTES = 4
_ROOTED = ("broadcast", "reduce")
_COLUMNS = ("number", "collective", "dtype", "ranks", "bytes")


def require_empty(folder: Path, option: str = "--record") -> None:
    """Raises ScenarioError where files cannot be written there, or would mix with what is there."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ScenarioError(
            "is there already", file="tb train", key=option, found=str(folder), allowed="a new or an empty folder"
        )


@dataclass(slots=True)
class _Step:
    """A collective of a rank, and the computation before it."""

    computed_ns: int
    after: tuple[int, ...]
    """steps whose answers the computation waited for"""
    ran: Carry | None = None


@dataclass(slots=True)
class _Rank:
    since: int | None = None
    """when its computation began; None: it has not joined in yet"""
    steps: list[_Step] = field(default_factory=list)
    by_number: dict[int, int] = field(default_factory=dict)
    answered: list[int] = field(default_factory=list)
    """steps with an answer that no computation waited for yet"""


class Recorder(Listener):
    """Of `size` ranks; times in ns of any clock."""

    def __init__(self, size: int) -> None:
        self._ranks = [_Rank() for _ in range(size)]
        self._rows: list[tuple[int, str, str, str, int]] = []

    def posted(self, rank: int, post: Post, now: int) -> None:
        own = self._ranks[rank]
        if post.in_network:
            own.by_number[post.number] = len(own.steps)
            own.steps.append(_Step(0 if own.since is None else now - own.since, tuple(own.answered)))
            own.answered.clear()
            own.since = now

    def carried(self, carry: Carry, now: int) -> None:
        """The network begins to run it."""
        ranks = self._members(carry)
        for rank, post in zip(ranks, carry.posts, strict=True):
            own = self._ranks[rank]
            own.steps[own.by_number[post.number]].ran = carry
        first = carry.posts[0]
        named = "all" if len(ranks) == len(self._ranks) else " ".join(map(str, ranks))
        longest = max(_WORD_BYTES * (post.elements if post.wired is None else post.wired.words) for post in carry.posts)
        self._rows.append((carry.number, first.what, first.dtype, named, longest))

    def answered(self, rank: int, number: int, now: int) -> None:
        """The rank hears that its collective is over."""
        own = self._ranks[rank]
        if number in own.by_number:
            own.answered.append(own.by_number[number])
            own.since = now

    def write(self, folder: Path) -> None:
        """`training.RANK.et`, and `collectives.csv` with the size of each collective. Raises OSError, and
        HostCapabilityError where protobuf is not installed."""
        folder.mkdir(parents=True, exist_ok=True)
        groups = {name: ranks for ranks, name in self._groups().items()}
        for rank in range(len(self._ranks)):
            own = {name: ranks for name, ranks in groups.items() if rank in ranks}
            (folder / f"training.{rank}.et").write_bytes(written(self._nodes(rank), own))
        with (folder / "collectives.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(_COLUMNS)
            rows.writerows(self._rows)

    def _members(self, carry: Carry) -> tuple[int, ...]:
        return carry.ranks or tuple(range(len(self._ranks)))

    def _groups(self) -> dict[tuple[int, ...], str]:
        """Names of the groups of some of the ranks, from "1" on."""
        everybody = tuple(range(len(self._ranks)))
        carries = [step.ran for own in self._ranks for step in own.steps if step.ran is not None]
        found = sorted({self._members(carry) for carry in carries} - {everybody})
        return {ranks: str(number) for number, ranks in enumerate(found, 1)}

    def _nodes(self, rank: int) -> Iterator[WrittenNode]:
        """`ends`: ids of the nodes of each step."""
        names, ends, number, before = self._groups(), dict[int, tuple[int, ...]](), 0, 0
        waiting_ns = 0
        for place, step in enumerate(self._ranks[rank].steps):
            waiting_ns += step.computed_ns
            if step.ran is None:
                continue
            number += 1
            after = [each for other in step.after for each in ends.get(other, ())]
            own = (*((before,) if before else ()), *after)
            yield WrittenNode(COMPUTING, number, own, "compute", round(waiting_ns / 1000))
            waiting_ns, before = 0, number
            nodes = list(self._communication(rank, step.ran, number, names))
            yield from nodes
            number += len(nodes)
            ends[place] = tuple(node.number for node in nodes)

    def _communication(
        self, rank: int, carry: Carry, number: int, names: dict[tuple[int, ...], str]
    ) -> Iterator[WrittenNode]:
        """`number`: id of the computation before."""
        ranks = self._members(carry)
        post, after, tag = carry.posts[ranks.index(rank)], (number,), {"comm_tag": carry.number}
        wired = post.wired
        operation = "all_reduce" if wired is None else wired.operation
        size = _WORD_BYTES * (post.elements if wired is None else wired.words)
        if operation == "send":
            source, target = ranks[0], ranks[-1]
            kind, end = (SENDING, {"comm_dst": target}) if rank == source else (RECEIVING, {"comm_src": source})
            yield WrittenNode(kind, number + 1, after, post.what, attributes={"comm_size": size, **end, **tag})
            return
        attributes: dict[str, int | str] = {"comm_size": size}
        if operation == "swap":
            assert wired is not None
            if len({*wired.gives, *wired.takes}) > 1:
                parts = [(SENDING, "comm_dst", wired.gives), (RECEIVING, "comm_src", wired.takes)]
                for kind, key, words in parts:
                    for peer, each in zip(ranks, words, strict=True):
                        if each and peer != rank:
                            number += 1
                            ends = {"comm_size": _WORD_BYTES * each, key: peer, **tag}
                            yield WrittenNode(kind, number, after, post.what, attributes=ends)
                return
            operation, attributes["comm_size"] = "all_to_all", _WORD_BYTES * sum(wired.gives)
        elif operation == "all_gather":
            attributes["comm_size"] = -(-size // len(ranks))
        if operation in _ROOTED:
            attributes["root"] = post.root
        if ranks in names:
            attributes["pg_name"] = names[ranks]
        yield WrittenNode(COLLECTIVE, number + 1, after, post.what, operation=operation, attributes=attributes)
