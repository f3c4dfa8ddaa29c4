"""The NetReduce program with `absorb.c` in front. The compiled code handles nearly all traffic, on the same arrays. The
Python reference takes, in order, every frame that the compiled loop hands back."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from enum import IntEnum
from functools import cache
from typing import Any

import numpy as np

from switch_nodes.config import RingConfig, SwitchConfig
from switch_nodes.events import MessageAggregated, PacketIgnored, ResultReplayed
from switch_nodes.forwarding.frame_queue import FrameQueue, QueuedFrames, StaticMacs
from switch_nodes.netreduce.fabric import LeafRing, SpineRing
from switch_nodes.netreduce.program import NetReduceProgram
from switch_nodes.netreduce.ring import Ring
from switch_nodes.netreduce.tables import DROP_REASONS, RingSlotAction
from workloads.machine import Event, FrameBatch
from workloads.native.layout import check_structure

__all__ = ["FastNetReduceProgram"]

_POINTER, _I32, _I64, _U64 = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64, ctypes.c_uint64
_ARRAYS = (
    "tag", "bitmap", "released", "done", "ce", "length", "header", "header_length", "payload", "value",
    "message", "announced", "completed", "entered", "qpn", "newest", "plain_from", "entry_message", "entry_id",
    "entry_psn", "entry_length", "cursor",
)  # fmt: skip
_HELD_ARRAYS = ("sent_order", "came")
_LOG_ROWS, _LOG_FIELDS = 1024, 5
_COUNTED = ("data_in", "results_out", "sent_up", "replayed", "duplicate", "bypassed", "forwarded")
_NOTHING: list[Any] = [0] * len(_COUNTED)
_DUPLICATE = DROP_REASONS[RingSlotAction.REFRESH]


class _Log(IntEnum):
    DUPLICATE, REPLAYED, AGGREGATED = range(3)


_LOG_DUPLICATE, _LOG_REPLAYED = int(_Log.DUPLICATE), int(_Log.REPLAYED)


class _Why(IntEnum):
    DONE, PYTHON, ROOM, LOG = range(4)


class RingStruct(ctypes.Structure):
    """struct netreduce_ring"""

    _fields_ = [
        *((name, _POINTER) for name in _ARRAYS[: _ARRAYS.index("value") + 1]),
        ("partial", _POINTER),
        *((name, _POINTER) for name in _ARRAYS[_ARRAYS.index("value") + 1 :]),
        *((name, _POINTER) for name in ("edge", "ingress", "egress", "ranks", "uplinks", "receive_vas", *_HELD_ARRAYS)),
        ("everyone", _U64),
        ("row", _I64),
        ("header_row", _I64),
        *((name, _I32) for name in ("size", "window", "banks", "message_packets", "mtu", "entries", "op", "dtype")),
        *((name, _I32) for name in ("asap", "id", "group", "connections", "uplink_count", "leaf", "spine")),
        ("came_columns", _I32),
        ("unused", _I32),
    ]


class SwitchStruct(ctypes.Structure):
    """struct netreduce_switch"""

    _fields_ = [
        *((name, _POINTER) for name in ("rings", "queue", "macs", "counters", "log")),
        *((name, _I64) for name in ("log_rows", "log_used", "room_frames", "room_bytes")),
        ("ring_count", _I32),
        ("why", _I32),
        ("combine_length", _I64),
        ("combine_op", _U64),
    ]
    rings: int | None
    ring_count: int
    log_used: int
    room_frames: int
    room_bytes: int
    why: int


@cache
def _check(library: ctypes.CDLL) -> None:
    check_structure(library, "netreduce_ring", RingStruct)
    check_structure(library, "netreduce_switch", SwitchStruct)


class FastNetReduceProgram(QueuedFrames, NetReduceProgram):
    """Same frames, events and arrays as `NetReduceProgram`. With gate `epsn` all frames take the
    reference."""

    def __init__(self, config: SwitchConfig, library: ctypes.CDLL) -> None:
        super().__init__(config)
        _check(library)
        self._queue = FrameQueue(library)
        self._static = StaticMacs(self.macs.static, self.macs.groups, self.macs.salt, self.macs.sprayed)
        self._absorb = library.netreduce_absorb
        self._tallies = (_I64 * len(_COUNTED))()
        self._log = np.zeros((_LOG_ROWS, _LOG_FIELDS), np.int64)
        self._struct = SwitchStruct(
            queue=self._queue.pointer,
            macs=self._static.pointer,
            counters=ctypes.addressof(self._tallies),
            log=self._log.ctypes.data,
            log_rows=_LOG_ROWS,
            combine_length=-1,
        )
        self._pointer = ctypes.addressof(self._struct)
        self._show_rings()

    def install(self, rings: Sequence[RingConfig]) -> None:
        super().install(rings)
        self._show_rings()

    def _show_rings(self) -> None:
        """Hand the arrays of the installed rings to the compiled loop."""
        self._fast_rings = [ring for ring in self.rings.values() if len(ring.edges[0][0]) == 4]
        self._kept: list[np.ndarray] = []
        self._structs = (RingStruct * len(self._fast_rings))(*map(self._ring_struct, self._fast_rings))
        self._struct.rings, self._struct.ring_count = ctypes.addressof(self._structs), len(self._structs)

    @property
    def compiled(self) -> tuple[int, int] | None:
        """Addresses of the `struct netreduce_switch` and of its queue, for a compiled loop that calls
        `netreduce_absorb` itself; None when the reference takes all frames."""
        return None if self._gated else (self._pointer, self._queue.pointer)

    def catch_up(self) -> None:
        """Behind a compiled loop: collect what was counted and noted, and make room if it came back for that."""
        self._settle()
        state = self._struct
        if state.why == _Why.ROOM:
            state.why = _Why.DONE
            self._queue.make_room(state.room_frames, state.room_bytes)

    def receive_batch(self, batch: FrameBatch, now: int) -> None:
        row, count = 0, batch.count
        if self._gated:
            for row in range(count):
                self.receive_frame(int(batch.ports[row]), batch.row(row), now)
            return
        frames, stride, lengths, ports = batch.addresses
        state = self._struct
        while row < count:
            row = self._absorb(self._pointer, frames, stride, lengths, ports, row, count)
            self._settle()
            if state.why == _Why.PYTHON:
                self.receive_frame(int(batch.ports[row]), batch.row(row), now)
                row += 1
            elif state.why == _Why.ROOM:
                self._queue.make_room(state.room_frames, state.room_bytes)

    def _settle(self) -> None:
        """What the compiled loop counted and noted."""
        tallies = self._tallies[:]
        if any(tallies):
            for name, amount in zip(_COUNTED, tallies, strict=True):
                self.counters[name] += amount
            self._tallies[:] = _NOTHING
        used = self._struct.log_used
        if used:
            self._struct.log_used = 0
            for entry in self._log[:used].tolist():
                self.tell(self.logged(*entry))

    def logged(self, kind: int, index: int, rank: int, message: int, offset: int) -> Event:
        """The event that an entry of the log stands for. That of a message's completion (`_Log.AGGREGATED`) looks at
        the message, so ask before a later one takes its place."""
        ring = self._fast_rings[index]
        if kind == _LOG_DUPLICATE:
            return PacketIgnored(ring.id, ring.ranks[rank], ring.message_id(message), offset, _DUPLICATE)
        if kind == _LOG_REPLAYED:
            return ResultReplayed(ring.id, ring.ranks[rank], ring.message_id(message), offset)
        entered = tuple(ring.entered[message % ring.banks].tolist())
        return MessageAggregated(ring.id, ring.message_id(message), ring.packets_of(message), entered)

    def _ring_struct(self, ring: Ring) -> RingStruct:
        edge = np.array([int.from_bytes(source + destination, "big") for source, destination in ring.edges], np.uint64)
        ingress, egress = np.array(ring.ingress, np.int32), np.array(ring.egress, np.int32)
        ranks = np.array(ring.ranks, np.int32)
        leaf = ring if isinstance(ring, LeafRing) else None
        uplinks = np.array(leaf.uplinks if leaf else (), np.int32)
        receive_vas = np.array(ring.receive_vas, np.uint64)
        self._kept += [edge, ingress, egress, ranks, uplinks, receive_vas]
        held_arrays = _HELD_ARRAYS if ring.tells_held else ()
        pointers = {name: getattr(ring, name).ctypes.data for name in (*_ARRAYS, *held_arrays)}
        return RingStruct(
            **pointers,
            edge=edge.ctypes.data,
            ingress=ingress.ctypes.data,
            egress=egress.ctypes.data,
            everyone=ring.everyone,
            row=ring.payload.strides[1],
            header_row=ring.header.strides[1],
            size=ring.size,
            window=ring.window,
            banks=ring.banks,
            message_packets=ring.message_packets,
            mtu=ring.mtu,
            entries=ring.entry_message.shape[1],
            op=ring.op,
            dtype=ring.dtype,
            asap=int(self.config.release == "asap" or ring.is_irn),
            id=ring.id,
            group=ring.group,
            connections=ring.connections,
            ranks=ranks.ctypes.data,
            partial=leaf.partial.ctypes.data if leaf else None,
            uplinks=uplinks.ctypes.data,
            receive_vas=receive_vas.ctypes.data if ring.is_irn else None,
            uplink_count=len(uplinks),
            leaf=int(leaf is not None),
            spine=int(isinstance(ring, SpineRing)),
            came_columns=ring.came.shape[1] if ring.tells_held else 0,
        )
