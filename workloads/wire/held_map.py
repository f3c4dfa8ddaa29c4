"""The payload of an answer under `irn-held` that shows a gap: which packets need not be sent again (decided here,
`docs/irn.md`)."""

from __future__ import annotations

from typing import NamedTuple

from workloads.machine import Buffer
from workloads.wire.layout import Field, Layout, packer_of
from workloads.wire.psn import PSN_MASK

__all__ = ["HELD_MAP", "HELD_MAP_BYTES", "HELD_MAP_WORDS", "HELD_PACKETS", "NO_PSN", "HeldMap", "decode_held_map"]

HELD_PACKETS = 64
"""most packets of a map"""
NO_PSN = 0xFFFFFFFF
HELD_MAP = Layout(
    "map",
    Field("packets", 8, "size of the map, 1 to 64, less one"),
    Field(
        "first",
        24,
        "PSN of bit 0: the next missing one behind the last map. After the last gap: the expected PSN",
    ),
    Field("newest", 32, "the PSN that came last to the last node which handled this answer; 0xffffffff: none"),
    Field("bits", 64, "bit i, from the lowest: the sender need not resend PSN first + i now"),
    source="decided here (docs/irn.md)",
)
HELD_MAP_WORDS = packer_of(HELD_MAP.words(("packets", "first")))
HELD_MAP_BYTES = HELD_MAP.size


class HeldMap(NamedTuple):
    """Bit i of `bits` is that of PSN `first` + i, for `packets` PSNs, 1 to 64. Bit 1: that packet need not be sent
    again now."""

    first: int
    packets: int
    bits: int
    newest: int
    """PSN that came last to the node that the answer passed last; NO_PSN: none did"""

    def encode(self) -> bytes:
        return HELD_MAP_WORDS.pack(self.packets - 1 << 24 | self.first, self.newest, self.bits)


def decode_held_map(payload: Buffer) -> HeldMap | None:
    """None when it is none."""
    if len(payload) != HELD_MAP_BYTES:
        return None
    word, newest, bits = HELD_MAP_WORDS.unpack(payload)
    packets = (word >> 24) + 1
    well = packets <= HELD_PACKETS and not bits >> packets and (newest == NO_PSN or newest <= PSN_MASK)
    return HeldMap(word & PSN_MASK, packets, bits, newest) if well else None
