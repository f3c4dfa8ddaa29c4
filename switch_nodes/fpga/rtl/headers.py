"""The parser: fields of a frame's first 128 bytes, as wires. The rules are those of `workloads/wire/envelope.py` and
`workloads/wire/packet.py`: a frame that those refuse is not data of a ring."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from switch_nodes.fpga.rtl.parameters import HEADER_BYTES
from workloads.collectives.ina_header import INA_HEADER_BYTES, INA_LAYOUT, INA_MAGIC, INA_VERSION
from workloads.rc import shape
from workloads.wire.envelope import ETHERNET, IPV4, IPV6, UDP
from workloads.wire.icrc import icrc_masks
from workloads.wire.layout import Layout

__all__ = ["ICRC_MASKED", "Headers", "folded", "icrc_masked"]

_IP = ETHERNET.size
_UDP4, _UDP6 = _IP + IPV4.size, _IP + IPV6.size
_BTH4, _BTH6 = _UDP4 + UDP.size, _UDP6 + UDP.size
_EXTENSION_BYTES = sorted({data.header_bytes for data in shape.DATA.values() if data.starts})
ICRC_MASKED: tuple[dict[int, int], dict[int, int]] = (
    {_IP + at: bits for at, bits in icrc_masks(is_ipv6=False).items()},
    {_IP + at: bits for at, bits in icrc_masks(is_ipv6=True).items()},
)
"""bits that count as ones in the iCRC, by byte of the frame: IPv4, IPv6"""


def icrc_masked(data: Value, beat: Value, is_ipv6: Value) -> Value:
    """A beat as the iCRC counts it: masked bits are ones, the Ethernet header is zeros."""
    size = len(data) // 8
    lanes = []
    for lane in range(size):
        byte = data[8 * lane : 8 * lane + 8]
        for number in range(HEADER_BYTES // size):
            at = number * size + lane
            here = beat == number
            ones = tuple(masks.get(at, 0) for masks in ICRC_MASKED)
            if at < _IP:
                byte = Mux(here, Const(0, 8), byte)
            elif any(ones):
                byte = byte | Mux(here, Mux(is_ipv6, Const(ones[1], 8), Const(ones[0], 8)), 0)
        lanes.append(byte[0:8])
    return Cat(lanes)


def folded(total: Value) -> Value:
    """A sum of up to 16 words of 16 bits in ones' complement."""
    once = (total[0:16] + total[16:])[0:17]
    return (once[0:16] + once[16:])[0:16]


