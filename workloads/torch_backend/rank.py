"""This process as a rank of the network: one connection, however many process groups."""

from __future__ import annotations

import atexit
import os
import sys
from types import TracebackType
from typing import Any

from torch.optim.optimizer import register_optimizer_step_post_hook

from workloads.ranks.client import SOCKET_VARIABLE, RankClient, default_socket

__all__ = ["Rank", "this_rank"]


class Rank:
    """Joins at once. Leaves when the program ends, with the exception that ended it, if one did. Raises
    NetworkFailed."""

    def __init__(self, rank: int, size: int) -> None:
        self.number, self.size = rank, size
        self.client = RankClient(os.environ.get(SOCKET_VARIABLE) or default_socket(), rank, size)
        self._process, self._steps, self._error = os.getpid(), 0, ""
        register_optimizer_step_post_hook(self._stepped)
        self._before, sys.excepthook = sys.excepthook, self._note
        atexit.register(self._leave)

    def _stepped(self, *_: Any) -> None:
        self._steps += 1
        self.client.step(self._steps)

    def _note(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        self._error = f"{kind.__name__}: {error}".splitlines()[0][:500]
        self._before(kind, error, trace)

    def _leave(self) -> None:
        if os.getpid() == self._process:  # a fork is no rank
            self.client.leave(self._error)


_here: list[Rank] = []


def this_rank(rank: int, size: int) -> Rank | None:
    """The rank of this process, joined with its first group; None: a group of fewer ranks than that has no network."""
    if not _here:
        _here.append(Rank(rank, size))
    return _here[0] if (_here[0].number, _here[0].size) == (rank, size) else None
