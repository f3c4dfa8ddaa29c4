"""A Wireshark dissector in Lua for headers of ours, made of their layouts: what the codec reads is what Wireshark
shows.

* NetReduce's INA header, the first 16 bytes of a message: a heuristic on the payload of InfiniBand packets. Wireshark
  shows the elements of the message with the type that the header names.
* Under IRN also the later packets of a message, and IRN's answers (`docs/irn.md`), which are no packets that Wireshark
  knows.
* Aggregation datagrams (SwitchML, ATP, ESA, GRID) on their UDP port.
* The headers of transports that installed packages bring (`TransportKind.headers`), on their UDP ports.
* SwitchML over UC: its elements. Its header is spread over queue pair, key, address and immediate
  (`workloads/switchml/uc_mapping.py`).

API: Wireshark Developer's Guide, chapter 11 (Lua).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from workloads.collectives.ina_header import DTYPE_CODES, INA_LAYOUT, INA_MAGIC, INA_VERSION, OP_CODES
from workloads.rc import shape
from workloads.transports import TransportKind
from workloads.wire.aggregation import AGGREGATION, AGGREGATION_PORT, DatagramFlag, DatagramKind, Policy
from workloads.wire.held_map import HELD_MAP
from workloads.wire.layout import Layout

__all__ = ["dissector"]

_INA_WORDS: Mapping[str, Mapping[int, str]] = {
    "op": {code: name for name, code in OP_CODES.items()},
    "dtype": {code: name for name, code in DTYPE_CODES.items()},
}
_AGGREGATION_WORDS: Mapping[str, Mapping[int, str]] = {
    "policy": {int(policy): policy.name for policy in Policy},
    "kind": {int(kind): kind.name for kind in DatagramKind},
    "op": {0: "int32 wrapping sum", 1: "int32 saturating sum"},
}
_IRN_WORDS: Mapping[str, Mapping[int, str]] = {"syndrome": {0: "positive", 0x60: "gap"}}
_HEX = {"bits", "syndrome", "magic", "flags", "bitmap0", "bitmap1"}
_ADDRESSES = {"server"}
_SIGNED = {"exponent0", "exponent1"}
_ELEMENTS = {"int32": "int32", "float32": "float"}
"""fields of Lua"""


def dissector(others: Iterable[TransportKind] = ()) -> str:
    """The text of the Lua file. `others`: transports of other packages."""
    return "\n".join(
        [
            "-- Dissectors of ina-testbed: NetReduce's INA header, aggregation datagrams. Made by `tb dissector`.",
            "-- If an option loads a second copy of an installed dissector, the second copy adds nothing.",
            "if _G.ina_testbed_is_loaded then return end",
            "_G.ina_testbed_is_loaded = true",
            "",
            *_protocol("ina", "In-network aggregation (NetReduce)", INA_LAYOUT, _INA_WORDS),
            *_protocol("inadgram", "Aggregation datagram", AGGREGATION, _AGGREGATION_WORDS),
            *_protocol("inairn", "Answer of IRN", shape.ANSWER, _IRN_WORDS),
            *_protocol("inaheld", "Map of held packets (irn-held)", HELD_MAP, {}),
            *(
                f'inadgram_f.flag_{flag.name.lower()} = ProtoField.bool("inadgram.flags.{flag.name.lower()}", '
                f'"{flag.name}", 16, nil, {flag.value:#06x})'
                for flag in DatagramFlag
                if flag.name
            ),
            "inadgram.fields = inadgram_f",
            "ina.fields = ina_f",
            "inairn.fields = inairn_f",
            "inaheld.fields = inaheld_f",
            "",
            _FUNCTIONS.format(
                ina_bytes=INA_LAYOUT.size, magic=INA_MAGIC, version=INA_VERSION, agg_bytes=AGGREGATION.size,
                port=AGGREGATION_PORT, starts=_lua_set(code for code, data in shape.DATA.items() if data.starts),
                goes_on=_lua_set(code for code, data in shape.DATA.items() if not data.starts),
                unreliable=_lua_set(shape.UNRELIABLE_WRITES),
                alone=_lua_set(shape.NAMED_BY_ADDRESS), irn=shape.ANSWER_OPCODE, bth_bytes=shape.BASE.size,
                irn_bytes=shape.ANSWER.size, held_bytes=HELD_MAP.size, icrc_bytes=shape.CHECKSUM_BYTES,
                flags="\n".join(
                    f"    flags:add(inadgram_f.flag_{flag.name.lower()}, tvb(2, 2))"
                    for flag in DatagramFlag
                    if flag.name
                ),
            ),
            *(line for other in others for line in _other(other)),
        ]
    )  # fmt: skip


def _other(transport: TransportKind) -> Iterator[str]:
    """The headers of a transport that is not built in, one behind the other."""
    if transport.udp_port is None or not transport.headers:
        return
    names = []
    for number, header in enumerate(transport.headers):
        name = "ina_" + re.sub(r"\W", "_", transport.name.lower()) + (f"_{number}" if number else "")
        names.append(name)
        yield from _fields(name, header.title, header.layout, header.words)
        if header.elements:
            yield f'{name}_f.element = ProtoField.{_ELEMENTS[header.elements]}("{name}.element", "element")'
        yield f"{name}.fields = {name}_f"
    yield f"function {names[0]}.dissector(tvb, pinfo, tree)"
    yield f'    pinfo.cols.protocol = "{_quoted(transport.name)}"'
    at = 0
    for name, header in zip(names, transport.headers, strict=True):
        yield f"    if tvb:len() < {at + header.layout.size} then return {at} end"
        yield f"    local root = tree:add({name}, tvb({at}))"
        yield f"    {name}_header(tvb({at}, {header.layout.size}):tvb(), root)"
        at += header.layout.size
        if header.elements:
            yield f"    for at = {at}, tvb:len() - 4, 4 do root:add({name}_f.element, tvb(at, 4)) end"
    yield "    return tvb:len()"
    yield "end"
    yield f'DissectorTable.get("udp.port"):add({transport.udp_port}, {names[0]})'
    yield ""


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _lua_set(codes: Iterable[int]) -> str:
    return "{" + ", ".join(f"[{code}] = true" for code in codes) + "}"


def _protocol(name: str, title: str, layout: Layout, words: Mapping[str, Mapping[int, str]]) -> Iterator[str]:
    """As `_fields`, with elements behind the headers that have some."""
    yield from _fields(name, title, layout, words)
    if name in ("inairn", "inaheld"):
        pass
    elif name == "ina":
        yield 'ina_f.float32 = ProtoField.float("ina.element.float32", "element")'
        yield 'ina_f.int32 = ProtoField.int32("ina.element.int32", "element")'
    else:
        yield 'inadgram_f.element = ProtoField.int32("inadgram.element", "element")'
    yield ""


def _fields(name: str, title: str, layout: Layout, words: Mapping[str, Mapping[int, str]]) -> Iterator[str]:
    """The protocol, its fields, and `NAME_header(tvb, tree)`, which shows them."""
    yield f'local {name} = Proto("{name}", "{_quoted(title)}")'
    yield f"local {name}_f = {{}}"
    for field in layout.fields:
        yield f'{name}_f["{field.name}"] = {_declared(name, layout, field.name, words.get(field.name))}'
    yield f"local function {name}_header(tvb, tree)"
    for field in layout.fields:
        first, last, _ = layout.octets(field.name)
        yield f'    tree:add({name}_f["{field.name}"], tvb({first}, {last - first + 1}))'
    yield "end"


def _declared(name: str, layout: Layout, field: str, words: Mapping[int, str] | None) -> str:
    first, last, low = layout.octets(field)
    octets, width = last - first + 1, layout.width(field)
    path, label = f'"{name}.{field}"', f'"{field}"'
    if field in _ADDRESSES:
        return f"ProtoField.ipv4({path}, {label})"
    kind = f"{'int' if field in _SIGNED else 'uint'}{8 * octets}"
    base = "base.HEX" if field in _HEX else "base.DEC"
    table = "nil" if words is None else "{" + ", ".join(f'[{code}] = "{word}"' for code, word in words.items()) + "}"
    bits = "" if width == 8 * octets else f", {(1 << width) - 1 << low:#x}"
    return f"ProtoField.{kind}({path}, {label}, {base}, {table}{bits})"


_FUNCTIONS = """\
local opcode, qp = Field.new("infiniband.bth.opcode"), Field.new("infiniband.bth.destqp")
local length = Field.new("infiniband.reth.dmalen")
local starts, goes_on, alone, unreliable = {starts}, {goes_on}, {alone}, {unreliable}
local types = {{}} -- of connections that carry INA messages, by receiver and its queue pair

