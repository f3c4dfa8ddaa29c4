"""A `Wire` whose queue and frames are in C."""

from __future__ import annotations

import ctypes

from testbed.worlds.simulated.native.agenda import NativeAgenda
from testbed.worlds.simulated.native.library import WireStruct
from testbed.worlds.simulated.wire import Wire
from topologies import LinkShape
from workloads.wire.dscp import LAYER_CLASSES

__all__ = ["DROP_REASONS", "NativeWire"]

DROP_REASONS = ("", "misfit", "queue", "early")
"""`enum sent`"""
_NO_FRAME = -1


class NativeWire(Wire):
    """`deliver` is not called: `leads` says where frames arrive."""

    def __init__(self, agenda: NativeAgenda, actor: int, shape: LinkShape) -> None:
        self._struct = WireStruct(actor=actor, number=len(agenda.wires), source=-1)
        self._native = agenda
        self.address = ctypes.addressof(self._struct)
        agenda.wires.append(self)
        super().__init__(agenda, actor, shape)
        self._struct.rate_bps = shape.rate_bps
        self._struct.limit, self._struct.longest = self._limit, self._longest
        self._struct.marks_from, self._struct.low_until = self._marks_from, self._low_until
        self._struct.serves_classes, self._struct.tells_drops = self._serves_classes, self.tells_drops
        for empty in range(LAYER_CLASSES):
            self._struct.head[empty] = _NO_FRAME

    def leads(self, source: int, node: int, port: int) -> None:
        """Frames arrive at `port` of node number `node`; host number `source` is asked for the next one (-1: none
        is)."""
        self._struct.source, self._struct.to_node, self._struct.to_port = source, node, port

    def send(self, frame: bytes) -> str:
        native, data = self._native, bytes(frame)
        return DROP_REASONS[native.check(native.library.sim_wire_send(native.pointer, self.address, data, len(data)))]

    def _waiting_in(self, layer_class: int) -> int:
        count: int = self._struct.queued[layer_class]
        return count

    def pull(self) -> None:
        """The wire is free: a frame of the host begins, if there is one."""
        frame = self._next()
        if frame is None:
            self._struct.busy = 0
        else:
            self._begin(frame)

    def kick(self) -> None:
        if not self._struct.busy:
            self.pull()

    def _begin(self, frame: bytes) -> None:
        native, data = self._native, bytes(frame)
        native.check(native.library.sim_wire_begin(native.pointer, self.address, data, len(data)))


def _field(name: str) -> property:
    def read(wire: NativeWire) -> int:
        value: int = getattr(wire._struct, name)
        return value

    def write(wire: NativeWire, value: int) -> None:
        setattr(wire._struct, name, value)

    return property(read, write)


_fields: tuple[str, ...] = ("rate_bps", "frames", "bytes", "drops", "early", "marks", "first_at", "last_at", "waiting")
for _name in _fields:
    setattr(NativeWire, _name, _field(_name))
