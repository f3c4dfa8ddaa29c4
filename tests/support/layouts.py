"""What is made from the layouts of headers: constants for C and eBPF, tables of documents. `python -m
tests.support.layouts` writes all of it; `tests/workloads/wire/test_layouts.py` compares."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from workloads.collectives.ina_header import DTYPE_CODES, INA_LAYOUT, INA_MAGIC, INA_VERSION, OP_CODES
from workloads.wire.envelope import ETHERNET, IPV4, IPV6, ROCE_PORT, UDP
from workloads.wire.headers import Aeth, AtomicAckEth, AtomicEth, Bth, Deth, Ieth, ImmDt, Reth, Sack
from workloads.wire.held_map import HELD_MAP, HELD_PACKETS, NO_PSN
from workloads.wire.icrc import ICRC_BYTES
from workloads.wire.layout import Layout
from workloads.wire.opcodes import OPCODES, Opcode, OpcodeInfo
from workloads.wire.psn import PSN_MASK
from workloads.wire.syndrome import Nak
from workloads.wire.trimming import TRIMMED_DSCP

__all__ = ["FILES", "made", "main"]

ROOT = Path(__file__).resolve().parents[2]
_RC_DATA = range(0x20)
_ENVELOPE = ETHERNET.size + IPV4.size + UDP.size


def _constants(prefix: str, layout: Layout, at: int = 0) -> Iterator[str]:
    """The lines of an enum: each field's first octet, shift and mask of what is no whole octets; the header's bytes.
    `at`: where the header begins."""
    yield f"    /* {layout.name}: {layout.source} */"
    for field in layout.fields:
        first, last, low = layout.octets(field.name)
        name = f"{prefix}_{field.name.upper()}"
        yield f"    {name} = {at + first},"
        if low or field.bits % 8:
            yield f"    {name}_SHIFT = {low}, {name}_MASK = {(1 << field.bits) - 1:#x},"
        assert last - first < 16
    yield f"    {prefix}_BYTES = {layout.size},"


def _guarded(name: str, about: str, lines: Iterable[str]) -> str:
    guard = f"INA_{name.upper()}_H"
    return "\n".join(
        [
            f"/* {about}",
            " * Made by `python -m tests.support.layouts` from the layouts in Python: change those. */",
            f"#ifndef {guard}",
            f"#define {guard}",
            "",
            *lines,
            "",
            "#endif",
            "",
        ]
    )


def _bits(of: Callable[[OpcodeInfo], bool]) -> str:
    """A set of RC opcodes: bit n is that of opcode n."""
    return f"{sum(1 << code for code, info in OPCODES.items() if code in _RC_DATA and info.is_request and of(info)):#x}"


def _with(name: str) -> str:
    """The set of RC opcodes with this extension header."""
    return _bits(lambda info: name in info.extensions)


def _wire() -> str:
    return _guarded(
        "wire_layout",
        "Where the fields of headers stand. ETH, IP, IP6, UDP and BTH: octets of a frame, UDP and BTH behind IPv4.\n"
        " * All others: octets of their header. A field that is no whole octets has a shift and a mask.",
        [
            "enum {",
            *_constants("ETH", ETHERNET),
            f"    IP_AT = {ETHERNET.size},",
            *_constants("IP", IPV4, ETHERNET.size),
            *_constants("IP6", IPV6, ETHERNET.size),
            f"    UDP_AT = {ETHERNET.size + IPV4.size}, UDP6_AT = {ETHERNET.size + IPV6.size},",
            *_constants("UDP", UDP, ETHERNET.size + IPV4.size),
            f"    BTH_AT = {_ENVELOPE}, BTH6_AT = {_ENVELOPE + IPV6.size - IPV4.size},",
            *_constants("BTH", Bth.LAYOUT, _ENVELOPE),
            f"    EXT_AT = {_ENVELOPE + Bth.LAYOUT.size}, /* extension headers, then the payload */",
            *_constants("RETH", Reth.LAYOUT),
            *_constants("IMM", ImmDt.LAYOUT),
            *_constants("AETH", Aeth.LAYOUT),
            *_constants("DETH", Deth.LAYOUT),
            *_constants("ATOMIC", AtomicEth.LAYOUT),
            *_constants("ATOMIC_ACK", AtomicAckEth.LAYOUT),
            *_constants("IETH", Ieth.LAYOUT),
            *_constants("SACK", Sack.LAYOUT),
            *_constants("HELD_MAP", HELD_MAP),
            f"    HELD_MAP_MOST = {HELD_PACKETS}, /* packets of a map */",
            f"    ICRC_BYTES = {ICRC_BYTES}",
            "};",
            "",
            "enum {",
            f"    ETHERTYPE_V4 = {0x0800:#06x}, ETHERTYPE_V6 = {0x86DD:#06x}, PROTOCOL_UDP = 17,",
            f"    ROCE_UDP_PORT = {ROCE_PORT}, PSN_MASK = {PSN_MASK:#x}, TRIMMED_DSCP = {TRIMMED_DSCP},",
            f"    SYNDROME_SEQUENCE = {Nak.PSN_SEQUENCE:#x}, SYNDROME_TRIMMED = {Nak.TRIMMED:#x}",
            "};",
            f"#define NO_PSN {NO_PSN:#x}u",
            "",
            "enum {",
            *(f"    OPCODE_{code.name} = {int(code):#04x}," for code in Opcode),
            "    /* Sets of the SEND and WRITE opcodes of reliable connections: bit n is that of opcode n. */",
            f"    RC_DATA_OPCODES = {_bits(lambda info: True)},",
            f"    RC_STARTS = {_bits(lambda info: info.starts)}, RC_ENDS = {_bits(lambda info: info.ends)},",
            *(f"    RC_HAS_{name.upper()} = {_with(name)}," for name in ("reth", "imm", "ieth")),
            "};",
        ],
    )  # fmt: skip


def _ina() -> str:
    return _guarded(
        "ina_layout",
        "Octets of the INA header.",
        [
            "enum {",
            *_constants("INA_HEADER", INA_LAYOUT),
            f"    INA_HEADER_MAGIC_VALUE = {INA_MAGIC:#x}, INA_HEADER_VERSION_VALUE = {INA_VERSION}",
            "};",
            f"enum {{ {', '.join(f'OP_{name.upper()} = {code}' for name, code in OP_CODES.items())} }};",
            f"enum {{ {', '.join(f'{name.upper()} = {code}' for name, code in DTYPE_CODES.items())} }};",
        ],
    )


FILES: Mapping[str, Callable[[], str]] = {
    "workloads/native/wire_layout.h": _wire,
    "switch_nodes/netreduce/ina_layout.h": _ina,
}


def _table(layout: Layout) -> str:
    """Rows of a document: fields that share octets are in one row."""
    rows: dict[tuple[int, int], list[str]] = {}
    for field in layout.fields:
        first, last, _ = layout.octets(field.name)
        for (begin, end), members in rows.items():
            if begin <= first <= end or begin <= last <= end:
                members.append(field.name)
                del rows[begin, end]
                rows[min(begin, first), max(end, last)] = members
                break
        else:
            rows[first, last] = [field.name]
    lines = ["| offset | size | field | values |", "|---|---|---|---|"]
    meanings = {field.name: field.meaning for field in layout.fields}
    for (begin, end), members in rows.items():
        if len(members) == 1:
            shown, values = members[0], meanings[members[0]]
        else:
            shown = ", ".join(f"{_span(layout, name, end)}: {name}" for name in members)
            values = "; ".join(meanings[name] for name in members)
        lines.append(f"| {begin} | {end - begin + 1} | {shown} | {values} |")
    return "\n".join(lines)


def _span(layout: Layout, name: str, end: int) -> str:
    """Bits of a field, counted from the lowest of the last octet of its row."""
    _, last, low = layout.octets(name)
    lowest = low + 8 * (end - last)
    width = layout.width(name)
    return f"{lowest}" if width == 1 else f"{lowest + width - 1} .. {lowest}"


def _cell(layout: Layout, *names: str) -> str:
    """Some fields of a header in one cell of a table."""
    parts = []
    for name in names:
        first, last, _ = layout.octets(name)
        octets = f"{first}" if first == last else f"{first} .. {last}"
        width = layout.width(name)
        bits = f" bit{'s' if width > 1 else ''} {_span(layout, name, last)}"
        bits = "" if width == 8 * (last - first + 1) else bits
        parts.append(f"{octets}{bits}: {name}")
    return "; ".join(parts)


PARTS: Mapping[str, Mapping[str, str]] = {
    "docs/bring-your-own-fpga.md": {
        "BTH": _cell(Bth.LAYOUT, "opcode", "pad", "dest_qpn", "ack_req", "psn"),
        "RETH": _cell(Reth.LAYOUT, "va", "rkey", "length"),
        "INA": f"\n\n{_table(INA_LAYOUT)}\n\n",
    },
    "docs/irn.md": {"map": f"\n\n{_table(HELD_MAP)}\n\n"},
}
"""page -> what stands there between `<!--layout:NAME-->` and `<!--end-->`"""


def with_parts(page: str, text: str) -> str:
    for name, part in PARTS[page].items():
        begin, end = f"<!--layout:{name}-->", "<!--end-->"
        pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
        assert len(pattern.findall(text)) == 1, f"{page}: {name}"
        text = pattern.sub(lambda _, shown=begin + part + end: shown, text)
    return text


def made() -> dict[str, str]:
    """File -> what it must hold."""
    pages = {page: with_parts(page, (ROOT / page).read_text(encoding="utf-8")) for page in PARTS}
    return {path: make() for path, make in FILES.items()} | pages


def main() -> None:
    for path, text in made().items():
        (ROOT / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
