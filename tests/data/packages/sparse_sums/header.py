"""The header of sparse sums, and the transport that recognises it: nothing in ina-testbed knows either."""

import struct
from types import MappingProxyType
from typing import NamedTuple

from workloads.machine import Buffer
from workloads.transports import SentAs, ShownHeader, TransportKind
from workloads.transports.kind import UDP_PAYLOAD_AT, udp_port_of
from workloads.wire.envelope import Envelope, ipv4_checksum
from workloads.wire.layout import Field, Layout

PORT, MAGIC = 0xB10C, 0x5B
PLAN, UNION, BLOCK, SUM, ASK = range(5)
KINDS = ("plan", "union", "block", "sum", "ask")
HEADER = Layout(
    "Sparse sums",
    Field("magic", 8, "0x5b"),
    Field("kind", 4, "0 plan, 1 union, 2 block, 3 sum, 4 ask"),
    Field("spare", 4, "0"),
    Field("attempt", 8, "1: sent for the first time"),
    Field("rank", 8, "of the worker; 255: the switch"),
    Field("job", 16, "id of the job"),
    Field("elements", 16, "behind the header; of plans and unions bytes of a set of blocks"),
    Field("number", 32, "block of the job, or its iteration for plans and unions"),
)
_ENVELOPE = struct.Struct("!6s6sHBBHHHBBH4s4sHHHH")
OVERHEAD = _ENVELOPE.size + HEADER.size


class Packet(NamedTuple):
    kind: int
    attempt: int
    rank: int
    job: int
    number: int
    payload: bytes


def encode(envelope: Envelope, packet: Packet) -> bytes:
    size = 8 + HEADER.size + len(packet.payload)
    head = bytearray(
        _ENVELOPE.pack(
            envelope.dst_mac, envelope.src_mac, 0x0800, 0x45, 0, 20 + size, 0, 0x4000, 64, 17, 0,
            envelope.src_ip, envelope.dst_ip, envelope.sport, PORT, size, 0,
        )
    )  # fmt: skip
    head[24:26] = ipv4_checksum(head[14:34]).to_bytes(2, "big")
    elements = len(packet.payload) // (4 if packet.kind in (BLOCK, SUM) else 1)
    header = HEADER.pack(
        magic=MAGIC, kind=packet.kind, spare=0, attempt=min(packet.attempt, 255), rank=packet.rank, job=packet.job,
        elements=elements, number=packet.number,
    )  # fmt: skip
    return bytes(head) + header + packet.payload


def decode(frame: Buffer) -> Packet | None:
    """None: it is not ours."""
    if udp_port_of(frame) != PORT or len(frame) < OVERHEAD or frame[UDP_PAYLOAD_AT] != MAGIC:
        return None
    found = HEADER.unpack(frame, UDP_PAYLOAD_AT)
    size = found["elements"] * (4 if found["kind"] in (BLOCK, SUM) else 1)
    if found["kind"] >= len(KINDS) or len(frame) < OVERHEAD + size:
        return None
    payload = bytes(frame[OVERHEAD : OVERHEAD + size])
    return Packet(found["kind"], found["attempt"], found["rank"], found["job"], found["number"], payload)


def source_ip(frame: Buffer) -> bytes:
    return bytes(frame[26:30])


class SparseTransport(TransportKind):
    """A repetition has another byte, and says which attempt it is."""

    name = "sparse"
    summary = "UDP with a header of 12 bytes that counts attempts"
    kinds = MappingProxyType({"plan": "data", "union": "results", "block": "data", "sum": "results", "ask": "answers"})
    udp_port = PORT
    header_bytes = HEADER.size
    resends_alike = False
    headers = (ShownHeader(HEADER, "Sparse sums", {"kind": dict(enumerate(KINDS))}, elements="float32"),)
    timers = MappingProxyType({"ask": "nothing came: plans, blocks and questions are sent again"})

    def identify(self, frame: Buffer) -> SentAs | None:
        packet = decode(frame)
        if packet is None:
            return None
        who = "switch" if packet.rank == 255 else f"rank {packet.rank}"
        return SentAs(
            f"{who} job {packet.job}", KINDS[packet.kind], packet.number, packet.attempt, again=packet.attempt > 1
        )


TRANSPORT = SparseTransport()
