"""A posted message as `fast.c` wants it: `struct rc_plan`, made once."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from workloads.native.address import address_of
from workloads.rc.message import OutMessage, SendPlan
from workloads.rc.outbound import FrameWriter, PlanHeads
from workloads.wire import ICRC_BYTES, Opcode

__all__ = ["PLAN_BYTES", "PLAN_PARTS", "make_irn_plan", "make_plan"]

_THREE_HEADS = struct.Struct("=" + "II72s" * 3)
_PLAN = struct.Struct(f"=QIIII8x16s4s4x{_THREE_HEADS.size}s")
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
    """A plan of go-back-N: RETH in the first packet alone."""
    packets, rest = _cut(message)
    if packets == 1:
        return _plan(message, _single_heads(writer, message.opcodes[3], len(message.reth) + len(message.imm), rest))
    first, middle, last, _ = message.opcodes
    start, end, mtu = len(message.reth), len(message.imm), message.mtu
    return _plan(message, _heads(writer, ((first, start, mtu), (middle, 0, mtu), (last, end, rest))))


def make_irn_plan(message: OutMessage, writer: FrameWriter) -> SendPlan:
    """A plan of IRN: RETH in every packet."""
    start, end, mtu = len(message.reth), len(message.imm), message.mtu
    last = Opcode.WRITE_ONLY_IMM, start + end, _cut(message)[1]
    return _plan(message, _heads(writer, ((Opcode.WRITE_FIRST, start, mtu), (Opcode.WRITE_ONLY, start, mtu), last)))


def _cut(message: OutMessage) -> tuple[int, int]:
    """(packets, bytes of the last one)"""
    packets = message.end - message.first
    return packets, message.length - (packets - 1) * message.mtu


def _heads(writer: FrameWriter, kinds: Sequence[tuple[Opcode, int, int]]) -> PlanHeads:
    """`kinds`: opcode, bytes of extension headers and of payload of these three."""
    parts: list[int | bytes] = []
    row_bytes = 0
    for opcode, extension_bytes, payload_bytes in kinds:
        octets, state, pad = writer.head(opcode, extension_bytes, payload_bytes)
        parts += len(octets), state, octets
        row_bytes = max(row_bytes, len(octets) + _WORD + extension_bytes + payload_bytes + len(pad) + ICRC_BYTES)
    return PlanHeads(_THREE_HEADS.pack(*parts), row_bytes)


def _single_heads(writer: FrameWriter, opcode: Opcode, extension_bytes: int, payload_bytes: int) -> PlanHeads:
    """Of a message of one packet. Most messages of a large ring are, and nearly all of one length."""
    key = opcode, extension_bytes, payload_bytes
    found = writer.singles.get(key)
    if found is None:
        found = writer.singles[key] = _heads(writer, (key,) * 3)
    return found


def _plan(message: OutMessage, heads: PlanHeads) -> SendPlan:
    packets, start, end = message.end - message.first, len(message.reth), len(message.imm)
    fixed = _PLAN.pack(message.length, packets, message.mtu, start, end, message.reth, message.imm, heads.octets)
    octets = fixed + b"".join([_SEGMENT.pack(address_of(view), len(view)) for view in message.segments])
    return SendPlan(octets, address_of(octets), heads.row_bytes)
