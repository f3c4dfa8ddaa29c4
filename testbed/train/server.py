"""The network's side of the socket: ranks join, post and leave; the session orders it, a network sums."""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
import selectors
import socket
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from testbed.history.training_events import RankJoined, RankLeft, RankStepped, TrainingFailed
from testbed.train.listener import Listener
from testbed.train.network import Gradient, TrainingNetwork
from testbed.train.session import Agree, Carry, Fail, SumAnswer, TrainingSession
from testbed.train.tasks import tasks_of, words_of
from workloads.collectives.moves import MOVES
from workloads.errors import InternalError
from workloads.machine import Event
from workloads.ranks.wire import (
    VERSION,
    Destroy,
    Done,
    Down,
    Failed,
    Group,
    Join,
    Leave,
    LineReader,
    Message,
    Post,
    Step,
    Welcome,
    Wired,
    WireProblem,
    encode,
)

__all__ = ["RankServer", "ServerOptions"]

_READ = 1 << 16
_NEVER_S = 60.0
_WITHOUT_A_WORD = "its process ended without a word"
_NEVER_JOINED = 'its program ended without joining: does it call init_process_group("ina")?'
_TIMEOUT_S = 5.0
"""time limit for a rank that does not read its messages"""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    memory_bytes: int
    """bytes of each rank, for gradients on their way"""
    timeout_s: float
    """time that a rank waits for another, or for the network"""
    network: str
    """description of the network, for a person"""
    carries_all: bool = False
    """whether the network carries all collectives, not sums of float32 of all ranks alone"""
    tells_ends: bool = False
    """whether the owner calls `rank_ended` for every rank: why one is gone need not be guessed"""


@dataclass(slots=True, eq=False)
class _Connection:
    socket: socket.socket
    lines: LineReader = field(default_factory=LineReader)
    rank: int | None = None
    """None: it has not joined"""


