"""The register map of an aggregation card, version 1.0 (`docs/bring-your-own-fpga.md`).

Addresses below 0x1000 are the card itself: identity, control, loading, counters. From 0x1000 on lies the configuration:
two banks behind one window. Writes reach only the staged bank. APPLY makes it the active one in one step.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

from switch_nodes.fpga.registers import Access, Register, RegisterMap, table
from workloads.collectives.ina_header import DTYPE_CODES, MAX_MEMBERS, OP_CODES

__all__ = [
    "CONFIGURATION",
    "COUNTERS",
    "COUNTERS_OF_MINOR",
    "DTYPES",
    "GATES",
    "MAC_FIELDS",
    "MAGIC",
    "MAP_VERSION",
    "MAX_MACS",
    "MAX_PORTS",
    "MAX_RINGS",
    "MEMBER_FIELDS",
    "OPERATIONS",
    "OPS",
    "PAGE_BYTES",
    "REGISTERS",
    "RELEASES",
    "RING_FIELDS",
    "SECTIONS",
    "Command",
    "Failure",
    "Feature",
    "LoadState",
    "RingRole",
    "Status",
    "table_stride",
]

MAGIC = 0x494E4143
"""INAC"""
MAP_VERSION = 0x0001_0002
"""major in the upper half: another one is another map; minor: registers were added"""
PAGE_BYTES = 1024
MAX_RINGS, MAX_MACS, MAX_PORTS = 8, 256, 64
"""what the map has room for; a card may have less (MAX_RINGS, MAX_MACS, PORTS)"""
OPS, DTYPES = tuple(OP_CODES), tuple(DTYPE_CODES)
"""names by code, as in the INA header"""
RELEASES, GATES = ("order", "asap"), ("window", "epsn")
"""names by code"""
OPERATIONS = {(op, dtype): 1 << 4 * OP_CODES[op] + DTYPE_CODES[dtype] for op in OPS for dtype in DTYPES}
"""bit of register OPERATIONS"""


class Command(IntEnum):
    """What is written to CONTROL, with its complement in the upper half."""

    DISCARD = 1
    """the staged bank is as after power-on"""
    APPLY = 2
    """check the staged bank, make it the active one between two frames; refused: the active one stays"""
    START = 3
    """pass frames"""
    STOP = 4
    """drop every frame; state stays"""
    RESET = 5
    """state as after power-on, but the bitstream stays"""
    LATCH = 6
    """copy all counters at one moment to where they are read"""
    LOAD_BEGIN = 7
    """stop, forget bitstream and configuration, expect LOAD_SIZE bytes"""
    LOAD_END = 8
    """compare with EXPECTED_HASH, and load"""
    ERASE = 9
    """stop, forget bitstream and configuration"""


class Status(IntFlag):
    PROGRAMMED = 1
    """a whole bitstream is loaded"""
    CONFIGURED = 2
    """the active bank was applied"""
    RUNNING = 4
    """frames are passed"""
    BUSY = 8
    """a command is under way; others are refused"""


class Failure(IntEnum):
    """ERROR: how the newest command ended, or why a write since then was refused."""

    NONE = 0
    UNKNOWN_COMMAND = 1
    NOT_PROGRAMMED = 2
    NOT_CONFIGURED = 3
    BUSY = 4
    WRONG_CHECK = 5
    """EXPECTED_CHECK is not STAGED_CHECK: writes were lost, doubled or altered"""
    REFUSED_VALUE = 6
    """ERROR_ADDRESS cannot hold what it does"""
    NOT_LOADING = 7
    SHORT_LOAD = 8
    """pages are missing"""
    WRONG_HASH = 9
    """the bytes are not those of EXPECTED_HASH"""
    LOAD_BROKEN = 10
    """the card could not be programmed"""
    NOT_A_BITSTREAM = 11
    """or one of a program that this card cannot run"""
    NOT_WRITABLE = 12
    """a write to ERROR_ADDRESS, where nothing can be written"""


class LoadState(IntEnum):
    EMPTY = 0
    LOADING = 1
    LOADED = 2
    FAILED = 3


class Feature(IntFlag):
    LOADS = 1
    """bitstreams are loaded through these registers; without it the agent loads them, and LOAD_STATE and BITSTREAM_HASH
    show the result"""
    FABRIC = 2
    """can be leaf or spine"""
    IPV6 = 4


class RingRole(IntEnum):
    RACK = 0
    LEAF = 1
    SPINE = 2


def _codes(kind: type[IntEnum] | type[IntFlag]) -> str:
    return ", ".join(f"{item.value} {item.name}" for item in kind)


def _named(names: tuple[str, ...]) -> str:
    return ", ".join(f"{code} {name}" for code, name in enumerate(names))


_R, _W, _B = Access.READ, Access.WRITE, Access.BOTH

_IDENTITY = (
    Register("MAGIC", 0x000, _R, "the letters INAC: an aggregation card is here", MAGIC),
    Register("MAP_VERSION", 0x004, _R, "of this map: (major << 16) + minor", MAP_VERSION),
    Register("ECHO", 0x008, _B, "reads as the complement of what was written last", 0xFFFFFFFF),
    Register(
        "READ_CHECK", 0x00C, _B,
        "CRC-32 over (address, word) of every word read since this was last written, itself left out; written: 0",
    ),
    Register("FEATURES", 0x010, _R, f"bits: {_codes(Feature)}"),
    Register("OPERATIONS", 0x014, _R, "bit 4 * op + dtype: this arithmetic is built in"),
    Register("PORTS", 0x018, _R, "data ports, numbered from 0"),
    Register("MAX_RINGS", 0x01C, _R, f"rings that can be installed, up to {MAX_RINGS}"),
    Register("MAX_MEMBERS", 0x020, _R, f"members of one ring, up to {MAX_MEMBERS}"),
    Register("MAX_MACS", 0x024, _R, f"static forwarding entries, up to {MAX_MACS}"),
    Register("MAX_SLOTS", 0x028, _R, "slots of all rings together: the sum of 2 N L"),
    Register(
        "BOOTS", 0x02C, _R, "times that power came or RESET was given: another number means that all is forgotten"
    ),
    Register("SERIAL", 0x030, _R, "of the card, text of 16 bytes", count=4),
)  # fmt: skip
_CONTROL = (
    Register("CONTROL", 0x040, _W, f"a command, its complement in the upper half: {_codes(Command)}"),
    Register("STATUS", 0x044, _R, f"bits, their complement in the upper half: {_codes(Status)}", 0xFFFF0000),
    Register("ERROR", 0x048, _R, f"how the newest command ended, or why a write was refused: {_codes(Failure)}"),
    Register("ERROR_ADDRESS", 0x04C, _R, "the register that ERROR is about; all ones: none", 0xFFFFFFFF),
    Register("COMMANDS", 0x050, _R, "commands taken since power-on, refused ones included"),
    Register("BANK", 0x054, _B, "what reads of the configuration show: 0 staged, 1 active"),
    Register("STAGED_CHECK", 0x058, _R, "CRC-32 over (address, word) of all configuration writes since DISCARD, in "
                                        "order"),
    Register("EXPECTED_CHECK", 0x05C, _B, "what STAGED_CHECK must be when APPLY comes"),
    Register("ACTIVE_CHECK", 0x060, _R, "STAGED_CHECK of what is active"),
    Register("APPLIED", 0x064, _R, "times that APPLY succeeded since power-on or LOAD_BEGIN"),
)  # fmt: skip
_LOADING = (
    Register("LOAD_STATE", 0x080, _R, _codes(LoadState)),
    Register("LOAD_SIZE", 0x084, _B, "bytes of the bitstream that is to be loaded"),
    Register("LOAD_PAGE", 0x088, _W, f"stores LOAD_BUFFER as page number n (of {PAGE_BYTES} bytes) of the bitstream"),
    Register("LOADED_PAGES", 0x08C, _R, "different pages stored since LOAD_BEGIN"),
    Register("LOAD_MS", 0x090, _R, "how long the newest load took from LOAD_END on"),
    Register("PROGRAM_VERSION", 0x094, _R, "of the program inside the bitstream: (major << 16) + minor"),
    Register("EXPECTED_HASH", 0x0A0, _B, "SHA-256 that the bitstream must have; word i is its bytes 4i .. 4i+3, "
                                         "big-endian", count=8),
    Register("BITSTREAM_HASH", 0x0C0, _R, "SHA-256 of what is loaded; 0 when nothing is", count=8),
    Register("PROGRAM_NAME", 0x0E0, _R, "of the program inside the bitstream, text of 16 bytes", count=4),
    Register("LOAD_BUFFER", 0x400, _B, "one page", count=PAGE_BYTES // 4),
)  # fmt: skip

COUNTERS: dict[str, str] = {
    "frames_in": "frames that came in on the data ports",
    "frames_out": "frames that left",
    "not_running": "frames dropped because the card did not run",
    "data_in": "frames on an edge of an installed ring",
    "results_out": "frames that left with a sum",
    "sent_up": "partial sums sent to spines",
    "replayed": "duplicates of complete slots, answered with the sum",
    "inferred": "messages whose first packet was missing, placed by those before",
    "bypassed": "frames that are not aggregated",
    "forwarded": "of these, with a known destination",
    "flooded": "of these, to all ports",
    "filtered": "dropped: the way leads back, or nowhere",
    "runt": "dropped: no Ethernet header",
    "icrc": "dropped: wrong iCRC",
    "nofirst": "dropped: no message fits",
    "duplicate": "contribution was there already",
    "stale": "dropped: of an older message",
    "stale_forwarded": "of an older message, passed raw",
    "overrun": "dropped: of a message that the slots do not serve yet",
    "mismatch": "dropped: repeated with another payload",
    "length": "dropped: another length than the first contribution",
    "inconsistent_first": "dropped: contradicts the ring or its own message",
    "malformed": "dropped: contradicts its place in the message",
    "wrong_port": "dropped: came in where its sender is not",
    "ahead": "dropped: gate epsn only",
    "unasked": "leaf, dropped: a sum of spines that the rack did not ask for",
    "unforeseen": "dropped: its table has no such pair of state and event (map 1.1)",
    "trimmed": "passed on, not counted: a full queue had cut the payload (map 1.2)",
}
COUNTERS_OF_MINOR = (26, 27, len(COUNTERS))
"""number of counters that the maps 1.0, 1.1 and 1.2 have; each version adds its own behind those before"""
_COUNTING = (
    Register("LATCHES", 0x200, _R, "times that LATCH was given: the counters below are of one moment"),
    *(
        Register(f"COUNT_{name.upper()}", 0x208 + 8 * index, _R, meaning, width=64)
        for index, (name, meaning) in enumerate(COUNTERS.items())
    ),
)

_GENERAL = (
    Register("LABEL", 0x1000, _B, "name of the switch, UTF-8 of up to 32 bytes, zeros behind it", count=8),
    Register("RELEASE", 0x1020, _B, f"when results leave: {_named(RELEASES)}"),
    Register("GATE", 0x1024, _B, f"what is taken ahead of a gap: {_named(GATES)}"),
    Register("HAIRPIN", 0x1028, _B, "1: frames to a static entry may leave by the port that they came in by"),
    Register("FLOOD_ALL", 0x102C, _B, "1: floods go to all ports; 0: to those of FLOOD_PORTS"),
    Register("FLOOD_PORTS", 0x1030, _B, "bit p: port p", width=64),
    Register("MAC_COUNT", 0x1038, _B, "entries of the MAC table in use"),
    Register("RING_COUNT", 0x103C, _B, "rings in use"),
)
MAC_FIELDS = (
    Register("HIGH", 0x2000, _B, "bytes 0 and 1 of the address: 0xAABB of aa:bb:.."),
    Register("LOW", 0x2004, _B, "bytes 2 .. 5 of the address"),
    Register("PORT", 0x2008, _B, "where it is"),
)
RING_FIELDS = (
    Register("ID", 0x8000, _B, "ring_id of the INA header"),
    Register("OP", 0x8004, _B, _named(OPS)),
    Register("DTYPE", 0x8008, _B, _named(DTYPES)),
    Register("PACKETS", 0x800C, _B, "L: packets of a full message"),
    Register("WINDOW", 0x8010, _B, "N: messages in flight; the ring takes 2 N L slots"),
    Register("PATH_MTU", 0x8014, _B, "256, 512, 1024, 2048, 4096"),
    Register("GENERATION", 0x8018, _B, "means nothing to a packet; another value installs the ring again"),
    Register("FAMILY", 0x801C, _B, "of all addresses: 4, 6"),
    Register("MEMBERS", 0x8020, _B, "members in use"),
    Register("ROLE", 0x8024, _B, _codes(RingRole)),
    Register("GROUP", 0x8028, _B, "leaf, spine: hosts of the whole ring; rack: 0"),
    Register("SPINE_NUMBER", 0x802C, _B, "spine: its number"),
    Register("SPINES", 0x8030, _B, "spine: how many there are"),
    Register("UPLINKS", 0x8034, _B, "leaf: ports of UPLINK_PORT in use"),
    Register("PREDECESSOR_RANK", 0x8038, _B, "leaf: rank of the last host of the rack before"),
    Register("PREDECESSOR_IP", 0x8040, _B, "leaf: its address", count=4),
    Register("SUCCESSOR_IP", 0x8050, _B, "leaf: of the first host of the rack behind", count=4),
    Register("UPLINK_PORT", 0x8100, _B, "leaf: the ports to the spines, by the spines' numbers", count=MAX_PORTS),
)
MEMBER_FIELDS = (
    Register("RANK", 0x8800, _B, "of the member"),
    Register("PORT", 0x8804, _B, "data port behind which it is"),
    Register("IP", 0x8808, _B, "IPv4: word 0; IPv6: four words; each big-endian", count=4),
    Register("SUCCESSOR_IP", 0x8818, _B, "spine: of the first host of the rack behind", count=4),
    Register("QPN", 0x8828, _R, "destination QPN of its connection, as learnt; all ones: none yet", 0xFFFFFFFF),
)
_MAC_STRIDE, _RING_STRIDE, _MEMBER_STRIDE = 0x10, 0x4000, 0x40
CONFIGURATION = range(0x1000, 0x8000 + MAX_RINGS * _RING_STRIDE)
"""addresses of the two banks"""

SECTIONS: tuple[tuple[str, str, tuple[Register, ...]], ...] = (
    ("Identity", "", _IDENTITY),
    ("Control", "", _CONTROL),
    ("Bitstream", "", _LOADING),
    ("Counters", "", _COUNTING),
    ("Configuration: the switch", "", _GENERAL),
    (
        "Configuration: static forwarding entries",
        f"`MAC<n>_` for n = 0 .. {MAX_MACS - 1}: add n * {_MAC_STRIDE:#x}",
        MAC_FIELDS,
    ),
    ("Configuration: rings", f"`RING<r>_` for r = 0 .. {MAX_RINGS - 1}: add r * {_RING_STRIDE:#x}", RING_FIELDS),
    (
        "Configuration: members of ring r, in rank order",
        f"`RING<r>_MEMBER<m>_` for m = 0 .. {MAX_MEMBERS - 1}: add r * {_RING_STRIDE:#x} + m * {_MEMBER_STRIDE:#x}",
        MEMBER_FIELDS,
    ),
)
"""(title, how records repeat, registers of the first record)"""


def table_stride(kind: str) -> int:
    """Bytes from one record to the next: of `mac`, `ring`, `member`."""
    return {"mac": _MAC_STRIDE, "ring": _RING_STRIDE, "member": _MEMBER_STRIDE}[kind]


REGISTERS = RegisterMap(
    (
        *(register for _, note, section in SECTIONS if not note for register in section),
        *table("MAC", MAX_MACS, _MAC_STRIDE, MAC_FIELDS),
        *table("RING", MAX_RINGS, _RING_STRIDE, RING_FIELDS),
        *(
            register
            for ring in range(MAX_RINGS)
            for register in table(
                f"RING{ring}_MEMBER",
                MAX_MEMBERS,
                _MEMBER_STRIDE,
                [field.moved("", ring * _RING_STRIDE) for field in MEMBER_FIELDS],
            )
        ),
    )
)
