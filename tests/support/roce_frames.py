"""RoCE frames, others, and plans for tests of faults: two connections of a ring of two, and the plan of a small
rack."""

from __future__ import annotations

from collections.abc import Iterable

from testbed.faults.connections import Connection
from testbed.faults.link_filter import LinkFilter
from testbed.faults.matching import ConnectionTable
from testbed.faults.model import Fault, PacketFault
from testbed.faults.way import LinkWay
from testbed.plan import Plan, make_plan
from testbed.scenario.model import Scenario
from topologies import Direction, LinkShape, host_ip, host_mac, rack
from workloads.datagrams.transport import DATAGRAMS
from workloads.transports import TransportKind
from workloads.wire import Aeth, Bth, Envelope, ImmDt, Opcode, Packet, Reth, encode_packet
from workloads.wire.aggregation import AGGREGATION_PORT, AggregationHeader, DatagramKind, Policy, encode_datagram

H1, H2 = host_ip(1), host_ip(2)
FIRST_PSN = 0xFFFFF0
MESSAGES = (1, 20, 20, 5)
CONNECTIONS = (
    Connection(0, (H1, H2, 0x201), (H2, H1, 0x101), FIRST_PSN, MESSAGES),
    Connection(1, (H2, H1, 0x102), (H1, H2, 0x202), 500, MESSAGES),
)
TABLE = ConnectionTable(CONNECTIONS)


def envelope(src: int, dst: int, *, tos: int = 2, ipv6: bool = False) -> Envelope:
    pad = bytes(12) if ipv6 else b""
    return Envelope(host_mac(src), host_mac(dst), pad + host_ip(src), pad + host_ip(dst), sport=0xC123, tos=tos)


def request(
    psn: int,
    *,
    opcode: int = Opcode.SEND_MIDDLE,
    payload: bytes = b"\x5a" * 64,
    connection: int = 0,
    tos: int = 2,
    ipv6: bool = False,
) -> bytes:
    """A data packet from rank `connection` to the other one."""
    ends = (1, 2) if connection == 0 else (2, 1)
    qpn = CONNECTIONS[connection].requests[2]
    info_reth = (
        Reth(0x1000, 1, 4096) if "WRITE_FIRST" in Opcode(opcode).name or "WRITE_ONLY" in Opcode(opcode).name else None
    )
    imm = ImmDt(7) if Opcode(opcode).name.endswith("IMM") else None
    return encode_packet(
        Packet(envelope(*ends, tos=tos, ipv6=ipv6), Bth(opcode, qpn, psn & 0xFFFFFF), payload, reth=info_reth, imm=imm)
    )


def answer(psn: int, *, syndrome: int = 0x1F, connection: int = 0, msn: int = 0) -> bytes:
    """An ACK or NAK of that connection."""
    ends = (2, 1) if connection == 0 else (1, 2)
    qpn = CONNECTIONS[connection].answers[2]
    return encode_packet(
        Packet(envelope(*ends), Bth(Opcode.ACKNOWLEDGE, qpn, psn & 0xFFFFFF), aeth=Aeth(syndrome, msn))
    )


def arp(number: int = 0) -> bytes:
    """A frame that is not RoCE; distinct for each number."""
    return b"\xff" * 6 + host_mac(1) + b"\x08\x06" + bytes(28) + number.to_bytes(4, "big")


def datagram(number: int = 0, *, port: int = AGGREGATION_PORT) -> bytes:
    """Of an aggregation protocol, unless the port says otherwise; distinct for each number."""
    header = AggregationHeader(Policy.SWITCHML, DatagramKind.DATA, 1, number + 1, 0, 1, 2, nelem=2)
    return encode_datagram(envelope(1, 2), port, header, bytes(8))


def link_filter(
    *faults: PacketFault,
    seed: int = 1,
    link: str = "h1-s1",
    direction: Direction = Direction.UP,
    native: bool = False,
    delay_ns: int = 0,
    jitter_ns: int = 0,
    transports: tuple[TransportKind, ...] = (DATAGRAMS,),
) -> LinkFilter:
    return LinkFilter(
        LinkWay(seed, link, direction, TABLE, transports),
        faults,
        delay_ns=delay_ns,
        jitter_ns=jitter_ns,
        native=native,
    )


def rack_plan(faults: Iterable[Fault] = (), *, hosts: int = 2, shape: LinkShape | None = None, seed: int = 1) -> Plan:
    shape = shape or LinkShape()
    return make_plan(Scenario("test", rack(hosts, shape), shape, seed=seed, faults=tuple(faults), dilation=1))
