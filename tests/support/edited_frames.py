"""Frames with one thing changed, and what a broken rule must look like."""

from __future__ import annotations

from dataclasses import replace

from testbed.history.verdict import Verdict
from workloads.wire import decode_packet, encode_packet

__all__ = ["broken", "flipped", "reencoded"]


def broken(result, rule, *, also=()):
    """`also`: rules that the same capture breaks as a consequence."""
    assert result.verdict is Verdict.FAIL, result
    rules = {int(text.split(" ")[1]) for text in result.evidence}
    assert rule in rules, result.evidence
    assert rules <= {rule, *also}, result.evidence
    return result.detail


def reencoded(frame, **changes):
    """The packet with other fields in envelope, BTH or extension headers, and a right iCRC."""
    packet = decode_packet(frame)
    parts = {}
    for name, value in changes.items():
        part = next(p for p in ("envelope", "bth", "reth", "aeth") if hasattr(getattr(packet, p), name))
        parts[part] = replace(parts.get(part, getattr(packet, part)), **{name: value})
    return encode_packet(replace(packet, **parts))


def flipped(frame, at=-9):
    return bytes((*frame[:at], frame[at] ^ 1, *frame[at + 1 :])) if at >= 0 else flipped(frame, len(frame) + at)
