"""What APPLY checks, word by word, and what the engine then knows of a ring."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Signal

from switch_nodes.fpga.regmap import DTYPES, GATES, OPS, RELEASES
from switch_nodes.fpga.rtl.banks import field_word
from switch_nodes.fpga.rtl.parameters import RtlParameters
from switch_nodes.fpga.rtl.records import BANK_BITS

__all__ = ["GENERAL", "MAC", "MEMBER", "RING", "Check", "RingContext", "checks_of"]

GENERAL, MAC, RING, MEMBER = range(4)
"""sections of a bank"""


@dataclass(frozen=True, slots=True)
class Check:
    word: int
    low: int = 0
    high: int = 0
    choices: tuple[int, ...] = ()
    is_index: bool = False
    """the word is the number of its record"""


def checks_of(p: RtlParameters) -> dict[int, list[Check]]:
    """What each word must be, by section; the last general ones are the numbers of MACs and rings."""
    ports = (1 << p.ports) - 1
    mtus = tuple(mtu for mtu in (256, 512, 1024, 2048, 4096) if mtu <= p.mtu)

    def of(name: str, low: int, high: int) -> Check:
        return Check(field_word(name), low, high)

    return {
        GENERAL: [
            of("RELEASE", 0, len(RELEASES) - 1), of("GATE", 0, len(GATES) - 1), of("HAIRPIN", 0, 1),
            of("FLOOD_ALL", 0, 1), of("FLOOD_PORTS", 0, ports & 0xFFFFFFFF),
            Check(field_word("FLOOD_PORTS") + 1, 0, ports >> 32), of("MAC_COUNT", 0, p.macs),
            of("RING_COUNT", 0, p.rings),
        ],
        MAC: [of("MAC_HIGH", 0, 0xFFFF), of("MAC_PORT", 0, p.ports - 1)],
        RING: [
            Check(field_word("RING_FAMILY"), choices=(4, 6)), of("RING_ROLE", 0, 0),
            of("RING_MEMBERS", 2, p.members), of("RING_ID", 0, 0xFFFF), of("RING_OP", 0, len(OPS) - 1),
            of("RING_DTYPE", 0 if p.floats else 1, len(DTYPES) - 1), of("RING_WINDOW", 1, p.window),
            of("RING_PACKETS", 1, 0xFFFF), Check(field_word("RING_PATH_MTU"), choices=mtus),
        ],
        MEMBER: [
            Check(field_word("MEMBER_RANK"), is_index=True), of("MEMBER_PORT", 0, p.ports - 1),
        ],
    }  # fmt: skip


class RingContext:
    """What the engine knows of one installed ring, as registers."""

    def __init__(self, p: RtlParameters, number: int) -> None:
        def make(name: str, shape: int | range) -> Signal:
            return Signal(shape, name=f"ring{number}_{name}")

        self.id, self.op, self.dtype = make("id", 16), make("op", 4), make("dtype", 4)
        self.packets, self.window = make("packets", 16), make("window", BANK_BITS - 1)
        self.mtu, self.members, self.family = make("mtu", 13), make("members", range(p.members + 1)), make("family", 3)
        self.base, self.slots = make("base", range(p.slots)), make("slots", range(p.slots + 1))

    def fields(self) -> tuple[Signal, ...]:
        return (
            self.id, self.op, self.dtype, self.packets, self.window, self.mtu, self.members, self.family, self.base,
            self.slots,
        )  # fmt: skip
