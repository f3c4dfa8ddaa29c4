"""A host whose NIC obeys PFC, and sends it when its receive queue fills."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from switch_nodes.lossless.asking import Asking
from switch_nodes.lossless.buffer import Account, Key, SharedBuffer
from testbed.history.pfc_events import PfcDropped
from testbed.worlds.simulated.agenda import Agenda
from testbed.worlds.simulated.finishing import FinishingMachine
from testbed.worlds.simulated.lossless.hooks import Hooks, measured, no_hooks
from testbed.worlds.simulated.lossless.wire import LosslessWire
from testbed.worlds.simulated.node import SimulatedNode, Tell
from testbed.worlds.simulated.nodes import HostNode
from workloads.wire.pfc import decode_pfc, encode_pfc, is_mac_control

__all__ = ["LosslessHost"]

_REMIND, _TAKE, _STORM = -1, -2, -3
"""appointments: to ask for a pause again, the host takes a frame, the storm goes on"""
_BITS_NS = 8 * 1_000_000_000


class LosslessHost(HostNode):
    """Hosts of PFC networks have one port. Without `receive_through`, the host takes each frame at once."""

    def __init__(self, name: str, actor: int, agenda: Agenda, make: Callable[[], FinishingMachine], tell: Tell) -> None:
        HostNode.__init__(self, name, actor, agenda, make, tell)
        self.hooks: Hooks = no_hooks()
        self.mac = bytes(6)
        self.links: dict[int, tuple[str, str]] = {}
        """(link, direction) by which frames enter, by port"""
        self.held_up: Callable[[int], int] = lambda pfc_class: 0
        """how often its switch held a frame of a class back for a pause"""
        self._rate_bps = 0
        self._buffer: SharedBuffer | None = None
        self._asking: Asking | None = None
        self._queue: deque[tuple[Account, int, bytes]] = deque()
        self._quanta = 0
        self._storms: dict[int, int] = {}
        """number of storms by class"""

    def own(self, mac: bytes, quanta: int, hooks: Hooks) -> None:
        """What the network knows of this host."""
        self.mac, self._quanta, self.hooks = mac, quanta, hooks

    def receive_through(self, buffer: SharedBuffer, rate_bps: int) -> None:
        """A receive queue, from which the host takes frames at this rate."""
        self._buffer, self._rate_bps = buffer, rate_bps
        self._asking = Asking(buffer, self._quanta, self._send_pfc, self._remind)

    @property
    def is_storming(self) -> bool:
        return any(self._storms.values())

    def begin_storm(self, pfc_class: int) -> None:
        """Ask for a pause of the class again and again."""
        self._storms[pfc_class] = self._storms.get(pfc_class, 0) + 1
        if self._storms[pfc_class] == 1:
            self._blow(pfc_class)

    def end_storm(self, pfc_class: int) -> None:
        """The neighbour may go on, unless another storm or the receive queue holds the class."""
        self._storms[pfc_class] -= 1
        full = self._buffer is not None and self._buffer.accounts[0, pfc_class].is_paused
        if not self._storms[pfc_class]:
            self._send_pfc((0, pfc_class), self._quanta if full else 0)

    def act(self, what: int, argument: Any) -> None:
        if what == _TAKE:
            self._take_next()
        elif what == _REMIND:
            assert self._asking is not None
            if self._asking.is_due(argument):
                self.hooks.still_paused()
        elif what == _STORM:
            if self._storms[argument]:
                self._blow(argument)
                self.hooks.still_paused()
        else:
            HostNode.act(self, what, argument)

    def arrive(self, port: int, frame: bytes) -> None:
        wire = self.wires[port]
        assert isinstance(wire, LosslessWire)
        if is_mac_control(frame):
            times = decode_pfc(frame)
            if times is not None:
                wire.hear(times)
        elif self._buffer is None:
            SimulatedNode.arrive(self, port, frame)
        else:
            self._queue_frame(self._buffer, port, frame, wire.class_of(frame))

    def finish(self) -> None:
        HostNode.finish(self)
        for port, (link, direction) in self.links.items() if self._buffer is not None else ():
            assert self._buffer is not None
            assert self._asking is not None
            for key, account in self._buffer.accounts.items():
                if key[0] == port:
                    self._tell(self.name, measured(account, link, direction, self._asking.sent[key]))
        self.hooks.finish(self.name, self.wires)

    def _queue_frame(self, buffer: SharedBuffer, port: int, frame: bytes, pfc_class: int) -> None:
        assert self._asking is not None
        account = buffer.accounts[port, pfc_class]
        missing, was_paused = buffer.admit(account, len(frame)), account.is_paused
        self._asking.after_adding(account)
        if missing:
            link, direction = self.links[port]
            account.dropped += 1
            self.hooks.dropped(link, direction)
            if account.limits.is_lossless:
                headroom = account.limits.headroom
                self._tell(self.name, PfcDropped(link, direction, pfc_class, len(frame), headroom, missing))
            return
        self._queue.append((account, port, frame))
        if len(self._queue) == 1:
            self._begin_to_take(frame)
        if account.is_paused and not was_paused:
            self.hooks.blame(self.name, account.key)

    def _begin_to_take(self, frame: bytes) -> None:
        after = -(-len(frame) * _BITS_NS // self._rate_bps)
        self._agenda.appoint(self._agenda.now + after, self._actor, self, _TAKE, None)

    def _take_next(self) -> None:
        assert self._buffer is not None
        assert self._asking is not None
        account, port, frame = self._queue.popleft()
        self._buffer.release(account, len(frame))
        self._asking.after_release()
        if self._queue:
            self._begin_to_take(self._queue[0][2])
        SimulatedNode.arrive(self, port, frame)

    def _blow(self, pfc_class: int) -> None:
        self._send_pfc((0, pfc_class), self._quanta)
        self.hooks.blame(self.name, (0, pfc_class))
        after = self.hooks.half_pause_ns(self.wires[0])
        self._agenda.appoint(self._agenda.now + after, self._actor, self, _STORM, pfc_class)

    def _send_pfc(self, key: Key, quanta: int) -> None:
        if not quanta and self._storms.get(key[1]):
            return  # the receive queue has room, but the storm goes on
        wire = self.wires[key[0]]
        assert isinstance(wire, LosslessWire)
        wire.send_control(encode_pfc(self.mac, {key[1]: quanta}))

    def _remind(self, key: Key) -> None:
        after = self.hooks.half_pause_ns(self.wires[key[0]])
        self._agenda.appoint(self._agenda.now + after, self._actor, self, _REMIND, key)
