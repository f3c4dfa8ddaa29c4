"""A posted message as `fast.c` wants it: `struct rc_plan`, made once."""

from __future__ import annotations

import struct

import numpy as np

from workloads.rc.message import OutMessage, SendPlan
from workloads.rc.outbound import FrameWriter
from workloads.wire import ICRC_BYTES

__all__ = ["PLAN_BYTES", "PLAN_PARTS", "address_of", "make_plan"]

_PLAN = struct.Struct("=QIIII8x16s4s4x" + "II72s" * 3)
_SEGMENT = struct.Struct("=QQ")
_WORD = 4
"""AckReq and PSN"""
PLAN_BYTES = _PLAN.size
PLAN_PARTS = {
    "length": 0, "packets": 8, "payload_bytes": 12, "reth_bytes": 16, "imm_bytes": 20, "reth": 32, "imm": 48,
    "heads": 56,
    "segments": PLAN_BYTES,
}  # fmt: skip
"""where they lie in it"""


def make_plan(message: OutMessage, writer: FrameWriter) -> SendPlan:
    first, middle, last, only = message.opcodes
    length, mtu, packets = message.length, message.mtu, message.end - message.first
    start, end = len(message.reth), len(message.imm)
    kinds = [(only, start + end, length)] * 3
    if packets > 1:
        kinds = [(first, start, mtu), (middle, 0, mtu), (last, end, length - (packets - 1) * mtu)]
    heads: list[int | bytes] = []
    row_bytes = 0
    for opcode, extension_bytes, payload_bytes in kinds:
        octets, state, pad = writer.head(opcode, extension_bytes, payload_bytes)
        heads += len(octets), state, octets
        row_bytes = max(row_bytes, len(octets) + _WORD + extension_bytes + payload_bytes + len(pad) + ICRC_BYTES)
    fixed = _PLAN.pack(length, packets, mtu, start, end, message.reth, message.imm, *heads)
    return SendPlan(
        fixed + b"".join(_SEGMENT.pack(address_of(view), len(view)) for view in message.segments), row_bytes
    )


def address_of(view: memoryview | bytearray | bytes) -> int:
    """Of a view that may be read-only; it stays the same as long as the view is there."""
    return int(np.frombuffer(view, np.uint8).__array_interface__["data"][0])