function inadgram.init() types = {{}} end

local function little_endian(tvb, tree, dtype, from)
    local field = dtype == 0 and ina_f.float32 or ina_f.int32
    for at = from, tvb:len() - 4, 4 do tree:add_le(field, tvb(at, 4)) end
end

local function big_endian(tvb, tree, from)
    for at = from, tvb:len() - 4, 4 do tree:add(inadgram_f.element, tvb(at, 4)) end
end

-- The payload of an InfiniBand packet. False: none of ours.
local function ina_heuristic(tvb, pinfo, tree)
    local code = opcode().value
    local flow = tostring(pinfo.dst) .. " " .. tostring(qp().value)
    local whole = length()
    local later = alone[code] and whole and whole.value > tvb:len() -- under IRN: not the first of its message
    if starts[code] and not later and tvb:len() >= {ina_bytes} and tvb(0, 1):uint() == {magic} and tvb(1, 1):uint() == {version} then
        types[flow] = bit.band(tvb(2, 1):uint(), 15)
        local root = tree:add(ina, tvb())
        ina_header(tvb, root)
        little_endian(tvb, root, types[flow], {ina_bytes})
        pinfo.cols.info:append(" [INA message " .. tvb(8, 4):uint() .. " of rank " .. tvb(6, 1):uint() .. "]")
        return true
    end
    if (goes_on[code] or later) and types[flow] then
        little_endian(tvb, tree:add(ina, tvb()), types[flow], 0)
        return true
    end
    if unreliable[code] then -- SwitchML over UC: the header is in queue pair, key, address and immediate
        big_endian(tvb, tree:add(inadgram, tvb()), 0)
        return true
    end
    return false
