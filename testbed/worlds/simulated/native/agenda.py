"""An `Agenda` whose appointments are kept in C, and what Python does when the compiled loop comes back."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from testbed.worlds.simulated.agenda import Actor, Agenda
from testbed.worlds.simulated.native.library import NOTE_WORDS, CoreStruct, NativeStage, Why
from topologies import DIRECTIONS, Direction, Topology
from workloads.errors import InternalError

if TYPE_CHECKING:
    from testbed.worlds.simulated.native.roles import HostRole, NodeRole, SwitchRole, WireRole

__all__ = ["NativeAgenda"]

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
"""as in agenda.py"""
_ALWAYS, _NO_FURTHER = (1 << 63) - 1, -1
"""limits: the end of time; no event but the one at hand"""
_MOST_OFFERS = 10_000
"""of one host at one time, one after the other: far more than frames that can meet there"""


class NativeAgenda(Agenda):
    """Same order, same times. `stride`: bytes of the longest frame."""

    def __init__(self, seed: int, library: ctypes.CDLL, stride: int) -> None:
        super().__init__(seed)
        self.library = library
        self.pointer: int = library.sim_new(stride, (seed & _MASK) * _GOLDEN & _MASK)
        if not self.pointer:
            raise MemoryError("no memory for the event loop")
        self._free = weakref.finalize(self, library.sim_free, self.pointer)
        self.core = CoreStruct.from_address(self.pointer)
        self._run, self._at = library.sim_run, library.sim_at
        self._notes = ctypes.cast(self.core.notes, ctypes.POINTER(ctypes.c_int64))
        self._actions: dict[int, tuple[Callable[[Any], None], Any]] = {}
        self._numbers = 0
        self._offered, self._offers = (-1, -1, -1), 0
        self.wires: list[WireRole] = []
        """by number; each adds itself"""
        self.late_taps: list[Callable[[], None]] = []
        """What gives taps the frames that C recorded for them."""
        self._nodes: list[NodeRole] = []
        self._tables: list[object] = []
        self._answers: dict[int, Callable[[], None]] = {
            Why.CALL: self._call, Why.OFFER: self._offer, Why.PULL: self._pull, Why.ADMIT_IN: self._admit_in,
            Why.ADMIT_OUT: self._admit_out, Why.ARRIVE: self._arrive, Why.SETTLE: self._settle, Why.NEWS: self._news,
            Why.TELL: self._tell, Why.WAKE: self._wake, Why.ROOM: self._room,
            Why.RECORD_IN: self._record_in, Why.RECORD_OUT: self._record_out, Why.DROPPED: self._dropped,
            Why.TOO_LONG: self._too_long, Why.AIR: lambda: None,
        }  # fmt: skip

    def at(self, time: int, actor: int, action: Callable[[Any], None], argument: Any = None) -> None:
        number = self._numbers = self._numbers + 1
        self._actions[number] = action, argument
        self._at(self.pointer, time, actor, number)

    def appoint(self, time: int, number: int, actor: Actor, what: int, argument: Any) -> None:
        self.at(time, number, lambda _: actor.act(what, argument))

    @property
    def reached(self) -> int:
        return int(self.core.now)

    def next_time(self) -> int | None:
        time: int = self.library.sim_next_time(self.pointer)
        return None if time < 0 else time

    def step(self) -> None:
        """As the reference, but steps that need no Python come in between."""
        if self.next_time() is None:
            raise IndexError("nothing is on the agenda")
        if self._answer(_ALWAYS):
            self._complete()
        self.tell_taps()

    def run(
        self, limit: int, goes_on: Callable[[], object], look: Callable[[int], bool] | None = None, every: int = 1
    ) -> bool:
        while goes_on():
            if not self._answer(limit):
                self.tell_taps()
                return False
            self._steps += 1
            if look is not None and self._steps >= every:
                self._steps = 0
                if not look(self.now):
                    break
        self._complete()
        self.tell_taps()
        return True

    def connect(
        self,
        topology: Topology,
        nodes: Mapping[str, NodeRole],
        wires: Mapping[tuple[str, Direction], WireRole],
    ) -> None:
        """All nodes and wires are there: tell the loop who hangs on what."""
        self._nodes = list(nodes.values())
        numbers = {name: number for number, name in enumerate(nodes)}
        for link in topology.links:
            for direction in DIRECTIONS:
                ends = (link.a, link.a_port), (link.b, link.b_port)
                (sender, _), (receiver, port) = ends if direction is Direction.UP else ends[::-1]
                wires[link.name, direction].leads(nodes[sender].pulled_as(numbers[sender]), numbers[receiver], port)
        self.core.wires = self._table([wire.address for wire in self.wires])
        self.core.nodes = self._table([node.connected(number, self) for number, node in enumerate(self._nodes)])

    def table(self, addresses: list[int | None]) -> int:
        """Address of an array of pointers that lives as long as this."""
        return self._table(addresses)

    def _table(self, addresses: list[int | None] | list[int]) -> int:
        array = (ctypes.c_void_p * max(1, len(addresses)))(*addresses)
        self._tables.append(array)
        return ctypes.addressof(array)

    def kick(self, number: int) -> None:
        """The event goes on with what the host has to send, and its alarm."""
        self.core.node, self.core.stage = number, NativeStage.KICK

    def _complete(self) -> None:
        """Whatever the event at hand still has to do."""
        while self.core.stage != NativeStage.NONE and self._answer(_NO_FURTHER):
            pass

    def _answer(self, limit: int) -> bool:
        """All that needs no Python, up to `limit`, and what Python is needed for then. False when there was no such
        thing."""
        core = self.core
        why = self._run(self.pointer, limit)
        if core.noted:
            self._tell_notes()
        self.now = core.now
        if why == Why.DRY:
            return False
        if why == Why.NO_MEMORY:
            raise MemoryError("no memory for appointments or frames")
        self._answers[why]()
        return True

    def _tell_notes(self) -> None:
        """Report what nodes noted since the last time, at the times when they did. Later events are reported
        afterwards."""
        core, words = self.core, iter(self._notes[: NOTE_WORDS * self.core.noted])
        core.noted = 0
        nodes = self._nodes
        for now, node, kind, first, second, third, fourth in zip(*[words] * NOTE_WORDS, strict=True):
            if now != self.now:  # records of one time share it
                self.now = now
            nodes[node].tell_note(kind, first, second, third, fourth)

    def tell_taps(self) -> None:
        """Give taps the frames that C recorded for them so far."""
        for flush in self.late_taps:
            flush()

    def _call(self) -> None:
        action, argument = self._actions.pop(self.core.number)
        action(argument)

    def _host(self) -> HostRole:
        return self._nodes[self.core.node]  # type: ignore[return-value]

    def _switch(self) -> SwitchRole:
        return self._nodes[self.core.node]  # type: ignore[return-value]

    def _frame(self) -> bytes:
        return ctypes.string_at(self.core.data, self.core.length)

    def _offer(self) -> None:
        """Raises InternalError when compiled code wants the same host again and again, and time stands still."""
        place = self.core.node, self.now, self._numbers
        self._offers = self._offers + 1 if place == self._offered else 0
        self._offered = place
        if self._offers == _MOST_OFFERS:
            raise InternalError(f"compiled code gave node {place[0]} back {_MOST_OFFERS} times at {place[1]} ns")
        if not self._host().offer():
            self.core.refused = 1

    def _pull(self) -> None:
        self.wires[self.core.wire].pull()

    def _admit_in(self) -> None:
        self._switch().admit(self.core.port, self._frame(), outgoing=False)

    def _admit_out(self) -> None:
        self._switch().admit(self.core.port, self._frame(), outgoing=True)

    def _arrive(self) -> None:
        node = self._nodes[self.core.node]
        node.take(self.core.port, self._frame())

    def _settle(self) -> None:
        self._host().settle_now()

    def _news(self) -> None:
        self._host().hear_news()

    def _tell(self) -> None:
        self._switch().tell_news()

    def _wake(self) -> None:
        self._host().wake()

    def _room(self) -> None:
        self._switch().make_room()

    def _record_in(self) -> None:
        self._switch().record(self.core.port, self._frame(), outgoing=False)

    def _record_out(self) -> None:
        self._switch().record(self.core.port, self._frame(), outgoing=True)

    def _dropped(self) -> None:
        self._switch().dropped(self.core.port, self._frame(), self.core.number)

    def _too_long(self) -> None:
        """Raises InternalError: rows of frames are as long as the plan's links and queue pairs need."""
        size = f" of {self.core.length} bytes" if self.core.length else ""
        place = self._nodes[self.core.node]
        raise InternalError(
            f"a frame{size} that {place.name} sends does not fit the {self.core.stride} bytes of the event loop"
        )

    def check(self, returned: int) -> int:
        """What a function that keeps a frame returned. Raises InternalError when it could not."""
        if returned < 0:
            raise InternalError(
                "a frame is longer than any link or queue pair of the plan allows, or there is no memory"
            )
        return returned
