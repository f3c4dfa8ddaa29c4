"""Faults as C rules, and the C half of LinkFilter (`filter.c`) by ctypes; absent without a compiler."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.faults.acts import copy_bits
from testbed.faults.base import PacketFault
from testbed.faults.decide import MASK64, flow_key, stream_key, threshold
from testbed.faults.kinds import record_of
from testbed.faults.matching import ConnectionTable
from testbed.faults.way import LinkWay
from workloads.machine import FrameBatch
from workloads.native.build import load_library
from workloads.native.layout import check_structure
from workloads.transports import TransportKind

__all__ = [
    "FOREVER",
    "CLink",
    "CRule",
    "NativeScreen",
    "asks_attempts",
    "c_rules",
    "knows_attempts",
    "load_filter",
    "port_in_c",
]  # fmt: skip

_IF_OPCODE, _IF_SYNDROME, _IF_ATTEMPT, _IF_OFFSET, _IF_RANK, _IF_MESSAGE, _IF_HEADER = 1, 2, 4, 8, 16, 32, 64
FOREVER = (1 << 63) - 1
_BIT_BY_HASH = 0xFFFFFFFF


class CRule(ctypes.Structure):
    """`struct ina_rule` of rules.h."""

    _fields_ = (
        ("stream", ctypes.c_uint64),
        ("chance", ctypes.c_uint64),
        ("recover", ctypes.c_uint64),
        ("loss_bad", ctypes.c_uint64),
        ("loss_good", ctypes.c_uint64),
        ("opcodes", ctypes.c_uint64 * 4),
        ("start_ns", ctypes.c_int64),
        ("stop_ns", ctypes.c_int64),
        ("period_ns", ctypes.c_uint64),
        ("kind", ctypes.c_uint32),
        ("conditions", ctypes.c_uint32),
        ("flaps", ctypes.c_uint32),
        ("attempt", ctypes.c_uint32),
        ("psn_offset", ctypes.c_uint32),
        ("syndrome", ctypes.c_uint32),
        ("source_rank", ctypes.c_uint32),
        ("bit", ctypes.c_uint32),
        ("copy_bit", ctypes.c_uint32),
        ("udp_port", ctypes.c_uint32),
    )


class CLink(ctypes.Structure):
    """`struct ina_link` of link.h."""

    _fields_ = (
        ("filter", ctypes.c_void_p),
        ("stream", ctypes.c_uint64),
        ("delay_ns", ctypes.c_int64),
        ("jitter_ns", ctypes.c_int64),
        ("horizon", ctypes.c_int64),
        ("heals_at", ctypes.c_int64),
        ("overtaken_at", ctypes.c_int64),
    )
    horizon: int
    heals_at: int
    overtaken_at: int


class _CConnection(ctypes.Structure):
    _fields_ = (("rank", ctypes.c_uint32), ("first_psn", ctypes.c_uint32))


def port_in_c(transports: Sequence[TransportKind]) -> int:
    """The UDP port whose datagrams C can tell by their bytes; 0: there is none, or there are several."""
    ports = {each.udp_port for each in transports if each.kinds and each.udp_port and each.resends_alike}
    return ports.pop() if len(ports) == 1 else 0


def knows_attempts(transports: Sequence[TransportKind]) -> bool:
    """Whether C and eBPF can tell how often a packet was sent: it is how often the same bytes came."""
    others = [each for each in transports if each.kinds]
    return not others or (port_in_c(transports) != 0 and all(each.resends_alike for each in others))


def asks_attempts(faults: Sequence[PacketFault], transports: Sequence[TransportKind]) -> bool:
    """Whether some fault asks datagrams for what C and eBPF do not know."""
    asked = ((fault.match.attempt, fault.match.kind, fault.match.sequence) for fault in faults)
    return not knows_attempts(transports) and any(each != (None, None, None) for each in asked)


def c_rules(faults: Sequence[PacketFault], way: LinkWay) -> list[CRule]:
    """The faults of one link direction, in order, as C sees them."""
    return [_c_rule(fault, way, copy_bit) for fault, copy_bit in zip(faults, copy_bits(faults), strict=True)]


def _c_rule(fault: PacketFault, way: LinkWay, copy_bit: int) -> CRule:
    match, conditions, opcodes = fault.match, 0, 0
    for present, flag in (
        (match.opcodes is not None, _IF_OPCODE),
        (match.syndrome is not None, _IF_SYNDROME),
        (match.attempt is not None, _IF_ATTEMPT),
        (match.psn_offset is not None, _IF_OFFSET),
        (match.source_rank is not None, _IF_RANK),
        (match.message is not None or match.packet is not None, _IF_MESSAGE),
        (match.kind is not None or match.sequence is not None, _IF_HEADER),
    ):
        conditions |= flag if present else 0
    for opcode in match.opcodes or ():
        opcodes |= 1 << opcode
    rule = CRule(
        stream=stream_key(way.seed, fault.name, way.link, way.direction),
        chance=threshold(fault.rate),
        start_ns=fault.window.start_ns,
        stop_ns=FOREVER if fault.window.stop_ns is None else fault.window.stop_ns,
        kind=record_of(fault).native,
        conditions=conditions,
        attempt=match.attempt or 0,
        psn_offset=(match.psn_offset or 0) & 0xFFFFFF,
        syndrome=match.syndrome or 0,
        source_rank=match.source_rank or 0,
        bit=_BIT_BY_HASH,
        copy_bit=copy_bit,
        udp_port=port_in_c(way.transports),
    )
    rule.opcodes[:] = [opcodes >> shift & MASK64 for shift in (0, 64, 128, 192)]
    for name, number in record_of(fault).rule(fault).items():
        setattr(rule, name, number)
    return rule


def load_filter() -> ctypes.CDLL | None:
    """The compiled `filter.c`, with its signatures set; None when this machine cannot build it."""
    lib = load_library("fault_filter")
    return None if lib is None else _signed(lib)


@cache
def _signed(lib: ctypes.CDLL) -> ctypes.CDLL:
    pointer, u32, u64 = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64
    signatures: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "ina_filter_new": (pointer, (pointer, u32, pointer, pointer, u32)),
        "ina_filter_free": (None, (pointer,)),
        "ina_filter_count": (u32, (pointer, u64)),
        "ina_filter_screen": (None, (pointer, pointer, u64, pointer, u32, u32, ctypes.c_int64, pointer)),
        "ina_draw_many": (None, (u64, pointer, u64, pointer)),
        "ina_burst_state": (u32, (u64, u64, u32, u32, u32, u64, u64)),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    check_structure(lib, "ina_rule", CRule)
    check_structure(lib, "ina_link", CLink)
    check_structure(lib, "ina_connection", _CConnection)
    return lib


class NativeScreen:
    """Occurrences and the screen of one link direction, in C."""

    def __init__(self, lib: ctypes.CDLL, rules: Sequence[CRule], table: ConnectionTable) -> None:
        array = (CRule * len(rules))(*rules)
        asks = any(rule.conditions & (_IF_OFFSET | _IF_RANK) for rule in rules)
        flows = [(flow_key(*flow), connection) for flow, connection in table] if asks else []
        keys = np.array([key for key, _ in flows], np.uint64)
        connections = (_CConnection * len(flows))(*(_CConnection(item.rank, item.first_psn) for _, item in flows))
        self._lib, self._count = lib, lib.ina_filter_count
        self._filter = lib.ina_filter_new(
            ctypes.addressof(array), len(rules), keys.ctypes.data, ctypes.addressof(connections), len(flows)
        )
        if not self._filter:
            raise MemoryError("no memory for a fault filter")
        self._free = weakref.finalize(self, lib.ina_filter_free, self._filter)
        self._arrays: tuple[NDArray[np.uint8], NDArray[np.int32]] | None = None

    @property
    def address(self) -> int:
        """Of the `struct filter`."""
        address: int = self._filter
        return address

    def count(self, key: int) -> int:
        """Which occurrence of this identity it is, from 1."""
        occurrence: int = self._count(self._filter, key)
        if not occurrence:
            raise MemoryError("no memory to count packets")
        return occurrence

    def screen(self, batch: FrameBatch, start: int, now: int) -> NDArray[np.bool_]:
        """As FrameFilter.screen."""
        passes = np.empty(max(0, batch.count - start), np.bool_)
        if self._arrays is None or self._arrays[0] is not batch.frames or self._arrays[1] is not batch.lengths:
            self._arrays = batch.frames, batch.lengths
            self._addresses = batch.frames.ctypes.data, batch.frames.strides[0], batch.lengths.ctypes.data
        frames, stride, lengths = self._addresses
        self._lib.ina_filter_screen(self._filter, frames, stride, lengths, start, batch.count, now, passes.ctypes.data)
        return passes
