"""Nodes whose Machines the compiled loop drives where it can.

Everything else is that of nodes.py: code that asks for `machine` gets it up to date, out of the hands of compiled code.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import cache
from typing import cast

from switch_nodes.filters import FrameFilter
from switch_nodes.forwarding.fast import FastForwardProgram
from switch_nodes.kinds import program_kinds
from switch_nodes.program import CompiledSums
from switch_nodes.tap import Tap
from testbed.captures.pcapng import frames_of
from testbed.faults.link_filter import LinkFilter
from testbed.faults.native import CLink
from testbed.worlds.simulated.finishing import FinishingMachine
from testbed.worlds.simulated.native.agenda import NativeAgenda
from testbed.worlds.simulated.native.library import MachineKind, NodeStruct
from testbed.worlds.simulated.native.roles import TableMaker
from testbed.worlds.simulated.native.wire import DROP_REASONS
from testbed.worlds.simulated.node import Tell
from testbed.worlds.simulated.nodes import HostNode, SwitchNode
from workloads.collectives.ring import RingCollective
from workloads.kernels import NEVER
from workloads.machine import Buffer, FrameBatch
from workloads.native.address import address_of
from workloads.rc.carried import ring_event
from workloads.transports.endpoint import NativeEndpoint
from workloads.worker import WorkerMachine

__all__ = ["NativeHostNode", "NativeSwitchNode"]

_TAPE_BYTES = 1 << 18
_NEVER_PASSES = -(1 << 63)
"""a healing that is always due: every frame is for `admit`"""


@cache
def _compiled_sums() -> tuple[type[CompiledSums], ...]:
    """Classes of programs that C drives."""
    return tuple(kind.compiled() for kind in program_kinds().values() if kind.compiled is not None)


class _LateTap(Tap):
    """A tap that gets what C has put on the tape of its switch, before what Python records."""

    def __init__(self, tap: Tap, node: NodeStruct) -> None:
        self._tap, self._node = tap, node
        self._tape = bytearray(_TAPE_BYTES)
        node.tape, node.tape_room = address_of(self._tape), _TAPE_BYTES
        self._record_blocks: Callable[[bytes], None] = getattr(tap, "record_blocks", self._record_each)

    def flush(self) -> None:
        """Record what is on the tape."""
        node = self._node
        if node.tape_used:
            blocks = bytes(memoryview(self._tape)[: node.tape_used])
            node.tape_used = 0
            self._record_blocks(blocks)

    def _record_each(self, blocks: bytes) -> None:
        for port, now, outgoing, frame, _ in frames_of(blocks):
            self._tap.record_frame(port, frame, now, outgoing)

    def record(self, batch: FrameBatch, start: int, stop: int, now: int, outgoing: bool) -> None:
        self.flush()
        self._tap.record(batch, start, stop, now, outgoing)

    def record_frame(self, port: int, frame: Buffer, now: int, outgoing: bool) -> None:
        self.flush()
        self._tap.record_frame(port, frame, now, outgoing)

    def dropped(self, port: int, frame: Buffer, now: int, outgoing: bool, reason: str) -> None:
        self.flush()
        self._tap.dropped(port, frame, now, outgoing, reason)

    def trimmed(self, port: int, frame: Buffer, now: int) -> None:
        self.flush()
        self._tap.trimmed(port, frame, now)

    def close(self) -> None:
        self._tap.close()


class _Struct:
    """What both kinds of nodes share with C."""

    struct: NodeStruct

    def armed(self) -> int:
        return NEVER if self.struct.armed < 0 else self.struct.armed

    def set_armed(self, when: int) -> None:
        self.struct.armed = -1 if when == NEVER else when

    def pause(self) -> None:
        self.struct.paused = 1
        super().pause()  # type: ignore[misc]

    def resume(self) -> bool:
        self.struct.paused = 0
        return bool(super().resume())  # type: ignore[misc]

    def kill(self) -> None:
        self.struct.alive = 0
        super().kill()  # type: ignore[misc]

    def restart(self) -> None:
        self.struct.alive = 1
        super().restart()  # type: ignore[misc]


class NativeHostNode(_Struct, HostNode):
    """A host with one port, whose Machine is a `WorkerMachine`, is driven by compiled code."""

    def __init__(
        self, name: str, actor: int, agenda: NativeAgenda, make: Callable[[], FinishingMachine], tell: Tell
    ) -> None:
        self.struct = NodeStruct(actor=actor, armed=-1, alive=1)
        self._native, self._number = agenda, -1
        self._held: NativeEndpoint | None = None
        super().__init__(name, actor, agenda, make, tell)

    @property
    def machine(self) -> FinishingMachine:
        if self.struct.is_held:
            self.struct.is_held = 0
            assert self._held is not None
            self._held.take_back(self._native.now)
        return self._machine

    @machine.setter
    def machine(self, machine: FinishingMachine) -> None:
        self._machine, self._held = machine, None
        if type(machine) is WorkerMachine:
            self._held = machine.endpoint.hold()
            if self._held is not None and type(machine.collective) is RingCollective:
                self._held.carry(machine.collective)
        self.struct.is_held = 0
        self.struct.held = None if self._held is None else self._held.address
        self.struct.machine = MachineKind.BY_VERBS if self._held is None else MachineKind.HOST

    def pulled_as(self, number: int) -> int:
        return number

    def connected(self, number: int, agenda: TableMaker) -> int:
        """Address of its struct."""
        self._number = number
        self.struct.wires = agenda.table([wire.address for wire in self.wires.values()])  # type: ignore[attr-defined]
        if list(self.wires) != [0]:
            self.struct.machine = MachineKind.BY_VERBS
        return ctypes.addressof(self.struct)

    def offer(self) -> bool:
        """Hand the Machine over, up to date. False when it is in no state for that."""
        machine, held = self.machine, self._held
        if (
            held is None
            or type(machine) is not WorkerMachine
            or not held.offer(machine.own_timer(), quiet=machine.hears_acks_late)
        ):
            return False
        self.struct.is_held = 1
        return True

    def take(self, port: int, frame: bytes) -> None:
        self.arrive(port, frame)

    def settle(self) -> None:
        struct = self.struct
        if struct.machine == MachineKind.HOST and self.alive and not self.paused:
            self._tell_events()
            if not struct.is_held:
                self.offer()  # as compiled code would ask for
            self._native.kick(self._number)  # frames and alarm
        else:
            super().settle()

    def settle_now(self) -> None:
        super().settle()

    def hear_news(self) -> None:
        held = self._held
        machine = self._machine if held is not None and held.tell_events() else self.machine
        assert type(machine) is WorkerMachine
        machine.after_news(self._native.now)
        if self.struct.is_held and self.alive and not self.paused:
            self._tell_of_held()
            self._native.kick(self._number)
        else:
            self.settle()

    def tell_note(self, kind: int, pair: int, a: int, b: int, _: int, /) -> None:
        held, machine = self._held, self._machine
        assert held is not None
        if (event := ring_event(kind, a, b)) is not None:
            self._tell(self.name, event)
            return
        held.tell(kind, pair, a, b)
        assert type(machine) is WorkerMachine
        machine.after_news(self._native.now)
        self._tell_of_held()

    def _tell_of_held(self) -> None:
        """The events of a Machine that stays with compiled code."""
        machine, told = self._machine, 0
        while (event := machine.next_event()) is not None:
            self._tell(self.name, event)
            told += 1
        self._told += told

    def wake(self) -> None:
        self._wake()

    def finish(self) -> None:
        self._frames_in += self.struct.frames_in
        self._bytes_in += self.struct.bytes_in
        super().finish()


class NativeSwitchNode(_Struct, SwitchNode):
    """A switch whose program is one of the compiled ones is driven by compiled code; its tap is asked for each
    frame."""

    def __init__(
        self,
        name: str,
        actor: int,
        agenda: NativeAgenda,
        make: Callable[[], FinishingMachine],
        tell: Tell,
        ingress: Mapping[int, FrameFilter],
        egress: Mapping[int, FrameFilter],
        tap: Tap | None,
    ) -> None:
        self.struct = NodeStruct(actor=actor, armed=-1, alive=1)
        late = None
        if tap is not None:
            late = _LateTap(tap, self.struct)
            agenda.late_taps.append(late.flush)
        self._native, self._number = agenda, -1
        self._sums: CompiledSums | None = None
        self._links: list[CLink] = []
        super().__init__(name, actor, agenda, make, tell, ingress, egress, late)

    @property
    def machine(self) -> FinishingMachine:
        machine = self._machine
        if self._sums is not None:
            self._sums.catch_up()
        elif type(machine) is FastForwardProgram and self.struct.forwarded:
            machine.catch_up(self.struct.forwarded, 0)
            self.struct.forwarded = 0
        return machine

    @machine.setter
    def machine(self, machine: FinishingMachine) -> None:
        self._machine, struct = machine, self.struct
        self._sums = cast("CompiledSums", machine) if type(machine) in _compiled_sums() else None
        struct.machine, struct.forwarded = MachineKind.BY_VERBS, 0
        if self._sums is not None and self._sums.compiled is not None:
            struct.machine = MachineKind.NETREDUCE
            struct.program, struct.queue = self._sums.compiled
        elif type(machine) is FastForwardProgram:
            struct.machine = MachineKind.FORWARD
            struct.queue, struct.macs = machine.compiled

    def pulled_as(self, number: int) -> int:
        return -1

    def connected(self, number: int, agenda: TableMaker) -> int:
        """Address of its struct."""
        self._number = number
        ports = range(max(self.wires, default=-1) + 1)
        wires = [self.wires[port].address if port in self.wires else None for port in ports]  # type: ignore[attr-defined]
        self.struct.wires = agenda.table(wires)
        self.struct.ingress = agenda.table([self._link(self._ingress.get(port)) for port in ports])
        self.struct.egress = agenda.table([self._link(self._egress.get(port)) for port in ports])
        appointed = (ctypes.c_int64 * (2 * len(ports)))(*[-1] * (2 * len(ports)))
        self._appointed, self.struct.appointed = appointed, ctypes.addressof(appointed)
        return ctypes.addressof(self.struct)

    def _link(self, found: FrameFilter | None) -> int | None:
        """Address of the `struct ina_link` of a port's filter."""
        if found is None:
            return None
        address = found.share() if type(found) is LinkFilter else None
        if address is None:
            self._links.append(CLink(heals_at=_NEVER_PASSES))
            address = ctypes.addressof(self._links[-1])
        return address

    def admit(self, port: int, frame: bytes, *, outgoing: bool) -> None:
        """Ask the filter of a port, and go on with what passes."""
        self._admit(port, frame, outgoing)

    def take(self, port: int, frame: bytes) -> None:
        self._enter(port, frame)

    def record(self, port: int, frame: bytes, *, outgoing: bool) -> None:
        """The tap sees a frame that the program took or gave."""
        self._record(port, frame, outgoing=outgoing)

    def dropped(self, port: int, frame: bytes, reason: int) -> None:
        """The wire did not take a frame: `enum sent`."""
        wire, why = self.wires[port], DROP_REASONS[reason]
        self._tell_dropped(wire, frame, why)
        if self._tap is not None:
            self._tap.dropped(port, frame, self._native.now, True, why)

    def tell_news(self) -> None:
        self._tell_events()

    def tell_note(self, kind: int, index: int, rank: int, message: int, offset: int, /) -> None:
        assert self._sums is not None
        self._tell(self.name, self._sums.logged(kind, index, rank, message, offset))

    def make_room(self) -> None:
        machine = self.machine
        if type(machine) is FastForwardProgram:
            machine.catch_up(0, self._native.core.stride)

    def finish(self) -> None:
        self._frames_in += self.struct.frames_in
        self._bytes_in += self.struct.bytes_in
        super().finish()

    def _hold(self, until: int, port: int, frame: bytes, outgoing: bool) -> None:
        native, data = self._native, frame
        actor = self._actor + 1 + 2 * port + outgoing
        native.check(
            native.library.sim_hold(native.pointer, until, actor, self._number, port, outgoing, data, len(data))
        )