end
ina:register_heuristic("infiniband.payload", ina_heuristic)

function inadgram.dissector(tvb, pinfo, tree)
    if tvb:len() < {agg_bytes} then return 0 end
    pinfo.cols.protocol = "INA datagram"
    local root = tree:add(inadgram, tvb())
    inadgram_header(tvb, root)
    local flags = root:add(inadgram, tvb(2, 2), "Flags by name")
{flags}
    big_endian(tvb, root, {agg_bytes})
    pinfo.cols.info = "job " .. tvb(4, 2):uint() .. ", packet " .. tvb(8, 4):uint() .. ", slot " .. tvb(12, 2):uint()
    return tvb:len()
end
DissectorTable.get("udp.port"):add({port}, inadgram)

-- Wireshark takes what follows the BTH of an opcode that it does not know for anybody's.
function inairn.dissector(tvb, pinfo, tree)
    local code = opcode()
    if not code or code.value ~= {irn} or tvb:len() < code.offset + {bth_bytes} + {irn_bytes} then return end
    local answer = tvb(code.offset + {bth_bytes}, {irn_bytes}):tvb()
    inairn_header(answer, tree:add(inairn, answer()))
    local at = code.offset + {bth_bytes} + {irn_bytes}
    if tvb:len() == at + {held_bytes} + {icrc_bytes} then
        local map = tvb(at, {held_bytes}):tvb()
        inaheld_header(map, tree:add(inaheld, map()))
    end
    local what = answer(0, 1):uint() == 0 and "has " or "gap, has "
    pinfo.cols.info:append(" [IRN: " .. what .. answer(8, 4):uint() .. ", expects " .. answer(4, 4):uint() .. "]")
end
register_postdissector(inairn)
"""  # noqa: E501
