"""A switch with one shared buffer: packets are charged to the port by which they came, and PFC frames go out and in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from switch_nodes.filters import FrameFilter
from switch_nodes.lossless.asking import Asking
from switch_nodes.lossless.buffer import Account, Key, SharedBuffer
from switch_nodes.program import bytes_in_slots
from switch_nodes.tap import Tap
from testbed.history.pfc_events import PfcDropped
from testbed.worlds.simulated.agenda import Agenda
from testbed.worlds.simulated.finishing import FinishingMachine
from testbed.worlds.simulated.lossless.charge import Charge
from testbed.worlds.simulated.lossless.hooks import Hooks, measured, no_hooks
from testbed.worlds.simulated.lossless.wire import LosslessWire
from testbed.worlds.simulated.node import SimulatedNode, Tell
from testbed.worlds.simulated.nodes import SwitchNode
from testbed.worlds.simulated.wire import Wire
from workloads.machine import Buffer
from workloads.wire.pfc import decode_pfc, encode_pfc, is_mac_control
from workloads.wire.places import SRC_MAC

__all__ = ["LosslessSwitch"]

_REMIND = -1
"""appointment of a (port, class) whose pause is to be asked for again"""
_SRC_AT, _SRC_END = SRC_MAC.start, SRC_MAC.stop
_SOURCE = bytes.fromhex("02ff00000000")
"""a locally administered address: ports of our switches have none of their own"""


class LosslessSwitch(SwitchNode):
    """Needs `buffer` before the first frame. With `charges_slots`, packets in aggregation slots stay charged to the
    ports by which they came (`switch.slot_memory: shared`)."""

    def __init__(
        self,
        name: str,
        actor: int,
        agenda: Agenda,
        make: Callable[[], FinishingMachine],
        tell: Tell,
        ingress: Mapping[int, FrameFilter],
        egress: Mapping[int, FrameFilter],
        tap: Tap | None,
    ) -> None:
        SwitchNode.__init__(self, name, actor, agenda, make, tell, ingress, egress, tap)
        self.hooks: Hooks = no_hooks()
        self.charges_slots = False
        self.buffer: SharedBuffer | None = None
        self.asking: Asking | None = None
        self.links: dict[int, tuple[str, str]] = {}
        """(link, direction) by which frames enter, by port"""
        self._hand: tuple[Charge, bytes] | None = None
        """the packet that the program handles now"""
        self._offered: Charge | None = None
        self._held: dict[int, tuple[bytes, list[tuple[int, int, Charge]]]] = {}
        """(until, port, charge) of frames that a filter holds back, by identity: one for each copy, which may be the
        same object"""
        self._in_slots: dict[Key, int] = {}
        self._is_quiet = False
        """whether charges move between the buffer and the slots: the switch sends no PFC frame before the end"""
        self._port_of: dict[bytes, int] = {}
        """port by which frames of a source came last, by MAC"""
        self.released_at: dict[Key, int] = {}
        """when something charged to a (port, class) left last, in ns"""

    def own(self, buffer: SharedBuffer, quanta: int, hooks: Hooks, *, charges_slots: bool) -> None:
        """The buffer of this switch."""
        self.buffer, self.hooks, self.charges_slots = buffer, hooks, charges_slots
        self.asking = Asking(buffer, quanta, self._send_pfc, self._remind)

    def act(self, what: int, argument: Any) -> None:
        if what == _REMIND:
            assert self.asking is not None
            if self.asking.is_due(argument):
                self.hooks.still_paused()
        else:
            SwitchNode.act(self, what, argument)

    def finish(self) -> None:
        SwitchNode.finish(self)
        assert self.buffer is not None
        assert self.asking is not None
        for key, account in self.buffer.accounts.items():
            link, direction = self.links[key[0]]
            self._tell(self.name, measured(account, link, direction, self.asking.sent[key]))
        self.hooks.finish(self.name, self.wires)

    def arrive(self, port: int, frame: bytes) -> None:
        if 2 * port < len(self._gates) and self._gates[2 * port] is not None:
            self._pass(port, frame, False)
        else:
            self._enter(port, frame)

    def _enter(self, port: int, frame: bytes) -> None:
        if is_mac_control(frame):
            self._hear_control(port, frame)
            return
        buffer, asking, wire = self.buffer, self.asking, self.wires[port]
        assert buffer is not None
        assert asking is not None
        assert isinstance(wire, LosslessWire)
        pfc_class = wire.class_of(frame)
        account = buffer.accounts[port, pfc_class]
        missing, was_paused = buffer.admit(account, len(frame)), account.is_paused
        asking.after_adding(account)
        if missing:
            self._report_drop(port, pfc_class, frame, account, missing)
            return
        self._port_of[frame[_SRC_AT:_SRC_END]] = port
        hand = Charge(account, len(frame), self._released)
        self._hand, self._is_quiet = (hand, frame), self.charges_slots
        SimulatedNode.arrive(self, port, frame)
        self._hand = None
        hand.drop()
        if self.charges_slots:
            self._charge_slots(pfc_class)
            self._is_quiet = False
            asking.settle()
        if account.is_paused and not was_paused:
            self.hooks.blame(self.name, account.key)

    def _hear_control(self, port: int, frame: bytes) -> None:
        """It ends here. One that is no PFC frame is thrown away, as by any station."""
        if self._tap is not None:
            self._record(port, frame, outgoing=False)
        times, wire = decode_pfc(frame), self.wires[port]
        if times is not None:
            assert isinstance(wire, LosslessWire)
            wire.hear(times)

    def _report_drop(self, port: int, pfc_class: int, frame: bytes, account: Account, missing: int) -> None:
        account.dropped += 1
        link, direction = self.links[port]
        self.hooks.dropped(link, direction)
        if account.limits.is_lossless:
            headroom = account.limits.headroom
            self._tell(self.name, PfcDropped(link, direction, pfc_class, len(frame), headroom, missing))
        if self._tap is not None:
            self._tap.dropped(port, frame, self._agenda.now, False, "buffer")

    def _released(self, charge: Charge) -> None:
        assert self.buffer is not None
        assert self.asking is not None
        self.buffer.release(charge.account, charge.size)
        self.released_at[charge.account.key] = self._agenda.now
        if not self._is_quiet:
            self.asking.after_release()

    def _send_pfc(self, key: Key, quanta: int) -> None:
        port, pfc_class = key
        frame = encode_pfc(_SOURCE, {pfc_class: quanta})
        if self._tap is not None:
            self._record(port, frame, outgoing=True)
        if self._gates[2 * port + 1] is None:
            self._leave(port, frame)
        else:  # faults of the link may hit it
            self._pass(port, frame, True)

    def _remind(self, key: Key) -> None:
        assert self.asking is not None
        after = self.hooks.half_pause_ns(self.wires[key[0]])
        self._agenda.appoint(self._agenda.now + after, self._actor, self, _REMIND, key)

    def _charge_slots(self, pfc_class: int) -> None:
        """Make the charges of all ports what their packets in slots are."""
        assert self.buffer is not None
        now_held = {(port, pfc_class): size for port, size in bytes_in_slots(self.machine).items()}
        for key in self._in_slots.keys() | now_held.keys():
            change = now_held.get(key, 0) - self._in_slots.get(key, 0)
            if change > 0:
                self.buffer.take_back(self.buffer.accounts[key], change)
            elif change < 0:
                self.buffer.release(self.buffer.accounts[key], -change)
                self.released_at[key] = self._agenda.now
        self._in_slots = now_held

    def _depart(self, port: int, frame: bytes) -> None:
        charge = self._charge_of(frame)
        self._offered = charge
        SwitchNode._depart(self, port, frame)
        self._offered = None
        if charge is not None:
            charge.drop()

    def _charge_of(self, frame: bytes) -> Charge | None:
        """What a frame that leaves counts towards. One that the program passes on stays what it is. One from a slot is
        in the slots' own memory, or counts again towards the port by which its source's frames come."""
        hand = self._hand
        if hand is not None and (hand[1] is frame or hand[1] == frame):
            hand[0].keep()
            return hand[0]
        if not self.charges_slots:
            return None
        assert self.buffer is not None
        port = self._port_of.get(frame[_SRC_AT:_SRC_END])
        if port is None:
            return None
        wire = self.wires[port]
        assert isinstance(wire, LosslessWire)
        account = self.buffer.accounts[port, wire.class_of(frame)]
        self.buffer.take_back(account, len(frame))
        return Charge(account, len(frame), self._released)

    def _hold(self, until: int, port: int, frame: bytes, outgoing: bool) -> None:
        if outgoing and self._offered is not None:
            self._offered.keep()
            self._held.setdefault(id(frame), (frame, []))[1].append((until, port, self._offered))
        SwitchNode._hold(self, until, port, frame, outgoing)

    def _leave(self, port: int, frame: bytes) -> None:
        wire = self.wires[port]
        assert isinstance(wire, LosslessWire)
        if is_mac_control(frame):
            wire.send_control(frame)
            return
        held = self._take_held(port, frame) if self._offered is None else None
        wire.offered = self._offered if held is None else held
        SwitchNode._leave(self, port, frame)
        if held is not None:
            held.drop()

    def _take_held(self, port: int, frame: bytes) -> Charge | None:
        """The charge of the copy that a filter held back for the port, and that leaves first; None: it held none."""
        _, copies = self._held.get(id(frame), (frame, []))
        first = min((copy for copy in copies if copy[1] == port), key=lambda copy: copy[0], default=None)
        if first is None:
            return None
        copies.remove(first)
        if not copies:
            del self._held[id(frame)]
        return first[2]

    def _tell_dropped(self, wire: Wire, frame: Buffer, reason: str) -> None:
        if reason != "watchdog":  # which reports for itself
            SwitchNode._tell_dropped(self, wire, frame, reason)
