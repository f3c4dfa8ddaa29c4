"""What the engine keeps in memories, as records of bits. They are those of `switch_nodes/netreduce/ring.py`."""

from __future__ import annotations

from amaranth.lib.data import StructLayout

from switch_nodes.fpga.rtl.parameters import RtlParameters

__all__ = ["BANK_BITS", "connection_layout", "entry_layout", "header_layout", "message_layout", "slot_layout"]

BANK_BITS = 6
"""of a message's bank, and of its place in the connection table: 2N + 1, N at most 31"""
TAG_BITS = 33
"""of a message; one more than on the wire, so that a slot's tag never wraps"""


def slot_layout(p: RtlParameters) -> StructLayout:
    """A slot: the message that it serves, members that contributed, connections that got the result."""
    return StructLayout(
        {"tag": TAG_BITS, "bitmap": p.members, "released": p.members, "done": 1, "ce": 1, "length": 13}
    )  # fmt: skip


def connection_layout() -> StructLayout:
    """A connection: its QPN, its newest message, the PSNs without INA header, the next new PSN."""
    return StructLayout(
        {
            "known": 1, "qpn": 24, "has_newest": 1, "newest": 32, "newest_bank": BANK_BITS, "newest_entry": BANK_BITS,
            "is_plain": 1, "plain_from": 24, "plain_ended": 1, "plain_to": 24, "has_expected": 1, "expected": 24,
        }
    )  # fmt: skip


def entry_layout() -> StructLayout:
    """A message of a connection: first PSN, packets."""
    return StructLayout({"valid": 1, "message": 32, "psn": 24, "packets": 16, "bank": BANK_BITS})


def message_layout() -> StructLayout:
    """A message of a ring: packets that were announced."""
    return StructLayout({"valid": 1, "message": 32, "packets": 16})


def header_layout() -> StructLayout:
    """A kept header: its bytes, and what it takes to mark it."""
    return StructLayout({"bytes": 8, "is_ipv6": 1, "is_capable": 1, "checksum": 16})
