"""This process as a member of one process group: it announces collectives, and runs them when all ranks agree."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from workloads.ranks.client import NetworkFailed
from workloads.ranks.wire import Agreed, Done, Post, Wired
from workloads.torch_backend.exchange import StoreExchange
from workloads.torch_backend.rank import Rank
from workloads.torch_backend.reduction import mean_of
from workloads.torch_backend.runner import InOrder
from workloads.torch_backend.tensors import contents, dtype_of, shape_of, writing
from workloads.torch_backend.work import InaWork

__all__ = ["Cargo", "Membership", "Turn"]

_CLOSE_S = 5.0
"""seconds for which a rank that destroys its group waits for the others to do so"""


@dataclass(frozen=True, slots=True)
class Turn:
    """One collective that all ranks of the group agreed on. Its methods raise as those of StoreExchange."""

    group: Membership
    number: int
    """among those of the group: the same at all ranks"""
    source: int
    """rank of the group that sends, for a recv; else -1"""

    def put(self, name: str, tensors: list[torch.Tensor], readers: int) -> None:
        self.group.exchange.put(f"{self.number}/{name}", tensors, readers)

    def get(self, name: str, readers: int, source: int) -> list[torch.Tensor]:
        group = self.group
        return group.exchange.get(f"{self.number}/{name}", readers, group.limit_s, group.ranks[source])

    def gather(self, tensors: list[torch.Tensor]) -> list[list[torch.Tensor]]:
        """What each rank gave, by rank of the group."""
        others = len(self.group.ranks) - 1
        self.put(str(self.group.place), tensors, others)
        return [
            [contents(tensor) for tensor in tensors] if rank == self.group.place else self.get(str(rank), others, rank)
            for rank in range(others + 1)
        ]

    def collect(self, tensors: list[torch.Tensor], root: int) -> list[list[torch.Tensor]]:
        """At the root what each rank gave, by rank of the group; elsewhere nothing."""
        if root != self.group.place:
            self.put(str(self.group.place), tensors, 1)
            return []
        return [
            [contents(tensor) for tensor in tensors] if rank == root else self.get(str(rank), 1, rank)
            for rank in range(len(self.group.ranks))
        ]

    def spread(self, parts: list[list[torch.Tensor]], root: int) -> list[torch.Tensor]:
        """What the root has for this rank. `parts`: of the root, by rank of the group."""
        mine = self.group.place
        if root != mine:
            return self.get(str(mine), 1, root)
        for rank, part in enumerate(parts):
            if rank != mine:
                self.put(str(rank), part, 1)
        return [contents(tensor) for tensor in parts[mine]]

    def exchange(self, parts: list[list[torch.Tensor]]) -> list[list[torch.Tensor]]:
        """Give each rank of the group its part: what each of them gave this one."""
        mine = self.group.place
        for rank, part in enumerate(parts):
            if rank != mine:
                self.put(f"{mine} to {rank}", part, 1)
        return [
            [contents(tensor) for tensor in part] if rank == mine else self.get(f"{rank} to {mine}", 1, rank)
            for rank, part in enumerate(parts)
        ]


@dataclass(frozen=True, slots=True)
class Cargo:
    """What a rank gives the network in a collective, and what it does with the result."""

    operation: str
    """as in Wired; so are the words"""
    words: int
    give: Callable[[memoryview], None]
    take: Callable[[memoryview], None]
    """called in the thread that reads from the network"""
    gives: tuple[int, ...] = ()
    takes: tuple[int, ...] = ()


class Membership:
    """Waits until all ranks make the group. `ranks`: of the whole training, by rank of the group. Raises NetworkFailed
    when one of them does not."""

    def __init__(self, store: Any, name: str, ranks: tuple[int, ...], timeout_s: float, member: Rank) -> None:
        self.ranks, self.place, self.timeout_s, self._member = ranks, ranks.index(member.number), timeout_s, member
        self._works: set[InaWork] = set()
        self._in_order, self._destroyed, self._is_closed = InOrder(member.runner), False, False
        made: list[Agreed] = []
        work = InaWork(f"process group {name!r}", [], member.runner)

        def agreed(agreement: Agreed) -> None:
            made.append(agreement)
            work.part_done()

        member.client.make_group(name, ranks, timeout_s, agreed, work.fail)
        work.wait()
        self._group, member.kept_store = made[0].group, None
        self.exchange = StoreExchange(store, self._group, member.client.check)
        member.groups.append(self)

    @property
    def has_network(self) -> bool:
        return self.ranks == tuple(range(self._member.size))

    @property
    def carries_all(self) -> bool:
        """Whether the network carries every collective of every group."""
        return self._member.client.welcome.carries_all

    @property
    def limit_s(self) -> float:
        """That a rank waits for a value of another one which agreed."""
        return min(self.timeout_s, self._member.client.welcome.timeout_s)

    @property
    def longest_sum(self) -> int:
        """Elements of one all-reduce in the network: one of more than half of the memory would always go alone."""
        return max(1, self._member.client.welcome.memory_bytes // 8)

    def start(
        self, what: str, tensors: list[torch.Tensor], run: Callable[[Turn], None], *,
        like: list[torch.Tensor] | None = None, work: InaWork | None = None, root: int = -1, peer: int = -1,
        timeout_s: float = 0.0, **more: Any,
    ) -> InaWork:  # fmt: skip
        """Announce a collective of `tensors`, its results; `run` it when all agree, behind those before it. `like`: the
        tensors that must be alike at all ranks, if others. `work`: one that it is a part of. `root`, `peer`: ranks of
        the group. `more`: fields of its Post."""
        like = tensors if like is None else like
        found = work or self.new_work(what, like, results=tensors)
        elements = sum(tensor.numel() for tensor in like) if like else -1
        same: dict[str, Any] = {"elements": elements, "shape": shape_of(like)} | more

        def agreed(agreement: Agreed) -> None:
            sender = self.ranks.index(agreement.peer) if agreement.peer >= 0 else -1
            turn = Turn(self, agreement.turn, sender)
            # All ranks hear of agreements in the same order: no two wait for each other.
            self._in_order.submit(lambda: self._run(found, what, run, turn))

        with self.posting(found):
            self._member.client.announce(
                what, dtype_of(like), agreed=agreed, refuse=found.fail, group=self._group, root=self._global(root),
                peer=self._global(peer), timeout_s=timeout_s or self.timeout_s, **same,
            )  # fmt: skip
        return found

    def carry(
        self, what: str, tensors: list[torch.Tensor], load: Cargo, *, like: list[torch.Tensor] | None = None,
        work: InaWork | None = None, root: int = -1, peer: int = -1, **more: Any,
    ) -> InaWork:  # fmt: skip
        """Announce a collective of `tensors`, its results, and have the network carry it. As `start`, but the load says
        what crosses the network. What this rank gives is read before the call returns."""
        like = tensors if like is None else like
        found = work or self.new_work(what, like, results=tensors)
        wired = Wired(load.operation, load.words, load.gives, load.takes)
        fields: dict[str, Any] = {
            "op": "", "elements": sum(tensor.numel() for tensor in like) if like else -1, "shape": shape_of(like),
            "group": self._group, "root": self._global(root), "peer": self._global(peer), "wired": wired, **more,
        }  # fmt: skip
        fields["timeout_s"] = fields.get("timeout_s") or self.timeout_s
        dtype = dtype_of(like)

        def post(number: int, offset: int) -> Post:
            return Post(number, what, dtype, in_network=True, offset=offset, **fields)

        def take(memory: memoryview, done: Done) -> None:
            found.source = self.ranks.index(done.peer) if done.peer >= 0 else -1
            load.take(memory)
            found.part_done()

        with self.posting(found):
            self._member.client.post_data(post, load.give, 4 * load.words, take, found.fail)
        return found

    @contextlib.contextmanager
    def posting(self, work: InaWork) -> Iterator[None]:
        """A call that raises leaves no work behind, for which the group would wait when it is destroyed. The network's
        reason is that of the work."""
        try:
            yield
        except NetworkFailed as error:
            work.fail(str(error))
        except BaseException as error:
            work.fail(f"rank {self._member.number} could not post it: {type(error).__name__}: {error}")
            raise

    def sum(
        self, tensor: torch.Tensor, op: str, work: InaWork, timeout_s: float, given: torch.Tensor | None = None
    ) -> None:
        """All-reduce a float32 tensor in the network, in `parts_of` it, each a part of `work`. `given`: what this rank
        adds, if other values. Raises as `post_sum`."""
        target = tensor.detach()
        flat = target.resolve_neg().contiguous().view(-1)
        values = flat if given is None else given.contiguous().view(-1)
        in_place = target.is_contiguous() and not target.is_neg()
        longest, shape, total_parts = self.longest_sum, shape_of([tensor]), self.parts_of(tensor)
        for index in range(total_parts):
            start = index * longest
            part, own = flat[start : start + longest], values[start : start + longest]
            which = f"{shape}, part {index + 1} of {total_parts}," if total_parts > 1 else shape

            def fill(memory: memoryview, own: torch.Tensor = own) -> None:
                torch.frombuffer(memory, dtype=torch.float32).copy_(own)

            def take(
                memory: memoryview, _: int, part: torch.Tensor = part, last: bool = index + 1 == total_parts
            ) -> None:
                total = torch.frombuffer(memory, dtype=torch.float32)
                mean_of(op, total, len(self.ranks))
                with writing(target):
                    part.copy_(total)
                    if last and not in_place:
                        target.copy_(flat.view(target.shape))
                work.part_done()

            self._member.client.post_sum(
                fill, len(part), op, take, work.fail, group=self._group, shape=which,
                timeout_s=timeout_s or self.timeout_s,
            )  # fmt: skip

    def parts_of(self, tensor: torch.Tensor) -> int:
        elements: int = tensor.numel()
        return -(-elements // self.longest_sum)

    def new_work(
        self, what: str, tensors: list[torch.Tensor], parts: int = 1, *, results: list[torch.Tensor] | None = None
    ) -> InaWork:
        """The work of a collective that must have tensors like these at all ranks. `results`: if others are its
        results. Raises ValueError after `shutdown`."""
        if self._is_closed:
            raise ValueError(f"rank {self._member.number} destroyed this process group before: make another one")
        text = f"{what} of {shape_of(tensors)} {dtype_of(tensors)}" if tensors else what
        work = InaWork(text, tensors if results is None else results, self._member.runner, parts, self._works.discard)
        self._works.add(work)
        return work

    def finish(self) -> None:
        """Wait for what is on its way, and leave nothing in the store."""
        for work in list(self._works):
            work.join()
        self.exchange.close()

    def shutdown(self) -> None:
        """As `finish`, and wait for the others to destroy the group, too, but not for long."""
        if self._destroyed:
            return
        self._destroyed, gone = True, threading.Event()
        self.finish()
        self._is_closed = True

        def release(_: Any) -> None:
            self._member.kept_store = self.exchange.release() or self._member.kept_store
            self._member.groups.remove(self)
            gone.set()

        try:
            self._member.client.destroy_group(self._group, release, release)
        except NetworkFailed:
            return
        gone.wait(_CLOSE_S)

    def _run(self, work: InaWork, what: str, run: Callable[[Turn], None], turn: Turn) -> None:
        try:
            work.source = turn.source
            run(turn)
        except NetworkFailed as error:
            work.fail(str(error))
        except BaseException as error:
            work.fail(f"rank {self._member.number} could not complete {what}: {type(error).__name__}: {error}")
        else:
            work.part_done()

    def _global(self, rank: int) -> int:
        return self.ranks[rank] if rank >= 0 else -1
