"""The compiled loop (`core.c`) by ctypes: signatures, and the structs that both sides know."""

from __future__ import annotations

import ctypes
from enum import IntEnum
from functools import cache

from workloads.native.build import load_library
from workloads.native.layout import check_structure
from workloads.rc.carried import check_ring
from workloads.rc.irn_compiled import check_irn
from workloads.rc.native_endpoint import check_native_endpoint
from workloads.wire.dscp import LAYER_CLASSES

__all__ = [
    "NOTE_WORDS",
    "CoreStruct",
    "MachineKind",
    "NativeStage",
    "NodeStruct",
    "Why",
    "WireStruct",
    "load_core",
]

_POINTER, _I32, _I64, _U64, _OCTETS = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64, ctypes.c_uint64, ctypes.c_char_p

NOTE_WORDS = 7
"""of `struct sim_note`: time, node, entry of the program's log"""


class NativeStage(IntEnum):
    """`enum stage`"""

    NONE, PULL, DELIVER, ENTER, DRAIN, LEAVE, KICK = range(7)


class Why(IntEnum):
    """`enum why`"""

    DRY, CALL, OFFER, PULL, ADMIT_IN, ADMIT_OUT, ARRIVE, SETTLE, NEWS, TELL, WAKE, ROOM, NO_MEMORY = range(13)
    RECORD_IN, RECORD_OUT, DROPPED, TOO_LONG, AIR = range(13, 18)


class MachineKind(IntEnum):
    """`enum machine`"""

    BY_VERBS, HOST, NETREDUCE, FORWARD = range(4)


class WireStruct(ctypes.Structure):
    """`struct sim_wire`"""

    _fields_ = (
        *(
            (name, _I64)
            for name in (
                "rate_bps", "limit", "longest", "marks_from", "low_until", "remainder", "frames", "bytes", "drops",
                "early", "marks", "first_at", "last_at",
            )
        ),
        ("actor", _U64),
        ("waiting", _I64),
        *((name, _I32 * LAYER_CLASSES) for name in ("queued", "head", "tail")),
        *(
            (name, _I32)
            for name in (
                "busy", "number", "source", "to_node", "to_port", "serves_classes", "tells_drops", "unused",
            )
        ),
    )  # fmt: skip
    rate_bps: int
    frames: int
    bytes: int
    drops: int
    early: int
    marks: int
    first_at: int
    last_at: int
    busy: int
    number: int
    source: int
    to_node: int
    to_port: int


class NodeStruct(ctypes.Structure):
    """`struct sim_node`"""

    _fields_ = (
        ("actor", _U64),
        *((name, _I64) for name in ("armed", "frames_in", "bytes_in", "forwarded")),
        *(
            (name, _POINTER)
            for name in ("wires", "ingress", "egress", "appointed", "held", "program", "queue", "macs", "tape")
        ),
        *((name, _I64) for name in ("tape_used", "tape_room")),
        *((name, _I32) for name in ("machine", "alive", "paused", "is_held")),
    )
    armed: int
    frames_in: int
    bytes_in: int
    forwarded: int
    wires: int | None
    ingress: int | None
    egress: int | None
    appointed: int | None
    held: int | None
    program: int | None
    queue: int | None
    macs: int | None
    machine: int
    alive: int
    paused: int
    is_held: int
    tape: int | None
    tape_used: int
    tape_room: int


class CoreStruct(ctypes.Structure):
    """The first part of `struct sim_core`."""

    _fields_ = (
        ("now", _I64),
        ("salt", _U64),
        *((name, _POINTER) for name in ("wires", "nodes", "data")),
        *((name, _I64) for name in ("length", "number", "stride")),
        *((name, _I32) for name in ("stage", "node", "port", "wire", "refused", "broken")),
        ("notes", _POINTER),
        ("noted", _I64),
    )
    now: int
    wires: int | None
    nodes: int | None
    data: int
    length: int
    number: int
    stride: int
    stage: int
    node: int
    port: int
    wire: int
    refused: int
    notes: int
    noted: int


def load_core() -> ctypes.CDLL | None:
    """None where it cannot be built; `native_status()` says why."""
    library = load_library("simulator")
    return None if library is None else _signed(library)


@cache
def _signed(library: ctypes.CDLL) -> ctypes.CDLL:
    signatures: dict[str, tuple[object, tuple[object, ...]]] = {
        "sim_new": (_POINTER, (_I64, _U64)),
        "sim_free": (None, (_POINTER,)),
        "sim_at": (None, (_POINTER, _I64, _U64, _I32)),
        "sim_next_time": (_I64, (_POINTER,)),
        "sim_run": (ctypes.c_int, (_POINTER, _I64)),
        "sim_hold": (ctypes.c_int, (_POINTER, _I64, _U64, _I32, _I32, _I32, _OCTETS, _I64)),
        "sim_wire_begin": (ctypes.c_int, (_POINTER, _POINTER, _OCTETS, _I64)),
        "sim_wire_send": (ctypes.c_int, (_POINTER, _POINTER, _OCTETS, _I64)),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    check_structure(library, "sim_core", CoreStruct)
    check_structure(library, "sim_wire", WireStruct)
    check_structure(library, "sim_node", NodeStruct)
    check_native_endpoint(library)
    check_irn(library)
    check_ring(library)
    return library