class Headers:
    """Wires of one frame. `bits`: its first 128 bytes, byte i in bits 8 i .. 8 i + 7; `length`: its bytes."""

    def __init__(self, m: Module, bits: Value, length: Value) -> None:
        self._bits = bits
        be = self._be
        v4 = (be(12, 2) == 0x0800) & (self._byte(_IP) == 0x45)
        self.is_ipv6 = Signal()
        m.d.comb += self.is_ipv6.eq((be(12, 2) == 0x86DD) & (self._byte(_IP)[4:8] == 6))
        v6 = self.is_ipv6
        self.dst_mac, self.src_mac = bits[0:48], bits[48:96]
        """bytes in the order of the wire, the first one lowest"""
        self.src_ip = Mux(v6, bits[8 * 22 : 8 * 38], bits[8 * 26 : 8 * 30])
        self.dst_ip = Mux(v6, bits[8 * 38 : 8 * 54], bits[8 * 30 : 8 * 34])
        self.dscp, self.ecn = Signal(6), Signal(2)
        tos = Mux(v6, Cat(self._byte(_IP + 1)[4:8], self._byte(_IP)[0:4]), self._byte(_IP + 1))
        m.d.comb += [self.dscp.eq(tos[2:8]), self.ecn.eq(tos[0:2])]
        is_udp = Mux(v6, self._byte(_IP + 6), self._byte(_IP + 9)) == 17
        whole = v6 | (be(_IP + 6, 2)[0:14] == 0)
        dport, udp_bytes = Mux(v6, be(_UDP6 + 2, 2), be(_UDP4 + 2, 2)), Mux(v6, be(_UDP6 + 4, 2), be(_UDP4 + 4, 2))
        self.transport_at = Mux(v6, _BTH6, _BTH4)
        self.end = Signal(17)
        """behind the iCRC"""
        ip_end = Mux(v6, be(_IP + 4, 2) + _UDP6, be(_IP + 2, 2) + _IP)
        checksum = be(_IP + 10, 2)
        others = sum((be(at, 2) for at in range(_IP, _UDP4, 2) if at != _IP + 10), Const(0, 16))
        sum_of_others = Signal(20)
        m.d.comb += [
            self.end.eq(udp_bytes + Mux(v6, _UDP6, _UDP4)), sum_of_others.eq(others),
        ]  # fmt: skip
        good_check = v6 | (checksum == (~folded(sum_of_others))[0:16])
        self.is_roce = Signal()
        m.d.comb += self.is_roce.eq(
            (v4 | v6) & is_udp & whole & (dport == shape.UDP_PORT) & (self.end == ip_end) & (self.end <= length)
            & good_check & (self.end >= self.transport_at + shape.BASE.size)
        )  # fmt: skip
        self.marked_checksum = Signal(16)
        """IPv4 checksum once both ECN bits are set: RFC 1624, equation 3"""
        marked = (~checksum)[0:16] + (~be(_IP, 2))[0:16] + (be(_IP, 2) | 3)
        marked_sum = Signal(20)
        m.d.comb += [marked_sum.eq(marked), self.marked_checksum.eq(~folded(marked_sum))]
        self._transport(m, v6)

    def _transport(self, m: Module, v6: Value) -> None:
        self.opcode, self.pad = Signal(8), Signal(2)
        self.qpn, self.psn = Signal(24), Signal(24)
        m.d.comb += [
            self.opcode.eq(self._base("opcode")), self.pad.eq(self._base("pad")),
            self.qpn.eq(self._base("dest_qpn")), self.psn.eq(self._base("psn")),
        ]  # fmt: skip
        self.is_data, self.starts, self.ends = Signal(), Signal(), Signal()
        extension = Signal(6)
        with m.Switch(self.opcode):
            for code, data in shape.DATA.items():
                with m.Case(code):
                    m.d.comb += [
                        self.is_data.eq(1),
                        self.starts.eq(data.starts),
                        self.ends.eq(data.ends),
                        extension.eq(data.header_bytes),
                    ]
        self.payload_at, self.payload_end = Signal(8), Signal(17)
        self.payload_bytes = Signal(16)
        self.malformed = Signal()
        """the headers of its opcode, pad and iCRC are longer than the packet"""
        behind_payload = shape.CHECKSUM_BYTES + self.pad
        m.d.comb += [
            self.payload_at.eq(self.transport_at + shape.BASE.size + extension),
            self.payload_end.eq(self.end - behind_payload),
            self.malformed.eq(self.end < self.payload_at + behind_payload),
            self.payload_bytes.eq(self.payload_end - self.payload_at),
        ]
        ina = Signal(8 * INA_HEADER_BYTES)
        with m.Switch(Cat(extension, v6)):
            for is_v6, bth_at in ((0, _BTH4), (1, _BTH6)):
                for size in _EXTENSION_BYTES:
                    at = bth_at + shape.BASE.size + size
                    with m.Case(is_v6 << len(extension) | size):
                        m.d.comb += ina.eq(self._bits[8 * at : 8 * (at + INA_HEADER_BYTES)])
        self.is_ina = Signal()
        """begins with an INA header that says "aggregate" """
        self.ring_id, self.rank, self.group = Signal(16), Signal(16), Signal(16)
        self.op, self.dtype = Signal(4), Signal(4)
        self.message, self.packets = Signal(32), Signal(16)

        def field(name: str) -> Value:
            return _field(lambda at: ina[8 * at : 8 * at + 8], INA_LAYOUT, name)

        m.d.comb += [
            self.is_ina.eq(
                (field("magic") == INA_MAGIC) & (field("version") == INA_VERSION) & field("agg")
                & (self.payload_bytes >= INA_HEADER_BYTES)
            ),
            self.dtype.eq(field("dtype")), self.op.eq(field("op")), self.ring_id.eq(field("ring_id")),
            self.rank.eq(Cat(field("rank"), field("rank_high"))), self.group.eq(Cat(field("size"), field("size_high"))),
            self.message.eq(field("msg_id")), self.packets.eq(field("msg_len_pkts")),
        ]  # fmt: skip

    def _byte(self, at: int) -> Value:
        return self._bits[8 * at : 8 * at + 8]

    def _be(self, at: int, size: int) -> Value:
        return Cat(self._byte(at + size - 1 - i) for i in range(size))

    def _base(self, name: str) -> Value:
        """A field of the base header."""
        return _field(lambda at: Mux(self.is_ipv6, self._byte(_BTH6 + at), self._byte(_BTH4 + at)), shape.BASE, name)


def _field(octet: Callable[[int], Value], layout: Layout, name: str) -> Value:
    """A field of a header whose octets these are."""
    first, last, low = layout.octets(name)
    octets = [octet(at) for at in range(last, first - 1, -1)]
    whole = octets[0] if len(octets) == 1 else Cat(octets)
    bits = layout.width(name)
    return whole if bits == len(whole) else whole[low : low + bits]