class RankServer:
    """`make_network(first all-reduce's bytes)` is called when the ranks' first all-reduce is there; `tell` is called
    with events. `listener` hears of each collective."""

    def __init__(
        self,
        path: Path,
        size: int,
        options: ServerOptions,
        make_network: Callable[[int], TrainingNetwork],
        tell: Callable[[Event], None],
        listener: Listener | None = None,
    ) -> None:
        self._listener = Listener() if listener is None else listener
        self._path, self._size, self._options = path, size, options
        self._make_network, self._tell = make_network, tell
        self.session = self._new_session()
        self.network: TrainingNetwork | None = None
        self.asked_down = False
        self.steps = [0] * size
        """number of steps of each rank's optimizer"""
        self.collectives = [0] * size
        """number of collectives that each rank has posted so far"""
        self.network_ns = self.summed = self.moved = 0
        """time of all collectives in the network so far; how many of them were all-reduces, and how many others"""
        self._others: set[int] = set()
        """numbers of those on their way that are no all-reduces"""
        self._base = 0
        """collectives of the trainings before this one"""
        self._over_store_before: Counter[str] = Counter()
        self._memories = [os.memfd_create(f"ina rank {rank}", os.MFD_CLOEXEC) for rank in range(size)]
        for memory in self._memories:
            os.truncate(memory, 2 * options.memory_bytes)
        # Of each rank: its gradients, and behind them as much room for their sums.
        self.memories: list[Gradient] = [
            np.frombuffer(mmap.mmap(memory, 2 * options.memory_bytes), "<f4") for memory in self._memories
        ]
        self._ranks: dict[int, _Connection] = {}
        self._connections: set[_Connection] = set()
        self._selector = selectors.EpollSelector()
        self._server = _listen(path)
        self._selector.register(self._server, selectors.EVENT_READ, self._accept)

    @property
    def over_store(self) -> Counter[str]:
        """Collectives that were not for the network, by what they were."""
        return self._over_store_before + self.session.over_store

    def renew(self) -> None:
        """The training is over and all its ranks are gone: the next one may join. Raises InternalError before that."""
        if not self.session.is_over or self._ranks:
            raise InternalError("a training is not over")
        self._over_store_before += self.session.over_store
        self._base += max(self.collectives, default=0)
        self.session = self._new_session()
        self._listener.renew()
        self.steps, self.collectives = [0] * self._size, [0] * self._size

    @property
    def connected(self) -> int:
        """Ranks that are there."""
        return len(self._ranks)

    @property
    def turn_s(self) -> float:
        """In how many seconds `poll` wants to be called at the latest."""
        due = self.session.get_timer()
        waits = _NEVER_S if due is None else max(0.0, (due - time.monotonic_ns()) / 1e9)
        return waits if self.network is None else min(waits, self.network.turn_s)

    def fileno(self) -> int:
        """Readable when `poll` has something to read."""
        return self._selector.fileno()

    def make_network(self, first_bytes: int) -> None:
        """Before any rank asks for it."""
        self.network = self._make_network(first_bytes)

    def watch(self, handle: int, call: Callable[[], None]) -> None:
        """Have `call` called by `poll` when the handle is readable."""
        self._selector.register(handle, selectors.EVENT_READ, call)

    def unwatch(self, handle: int | socket.socket) -> None:
        """Also what is not watched: an interruption may come before it is, or after it was."""
        with contextlib.suppress(KeyError):
            self._selector.unregister(handle)

    def poll(self, timeout_s: float) -> None:
        """Read messages of all ranks within that time, sum what is to be summed, answer."""
        for key, _ in self._selector.select(min(timeout_s, self.turn_s)):
            key.data()
        self._act()
        self._work()
        self.session.handle_timer(time.monotonic_ns())
        if self.session.network_is_late and self.network is not None and self.session.failure is not None:
            self.network.give_up(self.session.failure)
        self._act()

    def fail(self, reason: str) -> None:
        """Something outside went wrong: every rank gets this reason."""
        self.session.fail(reason)
        self._act()

    def rank_ended(self, rank: int, error: str) -> None:
        """The process of a rank ended. `error`: why, of one that did not end in order. One that never joined took no
        part; one that joined and said nothing at its end, as by `os._exit(0)`, takes part in nothing more."""
        connection = self._ranks.get(rank)
        if connection is not None:
            self._read(connection)  # what it said last
        if rank not in self.session.left:
            self._leave(rank, error or ("" if rank in self.session.joined else _NEVER_JOINED))
        self._act()

    def close(self) -> None:
        """No rank can join any more, and nothing is left."""
        for connection in list(self._connections):
            self._forget(connection)
        self._selector.close()
        self._server.close()
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()
        for memory in self._memories:
            os.close(memory)

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError):
            client, _ = self._server.accept()
            client.settimeout(_TIMEOUT_S)
            connection = _Connection(client)
            self._connections.add(connection)
            self._selector.register(client, selectors.EVENT_READ, lambda: self._read(connection))

    def _read(self, connection: _Connection) -> None:
        try:
            data = connection.socket.recv(_READ)
            messages = connection.lines.feed(data)
        except WireProblem as error:
            self._refuse(connection, f"that is no rank: {error}")
            return
        except OSError:
            data, messages = b"", []
        for message in messages:
            self._hear(connection, message)
        if not data and connection in self._connections:
            self._lose(connection)

    def _hear(self, connection: _Connection, message: Message) -> None:
        now, rank = time.monotonic_ns(), connection.rank
        match message:
            case Down():
                self.asked_down = True
            case Join() if rank is None:
                self._join(connection, message, now)
            case Post() if rank is not None:
                problem = self._misplaced(message)
                if problem:
                    self.session.fail(f"rank {rank} posted {problem}")
                self.collectives[rank] += 1
                self._listener.posted(rank, message, now)
                self.session.post(rank, message, now)
            case Group() if rank is not None:
                self._listener.asked(rank, message)
                self.session.make(rank, message, now)
            case Destroy() if rank is not None:
                self.session.destroy(rank, message)
            case Step(number=number) if rank is not None:
                before = min(self.steps)
                self.steps[rank] = number
                if min(self.steps) > before:
                    self._tell(RankStepped(min(self.steps)))
            case Leave(error=error) if rank is not None:
                self._leave(rank, error)
                if error:
                    self._forget(connection)
            case _:
                self._refuse(connection, f"a {type(message).__name__.lower()} is not expected here")

    def _join(self, connection: _Connection, join: Join, now: int) -> None:
        if join.version != VERSION:
            self._refuse(connection, f"this network speaks version {VERSION}, the rank version {join.version}")
            return
        if join.size != self._size:
            self._refuse(
                connection,
                f"the training has {join.size} ranks, the scenario {self._size} workers: start {self._size} ranks, or "
                f"choose another scenario (--set topology.hosts=N)",
            )
            return
        problem = self.session.join(join.rank, now)
        if problem is not None:
            self._refuse(connection, problem)
            return
        connection.rank = join.rank
        self._ranks[join.rank] = connection
        options = self._options
        welcome = Welcome(options.memory_bytes, self._size, options.timeout_s, options.network, options.carries_all)
        with contextlib.suppress(OSError):
            socket.send_fds(connection.socket, [encode(welcome)], [self._memories[join.rank]])
        self._tell(RankJoined(join.rank, join.pid))

    def _misplaced(self, post: Post) -> str:
        """Why a gradient cannot be where the post says; empty: it can."""
        if not post.in_network:
            return ""
        size, words = self._options.memory_bytes, post.elements
        if post.wired is not None:
            problem = self._impossible(post.wired)
            if problem:
                return problem
            words = max(1, post.wired.words)
        inside = 0 <= post.offset <= size and 0 < words <= (size - post.offset) // 4
        return "" if inside and post.offset % 4 == 0 else f"a gradient outside of its memory of {size} bytes"

    def _impossible(self, wired: Wired) -> str:
        """Why no network can carry that; empty: it can."""
        if not self._options.carries_all or wired.operation not in MOVES:
            return f"{wired.operation} for the network, which does not carry it"
        numbers = (*wired.gives, *wired.takes, wired.words)
        fits = max(sum(wired.gives), sum(wired.takes)) <= wired.words and min(numbers) >= 0
        return "" if fits else f"{wired.operation} of {wired.words} words that gives or takes other words"

    def _lose(self, connection: _Connection) -> None:
        if connection.rank is not None and not self._options.tells_ends:
            self._leave(connection.rank, _WITHOUT_A_WORD)
        self._forget(connection)

    def _leave(self, rank: int, error: str) -> None:
        if rank not in self.session.left:
            self._tell(RankLeft(rank, error, self.collectives[rank]))
        self.session.leave(rank, error, time.monotonic_ns())

    def _forget(self, connection: _Connection) -> None:
        if connection not in self._connections:
            return
        self._connections.discard(connection)
        if connection.rank is not None:
            self._ranks.pop(connection.rank, None)
        self.unwatch(connection.socket)
        connection.socket.close()

    def _refuse(self, connection: _Connection, reason: str) -> None:
        self._say(connection, Failed(reason))
        self._lose(connection)

    def _work(self) -> None:
        network = self.network
        if network is None:
            return
        for arrived in network.work():
            self.network_ns += arrived.network_ns
            is_other = arrived.number in self._others
            self._others.discard(arrived.number)
            self.moved += is_other
            self.summed += not is_other
            self.session.done(arrived.number - self._base, arrived.network_ns, time.monotonic_ns())
        if network.problem is not None:
            self.session.fail(network.problem)

    def _act(self) -> None:
        while (action := self.session.next_action()) is not None:
            match action:
                case Carry():
                    self._carry(action)
                case SumAnswer(numbers, network_ns, ranks, peer):
                    for rank, number in zip(ranks or range(self._size), numbers, strict=True):
                        self._listener.answered(rank, number, time.monotonic_ns())
                        self._say_to(rank, Done(number, network_ns, peer))
                case Agree(rank, agreed):
                    self._listener.agreed(rank, agreed, time.monotonic_ns())
                    self._say_to(rank, agreed)
                case Fail(reason):
                    self._listener.failed()
                    self._tell(TrainingFailed(reason))
                    for rank in list(self._ranks):
                        self._say_to(rank, Failed(reason))
        if self.session.is_over:
            # Ranks that left stay, because one of them may hold the store of the others.
            for rank in self.session.left:
                if rank in self._ranks:
                    self._forget(self._ranks[rank])

    def _carry(self, carry: Carry) -> None:
        first = carry.posts[0]
        self._listener.carried(carry, time.monotonic_ns())
        if self.network is None:
            self.make_network(4 * (first.elements if first.wired is None else first.wired.words))
            assert self.network is not None
        posts = dict(zip(carry.ranks or range(self._size), carry.posts, strict=True))
        gradients, totals = (
            [
                memory[start + posts[rank].offset // 4 :][: words_of(posts[rank])] if rank in posts else memory[:0]
                for rank, memory in enumerate(self.memories)
            ]
            for start in (0, self._options.memory_bytes // 4)
        )
        tasks = None if first.wired is None else tasks_of(carry, self._size)
        if tasks is not None:
            self._others.add(self._base + carry.number)
        self.network.carry(self._base + carry.number, gradients, totals, tasks)

    def _say_to(self, rank: int, message: Message) -> None:
        if rank in self._ranks:
            self._say(self._ranks[rank], message)

    def _new_session(self) -> TrainingSession:
        name = secrets.token_hex(4)  # a store may outlive this server
        return TrainingSession(self._size, round(self._options.timeout_s * 1e9), f"{name}.")

    @staticmethod
    def _say(connection: _Connection, message: Message) -> None:
        with contextlib.suppress(OSError):  # it went away: the next read tells
            connection.socket.sendall(encode(message))


def _listen(path: Path) -> socket.socket:
    """Raises OSError."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(str(path))
    server.listen(128)
    server.setblocking(False)
    return server
