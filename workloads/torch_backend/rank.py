"""This process as a rank of the network: one connection, however many process groups."""

from __future__ import annotations

import os
import sys
import threading
from multiprocessing.util import Finalize
from types import TracebackType
from typing import Any, Protocol

from torch.optim.optimizer import register_optimizer_step_post_hook

from workloads.ranks.client import SOCKET_VARIABLE, NetworkFailed, RankClient, default_socket
from workloads.torch_backend.runner import Runner

__all__ = ["Rank", "this_rank"]


class _Member(Protocol):
    """A process group that this rank is in."""

    def finish(self) -> None:
        """Wait for its collectives, and leave nothing in its store."""
        ...


class Rank:
    """Joins at once. Leaves when the program ends, with the exception that ended it, if one did. Raises
    NetworkFailed."""

    def __init__(self, rank: int, size: int) -> None:
        self.number, self.size = rank, size
        self.client = RankClient(os.environ.get(SOCKET_VARIABLE) or default_socket(), rank, size)
        self.runner = Runner()
        self.groups: list[_Member] = []
        """all that were made: other ranks may still read what their stores hold, which may live in this process"""
        self.kept_store: Any = None
        """store of the last group that was destroyed, until the next one is made"""
        self._process, self._steps, self._error = os.getpid(), 0, ""
        register_optimizer_step_post_hook(self._stepped)
        self._before, sys.excepthook = sys.excepthook, self._note
        Finalize(None, self._leave, exitpriority=10)  # also at the end of a process of multiprocessing

    def meet(self, timeout_s: float) -> None:
        """Wait until all ranks of the training call this. Raises NetworkFailed when one of them does not."""
        over, problems = threading.Event(), list[str]()

        def refuse(reason: str) -> None:
            problems.append(reason)
            over.set()

        ranks = tuple(range(self.size))
        self.client.make_group("init_process_group", ranks, timeout_s, lambda _: over.set(), refuse)
        over.wait()
        if problems:
            raise NetworkFailed(problems[0])

    def _stepped(self, *_: Any) -> None:
        self._steps += 1
        self.client.step(self._steps)

    def _note(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        self._error = kind.__name__
        try:
            self._error = f"{kind.__name__}: {error}".splitlines()[0][:500]
        finally:
            self._before(kind, error, trace)

    def _leave(self) -> None:
        if os.getpid() != self._process:  # a fork is no rank
            return
        if not self._error:
            for group in list(self.groups):
                group.finish()
        self.client.leave(self._error, linger=True)


_here: list[Rank] = []


def this_rank(rank: int, size: int) -> Rank:
    """The rank of this process, joined with its first group. Raises NetworkFailed, or ValueError for another rank."""
    if not _here:
        _here.append(Rank(rank, size))
    if (_here[0].number, _here[0].size) != (rank, size):
        raise ValueError(
            f"this process joined the network as rank {_here[0].number} of {_here[0].size}, and cannot be rank {rank} "
            f"of {size} as well"
        )
    return _here[0]
